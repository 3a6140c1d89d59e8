"""scikit-learn's MLPRegressor: how much of its uncertainty is the training's, how much the data's?

Without derivatives: thirty networks trained on all rows, ten on a tenth of them each, and what they predict. The data part is
then a difference of two variances, which has no interval; EpistemicRegressor gives it one. The penalty in MLPRegressor's loss
is alpha over the number of rows: alpha grows with the rows here, so that it is the same for all networks.
"""

import numpy as np
from sklearn.neural_network import MLPRegressor

import epiq

random = np.random.default_rng(1)
X = random.uniform(-1, 1, (600, 2))
y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.5 * random.normal(size=600)
X0 = np.array([[0.0, 0.0], [0.5, 0.5], [0.9, -0.9]])


def predict(seed, rows):
    net = MLPRegressor(hidden_layer_sizes=[64], alpha=0.003 * len(rows), solver="lbfgs", max_iter=2000, random_state=seed)
    return net.fit(X[rows], y[rows]).predict(X0)


everything = np.arange(len(X))
batches = random.permutation(everything).reshape(10, -1)
result = epiq.combine(
    ensemble=[predict(seed, everything) for seed in range(30)],
    batched=[predict(100 + k, rows) for k, rows in enumerate(batches)],
    y=y,
)
print(result)
