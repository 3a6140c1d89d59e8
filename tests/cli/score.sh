#!/usr/bin/env bash
# epiq score as a person would use it: what it says, its JSON and CSV against numbers computed here, its page, bad files.
. "$(dirname "$0")/lib.inc"

small=(--target y --width 64 --members 6 --methods if,ev)
"$epiq" synth 1 --n 120 --d 3 --seed 5 >rows.csv
"$epiq" synth 1 --n 100 --d 3 --seed 6 >test.csv
"$epiq" fit rows.csv "${small[@]}" -o y.epiq --quiet

# in words
expect_ok "$epiq" score y.epiq test.csv
expect_words 'of what' "$out" '^test.csv: 100 rows; the model has learned y from 120$'
expect_words 'errors' "$out" '^Typical error .*mean absolute error'
expect_words 'intervals' "$out" '^95 % intervals hold [0-9]+ of 100 rows'
expect_words 'standard deviations' "$out" '^Errors are .*log likelihood.*CRPS'
expect_words 'a verdict' "$out" '^Verdict: '
check 'no complaint' test ! -s "$err"
cp "$out" text
for threads in 1 2; do
    expect_ok "$epiq" score y.epiq test.csv --threads $threads
    check 'threads change nothing' cmp "$out" text
done
expect_ok "$epiq" score y.epiq - <test.csv
check 'from standard input' says "$out" '^standard input: 100 rows'

# row by row, and the scores computed again from the rows
expect_ok "$epiq" score y.epiq test.csv --csv rows_out.csv --json out.json --quiet --exact --level 0.8
check 'nothing said' test ! -s "$out" -a ! -s "$err"
check 'header' test "$(head -n 1 rows_out.csv)" = 'row,y,prediction,sd,lo,hi,noise'
"$epiq" predict y.epiq test.csv --exact --level 0.8 --quiet >predicted.csv
check 'the numbers of predict' cmp <(cut -d, -f 3-7 rows_out.csv) <(cut -d, -f 1-4,8 predicted.csv)
check 'y as it is in the file' awk -F, 'NR == FNR { y[NR] = $4; next } FNR > 1 && $2 != y[FNR] + 0 && ($2 - y[FNR]) ^ 2 > 1e-30 { exit 1 }' test.csv rows_out.csv
number() { # number NAME: of out.json, the first of that name behind "score"
    sed -n '/"score": {/,$p' out.json | sed -n "s/.*\"$1\": \\([-0-9.e]*\\).*/\\1/p" | head -n 1
}
again() { # again: the same numbers from the rows
    awk -F, -v rmse="$(number rmse)" -v mae="$(number mae)" -v width="$(number width)" -v inside="$(number rows)" \
        -v density="$(number log_likelihood)" -v z2="$(number squared_z)" -v score="$(number interval_score)" '
        function off(a, b) { return (a - b) ^ 2 > (1e-9 * b) ^ 2 }
        NR > 1 {
            e = $2 - $3; s2 = $4 ^ 2 + $7 ^ 2; sq += e ^ 2; ab += e < 0 ? -e : e; n++
            if ($5 == "") next
            m++; w += $6 - $5; in_ += $2 >= $5 && $2 <= $6; z += e ^ 2 / s2
            ll += -log(2 * 3.14159265358979323846 * s2) / 2 - e ^ 2 / s2 / 2
            sc += $6 - $5 + 10 * ($2 < $5 ? $5 - $2 : 0) + 10 * ($2 > $6 ? $2 - $6 : 0)
        }
        END { exit off(rmse, sqrt(sq / n)) || off(mae, ab / n) || off(width, w / m) || off(density, ll / m) || off(z2, z / m) || off(score, sc / m) || n != 100 }' rows_out.csv
}
check 'scores follow from the rows' again
check 'coverage at the level asked for' says out.json '"coverage": \{"level": 0.8, "share": 0\.[0-9]+, "rows": [0-9]+, "interval": \['
check 'calibration at four levels' test "$(sed -n '/"calibration"/,/\]$/p' out.json | grep -c '"level"')" -eq 4
check 'tenths' says out.json '"pit": \[[0-9]+(, [0-9]+){9}\]'
check 'rows in the JSON too' test "$(grep -c '"row": ' out.json)" -eq 100
if command -v python3 >/dev/null; then
    check 'valid JSON' python3 -m json.tool out.json
