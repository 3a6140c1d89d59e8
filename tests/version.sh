#!/usr/bin/env bash
# The version stands in include/epiq.h; everything else that names one names the same. Usage: tests/version.sh TREE BUILD
set -u
tree=$1 build=$2 failed=0 passed=0
version=$(sed -n 's/^#define EPIQ_VERSION "\(.*\)"$/\1/p' "$tree/include/epiq.h")
same() { # same 'where' 'what it says'
    if [ "$2" = "$version" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1 says \"$2\", include/epiq.h says \"$version\""
    fi
}
same 'epiq --version' "$("$build/epiq" --version | sed 's/^epiq //')"
same 'epiq.1' "$(sed -n 's/^\.TH EPIQ 1 [^ ]* "epiq \([^"]*\)".*/\1/p' "$build/share/epiq.1")"
same 'epiq.3' "$(sed -n 's/^\.TH EPIQ 3 [^ ]* "epiq \([^"]*\)".*/\1/p' "$build/share/epiq.3")"
same 'epiq.pc' "$(sed -n 's/^Version: //p' "$build/cmake/epiq.pc")"
same 'CMake' "$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")"
same 'the shared library' "$(basename "$(readlink -f "$build/libepiq.so")" | sed 's/^libepiq\.so\.//')"
same 'packaging/debian/changelog' "$(sed -n '1s/^epiq (\([^-]*\)-.*/\1/p' "$tree/packaging/debian/changelog")"
same 'pyproject.toml' "$(python3 - "$tree" <<'PY'
import re, sys, tomllib  # as scikit-build-core reads it
project = tomllib.load(open(sys.argv[1] + "/pyproject.toml", "rb"))
source = project["tool"]["scikit-build"]["metadata"]["version"]
print(re.search(source["regex"], open(sys.argv[1] + "/" + source["input"]).read())["value"])
PY
)"
released=$(sed -n 's/^## \([0-9][^ ]*\).*/\1/p' "$tree/CHANGELOG.md" | head -n 1)
grep -q '^## Unreleased' "$tree/CHANGELOG.md" || same 'CHANGELOG.md' "$released"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
