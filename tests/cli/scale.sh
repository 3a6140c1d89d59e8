#!/usr/bin/env bash
# More rows than memory: what is foreseen, what is refused and with which alternatives, and that those keep their word.
. "$(dirname "$0")/lib.inc"

field() { # field FILE NAME: the first number or word of that name
    sed -n 's/.*"'"$2"'": "\{0,1\}\([^",}]*\).*/\1/p' "$1" | head -n 1
}
near() { # near A B RELATIVE
    awk -v a="$1" -v b="$2" -v r="$3" 'BEGIN { exit !(a - b <= r * b && b - a <= r * b) }'
}
"$epiq" synth 1 --n 2500 --d 4 --seed 2 >rows.csv
"$epiq" synth 1 --n 5 --d 4 --seed 3 | cut -d, -f 1-4 >points.csv
asked=(rows.csv --target y --methods if --lambda 1e-3 --at points.csv)
printed=("${asked[@]}" --correction none --influential 0)

# what was foreseen is what was used; a sanitizer's own memory is in no forecast
memory() { # memory 'what is expected' command...
    if grep -q __asan_init "$epiq"; then echo "SKIPPED under a sanitizer: $1"; else check "$@"; fi
}
expect_ok "$epiq" estimate "${printed[@]}" --quiet --json exact.json
check 'solver' test "$(field exact.json solver)" = exact
memory 'memory within 10 %' near "$(field exact.json bytes)" "$(field exact.json peak_rss_bytes)" 0.1

# by iteration
expect_ok "$epiq" estimate "${printed[@]}" --quiet --json iterative.json --solver iterative
check 'solver' test "$(field iterative.json solver)" = iterative
check 'residual' awk -v r="$(field iterative.json residual)" 'BEGIN { exit !(r > 0 && r <= 1e-6) }'
variances() { sed -n 's/.*"data": {"variance": \([^,]*\),.*/\1/p' "$1"; }
check 'IF as printed within 1e-3 of exact' awk 'NR == FNR { a[NR] = $1; next } { d = $1 / a[FNR] - 1; bad += d > 1e-3 || d < -1e-3; n++ }
    END { exit bad || n != 5 }' <(variances exact.json) <(variances iterative.json)
expect_ok "$epiq" estimate "${asked[@]}" --quiet --json exact-rowwise.json
expect_ok "$epiq" estimate "${asked[@]}" --quiet --json probed.json --solver iterative --probes 256
check 'IF corrected from probes within 3 of its stated errors' awk 'NR == FNR { a[NR] = $1; next }
    { d = ($1 / a[FNR] - 1) / $2; bad += d > 3 || d < -3; n++ } END { exit bad || n != 5 }' <(variances exact-rowwise.json) \
    <(sed -n 's/.*"data": {"variance": \([^,]*\),.*"probe_error": \([^,}]*\).*/\1 \2/p' probed.json)
for threads in 1 2 3; do
    expect_ok "$epiq" estimate "${printed[@]}" --quiet --json "t$threads.json" --solver iterative --threads $threads
done
check 'threads change no bit' cmp <(points t1.json) <(points t2.json)
check 'threads change no bit' cmp <(points t1.json) <(points t3.json)

# on disk
mkdir disk
expect_ok "$epiq" estimate "${printed[@]}" --quiet --json disk.json --scratch disk --mem-limit 34M
check 'the same bits' cmp <(points exact.json) <(points disk.json)
check 'a warning' says disk.json '"code": "scratch"'
memory 'under the limit' test "$(field disk.json peak_rss_bytes)" -le $((34 * 1024 * 1024))
"$epiq" synth 1 --n 7000 --d 4 --seed 2 >long.csv # seven panels of 1024 rows, of which four may be in memory
expect_ok "$epiq" estimate long.csv --target y --methods if --correction none --influential 0 --quiet --json long.json --scratch disk \
    --mem-limit 250M
memory 'under the limit with many panels' test "$(field long.json peak_rss_bytes)" -le $((250 * 1024 * 1024))
memory 'memory within 10 %' near "$(field long.json bytes)" "$(field long.json peak_rss_bytes)" 0.1
check 'nothing left there' test -z "$(ls -A disk)"

# auto
expect_ok "$epiq" estimate "${printed[@]}" --json auto.json --solver auto
check 'exact where it fits' test "$(field auto.json solver)" = exact
expect_ok "$epiq" estimate "${printed[@]}" --json auto.json --solver auto --mem-limit 34M --rank 200
check 'iterative where it does not' test "$(field auto.json solver)" = iterative
check 'and says so' says auto.json '"code": "approximated"'
check 'and says so to the person' says "$out" 'by iteration'

# told beforehand, and nothing done
expect_ok "$epiq" estimate "${asked[@]}" --dry-run --state kept --json dry.json
check 'told' says "$out" ' 0\.0[0-9] GB of '
check 'the same forecast' test "$(field dry.json bytes)" = "$(field exact-rowwise.json bytes)"
check 'no point' says dry.json '"points": \[\]'
check 'no state' test ! -e kept
expect_ok "$epiq" estimate "${printed[@]}" --dry-run --solver iterative
check 'which solver' says "$out" 'solver iterative'
expect_exit 3 '0\.0[0-9] GB' "$epiq" estimate "${printed[@]}" --mem-limit 34M --dry-run
expect_exit 1 '--report' "$epiq" estimate "${printed[@]}" --dry-run --report page.html
check 'none was written' test ! -e page.html

# refusals: one sentence, exit 3, with what else there is
expect_exit 3 '--solver iterative \(0\.0[0-9] GB' \
    "$epiq" estimate "${printed[@]}" --mem-limit 34M --rank 200
expect_exit 3 '--scratch DIR \(0.04 GB' "$epiq" estimate "${printed[@]}" --mem-limit 34M
expect_exit 3 '--scratch DIR --probes 64' "$epiq" estimate "${asked[@]}" --mem-limit 36M
expect_exit 3 '0\.0000 ' "$epiq" estimate "${printed[@]}" --mem-limit 1K
expect_exit 3 '' "$epiq" estimate "${printed[@]}" --solver iterative --mem-limit 22M
expect_exit 2 '' "$epiq" estimate "${printed[@]}" --scratch nowhere --mem-limit 34M
expect_exit 2 '' bash -c 'ulimit -f 100; exec "$@"' x "$epiq" estimate "${printed[@]}" \
    --scratch disk --mem-limit 34M
expect_exit 1 'rank' "$epiq" estimate "${printed[@]}" --solver iterative --rank 0
expect_exit 1 '"12X"' "$epiq" estimate "${printed[@]}" --mem-limit 12X
expect_exit 1 'mem-limit is "-1"' "$epiq" estimate "${printed[@]}" --mem-limit -1
expect_exit 1 'mem-limit is "99999999999G"' "$epiq" estimate "${printed[@]}" --mem-limit 99999999999G
expect_exit 1 '"fast"' "$epiq" estimate "${printed[@]}" --solver fast
expect_exit 1 '--kernel' "$epiq" estimate "${printed[@]}" --solver iterative \
    --kernel empirical
expect_exit 1 '--time' "$epiq" estimate "${printed[@]}" --solver iterative --engine infinite --time 3
expect_exit 3 '--tolerance' "$epiq" estimate "${printed[@]}" --solver iterative --tolerance 1e-14 \
    --lambda 1e-12
finish
