#!/usr/bin/env python3
"""What gcov counted of src/ and common/ in a build folder, as a table; exits 1 below the per cent of lines and of branches asked for.

A line counts when gcc has code for it, a branch is an edge of gcc's flow graph without optimisation: `if (a && b)` has four.
Two rules of our own:
- Code that is compiled several times (a header's loops for each set of vector instructions, an inline function in every file
  that includes it) is one piece of text and counts once, reached if any of its copies was.
- A `#pragma omp` has no branches: its edges share the work out among threads, and are the compiler's.
Usage: tools/coverage.py BUILD-coverage LINES BRANCHES
"""
import collections
import itertools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTED = {ROOT / "src", ROOT / "common"}


def counted(build):
    """{file: {line: (times, [times of each branch])}}"""
    files = collections.defaultdict(dict)
    notes = sorted(str(p) for p in (build / "CMakeFiles/objects.dir").rglob("*.gcno"))
    told = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes], cwd=build, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if told.returncode:
        sys.exit(f"gcov failed: {told.stderr.strip()[-500:]}")
    for unit in map(json.loads, told.stdout.splitlines()):
        for source in unit["files"]:
            path = (pathlib.Path(unit["current_working_directory"]) / source["file"]).resolve()
            if not COUNTED.intersection(path.parents):
                continue
            lines = files[path]
            for line in source["lines"]:
                times, branches = lines.get(line["line_number"], (0, []))
                again = [b["count"] for b in line["branches"]]
                lines[line["line_number"]] = (max(times, line["count"]),
                                              [max(p) for p in itertools.zip_longest(branches, again, fillvalue=0)])
    for path, lines in files.items():
        text = path.read_text().splitlines()
        for number, (times, branches) in lines.items():
            if "#pragma omp" in text[number - 1]:
                lines[number] = (times, [])
    return files


def share(reached, all_of_them):
    return 100 * reached / all_of_them if all_of_them else 100.0


def main():
    build, floors = pathlib.Path(sys.argv[1]).resolve(), [float(v) for v in sys.argv[2:4]]
    files, missed, total = counted(build), [], [0, 0, 0, 0]
    print("  lines     of      %   branches     of      %")
    for path in sorted(files):
        text, one = path.read_text().splitlines(), [0, 0, 0, 0]
        for number, (times, branches) in sorted(files[path].items()):
            taken = sum(b > 0 for b in branches)
            one = [a + b for a, b in zip(one, (times > 0, 1, taken, len(branches)))]
            if not times or taken < len(branches):
                what = "never" if not times else f"{taken} of {len(branches)}"
                missed.append(f"{path.relative_to(ROOT)}:{number}: {what}: {text[number - 1].strip()}\n")
        total = [a + b for a, b in zip(total, one)]
        print(f"{one[0]:7} {one[1]:6} {share(*one[:2]):6.1f} {one[2]:10} {one[3]:6} {share(*one[2:]):6.1f}  {path.relative_to(ROOT)}")
    (build / "missed.txt").write_text("".join(missed))
    shares = share(*total[:2]), share(*total[2:])
    print(f"{total[0]:7} {total[1]:6} {shares[0]:6.2f} {total[2]:10} {total[3]:6} {shares[1]:6.2f}  src")
    for name, got, floor in zip(("lines", "branches"), shares, floors):
        if not got >= floor:
            print(f"coverage: {got:.2f} % of {name} is below {floor:g} %; see {build.name}/missed.txt")
    sys.exit(not (total[1] and all(got >= floor for got, floor in zip(shares, floors))))


main()
