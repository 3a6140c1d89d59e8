#!/usr/bin/env bash
# Tables as people have them are read as they are, with a note where that matters: the answer is that of the same table
# written plainly, new rows are read alike by every verb, and what cannot be read gets one sentence.
. "$(dirname "$0")/lib.inc"

quick=(--target y --engine infinite --lambda 1e-3)
# 60 rows: a number, its square modulo 17, one of three metals, yes or no, a price; index, code and date
awk 'BEGIN {
    split("steel brass copper", metal, " ")
    for (i = 0; i < 60; i++) {
        a = (i * 37 % 61) / 4; b = i * i % 17; k = i * i % 3 + 1; yes = i % 4 < 2; m = i * 1234 % 9876 + 100
        y = 3 * a + b / 2 + 4 * k + 2 * yes + m / 5000 + (i * 7919 % 101) / 50
        thousand = m >= 1000 ? sprintf("%d,%03d", int(m / 1000), m % 1000) : m
        printf "%s,%s,%s\n", a, b, y >"rows.csv.part"
        printf "%d,%s,%s,%s\n", i, a, b, y >"index.csv.part"
        printf "%s,%d,%s\n", a, yes, y >"numbers01.csv.part"
        printf "%s,%s,%s\n", a, yes ? "True" : "False", y >"truth.csv.part"
        printf "%s,%s,%s\n", a, metal[k], y >"metals.csv.part"
        printf "%s,B%04d,%s\n", a, i, y >"codes.csv.part"
        printf "%s,2024-02-%02d,%s\n", a, i % 28 + 1, y >"dates.csv.part"
        printf "%s,%02d/02/2024,%s\n", a, i % 28 + 1, y >"otherdates.csv.part"
        printf "%s,%s,%s\n", a, m, y >"plainprices.csv.part"
        printf "%s,\"$%s\",%s\n", a, thousand, y >"prices.csv.part"
        line = sprintf("%s;%s;%s", a, b, y); gsub(/[.]/, ",", line); print line >"commas.csv.part"
        printf "%s,%s,%s\n", i == 3 ? "?" : a, i == 5 ? -999 : b, y >"gaps.csv.part"
        printf "%s,%s,%s\n", i == 3 ? "" : a, i == 5 ? "" : b, y >"empty.csv.part"
        printf "%s,%s,%s\n", a, b, (y > 30) >"classes.csv.part"
        printf "%s,%s,%s\n", a, b, metal[k] >"names.csv.part"
        printf "%s,%s,%s\n", a, (k > 1 ? "K\366ln" : "Bonn"), y >"latin.csv.part"
    }
}'
with_header() { # with_header NAME HEADER
    printf "$2\n" | cat - "$1.csv.part" >"$1.csv"
    rm "$1.csv.part"
}
with_header rows a,b,y
with_header index ,a,b,y
sed 's/^,/Unnamed: 0,/' index.csv >unnamed.csv
sed 's/^,/id,/' index.csv >id.csv
with_header numbers01 a,b,y
with_header truth a,b,y
with_header metals a,b,y
with_header codes a,code,y
with_header dates a,day,y
with_header otherdates a,day,y
with_header plainprices a,b,y
with_header prices a,b,y
with_header commas 'a;b;y'
with_header gaps a,b,y
with_header empty a,b,y
with_header classes a,b,y
with_header names a,b,y
with_header latin 'a,m\351tal,y'

asked() { # asked NAME file-and-flags...: NAME.json
    expect_ok "$epiq" estimate "${@:2}" "${quick[@]}" --at mean --at row:7 --json "$1.json" --quiet
}
alike() { # alike NAME OTHER: the same numbers at the same points
    points "$1.json" >"$work/one"
    points "$2.json" >"$work/two"
    check "$1 is answered as $2" cmp "$work/one" "$work/two"
}
notes() { # notes NAME CODE: with that note, worded as pinned
    check "$1: $2" says "$1.json" "\"code\": \"$2\""
    grep "\"$2\"" "$1.json" | grep -o '"message": .*' >"$work/note"
    expect_words "$1: $2" "$work/note" .
}
quiet() { # quiet NAME: without any note of these
    check "no note of $1" lacks "$1.json" '"(index_column|counting_column|read_as_numbers|categories|latin1|two_values|extra_columns)"'
}
asked rows rows.csv
quiet rows

