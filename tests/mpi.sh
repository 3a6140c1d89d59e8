#!/usr/bin/env bash
# epiq under mpirun, with 1 to 4 ranks on this machine: the numbers of one process, one sentence whatever goes wrong, nothing left
# behind. Usage: tests/mpi.sh EPIQ, with libepiq_mpi.so beside it (make mpi)
. "$(dirname "$0")/cli/lib.inc"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_rmaps_base_oversubscribe=1
patient=(timeout --kill-after=5 90) # a hang is a failure, not a wait
ranks() { # ranks P command...
    local count=$1
    shift
    "${patient[@]}" mpirun --quiet -n "$count" "$@"
}

# same A B exact|near: the points of two results; near: numbers to 1e-9 of their size, but networks' predictions exactly
same() {
    python3 - "$@" <<'PY'
import json, sys
def walk(a, b, exact, path):
    assert type(a) == type(b) or {type(a), type(b)} == {int, float}, (path, a, b)
    if isinstance(a, dict):
        assert a.keys() == b.keys(), (path, a.keys() ^ b.keys())
        for k in a:
            walk(a[k], b[k], exact or k in ("members", "batches"), path + "/" + k)
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b)):
            walk(x, y, exact, "%s/%d" % (path, i))
    elif isinstance(a, float) and not exact:
        assert abs(a - b) <= 1e-9 * max(abs(a), abs(b)), (path, a, b)
    else:
        assert a == b, (path, a, b)
a, b = (json.load(open(f)) for f in sys.argv[1:3])
for part in ("points", "training", "retrain", "fit", "warnings"):
    walk(a.get(part), b.get(part), sys.argv[3] == "exact", part)
PY
}
field() { # field FILE run.ranks is 2
    python3 -c "import json,sys; v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split('.'): v = v[k]
sys.exit(str(v) != sys.argv[3])" "$@"
}

"$epiq" synth 1 --n 500 --d 4 --seed 5 >rows.csv || exit 2
"$epiq" synth 1 --n 500 --d 4 --seed 6 >other.csv || exit 2
small=(--target y --width 32 --lambda 1e-3 --members 7 --batches 5 --quiet)
all=(rows.csv "${small[@]}" --methods if,ev,ba --at mean --at row:3)

# ---- the same numbers ----
expect_ok "$epiq" estimate "${all[@]}" --json one.json
expect_ok "$epiq" estimate rows.csv "${small[@]}" --methods if,ev --at mean --at row:3 --probes 64 --correction unbiased --json probes.json
expect_ok "$epiq" estimate rows.csv --target y --engine infinite --lambda 1e-3 --quiet --json closed.json
for p in 1 2 3 4; do
    expect_ok ranks $p "$epiq" estimate "${all[@]}" --json ranks.json
    check "$p ranks give what one process gives" same one.json ranks.json near
    check "run.ranks is $p" field ranks.json run.ranks $p
    check "the backend says mpi" field ranks.json run.backend mpi+blas
    expect_ok ranks $p "$epiq" estimate rows.csv "${small[@]}" --methods if,ev --at mean --at row:3 --probes 64 --correction unbiased --json ranks.json
    check "$p ranks with probes" same probes.json ranks.json near
    expect_ok ranks $p "$epiq" estimate rows.csv --target y --engine infinite --lambda 1e-3 --quiet --json ranks.json
    check "$p ranks in closed form" same closed.json ranks.json near
done
expect_ok ranks 2 "$epiq" estimate "${all[@]}" --threads 2 --json ranks.json
check "two threads a rank" same one.json ranks.json near
expect_ok ranks 2 "$epiq" estimate "${all[@]}" --json again.json
expect_ok ranks 2 "$epiq" estimate "${all[@]}" --json ranks.json
check "the same ranks, the same bits" same again.json ranks.json exact
expect_ok ranks 2 "$epiq" estimate rows.csv --target y --width 32 --lambda 1e-3 --members 7 --methods if,ev
check "the text is printed once" test "$(grep -c '^500 rows' "$out")" -eq 1
expect_ok ranks 2 "$epiq" plan rows.csv "${small[@]}" --price-row 1 --price-training 2 --budget 50 --json plan.json
check "plan writes its answer" is_json plan.json

# ---- the state ----
expect_ok ranks 3 "$epiq" estimate "${all[@]}" --state kept --json ranks.json
check "with a state" same one.json ranks.json near
expect_ok "$epiq" estimate "${all[@]}" --state kept --json ranks.json
check "one process goes on from what three ranks kept" field ranks.json training.resumed 52
rm -f kept*

# ---- what goes wrong: one sentence, its exit code ----
small=(--target y --width 32 --lambda 1e-3 --members 7 --batches 5)
expect_exit 2 'rank 1 of 2: the rows read here are not those of rank 0' \
    ranks 1 "$epiq" estimate rows.csv "${small[@]}" : -n 1 "$epiq" estimate other.csv "${small[@]}"
