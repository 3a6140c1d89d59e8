"""PyTorch on the same networks from the same starts to the same loss: float32, on as many threads as there are cores.
    load BASE N D WIDTH LAMBDA DEPTH     rows, starts and batches as the library exports them
    targets R1,R2,...                    epiq's loss of each member; reached is R <= 1.001 of it
    layout [quick]                       seconds of one gradient in every arrangement tried; the fastest is used below;
                                         quick: none that is compiled, which takes half a minute
    tune OPTIMISER MOST SECONDS          best setting of a small grid for two members, within that time: not counted
    train OPTIMISER SETTING FROM TO MOST seconds for members FROM..TO-1, at most MOST gradients each
    settle OPTIMISER SETTING FROM TO MOST  seconds until ten times as many gradients, MOST at most, would gain no more
                                         than 1e-3 of the loss
    steps LR COUNT MODE|fastest          seconds of one plain gradient step, and the loss of member 0 after COUNT
"""
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import torch

from serve import serve

CORES = torch.get_num_threads()
s = SimpleNamespace(layout=("analytic", 1, "inside"), target=None)


def load(base, n, d, width, lam, depth=1):
    s.n, s.d, s.w, s.lam, s.depth = int(n), int(d), int(width), float(lam), int(depth)
    s.x, s.y = np.fromfile(base + ".x").reshape(s.n, s.d), np.fromfile(base + ".y")
    s.batch = np.fromfile(base + ".batch", dtype=np.int64)
    if s.depth > 1:  # as the library has them: of each layer its matrix, then its biases
        size = s.w * (s.d + 1) + (s.depth - 1) * s.w * (s.w + 1) + s.w + 1
        s.start = torch.tensor(np.fromfile(base + ".theta0").reshape(-1, size), dtype=torch.float32)
        return {"members": len(s.start)}
    start = np.fromfile(base + ".theta0").reshape(-1, s.w * (s.d + 2) + 1)
    # W1 and b1 side by side, w by d+1, as if x had a further feature that is 1; then W2, then b2
    w1 = start[:, :s.w * s.d].reshape(-1, s.w, s.d)
    b1 = start[:, s.w * s.d:s.w * (s.d + 1), None]
    first = np.concatenate([w1, b1], 2).reshape(len(start), -1)
    s.start = torch.tensor(np.concatenate([first, start[:, s.w * (s.d + 1):]], 1), dtype=torch.float32)
    return {"members": len(start)}


def targets(losses):
    s.target = torch.tensor([float(r) for r in losses.split(",")]) * 1.001
    return {}


