#!/usr/bin/env python3
"""Makes kiln.csv, kiln_test.csv and kiln_new.csv, a made-up table to try epiq on: no tile in it was ever fired.

Floor tiles are pressed, dried and fired; then one of each lot is broken, and the bending strength noted. The truth that
the rows are drawn from is strength() below. examples/README.md says what was put into the table on purpose.
Usage: python3 make_kiln.py [FOLDER]      the same bytes every time
"""
import math
import pathlib
import random
import sys

ROWS, TEST_ROWS = 360, 90
HEADER = "peak_c,soak_min,feldspar_pct,moisture_pct,pressure_mpa,ramp_c_per_h"
DIGITS = (0, 0, 1, 1, 1, 0)  # decimals of the features
NEW = [
    (1050, 40, 22.0, 5.5, 30.0, 150),  # a usual lot of the cool programme
    (1195, 45, 22.0, 5.5, 32.0, 160),  # the hottest lots, whose strength scatters
    (1108, 40, 22.0, 5.5, 30.0, 150),  # between the two programmes
    (1185, 40, 33.0, 5.5, 30.0, 150),  # a rich body fired hot, of which there is none
    (1030, 30, 16.0, 4.2, 24.0, 235),  # each value is usual, together they are rare
    (1250, 40, 22.0, 5.5, 30.0, 150),  # hotter than any lot
]


def strength(peak, soak, feldspar, moisture, pressure, ramp):
    """MPa: sintering grows with heat, time and flux, and past its best the body bloats; damp or hasty lots crack."""
    sintered = (peak - 1000) / 60 + 0.6 * math.log(soak / 30) + 0.07 * (feldspar - 20)
    dense = 1 / (1 + math.exp(1.6 - 1.3 * sintered)) - 0.01 * max(0.0, sintered - 2.6) ** 2
    cracks = 0.5 * max(0.0, moisture - 6) ** 2 + 2.5 * max(0.0, (ramp - 180) / 60) ** 2
    return 14 + 34 * dense + 0.22 * (pressure - 30) - cracks


def noise_sd(peak):
    """Lots scatter by 0.9 MPa, and by up to four times as much where they were fired hottest."""
    return 0.9 + 3.0 / (1 + math.exp((1175 - peak) / 6))


def lot(draw):
    """Features of one lot. Two programmes of the kiln leave a gap between 1080 and 1135 degrees."""
    peak = draw.uniform(1000, 1080) if draw.random() < 0.55 else draw.uniform(1135, 1200)
    soak = 20 + 70 * draw.random() ** 1.5
    feldspar = draw.uniform(15, 35) if peak < 1100 else draw.uniform(15, 26)  # rich bodies are fired cool
    moisture = min(8.0, max(4.0, draw.gauss(5.6, 0.8)))
    pressure = draw.choice((24.0, 28.0, 30.0, 32.0, 36.0)) + draw.uniform(-0.5, 0.5)
    ramp = draw.uniform(90, 240)
    return [round(v, k) for v, k in zip((peak, soak, feldspar, moisture, pressure, ramp), DIGITS)]


def written(x):
    return [f"{v:.{k}f}" for v, k in zip(x, DIGITS)]


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    draw = random.Random(4)
    for name, rows in ("kiln.csv", ROWS), ("kiln_test.csv", TEST_ROWS):
        lines = [HEADER + ",strength_mpa"]
        for _ in range(rows):
            x = lot(draw)
            y = strength(*x) + noise_sd(x[0]) * draw.gauss(0, 1)
            lines.append(",".join([*written(x), f"{y:.1f}"]))
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "kiln_new.csv").write_text("\n".join([HEADER, *(",".join(written(x)) for x in NEW)]) + "\n")


if __name__ == "__main__":
    main()
