#!/usr/bin/env python3
"""Looks at the pages in a folder with headless Chromium; tools/check-pages makes them. Usage: check_pages.py FOLDER"""
import concurrent.futures
import glob
import html.parser
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

PHONE, DESK = 390, 1200
passed = failed = 0


def check(what, good):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}")


def browser(*flags):
    """Runs Chromium with a profile of its own; its standard output and what it logged."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            ["chromium", "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
             "--enable-logging=stderr", "--v=0", f"--user-data-dir={profile}", *root, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return done.stdout.decode(), done.stderr.decode(errors="replace")


def console(log):
    return [line for line in log.splitlines() if "CONSOLE" in line]


def pixels(path):
    """Width, height and rows of bytes of a PNG with 8 bits a channel; bytes a pixel."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    size, at, packed = {2: 3, 6: 4}[kind], 8, b""
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw, stride = zlib.decompress(packed), width * size
    return width, height, size, raw, stride


def first_pixel(path):
    _, _, size, raw, _ = pixels(path)
    return tuple(raw[1:1 + min(size, 3)])  # whatever the filter of the first row, its first pixel is stored as it is


def wrapped(path, body, expression):
    """What JavaScript says in a page with this body once everything in it is loaded."""
    wrapper = path + ".wrapper.html"
    with open(wrapper, "w", encoding="utf-8") as out:
        out.write(f"<meta charset=utf-8>{body}<p id=said></p><script>onload = () => said.textContent = '[' + {expression} + ']'</script>")
    shown, _ = browser("--dump-dom", "--allow-file-access-from-files", f"file://{wrapper}")
    os.remove(wrapper)
    found = re.search(r'id="said">\[(.*?)\]', shown)
    return found and found[1]


def check_widths(beside, paths):
    """None of these pages needs scrolling sideways on a phone or on a desk."""
    shown = wrapped(beside, "".join(f"<iframe style='width:{width}px;height:900px;border:0' src='file://{path}'></iframe>"
                                    for path in paths for width in (PHONE, DESK)),  # a frame may be less wide than a window
                    "[...document.querySelectorAll('iframe')].map(f => f.contentDocument.documentElement)"
                    ".map(d => `${d.scrollWidth} of ${d.clientWidth}`)")
    widths = (shown or "").split(",")
    for path, phone, desk in zip(paths, widths[::2], widths[1::2], strict=True):
        check(f"{os.path.basename(path)}: is as wide as phone and desk: {phone}, {desk}",
              (phone, desk) == (f"{PHONE} of {PHONE}", f"{DESK} of {DESK}"))


