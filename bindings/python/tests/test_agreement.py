"""The same network, here and in a framework: derivatives taken by PyTorch, by JAX and by hand, at the weights epiq starts
from, give combine the kernel that decompose builds inside, and so the same data variance.

Both do the same arithmetic in another order. With a condition of 2e3 of A = K + lambda n I they differ by 1e-13 in doubles and
by 5e-7 from derivatives in single precision; the tolerances leave room for other BLAS libraries and processors.
"""

import numpy as np
import pytest

import epiq

N, D, WIDTH, LAMBDA = 60, 3, 64, 1e-3
MODEL = dict(width=WIDTH, bias=0.7, bias_sd=0.5, seed=5)


@pytest.fixture(params=[1, 2], ids=["one hidden layer", "two"])
def depth(request):
    return request.param


@pytest.fixture
def rows():
    random = np.random.default_rng(7)
    X = random.normal(3, 2, (N, D))
    return X, 40 + 5 * np.sin(X[:, 0]) + random.normal(size=N), random.normal(3, 2, (4, D))


def numpy_jacobian(layers, x, dtype):
    """points by parameters: g_l = sqrt(2/w) relu(W_l g_{l-1} + beta b_l), the chain rule backwards (docs/method.md, 2)"""
    g, open_gates = [x.astype(dtype)], []
    for W, b in layers[:-1]:
        f = g[-1] @ W.T.astype(dtype) + MODEL["bias"] * b.astype(dtype)
        open_gates.append(np.sqrt(2 / WIDTH) * (f > 0))
        g.append(open_gates[-1] * f)
    delta, blocks = np.ones((len(x), 1), dtype), []
    for k in reversed(range(len(layers))):
        blocks = [np.einsum("pi,pj->pij", delta, g[k]).reshape(len(x), -1), MODEL["bias"] * delta] + blocks
        delta = delta @ layers[k][0].astype(dtype) * open_gates[k - 1] if k else delta
    return np.hstack(blocks).astype(dtype)


def torch_jacobian(layers, x, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    of = lambda a: torch.tensor(np.asarray(a, dtype))

    def network(theta, x):
        for W, b in theta[:-1]:
            x = (2 / WIDTH) ** 0.5 * torch.relu(W @ x + MODEL["bias"] * b)
        W, b = theta[-1]
        return (W @ x + MODEL["bias"] * b)[0]

    theta = [(of(W), of(b)) for W, b in layers]
    each = torch.func.vmap(torch.func.jacrev(network), (None, 0))(theta, of(x))
    return torch.cat([part.flatten(1) for layer in each for part in layer], 1)


def jax_jacobian(layers, x, dtype):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():

        def network(theta, x):
            for W, b in theta[:-1]:
                x = (2 / WIDTH) ** 0.5 * jax.nn.relu(W @ x + MODEL["bias"] * b)
            W, b = theta[-1]
            return (W @ x + MODEL["bias"] * b)[0]

        theta = [(jax.numpy.asarray(W, dtype), jax.numpy.asarray(b, dtype)) for W, b in layers]
        each = jax.vmap(jax.grad(network), (None, 0))(theta, jax.numpy.asarray(x, dtype))
        return np.hstack([np.asarray(part).reshape(len(x), -1) for layer in each for part in layer])


JACOBIANS = [numpy_jacobian, torch_jacobian, jax_jacobian]


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-10), (np.float32, 1e-5)], ids=["double", "single"])
@pytest.mark.parametrize("jacobian", JACOBIANS, ids=["numpy", "torch", "jax"])
def test_a_jacobian_gives_the_kernel_of_the_library(rows, depth, jacobian, dtype, tolerance):
    X, y, X0 = rows
    scaled, scaled0, target = (X - X.mean(0)) / X.std(0), (X0 - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    # scale none: what a mean that the library takes off itself adds to the data part, it does not know of numbers that are given
    inside = epiq.decompose(scaled, target, scaled0, methods="if", kernel="empirical", depth=depth, lambda_=LAMBDA, scale="none",
                            **MODEL)  # fmt: skip
    layers = epiq.network_start(D, depth=depth, **MODEL)
    J, J0 = (jacobian(layers, x, dtype) for x in (scaled, scaled0))
    assert J.shape == (N, sum(W.size + b.size for W, b in layers))
    brought = epiq.combine(y=target, jacobian=J, jacobian0=J0, lambda_=LAMBDA)

    np.testing.assert_allclose(brought.data, inside.data, rtol=tolerance)
    np.testing.assert_allclose(brought.data_interval, inside.data_interval, rtol=10 * tolerance)
    np.testing.assert_allclose(brought.prediction, inside.prediction, atol=tolerance)  # the target's spread is 1, and some are near 0


def test_the_gram_matrix_does_as_well_as_the_jacobian(rows):
    X, y, X0 = rows
    layers = epiq.network_start(D, depth=1, **MODEL)
    J, J0 = (numpy_jacobian(layers, x, float) for x in (X, X0))
    by_jacobian = epiq.combine(y=y, jacobian=J, jacobian0=J0, lambda_=LAMBDA)
    by_gram = epiq.combine(y=y, gram=J @ J.T, cross=J @ J0.T, lambda_=LAMBDA)
    np.testing.assert_allclose(by_gram.data, by_jacobian.data, rtol=1e-10)


def test_another_start_is_another_kernel(rows):
    """so the agreement above is not for want of looking at the weights"""
    X = rows[0]
    J = [numpy_jacobian(epiq.network_start(D, member=k, depth=1, **MODEL), X, float) for k in (0, 1)]
    assert np.abs(J[0] @ J[0].T - J[1] @ J[1].T).max() > 0.1


def test_the_derivatives_written_here_are_those_of_the_network(rows, depth):
    """by central differences along random directions: error of order 1e-10 but for kinks, which 1e-6 steps seldom cross"""
    layers, x = epiq.network_start(D, depth=depth, **MODEL), rows[2]
    random = np.random.default_rng(3)

    def network(layers):
        g = x.T
        for W, b in layers[:-1]:
            g = np.sqrt(2 / WIDTH) * np.maximum(0, W @ g + MODEL["bias"] * b[:, None])
        return (layers[-1][0] @ g + MODEL["bias"] * layers[-1][1][:, None])[0]

    move = [(random.normal(size=W.shape), random.normal(size=b.shape)) for W, b in layers]
    ahead, behind = ([(W + h * v, b + h * u) for (W, b), (v, u) in zip(layers, move)] for h in (1e-6, -1e-6))
    slope = numpy_jacobian(layers, x, float) @ np.concatenate([part.ravel() for pair in move for part in pair])
    np.testing.assert_allclose((network(ahead) - network(behind)) / 2e-6, slope, rtol=1e-6)
