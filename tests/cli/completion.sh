#!/usr/bin/env bash
# Words of an epiq command completed in bash, as the shell does it; and that the man page is whole.
. "$(dirname "$0")/lib.inc"

expect_ok "$epiq" options --completion bash
cp "$out" "$work/log/epiq.bash"
. "$work/log/epiq.bash"
touch rows.csv rows.state 'a b.csv'
mkdir folder

complete_words() { # complete_words WORD...: what bash offers for the last one, in one line
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _epiq
    echo "${COMPREPLY[*]}"
}
offers() { # offers 'words in order' WORD...
    local got
    got=$(complete_words "${@:2}")
    verdict "$([ "$got" = "$1" ] || echo "offered: $got; wanted: $1")" "${@:2}"
}
offers 'estimate explore' epiq e
offers 'estimate' epiq help est
COMP_WORDS=(epiq estimate --m) COMP_CWORD=2
_epiq
check 'every flag with --m' test "$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')" = '--mem-limit --members --methods --missing '
offers 'network linear infinite' epiq estimate rows.csv --engine ''
offers 'infinite' epiq estimate --engine = inf
offers 'network linear infinite' epiq estimate --engine =
offers 'rows.csv rows.state' epiq estimate row
offers 'rows.state' epiq estimate rows.csv --state rows.s
offers 'mean' epiq estimate rows.csv --at m
offers 'rows.csv' epiq estimate rows.csv --at rows.c
offers 'folder' epiq estimate rows.csv --pictures ''
offers '' epiq estimate rows.csv --members ''
offers 'rows.state' epiq fit rows.csv -o rows.s
offers 'coverage' epiq study cov
offers '1 2 3' epiq synth ''
offers '' epiq demo row
offers '--quick --quiet' epiq study list --qui
offers 'a b.csv' epiq estimate a
for verb in $(complete_words epiq '' | tr ' ' '\n' | grep -v '^-\|^help$'); do
    "$epiq" "$verb" --help | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p' | sort >"$work/log/help"
    complete_words epiq "$verb" -- | tr ' ' '\n' | grep -v '^--help$' | sort >"$work/log/offered"
    check "$verb: the flags of --help" cmp "$work/log/help" "$work/log/offered"
done

expect_exit 1 '' "$epiq" options --completion tcsh
expect_ok "$epiq" options --man
for part in NAME SYNOPSIS DESCRIPTION OPTIONS VERBS '"EXIT STATUS"' FILES ENVIRONMENT EXAMPLES; do
    check "the man page has $part" says "$out" "^\\.SH $part\$"
done
check 'a flag with its default' says "$out" 'networks trained on all rows, for EV \(default: 50\)'
check 'no request by mistake' lacks "$out" "^'"
if command -v groff >/dev/null; then
    check 'groff has nothing to say' test -z "$(groff -man -Tutf8 -ww -z "$out" 2>&1)"
fi
finish
