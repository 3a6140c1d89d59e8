#!/usr/bin/env bash
# epiq combine: networks brought along, against numbers computed apart (combine.py); every way to give them, every output,
# files that gather them, and what is refused.
. "$(dirname "$0")/lib.inc"

number='-?[0-9][0-9.e+-]*'
interval="\\[$number, $number\\]"
combine=("$epiq" combine --lambda 0.01)
python3 "$here/combine.py" make || exit 2
kernel=(--y y.csv --gram gram.csv --cross cross.csv)
derivatives=(--y y.csv --jacobian jacobian.csv --jacobian0 jacobian0.csv)
judge() { # judge 'what combine.py must know' FLAGS...: the numbers are its own
    expect_ok "${combine[@]}" "${@:2}" --quiet --json "$work/log/judged.json"
    check "JSON with $1" is_json "$work/log/judged.json"
    check "numbers with $1" python3 "$here/combine.py" judge "$work/log/judged.json" $1
}

# every subset that tells something
judge ensemble --ensemble ensemble.csv
judge batched --batched batched.csv
judge gram "${kernel[@]}"
judge jacobian "${derivatives[@]}"
judge 'ensemble batched' --ensemble ensemble.csv --batched batched.csv
judge 'ensemble gram' --ensemble ensemble.csv "${kernel[@]}"
judge 'ensemble jacobian' --ensemble ensemble.csv "${derivatives[@]}"
judge 'batched gram' --batched batched.csv "${kernel[@]}"
judge 'ensemble batched gram' --ensemble ensemble.csv --batched batched.csv "${kernel[@]}"
judge 'ensemble batched jacobian yhat' --ensemble ensemble.csv --batched batched.csv "${derivatives[@]}" --yhat yhat.csv
for correction in none unbiased jackknife rowwise; do
    judge "ensemble gram $correction" --ensemble ensemble.csv "${kernel[@]}" --correction $correction
done

# the same numbers from other files
points_of() { # points_of FLAGS...: what must not depend on the form of the input
    "${combine[@]}" "$@" --quiet --json - 2>>"$work/log/points" | sed -n '/^  "points": \[/,/^  \]/p'
}
reference=$(points_of --ensemble ensemble.csv "${derivatives[@]}")
same_points() {
    check "$1: the same points" test -n "$reference" -a "$(points_of "${@:2}")" = "$reference"
}
same_points 'NPY' --ensemble ensemble.npy --y y.npy --jacobian jacobian.npy --jacobian0 jacobian0.npy
same_points 'one dimension, Fortran order' --ensemble fortran.npy --y flat.npy --jacobian jacobian.npy --jacobian0 jacobian0.npy
same_points 'other byte order' --ensemble big.npy "${derivatives[@]}"
same_points 'standard input' --ensemble - "${derivatives[@]}" <ensemble.csv
same_points 'one thread' --ensemble ensemble.csv "${derivatives[@]}" --threads 1
same_points 'three threads' --ensemble ensemble.csv "${derivatives[@]}" --threads 3
expect_ok "${combine[@]}" --ensemble ensemble.csv --y y.csv --jacobian single.npy --jacobian0 jacobian0.csv --quiet
expect_ok "${combine[@]}" --ensemble named.csv --json named.json --quiet
check 'a header names the points' says named.json '^      "at": "the sea",$'
check 'without one they are numbered' test "$(grep -c '"at": "[123]"' <<<"$reference")" -eq 3

# every output
"$epiq" synth 1 --n 20 --d 2 >rows.csv
expect_ok "$epiq" estimate rows.csv --target y --width 8 --lambda 1e-3 --members 3 --batches 2 --methods if,ev,ba --at mean --state trained.state --json trained.json --quiet
expect_ok "${combine[@]}" --ensemble ensemble.csv --batched batched.csv "${derivatives[@]}" --until 0.5 --verbose --json all.json --csv all.csv \
    --report page.html --pictures drawn --picture-format svg
check 'nothing on stderr' test ! -s "$err"
check 'JSON' is_json all.json
for field in epiq run data model fit training given until points timing advice warnings command seed threads backend solver options; do
    check "field $field" says all.json "\"$field\": "
