#!/usr/bin/env bash
# epiq estimate and its neighbours as a person would use them: every output, every subset of methods, threads, resuming.
. "$(dirname "$0")/lib.inc"

number='-?[0-9][0-9.e+-]*'
interval="\\[$number, $number\\]"
small=(--target y --width 64 --lambda 1e-3 --members 6 --batches 3 --methods if,ev,ba)

# synth
expect_ok "$epiq" synth 1 --n 60 --d 3 --seed 5
cp "$out" rows.csv
check 'header' test "$(head -n 1 rows.csv)" = 'x1,x2,x3,y'
check '60 rows' test "$(wc -l <rows.csv)" -eq 61
expect_ok "$epiq" synth 1 --seed=5 --d=3 --n=60
check 'same seed, same bytes' cmp "$out" rows.csv
expect_ok "$epiq" synth 1 --n 60 --d 3 --seed 6
check 'another seed' test "$(cksum <"$out")" != "$(cksum <rows.csv)"
for set in 1 2 3; do
    expect_ok "$epiq" synth $set
    check 'defaults: 200 rows of x1,x2,y' test "$(wc -l <"$out") $(head -n 1 "$out")" = '201 x1,x2,y'
done

# JSON and CSV files beside the text
expect_ok "$epiq" estimate rows.csv "${small[@]}" --json all.json --csv all.csv --at mean --at row:7 --verbose
check 'JSON' is_json all.json
for field in epiq version run command seed threads backend solver precision kernels in_double products seconds peak_rss_bytes data_sha256 data rows features target \
    scale target_scale shift factor model engine kernel width depth bias lambda optimizer fit rmse r2 noise_sd training members \
    converged loss_max gradient_rel_max iterations_median points at prediction prediction_variance procedural variance \
    interval level method ensemble single check ba if_plus_ev inside influential row influence timing read factor if ev \
    advice action text warnings notes; do
    check "field $field" says all.json "\"$field\": "
done
check 'two points' test "$(grep -c '^      "at": ' all.json)" -eq 2
check 'second point' says all.json '"at": "row:7"'
check 'procedural' says all.json \
    "^      \"procedural\": \{\"variance\": $number, \"interval\": $interval, \"level\": 0.95, \"method\": \"ev\", \"members\": 6\},$"
check 'data' says all.json \
    "^      \"data\": \{\"variance\": $number, \"interval\": $interval, \"level\": 0.95, \"method\": \"retrain\", \"correction\": \"moderated\", \"uncorrected\": $number, \"kappa\": $number, \"infinite_width\": $number\},$"
check 'ensemble' says all.json \
    "^      \"ensemble\": \{\"variance\": $number, \"interval\": $interval, \"level\": 0.95, \"method\": \"retrain\+ev\", \"members\": 3\},$"
check 'ba' says all.json \
    "^      \"ba\": \{\"variance\": $number, \"interval\": $interval, \"level\": 0.95, \"method\": \"ba\", \"uncorrected\": $number, \"factor\": $number\},$"
check 'ba: the factor is what was measured times' awk '/^      "ba": / { n = split($0, v, /[:,\[\] {}]+/); for (i = 1; i < n; i++) k[v[i]] = v[i + 1]
    d = k["\"variance\""] / (k["\"uncorrected\""] * k["\"factor\""]) - 1; if (d * d > 1e-20) exit 1; seen++ } END { exit !seen }' all.json
