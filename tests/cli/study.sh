#!/usr/bin/env bash
# Studies: every one runs, killed ones go on to the same bits, wrong requests get one sentence. That their numbers are
# right is the business of tests/study.sh.
. "$(dirname "$0")/lib.inc"
unset EPIQ_DATA

cells() { # what must not depend on threads, time or interruptions
    sed -n '/^  "cells": \[/,$p' "$1"
}
same_cells() {
    diff <(cells "$1") <(cells "$2") && [ "$(cells "$1" | wc -l)" -gt 5 ]
}

expect_ok "$epiq" study list
cp "$out" listed
expect_ok "$epiq" study
check 'without a name the same list' cmp "$out" listed
rm listed
for name in table1 table2 table3 table4 figure-members timing normality coverage scaling decomposition divided trained confidence mse benchmark; do
    check "$name is listed" says "$out" "^$name "
done

# ---- the answer ----
expect_ok "$epiq" study table1 --quick --engine infinite --json one.json --report one.html --threads 1
check 'the layout of the paper' says "$out" 'IF as printed'
check 'is JSON' is_json one.json
check 'the contract'"'"'s fields' says one.json \
    '^    \{"set": 1, "n": 200, "d": 2,.*"quantity": "data", "method": "if",.*"truth": [0-9.e-]+, "truth_se": [0-9.e-]+,.*"estimate": [0-9.e-]+,.*"ratio": [0-9.e-]+,.*"coverage": [0-9.]+,.*"published": 0.00018'
check 'a page' says one.html '<!DOCTYPE html>'
check 'nothing is left behind' test "$(ls)" = "one.html
one.json"
expect_ok "$epiq" study table1 --quick --engine infinite --json three.json --quiet --threads 3
check 'threads change no bit' same_cells one.json three.json
expect_ok "$epiq" study table1 --quick --engine infinite --json seed.json --quiet --seed 2
check 'another seed does' bash -c '! cmp -s one.json seed.json'
expect_ok bash -c "'$epiq' study scaling --quick --reps 4 --json - >stdout.json"
check 'standard output holds the JSON alone' is_json stdout.json
for options in '--bias 0' '--bias-sd 0' '--time 100' '--width 64 --engine linear' '--width 16 --engine network --reps 3 --lambda 0.1'; do
    # shellcheck disable=SC2086
    expect_ok "$epiq" study table3 --quick --engine infinite $options --json v.json --quiet
    check 'a variant is JSON' is_json v.json
done
expect_ok "$epiq" study confidence --quick --cell n128-d2-quiet --reps 5 --json v.json --report v.html --quiet
check 'both targets and the width' bash -c '[ "$(grep -c "\"method\": \"closed_form\"" v.json)" -eq 3 ]'
check 'a cell by name' says v.json '"n": 128, "d": 2, "noise": "quiet", .*"quantity": "true_function"'
expect_ok "$epiq" study confidence --engine network --quick --cell n128-d4-quiet/other_resample --width 64 --reps 3 --json v.json --quiet
check 'a way by name, beside the first' says v.json '"members": 10, "quantity": "population_predictor", "method": "other_resample_80_steps"'
check 'and no other' lacks v.json '"method": "bootstrap'
for name in coverage scaling mse normality; do
    expect_ok "$epiq" study $name --quick --engine linear --width 32 --reps 5 --json v.json --report v.html --quiet
    check "$name is JSON" is_json v.json
done
for threads in 1 3; do
    expect_ok "$epiq" study trained --n 200 --d 4 --engine linear --width 32 --reps 5 --json trained-$threads.json \
        --report v.html --quiet --threads $threads
done
check 'trained: threads change no bit' same_cells trained-1.json trained-3.json
check 'kinds of points and how far estimates are off' says trained-1.json \
    '^    \{"set": 2, "n": 200, "d": 4, "cell": "set2-n200-d4", "at": "random",.*"quantity": "answer",.*"rms_log": [0-9.]+'
