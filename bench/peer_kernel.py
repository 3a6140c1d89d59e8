"""Tangent kernel, its factor and the influence function as one writes them in NumPy and SciPy, or with JAX and
neural-tangents (argument: numpy or jax). Everything is float64 and warm: each function ran once before it is timed.
    load BASE N D LAMBDA      scaled rows, as the library exports them
    gram                      the n x n kernel
    whole none|exact          kernel, factor, IF at the mean row: as printed, or with A^-1 for the leverages
    points P                  IF at P more points, the factor being there
"""
import sys
import time
from types import SimpleNamespace

import numpy as np

from serve import serve

s = SimpleNamespace()  # what was loaded


def load(base, n, d, lam):
    s.n, s.d, s.ridge = int(n), int(d), float(lam) * int(n)
    s.x, s.y = np.fromfile(base + ".x").reshape(s.n, s.d), np.fromfile(base + ".y")
    s.factor = None
    return {}


def clock(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


class Numpy:
    """The formulas of docs/method.md sections 2 and 3 in whole-array operations, in place where that is faster."""

    def kernel(self, a, b):
        g = a @ b.T
        norm = np.sqrt(np.outer((a * a).sum(1) + 1, (b * b).sum(1) + 1))
        rho = g + 1
        rho /= norm
        np.clip(rho, -1, 1, out=rho)
        angle = np.arccos(rho)
        left = np.pi - angle
        rho *= left
        rho += np.sin(angle, out=angle)
        rho *= norm
        g += 1
        g *= left
        g += rho
        g /= np.pi
        g += 1
        return g

    def gram(self):
        return self.kernel(s.x, s.x)

    def factor(self):
        from scipy.linalg import cho_factor
        a = self.gram()
        a[np.diag_indices(s.n)] += s.ridge
        return cho_factor(a, lower=True, overwrite_a=True, check_finite=False)

    def influence(self, factor, at, residual):
        from scipy.linalg import cho_solve
        c = cho_solve(factor, self.kernel(s.x, at), overwrite_b=True, check_finite=False)
        c *= residual[:, None]
        return s.n * c.var(axis=0)

    def whole(self, exact):
        from scipy.linalg import cho_solve
        from scipy.linalg.lapack import dpotri
        factor = self.factor()
        residual = s.ridge * cho_solve(factor, s.y, check_finite=False)
        if exact:  # residuals over their standard deviation: sqrt of diag(M^2), M = ridge A^-1
            inverse, _ = dpotri(factor[0], lower=1)
            inverse = np.tril(inverse)
            inverse *= inverse
            norm2 = inverse.sum(0) + inverse.sum(1) - inverse.diagonal()
            residual = residual / (s.ridge * np.sqrt(norm2))
        return self.influence(factor, np.zeros((1, s.d)), residual)[0]

    def points(self, at):
        from scipy.linalg import cho_solve
        if s.factor is None:
            s.factor = self.factor()
            s.residual = s.ridge * cho_solve(s.factor, s.y, check_finite=False)
        start = time.perf_counter()
        self.influence(s.factor, at, s.residual)
        return time.perf_counter() - start


class Jax:
    """neural-tangents' stax kernel, compiled; the same solves compiled with it."""

    def __init__(self):
        from unittest.mock import MagicMock
        for name in ("tensorflow", "tensorflow.python", "tf2jax", "jax.experimental.jax2tf"):
            sys.modules[name] = MagicMock()  # neural-tangents imports a bridge to TensorFlow that nothing here calls
        import jax
        jax.config.update("jax_enable_x64", True)
        from neural_tangents import stax
        self.jax, self.stax = jax, stax
        self.compiled = {}

    def once(self, name, make):
        key = name, s.n, s.d
        if key not in self.compiled:
            _, _, kernel = self.stax.serial(self.stax.Dense(1, W_std=s.d**0.5, b_std=1), self.stax.Relu(),
                                            self.stax.Dense(1, W_std=2**0.5, b_std=1))
            self.compiled[key] = self.jax.jit(make(lambda a, b: kernel(a, b, "ntk")))
        return self.compiled[key]

    def gram(self):
        return self.once("gram", lambda k: lambda x: k(x, None))(s.x).block_until_ready()

    def whole(self, _):
        jnp, la = self.jax.numpy, self.jax.scipy.linalg

        def make(kernel):
            def run(x, y, at):
                factor = la.cho_factor(kernel(x, None) + s.ridge * jnp.eye(s.n), lower=True)
                v = s.ridge * la.cho_solve(factor, y)[:, None] * la.cho_solve(factor, kernel(x, at))
                return s.n * v.var(axis=0)
            return run
        return float(self.once("whole", make)(s.x, s.y, np.zeros((1, s.d)))[0])


peer = Numpy() if sys.argv[1] == "numpy" else Jax()


warm = set()


def first_time(what):
    """Once for each size a function runs before it is timed: compilation and first touches do not count."""
    new = (what, s.n) not in warm
    warm.add((what, s.n))
    return new


def gram():
    if first_time("gram"):
        peer.gram()
    seconds, k = clock(peer.gram)
    return {"seconds": seconds, "trace": float(k[0, 0] + k[-1, -1])}


def whole(version):
    if first_time(version):
        peer.whole(version == "exact")
    seconds, variance = clock(peer.whole, version == "exact")
    return {"seconds": seconds, "variance": variance}


def points(count):
    at = np.random.default_rng(0).standard_normal((int(count), s.d))
    return {"seconds": peer.points(at)}


serve({"load": load, "gram": gram, "whole": whole, "points": points})
