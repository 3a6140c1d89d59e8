"""A PyTorch network of your own: how much of its uncertainty is the training's, how much the data's?

Twenty networks learn all rows, five learn a fifth of them each; epiq gets what they predict and, for the share of every
row, their derivatives. lam is the weight of |theta - theta0|^2 in the loss; if you train without it see docs/python.md.
"""

import torch
from torch.func import functional_call, jacrev, vmap

import epiq

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
n, lam = 200, 1e-2
X = 2 * torch.rand(n, 2) - 1
y = torch.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * torch.randn(n)
y -= y.mean()  # networks start near 0, so should the target
X0 = torch.tensor([[0.0, 0.0], [0.5, 0.5], [0.9, -0.9]])  # the last in a corner of the rows


def train(X, y):
    """From a random start to the minimum of mean squared error + lam |theta - theta0|^2."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    start = [p.detach().clone() for p in net.parameters()]
    descent = torch.optim.LBFGS(net.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def loss():
        descent.zero_grad()
        pull = sum(((p - s) ** 2).sum() for p, s in zip(net.parameters(), start))
        value = ((net(X)[:, 0] - y) ** 2).mean() + lam * pull
        value.backward()
        return value

    descent.step(loss)
    return net.requires_grad_(False)


def predict(nets, X):
    """networks by points"""
    return torch.stack([net(X)[:, 0] for net in nets])


def jacobian(nets, X):
    """points by parameters: derivatives of the networks' predictions, scaled so that J J' is the mean of their kernels"""
    blocks = []
    for net in nets:
        each = vmap(jacrev(lambda theta, x: functional_call(net, theta, x)[0]), (None, 0))(dict(net.named_parameters()), X)
        blocks += [block.flatten(1) for block in each.values()]
    return torch.cat(blocks, 1) / len(nets) ** 0.5


members = [train(X, y) for _ in range(20)]
batches = [train(X[rows], y[rows]) for rows in torch.randperm(n).chunk(5)]
result = epiq.combine(
    ensemble=predict(members, X0), batched=predict(batches, X0),
    jacobian=jacobian(members[:5], X), jacobian0=jacobian(members[:5], X0),
    y=y, yhat=predict(members, X).mean(0), lambda_=lam,
)
print(result)