check 'the page has both tables' says v.html 'By the kind of point'
expect_ok "$epiq" study trained --cell depth2 --engine infinite --reps 5 --json v.json --quiet
mkdir tables
awk 'BEGIN { print "a,b,y"; for (i = 1; i <= 60; i++) { a = sin(17 * i); b = cos(29 * i); printf "%.9g,%.9g,%.9g\n", a, b, a + b * b + 0.1 * sin(7 * i * i) } }' >tables/made.csv
for threads in 1 3; do
    expect_ok "$epiq" study benchmark --data-dir tables --quick --engine infinite --json board-$threads.json --quiet --threads $threads
done
check 'benchmark: threads change no bit but the time' diff <(cells board-1.json | grep -v seconds) <(cells board-3.json | grep -v seconds)
check 'benchmark: a line for each score' says board-1.json '"set": "made".*"quantity": "log_likelihood", "method": "infinite", "reps": 2,'
printf '1,2,3\n4,5,61\n' >tables/made.splits.csv
expect_exit 2 'made.splits.csv, line 2' "$epiq" study benchmark --data-dir tables --quick --engine infinite --quiet
printf '1,2,3\n4,5,5\n' >tables/made.splits.csv
expect_exit 2 'made.splits.csv, line 2 names row 5 twice' "$epiq" study benchmark --data-dir tables --quick --engine infinite --quiet
printf '1,2,3\n4,5,6\n' >tables/made.splits.csv
expect_ok "$epiq" study benchmark --data-dir tables --full --engine infinite --json fixed.json --quiet
check 'benchmark: the splits beside a table are used' says fixed.json '"quantity": "rmse", "method": "infinite", "reps": 2,'
rm -r tables
check 'one cell alone' bash -c '! grep \"cell\" v.json | grep -v set1-n100-d4-depth2'
rm -f ./*

# ---- stopped and killed: it goes on, and ends with the same bits ----
interrupt() { # interrupt SIGNAL STATE command...: when a repetition is finished and kept, or after 30 s; leaves its exit code in $code
    local signal=$1 state=$2 tries=300 before
    shift 2
    before=$(sqlite3 "$state" 'SELECT count(*) FROM samples' 2>/dev/null || echo 0)
    "$@" >/dev/null 2>"$err" &
    while [ $((tries--)) -gt 0 ] && kill -0 $! 2>/dev/null &&
        [ "$(sqlite3 "$state" 'SELECT count(*) FROM samples' 2>/dev/null || echo 0)" -le "$before" ]; do
        sleep 0.1
    done
    kill -"$signal" $! 2>/dev/null
    wait $! 2>/dev/null
    code=$?
}
slow=(study table3 --quick --engine network --width 64 --reps 48 --members 8)
expect_ok "$epiq" "${slow[@]}" --json whole.json --quiet
for signal in KILL KILL KILL INT TERM; do
    interrupt $signal kept "$epiq" "${slow[@]}" --state kept --quiet
done
expect_ok "$epiq" "${slow[@]}" --state kept --json resumed.json --quiet
check 'same bits after five interruptions' same_cells whole.json resumed.json
check 'something was resumed' says resumed.json '"resumed": [1-9]'
check 'a file that was named is kept' test -s kept
interrupt INT epiq-study-table3.state "$epiq" "${slow[@]}" --threads 1
check 'SIGINT is told as 130' test $code -eq 130
expect_words 'with what is kept' "$err" 'epiq-study-table3\.state'
check 'without a name it is kept here' test -s epiq-study-table3.state
expect_ok "$epiq" "${slow[@]}" --json again.json --quiet
check 'same bits' same_cells whole.json again.json
check 'and is gone when it has served' test ! -e epiq-study-table3.state
rm -f ./*

# a short run does not take a long one's file with it
interrupt INT epiq-study-table3.state "$epiq" "${slow[@]}" --threads 1
expect_ok "$epiq" study table3 --quick --engine infinite --reps 3 --quiet
check 'still there' test -s epiq-study-table3.state
expect_ok "$epiq" "${slow[@]}" --json again.json --quiet
check 'and of use' says again.json '"resumed": [1-9]'
rm -f ./*

# ---- wrong requests ----
expect_exit 1 '"tabel1"' "$epiq" study tabel1
expect_exit 1 '"2"' "$epiq" study table1 --reps 2
expect_exit 1 '--n' "$epiq" study table1 --n 200 --d 7
expect_exit 1 '--cell' "$epiq" study trained --cell nothing
expect_exit 2 '--data-dir' "$epiq" study trained --cell boston
expect_exit 1 '--full' "$epiq" study table1 --quick --full
expect_exit 1 'engine is "fast"' "$epiq" study table1 --engine fast
expect_exit 1 '--target' "$epiq" study table1 --target y
expect_exit 1 '--engine' "$epiq" study normality --engine infinite
expect_exit 2 '' "$epiq" study table3 --json epiq-study-table3.state
expect_exit 2 '' "$epiq" study table3 --state kept --report kept-members
expect_exit 1 '--engine' env EPIQ_DATA=. "$epiq" study figure-members --engine infinite
expect_exit 2 '' "$epiq" study table3 --quick --state /dev/null
expect_exit 1 '' "$epiq" study table1 --json out --report out
expect_exit 2 '--data-dir' "$epiq" study table2
expect_exit 2 '--data-dir' "$epiq" study table2 --data-dir nowhere
mkdir empty
expect_exit 2 'empty/boston.csv' "$epiq" study timing --data-dir empty
expect_exit 2 '' "$epiq" study table1 --quick --json no/such
expect_exit 2 '' "$epiq" study table1 --quick --state no/such/state
rm -r empty
mkdir tables
printf 'a,medv\n1,2\n3,4\n5,7\n' >tables/boston.csv
expect_exit 2 'boston.csv' "$epiq" study timing --data-dir tables
expect_exit 2 '' "$epiq" study timing --data-dir tables --json tables/boston.csv
expect_exit 2 '' "$epiq" study timing --data-dir tables --state tables/boston.csv
rm -r tables

# ---- a damaged resume file is moved aside and said, and the next run starts anew ----
quick=("$epiq" study table3 --quick --engine infinite --reps 20)
expect_ok "${quick[@]}" --json whole.json --state kept --quiet
damage() { # damage HOW: a copy of the good file, then run
    cp kept hurt
    case $1 in
    text) echo 'not a database' >hurt ;;
    cut) truncate -s 5000 hurt ;;
    page) printf 'XXXXXXXXXXXXXXXX' | dd of=hurt bs=1 seek=4096 conv=notrunc 2>/dev/null ;;
    number) # a sample that is whole for SQLite and not what was written
        sqlite3 hurt 'UPDATE samples SET sample = zeroblob(length(sample)) WHERE (key, rep) = (SELECT key, rep FROM samples LIMIT 1)' ;;
    esac
    cp hurt before
    "${quick[@]}" --state hurt --quiet 2>"$err"
    check "$1: exit 2" test $? -eq 2
    expect_words "$1: said" "$err" '^epiq: .*hurt .*hurt\.damaged'
    check "$1: nothing is lost" cmp -s before hurt.damaged
    check "$1: moved" test ! -e hurt
    expect_ok "${quick[@]}" --state hurt --json anew.json --quiet
    check "$1: anew" same_cells whole.json anew.json
    rm -f hurt* before
}
for how in text cut page number; do
    damage $how
done
sqlite3 other 'CREATE TABLE t (a)'
expect_exit 2 'other' "${quick[@]}" --state other
cp kept other
sqlite3 other 'CREATE TRIGGER t AFTER INSERT ON samples BEGIN DELETE FROM samples; END'
expect_exit 2 'other' "${quick[@]}" --state other
expect_ok "${quick[@]}" --state :memory: --quiet
check 'a name that means more to SQLite is a file' test -s :memory:

# ---- a full disk ----
rm -f ./*
(ulimit -f 40 && "${quick[@]}" --reps 500 --quiet) 2>"$err"
check 'no room for the resume file: exit 2' test $? -eq 2
expect_words 'one sentence' "$err" '^epiq: epiq-study-table3\.state: '
expect_ok "${quick[@]}" --reps 500 --json rest.json --quiet
check 'what was written is not lost' says rest.json '"resumed": [1-9]'
check 'a full disk is said' bash -c "! '$epiq' study table3 --quick --engine infinite --reps 5 --json /dev/full --quiet 2>full.err"
check 'in one sentence' says full.err '^epiq: cannot write /dev/full: No space left'
finish
