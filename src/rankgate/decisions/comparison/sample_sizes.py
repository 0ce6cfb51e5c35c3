"""How many queries a comparison takes, and what it can show, as its own correction decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired import Figures
    from rankgate.decisions.comparison.values import PairedValues
    from rankgate.measurement.stats.planning.sample_size import Samples

    Floats = NDArray[np.float64]

_FLIPS = 10_000


def strictest(test: Test, correction: str, tests: int) -> float:
    """The level that a p-value is below for sure to be significant, regardless of the other tests.

    alpha where nothing is corrected, else alpha over the number of tests: the first step of Holm's
    and of Benjamini and Hochberg's corrections.
    """
    alpha = 1 - test.level
    return alpha if correction == "none" else alpha / max(tests, 1)


def detectables(figures: Figures, test: Test, correction: str, tests: int) -> Floats:
    """(M,) the smallest true differences that these queries show, regardless of the other tests."""
    from rankgate.measurement.stats.planning.power import detectable

    alpha = strictest(test, correction, tests)
    return np.array(
        [
            float(detectable(sd, int(n), alpha, test.power)) if n > 1 and sd else float("nan")
            for n, sd in zip(figures.n, figures.sd, strict=True)
        ]
    )


def queries_needed(
    pairs: Sequence[tuple[PairedValues, Figures]],
    test: Test,
    correction: str,
    wanted: float | None = None,
) -> list[Floats]:
    """How many queries show each metric's difference, after the correction: (M,) a candidate.

    Samples of the measured differences of all metrics and candidates are tested by the paired
    t-test and corrected as the comparison is; a difference is shown where its corrected p is at
    most alpha and its sign is right. The other means stay as measured.

    Args:
        pairs: values and figures of each candidate.
        test: level, power and seed.
        correction: over all metrics and candidates.
        wanted: a true difference for which they are asked instead of the measured one.

    Returns:
        queries with a value; NaN where nothing differs or varies.
    """
    from rankgate.measurement.stats.planning.power import needed
    from rankgate.measurement.stats.planning.sample_size import queries_for

    delta = joined([values for values, _ in pairs])
    size = (~np.isnan(delta)).sum(axis=0)
    sd = np.concatenate([figures.sd for _, figures in pairs])
    measured = np.concatenate([figures.delta for _, figures in pairs])
    usable = np.flatnonzero((size > 1) & (sd > 0) & ((measured != 0) | (wanted is not None)))
    found = np.full(delta.shape[1], np.nan)
    if usable.size:
        alpha = strictest(test, correction, delta.shape[1])
        some = delta[:, usable]
        for targets in _targets(measured[usable], wanted):
            mean, asked = targets
            start = [needed(mean[j], sd[usable[j]], alpha, test.power) for j in asked]
            decide = _decision(some, mean, asked, test, correction, delta.shape[1])
            queries = queries_for(
                some, decide, test.power, mean=mean, start=np.array(start), seed=test.seed
            )
            found[usable[asked]] = queries * size[usable[asked]] / len(delta)
    return np.split(found, len(pairs))


def _targets(measured: Floats, wanted: float | None) -> list[tuple[Floats, NDArray[np.int64]]]:
    """True means, and the columns that are asked about under them."""
    every = np.arange(len(measured))
    if wanted is None:
        return [(measured, every)]
    return [(np.where(every == j, wanted, measured), every[[j]]) for j in every]


def _decision(
    delta: Floats,
    mean: Floats,
    asked: NDArray[np.int64],
    test: Test,
    correction: str,
    tests: int,
) -> Callable[[Samples], NDArray[np.bool_]]:
    """Whether the columns asked about are significant in samples, with the sign of their mean."""
    from scipy.special import stdtr

    from rankgate.measurement.stats.corrections import corrected_rows

    alpha = 1 - test.level
    strict = _max_t_level(delta, alpha, test.seed) if correction == "maxt" else alpha
    method: Any = "none" if correction == "maxt" else correction

    def decide(samples: Samples) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = samples.mean / samples.error
            p = 2 * stdtr(samples.n - 1, -np.abs(t))
        p = np.where(np.isnan(p), 1.0, p)
        still = np.ones((len(p), tests - p.shape[1]))  # tests of what does not differ at all
        p = corrected_rows(np.concatenate([p, still], axis=1), method)[:, asked]
        return np.asarray((p <= strict) & (samples.mean * np.sign(mean) > 0)[:, asked])

    return decide


def _max_t_level(delta: Floats, alpha: float, seed: int) -> float:
    """The level of one test at which max-T rejects: a quantile of the smallest p under flips."""
    from scipy.special import stdtr

    known = ~np.isnan(delta)
    table, n = np.where(known, delta, 0.0), known.sum(axis=0)
    flips = np.random.default_rng(seed).choice((-1.0, 1.0), (_FLIPS, len(table)))
    mean = flips @ table / n
    variance = ((table**2).sum(axis=0) / n - mean**2) * n / (n - 1)
    p = 2 * stdtr(n - 1, -np.abs(mean) / np.sqrt(np.maximum(variance, 1e-300) / n))
    return float(np.quantile(p.min(axis=1), alpha))


def joined(pairs: Sequence[PairedValues]) -> Floats:
    """(T, K·M) differences of all candidates, query by query; NaN if there is none."""
    every = sorted({query for values in pairs for query in values.query_ids})
    place = {query: i for i, query in enumerate(every)}
    parts = []
    for values in pairs:
        part = np.full((len(every), len(values.metrics)), np.nan)
        part[[place[query] for query in values.query_ids]] = values.candidate - values.baseline
        parts.append(part)
    return np.concatenate(parts, axis=1)
