#!/usr/bin/env bash
# epiq explore: rankings in every form, batches, closed loops, and what is refused.
. "$(dirname "$0")/lib.inc"

number='-?[0-9][0-9.e+-]*'
quick=(--target y --engine infinite --lambda 1e-3)
"$epiq" synth 1 --n 60 --d 3 --seed 5 >rows.csv
"$epiq" synth 1 --n 30 --d 3 --seed 6 | cut -d, -f 1-3 >candidates.csv

# every form of a ranking
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --batch 3 --top 5 --json all.json --csv all.csv \
    --report page.html
check 'JSON' is_json all.json
check 'JSON: a line a candidate' test "$(grep -c '^    {"row": ' all.json)" -eq 30
check 'JSON: fields' says all.json \
    "^    \{\"row\": [0-9]+, \"at\": \"candidates.csv:[0-9]+\", \"pick\": 1, \"score\": $number, \"prediction\": $number, \"procedural\": $number, \"data\": $number, \"values\": \[$number, $number, $number\]\},$"
check 'JSON: those not picked' test "$(grep -c '"pick": null' all.json)" -eq 27
for field in epiq run command seed threads data_sha256 data rows features target model engine explore rule goal kappa batch \
    ensemble_size reason ranked warnings; do
    check "field $field" says all.json "\"$field\": "
done
check 'CSV: header' test "$(head -n 1 all.csv)" = 'row,pick,score,prediction,procedural,data,x1,x2,x3'
check 'CSV: features are those of the file' cmp <(tail -n +2 all.csv | sort -n | cut -d, -f 7-9 | awk -F, '{ print $1 + 0, $2 + 0, $3 + 0 }') \
    <(tail -n +2 candidates.csv | awk -F, '{ print $1 + 0, $2 + 0, $3 + 0 }')
check 'text: what to measure' test "$(grep -cE "^  [123]  x1 $number, x2 $number, x3 $number$" "$out")" -eq 3
check 'page: the picks and their features' says page.html 'aria-label="The picks and their features"'
check 'CSV: a line a candidate' test "$(wc -l <all.csv)" -eq 31
check 'CSV: picks first' test "$(sed -n '2,4p' all.csv | cut -d, -f 2 | tr '\n' ' ')" = '1 2 3 '
check 'CSV: then by score' awk -F, 'NR > 5 && $3 > last { exit 1 } { last = $3 }' all.csv
check 'CSV: every row once' test "$(tail -n +2 all.csv | cut -d, -f 1 | sort -un | wc -l)" -eq 30
check 'CSV and JSON agree' says all.json "\"score\": $(awk -F, 'NR == 2 { print $3 }' all.csv),"
check 'text: five lines' test "$(grep -c '^ .* candidates\.csv:' "$out")" -eq 5
check 'text: the rest' says "$out" '^\.\.\. and 25 more'
check 'text: why is last' says <(tail -n 1 "$out") '^Why: Candidate [0-9]+ comes first'
check 'text: no colour in a file' lacks "$out" "$(printf '\033')"
check 'page' says page.html '</html>'
check 'page: pictures' test "$(grep -c '<svg class="chart"' page.html)" -eq 2
check 'page: needs nothing else' lacks page.html '(src|href)='
check 'only what was asked for' test "$(ls -A | tr '\n' ' ')" = 'all.csv all.json candidates.csv page.html rows.csv '
expect_ok "$epiq" explore - "${quick[@]}" --candidates candidates.csv --batch 3 --csv - <rows.csv
check '--csv -: nothing but CSV, from standard input the same' cmp "$out" all.csv
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --batch 3 --threads 1 --csv -
check 'threads change nothing' cmp "$out" all.csv
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --batch 3 --quiet --csv quiet.csv
check 'quiet' test ! -s "$out" -a ! -s "$err"

