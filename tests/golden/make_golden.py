#!/usr/bin/env python3
"""Make the golden files beside this script: what the C tests are judged by.

Written from docs/method.md and the paper alone, never from the C code: the formulas here are the plain ones (acos, matrix
inverses, refits, quadrature, the theorem as printed) and mpmath's digits pay for it. Inputs are in the files, so no
test needs our random numbers. A file is a list of matrices, `name rows cols` and then the numbers; golden.h reads it.
chi2.csv and gamma.csv are tables. Run it from anywhere: python make_golden.py (about a minute; numpy, scipy, mpmath).
"""
import pathlib
import platform

import mpmath as mp
import numpy as np
import scipy
import scipy.stats
from mpmath.calculus.quadrature import GaussLegendre

mp.mp.dps = 50
HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = (f"make_golden.py: python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
            f"mpmath {mp.__version__}")
exact = np.frompyfunc(mp.mpf, 1, 1)  # float64 array -> the same numbers as mpf
vexp, vsqrt = np.frompyfunc(mp.exp, 1, 1), np.frompyfunc(mp.sqrt, 1, 1)


def write(name, notes, entries):
    """entries: name -> number, vector (a column) or matrix"""
    with open(HERE / name, "w") as f:
        f.write(f"# {VERSIONS}\n" + "".join(f"# {line}\n" for line in notes))
        for key, value in entries.items():
            value = np.array(value, dtype=object)
            value = value.reshape(value.shape[0] if value.ndim else 1, -1)
            f.write(f"{key} {value.shape[0]} {value.shape[1]}\n")
            for row in value:
                f.write(" ".join("%.17g" % float(v) for v in row) + "\n")
    print(f"{name}: {len(entries)} entries, {(HERE / name).stat().st_size} bytes")


def inverse(a):
    return np.array(mp.inverse(mp.matrix(a.tolist())).tolist(), dtype=object)


def worst(got, want):
    """largest difference, relative to the largest number wanted"""
    got, want = np.ravel(np.array(got, dtype=object)), np.ravel(np.array(want, dtype=object))
    return float(max(abs(got - want)) / max(abs(want)))


# ---- chi-squared quantiles ------------------------------------------------------------------------------------------
def gamma_p(a, x):
    """P(a, x) by its series of positive terms, the same for every a; 1 - P keeps 50 - 12 digits where Q is 1e-12"""
    total, power, k = mp.mpf(1), mp.mpf(1), 0
    while power > total * mp.eps:
        k += 1
        power = power * x / (a + k)
        total += power
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * total


def chi2_quantile(nu, p, upper=False):
    """Newton in log x for log P or log Q, from scipy's answer or, where that has underflowed, from the leading term"""
    a, p = mp.mpf(nu) / 2, mp.mpf(p)
    start = (scipy.stats.chi2.isf if upper else scipy.stats.chi2.ppf)(float(p), float(nu)) / 2
    lower = 1 - p if upper else p
    x = mp.mpf(start) if start > 1e-290 else mp.exp((mp.log(lower) + mp.loggamma(a + 1)) / a)
    for _ in range(20):
        density = mp.exp(a * mp.log(x) - x - mp.loggamma(a))  # x times the density
        below = gamma_p(a, x)
        tail = 1 - below if upper else below
        step = (mp.log(tail / p) if upper else mp.log(p / tail)) * tail / density
        x *= mp.exp(step)
        if abs(step) < 1e-14:  # the next step would be 1e-28 times the curvature
            return 2 * x
    raise ArithmeticError(f"no quantile for nu = {nu}, p = {p}")


def make_chi2():
    probabilities = [(p, up) for p in (1e-12, 1e-7, 1e-3, 0.025, 0.3, 0.5) for up in (0, 1)]
    probabilities += [(0.975, 0), (1 - 1e-12, 0), (0.999, 1)]
    rows = []
    for nu in (0.01, 0.03, 0.1, 0.5, 1, 1.7, 2, 3, 4, 7.3, 9, 19, 31.9, 32.1, 49, 100, 316.2, 1000, 1e4):
        rows += [(nu, p, up) for p, up in probabilities]
    for nu in (1.99e5, 2.01e5, 1e6, 1e8):  # thousands of terms each
        rows += [(nu, p, up) for p, up in ((1e-12, 0), (0.025, 0), (0.5, 0), (0.025, 1), (1e-12, 1))]
    with open(HERE / "chi2.csv", "w") as f:
        f.write(f"# {VERSIONS}\n# nu,p,upper,x: probability p below x, or above it where upper is 1\n")
        for nu, p, up in rows:
            f.write(f"{nu:.17g},{p:.17g},{up},{float(chi2_quantile(nu, p, bool(up))):.17g}\n")
    print(f"chi2.csv: {len(rows)} rows")


