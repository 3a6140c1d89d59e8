#!/usr/bin/env bash
# Whatever is wrong gets one clear sentence and the promised exit code, and nothing is written.
. "$(dirname "$0")/lib.inc"

quick=(--engine infinite --target y --lambda 1e-3 --at mean)
"$epiq" synth 1 --n 30 --d 2 --seed 3 >good.csv || exit 2
estimate() { # estimate CODE PATTERN file-or-flags...
    local code=$1 pattern=$2
    shift 2
    expect_exit "$code" "$pattern" "$epiq" estimate "$@" "${quick[@]}" --json result.json
}
contents() { # contents CODE PATTERN 'text of the file'
    printf "$3" >bad.csv
    estimate "$1" "$2" bad.csv
}

# files
estimate 2 'none\.csv' none.csv
mkdir folder
estimate 2 'folder' folder
contents 2 'bad\.csv' ''
contents 2 'bad\.csv' 'a,y\n'
contents 2 'bad\.csv' 'a,y\n1,2\n'
contents 2 'bad\.csv:3.*n/a' 'a,y\n1,2\nn/a,4\n5,7\n'
contents 2 'bad\.csv:3.*(nan|NaN)' 'a,y\n1,2\nNaN,4\n5,7\n'
contents 2 'bad\.csv:3.*inf' 'a,y\n1,2\ninf,4\n5,7\n'
contents 2 'bad\.csv:3' 'a,y\n1,2\n3\n5,7\n'
contents 2 'bad\.csv:3' 'a,y\n1,2\n3,4,5\n5,7\n'
contents 2 '"a"' 'a,a,y\n1,2,3\n4,5,6\n7,8,8\n'
contents 2 'bad\.csv.*quot' 'a,y\n1,2\n3,4\n"5,6'
contents 2 'bad\.csv' 'a,y\n1,2\n\000\001\002'
mkdir "$work/big"
{ printf 'a,y\n1,2\n'; head -c 100000000 /dev/zero | tr '\0' 1; printf ',3\n'; } >"$work/big/line.csv"
estimate 2 'line\.csv:3' "$work/big/line.csv"
rm -r "$work/big" bad.csv folder

# what only the file can show to be wrong
expect_exit 2 'nope' "$epiq" estimate good.csv --target nope
estimate 2 'nope' good.csv --features x1,nope
estimate 2 'nope' good.csv --drop nope
expect_exit 2 'batches' "$epiq" estimate good.csv --target y --methods if,ev,ba --batches 16
estimate 2 '999' good.csv --at row:999
printf 'x1,z\n1,2\n' >other.csv
estimate 2 'x2' good.csv --at other.csv
estimate 2 'none\.csv' good.csv --at none.csv

# flags that are wrong by themselves
estimate 1 'members' good.csv --members 1
estimate 1 'members' good.csv --members 2.5
estimate 1 'level' good.csv --level 1
estimate 1 'level' good.csv --level 0
estimate 1 'level' good.csv --level 95
expect_exit 1 '' "$epiq" estimate good.csv --target y --engine infinite --quiet
expect_exit 1 '' "$epiq" good.csv --target y
expect_exit 1 '' "$epiq" estimate good.csv -t y
expect_exit 1 '' "$epiq" estimate good.csv --top 3
estimate 1 'lambda' good.csv --lambda -1
estimate 1 'lambda' good.csv --lambda nan
estimate 1 'lambda' good.csv --lambda=
estimate 1 'engine' good.csv --engine magic
estimate 1 'methods' good.csv --methods if,xx
estimate 1 'row:0' good.csv --at row:0
estimate 1 'seed' good.csv --seed -1
expect_exit 1 'time' "$epiq" estimate good.csv --target y --time 1
estimate 1 '--members' good.csv --membres 3
estimate 1 '--repot.*--report' good.csv --repot page.html
estimate 1 '-x' good.csv -x
estimate 1 '\.html' good.csv --report page.PDF
estimate 1 '' good.csv good.csv
estimate 1 '--quiet' good.csv --quiet=yes
expect_exit 1 '--members' "$epiq" estimate good.csv --members
expect_exit 1 '--members' "$epiq" estimate good.csv --members --quiet
expect_exit 1 '' "$epiq" estimate
expect_exit 1 'target' "$epiq" estimate good.csv
expect_exit 1 '' "$epiq" dmeo
expect_exit 1 '--at' "$epiq" demo --at mean
expect_exit 1 '' "$epiq" estimate good.csv "${quick[@]}" --json - --csv -
expect_exit 1 'result' "$epiq" estimate good.csv "${quick[@]}" --json result --csv result
expect_exit 1 'set "4"' "$epiq" synth 4
expect_exit 1 '' "$epiq" synth --n 3
expect_exit 1 '--n is "0"' "$epiq" synth 1 --n 0
expect_exit 1 '--d is "x"' "$epiq" synth 1 --d x
expect_exit 1 '--seed' "$epiq" synth 1 --seed -1
expect_exit 1 '--ntk' "$epiq" kernel good.csv --target y
for flag in --members --width --methods --state --solver; do
    expect_exit 1 "$flag" "$epiq" kernel good.csv --target y --ntk k.npy $flag 2
