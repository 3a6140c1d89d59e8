#!/usr/bin/env bash
# Which kernels OpenBLAS uses: chosen anew where it does not know the processor, as if by tests/blas/unknown_processor.c; what is
# set from outside is respected, with a warning where it is far too slow.
. "$(dirname "$0")/lib.inc"

expect_ok "$epiq" --version --verbose
check 'the version comes first' test "$(head -n 1 "$out")" = "$("$epiq" --version)"
for line in '^BLAS: .*, [0-9]+ of [0-9]+ GFLOP/s' '^vectors: ' '^threads: [0-9]+$'; do
    check "a line $line" says "$out" "$line"
done
check 'nothing better is known' lacks "$out" '^better: '
if ! says "$out" '^BLAS: OpenBLAS .* with kernels for' || ! grep -qw fma /proc/cpuinfo || ! grep -qw avx2 /proc/cpuinfo; then
    echo "SKIPPED: the BLAS is not OpenBLAS, or the processor has no AVX2"
    finish
fi
better=Haswell
! grep -qw avx512vl /proc/cpuinfo || better=SkylakeX
"$epiq" synth 1 --n 60 --d 2 >rows.csv
quick=(--target y --at mean --engine infinite)
warned() { # warned FILE: how many warnings of this code the JSON has
    grep -c '"code": "slow_blas"' "$1"
}

# ---- set from outside ----
expect_ok env OPENBLAS_CORETYPE=Prescott "$epiq" --version --verbose
check 'respected' says "$out" 'with kernels for Prescott'
check 'what would be better' says "$out" "^better: OPENBLAS_CORETYPE=$better$"
expect_ok env OPENBLAS_CORETYPE=Prescott "$epiq" estimate rows.csv "${quick[@]}" --json slow.json
check 'one warning in the JSON' test "$(warned slow.json)" -eq 1
check 'it names the remedy' says slow.json "OPENBLAS_CORETYPE=$better"
sed -i "s/$better/TYPE/g" "$out"
expect_words 'kernels of Prescott, in the text' "$out" OPENBLAS_CORETYPE
for type in Haswell ''; do
    expect_ok env OPENBLAS_CORETYPE="$type" "$epiq" estimate rows.csv "${quick[@]}" --json set.json
    check "no warning with OPENBLAS_CORETYPE='$type'" test "$(warned set.json)" -eq 0
done
"$epiq" fit rows.csv --target y --engine infinite -o model --quiet
export OPENBLAS_CORETYPE=Prescott
expect_ok "$epiq" score model rows.csv --json score.json
check 'one warning of score' test "$(warned score.json)" -eq 1
for words in 'predict model rows.csv -o p.csv' 'kernel rows.csv --target y --ntk k.npy'; do
    # shellcheck disable=SC2086
    expect_ok "$epiq" $words
    check "one warning of ${words%% *}" test "$(grep -c "warning: OpenBLAS .*OPENBLAS_CORETYPE=$better" "$err")" -eq 1
    # shellcheck disable=SC2086
    expect_ok "$epiq" $words --quiet
    check 'none with --quiet' lacks "$err" OPENBLAS
done
expect_ok "$epiq" kernel rows.csv --target y --ntk k.npy --backend ref
check 'none without the BLAS' lacks "$err" OPENBLAS
unset OPENBLAS_CORETYPE
expect_ok env OPENBLAS_CORETYPE=Prescott "$epiq" estimate rows.csv "${quick[@]}" --backend ref --json ref.json
check 'no warning without the BLAS' test "$(warned ref.json)" -eq 0

# ---- a processor that OpenBLAS does not know ----
unknown=$(dirname "$epiq")/tests/unknown_processor.so
if [ ! -e "$unknown" ]; then
    echo "SKIPPED: $unknown is not there"
    finish
fi
on_unknown() { # on_unknown command...; leaves a line per start in $starts
    starts=$work/log/starts
    rm -f "$starts"
    env LD_PRELOAD="$unknown" EPIQ_TEST_STARTS="$starts" ASAN_OPTIONS=verify_asan_link_order=0 "$@" >"$out" 2>"$err"
    verdict "$([ $? -eq 0 ] || head -c 500 "$err")" "$@"
}
started() { # started TYPE...: the types with which it has started, in this order
    [ "$(tr '\n' ' ' <"$starts")" = "$* " ]
}
unset OPENBLAS_CORETYPE
on_unknown "$epiq" --version --verbose
check 'it starts anew, once' started unset "$better"
check 'with the kernels that suit' says "$out" "with kernels for $better"
on_unknown "$epiq" estimate rows.csv "${quick[@]}" --json mended.json
check 'an estimate too' started unset "$better"
check 'without a warning' test "$(warned mended.json)" -eq 0
"$epiq" estimate rows.csv "${quick[@]}" --json usual.json >/dev/null
points usual.json >usual.points
points mended.json >mended.points
if OPENBLAS_CORETYPE=$better "$epiq" estimate rows.csv "${quick[@]}" --json same.json >/dev/null && points same.json | cmp -s usual.points; then
    check 'with the same numbers' cmp usual.points mended.points
fi
on_unknown "$epiq" estimate - "${quick[@]}" --json read.json <rows.csv
check 'standard input is untouched when it starts anew' started unset "$better"
points read.json >read.points
check 'and all of it is read' cmp mended.points read.points
EPIQ_TEST_STUBBORN=1 on_unknown "$epiq" estimate rows.csv "${quick[@]}" --json stubborn.json
check 'where that does not help, it starts no third time' started unset "$better"
check 'and warns' test "$(warned stubborn.json)" -eq 1
for type in Prescott ''; do
    OPENBLAS_CORETYPE=$type on_unknown "$epiq" estimate rows.csv "${quick[@]}" --json told.json
    check 'what is set is respected' started "$type"
    check 'with a warning' test "$(warned told.json)" -eq 1
done
for words in --version --help 'synth 1 --n 3' 'estimate --help' 'help fit'; do
    # shellcheck disable=SC2086
    on_unknown "$epiq" $words
    check "once for $words" started unset
done
finish