def make_gamma():
    """P(a, x) and Q(a, x) themselves, both sides of every change of method one might think of"""
    count = 0
    with open(HERE / "gamma.csv", "w") as f, mp.workdps(100):
        f.write(f"# {VERSIONS}\n# a,x,P,Q where both are above 1e-30\n")
        for a in (0.005, 0.3, 0.9, 1.5, 9.9, 15.9, 16.1, 40, 300, 4000, 99999, 100001, 3e5):
            for z in (-11, -7, -4, -3.2, -3.1, -1, -0.01, 0, 0.01, 1, 3.1, 3.2, 4, 5.4, 5.5, 7, 11):
                x = round(a + z * a**0.5, 6)
                P = gamma_p(mp.mpf(a), mp.mpf(x)) if x > 0 else 0
                if min(P, 1 - P) > 1e-30:
                    f.write(f"{a:.17g},{x:.17g},{float(P):.17g},{float(1 - P):.17g}\n")
                    count += 1
    print(f"gamma.csv: {count} rows")


# ---- kernels --------------------------------------------------------------------------------------------------------
def kernels(X, Z, depth, beta, bias_sd):
    """NTK K and NNGP Q of docs/method.md section 2, the plain recursion. 120 digits: rho = 1 and -1 come out exact or
    wrong by 1e-120, which acos turns into 1e-60."""
    K, Q = np.empty((len(X), len(Z)), dtype=object), np.empty((len(X), len(Z)), dtype=object)
    with mp.workdps(120):
        b2, v = mp.mpf(beta)**2, (mp.mpf(beta) * mp.mpf(bias_sd))**2
        for i, x in enumerate(exact(X)):
            for j, z in enumerate(exact(Z)):
                q, p1, p2, k = x @ z + v, x @ x + v, z @ z + v, x @ z + b2
                for _ in range(depth):
                    if p1 * p2 == 0:  # a zero row without bias (v = 0 too)
                        q, k = mp.mpf(0), b2
                        continue
                    r = mp.sqrt(p1 * p2)
                    rho = max(mp.mpf(-1), min(mp.mpf(1), q / r))
                    a = mp.acos(rho)
                    q = r * (mp.sin(a) + (mp.pi - a) * rho) / mp.pi + v
                    k = k * (mp.pi - a) / mp.pi + q - v + b2
                    p1, p2 = p1 + v, p2 + v
                K[i, j], Q[i, j] = k, q
    return K, Q


CASES = [(0, 1), (1, 1), (1, 0), (0.5, 2)]  # (bias, bias_sd)
x1, x2 = np.array([0.7, -0.4, 1.1]), np.array([-0.3, 0.9, 0.5])
KERNEL_ROWS = np.array([x1, x2, x1 + 1e-9 * np.array([0.8, -1.0, 0.6]), x2 + 1e-13 * np.array([-1.0, 0.3, 0.7]),
                        x1, -x2, 0 * x1])


def make_kernel():
    entries = {"X": KERNEL_ROWS, "cases": CASES}
    for depth in range(1, 6):
        for c, (beta, bias_sd) in enumerate(CASES):
            K, Q = kernels(KERNEL_ROWS, KERNEL_ROWS, depth, beta, bias_sd)
            entries[f"K_depth{depth}_case{c}"], entries[f"Q_depth{depth}_case{c}"] = K, Q
    write("kernel.txt", ["K (NTK) and Q (NNGP) of X with X; case c: (bias, bias_sd) = row c of cases",
                         "rows: two generic, row 0 + 1e-9, row 1 + 1e-13, row 0 again, minus row 1, zero"], entries)