check 'single' says all.json "^      \"single\": \{\"variance\": $number, \"interval\": $interval, "
check 'check' says all.json "^      \"check\": \{\"ba\": $number, \"uncorrected\": $number, \"if_plus_ev\": $number, \"inside\": (true|false)\},$"
check 'five influential rows a point' test "$(grep -c '"influence": ' all.json)" -eq 10
check 'trainings: six and three, twenty without a fold, twenty again on other targets' says all.json '^    "members": 49,'
check 'retraining' says all.json '^  "retrain": \{'
check 'sha256' says all.json '"data_sha256": "[0-9a-f]{64}"'
check 'one of the points is a row of the table' says all.json '"code": "training_rows"'
check 'the line as typed' says all.json '"command": "epiq estimate rows.csv --target y .* --at row:7 --verbose"'
check 'action' says all.json '"action": "(train|collect|either|nothing)"'
check 'text: parts' says "$out" '^  retraining \(procedural\) .* between .* and .* ev$'
check 'text: bar' says "$out" '[#-]{40}  .* % data, .* % retraining'
check 'text: advice is last' test "$(tail -n 1 "$out" | cut -c 1-8)" = 'Advice: '
check 'text: no colour in a file' lacks "$out" "$(printf '\033')"
check 'nothing on stderr' test ! -s "$err"
check 'CSV: a line a point' test "$(wc -l <all.csv)" -eq 3
check 'CSV: columns' says all.csv '^at,prediction,prediction_variance,procedural,procedural_lo,procedural_hi,data,data_lo,data_hi,ensemble,ensemble_lo,ensemble_hi,single'
check 'CSV: a new observation at the end' says all.csv ',uncorrected,infinite,predictive_lo,predictive_hi,left_out,confidence_lo,confidence_hi,full_variance$'
check 'CSV: row 7 was not left out, as a point' says all.csv '^row:7,.*,0,,,[0-9.e-]+$'
check 'a new observation' says all.json \
    "^      \"predictive\": \{\"lo\": $number, \"hi\": $number, \"level\": 0.95, \"noise_sd\": $number, \"by\": \"5 folds\"\},$"
check 'text: a new observation' says "$out" "^  95 % prediction interval  $number to $number\$"
check 'text: its parts' says "$out" '^ {28}standard deviation .*: noise .*, data .*, retraining .*; squares add$'
check 'no sweep unless asked' lacks all.json '"sweeps"'
check 'CSV: as wide as its header' awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' all.csv
check 'CSV and JSON agree' says all.json "\"prediction\": $(awk -F, 'NR == 2 { print $2 }' all.csv),"
check 'only what was asked for' test "$(ls -A | tr '\n' ' ')" = 'all.csv all.json rows.csv '
check 'mode honours umask' test "$(stat -c %a all.json)" = "$(printf '%o' $((0666 & ~0$(umask))))"

# the text: at most a handful of lines, without initials and exponents
plain=(estimate rows.csv "${small[@]}")
expect_ok "$epiq" "${plain[@]}" --at row:7
check 'five lines, advice last' test "$(grep -vcE '^(USELESS|Note)' "$out")" -le 6
check 'what was learned from' says "$out" '^60 rows, 3 features, target y; 6 networks of 64 units, lambda 0\.001; .* s$'
check 'how good' says "$out" "^On rows not seen in training, predictions of y are off by about $number \\(R2 $number\\); noise alone is about $number on average\\.\$"
check 'how sure' says "$out" "^At row 7 the predicted y is $number, give or take $number \\(its standard deviation\\)\\.\$"
check 'where y is' says "$out" "^95 % prediction interval: $number to $number \\(.*noise $number, data $number, retraining $number; squares add\\)\\.\$"
check 'the networks have seen it' says "$out" '^Note: row 7 is one of the rows .*--at rows'
check 'no initials' lacks "$out" '\b(kappa|IF|EV|BA|ev|ba|kernel regression|leave-one-out|procedural)\b'
check 'no exponents' lacks "$out" '[0-9]e[+-]'
expect_ok "$epiq" "${plain[@]}" --at rows
check 'rows: networks have not seen them' lacks "$out" '^Note'
check 'rows: at most seven lines' test "$(grep -vc '^USELESS' "$out")" -le 7
check 'rows: typical' says "$out" "^A typical prediction has a standard deviation of $number \\(9 rows in 10: $number to $number\\), .*\\.\$"
check 'rows: intervals' says "$out" "^Its 95 % prediction interval is the prediction \\+- $number \\(9 rows in 10: $number to $number\\)\\.\$"
check 'rows: least sure' says "$out" '^Least sure: row [0-9]+ \(give or take [0-9.]+\)(, row [0-9]+ \([0-9.]+\)){4}\.$'
expect_ok "$epiq" "${plain[@]}" --methods ev --at row:7
check 'ev alone: what is known' says "$out" 'give or take .* by retraining alone'
check 'ev alone: what is not' says "$out" '^No prediction interval: .*--methods if,ev'
expect_ok "$epiq" "${plain[@]}" --methods ba --at row:7 --at x1=9
check 'ba alone: not the place but the method is why' says "$out" '^No prediction interval: it needs the method if'
check 'ba alone: standard deviations of an ensemble' says "$out" '^  row:7 +[0-9.-]+ +[0-9.]+ +none$'
expect_exit 1 'no flag' "$epiq" synth 1 -v