class Page(html.parser.HTMLParser):
    """Elements with their attributes, tables by their caption, and whether every element that was opened was closed."""
    VOID = {"meta", "br", "img", "link", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.whole, self.text, self.styles = [], [], True, "", ""
        self.tables, self.rows = {}, []  # a cell is its number in full where it has one, else its text
        self.feed(text)
        self.whole = self.whole and not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "div" and "aria-label" in dict(attributes):
            self.rows = self.tables.setdefault(dict(attributes)["aria-label"], [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append(next((v for key, v in attributes if key.startswith("data-")), ""))
            self.number = bool(self.rows[-1][-1])

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.whole = False

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.styles += data
        else:
            self.text += data
            if {"td", "th"} & set(self.open) and not self.number:
                self.rows[-1][-1] += data

    def values(self, name):
        return [a[name] for _, a in self.elements if name in a]


def numbers_of(text):
    """The JSON with its numbers as they are written."""
    return json.loads(text, parse_float=str, parse_int=str)


def parts_of_point(page, at):
    """{part: {variance, lo, hi}} as the page has them for the point in detail."""
    parts, inside, current = {}, False, None
    for tag, a in page.elements:
        if tag == "section":
            inside = a.get("data-at") == at
        if inside and "data-part" in a:
            current = parts.setdefault(a["data-part"], {})
        if inside and tag == "td" and current is not None:
            for key in ("variance", "lo", "hi"):
                if f"data-{key}" in a:
                    current[key] = a[f"data-{key}"]
    return parts


def same_part(shown, part):
    if part is None:
        return shown == {}
    lo, hi = part["interval"] or (None, None)
    return shown.get("variance") == part["variance"] and shown.get("lo") == lo and shown.get("hi") == hi


def compare_estimate(name, page, result):
    points = result["points"]
    detailed = page.values("data-at")
    least = [f"row:{row}" for row in (result.get("summary") or {}).get("least_sure", [])][:3]
    check(f"{name}: the least sure rows in detail",
          detailed == (least or [p["at"] for p in points[:3]]) or not all(p.get("left_out") for p in points))
    for point in [p for p in points if p["at"] in detailed]:
        shown = parts_of_point(page, point["at"])
        for key in ("procedural", "data", "ensemble", "single"):
            check(f"{name}: {key} at {point['at']} is the JSON's", same_part(shown.get(key), point[key]))
        whole = shown.get("prediction_variance", {}).get("variance")
        check(f"{name}: the variance of the prediction is the JSON's", whole == point["prediction_variance"])
        check(f"{name}: the prediction is the JSON's", point["prediction"] in page.values("data-prediction"))
        if point["predictive"]:
            lo, hi = point["predictive"]["lo"], point["predictive"]["hi"]
            check(f"{name}: a new observation", lo in page.values("data-predictive-lo") and hi in page.values("data-predictive-hi")
                  and any(math.isclose(float(point["predictive"]["noise_sd"]) ** 2, float(v), rel_tol=1e-12) for v in page.values("data-noise")))
        values = page.values("data-value")
        for row in point["influential"]:
            check(f"{name}: influence of row {row['row']}", row["influence"] in values)
    lines = [a for tag, a in page.elements if tag == "tr" and "data-point" in a]
    check(f"{name}: a line a point", len(lines) == (len(points) if len(points) > 1 else 0))
    if len(points) > 1:
        cells = [a for tag, a in page.elements if tag == "td"]
        for key in ("procedural", "data", "ensemble"):
            listed = [a[f"data-{key}"] for a in cells if f"data-{key}" in a]
            check(f"{name}: {key} of all points", near(listed, roots([p[key]["variance"] for p in points if p[key]])))
    values = set(page.values("data-value"))
    for sweep in result.get("sweeps", []):
        check(f"{name}: sweep across {sweep['feature']}", set(sweep["prediction"]) | set(sweep["values"]) <= values)
    if result["fit"] and result["fit"]["kernel"]:
        check(f"{name}: leave-one-out error", page.values("data-loo-rmse") == [result["fit"]["kernel"]["rmse"]])
    spoken = re.sub(r"\s+", " ", page.text)
    check(f"{name}: the advice", re.sub(r"\s+", " ", result["advice"]["text"]) in spoken)
    check(f"{name}: every warning", all(w["message"] in page.text for w in result["warnings"]))
    if result.get("until"):
        check(f"{name}: how many networks", f"{result['until']['needed']} networks" in spoken)
    for fact in filter(None, (result["run"]["command"], result["run"]["data_sha256"], result["epiq"]["version"])):
        check(f"{name}: the manifest has {fact[:40]}", fact in page.text)


def compare_study(name, page, result):
    values = set(page.values("data-value"))
    for cell in result["cells"]:
        check(f"{name}: an estimate of {cell['quantity']}", cell["estimate"] is None or cell["estimate"] in values)


def compare_explore(name, page, result):
    for key in ("score", "prediction"):
        check(f"{name}: {key} of all candidates",
              page.values(f"data-{key}") == [row[key] for row in result["ranked"] if row[key] is not None])
    for key in ("procedural", "data"):
        check(f"{name}: {key} of all candidates",
              [float(v) for v in page.values(f"data-{key}-sd")] == [math.sqrt(float(row[key])) for row in result["ranked"] if row[key] is not None])
    picks = [row["values"] for row in result["ranked"] if row["pick"]]
    check(f"{name}: the features of the picks", [line[1:] for line in page.tables["The picks and their features"][1:]]
          == [[values[k] for values in picks] for k in range(len(picks[0]))])
    check(f"{name}: the reason", result["explore"]["reason"] in page.text)


def compare_score(name, page, result):
    rows = result["rows"][:200]
    for key in ("y", "prediction", "sd", "noise", "lo", "hi"):
        check(f"{name}: {key} of all rows", page.values(f"data-{key}") == [row[key] for row in rows if row[key] is not None])
    values = set(page.values("data-value"))
    check(f"{name}: its scores", {result["score"][key] for key in ("rmse", "mae", "width", "crps", "log_likelihood")} <= values)
    check(f"{name}: the verdict", result["score"]["verdict"] in page.text)


def compare_loop(name, page, result):
    ends = [c[key][-1]["mean"] for c in result["contenders"] for key in ("simple", "cumulative")]
    check(f"{name}: regret at the end", set(ends) <= set(page.values("data-value")))
    check(f"{name}: the verdict", result["verdict"] in page.text)


def cells(source, *keys):
    """These fields of an object as a line of a table shows them; "interval" gives two."""
    shown = []
    for key in keys:
        shown += (source[key] or ["", ""]) if key == "interval" else ["" if source[key] is None else source[key]]
    return shown


def roots(numbers):
    """Standard deviations of variances as the JSON writes them; empty where there are none."""
    return [math.sqrt(float(v)) if v else "" for v in numbers]


def near(shown, wanted):
    """Cells that are these numbers, to the rounding of a root; or the same texts."""
    return len(shown) == len(wanted) and all(a == b or (a != "" and b != "" and math.isclose(float(a), float(b), rel_tol=1e-12))
                                             for a, b in zip(shown, wanted))


def compare_plan(name, page, result):
    goal = result["asked"]["goal"] is not None
    bought = [("now", result["now"]), ("even chance" if goal else "the plan", result["plan"]),
              ("likely (recommended)", result["likely"]), ("cautious", result["cautious"])]
    bought = [(what, mix) for what, mix in bought if mix]
    for line, (what, mix) in zip(page.tables["Now and then"][1:], bought, strict=True):
        check(f"{name}: {what} is the JSON's", line[:4] == [what, *cells(mix, "cost", "rows", "members")])
        check(f"{name}: its standard deviation and chance",
              near(line[4:], [mix["sd"], *([mix.get("chance") or ""] if goal else [])]))
    ends = [end for _, mix in bought for end in roots(mix["interval"] or [])]
    shown = [a[key] for tag, a in page.elements if tag == "td" and "data-sd" in a for key in ("data-lo", "data-hi") if key in a]
    check(f"{name}: their intervals", near(shown, ends))
    curve = result["curve"]
    for caption, wanted in (
            ("Standard deviation against cost", [[m["cost"], m["sd"], *roots(m["interval"] or ["", ""])] for m in curve]),
            ("Rows against cost", [cells(m, "cost", "rows") for m in curve]),
            ("Networks against cost", [cells(m, "cost", "members") for m in curve])):
        lines = page.tables[caption][1:1 + len(curve)]
        check(f"{name}: {caption.lower()}", all(near(line[1:1 + len(m)], m) for line, m in zip(lines, wanted, strict=True)))
    check(f"{name}: the answer, what would be noticed and the caveat",
          all(text in page.text for text in (result["plan"]["text"], result["notice"], result["caveat"])))


def compare_models(name, page, result):
    models, choice = result["models"], int(result["choice"]["index"])
    error = result["comparison"]["error"]
    keys = [key for key in ("width", "depth", "lambda", "bias") if len({m[key] for m in models}) > 1]
    keys += ["cv_rmse"] * (error == "cv_rmse") + ["loo_rmse"]
    wanted = {"choice" if k == choice else f"{'front' if m['front'] else ''} {k}": [*cells(m, *keys), *roots(cells(m, "variance", "procedural", "data"))]
              for k, m in enumerate(models)}
    table = page.tables["The models in the order of their error"][1:]
    check(f"{name}: every model is the JSON's",
          all(any(what.split(" ")[0] == line[0] and near(line[1:], m) for what, m in wanted.items()) for line in table)
          and len(table) == len(models))
    at = 1 + keys.index(error)
    check(f"{name}: in the order of their error", [float(line[at]) for line in table] == sorted(float(m[error]) for m in models))
    se = [a["data-se"] for tag, a in page.elements if tag == "td" and "data-se" in a]
    check(f"{name}: standard errors", sorted(se) == sorted(m[key.replace("rmse", "se")] for m in models for key in keys[at - 1:]))
    check(f"{name}: the reason", result["choice"]["reason"] in page.text)
    spoken = [a.get("class") for tag, a in page.elements if tag == "text"]
    check(f"{name}: every mark has its name", spoken.count("tag") == sum(m["variance"] is not None for m in models))


def look(path):
    name, text = os.path.basename(path)[:-5], open(path, encoding="utf-8").read()
    page, address = Page(text), f"file://{path}"
    check(f"{name}: every element is closed", page.whole)
    check(f"{name}: no script", not any(tag == "script" for tag, _ in page.elements))
    links = [a[key] for _, a in page.elements for key in ("src", "href", "xlink:href", "srcset", "data", "action") if key in a]
    styles = page.styles + " ".join(page.values("style"))
    check(f"{name}: nothing from elsewhere", all(link.startswith("#") for link in links) and not re.search(r"url\(|@import", styles))
    check(f"{name}: a picture says what it is",
          all(a.get("role") == "img" or a.get("aria-hidden") == "true" for tag, a in page.elements if tag == "svg"))
    shown, log = browser("--dump-dom", address)
    check(f"{name}: opens", "</html>" in shown and page.text.split()[:5] == Page(shown).text.split()[:5])
    check(f"{name}: nothing on the console: {console(log)}", not console(log))

    check_widths(path, [path])
    cut = {width: wrapped(path, f"<iframe style='width:{width}px;height:900px;border:0' src='{address}'></iframe>",
                          "[...document.querySelector('iframe').contentDocument.querySelectorAll('.box')]"
                          ".filter(b => !b.closest('details') && b.scrollWidth > b.clientWidth + 1).map(b => b.ariaLabel).join(' and ')")
           for width in (PHONE, DESK)}
    about = wrapped(path, f"<iframe style='width:{PHONE}px;height:900px;border:0' src='{address}'></iframe>",
                    "[...document.querySelector('iframe').contentDocument.querySelectorAll('.box + .small')]"
                    ".flatMap(p => [...p.previousElementSibling.querySelectorAll('thead .fold')].map(head => head.textContent)"
                    ".filter(head => p.innerText.toLowerCase().includes(head))).join(' and ')")
    check(f"{name}: on a phone no note is about a column left out there, but: {about}", about == "")
    check(f"{name}: on a desk every table is whole, but not: {cut[DESK]}", cut[DESK] == "" or name == "odd")
    check(f"{name}: on a phone every table is whole, but not: {cut[PHONE]}", cut[PHONE] == "" or name in ("odd", "study"))

    for scheme, setting, good in (("light", 1, lambda c: min(c) > 230), ("dark", 0, lambda c: max(c) < 60)):
        shot = f"{path[:-5]}-{scheme}.png"
        browser(f"--blink-settings=preferredColorScheme={setting}", f"--window-size={DESK},1600", f"--screenshot={shot}", address)
        check(f"{name}: {scheme}", os.path.exists(shot) and good(first_pixel(shot)))
    browser(f"--window-size={PHONE},2400", f"--screenshot={path[:-5]}-phone.png", address)
    browser("--no-pdf-header-footer", f"--print-to-pdf={path[:-5]}.pdf", address)
    pdf = open(path[:-5] + ".pdf", "rb").read() if os.path.exists(path[:-5] + ".pdf") else b""
    check(f"{name}: prints", pdf.startswith(b"%PDF") and len(pdf) > 10000)

    result = numbers_of(open(path[:-5] + ".json", encoding="utf-8").read())
    kinds = {"study": compare_study, "score": compare_score, "ranked": compare_explore, "loop": compare_loop, "points": compare_estimate,
             "curve": compare_plan, "comparison": compare_models}
    next(compare for key, compare in kinds.items() if key in result)(name, page, result)
    charts = sum(tag == "svg" and a.get("class") == "chart" for tag, a in page.elements)
    check(f"{name}: a file for each picture", charts == len(glob.glob(f"{path[:-5]}-pictures/*.svg")) > 0)


def look_at_pictures(folder):
    drawings = sorted(glob.glob(f"{folder}/*-pictures/*.svg"))
    for path in drawings:
        name = os.path.relpath(path, folder)
        width, height, size, raw, stride = pixels(path[:-4] + ".png")
        ink = sum(raw[1 + y * (stride + 1):1 + y * (stride + 1) + stride].count(0) for y in range(height))
        check(f"{name}: PNG of twice its size", f'width="{width // 2}" height="{height // 2}"' in open(path, encoding="utf-8").read())
        check(f"{name}: something is drawn", ink > 0)
    shown = wrapped(f"{folder}/all", "".join(f"<img src='file://{path}'>" for path in drawings),
                    "[...document.images].map(i => i.naturalWidth > 0)")
    check(f"pictures: every SVG opens alone: {shown}", shown == ",".join(["true"] * len(drawings)))


def look_at_site(folder):
    pages = sorted(glob.glob(f"{folder}/**/*.html", recursive=True))
    check("site: there are pages", len(pages) > 15)
    check_widths(f"{folder}/all", pages)
    for scheme, setting in (("light", 1), ("dark", 0)):
        _, log = browser(f"--blink-settings=preferredColorScheme={setting}", f"--window-size={DESK},1600",
                         f"--screenshot={folder}-{scheme}.png", f"file://{folder}/index.html")
        check(f"site: {scheme}, nothing on the console: {console(log)}", not console(log))
    check("site: dark is dark", max(first_pixel(f"{folder}-dark.png")) < 60 < 230 < min(first_pixel(f"{folder}-light.png")))


folder = os.path.abspath(sys.argv[1])
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    list(pool.map(look, sorted(glob.glob(f"{folder}/*.html"))))
look_at_pictures(folder)
look_at_site(f"{folder}/site")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