asked index index.csv && alike index rows && notes index index_column
asked unnamed unnamed.csv && alike unnamed rows && notes unnamed index_column
asked id id.csv && notes id counting_column
asked dropped id.csv --drop id && alike dropped rows && quiet dropped
asked numbers01 numbers01.csv
asked truth truth.csv && alike truth numbers01 && quiet truth
asked onehot metals.csv --onehot b && quiet onehot
asked metals metals.csv && alike metals onehot && notes metals categories
asked plainprices plainprices.csv
asked prices prices.csv && alike prices plainprices && notes prices read_as_numbers
asked commas commas.csv && alike commas rows && notes commas read_as_numbers
asked empty empty.csv --missing drop
asked gaps gaps.csv --missing drop --na '?,-999' && alike gaps empty
asked twice gaps.csv --missing drop --na '?' --na -999 && alike twice empty
asked latin latin.csv && notes latin latin1
check 'a name in UTF-8' says latin.json 'métal=Köln'
asked latindropped latin.csv --drop 'métal'
asked classes classes.csv && notes classes two_values
gzip -c rows.csv >rows.csv.gz
asked packed rows.csv.gz && alike packed rows && quiet packed
expect_ok sh -c '"$0" estimate - --target y --engine infinite --lambda 1e-3 --at mean --at row:7 --json piped.json --quiet <rows.csv.gz' "$epiq"
alike piped rows

expect_ok "$epiq" estimate dates.csv "${quick[@]}" --json dates.json
check 'dates are days' says dates.json 'was read as 197[56][0-9], days since'
rm dates.json

# refused, each with its remedy
bad() { # bad PATTERN file-and-flags...
    expect_exit 2 "$1" "$epiq" estimate "${@:2}" "${quick[@]}"
}
bad 'code.*--drop$' codes.csv
bad 'dates.*--drop' otherdates.csv
bad 'regression' names.csv
bad 'gaps.csv:5:1.*--na' gaps.csv
bad 'gaps.csv:5:1.*--missing' gaps.csv --na '?'
printf 'PAR1\25\4' >rows.parquet
bad 'Parquet' rows.parquet
printf '[{"a": 1, "y": 2}]' >rows.json
bad 'JSON' rows.json
head -c 100 rows.csv.gz >cut.csv.gz
bad 'cut off' cut.csv.gz
expect_exit 1 '--na' "$epiq" estimate rows.csv "${quick[@]}" --na ''
head -c 30000000 /dev/zero | tr '\0' 1 | gzip -9 >bomb.csv.gz
expect_exit 3 'bomb.csv.gz' "$epiq" estimate bomb.csv.gz "${quick[@]}" --mem-limit 10M

# new rows: read as the table was, other columns ignored with a note, by every verb
ignores() { # ignores VERB command...: a note about the columns
    expect_ok "${@:2}"
    cat "$out" "$err" >"$work/both"
    expect_words "$1 ignores columns" "$work/both" 'extra'
}
printf 'extra,b,a,y,more\nx,3,2.5,9,\nz,5,7,9,1\n' >new.csv
printf 'b,a\n3,2.5\n5,7\n' >same.csv
ignores estimate "$epiq" estimate rows.csv "${quick[@]}" --at new.csv
ignores explore "$epiq" explore rows.csv "${quick[@]}" --candidates new.csv
ignores compare "$epiq" compare rows.csv "${quick[@]}" --at new.csv --lambda 1e-3
ignores plan "$epiq" plan rows.csv "${quick[@]}" --at new.csv --price-row 1 --price-training 1 --goal 1
expect_ok "$epiq" fit rows.csv "${quick[@]}" -o rows.epiq --quiet
expect_ok "$epiq" predict rows.epiq same.csv -o same.out
check 'nothing to say' test ! -s "$err"
ignores predict "$epiq" predict rows.epiq new.csv -o new.out
check 'the same numbers' cmp same.out new.out
check 'a packed file' sh -c 'gzip <same.csv | "$0" predict rows.epiq - | cmp - same.out' "$epiq"
expect_ok "$epiq" fit id.csv "${quick[@]}" --drop id -o id.epiq --quiet
expect_ok "$epiq" predict id.epiq id.csv
check 'what was dropped is expected' test ! -s "$err"
expect_ok "$epiq" fit index.csv "${quick[@]}" -o index.epiq --quiet
expect_ok "$epiq" predict index.epiq index.csv
check 'so is an index' test ! -s "$err"

