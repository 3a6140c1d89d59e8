"""scikit-learn's MLPRegressor as people use it: its defaults, one hidden layer of 1024. Its loss is another one: no
NTK scaling, weight decay towards 0 instead of towards the start, and it stops after 200 epochs of Adam at most.
    fit BASE N D SEED
"""
import time
import warnings

import numpy as np
from sklearn.neural_network import MLPRegressor

from serve import serve


def fit(base, n, d, seed):
    x, y = np.fromfile(base + ".x").reshape(int(n), int(d)), np.fromfile(base + ".y")
    model = MLPRegressor(hidden_layer_sizes=(1024,), random_state=int(seed))
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "mse": float(((model.predict(x) - y) ** 2).mean()), "epochs": model.n_iter_}


serve({"fit": fit})
