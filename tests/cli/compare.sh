#!/usr/bin/env bash
# epiq compare as a person would use it: a grid, every output, the closed form, interruption, and ways to get it wrong.
. "$(dirname "$0")/lib.inc"

number='-?[0-9][0-9.e+-]*'
"$epiq" synth 1 --n 60 --d 3 --seed 5 >rows.csv
small=(rows.csv --target y --width 16,32 --depth 1,2 --lambda 1e-3,1e-2 --members 10 --ensemble-size 2 --folds 3)

expect_ok "$epiq" compare --help
check 'usage' says "$out" '^usage: epiq compare DATA --target COL'
check 'no line too wide' lacks "$out" '.{81}'
for flag in width depth lambda bias folds members ensemble-size at json csv report quiet engine seed threads; do
    check "--help has --$flag" says "$out" "^  --$flag( |$)"
done
check 'no flag that does nothing' lacks "$out" '^  --(state|methods|batches|influential|sweep|kernel|hbar) '

expect_ok "$epiq" compare "${small[@]}" --json all.json --csv all.csv --report page.html
check 'text: the answer is last' says <(tail -n 1 "$out") '^Choice: --width (16|32) --depth [12] --lambda 1e-[23]\. .* on the front'
check 'text: a row a model' test "$(grep -cE '^  [ >*] +(16|32) +[12] +1e-[23]  ' "$out")" -eq 8
check 'text: one choice' test "$(grep -cE '^  > ' "$out")" -eq 1
check 'text: how long' says "$out" '48 networks trained, 48 converged; [0-9.e-]+ s$'
check 'text: no colour in a file' lacks "$out" "$(printf '\033')"
check 'JSON' is_json all.json
for field in epiq version run command seed threads backend data_sha256 data model comparison error folds members ensemble_size \
    trainings converged models width depth lambda bias loo_rmse loo_se cv_rmse cv_se variance interval procedural infinite \
    front choice index reason warnings; do
    check "field $field" says all.json "\"$field\": "
done
check 'a line a model' test "$(grep -cE "^    \{\"width\": (16|32), \"depth\": [12], \"lambda\": 0.0?01, \"bias\": 1, \"loo_rmse\": $number, \"loo_se\": $number, \"cv_rmse\": $number, \"cv_se\": $number, \"variance\": $number, " all.json)" -eq 8
check 'trainings: 8 models, 3 folds of 2' says all.json '"trainings": 48,'
check 'CSV' test "$(wc -l <all.csv)" -eq 9
check 'CSV: as wide as its header' awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' all.csv
check 'CSV: one choice, on the front' awk -F, 'NR > 1 && $16 == 1 { n++; if ($15 != 1) exit 1 } END { exit n != 1 }' all.csv
check 'CSV: leave-one-out does not depend on the width' awk -F, 'NR > 1 { if (($2, $3) in e && e[$2, $3] != $5) exit 1; e[$2, $3] = $5 }' all.csv
# the front by its definition, and the rule of the choice
check 'CSV: front' awk -F, 'NR > 1 { e[NR] = $7; v[NR] = $9; f[NR] = $15 }
    END { for (i in e) { b = 0; for (k in e) if (e[k] <= e[i] && v[k] <= v[i] && (e[k] < e[i] || v[k] < v[i])) b = 1; if (f[i] != !b) exit 1 } }' all.csv
check 'page: the answer' says page.html '<p class="answer">Start with width'
check 'page: two pictures' test "$(grep -c '<svg class="chart"' page.html)" -eq 2
check 'page: marks are labelled' says page.html '<text class="tag"[^>]*>w (16|32), depth [12], λ 1e-[23]</text>'
check 'page: needs nothing else' lacks page.html '(src|href)='

models() { sed -n '/^  "models": \[/,/^  \]/p' "$1"; }
expect_ok "$epiq" compare "${small[@]}" --quiet --threads 1 --json one.json
expect_ok "$epiq" compare "${small[@]}" --quiet --threads 3 --json three.json
check 'quiet' test ! -s "$out"
check 'threads' cmp <(models one.json) <(models three.json)

# the closed form trains nothing; leave-one-out alone decides without folds
expect_ok "$epiq" compare rows.csv --target y --engine infinite --depth 1,2 --bias 0.5,1 --json -
cp "$out" closed.json
check 'JSON alone on stdout' is_json closed.json
check 'no width' test "$(grep -c '"width": null, "depth"' closed.json)" -eq 16
check 'nothing trained' says closed.json '"trainings": 0,'
expect_ok "$epiq" compare rows.csv --target y --engine infinite --folds 0 --at row:1 --at row:2 --json folds.json
check 'no cross-validation' says folds.json '"cv_rmse": null, "cv_se": null'
check 'leave-one-out decides' says folds.json '"error": "loo_rmse"'
check 'said so' says "$out" 'leave-one-out error \('
expect_ok "$epiq" compare rows.csv --target y --engine infinite --folds 0 --bias 0,1 --lambda 1e-3 --at mean --json bias.json
check 'no bias, at the mean: not chosen' says bias.json '^    "index": 1,$'
check 'no bias: its variance is unknown' says bias.json '"bias": 0, .*"variance": null, '
expect_words 'no bias: said' "$out" '^Warning: 1 of 2 models'
awk -F, 'NR == 1 { print $0 ",g"; next } { print $0 "," int(NR / 10) }' rows.csv >grouped.csv
expect_ok "$epiq" compare grouped.csv --target y --group g --engine infinite --folds 3

# interrupted: nothing is left behind
rm -f ./*.json ./*.html all.csv
before=$(ls -A)
"$epiq" compare rows.csv --target y --folds 20 --lambda 1e-5 --json late.json --quiet 2>"$err" &
child=$!
sleep 0.5
kill -INT $child
wait $child
check 'SIGINT is 130' test $? -eq 130
check 'says stopped' says "$err" '^epiq: stopped'
check 'nothing left' test "$(ls -A)" = "$before"

run=("$epiq" compare rows.csv --target y)
expect_exit 1 '--width' "${run[@]}" --width 16,0
expect_exit 1 '--width' "${run[@]}" --width 16,
expect_exit 1 '--lambda is "x"' "${run[@]}" --lambda 1e-3,x
expect_exit 1 '--depth is "1.5"' "${run[@]}" --depth 1.5
expect_exit 1 '--folds is "-1"' "${run[@]}" --folds=-1
expect_exit 1 'folds' "${run[@]}" --folds 1
expect_exit 1 '' "${run[@]}" --engine infinite --width 16,32
expect_exit 1 '' "${run[@]}" --width "$(seq -s, 1 40)" --depth "$(seq -s, 1 40)"
expect_exit 1 '--members is 1' "${run[@]}" --members 1
expect_exit 1 '--state' "${run[@]}" --state x
expect_exit 2 '60 rows' "${run[@]}" --folds 61
expect_exit 2 '' "$epiq" compare rows.csv --target z
finish