# ---- the finite network ---------------------------------------------------------------------------------------------
def layers(theta, d, width, depth):
    """[(W_l, b_l)], l = 1..L+1: theta holds W_l by rows, then b_l, layer after layer"""
    sizes, out, at = [d] + [width] * depth + [1], [], 0
    for rows, cols in zip(sizes[1:], sizes[:-1]):
        out.append((theta[at:at + rows * cols].reshape(rows, cols), theta[at + rows * cols:at + rows * cols + rows]))
        at += rows * cols + rows
    assert at == len(theta)
    return out


def forward(parameters, X, beta):
    """outputs h (n), and f_l, g_l of every hidden layer; works for complex parameters"""
    g, fs, gs = X, [], [X]
    for W, b in parameters[:-1]:
        f = g @ W.T + beta * b
        g = np.sqrt(2 / len(b)) * np.where(f.real > 0, f, 0)
        fs.append(f)
        gs.append(g)
    W, b = parameters[-1]
    return (g @ W.T + beta * b)[:, 0], fs, gs


def vjp(parameters, X, beta, u):
    """J' u by reverse mode, J the n by P Jacobian of the outputs"""
    _, fs, gs = forward(parameters, X, beta)
    delta, pieces = u[:, None], []
    for level in range(len(parameters) - 1, -1, -1):
        pieces = [(delta.T @ gs[level]).ravel(), beta * delta.sum(axis=0)] + pieces
        if level:
            delta = (delta @ parameters[level][0]) * (fs[level - 1] > 0) * np.sqrt(2 / fs[level - 1].shape[1])
    return np.concatenate(pieces)


def jacobian(parameters, X, beta):
    return np.array([vjp(parameters, X[i:i + 1], beta, np.ones(1)) for i in range(len(X))])


def make_net():
    rng, n, d, width, beta, lam, entries = np.random.default_rng(5), 6, 3, 5, 0.7, 0.013, {}
    entries["config"] = [[n, d, width, beta, lam]]
    X, y = rng.normal(size=(n, d)).round(3), rng.normal(size=n).round(3)
    entries["X"], entries["y"] = X, y
    for depth in (1, 2, 3):
        size = width * (d + 1) + (depth - 1) * width * (width + 1) + width + 1
        theta0 = rng.normal(size=size).round(3)
        theta = (theta0 + 0.3 * rng.normal(size=size)).round(3)
        v, u = rng.normal(size=size).round(3), rng.normal(size=n).round(3)

        def outputs(t):
            return forward(layers(t, d, width, depth), X, beta)[0]

        def loss(t):
            return ((outputs(t) - y)**2).mean() + lam * ((t - theta0)**2).sum()

        parameters = layers(theta, d, width, depth)
        h, fs, gs = forward(parameters, X, beta)
        assert min(abs(f).min() for f in fs) > 1e-3  # no output within rounding of a kink
        J = jacobian(parameters, X, beta)
        gradient = vjp(parameters, X, beta, 2 / n * (h - y)) + 2 * lam * (theta - theta0)
        step = 1e-30j  # complex steps: exact to rounding, and they know nothing of reverse mode
        by_steps = [loss(theta + step * e).imag / 1e-30 for e in np.eye(size)]
        jvp = outputs(theta + step * v).imag / 1e-30
        J_steps = np.array([outputs(theta + step * e).imag / 1e-30 for e in np.eye(size)]).T
        Jtu, kernel = vjp(parameters, X, beta, u), J @ J.T
        errors = [worst(gradient, by_steps), worst(J, J_steps), worst(J @ v, jvp), worst(Jtu, J_steps.T @ u)]
        if depth == 1:  # the closed form of section 2
            s, W2 = np.sqrt(2 / width), parameters[1][0]
            D = (fs[0] > 0) * (s * W2)
            errors.append(worst(kernel, gs[1] @ gs[1].T + beta**2 + (X @ X.T + beta**2) * (D @ D.T)))
        print(f"  net depth {depth}: gradient, J, J v, J' u, kernel off by", " ".join("%.1e" % e for e in errors))
        assert max(errors) < 1e-13
        entries |= {f"{key}_depth{depth}": value for key, value in dict(
            theta=theta, theta0=theta0, h=h, loss=loss(theta), gradient=gradient, kernel=kernel, v=v, jvp=jvp, u=u,
            vjp=Jtu).items()}
    write("net.txt", ["config: n d width bias lambda; theta: W_l by rows then b_l, l = 1..L+1; gradient: of loss",
                      "loss = mean (h-y)^2 + lambda |theta-theta0|^2; kernel = J J', jvp = J v, vjp = J' u"], entries)


