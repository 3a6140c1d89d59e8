#!/usr/bin/env python3
"""The tangent kernel of one hidden layer (docs/method.md section 2) and its Cholesky factor on a GPU, in float64, as a user would
write them with CuPy or JAX; and the device's ceilings, by PyTorch. Prints one JSON object per line: who, what, seconds or a rate.

    bench/peer_gpu_kernel.py ROWS FEATURES"""
import json
import sys
import time

import numpy

TURNS = 5


def least(ask):
    """Seconds of the fastest of TURNS calls, after one to warm up."""
    taken = []
    for _ in range(TURNS + 1):
        start = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - start)
    return min(taken[1:])


def kernel(np, x):
    g = x @ x.T + 1
    norm = np.sqrt(np.diagonal(g))
    norm = norm[:, None] * norm[None, :]
    rho = np.clip(g / norm, -1, 1)
    angle = np.arccos(rho)
    return (g * (np.pi - angle) + norm * (np.sin(angle) + (np.pi - angle) * rho)) / np.pi + 1


def cupy(x):
    import cupy
    x, end = cupy.asarray(x), cupy.cuda.Stream.null.synchronize
    k = kernel(cupy, x)
    k += 1e-3 * len(x) * cupy.eye(len(x))
    yield "kernel", least(lambda: (kernel(cupy, x), end()))
    yield "factor", least(lambda: (cupy.linalg.cholesky(k), end()))
    del k
    cupy.get_default_memory_pool().free_all_blocks()


def jax(x):
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    x = jnp.asarray(x)
    fused, factor = jax.jit(lambda x: kernel(jnp, x)), jax.jit(jnp.linalg.cholesky)
    k = fused(x) + 1e-3 * len(x) * jnp.eye(len(x))
    yield "kernel", least(lambda: fused(x).block_until_ready())
    yield "factor", least(lambda: factor(k).block_until_ready())


def ceilings():
    """Products of 8192 by 8192 matrices and a copy of 8 GB."""
    import torch
    n, size = 8192, 1 << 30
    for name, kind, rough in (("dgemm", torch.float64, False), ("sgemm", torch.float32, False), ("TF32 gemm", torch.float32, True)):
        torch.backends.cuda.matmul.allow_tf32 = rough
        a, b = (torch.randn(n, n, dtype=kind, device="cuda") for _ in range(2))
        yield name, 2 * n**3 / least(lambda: (a @ b, torch.cuda.synchronize()))
    a = torch.randn(size, device="cuda")
    b = torch.empty_like(a)
    yield "copy", 2 * 4 * size / least(lambda: (b.copy_(a), torch.cuda.synchronize()))


def main():
    rows, features = map(int, sys.argv[1:])
    x = numpy.random.default_rng(1).standard_normal((rows, features))
    for name, rate in ceilings():
        print(json.dumps({"who": "machine", "what": name, "rate": rate}), flush=True)
    for who, ask in (("CuPy", cupy), ("JAX", jax)):
        try:
            for what, seconds in ask(x):
                print(json.dumps({"who": who, "what": what, "seconds": seconds}), flush=True)
        except Exception as error: # a peer that is not installed, or fails, gets a row with the reason
            print(json.dumps({"who": who, "missing": f"{type(error).__name__}: {error}".splitlines()[0][:160]}), flush=True)


main()
