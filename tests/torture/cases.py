"""The tables and questions that numbers break on. Each case: rows, where to ask, options, and what epiq must say of it."""
import math
import random
from dataclasses import dataclass, field


@dataclass
class Case:
    name: str
    x: list  # rows of features
    y: list
    at: list = None  # points; default: the middle of the rows, and the first row
    options: dict = field(default_factory=dict)
    warns: tuple = ()  # codes that must be there
    refused: tuple = None  # (exit code, part of the sentence): there is no answer
    digits: int = 60  # to reckon with

    def points(self):
        d = len(self.x[0])
        return self.at or [[math.fsum(r[j] / len(self.x) for r in self.x) for j in range(d)], self.x[0]]


def rows(n=14, d=2, seed=1):
    draw = random.Random(seed)
    x = [[round(draw.gauss(0, 1), 3) for _ in range(d)] for _ in range(n)]
    return x, [round(math.sin(2 * r[0]) + r[-1]**2 / 2 + 0.3 * draw.gauss(0, 1), 3) for r in x]


def up(v):
    return math.nextafter(v, math.inf)


def scaled(x, j, by, plus=0.0):
    return [[v * by + plus if k == j else v for k, v in enumerate(r)] for r in x]


def collect():
    x, y = rows()
    half, y_half = x[:7], y[:7]
    twice = half + half
    beside = half + [[up(r[0])] + r[1:] for r in half]
    cases = [
        Case("plain rows", x, y),
        Case("duplicate rows", twice, y, warns=("duplicate_rows",)),
        Case("duplicate rows, same targets", twice, y_half + y_half, warns=("duplicate_rows",)),
        Case("rows 1 ulp apart", beside, y),
        Case("all rows equal", [x[0]] * 14, y, warns=("duplicate_rows", "constant_columns")),
        Case("feature at 1e300", scaled(x, 0, 1e300), y),
        Case("feature at 1e-300", scaled(x, 0, 1e-300), y),
        Case("feature at 1e-310", scaled(x, 0, 1e-310), y, refused=(2, "varies by less than a double")),
        Case("feature at 1e300, not scaled", scaled(x, 0, 1e300), y, options={"scale": "none"},
             refused=(3, "too large to be squared")),
        Case("feature at 1e140, not scaled", scaled(x, 0, 1e140), y, options={"scale": "none"}, digits=700),
        Case("feature at 1e-300, not scaled", scaled(x, 0, 1e-300), y, options={"scale": "none"}),
        Case("features at 1e-200, not scaled, no bias", scaled(scaled(x, 0, 1e-200), 1, 1e-200), y,
             options={"scale": "none", "bias": 0}, refused=(3, "too small to be squared")),
        Case("features at 1e-100, not scaled, no bias", scaled(scaled(x, 0, 1e-100), 1, 1e-100), y,
             options={"scale": "none", "bias": 0}, warns=("out_of_range",)),
        Case("feature spanning all doubles", [[1.7e308 if i % 2 else -1.7e308, r[1]] for i, r in enumerate(x)], y),
        Case("feature spanning all doubles, minmax", [[1.7e308 if i % 2 else -1.7e308, r[1]] for i, r in enumerate(x)], y,
             options={"scale": "minmax"}, refused=(2, "spans more than a double")),
        Case("feature at 1e9 + x", scaled(x, 0, 1, 1e9), y),
        Case("feature at 1e14 + x", scaled(x, 0, 1, 1e14), y, warns=("last_digits",)),
        Case("feature in its last bit", [[1.0 if i % 3 else up(1.0), r[1]] for i, r in enumerate(x)], y),
        Case("million-fold scales", scaled(x, 0, 1e6), y),
        Case("million-fold scales, not scaled", scaled(x, 0, 1e6), y, options={"scale": "none"}),
        Case("million-fold scales, minmax", scaled(x, 0, 1e6), y, options={"scale": "minmax"}),
        Case("collinear columns", [[r[0], r[1], 2 * r[0], r[0] - r[1]] for r in x], y),
        Case("columns 1 ulp from collinear", [[r[0], up(r[0])] for r in x], y),
        Case("-0.0 beside 0.0", [[0.0, r[1]] for r in half] + [[-0.0, r[1]] for r in half], y,
             warns=("duplicate_rows", "constant_columns")),
        Case("opposite rows, no bias", half + [[-v for v in r] for r in half], y, options={"bias": 0},
             at=[[0.3, -0.2], half[1]]),
        Case("a row of zeros, no bias, not scaled", [[0.0, 0.0]] + x[1:], y, options={"bias": 0, "scale": "none"},
             at=[[0.3, -0.2], [0.0, 0.0]], warns=("zero_by_construction",)),
        Case("more columns than rows", *rows(8, 9)),  # from 10 on the networks are drawn in other coordinates: test_run_wide
        Case("two rows", x[:2], y[:2]),
        Case("two rows of one feature", [[1.0], [2.0]], [3.0, 5.0]),
        Case("one row of one feature", [[1.0]], [2.0], refused=(2, "only one row")),
        Case("a dense line", [[i / 24] for i in range(24)], rows(24, 1)[1]),
        Case("constant target", x, [3.25] * 14, warns=("constant_target",)),
        Case("target at 1e150", x, [v * 1e150 for v in y]),
        Case("target at 1e-150", x, [v * 1e-150 for v in y]),
        Case("target at 1e300", x, [v * 1e300 for v in y], warns=("out_of_range",)),
        Case("target at 1e-300", x, [v * 1e-300 for v in y], warns=("out_of_range",)),
        Case("target at 1e-310", x, [v * 1e-310 for v in y], refused=(2, "varies by less than a double")),
        Case("target at 1e300, a point 1e12 deviations away", x, [v * 1e300 for v in y], at=[[1e12, 0.5]],
             refused=(3, "too large for a double")),
        Case("target at 1e9 + y", x, [v + 1e9 for v in y]),
        Case("target in its last bit", x, [up(1.0) if v > 0 else 1.0 for v in y]),
        Case("one target 1e8 times the others", x, [1e8] + y[1:]),
        Case("a point 1e12 deviations away", x, y, at=[[1e12, 0.5], [-1e12, 1e12]], warns=("outside_range",)),
        Case("a point 1e140 deviations away", x, y, at=[[1e140, 0.5]], digits=400, warns=("outside_range",)),
        Case("a point 1e200 deviations away", x, y, at=[[1e200, 0.5]], refused=(3, "too far from the rows")),
        Case("width 1", x, y, options={"width": 1}),
        Case("depth 30", x, y, options={"depth": 30}),
        Case("depth 30, duplicate rows", twice, y, options={"depth": 30}, warns=("duplicate_rows",)),
        Case("depth 30, no bias", x, y, options={"depth": 30, "bias": 0}, at=[[0.3, -0.2], x[1]]),
        Case("depth 1000", x[:5], y[:5], options={"depth": 1000}),
        Case("bias 1e6", x, y, options={"bias": 1e6}),
        Case("bias 1e6, starting at zero", x, y, options={"bias": 1e6, "bias-sd": 0}, at=[[0.3, -0.2], x[1]]),
        Case("the mean, biases starting at zero", x, y, options={"bias-sd": 0}, warns=("jump",)),
        Case("bias 1e3", x, y, options={"bias": 1e3}),
        Case("bias 1e-6", x, y, options={"bias": 1e-6}),
        Case("bias spread 1e6", x, y, options={"bias-sd": 1e6}),
        Case("bias 0", x, y, options={"bias": 0}, at=[[0.3, -0.2], x[1]]),
    ]
    for name, table, targets in (("", x, y), (", duplicate rows", twice, y), (", rows 1 ulp apart", beside, y)):
        cases += [Case(f"lambda 1e{k}{name}", table, targets, options={"lambda": f"1e{k}"},
                       warns=("duplicate_rows",) if "duplicate" in name else ()) for k in range(-16, 17, 4)]
    for t in ("1e-12", "1", "1e12"):
        cases.append(Case(f"stopped at time {t}", x, y, options={"time": t}))
        cases.append(Case(f"stopped at time {t}, bias spread 1e6", x, y, options={"time": t, "bias-sd": 1e6}))
        cases.append(Case(f"stopped at time {t}, duplicate rows", twice, y, options={"time": t}, warns=("duplicate_rows",)))
    cases.append(Case("stopped late, lambda 1e-16, duplicate rows", twice, y, options={"time": "1e14", "lambda": "1e-16"},
                      warns=("duplicate_rows",)))
    return cases