class Problem:
    """R and its gradient of a chunk of members that are trained on the same rows; theta is members x parameters."""

    def __init__(self, members, mode="analytic"):
        number = int(s.batch.max())
        rows = s.batch == members[0] if number >= 0 else slice(None)
        x, y = s.x[rows], s.y[rows]
        self.x = torch.tensor(np.concatenate([x, np.ones((len(x), 1))], 1), dtype=torch.float32)
        self.y = torch.tensor(y, dtype=torch.float32)
        self.start = s.start[members].clone()
        self.target = s.target[members]
        of = self.deep_of if s.depth > 1 else self.analytic_of
        if s.depth > 1:
            self.x = torch.tensor(x, dtype=torch.float32)
        self.analytic = lambda theta: of(theta, self.start, self.x, self.y)
        self.evaluate = {"analytic": self.analytic, "autograd": self.autograd}.get(mode) or compiled(of)
        if mode == "compiled":
            function = self.evaluate
            self.evaluate = lambda theta: function(theta, self.start, self.x, self.y)

    @staticmethod
    def layers(theta):
        """Matrix and biases of each layer of one member, views into theta."""
        sizes, at, got = [(s.w, s.d)] + [(s.w, s.w)] * (s.depth - 1) + [(1, s.w)], 0, []
        for rows, columns in sizes:
            got.append((theta[at:at + rows * columns].view(rows, columns), theta[at + rows * columns:at + rows * (columns + 1)]))
            at += rows * (columns + 1)
        return got

    @staticmethod
    def deep_of(theta, start, x, y):
        """One member of several layers, forward and back written out."""
        n, scale, layers = len(x), (2 / s.w) ** 0.5, Problem.layers(theta[0])
        inputs, slopes = [x], []
        for weights, biases in layers[:-1]:
            f = torch.addmm(biases, inputs[-1], weights.T)
            slopes.append(f > 0)
            inputs.append(torch.relu(f).mul_(scale))
        r = (inputs[-1] @ layers[-1][0].T)[:, 0] + layers[-1][1] - y
        back, parts = r[:, None], []
        for k in range(len(layers) - 1, -1, -1):
            parts[:0] = [(back.T @ inputs[k]).reshape(-1), back.sum(0)]
            if k:
                back = (back @ layers[k][0]).mul_(slopes[k - 1]).mul_(scale)
        moved = theta - start
        grad = torch.cat(parts).view(1, -1).mul(2 / n).add(moved, alpha=2 * s.lam)
        return (r * r).mean().view(1) + s.lam * (moved * moved).sum(1), grad

    @staticmethod
    def analytic_of(theta, start, x, y):
        c, n, w, k = len(theta), len(x), s.w, s.w * (s.d + 1)
        scale = (2 / w) ** 0.5
        first, second = theta[:, :k].view(c, w, s.d + 1), theta[:, k:k + w]
        if c == 1:
            f = x @ first[0].T  # n x w
            g = torch.relu(f)
            r = scale * (g @ second[0]) + theta[0, -1] - y
            back = torch.outer(r, second[0]) * (f > 0)
            parts = [(back.T @ x).view(1, -1) * scale, (r @ g).view(1, -1) * scale, r.sum().view(1, 1)]
            squares = (r * r).mean().view(1)
        else:
            f = torch.matmul(x, first.transpose(1, 2))  # c x n x w
            g = torch.relu(f)
            r = scale * torch.bmm(g, second[:, :, None])[:, :, 0] + theta[:, -1:] - y  # c x n
            back = r[:, :, None] * second[:, None, :] * (f > 0)
            parts = [torch.matmul(back.transpose(1, 2), x).view(c, -1) * scale,
                     torch.bmm(r[:, None, :], g)[:, 0] * scale, r.sum(1, keepdim=True)]
            squares = (r * r).mean(1)
        moved = theta - start
        grad = torch.cat(parts, 1).mul_(2 / n).add_(moved, alpha=2 * s.lam)
        return squares + s.lam * (moved * moved).sum(1), grad

    @torch.enable_grad()
    def autograd(self, theta):
        theta = theta.detach().requires_grad_()
        if s.depth > 1:
            g, layers = self.x, self.layers(theta[0])
            for weights, biases in layers[:-1]:
                g = (2 / s.w) ** 0.5 * torch.relu(torch.addmm(biases, g, weights.T))
            h = (g @ layers[-1][0].T)[:, 0] + layers[-1][1]
            loss = ((h - self.y) ** 2).mean().view(1) + s.lam * ((theta - self.start) ** 2).sum(1)
            loss.sum().backward()
            return loss.detach(), theta.grad
        c, w, k = len(theta), s.w, s.w * (s.d + 1)
        first, second = theta[:, :k].view(c, w, s.d + 1), theta[:, k:k + w]
        g = torch.relu(torch.matmul(self.x, first.transpose(1, 2)))
        h = (2 / w) ** 0.5 * torch.bmm(g, second[:, :, None])[:, :, 0] + theta[:, -1:]
        loss = ((h - self.y) ** 2).mean(1) + s.lam * ((theta - self.start) ** 2).sum(1)
        loss.sum().backward()
        return loss.detach(), theta.grad


_compiled = {}


def compiled(function):
    key = s.n, s.d, s.w, s.depth
    if key not in _compiled:
        _compiled[key] = torch.compile(function)
    return _compiled[key]


# Optimisers: each goes on until every member of the chunk has come down to its target once, or `most` gradients are
# spent, or the time is over; it returns which members got there, the gradients spent, the last loss of its first member and the last weights.

def descend(problem, most, lr, until, update):
    theta, reached, state = problem.start.clone(), torch.zeros(len(problem.start), dtype=torch.bool), {}
    for k in range(most):
        theta, loss = update(problem, theta, lr, k, state)
        reached |= loss <= problem.target
        if bool(reached.all()) or not bool((loss < 1e4).all()) or time.perf_counter() > until:
            break
    return reached, k + 1, float(loss[0]), theta


def gd_step(problem, theta, lr, k, state):
    loss, grad = problem.evaluate(theta)
    return theta.sub_(grad, alpha=lr), loss


def nesterov_step(problem, theta, lr, k, state):
    """Momentum k/(k+3), back to 0 for a member whose loss rose."""
    ahead = state.setdefault("ahead", theta.clone())
    loss, grad = problem.evaluate(ahead)
    last = state.get("loss", loss)
    age = torch.where(loss > last, 0.0, state.get("age", torch.zeros(len(theta))) + 1)
    new = ahead - lr * grad
    state["ahead"] = new + (age / (age + 3))[:, None] * (new - theta)
    state["loss"], state["age"] = loss, age
    return new, loss


