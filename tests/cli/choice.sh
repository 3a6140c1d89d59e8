#!/usr/bin/env bash
# Width and lambda left to choose, and the paper's setting: what is said of it, what explicit flags keep, and ways to get it wrong.
. "$(dirname "$0")/lib.inc"

# a kink along one direction of four features
awk 'BEGIN { print "a,b,c,d,y"
    for (i = 1; i <= 60; i++) { a = sin(17 * i); b = cos(29 * i); c = sin(53 * i); d = cos(91 * i); u = a + b - c
        printf "%.17g,%.17g,%.17g,%.17g,%.17g\n", a, b, c, d, (u > 0 ? 2 * u : -u) + 0.1 * sin(7 * i * i) } }' >rows.csv
fast=(--target y --methods ev --members 3)
number() { sed -n "/^  \"$2\": {/,/^  }/s/^    \"$3\": \(.*[^,]\),*$/\1/p" "$1"; }

expect_ok "$epiq" estimate rows.csv "${fast[@]}" --at row:1 --width auto --lambda auto --json a.json --report a.html --verbose
check 'one line says what was chosen' [ "$(grep -c '^chosen: width [0-9]* and lambda ' "$out")" -eq 1 ]
check 'JSON: what ran is what was chosen' [ "$(number a.json model width)" = "$(number a.json model_choice width)" ]
check 'JSON: lambda too' [ "$(number a.json model lambda)" = "$(number a.json model_choice lambda)" ]
check 'JSON: what was asked' says a.json '"width": "auto"'
check 'JSON: infinitely wide networks were tried' says a.json '\{"width": null, "lambda": 0.001, '
check 'JSON: and narrow ones' says a.json '\{"width": 16, "lambda": 0.001, .*"networks": [12]0'
check 'JSON: how long it took' says a.json '"choice": [0-9]'
check 'the page says it' says a.html '>chosen<.*width'
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --at row:1 --width auto --lambda auto --threads 1 --json b.json
check 'threads change nothing' cmp <(sed -n '/^  "model_choice"/,/^  }/p' a.json) <(sed -n '/^  "model_choice"/,/^  }/p' b.json)

expect_ok "$epiq" estimate rows.csv "${fast[@]}" --at row:1 --width 24 --lambda auto --json c.json
check 'a width that is given stays' [ "$(number c.json model_choice width)" = 24 ]
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --at row:1 --width 24 --lambda 1e-3 --json d.json
check 'nothing was left to choose' lacks d.json model_choice
expect_ok "$epiq" estimate rows.csv "${fast[@]}" --at row:1 --width auto --lambda auto --dry-run
check 'a forecast says what it depends on' says "$out" 'by the network that is chosen'

expect_ok "$epiq" fit rows.csv "${fast[@]}" --width auto --lambda 1e-3 --output m.epiq
check 'a fit says the width it chose' says "$out" '3 networks of width (16|32|64|256|1024)$'
expect_ok "$epiq" fit rows.csv --target y --engine infinite --lambda auto --output m2.epiq
check 'and the lambda' says "$out" 'infinitely wide networks; lambda [0-9.e-]+, as chosen$'
expect_ok "$epiq" predict m.epiq rows.csv --csv p.csv
check 'and its model predicts' [ "$(wc -l <p.csv)" -eq 61 ]
expect_ok "$epiq" plan rows.csv --target y --engine infinite --width auto --lambda auto --at row:1 --budget 10 --price-row 1 --price-training 1
check 'a plan says what was chosen' says "$out" '^chosen: lambda '

expect_ok "$epiq" estimate rows.csv --target y --at row:1 --members 3 --width 8 --bias-sd 0.5 --preset paper --json e.json
check 'flags before the preset win' says e.json '"bias_sd": 0.5'
check 'also the width' [ "$(number e.json model width)" = 8 ]
check 'the rest is the preset' says e.json '"correction": "none"'
check 'whose networks are stopped' says e.json '"optimizer": "flow"'
check 'which is said' says e.json '"code": "stopped_early"'
expect_ok "$epiq" estimate rows.csv --target y --at row:1 --members 3 --preset=paper --width 8 --correction unbiased --json f.json
check 'flags after it too' says f.json '"correction": "unbiased"'
check 'no biases at the start' says f.json '"bias_sd": 0,'
expect_ok "$epiq" estimate rows.csv --target y --at row:1 --members 3 --preset paper --width 8 --optimizer auto --json i.json
check 'networks trained to the minimum are not stopped' lacks i.json 'stopped_early'
expect_ok "$epiq" estimate rows.csv --target y --members 5 --width 64 --lambda 1e-3 --optimizer flow --steps 1 --json s.json
check 'of networks stopped at their starts the few of a fold know little' says s.json '"code": "few_fold_members"'
check 'and training is to go on' says s.json 'trained longer they may be off by less'
expect_ok "$epiq" estimate rows.csv --target y --members 5 --width 64 --lambda 1e-3 --optimizer flow --steps 700
check 'the first line has the time' says "$out" 'lambda 0.001, stopped at time 7;'

expect_exit 1 '' "$epiq" estimate rows.csv --target y --width 0
expect_exit 1 '' "$epiq" estimate rows.csv --target y --lambda best
expect_exit 1 '' "$epiq" estimate rows.csv --target y --preset poster

# with no word about any of it: the model is chosen, and every row is asked of networks that have not seen it
expect_ok "$epiq" estimate rows.csv --target y --members 3 --json g.json --csv g.csv
check 'the CSV says that each was left out' test "$(grep -c ',1,,,[0-9.e-]*$' g.csv)" -eq 60
check 'by default the model is chosen' says g.json '^  "model_choice": \{'
check 'two methods are' says g.json '^    "methods": "if,ev",$'
check 'and rows are asked about' test "$(grep -c '^      "at": "row:[0-9]*",$' g.json)" -eq 60
check 'that were left out' test "$(grep -c '^      "left_out": true,$' g.json)" -eq 60
expect_ok "$epiq" estimate rows.csv --target y --engine infinite --time 2 --json h.json
check 'where they cannot be left out, the mean is' says h.json '^      "at": "mean",$'
check 'and that is said' says h.json '"code": "mean_row"'
finish