done
check "JSON: every field of estimate's, but for those of its own networks" python3 - <<'PY'
import json
ours, theirs = (json.load(open(f)) for f in ("all.json", "trained.json"))
for where in ("fit", "timing", "advice"):
    assert list(ours[where]) == list(theirs[where]), where
assert set(theirs) | {"given", "until"} == set(ours)
assert set(theirs["run"]) == set(ours["run"]) and set(theirs["data"]) == set(ours["data"])
assert [list(p) for p in ours["points"]] == [list(theirs["points"][0])] * 3
for part in ("procedural", "data", "ensemble", "single", "predictive", "check"):
    retrained = {"kappa", "infinite_width"} if part == "data" else set()
    assert list(ours["points"][0][part]) == [k for k in theirs["points"][0][part] if k not in retrained], part
PY
check 'JSON: given' says all.json \
    '^  "given": \{"members": 12, "batches": 4, "rows": 24, "points": 3, "added": null, "kept": null\},$'
check 'JSON: until' says all.json '^  "until": \{"relative": 0.5, "reached": false, "members": 12, "needed": [0-9]+\},$'
check 'JSON: no name, no scale' says all.json '^    "scale": "none",$'
check 'JSON: the kernel' says all.json '^    "kernel": "jacobian",$'
check 'JSON: parameters' says all.json '^    "parameters": 9$'
check 'JSON: nothing was trained' says all.json '^  "training": null,$'
check 'JSON: only options that count' lacks all.json '"(width|depth|methods|optimizer|lr)": '
check 'JSON: ensemble' says all.json \
    "^      \"ensemble\": \{\"variance\": $number, \"interval\": $interval, \"level\": 0.95, \"method\": \"if\+ev\", \"members\": 4\},$"
check 'JSON: nothing corrects batches trained elsewhere' says all.json '^      "ba": \{.*"uncorrected": [0-9.e-]+, "factor": null\},$'
check 'CSV' test "$(wc -l <all.csv)" -eq 4
check 'CSV and JSON agree' says all.json "\"prediction\": $(awk -F, 'NR == 2 { print $2 }' all.csv),"
check 'text: head' says "$out" \
    '^12 networks trained on all rows, 4 on a batch of them each; 24 rows, kernel of a Jacobian of 9 parameters, lambda 0.01; '
check 'text: check with the batches given' says "$out" '^  cross-check \(batches\) .*\(if \+ ev/4\), '
check 'text: how many more' says "$out" '^Networks: [0-9]+ networks bring .* down to 50 % of it; there are 12, so train [0-9]+ more\.$'
check 'page' says page.html '</html>'
check 'page: no word of training or sweeps' lacks page.html '[Ss]weep|were trained on|--methods|--at row'
check 'page: how many more' says page.html 'so train [0-9]+ more'
check 'page: the networks' says page.html 'networks trained on a batch each</th><td[^>]*>4<'
check 'pictures' test "$(ls drawn | wc -l)" -eq "$(grep -c '<svg class="chart"' page.html)"
expect_ok "${combine[@]}" --ensemble ensemble.csv --json -
check '--json -: nothing but JSON' is_json "$out"
check 'warnings to stderr' test "$(grep -vc '^epiq: warning: ' "$err")" -eq 0
expect_ok "${combine[@]}" --ensemble ensemble.csv --quiet
check 'quiet' test ! -s "$out" -a ! -s "$err"
expect_ok "${combine[@]}" --ensemble ensemble.csv --batched batched.csv --json - --quiet
check 'rows unknown' says "$out" '"given": \{.*"rows": null, '
check 'rows unknown in data' says "$out" '^    "rows": null,$'
check 'no kernel, no lambda' says "$out" '^    "lambda": null$'
rm -r drawn page.html

# enough networks
needed=$(sed -n 's/.*"needed": \([0-9]*\).*/\1/p' all.json)
check 'half the width at that many is what was asked for, with one less it is not' python3 "$here/combine.py" needed "$needed" 0.5
expect_ok "${combine[@]}" --ensemble ensemble.csv --until 2
expect_words 'enough' "$out" '^Networks: .* 12'

