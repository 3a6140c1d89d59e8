"""A JAX network of your own: how much of its uncertainty is the training's, how much the data's?

Twenty networks learn all rows, five learn a fifth of them each; epiq gets what they predict and, for the share of every
row, their derivatives. LAM is the weight of |theta - theta0|^2 in the loss; if you train without it see docs/python.md.
"""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

import epiq

jax.config.update("jax_enable_x64", True)
N, WIDTH, LAM = 200, 128, 3e-3
keys = jax.random.split(jax.random.key(1), 28)
X = jax.random.uniform(keys[0], (N, 2), minval=-1, maxval=1)
y = jnp.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * jax.random.normal(keys[1], N)
y -= y.mean()  # networks start near 0, so should the target
X0 = jnp.array([[0.0, 0.0], [0.5, 0.5], [0.9, -0.9]])  # the last in a corner of the rows


def start(key):
    w, b, v = jnp.split(jax.random.normal(key, (4, WIDTH)), [2, 3])
    return {"w": w, "b": b[0], "v": v[0], "c": 0.0}


def network(theta, x):
    return jax.nn.relu(x @ theta["w"] + theta["b"]) @ theta["v"] / WIDTH**0.5 + theta["c"]


def train(key, X, y):
    """From a random start to the minimum of mean squared error + LAM |theta - theta0|^2, by steps with momentum."""
    theta0, shape = ravel_pytree(start(key))
    loss = lambda t: jnp.mean((network(shape(t), X) - y) ** 2) + LAM * jnp.sum((t - theta0) ** 2)

    def step(_, state):
        t, speed = state
        speed = 0.95 * speed - 0.05 * jax.grad(loss)(t + 0.95 * speed)
        return t + speed, speed

    return shape(jax.lax.fori_loop(0, 1000, step, (theta0, jnp.zeros_like(theta0)))[0])


def jacobian(nets, X):
    """points by parameters: derivatives of the networks' predictions, scaled so that J J' is the mean of their kernels"""
    one = lambda theta, x: ravel_pytree(jax.grad(network)(theta, x))[0]
    each = jax.vmap(jax.vmap(one, (None, 0)), (0, None))(nets, X)  # networks, points, parameters
    return jnp.concatenate(each, 1) / len(each) ** 0.5


members = jax.jit(jax.vmap(train, (0, None, None)))(keys[2:22], X, y)
rows = jax.random.permutation(keys[27], N).reshape(5, -1)
batches = jax.jit(jax.vmap(train))(keys[22:27], X[rows], y[rows])
predict = jax.vmap(network, (0, None))  # networks by points
some = jax.tree.map(lambda leaf: leaf[:5], members)
result = epiq.combine(
    ensemble=predict(members, X0), batched=predict(batches, X0),
    jacobian=jacobian(some, X), jacobian0=jacobian(some, X0),
    y=y, yhat=predict(members, X).mean(0), lambda_=LAM,
)
print(result)
