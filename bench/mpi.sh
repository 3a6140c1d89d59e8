#!/usr/bin/env bash
# The tables of docs/cluster.md: IF with its exact correction by threads and by ranks on the same cores, and the memory of a rank.
# Usage: bench/mpi.sh BUILD [ROWS...], with libepiq_mpi.so in BUILD (make mpi)
set -eu
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- 2000 4000 8000
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cores=$(nproc)

run() { # run RANKS|threads ROWS flags...: seconds, kernel + factor, the rest of IF, MB at most of a rank, MB foreseen
    local ranks=$1 rows=$2 launcher=()
    shift 2
    [ "$ranks" = threads ] || launcher=(mpirun --quiet -n "$ranks")
    "${launcher[@]}" "$build/epiq" estimate "$folder/$rows.csv" --target y --methods if --quiet --json "$folder/out.json" "$@"
    python3 - "$folder/out.json" "$ranks" "$rows" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
run, t = r["run"], r["timing"]
print("| %s | %s | %.2f | %.2f | %.2f | %.0f | %.0f |" % (sys.argv[3], sys.argv[2], run["seconds"], t["kernel"] + t["factor"],
      t["if"], run["peak_rss_bytes"] / 1e6, run["foreseen"]["bytes"] / 1e6))
PY
}

echo "| rows | ranks | s | kernel and factor | inverse and rest | MB a rank | foreseen |"
echo "|---|---|---|---|---|---|---|"
for rows in "$@"; do
    "$build/epiq" synth 1 --n "$rows" --d 9 --seed 3 >"$folder/$rows.csv"
    for ranks in threads 1 "$cores" $((2 * cores)); do
        case $ranks in threads) threads=$cores ;; *) threads=1 ;; esac
        run "$ranks" "$rows" --threads "$threads" ${FLAGS:-}
    done
done