# features in words: of a category the value that holds, of a number its value, also where it is 0 and the name has a "="
awk 'BEGIN { print "metal,a=b,y"; for (i = 0; i < 40; i++) print (i % 2 ? "iron" : "tin") "," i % 5 "," i % 5 + i % 2 }' >words.csv
printf 'metal,a=b\ntin,0\niron,2\n' >words-at.csv
expect_ok "$epiq" explore words.csv "${quick[@]}" --candidates words-at.csv --batch 2
check 'text: a category, and a number that is 0' says "$out" '^  [12]  metal=tin, a=b 0$'
check 'text: another' says "$out" '^  [12]  metal=iron, a=b 2$'
expect_ok "$epiq" estimate words.csv "${quick[@]}" --at metal=iron --verbose
check 'estimate: the same words' says "$out" '^Features there: metal=iron, a=b 2$'

# the score before any pick is made of what estimate says
expect_ok "$epiq" estimate rows.csv "${quick[@]}" --methods if,ev --at candidates.csv --csv -
cp "$out" points.csv
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --kappa 3 --ensemble-size 4 --csv ucb.csv --quiet
check 'ucb = prediction + 3 sqrt(data + procedural/4)' awk -F, '
    NR == FNR { if (FNR > 1) score[FNR - 1] = $2 + 3 * sqrt($7 + $4 / 4); next }
    FNR > 1 && ($3 - score[$1]) ^ 2 > 1e-20 { exit 1 }' points.csv ucb.csv
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --rule data --csv data.csv --quiet
check 'data' awk -F, 'FNR > 1 && $3 != $6 { exit 1 }' data.csv
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --rule total --csv total.csv --quiet
check 'total = data + procedural/5' awk -F, 'FNR > 1 && ($3 - $6 - $5 / 5) ^ 2 > 1e-24 { exit 1 }' total.csv
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --goal min --kappa 0 --csv min.csv --quiet
check 'kappa 0 towards the minimum: smallest prediction first' test "$(sed -n 2p min.csv | cut -d, -f 4)" = \
    "$(tail -n +2 points.csv | cut -d, -f 2 | sort -g | head -n 1)"

# a doubled file: no copy beside its twin among the first picks
{ cat candidates.csv; tail -n +2 candidates.csv; } >twice.csv
for rule in ucb data total; do
    expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates twice.csv --rule $rule --kappa 10 --batch 6 --csv twice.out --quiet
    check "twins with --rule $rule" test \
        "$(sed -n '2,7p' twice.out | awk -F, '{ print ($1 - 1) % 30 }' | sort -u | wc -l)" -eq 6
done
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --candidates candidates.csv --csv - --quiet
check 'two files of candidates' test "$(wc -l <"$out")" -eq 61

# networks are trained when the score needs them
expect_ok "$epiq" explore rows.csv --target y --width 32 --members 10 --candidates candidates.csv --batch 2
check 'networks: said to be approximate' says "$out" 'for networks an approximation'
expect_ok "$epiq" explore rows.csv --target y --candidates candidates.csv --rule data --top 1
check 'rule data trains none' says "$out" 'No network was trained'

# upper confidence bounds: of the closed form, and of few networks
expect_ok "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --batch 3 --confidence retrain --level 0.8 --json bound.json \
    --csv bound.csv --report bound.html
check 'bound: text' says "$out" '^score: the upper end of the 80 % interval of the expected prediction \(if\)$'
check 'bound: JSON' is_json bound.json
check 'bound: JSON, how' says bound.json '^  "confidence": {"method": "if", "level": 0.8, "networks": 0},'
check 'bound: JSON, a candidate' says bound.json "\"pick\": 1, .*\"confidence\": \{\"lo\": $number, \"hi\": $number\}"
check 'bound: CSV' test "$(head -n 1 bound.csv)" = 'row,pick,score,prediction,procedural,data,confidence_lo,confidence_hi,x1,x2,x3'
check 'bound: the score is the upper end' awk -F, 'NR > 1 && $3 != $8 { exit 1 }' bound.csv
check 'bound: page' says bound.html 'From the middle of the interval'
expect_ok "$epiq" explore rows.csv --target y --width 32 --candidates candidates.csv --budget-networks 6 --goal min --csv low.csv
check 'bound: what was bought' says "$out" 'interval of the expected prediction \(halves, 6 trainings\), with its sign changed'
check 'bound: the lower end' awk -F, 'NR > 1 && $3 != -$7 { exit 1 }' low.csv
expect_ok "$epiq" explore --loop --function decoy --engine network --width 16 --budget-networks 6 --steps 2 --seeds 2 --fresh 20
check 'bound: loop' says "$out" '^greedy choice '

