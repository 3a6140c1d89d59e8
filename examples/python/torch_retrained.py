"""The data variance of a PyTorch network as it is: any layers, any optimiser, no derivative needed.

Twenty networks learn all rows, ten learn four fifths of them each (five folds, two starts); epiq makes twenty vectors of
targets from what they predict, and forty networks learn these, each pair of vectors from the same two starts. How far the
predictions follow the targets is what other rows would do to them.
"""

import torch

import epiq

torch.manual_seed(1)
torch.set_num_threads(1)  # networks this small are slower with more
n, decay = 200, 1e-3
X = 2 * torch.rand(n, 2) - 1
y = torch.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * torch.randn(n)
X0 = 2 * torch.rand(50, 2) - 1  # where to ask: points like the rows, none of which is one of them


def train(start, X, y):
    """A network that learns these rows from that start."""
    torch.manual_seed(start)
    net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1), torch.nn.Flatten(0))
    adam = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=decay * n / len(y))  # of the sum the same for fewer rows
    for _ in range(300):
        adam.zero_grad()
        torch.nn.functional.mse_loss(net(X), y).backward()
        adam.step()
    return net.requires_grad_(False)


members = [train(start, X, y) for start in range(20)]
fitted = torch.stack([net(X) for net in members]).mean(0)

left_out = torch.empty(2, n)  # what networks say of rows they have not seen
for fold in torch.randperm(n).chunk(5):
    rest = ~torch.isin(torch.arange(n), fold)
    for k in range(2):
        left_out[k, fold] = train(100 + k, X[rest], y[rest])(X[fold])

targets = torch.tensor(epiq.targets(y, fitted, left_out), dtype=torch.float32)
retrained = [[train((2 * (k // 2) + s) % 20, X, target)(X0) for s in range(2)] for k, target in enumerate(targets)]
result = epiq.combine(
    ensemble=torch.stack([net(X0) for net in members]), y=y, yhat=fitted, left_out=left_out,
    retrained=torch.stack([torch.stack(pair) for pair in retrained]), targets=targets,
)
print(result)
