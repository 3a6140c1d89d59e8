#!/usr/bin/env python3
"""What a program compiled against include/ relies on - offsets, values, prototypes, versioned symbols, the soname - as one text, held
against tests/golden/abi.txt. Structs may grow at their ends; only those that are inside others may not, so their sizes count too.
Usage: abi.py TREE LIBRARY [--write]; CC names the compiler."""
import glob
import os
import re
import subprocess
import sys
import tempfile

tree, library = sys.argv[1:3]
golden = os.path.join(tree, "tests/golden/abi.txt")
headers = sorted(glob.glob(os.path.join(tree, "include/*.h")))
cc = os.environ.get("CC", "cc")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def all_headers(folder):
    path = os.path.join(folder, "all.c")
    with open(path, "w") as out:
        out.writelines(f'#include "{os.path.abspath(h)}"\n' for h in headers)
    return path


def debug_entries():
    """The compiler's own account of the header's types: {offset: entry}, each with tag, level, attributes and children."""
    with tempfile.TemporaryDirectory() as folder:
        object_file = os.path.join(folder, "abi.o")
        run(cc, "-std=c17", "-gdwarf-4", "-fno-eliminate-unused-debug-types", "-c", all_headers(folder), "-o", object_file)
        text = run("readelf", "-W", "--debug-dump=info", object_file)
    entries, stack = {}, []
    for line in text.splitlines():
        start = re.match(r" *<([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)", line)
        attribute = re.match(r" *<[0-9a-f]+> +DW_AT_(\w+) *: *(?:\(.*?\): |\(\w+\) )?(.*?) *$", line)
        if start:
            level, offset = int(start[1], 16), int(start[2], 16)
            entry = {"tag": start[3][7:], "children": []}
            del stack[level:]
            if stack:
                stack[-1]["children"].append(entry)
            stack.append(entry)
            entries[offset] = entry
        elif attribute and stack:
            stack[-1][attribute[1]] = attribute[2]
    return entries


def type_of(entries, entry):
    return entries.get(int(re.match(r"<(0x[0-9a-f]+)>", entry["type"])[1], 16)) if "type" in entry else None


def spelled(entries, t):
    """A type as C would write it, as far as it tells one from another."""
    if t is None:
        return "void"
    inner = type_of(entries, t)
    if t["tag"] == "pointer_type":
        return spelled(entries, inner) + " *"
    if t["tag"] == "const_type":
        return "const " + spelled(entries, inner)
    if t["tag"] == "array_type":
        bounds = "".join(f"[{int(c['upper_bound'], 0) + 1}]" for c in t["children"] if "upper_bound" in c)
        return spelled(entries, inner) + bounds
    if t["tag"] == "subroutine_type":
        return f"{spelled(entries, inner)} ({', '.join(spelled(entries, type_of(entries, c)) for c in t['children'])})"
    return t.get("name", t["tag"].replace("_type", ""))


def members(entries, t, prefix="", base=0):
    for c in t["children"]:
        if c["tag"] == "member":
            inner, at = type_of(entries, c), base + int(c.get("data_member_location", "0"), 0)
            name = prefix + c.get("name", "")
            if inner["tag"] in ("structure_type", "union_type") and "name" not in inner:
                yield from members(entries, inner, name + "." if name else "", at)
            else:
                yield at, spelled(entries, inner), name


def layout():
    entries, lines = debug_entries(), []
    inside = {kind for t in entries.values() if t["tag"] == "structure_type" for _, kind, _ in members(entries, t)}
    for e in entries.values():
        if e["tag"] != "typedef" or not e.get("name", "").startswith("epiq_"):
            continue
        t = type_of(entries, e)
        if t["tag"] == "structure_type" and "byte_size" in t:
            fields = list(members(entries, t))
            if fields and fields[0][2] == "size":  # the next member must not fall into padding, which older programs have too
                last, size = fields[-1], int(t["byte_size"], 0)
                assert last[0] + (4 if last[1] == "int" else 8) == size, f"{e['name']} ends in padding: put its last int before"
            if e["name"] in inside:
                lines.append(f"struct {e['name']}: {int(t['byte_size'], 0)} bytes")
            lines += [f"struct {e['name']}: {at} {kind} {name}" for at, kind, name in members(entries, t)]
        elif t["tag"] == "enumeration_type":
            lines += [f"enum {e['name']}: {c['name']} = {c['const_value']}" for c in t["children"] if c["tag"] == "enumerator"]
    return sorted(lines, key=lambda line: line.split(":")[0])


def prototypes():
    with tempfile.TemporaryDirectory() as folder:
        text = re.sub(r"\s+", " ", run(cc, "-E", "-P", all_headers(folder)))
    found = re.findall(r'__attribute__\(\(visibility\("default"\)\)\) ([^;]*);', text)
    return sorted(f"function {p}" for p in found)


def symbols():
    """As the library exports them: name@@version."""
    text = run("readelf", "-W", "--dyn-syms", library)
    return sorted("symbol " + name for name in re.findall(r" (epiq_\w+@@\S+)", text))


soname = re.search(r"soname: \[(.*?)\]", run("readelf", "-dW", library))[1]
now = [f"soname {soname}", *layout(), *prototypes(), *symbols()]
if "--write" in sys.argv:
    with open(golden, "w") as out:
        out.write("\n".join(now) + "\n")
before = open(golden).read().splitlines()
gone = [line for line in before if line not in now]
more = [line for line in now if line not in before]
for line in gone:
    print("-", line)
for line in more:
    print("+", line)
if gone and before[0] in now:
    print("FAILED: programs compiled before would break. Undo it, or, where a release has this soname, raise SOVERSION in "
          "CMakeLists.txt and libepiq1 in packaging/debian; then: tests/abi.py . build/libepiq.so --write")
elif gone or more:
    print("FAILED: tests/golden/abi.txt is not up to date: tests/abi.py . build/libepiq.so --write")
enough = len(now) > 100  # should the compiler's account not be understood, nothing would be compared
print(f"{len(now) - len(more)} passed, {len(gone) + len(more) + (not enough)} failed")
sys.exit(bool(gone or more or not enough))
