#!/usr/bin/env bash
# epiq fit and epiq predict as a person would use them: the numbers of estimate, files in any order of columns, streams, bad
# cells far down, files cut short, signals.
. "$(dirname "$0")/lib.inc"

small=(--target y --width 64 --lambda 1e-3 --members 6 --batches 3 --methods if,ev,ba)
"$epiq" synth 1 --n 120 --d 3 --seed 5 >rows.csv
"$epiq" synth 1 --n 300 --d 3 --seed 6 >new.csv

# fit, and what it says
expect_ok "$epiq" fit rows.csv "${small[@]}" -o y.epiq
expect_words 'says what it holds' "$out" '^120 rows, 3 features, target y; 6 networks'
expect_words 'says how good it is' "$out" '^Typical error on rows not seen'
expect_words 'says what it gives' "$out" '^The model gives: prediction, .*interval of y, noise$'
check 'says what to do next' says "$out" '^epiq predict y.epiq NEW.csv$'
check 'and how to judge it' says "$out" '^epiq score y.epiq TEST.csv$'
check 'warns of few members' says "$err" 'warning: 6 networks'
check 'only what was asked for' test "$(ls -A | tr '\n' ' ')" = 'new.csv rows.csv y.epiq '
check 'mode honours umask' test "$(stat -c %a y.epiq)" = "$(printf '%o' $((0666 & ~0$(umask))))"
expect_ok "$epiq" fit rows.csv "${small[@]}" --output=again.epiq --quiet --threads 1
check 'nothing said' test ! -s "$out" -a ! -s "$err"
check 'same bytes with one thread' cmp y.epiq again.epiq
expect_ok "$epiq" fit rows.csv "${small[@]}" --output=again.epiq --quiet --threads 2
check 'and with two' cmp y.epiq again.epiq
"$epiq" fit rows.csv "${small[@]}" -o - --quiet >piped.epiq
check 'same bytes through a pipe' cmp y.epiq piped.epiq

# predict is estimate at the same points
expect_ok "$epiq" predict y.epiq new.csv --exact
cp "$out" exact.csv
"$epiq" estimate rows.csv "${small[@]}" --at new.csv --quiet --csv estimate.csv
check 'header' test "$(head -n 1 exact.csv)" = 'prediction,sd,lo,hi,procedural,data,ensemble,noise'
check 'a line for each row' test "$(wc -l <exact.csv)" -eq 301
agree() { # agree TOLERANCE FILE: with estimate.csv, relative; the ends of intervals beside the prediction
    awk -F, -v tolerance="$1" '
        function off(a, b) { return a == "" || b == "" || (a - b) ^ 2 > (tolerance * b) ^ 2 }
        NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k }
        NR == FNR {
            p[NR] = $at["prediction"]; v[NR] = $at["procedural"]; d[NR] = $at["data"]; e[NR] = $at["ensemble"]
            s[NR] = $at["prediction_variance"]; lo[NR] = $at["predictive_lo"]; hi[NR] = $at["predictive_hi"]; next
        }
        FNR > 1 && (off($1, p[FNR]) || off($5, v[FNR]) || off($6, d[FNR]) || off($7, e[FNR])) { bad = 1 }
        FNR > 1 && off($2 ^ 2, s[FNR]) { bad = 1 }
        FNR > 1 && lo[FNR] == "" && ($3 != "" || $4 != "" || $8 != "") { bad = 1 }
        FNR > 1 && lo[FNR] != "" && (off($4 - $3, hi[FNR] - lo[FNR]) || off($4 + 9, hi[FNR] + 9) || !($8 > 0)) { bad = 1 }
        FNR > 1 && lo[FNR] != "" { intervals++ }
        END { exit bad || NR < 600 || intervals < 250 }' estimate.csv "$2"
}
check 'the numbers of estimate' agree 1e-9 exact.csv # awk prints and reads doubles whole; differences are of rounding
expect_ok "$epiq" predict y.epiq new.csv
cp "$out" all.csv
check 'in single precision nearly so' agree 1e-3 all.csv # what epiq.h promises of variances
check 'a check that can fail' test "$(agree 1e-12 all.csv; echo $?)" -ne 0
for threads in 1 2 3; do
    expect_ok "$epiq" predict y.epiq new.csv --threads $threads
    check 'threads change no bit' cmp "$out" all.csv
done
expect_ok "$epiq" predict y.epiq new.csv --parts data,prediction
cp "$out" two.csv
expect_ok "$epiq" predict y.epiq new.csv --parts all
check 'all of them' cmp "$out" all.csv
check 'parts not asked for are empty' test "$(sed -n 2p two.csv)" = "$(awk -F, 'NR == 2 { print $1 ",,,,," $6 ",," }' all.csv)"
expect_ok "$epiq" predict y.epiq new.csv --parts interval
check 'the interval alone' test "$(sed -n 2p "$out")" = "$(awk -F, 'NR == 2 { print ",," $3 "," $4 ",,,," }' all.csv)"