# a point in words
fast=(estimate rows.csv --target y --engine infinite)
awk -F, 'NR > 1 { for (k = 1; k <= 3; k++) s[k] += $k } END { printf "x1,x2,x3\n0.15,%.17g,%.17g\n", s[2] / (NR - 1), s[3] / (NR - 1) }' rows.csv >asked.csv
expect_ok "$epiq" "${fast[@]}" --at x1=0.15 --csv words.csv
expect_ok "$epiq" "${fast[@]}" --at asked.csv --csv asked-out.csv
check 'as a file with the means' awk -F, 'NR == FNR { if (FNR == 2) { p = $2; v = $3 } next } FNR == 2 { d = $2 - p; e = $3 / v - 1; exit !(d * d < 1e-24 && e * e < 1e-20) }' words.csv asked-out.csv
check 'its name' says words.csv '^x1=0\.15,'
expect_ok "$epiq" "${fast[@]}" --at x1=0.15 --verbose
check 'with --verbose every feature there' says "$out" 'Features there: x1 0\.15, x2 '
check 'with --verbose what no standard deviation holds' says "$out" '^what all such networks get wrong alike is in these errors'
expect_exit 2 'x1' "$epiq" "${fast[@]}" --at x4=1
expect_exit 2 'x2' "$epiq" "${fast[@]}" --at x1=0.1,x2=much
expect_exit 1 'x1' "$epiq" "${fast[@]}" --at x1=0.1,x1=0.2
expect_exit 1 'name=value' "$epiq" "${fast[@]}" --at x1=0.1,x2
cp asked.csv x1=0.csv
expect_ok "$epiq" "${fast[@]}" --at x1=0.csv --csv words.csv
check 'a file of that name is read' says words.csv '^x1=0\.csv:1,'
rm x1=0.csv asked.csv asked-out.csv words.csv

# standard input and output
"$epiq" estimate - "${small[@]}" --json - --at mean --at row:7 <rows.csv >piped.json 2>"$err"
check 'stdin' test $? -eq 0
check '--json -: nothing but JSON' is_json piped.json
check 'same points from stdin' test "$(points piped.json)" = "$(points all.json)"
check 'stderr: warnings only' test "$(grep -vc '^epiq: warning: ' "$err")" -eq 0
expect_ok "$epiq" estimate rows.csv "${small[@]}" --csv - --at mean --at row:7
check '--csv -: nothing but CSV' cmp "$out" all.csv
expect_ok "$epiq" estimate rows.csv --target y --width 16 --at mean --budget-networks 6 --json bought.json --csv bought.csv --report bought.html
check 'text: the interval of the expected prediction' says "$out" '^95 % interval of the expected prediction, .*: -?[0-9.]+ to -?[0-9.]+ \(halves, 6 trainings\)\.$'
check 'JSON has it' says bought.json '"confidence": \{"lo": [-0-9.e]+, "hi": [-0-9.e]+, "level": 0.95, "method": "halves", "networks": 6, "target": "expected_prediction"'
expect_ok "$epiq" estimate rows.csv --target y --width 8 --lambda 0.01 --members 3 --fold-members 0 --confidence batching --batches 3 --at mean \
    --report sure.html --pictures sure --picture-format svg --quiet
check 'the interval against the number of networks' test -s sure/confidence-networks.svg
check 'on the page, with its numbers' says sure.html 'Would more networks narrow the interval'
check 'and what was bought' says bought.json '"reason": "6 trainings buy 2 networks on all rows and 4 on halves of them"'
check 'CSV has it' says bought.csv ',0,-?[0-9.e-]+,-?[0-9.e-]+,[0-9.e-]+$'
check 'the page has it' says bought.html 'interval of the expected prediction'
check 'nothing else is trained' says bought.json '"members": 6, |"members": 6,$'
expect_ok "$epiq" estimate rows.csv "${small[@]}" --quiet --csv quiet.csv
check 'quiet' test ! -s "$out" -a ! -s "$err"
ln -s all.csv link.csv
expect_ok "$epiq" estimate rows.csv "${small[@]}" --quiet --csv link.csv
check 'a link stays a link' test -L link.csv
rm link.csv

