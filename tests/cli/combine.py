"""Networks that nobody trained, and what must come of them. Without NumPy, by other routes than the library's: Gauss-Jordan,
refits without a row, chi-squared by its series. In the folder of the test:
    combine.py make | judge FILE.json [ensemble] [batched] [gram|jacobian] [yhat] [CORRECTION] | needed MEMBERS RELATIVE
    combine.py retrain TARGETS.csv | retrained FILE.json [gram]: networks that learn these targets, and what must come of them"""
import json
import math
import random
import struct
import sys

ROWS, PARAMETERS, POINTS, MEMBERS, BATCHES, LAMBDA = 24, 9, 3, 12, 4, 0.01


def made():
    r = random.Random(7)
    normal = lambda rows, columns: [[r.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
    j, j0 = normal(ROWS, PARAMETERS), normal(POINTS, PARAMETERS)
    theta = [r.gauss(0, 1) for _ in range(PARAMETERS)]
    y = [[dot(row, theta) + r.gauss(0, 0.5)] for row in j]
    centre = [[dot(row, theta)] for row in j0]
    members = [[centre[p][0] + r.gauss(0, 0.3 * (p + 1)) for p in range(POINTS)] for _ in range(MEMBERS)]
    batched = [[centre[p][0] + r.gauss(0, 0.3 + 0.9 * p) for p in range(POINTS)] for _ in range(BATCHES)]
    return dict(jacobian=j, jacobian0=j0, y=y, yhat=[[v[0] + r.gauss(0, 0.4)] for v in y], ensemble=members, batched=batched,
                gram=[[dot(a, b) for b in j] for a in j], cross=[[dot(a, b) for b in j0] for a in j])


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def inverse(a):
    n = len(a)
    w = [row[:] + [float(i == k) for k in range(n)] for i, row in enumerate(a)]
    for i in range(n):
        best = max(range(i, n), key=lambda k: abs(w[k][i]))
        w[i], w[best] = w[best], w[i]
        w[i] = [v / w[i][i] for v in w[i]]
        for k in range(n):
            if k != i:
                w[k] = [u - w[k][i] * v for u, v in zip(w[k], w[i])]
    return [row[n:] for row in w]


def below(x, df):
    """P(chi-squared with df < x), by the series of the incomplete gamma function."""
    s, z = df / 2, x / 2
    term = total = 1 / s
    for k in range(1, 10000):
        term *= z / (s + k)
        total += term
        if term < 1e-17 * total:
            break
    return total * math.exp(-z + s * math.log(z) - math.lgamma(s))


def quantile(share, df):
    lo, hi = 0.0, 10 * df + 100
    for _ in range(200):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if below(middle, df) < share else (lo, middle)
    return (lo + hi) / 2


def interval(variance, df, level=0.95):
    return [df * variance / quantile((1 + level) / 2, df), df * variance / quantile((1 - level) / 2, df)]


def spread(h):
    mean = math.fsum(h) / len(h)
    return math.fsum((v - mean) ** 2 for v in h) / (len(h) - 1)


def refit_without(k, y, k0, i):
    """The kernel predictor at a point from all rows but i, the ridge lambda n of all rows held."""
    rest = [a for a in range(ROWS) if a != i]
    b = inverse([[k[a][c] + (LAMBDA * ROWS if a == c else 0) for c in rest] for a in rest])
    alpha = [dot(row, [y[a] for a in rest]) for row in b]
    return dot(alpha, [k0[a] for a in rest])


def influence_function(m, p, residual):
    """Its four versions, and everything else that the kernel tells at point p."""
    k, y, k0 = m["gram"], [v[0] for v in m["y"]], [row[p] for row in m["cross"]]
    ridge = LAMBDA * ROWS
    b = inverse([[v + (ridge if i == c else 0) for c, v in enumerate(row)] for i, row in enumerate(k)])
    c, alpha = [dot(row, k0) for row in b], [dot(row, y) for row in b]
    r = [v - h[0] for v, h in zip(y, m["yhat"])] if residual == "yhat" else [ridge * v for v in alpha]
    square = [ridge ** 2 * dot(row, row) for row in b]
    variance = lambda v: math.fsum((x - math.fsum(v) / ROWS) ** 2 for x in v)
    used = {"none": r, "jackknife": [x / (ridge * b[i][i]) for i, x in enumerate(r)], "unbiased": [x / math.sqrt(s) for x, s in zip(r, square)]}
    out = {how: variance([x * w for x, w in zip(values, c)]) for how, values in used.items()}
    q = [x * x for x in used["unbiased"]]
    s = q[:]
    for _ in range(3):
        s = [s[i] + q[i] - ridge ** 2 * math.fsum(v * v * w for v, w in zip(b[i], s)) / square[i] for i in range(ROWS)]
    out["rowwise"] = max(out["unbiased"] + math.fsum(w * w * (x - z) for w, x, z in zip(c, s, q)), out["unbiased"] / 2)
    out["moderated"] = moderated(k, c, q, square, out["rowwise"])
    whole = dot(c, y)
    left = [refit_without(k, y, k0, i) for i in range(ROWS)]
    errors = [y[i] - refit_without(k, y, k[i], i) for i in range(ROWS)]
    ends = sorted(mu - abs(e) for mu, e in zip(left, errors)), sorted(mu + abs(e) for mu, e in zip(left, errors))
    at = math.floor(0.05 * (ROWS + 1) + 1e-9)
    return dict(out, prediction=whole, predictive=[ends[0][at - 1], ends[1][ROWS - at]], loo=math.sqrt(math.fsum(e * e for e in errors) / ROWS),
                moved={i + 1: v - whole for i, v in enumerate(left)})


def moderated(k, c, q, weight, own):
    """Noise smoothed over the rows nearest in the kernel's distance, averaged with rowwise: docs/method.md, M1 to M9."""
    n, c2, qbar = ROWS, [w * w for w in c], math.fsum(q) / ROWS
    order = [sorted((j for j in range(n) if j != i), key=lambda j: k[i][i] + k[j][j] - 2 * k[i][j]) for i in range(n)]
    sizes = sorted({min(n, max(8, n // part)) for part in (1, 2, 4, 8, 12)}, reverse=True)
    total = lambda rows: math.fsum(weight[j] for j in rows)
    mean = lambda rows: math.fsum(weight[j] * q[j] for j in rows) / total(rows)
    near = [[order[i][:size - 1] for i in range(n)] for size in sizes]
    m_of = [[mean([i] + rows[i]) for i in range(n)] for rows in near]
    alone = [[mean(rows[i]) for i in range(n)] for rows in near]
    deviance = [math.fsum(math.log(a) + b / a for a, b in zip(level, q)) for level in alone]
    w = [math.exp((min(deviance) - d) / 2) for d in deviance]
    w = [x / math.fsum(w) for x in w]
    m = [math.fsum(x * level[i] for x, level in zip(w, m_of)) for i in range(n)]
    variance = []
    for i in range(n):
        terms = []
        for j in range(n):
            within = [l for l in range(len(sizes)) if j == i or j in near[l][i]]
            terms.append((weight[j] * math.fsum(w[l] / total([i] + near[l][i]) for l in within) * m_of[within[-1]][i]) ** 2)
        variance.append(math.fsum(terms))
    kurtosis = lambda z: max(3, n * math.fsum(x * x for x in z) / math.fsum(z) ** 2)
    kz, k4 = kurtosis([a / b for a, b in zip(q, m)]), kurtosis(q)
    sd = [math.sqrt((kz - 1) * v) for v in variance]
    closest = min(n - 1, max(8, n // 16))
    lag = [(q[i] / qbar - 1) * (math.fsum(q[j] for j in order[i][:closest]) / closest / qbar - 1) for i in range(n)]
    nu = min(n - 1, 2 / (k4 * dot(c2, c2) / math.fsum(c2) ** 2 - 1 / n))
    smooth = dot(c2, m)
    noise = max((dot(c2, sd) / smooth) ** 2, 2 / (n - 1))
    apart = ((own - smooth) / max(own, smooth)) ** 2 * (smooth / max(own, smooth / 5) if own < smooth else 1)
    off = 2 * max(0, math.fsum(lag) / n) + 4 / math.sqrt(n * closest) + max(0, apart - 2 / nu) * max(0, 1 - 6 / nu)
    rows, smoothed = nu / 2, 1 / (noise + off)
    return max((rows * own + smoothed * smooth) / (rows + smoothed), smooth / 4, mean(range(n)) * math.fsum(c2) / 32)


failed = 0


def same(what, got, wanted, tolerance=1e-9):
    """1e-9: sums of a few dozen terms, and a matrix whose condition is below 1e4; chi-squared is good to 1e-12."""
    global failed
    good = (got is None) == (wanted is None) and (got is None or abs(got - wanted) <= tolerance * max(abs(wanted), 1e-3))
    if not good:
        failed += 1
        print(f"{what}: {got} instead of {wanted}")


def judge(path, given):
    m, result = made(), json.load(open(path, encoding="utf-8"))
    kernel = bool({"gram", "jacobian"} & set(given))
    correction = next((g for g in given if g in ("none", "jackknife", "unbiased", "rowwise")), "moderated")
    for p, point in enumerate(result["points"]):
        h, hb = [row[p] for row in m["ensemble"]], [row[p] for row in m["batched"]]
        inf = influence_function(m, p, "yhat" if "yhat" in given else "own") if kernel else None
        ev = spread(h) if "ensemble" in given else None
        ba = spread(hb) / BATCHES if "batched" in given else None
        data = inf[correction] if kernel else ba - ev / BATCHES if ev and ba else None
        tau2 = ev if ev else BATCHES * (ba - data) if ba and data else None
        data, tau2 = (None if v is not None and v < 0 else v for v in (data, tau2))
        size = BATCHES if ba else MEMBERS if ev else None
        both = data is not None and tau2 is not None
        wanted = dict(procedural=tau2, data=data, single=data + tau2 if both else None,
                      ensemble=ba if ba and not (kernel and ev) else data + tau2 / size if both and size else None,
                      ba=ba)
        for key, value in wanted.items():
            same(f"{key} at {p + 1}", point[key] and point[key]["variance"], value)
        same(f"prediction at {p + 1}", point["prediction"], math.fsum(h) / MEMBERS if ev else inf["prediction"] if kernel else math.fsum(hb) / BATCHES)
        for part, variance, df in (("procedural", ev, MEMBERS - 1), ("ba", ba, BATCHES - 1)):
            for got, end in zip(point[part]["interval"] if variance else [], interval(variance, df) if variance else []):
                same(f"interval of {part} at {p + 1}", got, end)
        if kernel:
            same(f"uncorrected at {p + 1}", point["data"]["uncorrected"], inf["none"])
            for got, end in zip((point["predictive"]["lo"], point["predictive"]["hi"]), inf["predictive"], strict=True):
                same(f"a new observation at {p + 1}", got, end)
            strongest = sorted(inf["moved"], key=lambda i: -abs(inf["moved"][i]))[:5]
            if [row["row"] for row in point["influential"]] != strongest:
                same(f"influential rows at {p + 1}", -1, 0)
            for row in point["influential"]:
                same(f"row {row['row']} moves {p + 1}", row["influence"], inf["moved"][row["row"]], 1e-8)
            same("leave-one-out error", result["fit"]["rmse"], inf["loo"])


def write(name, rows, header=None):
    with open(f"{name}.csv", "w", encoding="ascii") as out:
        out.writelines([",".join(header) + "\n"] if header else [])
        out.writelines(",".join(map(repr, row)) + "\n" for row in rows)


def write_npy(name, rows, letter="d", order="<", fortran=False, flat=False):
    shape = f"({len(rows)},)" if flat else f"({len(rows)}, {len(rows[0])})"
    head = f"{{'descr': '{order}f{struct.calcsize(letter)}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    head += " " * (117 - len(head)) + "\n"
    cells = [v for column in zip(*rows) for v in column] if fortran else [v for row in rows for v in row]
    with open(f"{name}.npy", "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"{order}{len(cells)}{letter}", *cells))


def make():
    m = made()
    for name, rows in m.items():
        write(name, rows)
        write_npy(name, rows)
    write("named", m["ensemble"], ["north", "south", "the sea"])
    write_npy("flat", m["y"], flat=True)
    write_npy("big", m["ensemble"], order=">")
    write_npy("fortran", m["ensemble"], fortran=True)
    write_npy("single", m["jacobian"], "f")
    write("first", m["ensemble"][:5])
    write("second", m["ensemble"][5:])
    write("one", m["ensemble"][:1])
    write("few", [row[:2] for row in m["ensemble"]])
    write("short", m["y"][1:])
    write("points", m["jacobian0"])
    write("left", left_out(m))
    write("left-short", [row[1:] for row in left_out(m)])
    write("elsewhere", [[v + 1 for v in row] for row in m["jacobian0"]])
    lopsided = [row[:] for row in m["gram"]]
    lopsided[2][5] += 1
    write("lopsided", lopsided)
    write("negative", [[-v for v in row] for row in m["gram"]])
    indefinite = [row[:] for row in m["gram"]]
    for i in range(ROWS):
        for k in range(ROWS):
            indefinite[i][k] = 1.0 if i == k else 2.0 if abs(i - k) == 1 else 0.0
    write("indefinite", indefinite)
    hole = [row[:] for row in m["jacobian"]]
    hole[3][4] = math.nan
    write_npy("hole", hole)
    write_npy("long", [[math.sin(i * k) for k in range(400)] for i in range(400)])


STARTS, SHARE = 2, 0.9


def left_out(m):
    """What two networks say of each row without having seen it."""
    r = random.Random(8)
    return [[v[0] + r.gauss(0, 0.7) + 0.1 * k for v in m["y"]] for k in range(2)]


def smoother(m, p):
    """What each row counts at a point: kernel regression's, by the inverse."""
    b = inverse([[v + (LAMBDA * ROWS if i == c else 0) for c, v in enumerate(row)] for i, row in enumerate(m["gram"])])
    return [dot(row, [v[p] for v in m["cross"]]) for row in b]


def retrain(path):
    """A share of kernel regression on these targets, a start's own part, and what a start makes of the data."""
    m, r, rows = made(), random.Random(9), [list(map(float, line.split(","))) for line in open(path, encoding="ascii")]
    c = [smoother(m, p) for p in range(POINTS)]
    out = []
    for k in range(0, len(rows), 2):
        own = [[[r.gauss(0, 0.3) for _ in range(POINTS)], [[r.gauss(0, 0.01) for _ in range(ROWS)] for _ in range(POINTS)]] for _ in range(STARTS)]
        for target in rows[k:k + 2]:
            out += [[SHARE * dot(c[p], target) + start[p] + dot(d[p], target) for p in range(POINTS)] for start, d in own]
    write("retrained", out)


def judge_retrained(path, kernel):
    m, result = made(), json.load(open(path, encoding="utf-8"))
    read = lambda name: [list(map(float, line.split(","))) for line in open(f"{name}.csv", encoding="ascii")]
    rows, h, left = read("targets"), read("retrained"), left_out(m)
    mean, pairs = lambda a: math.fsum(a) / len(a), len(rows) // 2
    e = [v[0] - (a + b) / 2 for v, a, b in zip(m["y"], *left)]
    error2 = mean([x * x for x in e]) - mean([(a - b) ** 2 / 2 for a, b in zip(*left)]) / 2
    step = math.sqrt(0.8 * error2)
    for k in range(pairs):
        for i in range(ROWS):
            same("step", abs(rows[2 * k][i] - rows[2 * k + 1][i]) / 2, step)
            same("middle", (rows[2 * k][i] + rows[2 * k + 1][i]) / 2, m["yhat"][i][0])
    g = [[[(h[4 * k + s][p] - h[4 * k + 2 + s][p]) / 2 / step for s in range(2)] for k in range(pairs)] for p in range(POINTS)]
    product = [mean([a * b for a, b in point]) for point in g]
    square = [mean([((a + b) / 2) ** 2 for a, b in point]) for point in g]
    inside = mean([(v[0] - w[0]) ** 2 for v, w in zip(m["y"], m["yhat"])])
    c2, delta = [dot(smoother(m, p), smoother(m, p)) for p in range(POINTS)], []
    for p in range(POINTS):
        c = smoother(m, p)
        delta.append([dot(c, [(a - b) / 2 / step for a, b in zip(rows[2 * k], rows[2 * k + 1])]) for k in range(pairs)])

    def kappa(left_out=None):
        total, use = 0, [k for k in range(pairs) if k != left_out]
        for p in range(POINTS):
            d, mid = [delta[p][k] for k in use], [sum(g[p][k]) / 2 for k in use]
            b = dot(d, mid) / dot(d, d)
            rest = [[v - b * x for v in g[p][k]] for k, x in zip(use, d)]
            own = math.fsum((sum(v) / 2) ** 2 for v in rest) / (len(use) - 1)
            starts = math.fsum((v[0] - v[1]) ** 2 / 4 for v in rest) / len(use)
            total += (b * b - own / dot(d, d)) * c2[p] + own - starts
        return total / math.fsum(c2)

    kbar = kappa() * mean(c2) if kernel else mean(product)
    noise = min(max(error2 / (1 + 1.25 * max(kbar, 0)), inside), error2)
    share = mean(product) / mean(square)
    told = result["retrain"]
    same("noise", told["noise_variance"], noise)
    same("step", told["step"], step)
    same("kappa", told["kappa"], kappa() if kernel else None)
    if kernel:
        without = [kappa(k) for k in range(pairs)]
        same("its error", told["kappa_se"], math.sqrt((pairs - 1) / pairs * math.fsum((v - mean(without)) ** 2 for v in without)), 1e-7)
    for p, point in enumerate(result["points"]):
        response = kappa() * c2[p] if kernel else (max(product[p], 0) + square[p] * max(share, 0)) / 2
        same(f"data at {p + 1}", point["data"]["variance"], noise * response)
        same(f"one network at {p + 1}", point["single"]["variance"], noise * response + spread([row[p] for row in m["ensemble"]]))
        if point["data"]["method"] != "retrain" or point["single"]["method"] != "retrain+ev" or not point["data"]["interval"]:
            same(f"how, at {p + 1}", -1, 0)


def needed(members, relative):
    """So many members, and not one less, bring half the width of the interval down to that share of the variance."""
    half = [(hi - lo) / 2 for lo, hi in (interval(1, members - 1), interval(1, members - 2))]
    return half[0] <= relative < half[1]


if sys.argv[1] == "make":
    make()
elif sys.argv[1] == "needed":
    failed = not needed(int(sys.argv[2]), float(sys.argv[3]))
elif sys.argv[1] == "retrain":
    retrain(sys.argv[2])
elif sys.argv[1] == "retrained":
    judge_retrained(sys.argv[2], "gram" in sys.argv[3:])
else:
    judge(sys.argv[2], sys.argv[3:])
sys.exit(failed > 0)
