"""cases.py - small commands, all verbs among them, that take milliseconds each: what every.py makes fail."""
import random
import struct
import zipfile


class Case:
    """args: the command line; keeps: state files that may change even where it fails; stdin: a file it reads from there; old:
    outputs that are there before; says: the part of its JSON that a run taken up again must repeat; may_lack: a call it does
    without, and then says less."""

    def __init__(self, verb, args, inputs=(), keeps=(), stdin=None, old=(), says="points", may_lack=None):
        self.verb, self.args, self.inputs, self.keeps = verb, args.split(), inputs, keeps
        self.stdin, self.old, self.says, self.may_lack = stdin, old, says, may_lack


NETWORK = "--target y --width 4 --members 3 --batches 2 --lambda 0.1 --methods if,ev,ba --threads 1"
FILES = "--json j.json --csv c.csv --report p.html"
ROWS = ("rows.csv",)

CASES = [
    Case("estimate", f"estimate rows.csv {NETWORK} --at row:1 --at at.csv {FILES} --pictures pics --picture-format svg",
         ("rows.csv", "at.csv"), old=("j.json", "p.html")),
    Case("estimate", f"estimate rows.csv {NETWORK} --state kept --json j.json", ROWS, keeps=("kept",), old=("j.json",)),
    Case("estimate", f"estimate rows.csv {NETWORK} --state half --json -", ("rows.csv", "half"), keeps=("half",)),
    Case("estimate", f"estimate rows.csv {NETWORK} --engine linear --hbar ensemble --sweep 3 --json -", ROWS),
    Case("estimate", f"estimate - {NETWORK} --engine infinite {FILES}", stdin="rows.csv", old=("c.csv",)),
    Case("estimate", f"estimate rows.csv {NETWORK} --methods auto --kernel empirical --depth 2 --csv -", ROWS),
    Case("estimate", f"estimate words.csv {NETWORK} --engine linear --onehot w --group g --missing drop --scale minmax --json -",
         ("words.csv",)),
    Case("estimate", f"estimate rows.npz {NETWORK} --optimizer sgd --steps 5 --vary both --json -", ("rows.npz",)),
    Case("estimate", f"estimate rows.csv {NETWORK} --methods if --solver iterative --rank 4 --json -", ROWS),
    Case("estimate", f"estimate rows.csv {NETWORK} --engine infinite --solver divided --parts 2 --json -", ROWS),
    Case("fit", f"fit rows.csv {NETWORK} -o m.epiq", ROWS, old=("m.epiq",)),
    Case("fit", f"fit rows.csv {NETWORK} --engine infinite --methods if -o -", ROWS),
    Case("fit", f"fit rows.csv {NETWORK} --engine linear --methods ev,ba -o m.epiq", ROWS),
    Case("predict", "predict model.epiq at.csv --threads 1 -o c.csv", ("model.epiq", "at.csv"), old=("c.csv",)),
    Case("predict", "predict model.epiq - --threads 1 --exact", ("model.epiq",), stdin="at.csv"),
    Case("predict", "predict model.epiq at.npy --threads 1 --parts prediction,data", ("model.epiq", "at.npy")),
    Case("predict", "predict model.epiq at.csv --threads 1 --copy a --level 0.5", ("model.epiq", "at.csv")),
    Case("score", f"score model.epiq rows.csv --threads 1 --level 0.5 {FILES} --pictures pics --picture-format svg",
         ("model.epiq", "rows.csv"), old=("j.json", "p.html")),
    Case("combine", f"combine --ensemble e.csv --batched b.csv --y y.csv --gram g.npy --cross k.csv --until 0.1 --threads 1 {FILES}",
         ("e.csv", "b.csv", "y.csv", "g.npy", "k.csv"), old=("p.html",)),
    Case("combine", "combine --ensemble e.csv --append own --merge other --merge third --threads 1 --json j.json",
         ("e.csv", "other", "third"), keeps=("own", "other", "third"), old=("j.json",)),
    Case("combine", "combine --batched b.csv --append other --threads 1 --json -", ("b.csv", "other"), keeps=("other",)),
    Case("combine", "combine --y y.csv --jacobian d.csv --jacobian0 d0.csv --threads 1 --json -", ("y.csv", "d.csv", "d0.csv")),
    Case("combine", "combine --targets 4 --y y.csv --yhat h.csv --left-out l.csv --threads 1 -o t.csv", ("y.csv", "h.csv", "l.csv"),
         old=("t.csv",)),
    Case("combine", "combine --ensemble e.csv --y y.csv --yhat h.csv --left-out l.csv --retrained r.csv --targets-file v.csv --gram g.npy "
         "--cross k.csv --targets 4 --threads 1 --json -", ("e.csv", "y.csv", "h.csv", "l.csv", "r.csv", "v.csv", "g.npy", "k.csv")),
    Case("plan", f"plan rows.csv {NETWORK} --at mean --price-row 1 --price-training 1 --goal 1e-3 {FILES}", ROWS, old=("c.csv",)),
    Case("compare", "compare rows.csv --target y --width 3,4 --lambda 0.1,1 --bias 0,1 --members 2 --ensemble-size 2 --folds 2 "
         f"--threads 1 {FILES}", ROWS, old=("j.json",)),
    Case("explore", "explore rows.csv --target y --width 4 --members 3 --lambda 0.1 --candidates at.csv --batch 2 --threads 1 "
         f"{FILES} --pictures pics --picture-format svg", ("rows.csv", "at.csv")),
    Case("explore", f"explore --loop --steps 2 --seeds 2 --fresh 5 --start 4 --members 2 --lambda 0.1 --threads 1 {FILES}",
         old=("c.csv",)),
    Case("demo", "demo --engine infinite --methods if --threads 1 --sweep 2 --report p.html"),
    Case("synth", "synth 1 --n 4 --d 2"),
    Case("kernel", "kernel rows.csv --target y --ntk k.npy --nngp q.npy --threads 1", ROWS, old=("q.npy",)),
    Case("study", "study table1 --quick --n 200 --d 2 --engine linear --width 4 --members 2 --reps 3 --threads 1 --json j.json "
         "--report p.html", keeps=("epiq-study-table1.state",), old=("j.json",), says="cells",
         may_lack="fopen"),  # of /proc/cpuinfo: which machine it was
    Case("study", "study coverage --quick --n 200 --d 2 --engine infinite --reps 3 --threads 1 --state kept --json - --pictures pics "
         "--picture-format svg", keeps=("kept",), says="cells", may_lack="fopen"),
    Case("options", "options --markdown"),
    Case("help", "estimate --help"),
]

