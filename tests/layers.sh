#!/usr/bin/env bash
# Includes point only down this list, and everything outside src/ sees epiq.h alone.
cd "$1" || exit 2
order=(base rng stats la data solve net kernel train engine est model decide)
failed=0 checked=0
complain() { echo "$1"; failed=$((failed + 1)); }
for i in "${!order[@]}"; do
    for file in src/"${order[i]}"/*.[ch]; do
        [ -e "$file" ] || continue
        checked=$((checked + 1))
        while IFS=/ read -r folder _; do
            for j in "${!order[@]}"; do
                if [ "${order[j]}" = "$folder" ] && [ "$j" -gt "$i" ]; then
                    complain "$file includes $folder/, which lies above it"
                fi
            done
        done < <(sed -n 's/^#include "\([a-z]*\/[^"]*\)".*/\1/p' "$file")
    done
done
for file in cli/*.[ch] report/*.[ch] study/*.[ch] mpi/*.[ch] examples/*.c bindings/*/*.[ch]; do
    [ -e "$file" ] || continue
    checked=$((checked + 1))
    if grep -nE '^#include "(\.\./)?(src/|base/|rng/|stats/|la/|data/|solve/|net/|kernel/|train/|engine/|est/|model/|decide/)' "$file"; then
        complain "$file reaches into src/"
    fi
done
# studies judge and writers write: neither knows who calls it, and a study prints nothing
for file in report/*.[ch] study/*.[ch]; do
    case $file in study/*) above='cli|report' ;; *) above='cli' ;; esac
    if grep -nE "^#include \"($above)/" "$file"; then
        complain "$file includes what lies above it"
    fi
done
for file in bindings/*/*.[ch]; do
    if grep -nE '^#include "(cli|study)/' "$file"; then
        complain "$file includes more than epiq.h and the writers"
    fi
done
for folder in src/*/; do
    case " ${order[*]} " in *" $(basename "$folder") "*) ;; *) complain "$folder has no place in the list" ;; esac
done
echo "$((checked - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 0 ]