expect_exit 2 'rank 1 of 2: the options given here' \
    ranks 1 "$epiq" estimate rows.csv "${small[@]}" : -n 1 "$epiq" estimate rows.csv "${small[@]}" --lambda 0.5
expect_exit 2 'rank 2 of 3: none\.csv' \
    ranks 2 "$epiq" estimate rows.csv "${small[@]}" : -n 1 "$epiq" estimate none.csv "${small[@]}"
expect_exit 1 'rank 1 of 2: .*--wdith; did you mean --width' \
    ranks 1 "$epiq" estimate rows.csv "${small[@]}" : -n 1 "$epiq" estimate rows.csv --wdith 3
head -4 rows.csv >few.csv
expect_exit 2 '3 rows are fewer than the 4 ranks' ranks 4 "$epiq" estimate few.csv --target y --methods if
expect_exit 1 'no flag --wdith' ranks 3 "$epiq" estimate rows.csv --wdith 3
expect_exit 2 'cannot write /none/a\.json' ranks 2 "$epiq" estimate rows.csv "${small[@]}" --json /none/a.json
expect_exit 1 'epiq fit is for one process' ranks 2 "$epiq" fit rows.csv --target y -o model.epiq
expect_exit 1 'epiq synth is for one process' ranks 2 "$epiq" synth 1
expect_exit 1 'standard input reaches one rank only' ranks 2 "$epiq" estimate - --target y
expect_exit 1 '--solver iterative is for one process' ranks 2 "$epiq" estimate rows.csv "${small[@]}" --solver iterative
expect_exit 3 'on each rank' ranks 2 "$epiq" estimate rows.csv "${small[@]}" --mem-limit 1M
expect_exit 3 'rank 1 of 2: .*on each rank' \
    ranks 1 "$epiq" estimate rows.csv "${small[@]}" : -n 1 "$epiq" estimate rows.csv "${small[@]}" --mem-limit 1M
mkdir lonely && cp "$epiq" lonely/epiq
expect_exit 1 'libepiq_mpi\.so is not there; build it with make mpi' ranks 3 lonely/epiq estimate rows.csv "${small[@]}"
expect_ok ranks 1 lonely/epiq estimate "${all[@]}" --json ranks.json
check "one process needs no MPI" same one.json ranks.json exact
rm -r lonely
check "plain epiq knows nothing of MPI" test "$(ldd "$epiq" | grep -c mpi)" -eq 0

# ---- a rank that is killed, a job that is cancelled ----
"$epiq" synth 1 --n 3000 --d 9 --seed 3 >large.csv || exit 2
long=(large.csv --target y --width 1024 --lambda 1e-3 --at mean --members 2000 --methods if,ev --quiet --json long.json --report long.html)
mine() { # processes of this test alone
    pgrep -f "^$epiq estimate large.csv" || true
}
heeding() { # heeding PID...: all of them catch SIGTERM, which on a busy machine takes a while
    local pid caught
    for pid in "$@"; do
        caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
        [ $((0x${caught:-0} & 0x4000)) -ne 0 ] || return 1
    done
}
end_early() { # end_early 'what' command that ends it...
    rm -f long.*
    ls -A >"$work/log/before"
    ranks 3 "$epiq" estimate "${long[@]}" >"$out" 2>"$err" &
    local job=$! pids=
    for _ in $(seq 300); do
        pids=$(mine)
        [ "$(wc -w <<<"$pids")" -eq 3 ] && heeding $pids && break
        sleep 0.1
    done
    sleep 1.5
    "${@:2}" $pids
    wait $job
    code=$?
    check "$1: not a success" test $code -ne 0
    check "$1: not a hang" test $code -ne 124
    check "$1: one sentence of epiq's, at most" test "$(grep -c '^epiq: ' "$err")" -le 1
    check "$1: nothing is left behind" test "$(ls -A)" = "$(cat "$work/log/before")"
    for _ in $(seq 50); do
        [ -z "$(mine)" ] && break
        sleep 0.1
    done
    check "$1: nobody is left" test -z "$(mine)"
}
kill_last() { kill -KILL "${@: -1}"; }
kill_first() { kill -KILL "$1"; }
cancel() { kill -INT "$(ps -o ppid= "$1" | tr -d ' ')"; } # mpirun, their parent, as Ctrl-C does
end_and_hear() { # as end_early; on a busy machine mpirun may end before it has passed on what a rank says, so up to three times
    for _ in 1 2 3; do
        end_early "$@"
        grep -q 'ended by the launcher: a rank was lost' "$err" && break
    done
    check "it is said" says "$err" 'ended by the launcher: a rank was lost'
}
end_and_hear "the last rank is killed" kill_last
end_early "the first rank is killed" kill_first
end_and_hear "the job is cancelled" cancel
finish
