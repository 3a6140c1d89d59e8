#!/usr/bin/env bash
# Is what cmake/hardening.cmake asks for in the command and in the shared library? Usage: tests/hardening.sh EPIQ LIBRARY
set -u
export LC_ALL=C
passed=0 failed=0
check() { # check 'what' command...
    if "${@:2}" >/dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $file has no $1"
    fi
}
has() { # has 'extended pattern' <text
    grep -E -- "$1"
}
for file in "$1" "$2"; do
    check 'position-independent code' has 'Type: +DYN' < <(readelf -hW "$file")
    check 'relocations that become read-only' has 'GNU_RELRO' < <(readelf -lW "$file")
    check 'binding at the start' has 'BIND_NOW|FLAGS_1.*NOW' < <(readelf -dW "$file")
    check 'stack that cannot be executed' has 'GNU_STACK.* RW +0x' < <(readelf -lW "$file")
    check 'stack protector' has '__stack_chk_fail' < <(readelf --dyn-syms -W "$file")
    check 'fortified functions' has '__(v?s?n?printf|v?fprintf|memcpy|read)_chk' < <(readelf --dyn-syms -W "$file")
    if [ "$(uname -m)" = x86_64 ]; then
        code=$(mktemp)
        objdump -d --no-show-raw-insn "$file" >"$code"
        check 'landing places for indirect calls' has 'endbr64' <"$code"
        check 'probes of large stack frames' has 'or[ql] +\$0x0,\(%rsp\)' <"$code"
        rm "$code"
    fi
done
file=$1
check 'flag of a position-independent program' has 'FLAGS_1.*PIE' < <(readelf -dW "$file")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
