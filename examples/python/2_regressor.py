"""Fit once, ask often: a regressor with scikit-learn's conventions whose predictions come with their own error."""

import pickle

import numpy as np

from epiq import EpistemicRegressor

random = np.random.default_rng(1)
X = random.uniform(-1, 1, (300, 2))
y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * random.normal(size=300)
regressor = EpistemicRegressor(members=20, width=256, random_state=7).fit(X[:250], y[:250])
print(f"R2 on rows it has not seen: {regressor.score(X[250:], y[250:]):.3f}")

X0 = np.array([[0.0, 0.0], [0.5, -0.5], [2.0, 2.0]])  # the last lies far outside the rows
prediction, sd, parts = predicted = regressor.predict(X0, return_std=True, return_parts=True)
for x, h, s, retraining, data in zip(X0, prediction, sd, parts.procedural, parts.data):
    print(f"at {x}: {h:6.3f} give or take {s:.3f}; one network {np.sqrt(data + retraining):.3f},", end=" ")
    print(f"{data / (data + retraining):.0%} of its variance from the data")

again = pickle.loads(pickle.dumps(regressor)).predict(X0)
print("a copy from a pickle predicts the same:", np.array_equal(again, prediction))
