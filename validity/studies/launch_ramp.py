"""Steps of a ramp in many worlds at once, decided as ``rankgate online watch`` decides them.

Users of a day are drawn as counts of what they did: searches and clicks, and intervals of latency.
Verdicts are computed for all worlds together; some of them are checked against `kpi_check.check`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtri
from scipy.stats import beta, binom, gamma, poisson

from rankgate.decisions.gating.kpi_check import check_kpi
from rankgate.decisions.gating.kpi_evidence import KpiEvidence
from rankgate.measurement.stats.experiment_arms import MOST_SKEWED
from rankgate.measurement.stats.sequential_experiments import half_width
from rankgate.online.experiments.effects import MIN_SKEWNESS
from rankgate.online.experiments.units import Units, measure_from_kpi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST, CLICKS = 6, 0.6  # searches of a user; how often one has a click
BINS = 1000
PATIENCE = 3  # a step is given up after so many times its days
_CHECKED = 12  # looks for each KPI and step
_BLOCK = 250


@dataclass(frozen=True)
class Ramp:
    """What a policy says of a ramp.

    Attributes:
        steps: with ``share``, ``days`` and ``passes``.
        alpha: that a step may spend.
        clicks, waiting: relative losses that are acceptable.
        tuned_to: units at which intervals are narrowest.
        users: that come on a day.
    """

    steps: Sequence[Mapping[str, Any]]
    alpha: float
    clicks: float
    waiting: float
    tuned_to: int
    users: int


@dataclass(frozen=True)
class StepResult:
    """How a step ends in each world.

    Attributes:
        passed: (W,) whether it passes on some day, and has not failed before.
        days: (W,) until it passes or fails, or is given up.
    """

    passed: Bools
    days: Floats


@dataclass(frozen=True)
class Gain:
    """A relative gain at each look in each world.

    Attributes:
        low: (W, L) bound that a pass needs.
        high: (W, L) bound that a fail needs.
    """

    low: Floats
    high: Floats


def ramp_results(
    ramp: Ramp, truths: Sequence[tuple[float, float]], worlds: int, seed: int
) -> dict[tuple[float, float], list[StepResult]]:
    """By the true gains of clicks and of waiting, how each step ends."""
    results: dict[tuple[float, float], list[StepResult]] = {truth: [] for truth in truths}
    for index, step in enumerate(ramp.steps):
        clicks = {
            gain: _gains(_clicks, ramp, step, gain, worlds, [seed, index, 1])
            for gain in sorted({gain for gain, _ in truths})
        }
        waiting = {
            gain: _gains(_waiting, ramp, step, gain, worlds, [seed, index, 2])
            for gain in sorted({gain for _, gain in truths})
        }
        last = index + 1 == len(ramp.steps)
        for click_gain, waiting_gain in truths:
            margins = {
                "clicks": (clicks[click_gain], ramp.clicks),
                "waiting": (waiting[waiting_gain], ramp.waiting),
            }
            results[click_gain, waiting_gain].append(_ended(margins, step, last=last))
    return results


def _ended(rules: Mapping[str, tuple[Gain, float]], step: Mapping[str, Any], *, last: bool) -> StepResult:
    """The first look at which a rule fails, or those that must pass do after enough days."""
    must = step.get("passes") or (list(rules) if last else [])
    failed = np.any([gain.high < -margin for gain, margin in rules.values()], axis=0)
    is_finite = np.all([np.isfinite(gain.low) for gain, _ in rules.values()], axis=0)
    passed_rules = [rules[name][0].low > -rules[name][1] for name in must]
    late = np.arange(1, failed.shape[1] + 1) >= step["days"]
    passing = np.all([is_finite, *passed_rules], axis=0) & late & ~failed
    looks = failed.shape[1]
    pass_look = np.where(passing.any(axis=1), passing.argmax(axis=1), looks)
    stop = np.where(failed.any(axis=1), failed.argmax(axis=1), looks)
    return StepResult(pass_look < stop, np.minimum(np.minimum(pass_look, stop) + 1, looks).astype(float))


def _gains(
    draw: Any,  # noqa: ANN401 - a KPI
    ramp: Ramp,
    step: Mapping[str, Any],
    gain: float,
    worlds: int,
    seed: list[int],
) -> Gain:
    """The bounds of a KPI on every day of a step; equal seeds give equal users to every gain."""
    random = np.random.default_rng(seed)
    looks = step["days"] * PATIENCE
    parts = [
        draw(ramp, step["share"], gain, min(_BLOCK, worlds - begin), looks, random)
        for begin in range(0, worlds, _BLOCK)
    ]
    return Gain(*(np.concatenate([getattr(block, name) for block in parts]) for name in ("low", "high")))


def _arms(ramp: Ramp, share: float, worlds: int, looks: int, random: np.random.Generator) -> Ints:
    """(W, L, 2) users of the old and the new engine on each day."""
    new = random.binomial(ramp.users, share, (worlds, looks))
    return np.stack([ramp.users - new, new], axis=-1)


def _clicks(
    ramp: Ramp, share: float, gain: float, worlds: int, looks: int, random: np.random.Generator
) -> Gain:
    """The share of searches with a click, by users who differ in how often they click."""
    users = _arms(ramp, share, worlds, looks, random)
    searches, hits = np.array([(n, k) for n in range(1, MOST + 1) for k in range(n + 1)]).T
    old, new = (_cells(searches, hits, factor) for factor in (1.0, 1 + gain))
    counts = np.stack(
        [random.multinomial(users[..., arm], chance) for arm, chance in enumerate((old, new))], -2
    ).cumsum(axis=1)  # (W, L, 2, cells)
    n = counts.sum(axis=-1)
    y, x = counts @ hits / n, counts @ searches / n
    ratio = y / x
    centred = hits - ratio[..., None] * searches
    variance = (counts * centred**2).sum(axis=-1) / (n - 1)
    se = np.sqrt(variance / n) / x
    bounds = _bounds(ratio, se, n, ramp, _skewness(counts, centred / x[..., None], n), better=1)
    _compare(
        bounds,
        ramp,
        "search_ctr",
        ramp.clicks,
        counts,
        random,
        {"value": hits.astype(float), "per": searches.astype(float)},
        1.0,
    )
    return bounds


def _skewness(counts: Ints, shares: Floats, n: Ints) -> Floats:
    """(W, L) the skewness of the difference, of units' shares in the ratios of both arms."""
    total = n.sum(axis=-1)
    second, third = ((counts * shares**power).sum(axis=(-1, -2)) / total for power in (2, 3))
    control, treatment = np.moveaxis(n, -1, 0)
    scale = (1 / treatment**2 - 1 / control**2) / (1 / treatment + 1 / control) ** 1.5
    skewness = np.clip(third / second**1.5 * scale, -MOST_SKEWED, MOST_SKEWED)
    return np.where(np.abs(skewness) < MIN_SKEWNESS, 0.0, skewness)


