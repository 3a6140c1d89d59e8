#!/usr/bin/env bash
# Repeated measurements: groups named by a column or by equal features, what is said of them, and ways to get it wrong.
. "$(dirname "$0")/lib.inc"

# 30 things measured four times each, with an effect of the thing
awk 'BEGIN { print "thing,a,b,y"
    for (i = 0; i < 120; i++) { g = int(i / 4)
        printf "t%d,%.17g,%.17g,%.17g\n", g, sin(17 * g + 1), cos(29 * g), sin(17 * g + 1) + sin(53 * g) + 0.1 * sin(91 * i) } }' >rows.csv
fast=(--target y --engine infinite --methods if,ev --at mean)
parts() { sed -n '/^  "points": \[/,/^  \]/p' "$1"; }

expect_ok "$epiq" estimate rows.csv "${fast[@]}" --drop thing --json alone.json --verbose
expect_words 'repeats are said' "$out" '90 rows .*--group same-features'
check 'row by row' says "$out" 'errors by leave-one-out'
check 'JSON: row by row' says alone.json '"by": "leave-one-out"'
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --group thing --json thing.json --verbose
check 'nothing to recommend' lacks "$out" 'same-features'
check 'by group' says "$out" 'errors by leave-one-group-out'
check 'JSON: by group' says thing.json '"by": "leave-one-group-out"'
check 'JSON: groups' says thing.json '"groups": 30'
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --drop thing --group same-features --json same.json
check 'the same answer' cmp <(parts thing.json) <(parts same.json)
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --drop thing --group same-features --report page.html
check 'page' says page.html 'predicts each row from all other groups'
check 'nothing to recommend' lacks "$out" 'same-features'
check 'the error by group is larger' awk -F'[:,]' '/^    "rmse"/ { e[FILENAME] = $2 } END { exit !(e["thing.json"] > 2 * e["alone.json"]) }' thing.json alone.json

# a model, and a state, know the groups
expect_ok "$epiq" fit rows.csv --target y --engine infinite --drop thing --group same-features --output m.epiq
expect_ok "$epiq" predict m.epiq rows.csv --csv p.csv
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --drop thing --group same-features --at row:7 --csv e.csv
check 'predict says what estimate says' awk -F, 'NR == FNR { if (FNR == 1) for (k = 1; k <= NF; k++) if ($k == "data") d = k; if (FNR == 8) p = $d; next }
    FNR == 1 { for (k = 1; k <= NF; k++) if ($k == "data") d = k } FNR == 3 { e = $d } END { exit !(p > 0.999999 * e && p < 1.000001 * e) }' p.csv e.csv
expect_ok "$epiq" estimate rows.csv --target y --drop thing --group same-features --width 8 --members 3 --methods if,ev --state s --json first.json
expect_ok "$epiq" estimate rows.csv --target y --drop thing --group same-features --width 8 --members 3 --methods if,ev --state s --json again.json
check 'the state goes on' says again.json '"resumed": 43'
check 'and says the same' cmp <(parts first.json) <(parts again.json)

expect_ok "$epiq" compare rows.csv --target y --drop thing --group same-features --engine infinite --lambda 1e-5,1e-1 --folds 0 --json c.json
check 'compared by group' says "$out" 'leave-one-group-out error|smaller leave-one-group-out'
check 'the table says so' says "$out" 'leave-group-out'
check 'JSON' says c.json '"loo_by": "leave-one-group-out"'

# a column of that name is meant itself
sed '1s/thing/same-features/' rows.csv >named.csv
expect_ok "$epiq" estimate named.csv "${fast[@]}" --group same-features --json named.json
check 'the column' cmp <(parts thing.json) <(parts named.json)

# no repeats: one sentence, nothing written
awk -F, 'NR == 1 || NR % 4 == 1' rows.csv >single.csv
expect_exit 2 '--group' \
    "$epiq" estimate single.csv "${fast[@]}" --drop thing --group same-features --json none.json
check 'nothing written' test ! -e none.json
expect_exit 2 'thing' "$epiq" estimate rows.csv "${fast[@]}" --group things
awk -F, 'NR <= 5' rows.csv >one.csv
expect_exit 2 '' "$epiq" estimate one.csv "${fast[@]}" --drop thing --group same-features

expect_ok "$epiq" estimate rows.csv "${fast[@]}" --group thing --probes 16
expect_words 'what probes cannot do' "$out" '--solver exact .*--probes 0'
finish
