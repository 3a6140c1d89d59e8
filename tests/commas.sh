#!/usr/bin/env bash
# Numbers are read and written alike where the locale has decimal commas: tests in such a locale, made for them. Where none can
# be made it says SKIPPED and exits with 77. Usage: commas.sh TEST...
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! localedef -i de_DE -f UTF-8 "$folder/de_DE.UTF-8" >/dev/null 2>&1; then
    echo "SKIPPED: decimal commas: localedef cannot make de_DE.UTF-8; Debian's package locales has what it needs"
    exit 77
fi
for test in "$@"; do
    LOCPATH=$folder "$test" decimal_commas | tee "$folder/log"
    if grep SKIPPED "$folder/log" >/dev/null; then
        exit 1
    fi
done