def _cells(searches: Ints, hits: Ints, factor: float) -> Floats:
    """The chance of each pair of searches and clicks; users' rates are beta, times a factor."""
    rates = beta.ppf((np.arange(200) + 0.5) / 200, 6, 4) * factor
    clicked = binom.pmf(hits[:, None], searches[:, None], np.minimum(rates, 1.0))
    chance = poisson.pmf(searches - 1, 0.5) * clicked.mean(axis=1)
    return np.asarray(chance / chance.sum())


def _waiting(
    ramp: Ramp, share: float, gain: float, worlds: int, looks: int, random: np.random.Generator
) -> Gain:
    """The median latency, of one search of each user; a loss is a longer one."""
    users = _arms(ramp, share, worlds, looks, random)
    values = gamma.ppf((np.arange(BINS) + 0.5) / BINS, 5, scale=20)
    counts = random.multinomial(users, np.full(BINS, 1 / BINS)).cumsum(axis=1)  # (W, L, 2, BINS)
    n = counts.sum(axis=-1)
    ends = counts.cumsum(axis=-1)
    middle = (n - 1) / 2
    spread = float(ndtri(0.975)) * np.sqrt(n * 0.25)
    low, high = np.floor(n / 2 - spread), np.ceil(n / 2 + spread)
    quantiles = [values[_place(ends, rank)] for rank in (np.floor(middle), np.ceil(middle), low, high)]
    factor = np.array([1.0, 1 - gain])
    value = (quantiles[0] + quantiles[1]) / 2 * factor
    se = (quantiles[3] - quantiles[2]) / (2 * float(ndtri(0.975))) * factor
    se = np.where((low < 0) | (high > n - 1), np.nan, se)
    bounds = _bounds(value, se, n, ramp, np.zeros(n.shape[:2]), better=-1)
    _compare(bounds, ramp, "latency_p50", ramp.waiting, counts, random, {"value": values}, 1 - gain)
    return bounds