# gathering
expect_ok "${combine[@]}" --ensemble first.csv --append nets.state --at points.csv --json one.json
check 'first: added' says one.json '"added": 5, "kept": 5'
check 'first: said' says "$out" '^nets\.state: 5 networks added, 5 there now$'
expect_ok "${combine[@]}" --ensemble second.csv --append nets.state --at points.csv --json two.json
check 'second: added' says two.json '"members": 12, .*"added": 7, "kept": 12'
check 'all of them count' python3 "$here/combine.py" judge two.json ensemble
expect_ok "${combine[@]}" --ensemble second.csv --append nets.state --at points.csv --json again.json
check 'again: nothing added' says again.json '"added": 0, "kept": 12'
check 'again: said' says again.json '"code": "already_there"'
check 'again: the same bits' test "$(points again.json)" = "$(points two.json)"
expect_ok "${combine[@]}" --ensemble second.csv --append other.state --at points.csv --quiet
expect_ok "${combine[@]}" --ensemble first.csv --append other.state --at points.csv --json other.json --quiet
check 'in another order: the same bits' test "$(points other.json)" = "$(points two.json)"
expect_ok "${combine[@]}" --batched batched.csv --append nets.state --at points.csv --json both.json --quiet
check 'batches beside members' says both.json '"members": 12, "batches": 4, .*"added": 4, "kept": 16'
check 'both count' python3 "$here/combine.py" judge both.json ensemble batched
expect_ok "${combine[@]}" --ensemble one.csv --append lone.state --json lone.json
check 'one network is kept' says lone.json '"added": 1, "kept": 1'
check 'and said to be too few' says lone.json '"code": "one_network"'
check 'and its spread is unknown' says lone.json '^      "procedural": null,$'
expect_ok "${combine[@]}" --ensemble second.csv --append more.state --quiet
expect_ok "${combine[@]}" --ensemble first.csv --merge more.state --json merged.json --quiet
check 'merged without keeping' says merged.json '"members": 12, .*"added": null, "kept": null'
check 'merged: the numbers' python3 "$here/combine.py" judge merged.json ensemble
expect_ok "${combine[@]}" --merge more.state --append all.state --json merged.json --quiet
check 'merged and kept' says merged.json '"added": 7, "kept": 7'
expect_ok "${combine[@]}" --append all.state --until 0.5
check 'what a file keeps is enough to ask' says "$out" '^Networks: .* there are 7, so train '

# retrained networks: the targets, the answer, what does not fit
made_of=(--y y.csv --yhat yhat.csv --left-out left.csv)
expect_ok "$epiq" combine --targets 12 "${made_of[@]}" -o targets.csv
expect_words 'targets: said' "$out" '^24 .* 24 rows, .*targets\.csv$'
check 'targets: a line a vector' test "$(wc -l <targets.csv)" -eq 24
expect_ok "$epiq" combine --targets 12 "${made_of[@]}" --output targets.npy --quiet
check 'targets: quiet' test ! -s "$out" -a ! -s "$err"
expect_ok "$epiq" combine --targets 12 "${made_of[@]}" -o - --threads 1
check 'targets: on standard output, the same' cmp "$out" targets.csv
expect_ok "$epiq" combine --targets 12 "${made_of[@]}" -o other.csv --seed 2 --quiet
check 'targets: another seed, other signs' test -n "$(cmp other.csv targets.csv)"
check 'networks that learn them' python3 "$here/combine.py" retrain targets.csv
retrained=(--ensemble ensemble.csv "${made_of[@]}" --retrained retrained.csv --targets 12)
expect_ok "${combine[@]}" "${retrained[@]}" --json retrained.json --report page.html --verbose
check 'retrained: JSON' is_json retrained.json
check 'retrained: numbers' python3 "$here/combine.py" retrained retrained.json
expect_words 'retrained: text' "$out" '^48 networks .* 12 pairs'
check 'retrained: by' says "$out" '^  data \(other rows\) .* retrain$'
check 'retrained: page' says page.html 'networks retrained</th><td[^>]*>48<'
expect_ok "${combine[@]}" "${retrained[@]}" --gram gram.csv --cross cross.csv --targets-file targets.npy --json retrained.json --quiet
check 'retrained, with a kernel: numbers' python3 "$here/combine.py" retrained retrained.json gram
check 'retrained, with a kernel: it still tells IF' says retrained.json '"method": "retrain", "correction": null, "uncorrected": [0-9]'
expect_ok "${combine[@]}" "${retrained[@]}" --batched batched.csv --quiet --json checked.json
check 'retrained: checked by batches' says checked.json '"check": \{"ba": '
rm page.html
expect_exit 1 'where to\? give -o' "$epiq" combine --targets 12 "${made_of[@]}"
for few in 3 0 -1 x 4.5; do
    expect_exit 1 "--targets" "$epiq" combine "--targets=$few" "${made_of[@]}" -o few.csv
