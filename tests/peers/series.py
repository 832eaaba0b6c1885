#!/usr/bin/env python3
"""Writes the values of Time2Vec, TUPE and eRPE: `time2vec.json`, `tupe.json`, `erpe.json`.

No package has them, so their formulas are here, from the papers, pair by pair and in float64. Needs NumPy alone.
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


def bucket(distance):
    """That of T5 (Raffel et al. 2020) for a distance, key minus query: 32 buckets up to a distance of 128."""
    first = 16 if distance > 0 else 0
    steps = abs(distance)
    if steps < 8:
        return first + steps
    return first + min(15, 8 + int(np.log(steps / 8) / np.log(128 / 8) * 8))


def tupe():
    """Ke et al. 2021, *Rethinking Positional Encoding in Language Pre-training*, eq. 7, and eq. 8 with its relative term, for
    each head: (x_i W_Q)(x_j W_K) / √(2d) + (p_i U_Q)(p_j U_K) / √(2d) + b_(j − i). `query` and `key` are x W_Q and x W_K. The
    gradients are those of a weighted sum of all scores."""
    for width, heads, length, start, queries, relative in [
        (8, 2, 16, 0, 16, False),
        (12, 3, 40, 30, 4, False),
        (8, 2, 40, 0, 40, True),
    ]:
        d = width // heads
        p, u_q, u_k = numbers(length, width), numbers(width, width, spread=0.4), numbers(width, width, spread=0.4)
        b = numbers(32, heads)
        keys = start + queries
        q, k, weights = numbers(heads, queries, d), numbers(heads, keys, d), numbers(heads, queries, keys)
        scores = np.zeros((heads, queries, keys))
        of = {name: np.zeros_like(x) for name, x in [("q", q), ("k", k), ("table", p), ("query", u_q), ("key", u_k), ("relative", b)]}
        for h in range(heads):
            own = slice(h * d, (h + 1) * d)
            for i in range(queries):
                at = start + i
                for j in range(keys):
                    p_q, p_k = p[at] @ u_q[:, own], p[j] @ u_k[:, own]
                    scores[h, i, j] = (q[h, i] @ k[h, j] + p_q @ p_k) / np.sqrt(2 * d)
                    slope = weights[h, i, j] / np.sqrt(2 * d)
                    of["q"][h, i] += slope * k[h, j]
                    of["k"][h, j] += slope * q[h, i]
                    of["table"][at] += slope * u_q[:, own] @ p_k
                    of["table"][j] += slope * u_k[:, own] @ p_q
                    of["query"][:, own] += slope * np.outer(p[at], p_k)
                    of["key"][:, own] += slope * np.outer(p[j], p_q)
                    if relative:
                        scores[h, i, j] += b[bucket(j - at), h]
                        of["relative"][bucket(j - at), h] += weights[h, i, j]
        if not relative:
            del of["relative"]
        leaves = {"q": q, "k": k, "table": p, "query": u_q, "key": u_k, "relative": b}
        yield {
            "d_model": width,
            "heads": heads,
            "max_len": length,
            "start": start,
            "queries": queries,
            "leaves": {name: shortest(leaves[name]) for name in of},
            "weights": shortest(weights),
            "scores": rounded(scores),
            "gradients": {name: rounded(gradient) for name, gradient in of.items()},
        }


def erpe():
    """Foumani et al. 2023, *Improving Position Encoding of Transformers for Multivariate Time Series Classification*, eq. 14:
    α_i = Σ_j (A_ij + w_(i − j)) x_j for each head, with A the softmax of q_i · k_j / √d_head over the keys that a query attends
    to. The row of w_(i − j) is i − j + L − 1, as in `relative_bias_table` of the authors' code. The gradients are those of a
    weighted sum of all α, for the table and the values."""
    for heads, d, length, seq, causal in [(2, 4, 9, 9, False), (3, 2, 12, 7, False), (2, 4, 9, 9, True)]:
        table = numbers(2 * length - 1, heads, spread=0.3)
        q, k, v = numbers(heads, seq, d), numbers(heads, seq, d), numbers(heads, seq, d)
        weights = numbers(heads, seq, d)
        output, of_table, of_v = np.zeros_like(v), np.zeros_like(table), np.zeros_like(v)
        for h in range(heads):
            for i in range(seq):
                seen = range(i + 1 if causal else seq)
                e = [np.exp(q[h, i] @ k[h, j] / np.sqrt(d)) for j in seen]
                for j in seen:
                    row = i - j + length - 1
                    factor = e[j] / sum(e) + table[row, h]
                    output[h, i] += factor * v[h, j]
                    of_table[row, h] += weights[h, i] @ v[h, j]
                    of_v[h, j] += factor * weights[h, i]
        yield {
            "heads": heads,
            "max_len": length,
            "causal": causal,
            "table": shortest(table),
            "qkv": [shortest(part) for part in (q, k, v)],
            "weights": shortest(weights),
            "output": rounded(output),
            "gradients": [rounded(of_table), rounded(of_v)],
        }


if __name__ == "__main__":
    write("time2vec", time2vec())
    write("tupe", tupe())
    write("erpe", erpe())
