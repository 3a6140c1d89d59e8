#!/usr/bin/env bash
# Pages and pictures of estimate and demo, pictures of every verb: all files or none, refusals before the work, nothing left behind. What is on the
# pages is the business of tests/unit/test_report_page.c and tools/check-pages.
. "$(dirname "$0")/lib.inc"

fast=(--target y --engine infinite --lambda 1e-3 --at mean)
"$epiq" synth 1 --n 60 --d 3 --seed 5 >rows.csv
listing() { # the files here, on one line
    ls -A "$@" | tr '\n' ' '
}
is_png() {
    [ "$(head -c 4 "$1" | tail -c 3)" = PNG ]
}

# all outputs together, and the text says where the page is
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --json r.json --csv r.csv --report r.html
check 'all three' test "$(listing)" = 'r.csv r.html r.json rows.csv '
check 'a page' says r.html '^<!DOCTYPE html>$'
check 'that ends' test "$(tail -n 1 r.html)" = '</html>'
expect_words 'the text names it' "$out" 'r\.html'
check 'what is drawn is in the JSON' says r.json '^  "sweeps": '
check '25 values' says r.json '^      "sweep": 25,$'
check 'but not in the text' lacks "$out" 'others as at mean'
check 'the prediction is the JSON'"'"'s' says r.html "data-prediction=\"$(sed -n 's/^      "prediction": \(.*\),$/\1/p' r.json)\""
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --report other.html --sweep 0 --quiet
check 'no sweeps' says other.html 'No sweeps were asked for'
check 'quiet' test ! -s "$out" -a ! -s "$err"
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --report -
check 'the page alone on standard output' test "$(head -n 1 "$out")$(tail -n 1 "$out")" = '<!DOCTYPE html></html>'
rm other.html r.*

