"""What epiq should answer, in multiple precision: the formulas of docs/method.md sections 2 to 4 in their plain form (acos, an
inverse, sums as they are printed), written from that page and never from the C code. Matrices are lists of rows of mpf.
"""
import mpmath as mp
from mpmath import mpf

mp.mp.dps = 60  # the worst condition numbers here are below 1e36, and acos takes half of what is left near 1
SMALLEST = mpf(2)**-1022


def dot(a, b):
    return mp.fdot(zip(a, b))


def times(matrix, vector):
    return [dot(row, vector) for row in matrix]


def mean(v):
    return mp.fsum(v) / len(v)


class Scaling:
    """of one column: given = shift + factor * scaled"""

    def __init__(self, column, how):
        v = [mpf(x) for x in column]
        self.shift, self.factor = mpf(0), mpf(1)
        if how == "standard":
            self.shift = mean(v)
            self.factor = mp.sqrt(mean([(x - self.shift)**2 for x in v]))
        elif how == "minmax":
            self.shift, self.factor = min(v), max(v) - min(v)
        if min(v) == max(v) or self.factor < SMALLEST:
            self.factor = mpf(1)
        # digits that rounding the shift to a double costs, as a factor on eps
        self.loss = 1 + max(abs(x) for x in v) / self.factor if how != "none" else mpf(1)

    def scaled(self, x):
        return (mpf(x) - self.shift) / self.factor


def kernel(x, z, depth, beta, bias_sd):
    """NTK and NNGP of one pair"""
    b2, v = mpf(beta)**2, (mpf(beta) * mpf(bias_sd))**2
    inner, p, q = dot(x, z), dot(x, x) + v, dot(z, z) + v
    Q, K = inner + v, inner + b2
    for _ in range(depth):
        if p * q == 0:
            Q, K = v, b2
            continue
        r = mp.sqrt(p * q)
        a = mp.acos(max(mpf(-1), min(mpf(1), Q / r)))
        Q = r * (mp.sin(a) + (mp.pi - a) * mp.cos(a)) / mp.pi + v
        K = K * (mp.pi - a) / mp.pi + Q - v + b2
        p, q = p + v, q + v
    return K, Q


def kernels(X, Z, net):
    pairs = [[kernel(x, z, *net) for z in Z] for x in X]
    return [[p[0] for p in row] for row in pairs], [[p[1] for p in row] for row in pairs]


# ---- the finite network with one hidden layer ----
def hidden(theta, d, width, x, beta):
    """(h, g, slope): its output, its hidden values, and d h / d f of each unit"""
    root = mp.sqrt(mpf(2) / width)
    f = [dot(theta[k * d:k * d + d], x) + beta * theta[width * d + k] for k in range(width)]
    last = theta[width * (d + 1):]
    g = [root * max(mpf(0), v) for v in f]
    return dot(g, last[:width]) + beta * last[width], g, [root * w if v > 0 else mpf(0) for v, w in zip(f, last)]


def own_kernel(theta, d, width, X, Z, beta):
    left, right = ([hidden(theta, d, width, x, beta) for x in rows] for rows in (X, Z))
    return [[dot(a[1], b[1]) + beta**2 + (dot(x, z) + beta**2) * dot(a[2], b[2]) for b, z in zip(right, Z)]
            for a, x in zip(left, X)]


# ---- chi-squared ----
def gamma_p(a, x):
    total = power = mpf(1)
    k = 0
    while power > total * mp.eps:
        k += 1
        power *= x / (a + k)
        total += power
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * total


def chi2_quantile(nu, p):
    """Newton for log P in log x, which is concave, from below the root: it climbs and never passes it."""
    a = mpf(nu) / 2
    u = (mp.log(p) + mp.loggamma(a + 1)) / a
    for _ in range(500):
        x = mp.exp(u)
        P = gamma_p(a, x)
        step = mp.log(p / P) * P / mp.exp(a * u - x - mp.loggamma(a))
        u += step
        if abs(step) < mpf(10)**-25:
            return 2 * mp.exp(u)
    raise ArithmeticError(f"no quantile for nu = {nu}, p = {p}")


class Part:
    """a variance, its degrees of freedom, and the factor on eps that computing it in doubles may cost"""

    def __init__(self, variance, nu=None, loss=mpf(1)):
        self.variance, self.nu, self.loss = variance, nu, loss

    def interval(self, level):
        tail = (1 - mpf(level)) / 2
        return [self.nu * self.variance / chi2_quantile(self.nu, p) for p in (1 - tail, tail)]


