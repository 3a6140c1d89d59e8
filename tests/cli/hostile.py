"""Names and cells that would do harm if they were believed, through every verb and form of output. Nothing of them may become
markup, a formula, or an order to the terminal, and nothing of them may be lost where it can be kept.
Usage: hostile.py EPIQ FOLDER"""
import csv
import html.parser
import json
import math
import os
import pty
import re
import sqlite3
import struct
import subprocess
import sys
import xml.etree.ElementTree

EPIQ, FOLDER = sys.argv[1:3]
os.chdir(FOLDER)
LONG = "long " + 20000 * "name "  # 100 kB
NAMES = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onload='alert(1)", "</title></style><b>bold</b>",
    "]]><!--", "&lt;&amp;&#60;b&#62;", "javascript:alert(1)", "\x1b[31mred\x1b[2J\x1b[H", "\x1b]52;c;aGk=\x07",
    "\x1b]8;;http://example.org\x1b\\link", "\x1b]0;title\x07\x9c", "\x85\x9b31m", "\u202egnp.exe\u2066\u2069", "two\nlines\ttab",
    "=cmd|' /C calc'!A0", "+1+cmd", "@SUM(A1)", "-2+3", "%s%n%999999d", "$(id)`id`;|&", "é τ² 水 \U0001f600", "\u2028\u2029", "''\"\"\\",
]
LOUD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # what steers; in files tab and newline are text
passed = failed = 0


def check(what, good, found=""):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f"FAILED: {what} {ascii(found)[:600]}")


