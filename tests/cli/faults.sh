#!/usr/bin/env bash
# What a machine does to a command: disks that are full, pipes that nobody reads, descriptors that are closed, files that are
# none, signals at any moment. (tests/faults/every.py has each single call fail; this is the real thing, from outside.)
. "$(dirname "$0")/lib.inc"

"$epiq" synth 1 --n 30 --d 2 --seed 3 >rows.csv
"$epiq" synth 1 --n 5 --d 2 --seed 4 | cut -d, -f1,2 >at.csv
quick=(--target y --width 8 --members 3 --batches 3 --lambda 0.1 --threads 1)
"$epiq" fit rows.csv "${quick[@]}" -o model.epiq --quiet
printf '1,2\n2,3\n3,5\n' >ensemble.csv

# ---- a disk that is full ----
limited() { # limited BLOCKS command...: no file may grow beyond so many KiB
    bash -c 'ulimit -f "$1"; shift; exec "$@"' limited "$@"
}
for flag in json csv report; do
    [ $flag = csv ] && points=(--at many.csv) || points=()
    yes '0.1,0.1' | head -n 100 | sed '1i x1,x2' >many.csv
    echo old >out.file
    expect_exit 2 '' limited 1 "$epiq" estimate rows.csv "${quick[@]}" --engine infinite \
        "${points[@]}" --quiet --$flag out.file
    check "--$flag: what was there is untouched" test "$(cat out.file)" = old
done
expect_exit 2 '' limited 4 "$epiq" fit rows.csv "${quick[@]}" -o model.new
expect_exit 2 'k.npy' limited 4 "$epiq" kernel rows.csv --target y --ntk k.npy
expect_exit 2 '' limited 1 "$epiq" estimate rows.csv "${quick[@]}" --pictures pics --picture-format svg
expect_exit 2 'state.*(full|I/O)' limited 8 "$epiq" estimate rows.csv "${quick[@]}" --state "$work/log/full" --json out.json
expect_exit 2 'own.*(full|I/O)' limited 8 "$epiq" combine --ensemble ensemble.csv --append "$work/log/own"
# a small file system, where one can be made
full() { # full command...: in a folder with 64 KiB
    unshare -rm sh -c 'mount -t tmpfs -o size=64k none small && cp rows.csv small && cd small && { "$@"; code=$?; ls -A; exit $code; }' full "$@"
}
mkdir small
if unshare -rm mount -t tmpfs -o size=64k none small 2>/dev/null; then
    full "$epiq" estimate rows.csv "${quick[@]}" --width 64 --members 40 --sweep 0 --state kept --report page.html --json j.json >"$out" 2>"$err"
    check 'a full file system: exit 2' test $? -eq 2
    check 'in one sentence' says "$err" '^epiq: .*(No space|full)'
    check 'and one only' test "$(wc -l <"$err")" -eq 1
    check 'nothing beside the rows and the state' test -z "$(grep -vxE 'rows.csv|kept(-wal|-shm)?' "$out")"
else
    echo "SKIPPED: no small file system can be mounted here"
fi
rmdir small

# ---- memory that may not be had: OpenBLAS would try for ever; a sanitizer needs far more ----
if ! grep -q __asan_init "$epiq"; then
    limit() { # limit MB command...
        bash -c 'ulimit -v $((1024 * $1)); shift; exec "$@"' limit "$@"
    }
    expect_exit 3 '100 MB' limit 100 timeout 10 "$epiq" estimate rows.csv "${quick[@]}"
    check 'a little more is enough' limit 300 timeout 20 "$epiq" estimate rows.csv "${quick[@]}"
    expect_exit 3 '' limit 300 "$epiq" synth 1 --n 20000000 --d 3
fi

# ---- nobody reads, nobody listens ----
closed_pipe() { # closed_pipe command...: its reader takes a byte and goes
    "$@" 2>"$err" | head -c 1 >/dev/null
    echo "${PIPESTATUS[0]}"
}
check 'a reader that has enough ends it as SIGPIPE would' test "$(closed_pipe "$epiq" synth 1 --n 100000)" -eq 141
check 'without a word' test ! -s "$err"
yes '0.1,0.1' | head -n 50000 | sed '1i x1,x2' >"$work/log/many.csv"
check 'predict too' test "$(closed_pipe "$epiq" predict model.epiq "$work/log/many.csv")" -eq 141
check 'without a word' test ! -s "$err"
expect_exit 2 '' sh -c 'exec "$0" "$@" <&-' "$epiq" estimate - "${quick[@]}"
check 'without stderr it works' sh -c '"$@" 2>&- >"$0"' "$work/log/o" "$epiq" estimate rows.csv "${quick[@]}" --engine infinite
check 'without stderr a failure has its code' sh -c '"$@" 2>&-; test $? -eq 2' x "$epiq" estimate none.csv "${quick[@]}"
check 'without any of them a file is right' sh -c 'exec "$@" <&- >&- 2>&-' x "$epiq" estimate rows.csv "${quick[@]}" --quiet \
    --engine infinite --json "$work/log/alone.json"
