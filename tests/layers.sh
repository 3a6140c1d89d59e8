#!/usr/bin/env bash
# Includes point only down this list, and everything outside src/ sees include/ and common/ alone.
cd "$1" || exit 2
order=(base rng stats la data net kernel solve train engine store est run given model decide)
failed=0 checked=0
complain() { echo "$1"; failed=$((failed + 1)); }
for i in "${!order[@]}"; do
    for file in src/"${order[i]}"/*.[ch]; do
        [ -e "$file" ] || continue
        checked=$((checked + 1))
        while IFS=/ read -r folder _; do
            case " common ${order[*]} " in *" $folder "*) ;; *) complain "$file includes $folder/, which is not the library's" ;; esac
            for j in "${!order[@]}"; do
                if [ "${order[j]}" = "$folder" ] && [ "$j" -gt "$i" ]; then
                    complain "$file includes $folder/, which lies above it"
                fi
            done
        done < <(sed -n 's/^#include "\([a-z]*\/[^"]*\)".*/\1/p' "$file")
    done
done
# common/ lies below everything and includes nothing but itself
for file in common/*.[ch]; do
    checked=$((checked + 1))
    if grep -nE '^#include "' "$file" | grep -v '"common/'; then
        complain "$file includes more than common/"
    fi
done
for file in cli/*.[ch] report/*.[ch] chart/*.[ch] study/*.[ch] mpi/*.[ch] cuda/*.h cuda/*.cu examples/*.c bindings/*/*.[ch]; do
    [ -e "$file" ] || continue
    checked=$((checked + 1))
    if grep -nE '^#include "(\.\./)?(src/|base/|rng/|stats/|la/|data/|solve/|net/|kernel/|train/|engine/|est/|store/|run/|given/|model/|decide/)' "$file"; then
        complain "$file reaches into src/"
    fi
done
# studies judge, charts are drawn and writers write: none knows its caller, a study prints nothing and a chart knows no result
for file in report/*.[ch] chart/*.[ch] study/*.[ch]; do
    case $file in study/*) above='cli|report|chart' ;; chart/*) above='cli|report|study' ;; *) above='cli' ;; esac
    if grep -nE "^#include \"($above)/" "$file"; then
        complain "$file includes what lies above it"
    fi
done
if grep -nE '^#include "epiq' chart/*.[ch]; then
    complain "chart/ draws numbers, and knows no result"
fi
for file in bindings/*/*.[ch]; do
    if grep -nE '^#include "(cli|study)/' "$file"; then
        complain "$file includes more than include/ and the writers"
    fi
done
for folder in src/*/; do
    case " ${order[*]} " in *" $(basename "$folder") "*) ;; *) complain "$folder has no place in the list" ;; esac
done
echo "$((checked - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 0 ]
