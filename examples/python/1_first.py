"""Arrays in, an answer out: how sure is a network's prediction, why not surer, what would help?"""

import numpy as np

import epiq

random = np.random.default_rng(1)
X = random.uniform(-1, 1, (500, 3))
y = 20 + 5 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * random.normal(size=500)

result = epiq.decompose(X, y, at=[[0.0, 0.0, 0.0], [0.9, 0.9, -0.9]])
print(result)
print("standard deviation of one network", np.sqrt(result.single))