fi

# the page
expect_ok "$epiq" score y.epiq test.csv --report page.html --pictures pictures --picture-format svg --quiet
check 'a title' says page.html '<h1>Can this model be trusted on these rows\?</h1>'
for picture in predicted-against-observed calibration tenths; do
    check "$picture" test -s pictures/$picture.svg
done
check 'no scripts' lacks page.html '<script'

# what a person must hear
expect_ok "$epiq" score y.epiq rows.csv
expect_words 'its own rows' "$out" 'Warning: .*has learned from'
awk -F, -v OFS=, 'NR == 1 { print } NR > 1 { $NF = (NR * 7919) % 101; print }' test.csv >noise.csv
expect_ok "$epiq" score y.epiq noise.csv
expect_words 'another kind of rows' "$out" 'Warning: on these rows .*R2'
expect_words 'too narrow' "$out" 'Warning: the 95 % intervals hold only'
expect_words 'not to be trusted' "$out" '^Verdict: '
sed '2s/^[^,]*/9/' test.csv >far.csv
expect_ok "$epiq" score y.epiq far.csv
expect_words 'outside the data' "$out" 'Warning: 1 of 100 rows'
check 'counted apart' says "$out" ' of 99 rows'
"$epiq" fit rows.csv --target y --width 64 --members 6 --methods ev -o ev.epiq --quiet
expect_ok "$epiq" score ev.epiq test.csv --json out.json
expect_words 'a model without intervals' "$out" 'Warning: the model has no interval of y'
check 'null in the JSON' says out.json '"coverage": null'

# rows that lack the target or a feature are left out, and the others keep their numbers
sed '5s/[^,]*$//;9s/^[^,]*/NA/' test.csv >gap.csv
sed '5d;9d' test.csv >fewer.csv
expect_exit 2 'gap.csv:5:4.*--missing drop' "$epiq" score y.epiq gap.csv
expect_ok "$epiq" score y.epiq gap.csv --missing drop --csv gap-rows.csv --json gap.json
expect_words 'it says how many' "$out" 'Warning: 2 of 100 rows were left out'
check 'rows 4 and 8 are not there' test "$(cut -d, -f 1 gap-rows.csv | sed 1d | paste -sd,)" = "$(seq -s, 100 | sed 's/,4,/,/;s/,8,/,/')"
check 'counted' says gap.json '"dropped": 2'
expect_ok "$epiq" score y.epiq fewer.csv --csv fewer-rows.csv --json fewer.json
check 'the numbers of the rest alone' cmp <(cut -d, -f 2- gap-rows.csv) <(cut -d, -f 2- fewer-rows.csv)
check 'and the scores' test "$(grep '"rmse"\|"crps"' gap.json)" = "$(grep '"rmse"\|"crps"' fewer.json)"
check 'nothing is said where no cell is missing' lacks fewer.json dropped
expect_exit 2 'every one of 100 rows' "$epiq" score y.epiq <(sed '2,$s/[^,]*$//' test.csv) --missing drop

# what cannot be scored
expect_exit 2 'no column "y"' "$epiq" score y.epiq <(cut -d, -f 1-3 test.csv)
expect_exit 2 'no column "x2"' "$epiq" score y.epiq <(cut -d, -f 1,3,4 test.csv)
sed '5s/[^,]*$/oops/' test.csv >bad.csv
expect_exit 2 'bad.csv:5:4' "$epiq" score y.epiq bad.csv --csv nothing.csv
sed '5s/[^,]*$//' test.csv >gap.csv
expect_exit 2 'gap.csv:5:4' "$epiq" score y.epiq gap.csv --csv nothing.csv
expect_exit 2 'there is no row' "$epiq" score y.epiq <(head -n 1 test.csv)
expect_exit 2 'test.csv' "$epiq" score test.csv test.csv
expect_exit 1 '' "$epiq" score y.epiq
expect_exit 1 '--level is 95' "$epiq" score y.epiq test.csv --level 95
expect_exit 2 '' "$epiq" score y.epiq test.csv --csv test.csv
expect_exit 2 '' "$epiq" score y.epiq test.csv --json y.epiq
finish