def momentum_step(problem, theta, lr, k, state):
    """Heavy ball with 0.99, the usual largest."""
    loss, grad = problem.evaluate(theta)
    v = state.setdefault("v", torch.zeros_like(theta)).mul_(0.99).add_(grad)
    return theta.sub_(v, alpha=lr), loss


def adam_step(problem, theta, lr, k, state):
    loss, grad = problem.evaluate(theta)
    m, v = state.setdefault("m", torch.zeros_like(theta)), state.setdefault("v", torch.zeros_like(theta))
    m.lerp_(grad, 0.1)
    v.lerp_(grad * grad, 0.001)
    root = (v / (1 - 0.999 ** (k + 1))).sqrt_().add_(1e-8)
    return theta.addcdiv_(m, root, value=-lr / (1 - 0.9 ** (k + 1))), loss


class Reached(Exception):
    pass


def lbfgs(problem, most, history, until):
    """torch.optim.LBFGS with a strong Wolfe search, a member at a time."""
    theta = torch.nn.Parameter(problem.start.clone())
    optimiser = torch.optim.LBFGS([theta], max_iter=most, max_eval=most, history_size=int(history),
                                  tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe")
    spent = 0

    def closure():
        nonlocal spent
        spent += 1
        with torch.no_grad():
            loss, theta.grad = problem.evaluate(theta.detach())
        if bool(loss <= problem.target) or time.perf_counter() > until:
            raise Reached
        return loss[0]

    loss = torch.tensor([np.inf])
    try:
        while spent < most:
            before = spent
            optimiser.step(closure)
            if spent - before < 3:
                break
    except Reached:
        pass
    loss = problem.evaluate(theta.detach())[0]
    return loss <= problem.target, spent, float(loss[0]), theta.detach()


OPTIMISERS = {
    "gd": (gd_step, [0.01, 0.02, 0.03, 0.04, 0.06]),
    "nesterov": (nesterov_step, [0.01, 0.02, 0.03, 0.04, 0.06]),
    "momentum": (momentum_step, [0.0003, 0.001, 0.003, 0.01]),
    "adam": (adam_step, [0.003, 0.01, 0.03, 0.1]),
    "lbfgs": (None, [10, 30, 100]),
}


def run_chunk(optimiser, setting, members, most, until, record=None):
    problem = Problem(members, s.layout[0])
    start = time.perf_counter()
    if record is not None:
        evaluate = problem.evaluate

        def recorded(theta):
            loss, grad = evaluate(theta)
            record.append((time.perf_counter() - start, float(loss[0])))
            return loss, grad
        problem.evaluate = recorded
    update = OPTIMISERS[optimiser][0]
    with torch.no_grad() if update else torch.enable_grad():
        if update:
            reached, spent, loss, theta = descend(problem, most, setting, until, update)
        else:
            reached, spent, loss, theta = lbfgs(problem, most, setting, until)
    seconds, k = time.perf_counter() - start, s.w * (s.d + 1)
    if s.depth > 1:
        return seconds, int(reached.sum()), len(members), spent, loss, [float("nan")] * len(members)
    bias = theta[:, s.d:k:s.d + 1]  # members x w: the first layer at x = 0
    mean = (2 / s.w) ** 0.5 * (torch.relu(bias) * theta[:, k:k + s.w]).sum(1) + theta[:, -1]
    return seconds, int(reached.sum()), len(members), spent, loss, mean.tolist()


def run(optimiser, setting, first, last, most, until=np.inf):
    """Chunks one after another with all threads inside, or on as many threads as there are cores with one each."""
    _, size, where = s.layout
    workers = CORES if where == "over" else 1
    size = min(size, -(-(last - first) // workers))  # none is idle
    if optimiser == "lbfgs" or s.depth > 1 or int(s.batch.max()) >= 0:
        size = 1
    chunks = [list(range(k, min(k + size, last))) for k in range(first, last, size)]
    torch.set_num_threads(1 if where == "over" else CORES)
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(torch.get_num_threads(),)) as pool:
        start = time.perf_counter()
        done = list(pool.map(lambda c: run_chunk(optimiser, setting, c, most, until), chunks))
        wall = time.perf_counter() - start
    torch.set_num_threads(CORES)
    good = [t for t, reached, count, *_ in done if reached == count]
    # a chunk that never gets there is given the mean time of those that do: in the peer's favour
    mean = sum(good) / len(good) if good else None
    return {
        "seconds": None if mean is None else mean * len(chunks) / workers,
        "wall": wall,
        "reached": sum(r for _, r, *_ in done),
        "members": last - first,
        "gradients": sorted(d[3] for d in done)[len(done) // 2],
        "loss": done[0][4],
        "mean": [h for d in done for h in d[5]],  # predictions where every scaled feature is 0
    }


def gradient_seconds(mode, size, where, steps, lr=1e-4):
    """Seconds of one gradient step of one member when members are worked on in this arrangement."""
    kept, s.layout, s.target = (s.layout, s.target), (mode, size, where), torch.zeros(len(s.start))
    count = min(len(s.start), 2 * size * (CORES if where == "over" else 1))
    try:
        run("gd", lr, 0, count, 3)
        got = run("gd", lr, 0, count, steps)
    finally:
        s.layout, s.target = kept
    return got["wall"] / steps / count, got["loss"]


def layout(how=""):
    """Every arrangement with the written-out gradient; then the other two ways to a gradient in the best of each kind."""
    tried, failed = [], []
    grid = [("analytic", size, where) for size in ((1,) if s.depth > 1 else (1, 5, 10)) for where in ("inside", "over")]
    turns = 40 if s.depth == 1 else 5
    for name in grid:
        tried.append((gradient_seconds(*name, turns)[0], name))
    best = [min(t for t in tried if t[1][2] == where)[1][1:] for where in ("inside", "over")]
    for name in [(mode, *shape) for mode in (("autograd",) if how == "quick" else ("autograd", "compiled")) for shape in best]:
        try:
            tried.append((gradient_seconds(*name, turns)[0], name))
        except Exception as error:
            failed.append(f"{name[0]}: {error}".splitlines()[0][:100])
    seconds, s.layout = min(tried)
    return {"seconds": seconds, "chosen": " ".join(map(str, s.layout)), "failed": failed,
            "tried": {" ".join(map(str, name)): t for t, name in tried}}


def tune(optimiser, most, seconds):
    best, grid = None, OPTIMISERS[optimiser][1]
    for setting in grid:
        share = min(float(seconds) / len(grid), 2 * best[0] if best else np.inf)
        got = run(optimiser, setting, 0, 2, int(most), time.perf_counter() + share)
        if got["reached"] and (best is None or got["seconds"] < best[0]):
            best = got["seconds"], setting, got["gradients"]
    if best is None:
        return {"missing": f"no setting tried gets one of two members there in {most} gradients and {seconds} s"}
    return {"setting": best[1], "seconds": best[0], "gradients": best[2]}


def train(optimiser, setting, first, last, most):
    run(optimiser, float(setting), int(first), int(last), 2)  # torch.compile may have a new shape to compile for
    return run(optimiser, float(setting), int(first), int(last), int(most))


def settle(optimiser, setting, first, last, most):
    """By the standard epiq's own training is held to: the first k gradients whose lowest loss is within 1e-3 of the
    lowest of 10 k. Nobody would know k in advance: the time is that of k, not of finding out."""
    kept, s.target = s.target, torch.zeros(len(s.start))
    records = [[] for _ in range(int(first), int(last))]
    torch.set_num_threads(1)
    with ThreadPoolExecutor(CORES, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        list(pool.map(lambda k: run_chunk(optimiser, float(setting), [int(first) + k], int(most), np.inf, records[k]),
                      range(len(records))))
    torch.set_num_threads(CORES)
    s.target, seconds, gradients, losses = kept, [], [], []
    for record in records:
        lowest = np.minimum.accumulate([loss for _, loss in record])
        k = np.arange(1, len(lowest) // 10 + 1)
        there = np.nonzero(lowest[k - 1] <= 1.001 * lowest[10 * k - 1])[0]
        if len(there):
            seconds.append(record[there[0]][0])
            gradients.append(int(k[there[0]]))
            losses.append(float(lowest[there[0]]))
    if not seconds:
        return {"missing": f"still gains more than 1e-3 between {int(most) // 10} and {most} gradients"}
    return {"seconds": sum(seconds) / len(seconds) / CORES, "gradients": sorted(gradients)[len(gradients) // 2],
            "losses": losses, "settled": len(seconds), "members": len(records)}


def steps(lr, count, mode):
    how = s.layout if mode == "fastest" else (mode, 1, "inside")
    seconds, loss = gradient_seconds(*how, int(count), float(lr))
    return {"seconds": seconds, "loss": loss}


serve({"load": load, "targets": targets, "layout": layout, "tune": tune, "train": train, "settle": settle,
       "steps": steps})
