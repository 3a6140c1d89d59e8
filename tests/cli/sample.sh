#!/usr/bin/env bash
# The sample table: its script makes it again byte for byte, and epiq finds in it what examples/README.md says was put there.
. "$(dirname "$0")/lib.inc"
examples=$here/../../examples

python3 -B "$examples/make_kiln.py" . || exit 1
check 'the table is what the script makes' cmp kiln.csv "$examples/kiln.csv"
check 'so are the rows to ask about' cmp kiln_new.csv "$examples/kiln_new.csv"
check 'and those to judge by' cmp kiln_test.csv "$examples/kiln_test.csv"
expect_ok "$epiq" estimate kiln.csv --target strength_mpa --engine infinite --at kiln_new.csv --csv answers.csv --json answers.json
check 'the sixth row is outside the data, and no other' says answers.json '"message": "1 of 6 .*kiln_new.csv:6'
check 'what is unsure where' awk -F, '
    NR == 1 { for (k = 1; k <= NF; k++) column[$k] = k; next }
    { data[NR - 1] = $column["data"]; start[NR - 1] = $column["procedural"]; y[NR - 1] = $column["prediction"] }
    END { noise = data[2] > 9 * data[1]         # three times the standard deviation, and data as much as retraining
          gap = data[3] > 2 * data[1]
          few = data[4] > 9 * data[1] && start[4] > 4 * start[1]
          retraining = start[5] > 4 * start[1] && start[5] > 10 * data[5]
          split("30.1 46.6 39.8 46.4 17.8", truth, " ")  # make_kiln.py, strength()
          for (k = 1; k <= 5; k++) off += (y[k] - truth[k]) ^ 2 > 4 * (data[k] + start[k])
          exit !(noise && gap && few && retraining && !off) }' answers.csv
finish