# pictures
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --pictures drawn --quiet
check 'the folder alone' test "$(listing)" = 'drawn rows.csv '
check 'each as SVG and PNG' test "$(listing drawn)" = 'calibration.png calibration.svg decomposition.png decomposition.svg influential.png influential.svg leave-one-out.png leave-one-out.svg sweep-1-x1.png sweep-1-x1.svg sweep-2-x2.png sweep-2-x2.svg sweep-3-x3.png sweep-3-x3.svg '
for file in drawn/*.png; do
    check "$file is PNG" is_png "$file"
done
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --pictures drawn --quiet
expect_ok env PATH=/nowhere "$epiq" estimate rows.csv "${fast[@]}" --pictures lines --picture-format svg --sweep 0 --quiet
check 'SVG alone' test "$(listing lines)" = 'calibration.svg decomposition.svg influential.svg leave-one-out.svg '
expect_exit 2 'librsvg2-bin' \
    env PATH=/nowhere "$epiq" estimate rows.csv "${fast[@]}" --pictures new
mkdir broken
printf '#!/bin/sh\n[ "$1" = --version ]\n' >broken/rsvg-convert
chmod +x broken/rsvg-convert
expect_exit 2 '--picture-format' \
    env PATH="$PWD/broken:$PATH" "$epiq" estimate rows.csv "${fast[@]}" --pictures new --json r.json --report r.html
expect_exit 1 '"gif"' "$epiq" estimate rows.csv "${fast[@]}" --pictures new --picture-format gif
expect_exit 1 '--pictures' "$epiq" estimate rows.csv "${fast[@]}" --picture-format svg
expect_exit 2 'rows.csv' "$epiq" estimate rows.csv "${fast[@]}" --pictures rows.csv
expect_exit 2 '' "$epiq" estimate rows.csv "${fast[@]}" --pictures no/such
expect_exit 2 '' "$epiq" estimate rows.csv --target z --pictures new --report r.html
rm -r drawn lines broken

# refused before the work
expect_exit 1 '--report' "$epiq" estimate rows.csv "${fast[@]}" --json out --report out
expect_exit 1 '--report' "$epiq" estimate rows.csv "${fast[@]}" --csv - --report -
expect_exit 2 'rows.csv' "$epiq" estimate rows.csv "${fast[@]}" --report rows.csv
expect_exit 2 'such.html' "$epiq" estimate rows.csv "${fast[@]}" --report no/such.html
expect_exit 1 'sweep is 1' "$epiq" estimate rows.csv "${fast[@]}" --report r.html --sweep 1

# a full disk: none of them
expect_exit 2 '' "$epiq" estimate rows.csv "${fast[@]}" --report /dev/full --json r.json --csv r.csv

# stopped: nothing is left
"$epiq" estimate rows.csv --target y --width 64 --lambda 1e-3 --at mean --members 100000 --methods if,ev --threads 1 --report r.html --pictures new >"$out" 2>"$err" &
sleep 1
kill -s INT $!
wait $!
check 'SIGINT: exit 130' test $? -eq 130
check 'nothing is left' test "$(listing)" = 'rows.csv '

# demo
expect_ok "$epiq" demo --engine infinite
check 'demo writes its page here' says epiq-report.html '^<!DOCTYPE html>$'
expect_words 'and says so' "$out" 'epiq-report\.html'
rm epiq-report.html
expect_ok "$epiq" demo --engine infinite --report mine.html --quiet
check 'or where it is told to' test "$(listing)" = 'mine.html rows.csv '
if [ "$(id -u)" -ne 0 ]; then # root may write anywhere
    mkdir closed
    chmod a-w closed
    expect_ok bash -c "cd closed && '$epiq' demo --engine infinite"
    expect_words 'a folder that cannot be written is told' "$err" 'epiq-report.html'
    rmdir closed
fi
rm mine.html

# every verb that draws a page writes its pictures, with the page or without, under names of their own
head -n 21 rows.csv | cut -d, -f 1-3 >points.csv
draws() { # draws 'names, sorted' command...: SVG and PNG of these, and as many pictures on the page
    local names=$1 name both=
    shift
    for name in $names; do
        both="$both$name.png $name.svg "
    done
    expect_ok "$epiq" "$@" --pictures drawn --quiet
    check 'SVG and PNG of each' test "$(listing drawn)" = "$both"
    for name in drawn/*.png; do
        check "$name is PNG" is_png "$name"
    done
    for name in drawn/*.svg; do
        check "$name is SVG and ends" test "$(head -c 5 "$name")$(tail -n 1 "$name")" = '<?xml</svg>'
    done
    mv drawn alone
    expect_ok "$epiq" "$@" --pictures drawn --picture-format svg --report page.html
    check 'a picture of the page each' test "$(grep -c '<svg class="chart"' page.html)" -eq "$(set -- $names && echo $#)"
    for name in $names; do
        check "$name does not depend on the page" cmp "drawn/$name.svg" "alone/$name.svg"
    done
    rm -r drawn alone page.html
    expect_exit 2 'points.csv' "$epiq" "$@" --pictures points.csv
    expect_exit 1 '--pictures' "$epiq" "$@" --picture-format svg
    expect_exit 1 '--report' "$epiq" "$@" --json - --report -
    if [ "$1" != study ]; then # which keeps what it has found for the next time
        expect_exit 2 '' "$epiq" "$@" --pictures new --report page.html --json /dev/full
    fi
    expect_ok "$epiq" "$@" --report - --quiet
    check 'the page alone on standard output' test "$(head -n 1 "$out")$(tail -n 1 "$out")" = '<!DOCTYPE html></html>'
}
draws 'networks-against-cost rows-against-cost standard-deviation-against-cost' \
    plan rows.csv "${fast[@]}" --price-row 1 --price-training 5 --goal 1e-4
draws 'error-against-standard-deviation errors' compare rows.csv "${fast[@]}" --lambda 1e-3,1e-2
draws 'prediction-against-standard-deviation the-best-candidates' explore rows.csv "${fast[@]:0:6}" --candidates points.csv --batch 2
draws 'cumulative-regret simple-regret' explore --loop --steps 2 --seeds 2 --fresh 10
draws 'an-ensemble-s-variance-against-its-size the-parts-against-the-number-of-features the-parts-against-the-number-of-rows' \
    study scaling --quick --reps 3 --engine linear --width 16
expect_ok "$epiq" study table1 --quick --reps 3 --engine linear --width 16 --pictures drawn --picture-format svg --quiet
check 'a picture a panel' test "$(listing drawn)" = 'coverage-of-the-truth-data-if-jackknife.svg coverage-of-the-truth-data-if-moderated.svg coverage-of-the-truth-data-if-none.svg coverage-of-the-truth-data-if-rowwise.svg coverage-of-the-truth-data-if-unbiased.svg coverage-of-the-truth-ensemble-ba.svg data-variance-n-200.svg ensemble-variance-n-200.svg procedural-variance-n-200.svg '
check 'that says which' says drawn/procedural-variance-n-200.svg '>Procedural variance[^<]*: n = 200</text>'
check 'nothing else is left' test "$(listing)" = 'drawn points.csv rows.csv '
finish