def quiet(where, data, allowed=""):
    """It is UTF-8 and steers nothing."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        check(f"{where}: UTF-8", False, str(error))
        return ""
    loud = [m for m in LOUD.findall(text) if m not in allowed]
    check(f"{where}: no character that steers", not loud, loud)
    return text


def run(*words, code=0, wants=None):
    done = subprocess.run([EPIQ, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    name = ascii(words)[:200]
    check(f"{name}: exit {code}", done.returncode == code, (done.returncode, done.stderr))
    quiet(f"{name}: standard output", done.stdout)
    said = quiet(f"{name}: standard error", done.stderr)
    check(f"{name}: standard error is sentences", all(line.startswith("epiq: ") for line in said.splitlines()), said)
    check(f"{name}: no sentence too long to read", all(len(line) < 2100 for line in said.splitlines()))
    if wants:
        check(f"{name}: says {wants}", re.search(wants, said), said)
    return done.stdout


def shown(text):
    """As pages and CSV keep it: what steers is replaced."""
    return LOUD.sub("\ufffd", text)


# ---- forms of output ----

class Page(html.parser.HTMLParser):
    ALLOWED = set("""html head meta title style body main p h1 h2 h3 b a figure figcaption details summary div table caption thead
        tbody tr th td ul ol li dl dt dd span em code small section header footer nav br
        svg g path line rect circle text tspan desc polyline polygon defs clippath use""".split())

    def __init__(self, text):
        super().__init__()
        self.bad, self.text, self.policy = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in self.ALLOWED:
            self.bad.append(tag)
        for key, value in attributes:
            value = value or ""
            if key.startswith("on") or key == "src" or (key in ("href", "xlink:href") and not value.startswith("#")) or "url(http" in value:
                self.bad.append((tag, key, value))
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attributes:
            self.policy = dict(attributes)["content"]

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        self.bad.append("a comment")


def judge_page(path, names):
    text = quiet(path, open(path, "rb").read())
    page = Page(text)
    check(f"{path}: elements and attributes are ours", not page.bad, page.bad)
    check(f"{path}: nothing may be fetched or run", "default-src 'none'" in page.policy and "script" not in page.policy, page.policy)
    check(f"{path}: nothing is fetched", not re.search(r"@import|url\(|<link|<base|<iframe", text))
    words = re.sub(r"\s+", " ", " ".join(page.text))
    for name in names:
        check(f"{path}: shows {ascii(name)[:60]}", re.sub(r"\s+", " ", shown(name)) in words)


def judge_pictures(folder):
    files = [f for f in os.listdir(folder) if f.endswith(".svg")]
    check(f"{folder}: there are pictures", files)
    for file in files:
        check(f"{folder}: name {ascii(file)}", re.fullmatch(r"[A-Za-z0-9-]{1,90}\.svg", file))
        quiet(file, open(os.path.join(folder, file), "rb").read())
        for e in xml.etree.ElementTree.parse(os.path.join(folder, file)).iter():  # it is XML
            tag = e.tag.split("}")[-1].lower()
            bad = [k for k, v in e.attrib.items() if k.lower().startswith("on") or (k.endswith("href") and not v.startswith("#"))]
            check(f"{file}: {tag}", tag in Page.ALLOWED and not bad, bad)


def judge_json(path):
    return json.loads(quiet(path, open(path, "rb").read()))


def strings(value):
    if isinstance(value, dict):
        for k, v in value.items():
            yield k
            yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)
    elif isinstance(value, str):
        yield value


def judge_csv(path, count):
    with open(path, newline="", encoding="utf-8") as file:
        quiet(path, open(path, "rb").read())
        rows = list(csv.reader(file, strict=True))
    check(f"{path}: a line a point", len(rows) == count + 1 and len({len(r) for r in rows}) == 1, len(rows))
    for cell in (c for r in rows for c in r):
        formula = cell[:1] in "=+-@\t" and cell and not re.fullmatch(r"[+-]?[0-9.]+(e[+-]?\d+)?", cell)
        check(f"{path}: {ascii(cell)[:40]} is no formula", not formula)
    return rows


# ---- tables ----

def quoted(text):
    text = text if isinstance(text, bytes) else text.encode()
    return b'"' + text.replace(b'"', b'""') + b'"'


def write_table(path, header, rows):
    with open(path, "wb") as out:
        for row in [header, *rows]:
            out.write(b",".join(quoted(c) for c in row) + b"\n")


def number(i, k):
    return f"{math.sin(1.3 * i + 0.7 * k * k):.6f}"


ROWS = 36
QUICK = ["--width", "8", "--members", "3", "--batches", "3", "--lambda", "0.1", "--threads", "1"]
BROKEN = b"\xff\xfe broken \xc0\x80 utf-8 \xed\xa0\x80"
FIXED = BROKEN.decode("utf-8", "replace")  # one U+FFFD for each byte, as for any decoder here


def all_outputs(name):
    return ["--json", f"{name}.json", "--report", f"{name}.html", "--pictures", f"{name}-pictures", "--picture-format", "svg"]


def ask_table():
    """A column for each name, levels and groups of such text too, in a file whose name is no better."""
    file = b"<img src=x onerror=alert(1)>\x1b[31m\n\xff'\"&.csv"
    some = NAMES[:11]
    for part, (name, names) in enumerate([("markup", some), ("terminal", NAMES[11:])]):
        target = "target <script>alert('y')</script>\x1b[34m\u202e"
        level = [n for n in (NAMES[0], NAMES[7], NAMES[14])]
        header = [*names, BROKEN, "level", "group", target]
        rows = [[*(number(i, k) for k in range(len(names) + 1)), level[i % 3], NAMES[i % 12], number(i, 99)] for i in range(ROWS)]
        path = file if part == 0 else "plain.csv"
        write_table(path, header, rows)
        points = b"points \x1b]0;x\x07<b>.csv"
        write_table(points, header[:-3] + ["level"], [[*r[:-3], r[-3]] for r in rows[:3]])
        flags = ["--target", target, "--onehot", "level", "--group", "group", "--sweep", "2"]
        text = run("estimate", path, *flags, *QUICK, "--at", points, "--at", "mean", *all_outputs(name), "--csv", f"{name}.csv",
                   "--state", f"{name}\x1b[32m.state")
        check(f"{name}: the text names the target", "target <script>" in text.decode())
        judge_page(f"{name}.html", [target, *names])
        judge_pictures(f"{name}-pictures")
        found = set(strings(judge_json(f"{name}.json")))
        for n in [*names, target]:
            check(f"{name}.json: holds {ascii(n)[:60]} as it was", n in found)
        judge_csv(f"{name}.csv", 4)
    return path, flags, rows, header


def ask_others(path, flags, rows, header):
    flags = flags[:-2]
    run("plan", path, *flags, *QUICK, "--price-row", "1", "--price-training", "5", "--budget", "100", *all_outputs("plan"))
    judge_page("plan.html", [])
    judge_json("plan.json")
    run("compare", path, *flags, *QUICK[:2], *QUICK[6:], "--members", "3", "--folds", "2", *all_outputs("compare"))
    judge_page("compare.html", [])
    judge_json("compare.json")
    write_table("candidates\x1b[2J.csv", header[:-2], [r[:-2] for r in rows[:5]])
    run("explore", path, *flags, *QUICK[:4], *QUICK[6:], "--candidates", "candidates\x1b[2J.csv", *all_outputs("explore"))
    judge_page("explore.html", [])
    judge_json("explore.json")
    run("kernel", path, *flags, "--ntk", "gram\x1b[31m.npy")
    model = b"model \x1b[31m<b>\xff.epiq"
    run("fit", path, *flags, *QUICK, "-o", model)
    run("predict", model, "candidates\x1b[2J.csv")
    run("score", model, path, *all_outputs("score"))
    judge_page("score.html", [])
    judge_json("score.json")
    write_table("short.csv", header[1:-2], [r[1:-2] for r in rows[:5]])
    run("predict", model, "short.csv", code=2)
    return model


def ask_model(model):
    """A model whose header someone else wrote: what a name may hold is shown, what it may not be is refused."""
    data = open(model, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    for old, new in [(b"target <script>", b"\\u001b]0;aa\\u0007"), (b"target <script>", b"\xff\xfe\xc0\x80aaaaaaaaaaa"),
                     (b"target <script>", b"\x1b]0;aaaaaaaaa\x07z"), (b"target <script>", b'"}]}}]}"]}"""]}')]:
        header = data[8:8 + size].replace(old, new[:len(old)] if len(new) > len(old) else new.ljust(len(old)))
        check("the header was changed", header != data[8:8 + size])
        open("other.epiq", "wb").write(data[:8] + header + data[8 + size:])
        done = subprocess.run([EPIQ, "predict", "other.epiq", "short.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        check("a model of others: a sentence", done.returncode == 2, (done.returncode, done.stderr))
        quiet("a model of others", done.stderr)


def ask_combine():
    """Points named in the head of a file, then kept in a state file, then changed there by someone else."""
    names = NAMES[:20]
    write_table("nets.csv", names, [[number(i, k) for k in range(len(names))] for i in range(6)])
    run("combine", "--ensemble", "nets.csv", "--append", "nets\x1b[31m.state", *all_outputs("combine"), "--csv", "combine.csv")
    judge_page("combine.html", names)
    judge_pictures("combine-pictures")
    check("combine.json: names as they were", [p["at"] for p in judge_json("combine.json")["points"]] == names)
    rows = judge_csv("combine.csv", len(names))
    for row, name in zip(rows[1:], names):
        check("combine.csv: the name", row[0].lstrip("'") == shown(name).lstrip("'"), row[0])
    state = sqlite3.connect("nets\x1b[31m.state")
    state.execute("UPDATE points SET names = ?", (b"\0".join([BROKEN, b"\x1b[31m<script>", *(b"n%d" % i for i in range(18))]) + b"\0",))
    state.commit()
    run("combine", "--append", "nets\x1b[31m.state", *all_outputs("kept"), "--csv", "kept.csv")
    judge_page("kept.html", ["\x1b[31m<script>"])
    at = [p["at"] for p in judge_json("kept.json")["points"]]
    check("kept.json: names", at[:2] == [FIXED, "\x1b[31m<script>"], at[:2])
    judge_csv("kept.csv", 20)
    run("combine", "--ensemble", "nets.csv", "--append", "nets\x1b[31m.state", code=2, wants="point 1 is called")
    write_table("more.csv", [str(i) for i in range(20)], [[number(i, k + 50) for k in range(20)] for i in range(6)])
    open("bare.csv", "w").writelines(",".join(number(i, k + 50) for k in range(20)) + "\n" for i in range(4))
    run("combine", "--ensemble", "bare.csv", "--append", "nets\x1b[31m.state")
    state.execute("CREATE TRIGGER more AFTER INSERT ON networks BEGIN DELETE FROM networks; END")
    state.commit()
    before = state.execute("SELECT count(*) FROM networks").fetchone()
    run("combine", "--ensemble", "bare.csv", "--append", "nets\x1b[31m.state", code=2, wants="not a state file")
    check("no trigger of a state file ran", state.execute("SELECT count(*) FROM networks").fetchone() == before)
    state.execute("DROP TRIGGER more")
    state.execute("ALTER TABLE networks RENAME TO real")
    state.execute("CREATE VIEW networks AS WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
                  "SELECT x AS kind, x AS sum, x AS copy, x AS at FROM t")
    state.commit()
    state.close()
    run("combine", "--append", "nets\x1b[31m.state", code=2)  # a view without an end


# ---- sentences ----

def ask_wrongly():
    ugly = b"\x1b[31m\x9b\xff\n\r\x07<b>"
    write_table("cell.csv", ["a", "y"], [["1", "2"], [b"\x1b]52;c;aGk=\x07\xff\n", "3"], ["4", "5"]])
    write_table("empty.csv", ["\x1b[2J", "y"], [["1", "2"], ["", "3"], ["4", "5"]])
    write_table("good.csv", ["a", "y"], [["1", "2"], ["2", "3.5"], ["4", "5"], ["5", "7"]])
    run("estimate", "cell.csv", "--target", "y", code=2, wants=r"cell\.csv:3")
    run("estimate", "empty.csv", "--target", "y", code=2, wants=r"empty\.csv:3")
    run("estimate", ugly, "--target", "y", code=2)
    run("estimate", "good.csv", "--target", ugly, code=2)
    run("estimate", "good.csv", "--target", "y", "--at", ugly, code=2)
    run("estimate", "good.csv", "--target", "y", "--json", ugly + b"/x", code=2)
    run("estimate", "good.csv", "--target", "y", "--engine", ugly, code=1)
    run("estimate", "good.csv", "--target", "y", b"--" + ugly, code=1)
    run(ugly, code=1)
    run("predict", ugly, "good.csv", code=2)
    run("combine", "--ensemble", ugly, code=2)
    run("combine", "--merge", ugly, code=2)
    run("study", ugly, code=1)
    run("study", "table2", "--data-dir", ugly, code=2)
    with open("nul.csv", "wb") as out:
        out.write(b"a\0b,y\n1,2\n2,3\n4,5\n")
    run("estimate", "nul.csv", "--target", "y", code=2)
    for words, code in [(("estimate", LONG, "--target", "y"), 2), (("estimate", "good.csv", "--target", LONG), 2),
                        (("estimate", "good.csv", "--target", "y", "--at", LONG), 2), ((LONG,), 1),
                        (("estimate", "good.csv", "--target", "y", "--engine", LONG), 1),
                        (("estimate", "good.csv", "--target", "y", "--json", LONG), 2),
                        (("estimate", "good.csv", "--target", "y", "--state", LONG), 2),
                        (("estimate", "good.csv", "--target", "y", "--width", "8", "--lambda", "1e-3", "--methods", "if,ev,ba", "--at", "mean", "--scratch", LONG, "--mem-limit", "1"), 2),
                        (("predict", LONG, "good.csv"), 2), (("combine", "--merge", LONG), 2)]:
        run(*words, code=code, wants="; |too long|lists them|is not there")  # its end is still there to be read


def ask_long():
    """Names of 100 kB are names."""
    header = [LONG, LONG + "2", "y"]
    write_table("long.csv", header, [[number(i, 1), number(i, 2), number(i, 3)] for i in range(20)])
    run("estimate", "long.csv", "--target", "y", "--engine", "infinite", *all_outputs("long"), "--csv", "long-out.csv", "--sweep", "2")
    judge_page("long.html", [])
    judge_pictures("long-pictures")
    check("long.json: whole", LONG in set(strings(judge_json("long.json"))))


def ask_files():
    """Outputs through links, over other files, with a strict umask; nothing else appears in the folder."""
    os.mkdir("files")
    real, link, dangling = "files/real.json", "files/link.json", "files/dangling.json"
    open(real, "w").close()
    os.chmod(real, 0o640)
    os.symlink("real.json", link)
    os.symlink("nowhere.json", dangling)
    ask = ["estimate", "good.csv", "--target", "y", "--engine", "infinite", "--quiet", "--json"]
    run(*ask, link)
    check("a link stays, its file is replaced", os.path.islink(link) and judge_json(real))
    check("a file keeps its mode", os.stat(real).st_mode & 0o777 == 0o640)
    run(*ask, dangling)
    check("a link to nothing is replaced", not os.path.islink(dangling) and not os.path.exists("files/nowhere.json"))
    before = os.umask(0o077)
    run(*ask, "files/private.json")
    run("fit", "good.csv", "--target", "y", "--engine", "infinite", "--quiet", "-o", "files/model")
    os.umask(before)
    for new in ("files/private.json", "files/model"):
        check(f"{new}: the umask holds", os.stat(new).st_mode & 0o777 == 0o600)
    check("nothing else is there", sorted(os.listdir("files")) == ["dangling.json", "link.json", "model", "private.json", "real.json"])


def ask_on_a_terminal(path, flags):
    """On a terminal there are colours, ours alone. False: none can be made here."""
    try:
        parent, child = pty.openpty()
    except OSError as error:
        print(f"SKIPPED: a terminal: no pseudo-terminal can be opened ({error.strerror}); it takes /dev/ptmx and /dev/pts")
        return False
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([EPIQ, "estimate", path, *flags, *QUICK], stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=environment) as p:
        os.close(child)
        data = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            data += piece
    os.close(parent)
    check("a terminal: exit 0", p.returncode == 0)
    check("a terminal: colours", b"\x1b[1m" in data)
    text = re.sub(rb"\x1b\[(0|1|33|35|36)?m|\x1b\[K|\r", b"", data)
    quiet("a terminal", text)
    return True


path, flags, rows, header = ask_table()
model = ask_others(path, flags, rows, header)
ask_model(model)
ask_combine()
ask_wrongly()
ask_long()
ask_files()
whole = ask_on_a_terminal(path, flags[:6])
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed > 0 or passed < 500 else 0 if whole else 77)