done
expect_exit 1 '--targets' "$epiq" combine --targets 4 --y y.csv --yhat yhat.csv -o few.csv
expect_exit 1 '--targets' "$epiq" combine --targets 4 --y y.csv --left-out left.csv -o few.csv
expect_exit 1 '--ensemble' "$epiq" combine --targets 4 "${made_of[@]}" --ensemble ensemble.csv -o few.csv
expect_exit 1 '--targets' "${combine[@]}" "${retrained[@]}" -o few.csv
expect_exit 1 '--retrained' "$epiq" combine --ensemble ensemble.csv --y y.csv --yhat yhat.csv --retrained retrained.csv
expect_exit 1 '--retrained' "$epiq" combine --ensemble ensemble.csv --y y.csv --left-out left.csv --retrained retrained.csv
expect_exit 1 '--retrained' "$epiq" combine --batched batched.csv "${made_of[@]}" --retrained retrained.csv --targets 12
expect_exit 1 '--left-out' "$epiq" combine --ensemble ensemble.csv "${made_of[@]}"
expect_exit 1 '--targets-file' "$epiq" combine --ensemble ensemble.csv --targets-file targets.csv
expect_exit 2 'left-short\.csv.*23.*y\.csv.*24' "$epiq" combine --targets 4 --y y.csv --yhat yhat.csv --left-out left-short.csv -o few.csv
expect_exit 2 'retrained\.csv' "$epiq" combine --ensemble ensemble.csv "${made_of[@]}" --retrained retrained.csv
expect_exit 2 'few\.csv' "${combine[@]}" --ensemble ensemble.csv "${made_of[@]}" --retrained few.csv
expect_exit 2 'other\.csv' "${combine[@]}" "${retrained[@]}" --targets-file other.csv
expect_exit 2 '' "$epiq" combine --targets 4 --y y.csv --yhat yhat.csv --left-out <(paste -sd, y.csv) -o none.csv
expect_exit 2 'left\.csv' "$epiq" combine --targets 4 "${made_of[@]}" -o left.csv
expect_exit 2 '' "$epiq" combine --targets 4 "${made_of[@]}" -o nowhere/t.csv
check 'nothing was written' test ! -e none.csv

# many at once, and killed in the middle
for part in $(seq 8); do
    head -n 8 jacobian.csv | tail -n +"$part" | head -n 1 >"$work/log/net$part.csv"
    "${combine[@]}" --ensemble "$work/log/net$part.csv" --append shared.state --quiet &
done
wait
expect_ok "${combine[@]}" --append shared.state --json shared.json --quiet
check 'eight processes, eight networks' says shared.json '"members": 8, '
(yes "$(printf '0.5,%.0s' $(seq 2))0.5" | head -n 3000000) >"$work/log/many.csv"
"${combine[@]}" --ensemble "$work/log/many.csv" --append nets.state --at points.csv --json killed.json >"$out" 2>"$err" &
pid=$!
sleep 0.4
kill -s KILL $pid
wait $pid 2>/dev/null
check 'killed: nothing was added' says <("${combine[@]}" --append nets.state --json - --quiet) '"added": 0, "kept": 16'
rm -f .epiq-*
"${combine[@]}" --ensemble "$work/log/many.csv" --append nets.state --at points.csv --json stopped.json --quiet >"$out" 2>"$err" &
pid=$!
sleep 0.4
kill -s INT $pid
wait $pid
code=$?
check "SIGINT: exit 130, was $code" test $code -eq 130
expect_words 'SIGINT: one sentence' "$err" '^epiq: stopped; .*nets\.state$'
check 'SIGINT: nothing was added' says <("${combine[@]}" --append nets.state --json - --quiet) '"added": 0, "kept": 16'
check 'no half-written file' test "$(ls -A | grep -cE 'stopped|killed|epiq-')" -eq 0

