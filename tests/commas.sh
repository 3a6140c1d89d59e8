#!/usr/bin/env bash
# Cells are the same numbers where the locale has decimal commas: test_data in such a locale, made for it. Where none can be made
# it says SKIPPED and exits with 77. Usage: commas.sh TEST_DATA
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! localedef -i de_DE -f UTF-8 "$folder/de_DE.UTF-8" >/dev/null 2>&1; then
    echo "SKIPPED: decimal commas: localedef cannot make de_DE.UTF-8; Debian's package locales has what it needs"
    exit 77
fi
LOCPATH=$folder "$1" decimal_commas | tee "$folder/log"
! grep SKIPPED "$folder/log" >/dev/null