# sweeps: points of their own, not counted among those asked for
expect_ok "$epiq" estimate rows.csv "${small[@]}" --engine infinite --at mean --sweep 7 --json sweep.json --csv sweep.csv
check 'sweeps: JSON' is_json sweep.json
check 'sweeps: three features' test "$(grep -c '^      "feature": "x[123]",$' sweep.json)" -eq 3
check 'sweeps: seven values' says sweep.json "^      \"values\": \[($number, ){6}$number\],$"
check 'sweeps: variances' says sweep.json "^      \"procedural\": \[($number, ){6}$number\],$"
check 'sweeps: one point' test "$(wc -l <sweep.csv)" -eq 2
check 'sweeps: a line a feature' says "$out" '^x2 .*[0-9]$'
expect_exit 1 'sweep' "$epiq" estimate rows.csv "${small[@]}" --sweep 1
expect_exit 1 'sweep' "$epiq" estimate rows.csv "${small[@]}" --sweep 201
rm sweep.json sweep.csv

# too few rows for the level: unknown, and said
head -n 12 rows.csv >few.csv
expect_ok "$epiq" estimate few.csv "${small[@]}" --engine infinite --json few.json
check 'few rows: null' says few.json '^      "predictive": null,$'
expect_words 'few rows: said' "$out" '19 rows .* 11.*--level'
rm few.csv few.json

# many points: a line each, then a count
tail -n +2 rows.csv | head -n 25 | cut -d, -f 1-3 | sed '1i x1,x2,x3' >points.csv
expect_ok "$epiq" estimate rows.csv "${small[@]}" --engine infinite --at points.csv
check 'first 20' test "$(grep -cE '^  points\.csv:[0-9]+ +[0-9.-]+ +[0-9.]+ +(.* to .*|none)$' "$out")" -eq 20
expect_words 'the rest' "$out" '^\.\.\. .* 5 '

# which part comes from what; what cannot be had is null
part() { # part METHODS NAME PATTERN: of $NAME with those methods
    check "--methods $1: $2" says "methods.json" "^      \"$2\": $3"
}
methods() {
    expect_ok "$epiq" estimate rows.csv "${small[@]}" --methods "$1" --quiet --json methods.json
    check "JSON of $1" is_json methods.json
}
methods if
part if data '\{.*"method": "if"'
for name in procedural ensemble single check; do part if $name 'null'; done
check 'if trains nothing' says methods.json '^  "training": null'
methods ev
part ev procedural '\{.*"method": "ev"'
for name in data ensemble single check prediction_variance; do part ev $name 'null'; done
methods ba
part ba ensemble '\{.*"method": "ba", "members": [0-9]+, "uncorrected": '
for name in data procedural check; do part ba $name 'null'; done
methods if,ev
part if,ev ensemble "\\{\"variance\": $number, \"interval\": $interval.*\"method\": \"retrain\\+ev\""
part if,ev check 'null'
methods if,ba
part if,ba procedural '(null|\{.*"interval": null.*"method": "ba-retrain")'
part if,ba check 'null'
methods ev,ba
part ev,ba data '(null|\{.*"interval": null.*"method": "ba-ev")'
part ev,ba check 'null'
methods auto
check 'choice' says methods.json '^  "choice": \{'
check 'reason' says methods.json '"methods": "(if,ev|if,ba|ev,ba)"'
expect_ok "$epiq" estimate rows.csv "${small[@]}" --engine infinite --quiet --json methods.json
part infinite procedural "\\{\"variance\": $number, \"interval\": null, .*\"method\": \"infinite\""
part infinite data "\\{\"variance\": $number, \"interval\": $interval, .*\"method\": \"if\""
part infinite ensemble "\\{\"variance\": $number"
part infinite check 'null'

# flags in any order, --name=value, -- ends them, lists grow
expect_ok "$epiq" estimate --target=y --json=order.json --engine infinite --drop x1 --drop=x3 --quiet -- rows.csv
check 'one feature is left' says order.json '"features": \["x2"\]'

# the number of threads changes no bit
for threads in 1 2 3; do
    expect_ok "$epiq" estimate rows.csv "${small[@]}" --threads $threads --quiet --json threads.json
    check "$threads threads" says threads.json "\"threads\": $threads,"
    points threads.json >"$work/log/points$threads"