# flags that are wrong by themselves
expect_exit 1 '--ensemble' "$epiq" combine
expect_exit 1 '' "$epiq" combine --y y.csv --at points.csv
expect_exit 1 '' "$epiq" combine ensemble.csv
expect_exit 1 '--ensemble' "$epiq" combine --ensemble first.csv --ensemble second.csv
expect_exit 1 '--y' "$epiq" combine "${kernel[@]}" --y y.csv
expect_exit 1 '--append' "$epiq" combine --ensemble first.csv --append a.state --append b.state
expect_exit 1 '--gram, .*, needs --cross, ' "$epiq" combine --gram gram.csv --y y.csv
expect_exit 1 '--cross, .*, needs --gram, ' "$epiq" combine --cross cross.csv --y y.csv
expect_exit 1 '--gram' "$epiq" combine --gram gram.csv --cross cross.csv
expect_exit 1 '--jacobian, .*, needs --jacobian0, ' "$epiq" combine --jacobian jacobian.csv --y y.csv
expect_exit 1 '--jacobian0, .*, needs --jacobian, ' "$epiq" combine --jacobian0 jacobian0.csv --ensemble ensemble.csv
expect_exit 1 '--jacobian' "$epiq" combine --jacobian jacobian.csv --jacobian0 jacobian0.csv
expect_exit 1 '' "$epiq" combine "${kernel[@]}" --jacobian jacobian.csv --jacobian0 jacobian0.csv
expect_exit 1 '--yhat' "$epiq" combine --ensemble ensemble.csv --yhat yhat.csv
expect_exit 1 '--yhat' "$epiq" combine --ensemble ensemble.csv --yhat yhat.csv --y y.csv
expect_exit 1 '--ensemble' "$epiq" combine --ensemble - --y -
expect_exit 1 '--append' "$epiq" combine --append nets.state --merge ./nets.state
expect_exit 1 '--until' "$epiq" combine "${kernel[@]}" --until 0.5
for until in 0 -1 x nan 1e-9; do
    expect_exit 1 "--until" "$epiq" combine --ensemble ensemble.csv "--until=$until"
done
expect_exit 1 '--ensemble' "$epiq" combine --ensembel ensemble.csv
for flag in state target members methods sweep width group scale; do
    expect_exit 1 "$flag" "$epiq" combine --ensemble ensemble.csv --$flag x
done
expect_exit 1 'lambda is -1' "$epiq" combine "${kernel[@]}" --lambda=-1
expect_exit 1 'level' "$epiq" combine --ensemble ensemble.csv --level 2
expect_exit 1 'ensemble-size' "$epiq" combine --ensemble ensemble.csv --ensemble-size=-3
expect_exit 1 '' "$epiq" combine --ensemble ensemble.csv --json - --csv -
for file in ensemble batched y gram cross yhat points; do
    expect_exit 2 "$file" "$epiq" combine --ensemble ensemble.csv --batched batched.csv \
        "${kernel[@]}" --yhat yhat.csv --at points.csv --json $file.csv
done
for file in jacobian jacobian0; do
    expect_exit 2 "$file" "$epiq" combine "${derivatives[@]}" --report ./$file.csv
done
expect_exit 2 '' "$epiq" combine --ensemble ensemble.csv --append nets.state --csv nets.state
expect_exit 2 '' "$epiq" combine --ensemble ensemble.csv --merge nets.state --csv nets.state