# a model remembers what was done at fit
expect_ok "$epiq" fit metals.csv "${quick[@]}" -o metals.epiq --quiet
printf 'b,a\nbrass,2.5\n' >brass.csv
printf 'b,a\ntin,2.5\n' >tin.csv
expect_ok "$epiq" predict metals.epiq brass.csv
expect_exit 2 'tin.*steel' "$epiq" predict metals.epiq tin.csv
expect_ok "$epiq" fit truth.csv "${quick[@]}" -o truth.epiq --quiet
printf 'b,a\nTRUE,2.5\n' >truth-new.csv
printf 'b,a\n1,2.5\n' >one-new.csv
check 'true is 1' sh -c '"$0" predict truth.epiq truth-new.csv >one; "$0" predict truth.epiq one-new.csv | cmp - one' "$epiq"
expect_ok "$epiq" fit prices.csv "${quick[@]}" -o prices.epiq --quiet
printf 'b,a\n"$1,200",2.5\n' >dollars.csv
printf 'b,a\n1200,2.5\n' >bare.csv
printf 'b,a\n12 %%,2.5\n' >percent.csv
check 'a dollar is a dollar' sh -c '"$0" predict prices.epiq dollars.csv >one; "$0" predict prices.epiq bare.csv | cmp - one' "$epiq"
expect_exit 2 'percent.csv:2:1' "$epiq" predict prices.epiq percent.csv
expect_exit 2 'dollars.csv:2:1' "$epiq" predict rows.epiq dollars.csv
expect_ok "$epiq" fit gaps.csv "${quick[@]}" --missing drop --na '?,-999' -o gaps.epiq --quiet
expect_exit 2 'missing' "$epiq" predict gaps.epiq gaps.csv
# a number that names what was measured several times; with --group nothing is left to say
awk 'BEGIN { print "patient,age,dose,y"
    for (i = 0; i < 90; i++) printf "%d,%.1f,%.2f,%.3f\n", 1001 + int(i / 6), 20 + (int(i / 6) * 7 % 15) * 2.5, i * 37 % 90 / 9, i * 53 % 90 / 7 }' >visits.csv
expect_ok "$epiq" estimate visits.csv "${quick[@]}"
check 'repeated measurements' says "$out" 'Warning: rows with the same patient have the same age too \(15 values in 90 rows\); .*--group patient'
expect_ok "$epiq" estimate visits.csv "${quick[@]}" --group patient
check 'not where they are grouped' lacks "$out" 'same patient'
# a target with one value: the same sentence by every verb, once
awk -F, -v OFS=, 'NR > 1 { $3 = 7 } 1' rows.csv >constant.csv
one='the target y has only one value, 7, so there is nothing to learn; choose another target, or add rows in which it differs'
small=(--target y --members 4 --width 16 --lambda 1e-3)
constant() { # constant VERB flags...
    expect_ok "$epiq" "$1" constant.csv "${@:2}"
    check "$1 says it once" test "$(cat "$out" "$err" | grep -ci "warning: $one\$")" -eq 1
}
constant estimate "${small[@]}"
check 'and no cause or least sure row' lacks "$out" 'typical|prediction interval|Least sure'
check 'and no advice' says "$out" '^Advice: None: the target has only one value'
constant fit "${small[@]}" -o constant.epiq
constant compare --target y --members 4 --width 16,32 --lambda 1e-3,1e-4
check 'nothing is said of the edge of the grid, or of skill' lacks "$out" 'smallest compared|no better than'
constant plan "${small[@]}" --at mean --price-row 1 --price-training 1 --budget 5
constant explore "${small[@]}" --candidates rows.csv
finish