def satterthwaite(contributions):
    u, count = [v**2 for v in contributions], len(contributions)
    V = mp.fsum(u)
    scatter = mp.fsum((x - V / count)**2 for x in u)
    return V, min(2 * V**2 / scatter, mpf(count - 1)) if scatter else mpf(count - 1)


class Ridge:
    """kernel regression: A = K + lambda n, its inverse B, and everything made of them"""

    def __init__(self, K, y, lam):
        self.n, self.y, self.K = len(y), y, K
        self.shift = mpf(lam) * self.n
        A = mp.matrix(K) + self.shift * mp.eye(self.n)
        self.B = (A**-1).tolist()
        self.alpha = times(self.B, y)
        self.M = [[self.shift * b for b in row] for row in self.B]
        self.condition = max(mp.fsum(abs(a) for a in row) for row in A.tolist()) * max(
            mp.fsum(abs(b) for b in row) for row in self.B)

    def weights(self, k0):
        return times(self.B, k0)

    def left_out(self):
        return [a / row[i] for i, (a, row) in enumerate(zip(self.alpha, self.B))]

    def data(self, c, correction, residual=None):
        """IF with one correction"""
        n, r = self.n, residual or [self.shift * a for a in self.alpha]
        lengths = [dot(row, row) for row in self.M]
        by = {"none": [mpf(1)] * n, "jackknife": [self.M[i][i] for i in range(n)]}.get(
            correction, [mp.sqrt(v) for v in lengths])
        v = [a * b / s for a, b, s in zip(r, c, by)]
        centred = [x - mean(v) for x in v]
        V, nu = satterthwaite(centred)
        if correction == "rowwise":
            V, nu = self.rowwise(r, c, centred, lengths)
        if correction == "moderated":
            V, nu = self.moderated(r, c, centred, lengths)
        return Part(V, nu, mp.sqrt(dot(v, v) / V) if V else mpf(1))

    def rowwise(self, r, c, centred, lengths):
        n = self.n
        P = [[m * m / total for m in row] for row, total in zip(self.M, lengths)]
        q = [a * a / total for a, total in zip(r, lengths)]
        s = q
        for _ in range(3):
            s = [a + b - ps for a, b, ps in zip(s, q, times(P, s))]
        u = [v * v + w * w * (a - b) for v, w, a, b in zip(centred, c, s, q)]
        plain = dot(centred, centred)
        if not any(u):
            return mpf(0), mpf(n - 1)
        V = max(mp.fsum(u), plain / 2)
        F = mp.fsum((x - mp.fsum(u) / n)**2 for x in u)
        kurtosis = n * dot(q, q) / mp.fsum(q)**2
        c2 = [w * w for w in c]
        G = V**2 * (kurtosis * dot(c2, c2) / mp.fsum(c2)**2 - mpf(1) / n)
        wobble = F + max(mpf(0), G - F) / 5
        return V, min(2 * V**2 / wobble, mpf(n - 1)) if wobble else mpf(n - 1)

    def near(self, i, k):
        """the others among the k rows nearest to row i, and any as near but for rounding"""
        own = self.K[i][i]
        away = {j: max(mpf(0), own + self.K[j][j] - 2 * self.K[i][j]) for j in range(self.n) if j != i}
        reach = sorted(away.values())[min(k, self.n) - 2] * (1 + mpf("1e-9")) + mpf("1e-12") * own
        return [j for j, d in away.items() if d <= reach]

    def moderated(self, r, c, centred, lengths):
        n, c2 = self.n, [w * w for w in c]
        q = [a * a / total for a, total in zip(r, lengths)]
        if not any(q) or not any(c):
            return mpf(0), mpf(n - 1)
        own, qbar = self.rowwise(r, c, centred, lengths)[0], mean(q)
        sizes = sorted({min(n, max(8, n // part)) for part in (1, 2, 4, 8, 12)}, reverse=True)
        others = [[self.near(i, k) for i in range(n)] for k in sizes]
        weigh = lambda rows: dot([lengths[j] for j in rows], [q[j] for j in rows]) / mp.fsum(lengths[j] for j in rows)
        m_of = [[weigh([i, *rows[i]]) for i in range(n)] for rows in others]
        alone = [[max(weigh(rows[i]), mpf(2)**-52 * qbar) for i in range(n)] for rows in others]
        deviance = [mp.fsum(mp.log(a) + b / a for a, b in zip(level, q)) for level in alone]
        w = [mp.exp((min(deviance) - d) / 2) for d in deviance]
        w = [x / mp.fsum(w) for x in w]
        m = [mp.fsum(x * level[i] for x, level in zip(w, m_of)) for i in range(n)]
        spread = []
        for i in range(n):
            shares = [x / mp.fsum(lengths[j] for j in [i, *rows[i]]) for x, rows in zip(w, others)]
            within = [[l for l, rows in enumerate(others) if j == i or j in rows[i]] for j in range(n)]
            spread.append(mp.fsum((mp.fsum(shares[l] for l in within[j]) * lengths[j] * m_of[within[j][-1]][i])**2
                                  for j in range(n)))
        z = [a / max(b, mpf(2)**-52 * qbar) for a, b in zip(q, m)]
        kurtosis = max(mpf(3), n * dot(z, z) / mp.fsum(z)**2)
        spread = [mp.sqrt((kurtosis - 1) * s) for s in spread]
        closest = min(n - 1, max(8, n // 16))
        moran = mean([(q[i] / qbar - 1) * (mean([q[j] for j in self.near(i, closest + 1)]) / qbar - 1) for i in range(n)])
        k4 = max(mpf(3), n * dot(q, q) / mp.fsum(q)**2)
        nu = min(mpf(n - 1), 2 / (k4 * dot(c2, c2) / mp.fsum(c2)**2 - mpf(1) / n))
        smooth = dot(c2, m)
        noise = max((dot(c2, spread) / smooth)**2 if smooth else mpf(0), mpf(2) / (n - 1))
        apart = ((own - smooth) / max(own, smooth))**2 * (smooth / max(own, smooth / 5) if own < smooth else 1)
        off = 2 * max(mpf(0), moran) + 4 / mp.sqrt(n * closest) + max(mpf(0), apart - 2 / nu) * max(mpf(0), 1 - 6 / nu)
        rows, smoothed = nu / 2, 1 / (noise + off)
        V = (rows * own + smoothed * smooth) / (rows + smoothed)
        return max(V, smooth / 4, dot(lengths, q) / mp.fsum(lengths) * mp.fsum(c2) / 32), min(2 * (rows + smoothed), mpf(n - 1))

    def observation(self, c, level):
        """jackknife+, or None"""
        k = int(mp.floor((1 - mpf(level)) * (self.n + 1) + mpf(10)**-9))
        if k < 1:
            return None
        e, centre = self.left_out(), dot(c, self.y)
        low = sorted(centre - w * x - abs(x) for w, x in zip(c, e))[k - 1]
        high = sorted(centre - w * x + abs(x) for w, x in zip(c, e))[-k]
        return [low, high] if low <= high else [(low + high) / 2] * 2


def infinite_variance(c, Q, q0, q00):
    """tau^2, and what its terms are together over it"""
    value = q00 - 2 * dot(c, q0) + dot(c, times(Q, c))
    size = [abs(x) for x in c]
    terms = q00 + 2 * dot(size, [abs(x) for x in q0]) + dot(size, times([[abs(x) for x in row] for row in Q], size))
    return Part(value, None, terms / value if value > 0 else mp.inf)


def stopped(K, k0, y, lam, t):
    """c, v and the residuals of gradient flow stopped at time t, in the eigenbasis"""
    n = len(y)
    w, V = mp.eigsy(mp.matrix(K))
    V = V.tolist()
    mu = [w[k] / n + mpf(lam) for k in range(n)]
    columns = [[V[i][k] for i in range(n)] for k in range(n)]
    kappa, eta = [dot(v, k0) for v in columns], [dot(v, y) for v in columns]
    grown = [-mp.expm1(-2 * t * m) for m in mu]
    c = times(V, [g / (n * m) * k for g, m, k in zip(grown, mu, kappa)])
    part = [[None] * n for _ in range(n)]
    for j in range(n):
        for k in range(n):
            a, gap = mpf(lam) / mu[k], 2 * (mu[j] - mu[k])
            moved = t * mp.exp(-2 * mu[j] * t) if gap == 0 else mp.exp(-2 * mu[j] * t) * mp.expm1(gap * t) / gap
            part[j][k] = kappa[j] * eta[k] * (a * grown[j] / (2 * mu[j]) + (1 - a) * moved)
    v = [mpf(2) / n * mp.fsum(V[i][j] * dot(V[i], part[j]) for j in range(n)) for i in range(n)]
    fitted = times(V, [g * w[k] / (n * m) * h for k, (g, m, h) in enumerate(zip(grown, mu, eta))])
    return c, v, [a - b for a, b in zip(y, fitted)]