# the level of the interval is chosen here
"$epiq" estimate rows.csv "${small[@]}" --at new.csv --quiet --csv estimate.csv --level 0.5
expect_ok "$epiq" predict y.epiq new.csv --exact --level 0.5
check 'intervals of estimate at that level' agree 1e-9 "$out"
expect_ok "$epiq" predict y.epiq new.csv --level 0.995
check 'too few rows for that level' test "$(sed -n 2p "$out" | cut -d, -f 3,4)" = ','
expect_words 'and says so' "$err" 'no interval at level'
expect_exit 1 '--level is 95; write 0.95 for 95 %' "$epiq" predict y.epiq new.csv --level 95
sed '2s/^[^,]*/9/' new.csv >far.csv
expect_ok "$epiq" predict y.epiq far.csv
check 'none outside the data' test "$(sed -n 2p "$out" | cut -d, -f 3,4,8)" = ',,'
expect_words 'and says so' "$err" 'too far from all training rows'
expect_ok "$epiq" fit rows.csv "${small[@]}" --methods ev -o ev.epiq
expect_words 'no interval from one part' "$err" 'no interval of y'
expect_ok "$epiq" predict ev.epiq new.csv
expect_words 'and predict says why' "$err" 'no interval of y'
check 'empty cells' test "$(sed -n 2p "$out" | cut -d, -f 2-4,8)" = ',,,'
expect_exit 2 'no interval of y' "$epiq" predict ev.epiq new.csv --parts interval
expect_ok "$epiq" fit rows.csv "${small[@]}" --fold-members 0 --data-by if -o none.epiq
expect_words 'without networks of folds by leave-one-out' "$out" 'leave-one-out'
expect_ok "$epiq" fit rows.csv "${small[@]}" --solver auto -o auto.epiq --quiet
check 'auto is exact' cmp auto.epiq y.epiq
expect_exit 1 'use --solver exact' "$epiq" fit rows.csv "${small[@]}" --solver iterative -o nothing.epiq
awk -F, -v OFS=, 'NR == 1 { print } NR > 1 { $NF = (NR * 7919) % 101; print }' rows.csv >noise.csv
expect_ok "$epiq" fit noise.csv "${small[@]}" -o noise.epiq
expect_words 'of no use' "$err" 'no better than the mean'
expect_ok "$epiq" predict noise.epiq new.csv
expect_words 'and predict says so' "$err" 'no better than the mean'

# columns of NEW that go through as they are
awk -F, -v OFS=, 'NR == 1 { print "id", $0, "a \"note\"" } NR > 1 { print "\"r, " NR "\"", $0, "=1+\"" NR }' new.csv >named.csv
sed -i '1s/a "note"/"a ""note"""/; 2,$s/=1+"\([0-9]*\)/"=1+""\1"/' named.csv
expect_ok "$epiq" predict y.epiq named.csv --copy id --copy '"a ""note""",x1'
check 'their names' test "$(head -n 1 "$out")" = 'id,"a ""note""",x1,prediction,sd,lo,hi,procedural,data,ensemble,noise'
check 'their texts' test "$(sed -n 3p "$out" | cut -d, -f 1-4)" = "\"r, 3\",\"=1+\"\"3\",$(sed -n 3p new.csv | cut -d, -f 1)"
cut -d, -f 5- "$out" >copied.csv
cp all.csv want.csv && sed -i 1d want.csv copied.csv
check 'and the same numbers' cmp copied.csv want.csv
check 'not called ignored' lacks "$err" 'ignored'
expect_exit 2 'no column "name"' "$epiq" predict y.epiq named.csv --copy name
printf '\x93NUMPY\x01\x00v\x00{"descr": "<f8", "fortran_order": False, "shape": (1, 3), }%*s\n' 58 '' | tr '"' "'" >new.npy
printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >>new.npy
expect_exit 2 'new.npy' "$epiq" predict y.epiq new.npy --copy id

# where rows come from and go to
expect_ok "$epiq" predict y.epiq new.csv -o out.csv
check 'to a file' cmp out.csv all.csv
check 'which rows are extrapolated' says "$err" '^epiq: warning: [0-9]* of [0-9]* rows .*range'
expect_ok "$epiq" predict y.epiq new.csv -o out.csv --quiet
check 'nothing said' test ! -s "$out" -a ! -s "$err"
expect_ok "$epiq" predict y.epiq - <new.csv
check 'from standard input' cmp "$out" all.csv
awk -F, -v OFS=';' 'NR == 1 { print "id", "x3", "x1", "why", "x2" } NR > 1 { print NR, $3, $1, "\"a;b\"", $2 }' new.csv >mixed.csv
expect_ok "$epiq" predict y.epiq mixed.csv
check 'columns by name, others left alone' cmp "$out" all.csv