def check_kernels_by_simulation():
    """wide networks drawn as docs/method.md section 2 defines them: the covariance of h against Q, <J, J> against K"""
    rng, width, nets, last = np.random.default_rng(11), 1000, 12, 1000
    X = KERNEL_ROWS[[0, 1, 5, 6]]
    for depth in (1, 2):
        for beta, bias_sd in CASES:
            K, Q = (m.astype(float) for m in kernels(X, X, depth, beta, bias_sd))
            K_sum, Q_sum, size = 0, 0, width * (4 + (depth - 1) * (width + 1)) + width + 1
            for _ in range(nets):
                theta = rng.normal(size=size)
                parameters = layers(theta, 3, width, depth)
                for _, b in parameters:
                    b *= bias_sd
                J = jacobian(parameters, X, beta)
                K_sum = K_sum + J @ J.T / nets
                g = forward(parameters, X, beta)[2][-1]  # many last layers for each g
                h = g @ rng.normal(size=(width, last)) + beta * bias_sd * rng.normal(size=last)
                Q_sum = Q_sum + h @ h.T / (nets * last)
            errors = [abs(s - m).max() / abs(m).max() for s, m in ((K_sum, K), (Q_sum, Q))]
            print(f"  simulated, depth {depth}, bias {beta} {bias_sd}: K off by {errors[0]:.1%}, Q by {errors[1]:.1%}")
            assert max(errors) < 0.06


# ---- the estimators at the minimum ----------------------------------------------------------------------------------
def rows_for(rng, n, d=3):
    X = rng.normal(size=(n, d)).round(3)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 + 0.3 * rng.normal(size=n)).round(3)


def ridge(K, k0, y, ridge_n):
    """k0' (K + ridge_n I)^-1 y"""
    return k0 @ inverse(K + ridge_n * np.eye(len(y), dtype=object)) @ y


def weighted_ridge(K, k0, y, w, lam):
    """the predictor whose loss is sum w_i (y_i - g(x_i))^2 + lambda |g|^2"""
    return k0 @ inverse(K + np.diag(lam / w)) @ y


def spread(contributions, level):
    """V = sum of u_i, u_i = contribution^2, with Satterthwaite's nu and the interval of section 3"""
    u, count = contributions**2, len(contributions)
    V, scatter = sum(u), sum((u - sum(u) / count)**2)
    nu = min(2 * V**2 / scatter, mp.mpf(count - 1)) if scatter else mp.mpf(count - 1)
    tail = (1 - mp.mpf(level)) / 2
    return V, nu, nu * V / chi2_quantile(nu, tail, True), nu * V / chi2_quantile(nu, tail)


def spread_rowwise(r, c, M, plain, level):
    """noise variances s by the Neumann series of P, E[q] = P s; u_i and nu as in section 3"""
    n = len(r)
    M2 = M * M
    P = M2 / M2.sum(axis=1)[:, None]
    q = r**2 / M2.sum(axis=1)
    rest = np.eye(n, dtype=object) - P
    s = q + rest @ q + rest @ (rest @ q) + rest @ (rest @ (rest @ q))
    v = c * r / vsqrt(M2.sum(axis=1))
    u = (v - sum(v) / n)**2 + c**2 * (s - q)
    V = max(sum(u), plain / 2)  # plain: the unbiased V
    F = sum((u - sum(u) / n)**2)
    G = V**2 * (n * sum(q**2) / sum(q)**2 * sum(c**4) / sum(c**2)**2 - mp.mpf(1) / n)
    nu = min(2 * V**2 / (F + max(mp.mpf(0), G - F) / 5), mp.mpf(n - 1))
    tail = (1 - mp.mpf(level)) / 2
    return V, nu, nu * V / chi2_quantile(nu, tail, True), nu * V / chi2_quantile(nu, tail)


def inverse_root(a):
    """The symmetric inverse square root of a positive definite matrix."""
    values, vectors = mp.eigsy(mp.matrix(a.tolist()))
    E = np.array(vectors.tolist(), dtype=object)
    return (E / vsqrt(np.array(list(values), dtype=object))) @ E.T


