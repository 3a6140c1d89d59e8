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
plan = epiq.plan(X, X[:, 0], price_row=1, price_training=2, goal_sd=0.5, width=64)
cost: float = plan.recommended["cost"]
epiq.plan(X, X[:, 0])  # wrong
comparison = epiq.compare(X, X[:, 0], width=[16, 32], lambda_=1e-3, progress=True)
epiq.compare(X, X[:, 0], state="file")  # wrong
ranking = epiq.explore(X, X[:, 0], X, rule="data", progress=lambda stage, done, total: None)
epiq.explore(X, X[:, 0], X, rule="best")  # wrong
chosen = X[ranking.picks]
epiq.decompose(X, target="y", at={"a": 1.0}, progress=print)
epiq.decompose(X, X[:, 0], progress="yes")  # wrong
regressor = epiq.load("model.epiq")
prediction, sd = regressor.predict(X, return_std=True)
regressor.save("model.epiq")
low: float = float(regressor.predict_interval(X, 0.9)[0, 0]) - regressor.noise_
rmse = regressor.score_report(X, X[:, 0])["rmse"]
epiq.score("model.epiq", X, X[:, 0], level=0.8).to_frame()
epiq.score("model.epiq")  # wrong
W, b = epiq.network_start(3, width=4)[0]
shape: tuple[int, ...] = W.shape + b.shape
try:
    pass
except epiq.InputError as error:
    said: ValueError = error