def _place(ends: Ints, order: Floats) -> Ints:
    """Which bin holds the value of an order, from 0."""
    return np.minimum((ends <= order[..., None]).sum(axis=-1), ends.shape[-1] - 1)


def _bounds(value: Floats, se: Floats, n: Ints, ramp: Ramp, skewness: Floats, better: int) -> Gain:
    """Always-valid bounds of the relative gain, from (W, L, 2) values of both arms.

    They are Fieller's, of the test of the difference with its correction for skewness (W, L).
    """
    (old, new), (error, new_error) = (np.moveaxis(per_arm, -1, 0) for per_arm in (value, se))
    ends = []
    for alpha in (ramp.alpha, ramp.alpha / 2):  # of a pass, and of a fail of one of two rules
        reach = half_width(np.ones(old.shape), n.sum(axis=-1), 2 * alpha, ramp.tuned_to)
        bounds = []
        for side in (-1, 1):
            square = _unskewed(-side * reach, skewness) ** 2
            first, last = old**2 - square * error**2, new**2 - square * new_error**2
            inner = (old * new) ** 2 - first * last
            with np.errstate(divide="ignore", invalid="ignore"):
                root = (old * new + side * np.sqrt(np.maximum(inner, 0))) / first
            no_end = (first == 0) | ((inner <= 0) & (first < 0)) | (side * (root - new / old) < 0)
            bounds.append(np.where(no_end, side * np.inf, root - 1))
        low, high = (np.where(np.isnan(error + new_error), np.nan, end) for end in bounds)
        ends.append((low, high) if better > 0 else (-high, -low))
    return Gain(ends[0][0], ends[1][1])


def _unskewed(reach: Floats, skewness: Floats) -> Floats:
    """`TwoMeans._unskewed` of many."""
    skew = np.where(skewness == 0, 1.0, skewness)
    start, value = -3 * 0.6 / skew, (0.4**3 - 1) / skew + skew / 6
    plain = 3 / skew * (np.cbrt(1 + skew * (reach - skew / 6)) - 1)
    straight = np.where((reach - value) * skew < 0, start + reach - value, plain)
    return np.where(skewness == 0, reach, straight)


def _compare(
    found: Gain,
    ramp: Ramp,
    kpi: str,
    margin: float,
    counts: Ints,
    random: np.random.Generator,
    values: Mapping[str, Floats],
    factor: float,
) -> None:
    """Check some looks against the project's own decision.

    Raises:
        AssertionError: a bound differs.
    """
    for _ in range(_CHECKED if len(counts) < _BLOCK else 1):
        world, look = random.integers(counts.shape[0]), random.integers(counts.shape[1])
        frames = []
        for arm, name in enumerate(("old", "new")):
            rows = {
                key: np.repeat(cell_values, counts[world, look, arm]) for key, cell_values in values.items()
            }
            if "per" not in rows and arm:
                rows["value"] = rows["value"] * factor
            frames.append(pl.DataFrame(rows).with_columns(variant=pl.lit(name)))
        all_units = pl.concat(frames).with_row_index("unit").with_columns(pl.col("unit").cast(pl.Int64))
        units = Units(all_units.select("unit", "variant"), {kpi: all_units.drop("variant")})
        evidence = KpiEvidence(units, "old", "new", ramp.alpha, 2, tuned_to=ramp.tuned_to)
        decision = check_kpi(evidence, measure_from_kpi(kpi), -margin, relative=True)
        status = (
            "pass"
            if found.low[world, look] > -margin
            else ("fail" if found.high[world, look] < -margin else "inconclusive")
        )
        is_equal = np.isclose(decision.low, found.low[world, look], rtol=1e-6, atol=1e-6, equal_nan=True)
        if not is_equal or decision.status != status:
            raise AssertionError(f"{kpi}: {status}, but rankgate says {decision.status}")
