#!/usr/bin/env bash
# What the studies must show, on distributions whose truth is known. Usage: study.sh EPIQ [long]. The short form takes few
# data sets and allows for that; the long one is what docs/results.md claims, cell by cell.
. "$(dirname "$0")/cli/lib.inc"
long=${2:-}

# every FILE WHICH RULE: the cells whose line matches WHICH, their numbers as awk variables; fails, showing those that do not
# fulfil RULE, unless there is one and all do
every() {
    local file=$1 which=$2 rule=$3
    awk -v which="$which" -v rule="$rule" '
        function num(key, variable,   s) { # a rule that asks for a number that is not there is not fulfilled
            if (match($0, "\"" key "\": -?[0-9.e+-]+")) {
                s = substr($0, RSTART, RLENGTH)
                sub(/^[^:]*: /, "", s)
                return s + 0
            }
            if ((" " rule " ") ~ ("[^a-z_0-9]" variable "[^a-z_0-9]")) absent = 1
            return 0
        }
        /^    \{"set"/ && $0 ~ which {
            seen++
            absent = 0
            n = num("n", "n"); d = num("d", "d"); reps = num("reps", "reps"); members = num("members", "members")
            truth = num("truth", "truth"); truth_error = num("truth_se", "truth_error")
            paper_error = num("paper_truth_se", "paper_error")
            estimate = num("estimate", "estimate"); error = num("estimate_se", "error")
            ratio = num("ratio", "ratio"); se = num("ratio_se", "se"); p = num("p_value", "p")
            coverage = num("coverage", "coverage"); coverage_90 = num("coverage_90", "coverage_90")
            published = num("published", "published")
            if (absent || !('"$rule"')) { print "   " $0; bad++ }
        }
        END { exit !(seen > 0 && !bad) }' "$file"
}
must() { # must 'what it says' FILE WHICH RULE
    local problem=
    shown=$(every "$2" "$3" "$4") || problem="not so: $1
$shown"
    verdict "$problem" "$2" "$3" "$4"
}

# ---- IF, where the truth needs no networks ----
# J data sets tell a variance to sqrt(2/J), so there are more of them where they are cheap: 2.2 % at n = 200 (J = 4000),
# 3.2 % at n = 500; n = 1000 takes six minutes for the same, so it is left to the study itself. IF is within a tenth in every cell, but for those docs/results.md names.
if [ -n "$long" ]; then
    cells='table1:200:4000 table1:500:2000 table3:200:4000 table4:500:2000' near=0.1 covered=0.92
else
    cells='table1:200:400 table3:200:400' near=0.2 covered=0.9
fi
for cell in $cells; do
    IFS=: read -r name n reps <<<"$cell"
    file=$name-$n.json
    expect_ok "$epiq" study "$name" --n "$n" --engine infinite --reps "$reps" --json "$file" --quiet
    for correction in moderated rowwise; do
        must "IF is near the truth ($correction)" "$file" "\"correction\": \"$correction\"" "ratio > 1 - $near && ratio < 1 + $near"
        must 'and its 95 % interval covers' "$file" "\"correction\": \"$correction\"" "coverage >= $covered"
        must 'the 90 % interval too' "$file" "\"correction\": \"$correction\"" "coverage_90 >= $covered - 0.06"
    done
    must 'as printed it falls short, more with more features' "$file" '"correction": "none"' \
        'ratio < 1.08 && (d < 8 || ratio < 1) && (d < 16 || n > 200 || ratio < 0.75)'
    must 'jackknife errs upwards at high leverage' "$file" '"correction": "jackknife"' "ratio > 1 - $near && ratio < 1.3"
done
must 'the shortfall at n = 200, d = 32' table1-200.json '"n": 200, "d": 32.*"correction": "none"' \
    "ratio > 0.33 && ratio < 0.52 && coverage < 0.2" # 0.42, 7 % in an independent computation

# ---- EV and BA, with linearised networks whose variance is known exactly ----
expect_ok "$epiq" study coverage --quick --engine linear --json coverage.json --quiet
must 'EV covers at its nominal rate, within 3 binomial errors' coverage.json '"method": "ev"' \
    '(coverage - 0.95)^2 <= 9 * 0.95 * 0.05 / reps && (coverage_90 - 0.9)^2 <= 9 * 0.9 * 0.1 / reps'
must 'EV is unbiased' coverage.json '"method": "ev"' '(ratio - 1)^2 <= 16 * se^2'
must 'BA, corrected, is of the right size, at n/m'"'"' = 40, d = 32 as well' coverage.json '"method": "ba"' \
    'ratio > 0.6 && ratio < 1.3'
must 'noise that varies' coverage.json '"noise": "slope".*"correction": "(moderated|rowwise)"' "ratio > 0.75 && ratio < 1.3 && coverage > 0.88"

expect_ok "$epiq" study scaling --quick --json scaling.json --quiet
must 'sigma^2/n falls like 1/n' scaling.json '"quantity": "data_slope", "method": "in_log_n"' '(estimate + 1)^2 <= (4 * error)^2'
must 'tau^2 hardly falls' scaling.json '"quantity": "procedural_slope", "method": "in_log_n"' 'estimate > -0.3 && estimate < 0.1'
must 'tau^2 grows with d' scaling.json '"quantity": "procedural_slope", "method": "in_log_d"' 'estimate > 1.5 && estimate < 3'
must 'an ensemble varies by sigma^2/n + tau^2/m'"'" scaling.json '"quantity": "ensemble"' '(ratio - 1)^2 <= (4 * se)^2 + 1e-12'

# ---- the interval of the expected prediction, in closed form: many features for their rows, little noise ----
expect_ok "$epiq" study confidence --quick --cell n128-d8-quiet --reps 150 --bias-sd 0 --json confidence.json --quiet
must 'as it stands the closed form covers far less than it says' confidence.json '"population_predictor", "method": "uncorrected"' \
    'coverage < 0.75'
# 150 data sets tell a rate to 2 %, and the target of 1024 rows is known to a tenth of a standard deviation
must 'towards the limit of many rows it does' confidence.json '"population_predictor", "method": "closed_form"' \
    'coverage > 0.88 && coverage_90 > 0.8 && reps == 150'
must 'at the same width' confidence.json '"width", "method": "closed_form"' 'ratio > 0.8 && ratio < 1.5'
must 'and nothing covers the function' confidence.json '"true_function"' 'coverage < 0.3'

# ---- really trained networks ----
expect_ok "$epiq" study decomposition --quick --json decomposition.json --quiet
must 'the law of m'"'"' for trained networks' decomposition.json '"quantity": "ensemble"' '(ratio - 1)^2 <= (4 * se)^2 + 1e-12'
must 'the procedural bias is small beside tau' decomposition.json '"quantity": "procedural_bias"' 'estimate^2 <= 1e-4'
expect_ok "$epiq" study normality --quick --json normality.json --quiet
must 'predictions are not far from normal' normality.json '"quantity": "normality"' 'estimate < 2 && p > 1e-4'
expect_ok "$epiq" study table1 --quick --reps 20 --json networks.json --quiet
must 'EV of one data set is of the size of tau^2' networks.json '"method": "ev"' 'ratio > 0.4 && ratio < 2.5'
# 20 data sets tell little of the truth, and nothing where the data part is a tenth of the procedural one
must 'BA too' networks.json '"d": [28],.*"method": "ba"' 'ratio > 0.2 && ratio < 5'
must 'and IF' networks.json '"d": [28],.*"correction": "moderated"' 'estimate > 5e-5 && estimate < 5e-4'
must 'the paper'"'"'s formula is noisier' networks.json '"method": "ev"' 'paper_error > 1.5 * truth_error'
if [ -n "$long" ]; then
    expect_ok "$epiq" study table3 --reps 12 --json networks.json --quiet
    must 'EV with 12 data sets' networks.json '"method": "ev"' 'ratio > 0.5 && ratio < 2'
fi

# ---- the data part of trained networks ----
# without networks the control variate is the prediction itself: its truth is sharp with few data sets, and that of 400 data
# sets without it, known to 7 %, agrees; linearised networks follow the data as infinitely wide ones do
expect_ok "$epiq" study trained --cell set1-n200-d --engine infinite --reps 160 --json trained.json --quiet
must 'the truth is sharp' trained.json '"at": "all".*"quantity": "answer"' 'truth_error < 0.03 * truth'
must 'IF is right where networks are infinitely wide' trained.json '"cell": "set1-n200-d(2|4|8)", .*"at": "all".*"quantity": "answer"' \
    'ratio > 0.8 && ratio < 1.25 && coverage > 0.85'
for d in 2 4 8 16; do
    plain=$(every table1-200.json '"d": '$d',.*"correction": "rowwise"' '0' | sed -n 's/.*"truth": \([0-9.e-]*\).*/\1/p')
    must "the same truth as without a control variate, d = $d" trained.json '"cell": "set1-n200-d'$d'", "at": "x0".*"answer"' \
        "(truth / ${plain:-0} - 1)^2 <= (3 * 0.07)^2"
done
expect_ok "$epiq" study trained --cell set2-n200-d4 --engine linear --width 64 --reps 80 --json trained.json --quiet
must 'linearised networks follow the data fully' trained.json '"quantity": "kappa"' \
    'truth_error < 0.1 && (truth - 1)^2 <= (4 * truth_error)^2'
expect_ok "$epiq" study trained --cell set1-n200-d2 --reps 40 --json trained.json --quiet
must 'trained ones do not' trained.json '"quantity": "kappa"' 'truth + 3 * truth_error < 1 && truth > 0.3'
must 'so that IF is too large, most at x0' trained.json '"at": "x0".*"correction": "rowwise"' 'ratio > 1.4 && ratio < 4'
# five answers of six points, each to 0.35 in its logarithm, and a truth known to 8 %
must 'and the answer, by retraining, is not' trained.json '"at": "all".*"quantity": "answer", "method": "retrain"' \
    'ratio > 0.75 && ratio < 1.45 && coverage > 0.8'
must 'nor at x0' trained.json '"at": "x0".*"quantity": "answer", "method": "retrain"' 'ratio > 0.7 && ratio < 2'
if [ -n "$long" ]; then
    for name in set2-n200-d4 smooth-width256; do # ten answers: 1.0 +- 0.1
        expect_ok "$epiq" study trained --cell $name --reps 80 --json trained.json --quiet
        must 'the answer is right where IF is too large and where it is too noisy' trained.json \
            '"cell": "'$name'", "at": "all".*"quantity": "answer", "method": "retrain"' 'ratio > 0.75 && ratio < 1.3 && coverage > 0.88'
    done
fi

# ---- solver divided, beside the exact solution on the same rows ----
expect_ok env -u EPIQ_DATA "$epiq" study divided --quick --json divided.json --quiet # made-up sets alone
must 'half the rows at a time: the same prediction' divided.json '"prediction_difference", "method": "2_parts"' 'estimate > 0 && estimate < 0.25'
must 'the same data variance within a tenth' divided.json '"data", "method": "2_parts"' 'ratio > 0.92 && ratio < 1.01'
must 'and a procedural one that is larger' divided.json '"procedural", "method": "2_parts"' 'ratio > 1.02 && ratio < 1.15'
must 'more so in quarters' divided.json '"procedural", "method": "4_parts"' 'ratio > 1.1 && ratio < 1.4'
must 'with less of the data variance' divided.json '"data", "method": "4_parts"' 'ratio > 0.83 && ratio < 0.97'
# 40 data sets tell the truth to 22 %
must 'IF is right about the divided predictor' divided.json '"data_truth"' 'ratio > 0.6 && ratio < 1.5 && coverage > 0.8'

# ---- real tables ----
if [ -r "${EPIQ_DATA:-}/boston.csv" ]; then
    for name in table2 figure-members timing; do
        expect_ok "$epiq" study $name --quick --json $name.json --quiet
    done
    for name in boston-n200 energy-n200; do # few rows decide there: 20 estimates know their mean to 8 %
        expect_ok "$epiq" study trained --cell $name --engine infinite --reps 160 --json $name.json --quiet
        must 'IF of real features, a planted function and known noise' $name.json '"at": "all".*"correction": "unbiased"' \
            'truth_error < 0.05 * truth && ratio > 0.7 && ratio < 1.4'
    done
    must 'table 2 has the published order of magnitude' table2.json '"method": "(ev|ba)"' 'estimate > published / 10 && estimate < published * 10'
    must 'EV of Boston' figure-members.json '"members": 10,' 'estimate > 1e-3 && estimate < 1e-1'
    must 'IF and BA take less than EV took there' timing.json '"quantity": "seconds"' 'estimate > 0 && estimate < published'
else
    echo 'SKIPPED: table2, figure-members, timing; set EPIQ_DATA to a folder with boston.csv and the others'
fi
finish