# with two workers the order of calls is not always the same; what is promised of each is
THREADED = [
    Case("estimate", "estimate rows.csv --target y --width 4 --members 4 --batches 2 --lambda 0.1 --threads 2 --state kept --json -",
         ROWS, keeps=("kept",)),
    Case("explore", "explore --loop --steps 1 --seeds 4 --fresh 5 --start 4 --members 2 --lambda 0.1 --threads 2 --json -"),
    Case("study", "study table1 --quick --n 200 --d 2 --engine infinite --reps 4 --threads 2 --json -",
         keeps=("epiq-study-table1.state",), says="cells", may_lack="fopen"),
]

# PNG files take a process each
DRAWN = [Case("estimate", f"estimate rows.csv {NETWORK} --engine infinite --methods if --sweep 0 --pictures pics", ROWS)]


def _lines(path, header, rows):
    with open(path, "w") as out:
        for row in ([header] if header else []) + rows:
            print(*row, sep=",", file=out)


def _npy(rows):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    flat = [v for row in rows for v in row]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat)}d", *flat)


def make_inputs(folder, run):
    """Everything the cases read; run(ARGS) is the command without faults, for what only it can make."""
    draw = random.Random(8).gauss
    x = [[draw(0, 1), draw(0, 1)] for _ in range(10)]
    y = [[a - b * b + draw(0, 0.1)] for a, b in x]
    at = [[draw(0, 1), draw(0, 1)] for _ in range(4)]
    _lines(f"{folder}/rows.csv", ["a", "b", "y"], [p + q for p, q in zip(x, y)])
    _lines(f"{folder}/at.csv", ["a", "b"], at)
    words = [[f"w{k % 3}", k // 2, p[0] if k else "", *q] for k, (p, q) in enumerate(zip(x, y))]
    _lines(f"{folder}/words.csv", ["w", "g", "a", "y"], words)
    with zipfile.ZipFile(f"{folder}/rows.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", _npy(x))
        archive.writestr("y.npy", _npy(y))
    open(f"{folder}/at.npy", "wb").write(_npy(at))
    _lines(f"{folder}/e.csv", ["p", "q"], [[draw(1, 1), draw(2, 1)] for _ in range(4)])
    _lines(f"{folder}/f.csv", ["p", "q"], [[draw(1, 1), draw(2, 1)] for _ in range(3)])
    _lines(f"{folder}/b.csv", ["p", "q"], [[draw(1, 1), draw(2, 1)] for _ in range(3)])
    _lines(f"{folder}/y.csv", None, y)
    jacobian = [[1.0, *p] for p in x]
    _lines(f"{folder}/d.csv", None, jacobian)
    _lines(f"{folder}/d0.csv", None, [[1.0, *p] for p in at[:2]])
    product = lambda p, q: [[sum(u * v for u, v in zip(r, s)) for s in q] for r in p]
    open(f"{folder}/g.npy", "wb").write(_npy(product(jacobian, jacobian)))
    _lines(f"{folder}/k.csv", ["p", "q"], product(jacobian, [[1.0, *p] for p in at[:2]]))
    run(f"fit rows.csv {NETWORK} -o model.epiq --quiet")
    run(f"estimate rows.csv {NETWORK} --members 2 --state half --quiet")
    run("combine --ensemble f.csv --append other --threads 1 --quiet")
    run("combine --batched b.csv --append third --threads 1 --quiet")
    _lines(f"{folder}/h.csv", None, [[q[0] / 2] for q in y])
    _lines(f"{folder}/l.csv", None, [[draw(0, 1) for _ in y] for _ in range(2)])
    _lines(f"{folder}/r.csv", ["p", "q"], [[draw(1, 1), draw(2, 1)] for _ in range(16)])
    run("combine --targets 4 --y y.csv --yhat h.csv --left-out l.csv --threads 1 -o v.csv --quiet")
