#!/usr/bin/env python3
"""Make the seeds of tests/fuzz/corpus: small files of every kind that the readers know, with nothing but Python's library
and the command. What libFuzzer has found since lies beside them under names made of checksums.
Usage: tests/fuzz/make_corpus.py build/epiq"""
import gzip, io, pathlib, sqlite3, struct, subprocess, sys, tempfile, zipfile

corpus = pathlib.Path(__file__).parent / "corpus"
epiq = pathlib.Path(sys.argv[1]).resolve()


def put(kind, name, data):
    (corpus / kind).mkdir(parents=True, exist_ok=True)
    (corpus / kind / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def npy(descr, shape, data, fortran=False, version=1):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    lengths = {1: "<H", 2: "<I", 3: "<I"}
    head = 8 + struct.calcsize(lengths[version])
    text = text.ljust(-(-(head + len(text) + 1) // 16) * 16 - head - 1) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(lengths[version], len(text)) + text.encode() + data


def doubles(*v, order="<"):
    return struct.pack(order + "%dd" % len(v), *v)


def npz(arrays, packed):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as z:
        for name, data in arrays.items():
            z.writestr(zipfile.ZipInfo(name + ".npy"), data, zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED)
    return out.getvalue()


# tables
put("csv", "plain", "x1,x2,y\n1,2,3\n4,5,6\n7,8,10\n")
put("csv", "kinds", "id,x1,col,gr,y\n1,0.5,red,a,1\n2,1e3,blue,a,2\n3,-2,red,b,4\n4,7,green,b,8\n")
put("csv", "quoted", 'x1;"y"\r\n"1";2\r\n " 3" ; 4\r\n"5";6\r\n\r\n')
put("csv", "quotes", 'x1,col,y\n1,"a ""b"" c",2\n2,"d\ne",3\n3,"d\ne",5\n')
put("csv", "tabs", "x1\tx2\ty\n1\t2\t3\n4\t\t6\n7\tNA\t9\n8\t1\t2\n3\t3\t3")
put("csv", "missing", "x1,y\n1,2\nnan,3\n,4\n5,inf\n6,7\n8,9\n")
put("csv", "bom", "\ufeffx1,caf\u00e9,y\r1,2,3\r4,5,6\r")
put("csv", "numbers", "x1,y\n123456789012345678901234567890,1e-320\n1e308,-1e308\n+.5e-7,5.\n0x10,1\n")
put("csv", "index", ",x1,y\n0,5,1\n1,7,2\n2,6,4\n")
put("csv", "unnamed", "Unnamed: 0,x1,y\n4,5,1\n1,7,2\n2,6,4\n")
put("csv", "truth", "x1,x2,y\nTrue,no,1\nFalse,NO,2\nTRUE,Yes,4\n")
put("csv", "categories", "x1,k,y\n" + "".join(f"{i},{'uvw'[i * i % 3]},{i % 5}\n" for i in range(15)))
put("csv", "marks", 'x1,x2,y\n"$1,154",77 %,1\n-$5,3%,2\n$0.25,"1,000 %",4\n')
put("csv", "commas", "x1;x2;y\n1,5;2,5;3\n2;1.154,25;4\n-3,7;4,9e-1;5\n")
put("csv", "latin1", "x1,temp\u00e9rature,y\n1,2,3\n4,5,6\n".encode("latin-1"))
put("csv", "dates", "x1,day,y\n1,2024-01-05,3\n4,2024-01-06,6\n5,2024-02-06,7\n")
put("csv", "json", '[{"x1": 1, "y": 2}]')
put("csv", "gzip", gzip.compress(b"x1,x2,y\n1,2,3\n4,5,6\n7,8,10\n", mtime=0))
put("csv", "gzip-two", gzip.compress(b"x1,y\n1,2\n", mtime=0) + gzip.compress(b"3,4\n5,7\n", mtime=0))
put("npy", "f8", npy("<f8", (3, 2), doubles(1, 2, 3, 4, 5, 7)))
put("npy", "f8-fortran", npy("<f8", (3, 2), doubles(1, 2, 3, 4, 5, 7), fortran=True, version=2))
put("npy", "f4-big", npy(">f4", (2, 3), struct.pack(">6f", 1, 2, 3, 4, 5, 7), version=3))
put("npy", "f2", npy("<f2", (2, 2), struct.pack("<4e", 1, 2, 3, 0.5)))
put("npy", "i1", npy("|i1", (4, 2), bytes([1, 2, 255, 4, 5, 6, 7, 8])))
put("npy", "b1", npy("|b1", (3, 2), bytes([1, 0, 0, 1, 1, 1])))
put("npy", "u8", npy("<u8", (2, 2), struct.pack("<4Q", 1, 2, 3, 2**64 - 1)))
put("npy", "missing", npy("<f8", (4, 2), doubles(1, 2, float("nan"), 4, 5, 7, 1, 1)))
put("npy", "flat", npy("<f8", (4,), doubles(1, 2, 3, 4)))
x, y = npy("<f8", (3, 2), doubles(1, 2, 3, 4, 5, 7)), npy("<i2", (3,), struct.pack("<3h", 1, 2, 4))
put("npz", "stored", npz({"x": x, "y": y}, False))
put("npz", "deflated", npz({"x": x, "y": y}, True))
put("npz", "groups", npz({"x1": y, "gr": npy("|u1", (3,), b"\1\1\2"), "col": y, "y": y}, True))
put("npz", "empty", npz({}, False))
put("matrix", "bare", "1,2\n3,4\n5,6\n")
put("matrix", "named", "a,b\n1,2e5\n-3,4\n")
put("matrix", "f4", npy("<f4", (2, 3), struct.pack("<6f", 1, 2, 3, 4, 5, 7)))
put("matrix", "f8", npy("<f8", (3,), doubles(1, 2, 3)))
put("matrix", "i4-fortran", npy(">i4", (2, 2), struct.pack(">4i", 1, 2, 3, -4), fortran=True))

# command lines, an argument a line
for name, line in {
    "estimate": "estimate rows.csv --target y --at mean --at row:3 --members 10 --json - --level=0.9 --quiet",
    "lists": "estimate rows.csv --drop a --drop=b,\"c,d\" --features x --onehot z --methods if,ev --seed 7 --mem-limit 2G",
    "choices": "fit rows.csv --engine linear --scale minmax --missing drop --backend ref -o y.epiq --lambda 1e-4 --bias 0",
    "combine": "combine --ensemble e.csv --batched b.npy --append s --merge t --merge u --until 0.5 --y y.csv --gram -",
    "study": "study --repeats 20 --threads 2 -- -x",
    "synth": "synth 1 --n 60 --d 3 --seed 2",
    "plan": "plan rows.csv --target y --price-row 1 --price-training 2.5 --goal 0.1",
    "wrong": "estimte --membrs=3 --level 2 -q it's --seed -1",
}.items():
    put("options", name, "\n".join(line.split()))

# bytes that fuzz_estimate makes questions of: engines and methods in turn, then rows
for engine in range(3):
    for methods in (0, 1, 3, 6, 7):
        head = bytes([engine, methods, engine, 0, 0, 0, 1, 0, 14, 1, 1, 30, 3, 0, 4, engine, 1, 1])
        put("estimate", "%d-%d" % (engine, methods), head + bytes((37 * k * k + 11 * methods) % 200 for k in range(40)))

# state files, with small pages; a key is put right by the mutator
MEMBERS = """CREATE TABLE members (key TEXT, kind INTEGER, number INTEGER, of INTEGER, converged INTEGER, loss REAL, gradient_rel REAL, iterations INTEGER, points BLOB, rows BLOB, PRIMARY KEY (key, kind, number, of)) WITHOUT ROWID"""
NETWORKS = """CREATE TABLE networks (kind INTEGER, sum TEXT, copy INTEGER, at BLOB, PRIMARY KEY (kind, sum, copy)) WITHOUT ROWID"""
POINTS = """CREATE TABLE points (id INTEGER PRIMARY KEY CHECK (id = 0), count INTEGER, names BLOB, sum TEXT)"""


def state(name, *statements):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "state"
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA page_size = 512")
        db.execute("PRAGMA application_id = %d" % 0x65706971)
        for statement, *values in statements:
            db.execute(statement, *values)
        db.close()
        put("state", name, path.read_bytes())


four = doubles(1, 2, 3, 4)
state("empty-members", (MEMBERS,))
state("members", (MEMBERS,), *[("INSERT INTO members VALUES (?,?,?,?,1,0.5,1e-9,12,?,?)",
      ("k" * 64, kind, i, of, doubles(0.5 + i), rows)) for kind, count, of, rows in ((3, 3, 0, four), (4, 2, 2, b"")) for i in range(count)])
state("networks", (NETWORKS,), (POINTS,), ("INSERT INTO points VALUES (0, 2, ?, NULL)", (b"a\0b\0",)),
      *[("INSERT INTO networks VALUES (?,?,0,?)", (k, str(i) * 64, doubles(i, 1))) for k in (0, 1) for i in range(2)])
state("unnamed", (NETWORKS,), (POINTS,), ("INSERT INTO points VALUES (0, 2, NULL, ?)", ("0" * 64,)),
      ("INSERT INTO networks VALUES (0,'s',0,?)", (doubles(3, 1),)))
put("state", "nothing", b"")

# models
with tempfile.TemporaryDirectory() as folder:
    rows = pathlib.Path(folder) / "rows.csv"
    rows.write_text("x1,col,y\n1,a,1\n2,b,3\n4,a,2\n3,b,5\n")
    units = pathlib.Path(folder) / "units.csv"  # a feature with a unit, and texts that mean a missing cell
    units.write_text("x1,col,y\n1 %,a,1\n2 %,b,3\n?,a,2\n3 %,b,5\n")
    ten = pathlib.Path(folder) / "ten.csv"  # the fewest that are retrained without some
    ten.write_text("x1,col,y\n" + "".join(f"{k},a,{k * 7 % 5}\n" for k in range(10)))
    for name, flags in {
        "network": "--methods ev --members 2",
        "all": "--methods if,ev,ba --members 2 --batches 2 --onehot col",
        "linear": "--methods ev --members 2 --engine linear --backend ref",
        "own": "--methods ev --members 2 --engine linear --linear-kernel own",
        "infinite": "--methods if,ev --engine infinite --correction none",
        "influence": "--methods if --correction unbiased",
        "units": "--methods ev --members 2 --missing drop --na ?",
        "retrained": "--methods if,ev --members 2 --replicates 4",
    }.items():
        path = pathlib.Path(folder) / name
        drop = "" if "onehot" in flags else "--drop col"
        subprocess.run([epiq, "fit", {"retrained": ten, "units": units}.get(name, rows), "--target", "y", "--width", "2", "--quiet", "-o", path, *flags.split(), *drop.split()], check=True)
        put("model", name, path.read_bytes())