# what only the files show
expect_exit 2 'none\.csv' "$epiq" combine --ensemble none.csv
expect_exit 2 'few\.csv.* 2 .*ensemble\.csv.* 3' "$epiq" combine --ensemble ensemble.csv --batched few.csv
expect_exit 2 'few\.csv.*cross\.csv|cross\.csv.*few\.csv' "$epiq" combine --ensemble few.csv "${kernel[@]}"
expect_exit 2 'gram\.csv.*short\.csv|short\.csv.*gram\.csv' "$epiq" combine --y short.csv --gram gram.csv --cross cross.csv
expect_exit 2 'cross\.csv.*short\.csv|short\.csv.*cross\.csv|gram\.csv' "$epiq" combine --y short.csv --gram gram.csv --cross cross.csv
expect_exit 2 'jacobian\.csv.*ensemble\.csv|ensemble\.csv.*jacobian\.csv' "$epiq" combine --y y.csv --jacobian jacobian.csv --jacobian0 ensemble.csv
expect_exit 2 'ensemble\.csv' "$epiq" combine --y ensemble.csv --gram gram.csv --cross cross.csv
expect_exit 2 'lopsided\.csv.*symmetric' "$epiq" combine --y y.csv --gram lopsided.csv --cross cross.csv
expect_exit 2 'negative\.csv.*(negative|diagonal)' "$epiq" combine --y y.csv --gram negative.csv --cross cross.csv
expect_exit 3 '' "$epiq" combine --y y.csv --gram indefinite.csv --cross cross.csv
expect_exit 3 '' "$epiq" combine --ensemble ensemble.csv --y y.csv --gram gram.csv --cross cross.csv --mem-limit 1K
expect_exit 2 'hole\.npy.*row 4.*column 5' "$epiq" combine --y y.csv --jacobian hole.npy --jacobian0 jacobian0.csv
expect_exit 2 'one\.csv' "$epiq" combine --ensemble one.csv
expect_exit 2 'at|elsewhere' "${combine[@]}" --ensemble second.csv --append nets.state --at elsewhere.csv
expect_exit 2 'nets\.state.*3.*2|few\.csv' "${combine[@]}" --ensemble few.csv --append nets.state
expect_exit 2 'trained\.state' "${combine[@]}" --ensemble ensemble.csv --append trained.state
expect_exit 2 'gram\.csv' "${combine[@]}" --ensemble ensemble.csv --append gram.csv
expect_exit 2 'gram\.csv' "${combine[@]}" --ensemble ensemble.csv --merge gram.csv
expect_exit 2 'none\.state' "${combine[@]}" --ensemble ensemble.csv --merge none.state
expect_exit 2 'nowhere' "${combine[@]}" --ensemble ensemble.csv --append nowhere/nets.state
expect_exit 2 'fresh\.state' env -C "$work/log" "${combine[@]}" --append fresh.state
printf 'a,b\n1,x\n' >bad.csv
expect_exit 2 'bad\.csv:2:2' "$epiq" combine --ensemble bad.csv
printf 'a,b\n1,2\n3\n' >bad.csv
expect_exit 2 'bad\.csv:3' "$epiq" combine --ensemble bad.csv
: >bad.csv
expect_exit 2 'bad\.csv' "$epiq" combine --ensemble bad.csv
printf 'a,b,c\n1,2,3\n4,5,6\n' >headed.csv
expect_exit 2 'named\.csv.*headed\.csv|headed\.csv.*named\.csv' "$epiq" combine --ensemble named.csv --batched headed.csv
expect_exit 2 '' "${combine[@]}" --ensemble ensemble.csv --append late.state --json nowhere/x.json
check 'a file that cannot be written costs nothing' test ! -e late.state

# names are files' names, whatever SQLite would read into them; a file that is refused is left as it was
for name in :memory: 'file:there.state?mode=memory'; do
    expect_ok "${combine[@]}" --ensemble ensemble.csv --append "$name" --quiet
    check "a file called $name" test -s "$name"
    rm -f "$name"
