"""Read by mypy alone: what a caller may write, and (lines marked so) what not."""

import epiq
import numpy as np

X = np.zeros((10, 2))
result = epiq.decompose(X, X[:, 0], at="mean", members=5, lambda_=0.1, engine="linear", methods=["if", "ev"])
mean: float = float(result.prediction.mean())
variance = result[0]["data"]
text: str = result.advice["text"]
result.to_frame().describe()
epiq.decompose([[1.0, 2.0]], [1.0], ["mean", "row:1"])
epiq.decompose(X, X[:, 0], membres=5)  # wrong
epiq.decompose(X, X[:, 0], engine="big")  # wrong
epiq.combine(X, until=0.3, level=0.9, append="state", merge=["a", "b"])
epiq.combine(X, width=5)  # wrong
vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = epiq.targets(X[:, 0], X[:, 1], X.T, 5, seed=2)
epiq.combine(X, y=X[:, 0], yhat=X[:, 1], left_out=X.T, retrained=vectors, targets=vectors, replicates=5)
epiq.combine(X, replicates="five")  # wrong
W, b = epiq.network_start(3, width=4)[0]
shape: tuple[int, ...] = W.shape + b.shape
try:
    pass
except epiq.InputError as error:
    said: ValueError = error