def spread_groups(summed, c, group, kurtosis, level):
    """V over groups; nu from the sizes of c alone, for noise of this kurtosis."""
    V, p = sum(summed**2), np.array([sum(c[group == g]**2) for g in range(group.max() + 1)])
    nu = min(max(2 / (kurtosis - 1) * sum(p)**2 / sum(p**2), mp.mpf(1)), mp.mpf(len(p) - 1))
    tail = (1 - mp.mpf(level)) / 2
    return V, nu, nu * V / chi2_quantile(nu, tail, True), nu * V / chi2_quantile(nu, tail)


def spread_moderated(r, c, M, K, plain, level):
    """noise smoothed over the rows nearest in the kernel's distance, averaged with rowwise by precision: section 3, M1 to M9,
    entry by entry"""
    n, three = len(r), mp.mpf(3)
    N = (M * M).sum(axis=1)
    q = r**2 / N
    own = spread_rowwise(r, c, M, plain, level)[0]
    order = [sorted((j for j in range(n) if j != i), key=lambda j: K[i, i] + K[j, j] - 2 * K[i, j]) for i in range(n)]
    sizes = sorted({min(n, max(8, n // part)) for part in (1, 2, 4, 8, 12)}, reverse=True)
    near = [[order[i][:k - 1] for i in range(n)] for k in sizes]
    mean = [[sum(N[j] * q[j] for j in [i, *near[l][i]]) / sum(N[j] for j in [i, *near[l][i]]) for i in range(n)]
            for l in range(len(sizes))]
    alone = [[sum(N[j] * q[j] for j in near[l][i]) / sum(N[j] for j in near[l][i]) for i in range(n)]
             for l in range(len(sizes))]
    deviance = [sum(mp.log(alone[l][i]) + q[i] / alone[l][i] for i in range(n)) for l in range(len(sizes))]
    w = [mp.exp((min(deviance) - d) / 2) for d in deviance]
    w = [x / sum(w) for x in w]
    m = np.array([sum(w[l] * mean[l][i] for l in range(len(sizes))) for i in range(n)])
    variance = []
    for i in range(n):
        total = mp.mpf(0)
        for j in range(n):
            within = [l for l in range(len(sizes)) if j == i or j in near[l][i]]
            weight = sum(w[l] * N[j] / sum(N[x] for x in [i, *near[l][i]]) for l in within)
            total += (weight * mean[max(within)][i])**2
        variance.append(total)
    z = q / m
    kz = max(three, n * sum(z**2) / sum(z)**2)
    sd = vsqrt((kz - 1) * np.array(variance))
    closest, qbar = min(n - 1, max(8, n // 16)), sum(q) / n
    moran = sum((q[i] / qbar - 1) * (sum(q[j] for j in order[i][:closest]) / closest / qbar - 1) for i in range(n)) / n
    k4 = max(three, n * sum(q**2) / sum(q)**2)
    nu = min(mp.mpf(n - 1), 2 / (k4 * sum(c**4) / sum(c**2)**2 - mp.mpf(1) / n))
    smooth = sum(c**2 * m)
    noise = max((sum(c**2 * sd) / smooth)**2, mp.mpf(2) / (n - 1))
    apart = ((own - smooth) / max(own, smooth))**2 * (smooth / max(own, smooth / 5) if own < smooth else 1)
    off = 2 * max(mp.mpf(0), moran) + 4 / mp.sqrt(n * closest) + max(mp.mpf(0), apart - 2 / nu) * max(mp.mpf(0), 1 - 6 / nu)
    by_rows, by_smooth = nu / 2, 1 / (noise + off)
    V = max((by_rows * own + by_smooth * smooth) / (by_rows + by_smooth), smooth / 4, sum(N * q) / sum(N) * sum(c**2) / 32)
    nu = min(2 * (by_rows + by_smooth), mp.mpf(n - 1))
    tail = (1 - mp.mpf(level)) / 2
    return V, nu, nu * V / chi2_quantile(nu, tail, True), nu * V / chi2_quantile(nu, tail)


def standardised(X, y, x0, group, depth, beta, bias_sd, lam, level):
    """V of every correction, in the units of y, of rows single and in groups, when features and target are standardised first: a row's
    target then also moves the prediction through the mean. Its weight is what the whole procedure makes of the target e_i."""
    n, y, tables = len(y), exact(y), {}
    mean = exact(X).sum(axis=0) / n
    factor = vsqrt(((exact(X) - mean)**2).sum(axis=0) / n)
    unit = mp.sqrt(sum((y - sum(y) / n)**2) / n)
    Xs, xs, ys = (exact(X) - mean) / factor, (exact(x0) - mean) / factor, (y - sum(y) / n) / unit
    K, k0s = kernels(Xs, Xs, depth, beta, bias_sd)[0], kernels(Xs, xs, depth, beta, bias_sd)[0]
    inv = inverse(K + mp.mpf(lam) * n * np.eye(n, dtype=object))
    M = mp.mpf(lam) * n * inv
    r = M @ ys
    own = [group == g for g in range(group.max() + 1)]
    in_group = {1: lambda k: inverse(M[k][:, k]) @ r[k], 2: lambda k: inverse_root((M @ M)[k][:, k]) @ r[k]}
    for t in range(len(x0)):
        w = np.array([sum(e) / n + k0s[:, t] @ inv @ (e - sum(e) / n) for e in np.eye(n, dtype=object)])
        used = [r, r / np.diag(M), r / vsqrt((M * M).sum(axis=1))]
        V = [spread(w * u - sum(w * u) / n, level)[0] for u in used]
        V += [spread_rowwise(r, w, M, V[2], level)[0], spread_moderated(r, w, M, K, V[2], level)[0]]
        grouped = []
        for row, u in enumerate(used):
            for k in own if row else []:
                u[k] = in_group[row](k)
            v = w * u - sum(w * u) / n
            grouped.append(sum(sum(v[k])**2 for k in own))
        for key, values in (("standard_V", V), ("standard_group_V", grouped + 2 * grouped[2:])):
            tables.setdefault(key, []).append(unit**2 * np.array(values))
    return {key: np.array(value).T for key, value in tables.items()}


def make_if():
    rng, level, entries = np.random.default_rng(7), 0.95, {}
    problems = [(1, 0, 1, 1e-3), (1, 1, 1, 1e-3), (2, 1, 0, 1e-2), (3, 0.5, 2, 1e-4)]
    group = np.array([3, 0, 1, 1, 0, 2, 4, 3, 1, 4, 2, 0])
    for number, (depth, beta, bias_sd, lam) in enumerate(problems):
        n = len(group)
        X, y_float = rows_for(rng, n)
        x0 = np.array([[0.2, -0.5, 0.4], [1.5, 1.0, -1.2]])
        lam_mp, y = mp.mpf(lam), exact(y_float)
        (K, Q), (k0s, q0s), (_, Q00) = (kernels(*pair, depth, beta, bias_sd) for pair in ((X, X), (X, x0), (x0, x0)))
        ridge_n = lam_mp * n
        inv = inverse(K + ridge_n * np.eye(n, dtype=object))
        alpha, M = inv @ y, ridge_n * inv
        r = y - K @ alpha
        keep = [np.arange(n) != i for i in range(n)]
        refit = [inverse(K[k][:, k] + ridge_n * np.eye(n - 1, dtype=object)) @ y[k] for k in keep]
        loo = np.array([y[i] - K[i][keep[i]] @ refit[i] for i in range(n)])
        own, stay = ([op(group, g) for g in range(group.max() + 1)] for op in (np.equal, np.not_equal))
        refit_group = [inverse(K[k][:, k] + ridge_n * np.eye(sum(k), dtype=object)) @ y[k] for k in stay]
        group_loo, corrected = np.empty(n, dtype=object), np.empty(n, dtype=object)
        for g, k in enumerate(own):
            group_loo[k] = y[k] - K[k][:, stay[g]] @ refit_group[g]
            corrected[k] = inverse_root((M @ M)[k][:, k]) @ r[k]
        sizes = np.array([mp.mpf(int(sum(k))) for k in own])
        means = np.array([sum(corrected[k]) for k in own]) / vsqrt(sizes)
        kurtosis = max(mp.mpf(3), len(own) * sum(means**4) / sum(means**2)**2)
        columns = {key: [] for key in ("prediction", "tau2", "IF", "deletion")}
        tables = {key: np.empty((5, len(x0)), dtype=object) for key in
                  ("V", "nu", "lo", "hi", "group_V", "group_nu", "group_lo", "group_hi")}
        errors = []
        for t in range(len(x0)):
            k0, c = k0s[:, t], inv @ k0s[:, t]
            prediction = k0 @ alpha
            # the theorem as printed, h_0 = 0: M_z at the training rows and at x0
            at_rows, at_x0 = [K @ alpha - r[i] / lam_mp * K[i] for i in range(n)], prediction - r / lam_mp * k0
            theorem = np.array([k0 @ inv @ at_rows[i] - at_x0[i] for i in range(n)])
            v = r * c
            errors.append(worst(n * (v - sum(v) / n), theorem))
            e, unit = mp.mpf(10)**-15, np.eye(n, dtype=object)  # weights (1-e)/n + e [row i], central difference
            ends = [[weighted_ridge(K, k0, y, (1 - s) / mp.mpf(n) + s * unit[i], lam_mp) for i in range(n)]
                    for s in (e, -e)]
            errors.append(worst((np.array(ends[0]) - np.array(ends[1])) / (2 * e), theorem))
            deletion = np.array([k0[keep[i]] @ refit[i] - prediction for i in range(n)])
            errors.append(worst(-alpha * c / np.diag(inv), deletion))
            sd = vsqrt(np.diag(M @ M))
            contributions = [theorem / n, -deletion + sum(deletion) / n, r / sd * c - sum(r / sd * c) / n]
            for row, u in enumerate(contributions):
                summed = np.array([sum(u[group == g]) for g in range(group.max() + 1)])
                if row:  # not as published: for whole groups
                    moved = np.array([prediction - k0[stay[g]] @ refit_group[g] if row == 1 else
                                      corrected[k] @ c[k] for g, k in enumerate(own)])
                    summed = moved - sizes * sum(moved) / n
                in_groups = spread_groups(summed, c, group, kurtosis, level) if row else spread(summed, level)
                for prefix, values in (("", spread(u, level)), ("group_", in_groups)):
                    for key, value in zip(("V", "nu", "lo", "hi"), values):
                        tables[prefix + key][row, t] = value
            plain = tables["V"][2, t]
            for row, values in ((3, spread_rowwise(r, c, M, plain, level)), (4, spread_moderated(r, c, M, K, plain, level))):
                for key, value in zip(("V", "nu", "lo", "hi"), values):
                    tables[key][row, t] = value
                    tables["group_" + key][row, t] = tables["group_" + key][2, t]  # in groups both stay unbiased
            columns["prediction"].append(prediction)
            columns["tau2"].append(Q00[t, t] - 2 * c @ q0s[:, t] + c @ Q @ c)
            columns["IF"].append(theorem)
            columns["deletion"].append(deletion)
        errors.append(worst(alpha / np.diag(inv), loo))
        print(f"  if problem {number}: closed form, differences, deletion, loo off by at most {max(errors):.1e}")
        assert max(errors) < 1e-20
        entries |= {f"p{number}_{key}": value for key, value in dict(
            config=[[depth, beta, bias_sd, lam, level]], X=X, y=y_float, x0=x0, group=group,
            **{key: np.array(value).T for key, value in columns.items()}, **tables,
            **standardised(X, y_float, x0, group, depth, beta, bias_sd, lam, level), loo=loo,
            loo_rmse=mp.sqrt(sum(loo**2) / n), noise=(alpha @ alpha) / (inv * inv).sum(),
            group_loo_rmse=mp.sqrt(sum(group_loo**2) / n), group_noise=sum(corrected**2) / n).items()}
    write("if.txt", ["config: depth bias bias_sd lambda level; prediction, tau2: a row for each x0;",
                     "IF, deletion (change of the prediction, ridge lambda n held): n rows, a column for each x0;",
                     "V, nu, lo, hi, group_*: rows none, jackknife, unbiased, rowwise, moderated, a column for each x0;",
                     "group_*: contributions summed within each label of group before squaring, corrected for whole groups;",
                     "standard_*: V when features and target are standardised first"],
          entries)


# ---- the flow stopped at time t -------------------------------------------------------------------------------------
def panels(t, rate):
    """nodes and weights on [0, t], panels doubling away from both ends: every rate below `rate` is resolved"""
    edges = [mp.mpf(0), min(t / 2, 1 / (2 * rate))]
    while edges[-1] < t / 2:
        edges.append(min(2 * edges[-1], t / 2))
    edges += [t - e for e in edges[-2::-1]]
    rule = GaussLegendre(mp.mp).calc_nodes(4, 130)  # 24 nodes
    for lo, hi in zip(edges, edges[1:]):
        for x, w in rule:
            yield (lo + hi + (hi - lo) * x) / 2, (hi - lo) * w / 2


def weighted_flow(K, k0, y, w, lam, t):
    """prediction at time t of d alpha/dt = 2 W (y - K alpha) - 2 lambda alpha, by the matrix exponential"""
    n, B = len(y), np.diag(w) @ K + lam * np.eye(len(y), dtype=object)
    decay = np.array(mp.expm(mp.matrix((-2 * t * B).tolist())).tolist(), dtype=object)
    return k0 @ (np.eye(n, dtype=object) - decay) @ inverse(B) @ (w * y)


def make_stopped():
    rng, n, entries = np.random.default_rng(9), 10, {}
    times = [0.1, 1.0, 30.0, 1e6]
    for number, (depth, beta, bias_sd, lam) in enumerate([(1, 1, 1, 1e-3), (2, 0.5, 0, 1e-2)]):
        X, y_float = rows_for(rng, n)
        x0 = np.array([[0.2, -0.5, 0.4], [1.5, 1.0, -1.2]])
        lam_mp, y = mp.mpf(lam), exact(y_float)
        (K, Q), (k0s, q0s), (_, Q00) = (kernels(*pair, depth, beta, bias_sd) for pair in ((X, X), (X, x0), (x0, x0)))
        w, vectors = (np.array(m.tolist(), dtype=object) for m in mp.eigsy(mp.matrix(K.tolist())))
        w = w.ravel()
        rates = 2 * (w / n + lam_mp)
        tables = {key: np.empty((len(times), 2), dtype=object) for key in ("prediction", "tau2", "V")}
        influence, checks = {}, []
        for row, t in enumerate(mp.mpf(t) for t in times):
            B = vectors @ np.diag((1 - vexp(-t * rates)) / (w + lam_mp * n)) @ vectors.T
            v = np.zeros((n, 2), dtype=object)
            for s, weight in panels(t, max(rates)):
                residual = y - vectors @ ((1 - vexp(-s * rates)) * w / (w + lam_mp * n) * (vectors.T @ y))
                carried = vectors @ (vexp(-(t - s) * rates)[:, None] * (vectors.T @ k0s))
                v = v + 2 * weight / n * residual[:, None] * carried
            for j in range(2):
                k0, c, centred = k0s[:, j], B @ k0s[:, j], v[:, j] - sum(v[:, j]) / n
                tables["prediction"][row, j] = c @ y
                tables["tau2"][row, j] = Q00[j, j] - 2 * c @ q0s[:, j] + c @ Q @ c
                tables["V"][row, j] = sum(centred**2)
                if t < 100:  # the influence of three rows by differences of the reweighted flow
                    unit, e = np.eye(n, dtype=object), mp.mpf(10)**-12
                    ends = [[weighted_flow(K, k0, y, (1 - s) / mp.mpf(n) + s * unit[i], lam_mp, t) for i in (0, 4, 9)]
                            for s in (e, -e)]
                    checks.append(worst((np.array(ends[0]) - np.array(ends[1])) / (2 * e), n * centred[[0, 4, 9]]))
                    checks.append(worst(weighted_flow(K, k0, y, np.full(n, 1 / mp.mpf(n)), lam_mp, t), c @ y))
                else:  # long after, the minimum
                    inv = inverse(K + lam_mp * n * np.eye(n, dtype=object))
                    checks.append(worst(v[:, j], (y - K @ inv @ y) * (inv @ k0)))
            influence[f"IF_t{row}"] = n * (v - v.sum(axis=0) / n)
        print(f"  stopped problem {number}: quadrature against the reweighted flow and the minimum: {max(checks):.1e}")
        assert max(checks) < 1e-15
        entries |= {f"p{number}_{key}": value for key, value in dict(
            config=[[depth, beta, bias_sd, lam]], t=times, X=X, y=y_float, x0=x0, **tables, **influence).items()}
    write("stopped.txt", ["config: depth bias bias_sd lambda; prediction, tau2, V: a row for each t, a column an x0",
                          "IF_tk: n (v_i - mean v) at the k-th time, a row for each training row; V = sum of (IF/n)^2"],
          entries)


if __name__ == "__main__":
    make_chi2()
    make_gamma()
    make_kernel()
    make_net()
    check_kernels_by_simulation()
    make_if()
    make_stopped()