done
sqlite3 foreign.db 'CREATE TABLE mine (x); INSERT INTO mine VALUES (1)'
cp foreign.db copy.db
expect_exit 2 '' "${combine[@]}" --ensemble ensemble.csv --append foreign.db
check 'a refused file is left as it was' cmp foreign.db copy.db
expect_exit 3 '' "${combine[@]}" --ensemble ensemble.csv --y y.csv --gram indefinite.csv --cross cross.csv --append new.state
for count in 2305843009213693953 4611686018427387904 0 -1; do # products of these and 8 that wrap, and nonsense
    rm -f forged.state
    expect_ok "${combine[@]}" --ensemble ensemble.csv --append forged.state --quiet
    sqlite3 forged.state "UPDATE points SET count = $count"
    expect_exit 2 'forged\.state' "${combine[@]}" --merge forged.state
    expect_exit 2 'forged\.state' "${combine[@]}" --append forged.state
done
expect_ok "${combine[@]}" --ensemble ensemble.csv --append hurt.state --quiet
printf 'XXXXXXXXXXXXXXXX' | dd of=hurt.state bs=1 seek=4096 conv=notrunc 2>/dev/null
cp hurt.state copy.db
expect_exit 2 'hurt\.state' "${combine[@]}" --ensemble ensemble.csv --append hurt.state
check 'a damaged file is left as it was' cmp hurt.state copy.db
expect_exit 1 '--until is "inf"' "$epiq" combine --ensemble ensemble.csv --until inf

# equal networks have no spread, and say what they say; tiny ones are not 0
for k in 1 2 3 4 5 6 7 8 9 10 11; do echo 0.1; done >equal.csv
expect_ok "${combine[@]}" --ensemble equal.csv --quiet --json equal.json
check 'their mean' says equal.json '"prediction": 0.1,'
check 'no variance' says equal.json '"procedural": \{"variance": 0, "interval": null'
printf '1e-170\n-1e-170\n' >tiny.csv
expect_ok "${combine[@]}" --ensemble tiny.csv --quiet --json tiny.json
check 'unknown, not 0' says tiny.json '"procedural": null'
check 'and a warning' says tiny.json '"code": "out_of_range"'
# accepted, with a word of warning
warns() { # warns CODE FLAGS...
    expect_ok "${combine[@]}" "${@:2}" --quiet --json warned.json
    check "warns: $1" says warned.json "\"code\": \"$1\""
}
lacks_warning() {
    expect_ok "${combine[@]}" "${@:2}" --quiet --json warned.json
    check "no warning: $1" lacks warned.json "\"code\": \"$1\""
}
awk '{ print $1 + 1000 }' y.csv >high.csv
awk '{ print $1 + 1000 }' yhat.csv >high-yhat.csv
lacks_warning 'kernel_off|yhat_off' "${derivatives[@]}" --yhat yhat.csv
warns kernel_off --y high.csv --jacobian jacobian.csv --jacobian0 jacobian0.csv
warns yhat_off "${derivatives[@]}" --yhat high-yhat.csv
lacks_warning 'kernel_off|yhat_off' --y high.csv --jacobian jacobian.csv --jacobian0 jacobian0.csv --yhat high-yhat.csv
{ echo 1,2,3; tail -n 12 ensemble.csv; } >numbered.csv
warns counted_header --ensemble numbered.csv
{ echo 0,1,2; tail -n 12 ensemble.csv; } >numbered.csv
lacks_warning counted_header --ensemble numbered.csv
check 'the header of pandas is no network' says warned.json '"members": 12,'
check 'but names the points' says warned.json '"at": "0"'
lacks_warning counted_header --ensemble ensemble.csv
printf '1,2,3,4,5\n2,3,4,5,5\n' >wide.csv
warns few_members --ensemble wide.csv
check 'and of the other way round' says warned.json 'transpose'
# the expected prediction
expect_ok "${combine[@]}" --ensemble ensemble.csv --resampled ensemble.csv --confidence bootstrap --quiet --json sure.json
check 'networks drawn like their starts leave the retraining part' says sure.json '"confidence": \{.*"method": "bootstrap", "networks": 24'
expect_ok "${combine[@]}" --ensemble ensemble.csv --auxiliary ensemble.csv --quiet --json less.json
check 'less themselves' says less.json '"prediction": 0,'
finish
