#!/usr/bin/env bash
# What works without data: help, version, the generated page of options, and near misses.
. "$(dirname "$0")/lib.inc"

expect_ok "$epiq" --version
check 'version' grep -Eqx 'epiq [0-9]+\.[0-9]+\.[0-9]+' "$out" # which one: tests/version.sh
expect_ok "$epiq" --help
verbs=$(sed -n 's/^  epiq \([a-z]*\)  .*/\1/p' "$out") # all of them, so that none is forgotten below
for source in "$here"/../../cli/cmd_*.c; do
    verb=${source##*/cmd_} verb=${verb%.c}
    [ "$verb" = options ] || check "help names $verb" grep -qx "$verb" <<<"$verbs"
done
check 'hidden verb' lacks "$out" 'epiq options'
check 'no line too wide' lacks "$out" '.{81}'
for verb in $verbs; do
    expect_ok "$epiq" "$verb" --help
    check "usage of $verb" says "$out" "^usage: epiq $verb"
    check 'no line too wide' lacks "$out" '.{81}'
    cp "$out" "$work/log/help"
    expect_ok "$epiq" help "$verb"
    check 'help VERB is VERB --help' cmp "$out" "$work/log/help"
done
expect_ok "$epiq" estimate nothing.csv --nonsense --help
for flag in at sweep json csv quiet report pictures picture-format target scale methods members engine lambda optimizer correction seed state; do
    check "estimate --help has --$flag" says "$out" "^  --$flag( |$)"
done
expect_ok "$epiq" demo --help
check 'demo brings its own columns' lacks "$out" '^  --target'
expect_ok "$epiq" options --markdown
check 'a row a flag' says "$out" '^\| `--members` \| `50` \| `N` \| '
if [ -e "$here/../../docs/options.md" ]; then
    check 'docs/options.md is what epiq options --markdown prints' cmp "$out" "$here/../../docs/options.md"
fi
expect_ok "$epiq" options --warnings
check 'a row a warning' says "$out" '^\| `jitter` \| run \| '
if [ -e "$here/../../docs/json.md" ]; then
    sed -n '/^| code | about |/,/^$/{/^$/!p}' "$here/../../docs/json.md" >"$work/log/warnings"
    check 'the table of docs/json.md is what epiq options --warnings prints' cmp "$out" "$work/log/warnings"
fi

expect_exit 1 '' "$epiq"
expect_exit 1 '' "$epiq" estmate
expect_exit 1 'epiq --help' "$epiq" xyzzy
expect_exit 1 'xyzzy' "$epiq" help xyzzy
for near in version --Version -V ver; do
    expect_exit 1 '--version' "$epiq" "$near"
done
expect_exit 1 'estimate\?' "$epiq" --estimate good.csv
expect_exit 1 '--help' "$epiq" --hlep
expect_exit 1 '--help' "$epiq" estimate --halp
expect_exit 1 'a verb comes first' "$epiq" --target y good.csv
expect_ok "$epiq" plan --help
cp "$out" "$work/log/help"
expect_ok "$epiq" --help plan
check '--help VERB is VERB --help' cmp "$out" "$work/log/help"
expect_ok "$epiq" --help
cp "$out" "$work/log/help"
for words in '--help --verbose' '-h --json' 'help --quiet' '--help --help'; do
    expect_ok "$epiq" $words
    check "$words is --help" cmp "$out" "$work/log/help"
done
expect_exit 2 '' sh -c 'exec "$0" --help >/dev/full' "$epiq"
expect_exit 2 '' sh -c 'exec "$0" --version >&-' "$epiq"
finish