done
expect_exit 3 '--mem-limit' "$epiq" kernel good.csv --target y --ntk k.npy --mem-limit 10

# outputs
for flag in --json --csv; do
    expect_exit 2 'missing/result' "$epiq" estimate good.csv "${quick[@]}" $flag missing/result
    expect_exit 2 'directory' "$epiq" estimate good.csv "${quick[@]}" $flag /
    expect_exit 2 '/dev/full: No space' "$epiq" estimate good.csv "${quick[@]}" $flag /dev/full
    expect_exit 2 '' "$epiq" estimate good.csv "${quick[@]}" $flag good.csv
    expect_exit 2 '' sh -c 'exec "$0" "$@" >/dev/full' "$epiq" estimate good.csv "${quick[@]}" $flag -
done
printf 'x1,x2\n0.1,0.1\n' >points.csv
expect_exit 2 '' "$epiq" estimate good.csv "${quick[@]}" --at points.csv --json ./points.csv
expect_exit 2 '' "$epiq" estimate good.csv "${quick[@]}" --state kept --json "$PWD/kept"
expect_exit 1 'result' "$epiq" estimate good.csv "${quick[@]}" --json result --csv ./result
expect_exit 1 'k.npy' "$epiq" kernel good.csv --target y --ntk k.npy --nngp "$PWD/k.npy"
expect_exit 2 '' sh -c 'exec "$0" "$@" >/dev/full' "$epiq" estimate good.csv "${quick[@]}"
expect_exit 2 '' sh -c 'exec "$0" "$@" >&-' "$epiq" estimate good.csv "${quick[@]}"
expect_exit 2 '/dev/full' "$epiq" kernel good.csv --target y --ntk k.npy --nngp /dev/full
# what standard output or input is by another name
echo kept >log
check 'a log that is added to' sh -c '"$0" "$@" >>log' "$epiq" estimate good.csv --target y --engine infinite --quiet --json /dev/stdout
check 'keeps what it had' says log '^kept$'
check 'and has the rest' says log '^  "run": {$'
check 'a descriptor of its own' sh -c '"$0" "$@" 3>third' "$epiq" estimate good.csv --target y --engine infinite --quiet --json /dev/fd/3
check 'is written to' says third '^  "run": {$'
expect_exit 1 '' "$epiq" estimate good.csv "${quick[@]}" --json - --csv /dev/stdout
expect_exit 1 '' "$epiq" kernel good.csv --target y --ntk - --nngp /dev/fd/1
cp good.csv again.csv
expect_exit 2 'again.csv' sh -c 'exec "$0" "$@" <again.csv' "$epiq" estimate - "${quick[@]}" --json again.csv
check 'which is as it was' cmp good.csv again.csv
expect_exit 1 '--at' "$epiq" estimate - "${quick[@]}" --at -
# outputs that would lie one over the other
mkdir pictures
expect_exit 1 '--pictures' "$epiq" estimate good.csv "${quick[@]}" --pictures pictures --picture-format svg \
    --report pictures/decomposition.svg
ln -s later link
expect_exit 2 'later' "$epiq" estimate good.csv "${quick[@]}" --state link --json later
expect_exit 2 'kept-wal' "$epiq" estimate good.csv "${quick[@]}" --state kept --json kept-wal
expect_exit 1 '' "$epiq" study list --json list.json
expect_exit 1 '' "$epiq" study --quick
# labels that are neither UTF-8 nor Latin-1: cleaned, two could become one
printf 'a,c,y\n1,K\x81ln,1\n2,K\x8dln,2\n3,Bonn,3\n4,Bonn,4\n' >latin.csv
expect_exit 2 'latin.csv:2:2' "$epiq" estimate latin.csv --target y --onehot c
expect_exit 2 '"gr.n"' "$epiq" estimate good.csv --target "$(printf 'gr\xfcn')"
printf 'c,c=x,y\nx,1,2\ny,2,3\nx,3,4\ny,4,5\n' >twice.csv
expect_exit 2 '--onehot' "$epiq" estimate twice.csv --target y --onehot c
printf 'a;y\n1,5;2,5\n2,5;3.5\n3,7;4,9\n' >commas.csv
expect_exit 2 'commas.csv:3:2' "$epiq" estimate commas.csv --target y
# an unwritable output is noticed before the work: this would take minutes
expect_exit 2 'missing/result' timeout 5 "$epiq" estimate good.csv --target y --members 100000 --json missing/result

# a caveat is a warning, and the exit code is 0
expect_ok "$epiq" estimate good.csv "${quick[@]}" --bias 0 --json result.json
check 'zero_by_construction' says result.json '"code": "zero_by_construction"'
check 'no NaN' is_json result.json
finish