# one-hot columns
awk -F, -v OFS=, 'NR == 1 { print $0, "colour" } NR > 1 { print $0, NR % 3 ? "red" : "blue" }' rows.csv >coloured.csv
expect_ok "$epiq" fit coloured.csv "${small[@]}" --onehot colour --methods if -o colour.epiq --quiet
expect_ok "$epiq" predict colour.epiq coloured.csv
"$epiq" estimate coloured.csv "${small[@]}" --onehot colour --methods if --quiet --csv estimate.csv --at coloured.csv
check 'one-hot as in estimate' test "$(cut -d, -f 6 "$out" | sed -n 5p)" = "$(cut -d, -f 7 estimate.csv | sed -n 5p)"
sed '90s/red\|blue/green/' coloured.csv >green.csv
expect_exit 2 'green.csv:90:5' \
    "$epiq" predict colour.epiq green.csv -o nothing.csv
expect_exit 2 'colour.epiq' "$epiq" predict colour.epiq coloured.csv --parts procedural

sed '3s/,[^,]*,/,1e300,/' new.csv >farther.csv
expect_exit 2 'row 2: x2 = 1e.300' "$epiq" predict y.epiq farther.csv

# long files: a bad cell far down, memory that does not grow
"$epiq" synth 1 --n 60000 --d 3 --seed 7 >long.csv
expect_ok "$epiq" predict y.epiq long.csv --parts prediction,procedural
check 'a line a row' test "$(wc -l <"$out")" -eq 60001
(cat long.csv && echo '1,oops,3,4') >bad.csv
expect_exit 2 'bad.csv:60002:2' \
    "$epiq" predict y.epiq bad.csv --parts prediction -o nothing.csv
peak() { # kilobytes that predicting FILE takes; AddressSanitizer would keep what was freed
    command -v python3 >/dev/null || { echo 0; return; }
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=0 python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$epiq" predict y.epiq "$1" --parts prediction
}
head -n 20001 long.csv >shorter.csv
check 'three times the rows, the same memory' test "$(peak long.csv)" -le $(($(peak shorter.csv) + 4096)) # a page here or there

# rows that lack a cell keep their lines, without numbers; the others are as if alone
awk -F, -v OFS=, 'NR == 3 { $2 = "" } NR == 6 { $1 = "NA" } 1' new.csv >gaps.csv
expect_exit 2 'gaps.csv:3:2.*--missing drop' "$epiq" predict y.epiq gaps.csv -o nothing.csv
expect_ok "$epiq" predict y.epiq new.csv -o whole.csv
expect_ok "$epiq" predict y.epiq gaps.csv --missing drop --copy x1 -o gapped.csv
expect_words 'it says how many, and which is the first' "$err" 'warning: 2 of [0-9]* rows lack a cell.*first: row 2'
check 'as many lines' test "$(wc -l <gapped.csv)" -eq "$(wc -l <new.csv)"
check 'the lines of such rows have what is copied alone' test "$(sed -n 6p gapped.csv)" = 'NA,,,,,,,,'
check 'the others are the same' cmp <(cut -d, -f 2- gapped.csv | sed '3d;6d') <(sed '3d;6d' whole.csv)
awk -F, -v OFS=, 'NR > 1 { $1 = "" } 1' new.csv >none.csv
expect_ok "$epiq" predict y.epiq none.csv --missing drop
check 'all of them may' test "$(grep -c '^,,,,,,,$' "$out")" -eq "$(($(wc -l <new.csv) - 1))"
sed '3s/^[^,]*/NA/' coloured.csv >gaps.csv # also where the cell is a text
expect_ok "$epiq" predict colour.epiq gaps.csv --missing drop
expect_exit 1 '--missing is "keep"; it must be refuse or drop' "$epiq" predict y.epiq new.csv --missing keep

# few rows: estimate, wherever it asks, and fit tell one error, and say how little it is
error_in() { # error_in FILE: the first error and R2 of a JSON, to 10 digits: sums over other points may differ in the last
    grep -o '"\(rmse\|r2\)": -*[0-9.]\{1,11\}' "$1" | head -n 2 | paste -sd' '
}
few=(--target y --members 4 --width 16 --lambda 1e-3)
for n in 2 3 9; do
    head -n $((n + 1)) rows.csv >few.csv
    expect_ok "$epiq" estimate few.csv "${few[@]}" --json rows.json
    check "estimate of $n rows says how few" says "$out" "as far as $n rows can tell"
    "$epiq" estimate few.csv "${few[@]}" --at mean --json mean.json --quiet
    expect_ok "$epiq" fit few.csv "${few[@]}" -o few.epiq
    check "fit of $n rows says how few" says "$out" "as far as $n rows can tell"
    "$epiq" score few.epiq new.csv --json score.json --quiet >/dev/null
    check "$n rows: the mean has the error of the rows" test "$(error_in mean.json)" = "$(sed -n '/^  "fit"/,$p' rows.json | error_in /dev/stdin)"
    check "$n rows: the model too" test "$(error_in score.json)" = "$(error_in mean.json)"