# closed loops
rm -f ./*.out ./*.json ./*.html
expect_ok "$epiq" explore --loop --steps 6 --seeds 4 --json loop.json --csv loop.csv --report loop.html
check 'loop: JSON' is_json loop.json
check 'loop: four contenders' test "$(grep -c '"name": "' loop.json)" -eq 4
check 'loop: optimum' says loop.json '"optimum": 2,'
check 'loop: CSV' test "$(wc -l <loop.csv)" -eq 29
check 'loop: verdict' says <(tail -n 1 "$out") '^By cumulative regret over 4 seeds, rule ucb is .* random choice .* greedy choice .* plain ensemble'
check 'loop: page' test "$(grep -c '<svg class="chart"' loop.html)" -eq 2
expect_ok "$epiq" explore --loop --steps 6 --seeds 4 --threads 1 --csv -
check 'loop: threads change nothing' cmp "$out" loop.csv
expect_ok "$epiq" explore --loop --function crest --engine linear --width 64 --members 8 --steps 3 --seeds 2 --batch 4 --rule total
check 'loop: other engines, rules, batches' says "$out" '^rule total '

# refused
expect_exit 1 '' "$epiq" explore
expect_exit 1 '--candidates' "$epiq" explore rows.csv --target y
expect_exit 1 '--kappa' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --kappa=-1
expect_exit 1 '--kappa is "x"' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --kappa x
expect_exit 1 '--kappa' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --confidence retrain --kappa 1
expect_exit 1 '--rule' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --rule best
expect_exit 1 '--goal is "up"' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --goal up
expect_exit 1 '--batch is "0"' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --batch 0
expect_exit 2 '30 candidates' "$epiq" explore rows.csv --target y --candidates candidates.csv --batch 31
expect_exit 2 'candidates' "$epiq" explore rows.csv "${quick[@]}" --candidates nowhere-candidates.csv
head -n 1 candidates.csv >empty.csv
expect_exit 2 'empty.csv' "$epiq" explore rows.csv "${quick[@]}" --candidates empty.csv
sed '1s/x2/z2/' candidates.csv >other.csv
expect_exit 2 'other.csv.*x2' "$epiq" explore rows.csv "${quick[@]}" --candidates other.csv
expect_exit 2 '' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --csv candidates.csv
expect_exit 1 '' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --csv - --json -
expect_exit 1 'p.html' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --report p.html --json p.html
expect_exit 1 '' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --batch 2 --time 3
expect_exit 1 'belongs to --loop' "$epiq" explore rows.csv "${quick[@]}" --candidates candidates.csv --steps 3
expect_exit 1 'rows.csv' "$epiq" explore rows.csv --loop
expect_exit 1 '--candidates' "$epiq" explore --loop --candidates candidates.csv
expect_exit 1 '' "$epiq" explore --loop --function wave
expect_exit 1 '--help' "$epiq" explore --loop --function xyzzyxyzzy
expect_exit 1 'batch of 9' "$epiq" explore --loop --fresh 8 --batch 9
expect_exit 1 '--methods' "$epiq" explore rows.csv --methods if
expect_ok "$epiq" explore --help
check 'no line too wide' lacks "$out" '.{81}'

# interrupted: one sentence, nothing left behind
before=$(ls -A)
"$epiq" explore --loop --engine network --seeds 1000 --json stopped.json >"$out" 2>"$err" &
job=$!
sleep 0.5
kill -INT $job
wait $job
check 'SIGINT' test $? -eq 130
check 'SIGINT: a sentence' says "$err" '^epiq: stopped'
check 'SIGINT: no file' test "$before" = "$(ls -A)"
finish
