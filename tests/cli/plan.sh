#!/usr/bin/env bash
# epiq plan as a person would use it: a goal, a budget, every output, and every way to get it wrong.
. "$(dirname "$0")/lib.inc"

number='-?[0-9][0-9.e+-]*'
interval="\\[$number, $number\\]"
"$epiq" synth 1 --n 60 --d 3 --seed 5 >rows.csv
small=(rows.csv --target y --width 64 --lambda 1e-3 --members 6)
prices=(--price-row 2 --price-training 0.5)

expect_ok "$epiq" plan --help
check 'usage' says "$out" '^usage: epiq plan DATA --target COL --price-row A --price-training B'
check 'no line too wide' lacks "$out" '.{81}'
for flag in price-row price-training goal-sd goal budget at json csv report quiet methods members ensemble-size level seed; do
    check "--help has --$flag" says "$out" "^  --$flag( |$)"
done
check 'no flag that does nothing' lacks "$out" '^  --(influential|sweep) '

# told beforehand, of the rows of the table too, which is the default
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --goal-sd 0.05 --dry-run
check 'the cost' says "$out" '^Expected cost: '

# a goal
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --at mean --goal 0.002025 --json all.json --csv curve.csv --report page.html
check 'text: the answer is last' test "$(tail -n 1 "$out" | cut -c 1-6)" = 'Plan: '
check 'text: even chance' says "$out" '^  even chance .* \(.* to .*\) .* [0-9]+ %$'
check 'text: likely' says "$out" '^  likely \(recommended\) .* (8[0-9]|9[0-9]) %$'
check 'text: how the parts fall' says "$out" '^Twice the rows .* procedural .* [0-9]+ %'
check 'text: no colour in a file' lacks "$out" "$(printf '\033')"
check 'nothing on stderr' test ! -s "$err"
check 'JSON' is_json all.json
for field in epiq version run command seed threads backend data_sha256 data rows model engine asked price_row price_training \
    goal goal_sd budget at parts procedural exponent now plan likely cautious curve notice caveat warnings; do
    check "field $field" says all.json "\"$field\": "
done
mix="\"rows\": [0-9]+, \"members\": [0-9]+, \"new_rows\": [0-9]+, \"trainings\": [0-9]+, \"cost\": $number, \"variance\": $number, \"interval\": $interval, \"sd\": $number"
check 'plan' says all.json "^  \"plan\": \{$mix, \"chance\": $number, \"level\": 0.95, \"method\": \"if\+ev\", \"text\": \".*\"\},$"
check 'now' says all.json "^  \"now\": \{\"rows\": 60, \"members\": 6, \"new_rows\": 0, \"trainings\": 0, \"cost\": 0, "
check 'exponent' says all.json "^  \"exponent\": \{\"data\": $number, \"data_sd\": $number, \"procedural\": $number, \"procedural_sd\": $number, \"rows\": 60\},$"
check 'curve' test "$(grep -cE "^    \{$mix\},?$" all.json)" -gt 10
check 'CSV: a line a point of the curve' test "$(wc -l <curve.csv)" -eq $(($(grep -cE "^    \{$mix\},?$" all.json) + 1))
check 'CSV: cost rises, variance falls' awk -F, 'NR > 2 && ($1 + 0 <= c || $6 + 0 >= v) { exit 1 } NR > 1 { c = $1 + 0; v = $6 + 0 }' curve.csv
# cost and variance follow from what is bought: with new rows every network is trained again
check 'CSV: cost and trainings' awk -F, 'NR == 1 { next } { t = $4 ? $3 : $3 - 6; d = $1 - 2 * $4 - 0.5 * t }
    $5 != t || $2 != 60 + $4 || d > 1e-9 || d < -1e-9 { exit 1 }' curve.csv
check 'the goal is reached' awk 'match($0, /"plan": \{/) { sub(/.*"variance": /, ""); exit !($0 + 0 > 0 && $0 + 0 <= 0.002025) }' all.json
check 'CSV: never more than ten times the networks trained' awk -F, 'NR > 1 && $3 > 60 { exit 1 }' curve.csv
check 'CSV: the standard deviation is the root of the variance' awk -F, 'NR > 1 { d = $9 * $9 - $6 } d > 1e-12 * $6 || d < -1e-12 * $6 { exit 1 }' curve.csv
check 'likely: 80 %, for more than the even chance' python3 -c '
import json
a = json.load(open("all.json"))
even, likely, cautious = a["plan"], a["likely"], a["cautious"]
assert 0.8 <= likely["chance"] < 0.9 and even["cost"] < likely["cost"] and even["chance"] < 0.7
assert cautious is None or (likely["cost"] < cautious["cost"] and cautious["chance"] >= 0.975)
assert set(even) - {"level", "method", "text"} == set(likely)
'
check 'page: the answer' says page.html '<p class="answer">'
check 'page: pictures' test "$(grep -c '<svg class="chart"' page.html)" -eq 3
check 'page: needs nothing else' lacks page.html '(src|href)='
check 'page: closed' says page.html '</html>'

expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --at mean --goal-sd 0.045 --quiet --json sd.json
check 'the goal as a standard deviation' cmp <(grep -E '^  "(plan|likely|cautious|now)"' sd.json) <(grep -E '^  "(plan|likely|cautious|now)"' all.json)

# the same bits from any number of threads
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --at mean --goal 0.002025 --quiet --threads 1 --json one.json
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --at mean --goal 0.002025 --quiet --threads 3 --json three.json
check 'quiet' test ! -s "$out"
check 'threads' cmp <(sed -n '/^  "parts"/,/"caveat"/p' one.json) <(sed -n '/^  "parts"/,/"caveat"/p' three.json)

# a budget, one network, points, the closed form
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --budget 20 --engine infinite --ensemble-size 1 --at row:3 --at mean --json -
cp "$out" budget.json
check 'JSON alone on stdout' is_json budget.json
check 'budget kept' awk 'match($0, /"plan": \{/) { sub(/.*"cost": /, ""); exit !($0 + 0 > 0 && $0 + 0 <= 20) }' budget.json
check 'no chance without a goal' says budget.json '"chance": null'
check 'nothing cautious' says budget.json '^  "cautious": null'
check 'both points' says budget.json '"at": \["row:3", "mean"\]'
check 'one network now' says budget.json '"now": \{"rows": 60, "members": 1, '
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --engine infinite --budget 0.1
expect_words 'nothing to buy' "$out" '^Plan: .* 0\.1 .* 0\.5'
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --engine infinite --goal 1e6
expect_words 'reached already' "$out" '^Plan: '
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --methods ev,ba --batches 3 --seed 2 --budget 3
expect_ok sh -c '"$1" plan - --target y --engine infinite --price-row 1 --price-training 1 --budget 9 <rows.csv' - "$epiq"

# wrong by itself
rm -f ./*.json ./*.html curve.csv
run=("$epiq" plan rows.csv --target y --engine infinite)
expect_exit 1 '--goal' "${run[@]}" "${prices[@]}"
expect_exit 1 '--goal' "${run[@]}" "${prices[@]}" --goal 1 --budget 1
expect_exit 1 '--price-row' "${run[@]}" --price-training 1 --goal 1
expect_exit 1 '--price-training' "${run[@]}" --price-row 1 --goal 1
expect_exit 1 '--price-row' "${run[@]}" --price-row 0 --price-training 1 --goal 1
expect_exit 1 '--price-row' "${run[@]}" --price-row=-1 --price-training 1 --goal 1
expect_exit 1 '--price-training' "${run[@]}" --price-row 1 --price-training inf --goal 1
expect_exit 1 '--price-training' "${run[@]}" --price-row 1 --price-training nan --goal 1
expect_exit 1 '--price-row' "${run[@]}" --price-row 'a lot' --price-training 1 --goal 1
expect_exit 1 '--goal' "${run[@]}" "${prices[@]}" --goal 0
expect_exit 1 '--goal-sd' "${run[@]}" "${prices[@]}" --goal-sd=-1
expect_exit 1 '--goal-sd' "${run[@]}" "${prices[@]}" --goal 1 --goal-sd 1
expect_exit 1 '--budget' "${run[@]}" "${prices[@]}" --budget=-3
expect_exit 1 '' "$epiq" plan rows.csv --target y "${prices[@]}" --goal 1 --methods ba
expect_exit 1 '--price-row' "${run[@]}" --price-rows 1
expect_exit 1 '' "${run[@]}" "${prices[@]}" --goal 1 --json x --report x
# wrong with this file
expect_exit 2 '' "${run[@]}" "${prices[@]}" --goal 1e-13
expect_exit 2 '' "$epiq" plan rows.csv --target z "${prices[@]}" --goal 1
expect_exit 2 '' "${run[@]}" "${prices[@]}" --goal 1 --json rows.csv
expect_exit 2 'nowhere' "${run[@]}" "${prices[@]}" --goal 1 --report nowhere/page.html

# with no word about where: rows like those there are
expect_ok "$epiq" plan "${small[@]}" "${prices[@]}" --goal-sd 0.06 --json rows.json
check 'rows left out' says "$out" '^The standard deviation is that of the predicted y for a row like these 60'
check 'exponents on the rest' says rows.json '"rows": 48\},$'
finish
