"""Peers that say how sure they are, for scoreboard.py and truth.py. Each learns from a table whose last column is the
target and answers at a table of points, with features alone; both are CSV with a header.

    METHOD ROWS.csv POINTS.csv SEED

    gp             scikit-learn's Gaussian process: constant * RBF with a scale for each feature + white noise
    ensemble       deep ensemble of Lakshminarayanan et al. (2017): five networks of 50 units that give a mean and a
                   variance, by their likelihood; 40 epochs in batches of 100, as published. Adam has step size 0.03, with
                   which errors are about those published: with the 0.1 of that paper single networks go astray here
    ensemble_long  the same with 400 epochs and step size 0.01
    laplace        one network of 50 units and Laplace's approximation with the full Gauss-Newton matrix; the prior's
                   precision and the noise by the evidence, updated as it trains
    mapie          MAPIE's CV+ with 10 folds around scikit-learn's MLPRegressor of 50 units

An answer has lists with a number for each point: mean, sd of an observation, epistemic sd (that of the mean, as the
method sees it), lo and hi of the 95 % interval of an observation. MAPIE gives mean, lo and hi alone.
"""
import warnings

import numpy as np
import torch
from mapie.regression import CrossConformalRegressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from serve import serve

UNITS, NETWORKS, NORMAL_95 = 50, 5, 1.959963984540054


def read(rows, points):
    table, at = (np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2) for path in (rows, points))
    scaler = StandardScaler().fit(table[:, :-1])
    y = table[:, -1]
    return scaler.transform(table[:, :-1]), y, scaler.transform(at), y.mean(), y.std() or 1.0


def answer(mean, epistemic_variance, noise_variance):
    sd = np.sqrt(epistemic_variance + noise_variance)
    lists = {"mean": mean, "sd": sd, "epistemic": np.sqrt(epistemic_variance), "lo": mean - NORMAL_95 * sd,
             "hi": mean + NORMAL_95 * sd}
    return {name: np.asarray(values, float).tolist() for name, values in lists.items()}


def gp(rows, points, seed):
    x, y, at, _, spread = read(rows, points)
    kernel = ConstantKernel() * RBF(np.ones(x.shape[1]), (1e-2, 1e4)) + WhiteKernel(0.1, (1e-8, 1e2))
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=int(seed)).fit(x, y)
    mean, sd = model.predict(at, return_std=True)
    noise = model.kernel_.k2.noise_level * spread**2
    return answer(mean, np.maximum(sd**2 - noise, 0), noise)


# ---- networks: all of an ensemble in one tensor ----

def start(count, inputs, outputs):
    """Weights as torch.nn.Linear draws them."""
    shapes = [(count, inputs, UNITS), (count, 1, UNITS), (count, UNITS, outputs), (count, 1, outputs)]
    bounds = [inputs**-0.5] * 2 + [UNITS**-0.5] * 2
    return [((2 * torch.rand(shape) - 1) * bound).requires_grad_() for shape, bound in zip(shapes, bounds)]


def forward(weights, x):
    a, b, c, d = weights
    return torch.relu(x @ a + b) @ c + d


def ensemble_of(epochs, rate, batch=100):
    def run(rows, points, seed):
        x, y, at, centre, spread = read(rows, points)
        torch.manual_seed(int(seed))
        x, at, y = (torch.tensor(v, dtype=torch.float32) for v in (x, at, (y - centre) / spread))
        weights = start(NETWORKS, x.shape[1], 2)
        adam = torch.optim.Adam(weights, lr=rate)

        def outputs(z):
            mean, raw = forward(weights, z).unbind(-1)
            return mean, torch.nn.functional.softplus(raw) + 1e-6

        for _ in range(epochs):
            order = torch.stack([torch.randperm(len(y)) for _ in range(NETWORKS)])
            for part in order.split(batch, dim=1):
                mean, variance = outputs(x[part])
                loss = (variance.log() + (y[part] - mean) ** 2 / variance).mean(1).sum() / 2
                adam.zero_grad()
                loss.backward()
                adam.step()
        with torch.no_grad():
            mean, variance = (v.numpy().astype(float) for v in outputs(at.expand(NETWORKS, *at.shape)))
        return answer(centre + spread * mean.mean(0), spread**2 * mean.var(0), spread**2 * variance.mean(0))

    return run


def laplace(rows, points, seed, rounds=10, steps=200):
    x, y, at, centre, spread = read(rows, points)
    torch.manual_seed(int(seed))
    x, at, y = (torch.tensor(v, dtype=torch.float64) for v in (x, at, (y - centre) / spread))
    weights = [w.detach().double().requires_grad_() for w in start(1, x.shape[1], 1)]
    adam, precision, noise = torch.optim.Adam(weights, lr=0.01), 1.0, 0.1

    def jacobian(z):
        """Of the outputs by all weights: written out, since there is one hidden layer."""
        a, b, c, _ = (w[0].detach() for w in weights)
        hidden = torch.relu(z @ a + b)
        back = (hidden > 0) * c[:, 0]
        return torch.cat([(z[:, :, None] * back[:, None, :]).flatten(1), back, hidden, torch.ones_like(hidden[:, :1])], 1)

    for _ in range(rounds):
        for _ in range(steps):
            residual = y - forward(weights, x)[0, :, 0]
            squares = torch.stack([(w**2).sum() for w in weights]).sum()
            loss = (residual**2).sum() / noise + precision * squares
            adam.zero_grad()
            loss.backward()
            adam.step()
        values, vectors = torch.linalg.eigh(jacobian(x).T @ jacobian(x))
        values, weight, error = values.clamp(min=0), squares.item(), (residual**2).sum().item()
        for _ in range(20):  # MacKay's updates at these weights
            known = float((values / (values + precision * noise)).sum())
            precision = known / weight
            noise = max(error / max(len(y) - known, 1.0), 1e-8)
    with torch.no_grad():
        variance = ((jacobian(at) @ vectors) ** 2 / (values / noise + precision)).sum(1)
        mean = forward(weights, at)[0, :, 0]
    return answer(centre + spread * mean.numpy(), spread**2 * variance.numpy(), spread**2 * noise)


def mapie(rows, points, seed):
    x, y, at, _, _ = read(rows, points)
    network = MLPRegressor(hidden_layer_sizes=(UNITS,), max_iter=1000, random_state=int(seed))
    model = TransformedTargetRegressor(network, transformer=StandardScaler())
    folds = KFold(10, shuffle=True, random_state=int(seed))
    model = CrossConformalRegressor(model, confidence_level=0.95, cv=folds).fit_conformalize(x, y)
    mean, ends = model.predict_interval(at)
    return {"mean": mean.tolist(), "lo": ends[:, 0, 0].tolist(), "hi": ends[:, 1, 0].tolist()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    serve({"gp": gp, "ensemble": ensemble_of(40, 0.03), "ensemble_long": ensemble_of(400, 0.01), "laplace": laplace,
           "mapie": mapie})