done
check '2 threads as 1' cmp "$work/log/points1" "$work/log/points2"
check '3 threads as 1' cmp "$work/log/points1" "$work/log/points3"

# stopped by a signal, then taken up again
"$epiq" synth 1 --n 60 --d 3 >long.csv
long=(estimate long.csv --target y --width 64 --lambda 1e-3 --members 1500 --methods if,ev --at mean --quiet)
began=${EPOCHREALTIME/[.,]/}
expect_ok "$epiq" "${long[@]}" --threads 1 --json straight.json
quarter=$(((${EPOCHREALTIME/[.,]/} - began) / 4)) # microseconds: on any machine some networks are finished by then, and not all
check 'not resumed' says straight.json '"resumed": 0'
stop() { # stop SIGNAL FLAGS...: interrupt the long run (many short trainings) after a quarter of its time; its exit code
    local signal=$1
    shift
    "$epiq" "${long[@]}" --threads 1 "$@" >"$out" 2>"$err" &
    local pid=$!
    sleep "$((quarter / 1000000)).$(printf %06d $((quarter % 1000000)))"
    kill -s "$signal" $pid 2>/dev/null
    wait $pid
}
stop INT --state kept.state --json stopped.json
code=$?
check "SIGINT: exit 130, was $code" test $code -eq 130
check 'says where the members are' says "$err" '^epiq: stopped; .*kept\.state'
check 'no half-written file' test "$(ls -A | grep -cE 'stopped|epiq-')" -eq 0
expect_ok "$epiq" "${long[@]}" --state kept.state --json resumed.json
check 'resumed' says resumed.json '"resumed": [1-9]'
check 'as if never stopped' test "$(points resumed.json)" = "$(points straight.json)"
long=("${long[@]/--quiet/--level=0.95}")
stop INT --csv stopped.csv
code=$?
check "SIGINT without --quiet: exit 130, was $code" test $code -eq 130
check 'the answer of what was finished' says "$out" '^At the mean row the predicted y is .*, give or take '
check 'and that it is' says "$out" '^Warning: ended early, on request: .* networks finished, of 1500'
check 'but no file' test "$(ls -A | grep -cE 'stopped|epiq-')" -eq 0
check 'and one sentence' says "$err" '^epiq: stopped; above is .*--state FILE'
stop TERM --csv stopped.csv
code=$?
check "SIGTERM: exit 143, was $code" test $code -eq 143
check 'says that --state would have helped' says "$err" '^epiq: stopped; --state FILE'
check 'no half-written file' test "$(ls -A | grep -cE 'stopped|epiq-')" -eq 0

# kernels as NPY
expect_ok "$epiq" kernel rows.csv --target y --ntk k.npy --nngp q.npy
check 'quiet' test ! -s "$out" -a ! -s "$err"
for file in k.npy q.npy; do
    check 'size' test "$(wc -c <$file)" -eq $((128 + 8 * 60 * 60))
    check 'header' test "$(head -c 128 $file | tail -c 118 | tr -s ' ')" = \
        "$(printf "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 60), } \n")"
done
check 'they differ' test "$(cksum <k.npy)" != "$(cksum <q.npy)"

# demo
expect_ok "$epiq" demo --engine infinite
check 'demo explains' says "$out" '^Try next'
check 'demo decomposes' says "$out" '^95 % prediction interval: .* to .*noise .*, data '
expect_ok "$epiq" demo --engine infinite -v
check 'demo -v: the parts' says "$out" '^  data .* between'
expect_ok "$epiq" demo --engine infinite --json - --seed 2
check 'demo as JSON' is_json "$out"
# an interval whose upper end cannot be known
expect_ok "$epiq" estimate rows.csv --target y --methods ev --members 2 --width 8 --lambda 1e-3 --at mean --json open.json --csv open.csv --report open.html -v
check 'two networks: an upper end that cannot be known' says open.json "\"procedural\": \{\"variance\": $number, \"interval\": \[$number, null\],"
check 'in text' says "$out" '^  retraining \(procedural\) .* at least [0-9.e-]+ +ev$'
check 'in CSV' test "$(sed -n 2p open.csv | cut -d, -f6)" = '' -a -n "$(sed -n 2p open.csv | cut -d, -f5)"
check 'on a page' says open.html '<td title="the upper end cannot be known">open</td>'

finish
