#!/usr/bin/env python3
"""Writes `values/statistics.json`: what SciPy says about made-up scores, for `crates/pe-lab/tests/statistics.rs`.

SciPy has Welch's test of two samples, but not of contrasts of many means, so the stratified test is computed here
from the general formula: for an estimate `Σ c_i x̄_i` of independent groups, `V = Σ c_i² s_i² / n_i` and
`df = V² / Σ (c_i² s_i² / n_i)² / (n_i − 1)` (Satterthwaite 1946), with SciPy's Student distribution. The pooled tests
are those of an analysis of variance: `s²` is that of all groups of a task together.
"""

import json
from pathlib import Path

import numpy as np
from scipy import optimize, stats


def contrast(groups, coefficients):
    groups = [np.asarray(group) for group in groups]
    estimate = sum(c * group.mean() for c, group in zip(coefficients, groups))
    parts = [c * c * group.var(ddof=1) / len(group) for c, group in zip(coefficients, groups)]
    variance = sum(parts)
    df = variance**2 / sum(part**2 / (len(group) - 1) for part, group in zip(parts, groups))
    return estimate, np.sqrt(variance), df


def pooled(tasks):
    """For each task the groups of all schemes, the two that are compared first."""
    parts = []
    for groups in tasks:
        df = sum(len(group) - 1 for group in groups)
        variance = sum(group.var(ddof=1) * (len(group) - 1) for group in groups) / df
        parts.append((variance * (1 / len(groups[0]) + 1 / len(groups[1])) / len(tasks) ** 2, df))
    variance = sum(part for part, _ in parts)
    return np.sqrt(variance), variance**2 / sum(part**2 / df for part, df in parts)


def test(value, error, df, margin):
    t = stats.t(df)
    half = t.ppf(0.975) * error
    return {
        "t": value / error,
        "df": df,
        "p": 2 * t.sf(abs(value / error)),
        "low": value - half,
        "high": value + half,
        "p_level": t.sf((margin - abs(value)) / error),
    }


def level(a, b, margin):
    """Two one-sided Welch tests: the larger p."""
    above = stats.ttest_ind(a, b - margin, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(a, b + margin, equal_var=False, alternative="less").pvalue
    return max(above, below)


def pair(a, b, others=(), margin=0.02):
    """Scores by task and seed, and those of other schemes of the same study."""
    a, b = np.asarray(a), np.asarray(b)
    schemes = [a, b, *(np.asarray(other) for other in others)]
    s_a, s_b = a.mean(axis=0), b.mean(axis=0)
    welch = stats.ttest_ind(s_a, s_b, equal_var=False)
    interval = welch.confidence_interval(0.95)
    tasks = len(a)
    value, error, df = contrast([*a, *b], [1 / tasks] * tasks + [-1 / tasks] * tasks)
    difference = s_a.mean() - s_b.mean()
    by_seed = pooled([[scheme.mean(axis=0) for scheme in schemes]])
    by_task = pooled([[scheme[task] for scheme in schemes] for task in range(tasks)])
    if len(schemes) == 2 and tasks == 1:
        assert np.isclose(stats.ttest_ind(s_a, s_b).pvalue, test(difference, *by_seed, margin)["p"])
    return {
        "a": a.tolist(),
        "b": b.tolist(),
        "others": [other.tolist() for other in schemes[2:]],
        "margin": margin,
        "difference": difference,
        "by_seed": {
            "t": welch.statistic,
            "df": welch.df,
            "p": welch.pvalue,
            "low": interval.low,
            "high": interval.high,
            "p_level": level(s_a, s_b, margin),
        },
        "by_task": test(value, error, df, margin),
        "pooled_by_seed": test(difference, *by_seed, margin),
        "pooled_by_task": test(difference, *by_task, margin),
    }


def bounded(schemes, low):
    """The interval of each scheme between `low` and 1: the means that are `t` standard errors away are found by Brent's
    method. See `crates/pe-lab/src/stats/bounded.rs`."""

    def most(mean):
        return (mean - low) * (1 - mean)

    own = []
    for scores in schemes:
        tasks, n = scores.shape
        seeds = scores.mean(axis=0)
        parts = scores.var(axis=1, ddof=1) / n / tasks**2
        df = parts.sum() ** 2 / (parts**2 / (n - 1)).sum()
        own.append((seeds.mean(), n, seeds.var(ddof=1) / n, parts.sum(), df))
    df_shared = sum(n - 1 for _, n, *_ in own)
    shared = sum((n - 1) * n * v for _, n, v, *_ in own) / sum((n - 1) * most(mean) for mean, n, *_ in own)
    found = []
    for mean, n, by_seed, by_task, df in own:
        each = []
        for dispersion, df in [(by_seed / most(mean), n - 1), (by_task / most(mean), df), (shared / n, df_shared)]:
            t = stats.t.ppf(0.975, df)
            f = lambda mu: (mean - mu) ** 2 - t * t * dispersion * most(mu)
            each.append((optimize.brentq(f, low, mean, xtol=1e-14), optimize.brentq(f, mean, 1, xtol=1e-14)))
        found.append(max(each, key=lambda ends: ends[1] - ends[0]))
    return {"schemes": [scores.tolist() for scores in schemes], "low": low, "found": found}


def main():
    rng = np.random.default_rng(17)
    pairs = []
    for tasks, seeds_a, seeds_b, shift, spread in [
        (1, 5, 5, 0.1, 0.05),
        (1, 3, 3, 0.3, 0.05),
        (1, 3, 8, 0.05, 0.02),
        (4, 3, 3, 0.05, 0.03),
        (8, 5, 5, 0.01, 0.05),
        (8, 5, 4, 0.0, 0.01),
        (9, 12, 12, 0.004, 0.02),
        (2, 30, 25, 0.001, 0.002),
    ]:
        a = rng.normal(0.8 + shift, spread, (tasks, seeds_a))
        b = rng.normal(0.8, spread * rng.uniform(0.3, 3), (tasks, seeds_b))
        others = [rng.normal(0.6, 0.1, (tasks, n)).round(6) for n in (4, 3)[: len(pairs) % 3]]
        pairs.append(pair(a.round(6), b.round(6), others))
    # One scheme does not vary, or varies on one task only.
    pairs.append(pair([[1.0] * 5], [[0.9, 0.95, 0.91, 0.99, 0.97]]))
    pairs.append(pair([[1.0] * 4, [0.5, 0.6, 0.55, 0.7]], [[1.0] * 4, [1.0] * 4]))

    tails = [
        {"t": t, "df": df, "p": 2 * stats.t.sf(t, df)}
        for df in [0.5, 1, 1.7, 4, 7.3, 30, 1000]
        for t in [0.01, 0.5, 1, 2.5, 6, 20, 300]
    ]
    intervals = [
        bounded([rng.beta(4 * n, n, (tasks, n)).round(6) for n in seeds], low)
        for tasks, seeds, low in [(1, [5], 0.0), (1, [3, 8, 5], -0.25), (3, [5, 5, 3, 4], -1 / 3), (4, [2, 12], 0.0)]
    ]
    values = {"pairs": pairs, "tails": tails, "intervals": intervals}
    file = Path(__file__).parent / "values" / "statistics.json"
    file.write_text(json.dumps(values, indent=1) + "\n")


main()
