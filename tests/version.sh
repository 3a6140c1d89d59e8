#!/usr/bin/env bash
# The version stands in include/epiq.h; everything else that names one names the same. Usage: tests/version.sh TREE BUILD
set -u
tree=$1 build=$2 failed=0 passed=0
version=$(sed -n 's/^#define EPIQ_VERSION "\(.*\)"$/\1/p' "$tree/include/epiq.h")
same() { # same 'where' 'what it says' ['what it should say', the version]
    local wanted=${3:-$version}
    if [ "$2" = "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1 says \"$2\", which should be \"$wanted\""
    fi
}
# 0.2.0 is 200
same 'EPIQ_VERSION_NUMBER' "$(sed -n 's/^#define EPIQ_VERSION_NUMBER \([0-9]*\) .*/\1/p' "$tree/include/epiq.h" |
    awk '{print int($1 / 10000) "." int($1 / 100) % 100 "." $1 % 100}')"
same 'epiq --version' "$("$build/epiq" --version | sed 's/^epiq //')"
same 'epiq.1' "$(sed -n 's/^\.TH EPIQ 1 [^ ]* "epiq \([^"]*\)".*/\1/p' "$build/share/epiq.1")"
same 'epiq.3' "$(sed -n 's/^\.TH EPIQ 3 [^ ]* "epiq \([^"]*\)".*/\1/p' "$build/share/epiq.3")"
same 'epiq.pc' "$(sed -n 's/^Version: //p' "$build/config/epiq.pc")"
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
if ! grep -q '^## Unreleased' "$tree/CHANGELOG.md"; then # the tree of a release: its headers are kept for tests/abi/run
    same 'CHANGELOG.md' "$released"
    date=$(LC_ALL=C date -u -d "$(sed -n 's/^ -- .*>  //p' "$tree/packaging/debian/changelog" | head -n 1)" +%Y-%m-%d)
    for page in epiq.1 epiq.3; do
        same "the date of $page" "$(sed -n 's/^\.TH EPIQ [13] \([^ ]*\) .*/\1/p' "$build/share/$page")" "$date"
    done
    for header in "$tree"/include/*.h; do
        name=$(basename "$header")
        same "tests/abi/$version/$name (cp include/*.h tests/abi/$version/)" \
            "$(sha256sum <"$tree/tests/abi/$version/$name")" "$(sha256sum <"$header")"
    done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