check 'all of it' is_json "$work/log/alone.json"
expect_exit 2 '' sh -c 'exec "$0" "$@" >&-' "$epiq" synth 1

# ---- what is no file, or cannot be read ----
mkdir a_folder
ln -s a_loop a_loop
for odd in a_folder a_loop none rows.csv/below /proc/self/mem; do
    expect_exit 2 "${odd##*/}" "$epiq" estimate "$odd" "${quick[@]}"
    expect_exit 2 "${odd##*/}" "$epiq" estimate rows.csv "${quick[@]}" --at "$odd"
    expect_exit 2 "${odd##*/}" "$epiq" predict "$odd" at.csv
    expect_exit 2 "${odd##*/}" "$epiq" predict model.epiq "$odd"
    expect_exit 2 "${odd##*/}" "$epiq" combine --ensemble "$odd"
    [ "$odd" = none ] && continue
    expect_exit 2 "${odd##*/}" "$epiq" estimate rows.csv "${quick[@]}" --state "$odd"
    expect_exit 2 "${odd##*/}" "$epiq" combine --ensemble ensemble.csv --append "$odd"
    expect_exit 2 "${odd##*/}" "$epiq" combine --ensemble ensemble.csv --merge "$odd"
    [ "$odd" = /proc/self/mem ] && continue
    expect_exit 2 "${odd##*/}" "$epiq" estimate rows.csv "${quick[@]}" --json "$odd"
    expect_exit 2 "${odd##*/}" "$epiq" fit rows.csv "${quick[@]}" -o "$odd"
done

# ---- signals, at any moment ----
RANDOM=8
slow=("$epiq" estimate rows.csv --target y --width 64 --members 60 --lambda 0.01 --threads 1 --quiet)
"${slow[@]}" --json "$work/log/whole.json"
started=$(date +%s%N)
"${slow[@]}" --json "$work/log/whole.json"
took=$((($(date +%s%N) - started) / 1000000)) # milliseconds
"${slow[@]}" --json "$work/log/paged.json" --report page.html # asks at more points, which may change the last bits of these
rm page.html
rounds=8
[ -n "${TEST_LONG:-}" ] && rounds=60
for ((i = 0; i < rounds; i++)); do
    case $((i % 3)) in 0) signal=TERM code=143 ;; 1) signal=INT code=130 ;; *) signal=HUP code=129 ;; esac
    rm -f kept*
    echo old >out.json
    "${slow[@]}" --state kept --json out.json --report page.html >"$out" 2>"$err" &
    pid=$!
    sleep "$(printf '0.%03d' $((RANDOM % (took * 5 / 4 < 999 ? took * 5 / 4 : 999))))"
    kill -s $signal $pid 2>/dev/null
    wait $pid
    got=$?
    if [ $got -eq 0 ]; then
        check "done before SIG$signal" test "$(points out.json)" = "$(points "$work/log/paged.json")"
    else
        check "SIG$signal: exit $code, was $got" test $got -eq $code
        check 'what was there is untouched' test "$(cat out.json)" = old
        check 'no page' test ! -e page.html
        [ -s "$err" ] && check 'one sentence' test "$(grep -c '^epiq: stopped' "$err")$(wc -l <"$err")" = 11
    fi
    check 'no temporary file' test -z "$(ls -A | grep '^\.epiq-')"
    expect_ok "${slow[@]}" --state kept --json out.json
    check 'taken up again it has the same numbers' test "$(points out.json)" = "$(points "$work/log/whole.json")"
    rm -f page.html
done
# a second one does not wait
mkfifo never
"$epiq" predict model.epiq never -o out.csv 2>"$err" &
pid=$!
sleep 0.2
kill -s TERM $pid
wait $pid
check 'waiting for a pipe ends with SIGTERM' test $? -eq 143
check 'no temporary file' test -z "$(ls -A | grep '^\.epiq-')"
# nor does who is stopped while nobody reads
mkfifo stuck
exec 9<>stuck
"$epiq" predict model.epiq - <"$work/log/many.csv" >stuck 2>"$err" &
pid=$!
sleep 1
kill -s TERM $pid
for ((i = 0; i < 100; i++)); do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
kill -s KILL $pid 2>/dev/null
wait $pid
check 'a pipe nobody reads ends with SIGTERM' test $? -eq 143
check 'in a sentence' says "$err" '^epiq: stopped'
exec 9>&-
finish
