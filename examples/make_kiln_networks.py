#!/usr/bin/env python3
"""Makes kiln_networks.csv: what 20 networks of scikit-learn, trained on kiln.csv from 20 starts, predict for kiln_new.csv.

For `epiq combine`, which takes networks trained anywhere. Needs numpy and scikit-learn; other versions may change digits.
"""
import pathlib

import numpy as np
from sklearn.neural_network import MLPRegressor

FOLDER = pathlib.Path(__file__).parent
rows, new = (np.loadtxt(FOLDER / name, delimiter=",", skiprows=1) for name in ("kiln.csv", "kiln_new.csv"))
X, y = rows[:, :-1], rows[:, -1]
centre, width = X.mean(0), X.std(0)


def predict(seed):
    network = MLPRegressor(hidden_layer_sizes=[32], alpha=1.0, solver="lbfgs", max_iter=5000, random_state=seed)
    network.fit((X - centre) / width, (y - y.mean()) / y.std())
    return y.mean() + y.std() * network.predict((new - centre) / width)


np.savetxt(FOLDER / "kiln_networks.csv", [predict(seed) for seed in range(20)], fmt="%.3f", delimiter=",")
