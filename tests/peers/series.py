#!/usr/bin/env python3
"""Writes `values/time2vec.json`: Time2Vec has no package, so its formula is here, from the paper, in float64. Needs NumPy alone.
"""

import json
from pathlib import Path

import numpy as np

VALUES = Path(__file__).parent / "values"
random = np.random.default_rng(41)


def numbers(*shape, spread=1.0):
    """Random float64 numbers that are float32 numbers too."""
    return random.normal(0.0, spread, shape).astype(np.float32).astype(np.float64)


def shortest(numbers):
    """float32 numbers as the shortest decimals that read back as themselves."""
    return [float(str(number)) for number in np.asarray(numbers, dtype=np.float32).ravel()]


def rounded(numbers):
    """float64 numbers to 12 digits."""
    return [float(f"{number:.12g}") for number in np.asarray(numbers).ravel()]


def write(name, cases):
    lines = (json.dumps(case, separators=(",", ":"), allow_nan=False) for case in cases)
    (VALUES / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


def time2vec():
    """Kazemi et al. 2019, *Time2Vec: Learning a Vector Representation of Time*, eq. 1, and the gradients of ω and φ of a
    weighted sum."""
    for width, span, times in [
        (1, 4.0, [0.0, 1.0, 3.5]),
        (6, 1.0, [0.0, 0.125, 0.5, 1.0]),
        (7, 3600.0, [-7.25, 0.0, 9.5, 21.0, 30.25, 3600.0]),
        (16, 90.0, list(range(90))),
    ]:
        omega, phi, weights = numbers(width, spread=5.0), numbers(width), numbers(len(times), width)
        rows, of_omega, of_phi = np.zeros((len(times), width)), np.zeros(width), np.zeros(width)
        for row, time in enumerate(times):
            tau = time / span
            for i in range(width):
                argument = omega[i] * tau + phi[i]
                rows[row, i] = argument if i == 0 else np.sin(argument)
                slope = weights[row, i] * (1.0 if i == 0 else np.cos(argument))
                of_omega[i] += slope * tau
                of_phi[i] += slope
        yield {
            "config": {"d_model": width, "span": span},
            "times": times,
            "omega": shortest(omega),
            "phi": shortest(phi),
            "weights": shortest(weights),
            "rows": rounded(rows),
            "gradients": [rounded(of_omega), rounded(of_phi)],
        }


if __name__ == "__main__":
    write("time2vec", time2vec())