done

# wrong usage
expect_exit 1 'where to\? give -o MODEL' "$epiq" fit rows.csv --target y
expect_exit 1 '' "$epiq" predict
expect_exit 1 '' "$epiq" predict y.epiq
expect_exit 1 '' "$epiq" predict y.epiq new.csv more.csv
expect_exit 1 '--parts is "all,data"' "$epiq" predict y.epiq new.csv --parts all,data
expect_exit 1 '--time' "$epiq" fit rows.csv --target y -o m --time 3
expect_exit 1 '' "$epiq" estimate rows.csv --target y -o m
expect_exit 2 '' "$epiq" fit rows.csv --target y -o rows.csv
expect_exit 2 '' "$epiq" predict y.epiq new.csv -o y.epiq
expect_exit 2 '' "$epiq" predict y.epiq new.csv -o ./new.csv
expect_exit 2 '' "$epiq" fit rows.csv --target y -o nowhere/m
expect_exit 2 'nothing.epiq' "$epiq" predict nothing.epiq new.csv
expect_exit 2 'rows.csv' "$epiq" predict rows.csv new.csv
expect_exit 2 '"x2"' "$epiq" predict y.epiq <(cut -d, -f 1,3 new.csv)

# cut short, damaged, another version
for size in 0 7 8 100 500 1000 5000 $(($(stat -c %s y.epiq) - 1)); do
    head -c "$size" y.epiq >cut.epiq
    expect_exit 2 'cut.epiq' "$epiq" predict cut.epiq new.csv -o nothing.csv
done
sed 's/"format_version":"1"/"format_version":"9"/' y.epiq >future.epiq
expect_exit 2 'future.epiq' "$epiq" predict future.epiq new.csv
sed 's/"option.width":"64"/"option.width":"65"/' y.epiq >touched.epiq
expect_exit 2 'touched.epiq' "$epiq" predict touched.epiq new.csv

# signals
interrupted() { # interrupted SIGNAL CODE command...: it ends so, and leaves no file
    local before code
    before=$(ls -A)
    "${@:3}" >"$out" 2>"$err" &
    sleep 0.5
    kill -s "$1" $!
    wait $!
    code=$?
    [ "$code" -eq "$2" ] && says "$err" '^epiq: stopped' && [ "$before" = "$(ls -A)" ]
}
mkfifo slow
exec 9<>slow # someone who could still write
head -n 5 new.csv >&9
check 'Ctrl-C while it waits for rows' interrupted INT 130 "$epiq" predict y.epiq slow -o nothing.csv
check 'SIGTERM while it trains' interrupted TERM 143 "$epiq" fit long.csv --target y --methods ev -o nothing.epiq

# other tools: the safetensors package, where there is one
python=${EPIQ_PYTHON:-python3}
if "$python" -c 'import safetensors, numpy' 2>/dev/null; then
    check 'safetensors reads it' "$python" - y.epiq <<'END'
import json, sys
from safetensors import safe_open
with safe_open(sys.argv[1], "np") as f:
    notes = f.metadata()
    assert notes["format"] == "epiq-model" and [x["name"] for x in json.loads(notes["features"])] == ["x1", "x2", "x3"]
    assert f.get_tensor("rows").shape == (120, 3) and f.get_tensor("members.theta").shape == (6, 64 * 5 + 1)
    first = f.get_tensor("factor.0").T
    assert abs(first[0, 0]) > 0 and first[0, 1] == 0
END
else
    echo 'SKIPPED: the safetensors package reads the model file: python3 has no safetensors, or no numpy'
fi
# the expected prediction
expect_ok "$epiq" fit rows.csv --target y --width 8 --lambda 0.01 --members 3 --fold-members 0 --confidence batching --batches 3 -o sure.epiq --quiet
expect_ok "$epiq" predict sure.epiq rows.csv -o sure.csv --level 0.9 --quiet
check 'its columns' test "$(head -n 1 sure.csv)" = 'prediction,sd,lo,hi,procedural,data,ensemble,noise,confidence_lo,confidence_hi'
check 'are filled, low before high' test "$(awk -F, 'NR > 1 && $9 < $10' sure.csv | wc -l)" = "$(($(wc -l <sure.csv) - 1))"
expect_ok "$epiq" predict sure.epiq rows.csv --parts confidence -o alone.csv --quiet
check 'alone' test "$(sed -n 2p alone.csv | cut -d, -f 1-8)" = ',,,,,,,'
finish
