#!/usr/bin/env bash
# Real tables against closed forms that were computed elsewhere (numpy, twice and independently), at infinite width.
# The files are not part of this project: EPIQ_DATA names the folder that holds them.
. "$(dirname "$0")/lib.inc"
if [ ! -r "${EPIQ_DATA:-}/boston.csv" ]; then
    echo "SKIPPED: real data; set EPIQ_DATA to a folder with boston.csv, concrete.csv, energy.csv, wine.csv, yacht.csv"
    exit 77
fi

near() { # near NAME WANTED RELATIVE: the first number of that name in the JSON
    awk -v name="\"$1\":" -v want="$2" -v tol="$3" '
        match($0, name " *[-0-9.e]+") && !seen++ {
            got = substr($0, RSTART + length(name), RLENGTH - length(name)) + 0
            ok = (got - want) ^ 2 <= (tol * want) ^ 2
        }
        END { exit !ok }' part.json
}
part() { # part NAME: that object of the first point
    grep -m 1 "^ *\"$1\": {\"variance\"" result.json >part.json
}

# Boston, standardised, bias 1: tau^2 = 0.169 in units of the scaled target (factor 9.188)
expect_ok "$epiq" estimate "$EPIQ_DATA/boston.csv" --target medv --engine infinite --lambda 1e-3 --at mean --json result.json
part procedural
check 'tau^2 of the standardised table' near variance "$(awk 'BEGIN { print 0.169 * 9.188011545278206 ^ 2 }')" 0.005

# Boston, min-max, no bias: tau^2 = 5.62e-3, sigma^2/n as printed = 8.48e-5 in units of the scaled target (factor 45)
expect_ok "$epiq" estimate "$EPIQ_DATA/boston.csv" --target medv --engine infinite --lambda 1e-3 --at mean --scale minmax --bias 0 --correction none \
    --json result.json
part procedural
check 'tau^2 of the min-max table' near variance "$(awk 'BEGIN { print 5.62e-3 * 45 ^ 2 }')" 0.005
part data
check 'IF of the min-max table' near variance "$(awk 'BEGIN { print 8.48e-5 * 45 ^ 2 }')" 0.005

for set in concrete:strength energy:heating wine:quality yacht:resistance; do
    expect_ok "$epiq" estimate "$EPIQ_DATA/${set%:*}.csv" --target "${set#*:}" --engine infinite --at mean --at row:1 --json result.json
    check 'is JSON' is_json result.json
    check 'no number stands for missing' lacks result.json '"sentinel"'
done
check 'repeated rows are mentioned' bash -c "'$epiq' estimate '$EPIQ_DATA/wine.csv' --target quality --engine infinite | grep -q '240 rows'"
finish
