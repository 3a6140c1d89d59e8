#!/usr/bin/env bash
# --solver divided as a person would use it: what it says of itself, what it goes with, what it refuses.
. "$(dirname "$0")/lib.inc"

"$epiq" synth 1 --n 60 --d 3 --seed 5 >rows.csv
awk -F, 'NR == 1 { print "g," $0; next } { print (NR < 34 ? "a" : NR) "," $0 }' rows.csv >groups.csv
closed=(--target y --engine infinite --lambda 1e-3 --solver divided)

expect_ok "$epiq" estimate rows.csv "${closed[@]}" --at mean --at row:7 --json two.json
check 'what ran' says two.json '^    "solver": "divided",$'
check 'in two parts unless asked' says two.json '^    "parts": 2,$'
check 'is JSON' is_json two.json
check 'a new observation' says two.json '"by": "leave-one-out"'
check 'five influential rows a point' test "$(grep -c '"influence": ' two.json)" -eq 10
expect_ok "$epiq" estimate rows.csv "${closed[@]}" --parts 4 --at mean --json four.json --quiet
check 'four if asked' says four.json '^    "parts": 4,$'
expect_ok "$epiq" estimate rows.csv --target y --engine infinite --lambda 1e-3 --at mean --json exact.json --quiet
check 'the exact solution has none' lacks exact.json '"parts": [1-9]'
expect_ok "$epiq" estimate rows.csv "${closed[@]}" --parts 1 --at mean --json one.json --quiet
check 'one part is the exact solution' test "$(points one.json | grep prediction)" = "$(points exact.json | grep prediction)"
for engine in network linear; do
    expect_ok "$epiq" estimate rows.csv --target y --solver divided --engine $engine --width 32 --lambda 1e-3 --members 4 --batches 3 \
        --methods if,ev,ba --json beside.json --quiet
    check "beside $engine" says beside.json '"method": "ba"'
done
expect_ok "$epiq" compare rows.csv --target y --solver divided --engine infinite --lambda 1e-3,1e-2 --json compared.json --quiet
check 'compared by leave-one-out' says compared.json '"loo_rmse": [0-9]'

# one sentence, and the exit code that says whose fault it is
expect_exit 2 '--parts' "$epiq" estimate rows.csv "${closed[@]}" --parts 16
expect_exit 2 '32 rows' "$epiq" estimate groups.csv --group g "${closed[@]}"
expect_exit 1 '"two"' "$epiq" estimate rows.csv "${closed[@]}" --parts two
expect_exit 1 'parts is -1' "$epiq" estimate rows.csv "${closed[@]}" --parts -1
expect_exit 1 '--time' "$epiq" estimate rows.csv "${closed[@]}" --time 5
expect_exit 1 '--kernel' "$epiq" estimate rows.csv "${closed[@]}" --kernel empirical
expect_exit 1 '--hbar' "$epiq" estimate rows.csv --target y --solver divided --engine linear --hbar ensemble
expect_exit 1 '--solver' "$epiq" fit rows.csv --target y --solver divided -o m.epiq
"$epiq" synth 1 --n 6000 --d 3 >long.csv
expect_exit 3 '--solver divided \(0.[0-9]+ GB' "$epiq" estimate long.csv --target y --engine infinite --lambda 1e-3 --at mean --mem-limit 120M
expect_exit 3 '--parts' "$epiq" estimate long.csv "${closed[@]}" --mem-limit 60M
finish
