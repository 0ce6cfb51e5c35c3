"""The result of ``sweep``: every point with its figures, the front, the choice.

`choose` chooses a setting, and estimates its gain on queries that were not used to choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.layout import NOTICES, Layout, Texts, View, plain_rows
from rankgate.core.present.number_formats import count_noun
from rankgate.core.value_types import JsonObject
from rankgate.decisions.sweeps import sweep_parts
from rankgate.decisions.sweeps.dials import Dial, Importance, point_text, value_text
from rankgate.measurement.stats.mean_intervals import guarded_ends, guarded_interval, skewness
from rankgate.measurement.stats.paired_tests import student_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.present.document_model import PlainRows
    from rankgate.core.value_types import Json
    from rankgate.data.query_latencies import Bounds


@dataclass(frozen=True)
class MeanInterval:
    """The mean of a metric, or of a setting's gain over the baseline, with its interval.

    Attributes:
        mean: the mean over queries.
        low: the lower end of its interval; None where there is too little to make one.
        high: the upper end.
    """

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Choice:
    """The chosen setting.

    Attributes:
        place: its index among the settings.
        same_queries: its gain on the queries that it was chosen by, which is too high.
        p_value: the p-value of this gain, without a correction for the choice.
        held_out: the gain on held-out queries of what the other queries choose.
        stability: the share of the choices by parts of the queries that fall on it.
        folds: parts of the queries.
    """

    place: int
    same_queries: MeanInterval
    p_value: float | None
    held_out: MeanInterval
    stability: float
    folds: int

    @property
    def optimism(self) -> float:
        """The gain on the queries used for choosing, less the held-out gain."""
        return self.same_queries.mean - self.held_out.mean


def choose(
    gains: Floats, baseline: int, *, folds: int, repeats: int, level: float, seed: int
) -> Choice | None:
    """The setting with the highest mean, and its gain over the baseline on held-out queries.

    Queries are cut into K folds at random, R times. Each fold gives the gain, query by query, of
    the setting that is best on the other folds; the estimate is the mean over all queries and
    repeats. Choices by overlapping queries depend on each other, so that the usual standard error
    s/√n is too small: its 95 % interval covers in 83 to 93 % of simulated sweeps. The interval
    therefore has the corrected standard error of Nadeau and Bengio,

        se² = s² (1/n + 1/n_t),   n_t = n (K − 1)/K queries that choose,

    with s² the variance of the held-out gains, mean over the repeats, and each end moved outwards
    by their skewness, as the gate does (`guarded_ends`). It covers the true gain of the chosen
    setting in 95 % or more of these simulations (docs/sweeps.md).

    Args:
        gains: ``(n, P)``, each setting's value less the baseline's, query by query.
        baseline: its column, the first of equals.
        folds: K.
        repeats: R.
        level: the confidence level of the intervals.
        seed: the seed of the folds.

    Returns:
        The choice; None with fewer than two queries.

    Source: Nadeau and Bengio, Machine Learning 52, 2003, doi:10.1023/A:1024068626366; Varma and
    Simon, BMC Bioinformatics 7:91, 2006, on nested cross-validation.
    """
    n = len(gains)
    if n < 2:
        return None
    count = min(folds, n)
    order = np.r_[baseline, np.delete(np.arange(gains.shape[1]), baseline)]
    table = gains[:, order]  # argmax takes the first of equals
    best = int(table.sum(axis=0).argmax())
    held_out_gains, variance_sum, same_choices = np.zeros(n), 0.0, 0
    for parts in _partitions(n, count, repeats, seed):
        fold_gains, choices = _held_out_gains(table, parts)
        held_out_gains += fold_gains
        variance_sum += float(fold_gains.var(ddof=1))
        same_choices += int((choices == best).sum())
    held_out_gains /= repeats
    error = np.sqrt(variance_sum / repeats * (1 / n + 1 / (n - n / count)))
    delta = table[:, best]
    return Choice(
        place=int(order[best]),
        same_queries=_gain_of_choosing(delta, level),
        p_value=None if not np.ptp(delta) else float(student_test(delta).p_value[0]),
        held_out=_interval(held_out_gains, float(error), level),
        stability=same_choices / (repeats * count),
        folds=count,
    )


def _partitions(n: int, folds: int, repeats: int, seed: int) -> Iterator[list[NDArray[np.intp]]]:
    """Random folds of the queries, with a new draw for each repeat."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        yield np.array_split(rng.permutation(n), folds)


def _held_out_gains(table: Floats, parts: list[NDArray[np.intp]]) -> tuple[Floats, NDArray[np.intp]]:
    """The gain of each query by the setting that the other folds choose, and these settings."""
    sums = np.array([table[fold].sum(axis=0) for fold in parts])
    choices = (sums.sum(axis=0) - sums).argmax(axis=1)
    held_out_gains = np.empty(len(table))
    for fold, chosen_setting in zip(parts, choices, strict=True):
        held_out_gains[fold] = table[fold, chosen_setting]
    return held_out_gains, choices


def _interval(held_out_gains: Floats, error: float, level: float) -> MeanInterval:
    mean = float(held_out_gains.mean())
    if len(held_out_gains) < 3:
        return MeanInterval(mean, None, None)
    low, high = guarded_ends(
        np.array([mean]), np.array([error]), skewness(held_out_gains), len(held_out_gains), level
    )
    return MeanInterval(mean, float(low[0]), float(high[0]))


def _gain_of_choosing(delta: Floats, level: float) -> MeanInterval:
    """The mean gain with the gate's interval."""
    if not np.ptp(delta):  # the chosen setting is the baseline, or differences are equal
        mean = float(delta[0])
        return MeanInterval(mean, mean if mean == 0 else None, mean if mean == 0 else None)
    interval = guarded_interval(delta, level)
    return MeanInterval(float(interval.mean[0]), float(interval.low[0]), float(interval.high[0]))


# the codec reads the types of fields when it restores a result

_CHARTS = "rankgate.decisions.sweeps.charts.sweep_charts"
_SHOWN = 3  # problems that a notice names
_LEFT_OUT = (
    ("failed", "failed", "; the same command goes on"),
    ("not_run", "were not run", "; the same command goes on"),
    ("empty", "returned nothing", ""),
)


@dataclass(frozen=True)
class SweepPoint:
    """One point.

    Attributes:
        parameters: a value for each dial; None where the dial does not apply.
        hash: the hash of all that its run depends on.
        state: ``ok``, ``empty`` (no query has a result), ``failed`` or ``not_run``.
        problem: why it is not ``ok``.
        metrics: the figures by metric; empty if it is not ``ok``.
        latency: quantiles in milliseconds, p50 to p100; empty where nothing was timed.
        latency_at_most: the largest possible quantiles; None where failed queries leave it open.
        latency_low: the lower end of the interval of the quantile for the front; None if points
            were not timed in turn.
        latency_high: the upper end.
        run: the file of its run, or None.
    """

    parameters: Mapping[str, Any]
    hash: str
    state: str
    problem: str = ""
    metrics: Mapping[str, MeanInterval] = field(default_factory=dict)
    latency: Mapping[str, float | None] = field(default_factory=dict)
    latency_at_most: Mapping[str, float | None] = field(default_factory=dict)
    latency_low: float | None = None
    latency_high: float | None = None
    run: str | None = None

    def latency_bounds(self, quantile: str) -> Bounds:
        """The smallest and the largest possible value; points of earlier versions have one value."""
        low = self.latency.get(quantile)
        return low, self.latency_at_most.get(quantile, low)


@dataclass(frozen=True)
class Sweep(Result):
    """Settings measured point by point, and one of them chosen.

    Attributes:
        name: the name of the sweep.
        target: the name of the engine, fusion or command.
        target_kind: engine, fusion or command.
        search: grid or optuna.
        qrels: the name of the judgments.
        convention: name, hash and axes.
        metrics: the metrics; the first one decides.
        lower: those that are better when lower.
        queries: the number of queries of the means.
        left_out: judged queries that were not asked.
        substituted: queries without a value at some points, which count 0 there, or nowhere if the
            first metric is better when lower.
        space: the dials.
        points: every point; the first is the baseline, the values now.
        quantile: the quantile of latency, for the front.
        front: places of the points that no other point is at least as good as and known to be
            faster than, the fastest first; empty where points were not timed in turn.
        choice: the chosen point and its gain; None where nothing can be chosen.
        importance: the importance of dials, then of pairs of dials.
        level: the confidence level of the intervals.
        seed: the seed of folds and proposals.
        repeats: the number of times that the queries were cut into folds.
        folder: the folder of runs; None if they are not kept.
        not_timed: why points were not timed in turn; empty if they were, or have no latency.
        input_notices: cautions about the judgments and the runs.
    """

    kind: ClassVar[str] = "sweep"
    label: ClassVar[str] = "Sweep"
    order: ClassVar[int] = 28
    charts: ClassVar[Mapping[str, str]] = {
        "sweep-front": f"{_CHARTS}:draw_front",
        "sweep-dials": f"{_CHARTS}:draw_by_dial",
        "sweep-heat": f"{_CHARTS}:draw_dial_pair",
    }
    headline_text: ClassVar[str] = (
        "{name}: {setting_count:n setting} of {target} on {queries:n query}, convention {convention[name]} "
        "({convention[hash]})"
    )
    lead: ClassVar[Texts] = ("{gain_sentence}", "{choice_sentence}")
    layout: ClassVar[Layout] = (
        sweep_parts.charts,
        View(
            "gains",
            "gain over the baseline in {metric}",
            ("", "gain", ("low", "high"), "p"),
            columns=sweep_parts.GAINS,
            headers={"low": "{level:.0%} interval"},
        ),
        sweep_parts.best_points,
        sweep_parts.front_points,
        View("dial_shares", "importance of dials", columns=sweep_parts.DIALS),
        NOTICES,
        "{method}",
    )
    gain_sentence = property(sweep_parts.gain_sentence)
    choice_sentence = property(sweep_parts.choice_sentence)
    gains = property(sweep_parts.gains)
    dial_shares = property(sweep_parts.importance)
    method = property(sweep_parts.method)

    name: str
    target: str
    target_kind: str
    search: str
    qrels: str
    convention: JsonObject
    metrics: tuple[str, ...]
    lower: tuple[str, ...]
    queries: int
    left_out: int
    substituted: int
    space: tuple[Dial, ...]
    points: tuple[SweepPoint, ...]
    quantile: str
    front: tuple[int, ...]
    choice: Choice | None
    importance: tuple[Importance, ...]
    level: float
    seed: int
    repeats: int
    folder: str | None = None
    not_timed: str = ""
    input_notices: tuple[Notice, ...] = ()

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.metrics[0]

    @property
    def baseline(self) -> SweepPoint:
        """The values now."""
        return self.points[0]

    @property
    def chosen(self) -> SweepPoint | None:
        """The chosen point."""
        return None if self.choice is None else self.points[self.choice.place]

    @property
    def chosen_place(self) -> int | None:
        """The index of the chosen point."""
        return None if self.choice is None else self.choice.place

    @property
    def measured(self) -> list[int]:
        """The indices of the points with figures."""
        return [index for index, point in enumerate(self.points) if point.state == "ok"]

    @property
    def setting_count(self) -> int:
        """The number of points."""
        return len(self.points)

    @property
    def finished(self) -> bool:
        """True if every point was measured."""
        return all(point.state in ("ok", "empty") for point in self.points)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Cautions of runs, points without figures, and the basis of the gain."""
        return (*self.input_notices, *_notices(self))

    def csv_rows(self) -> PlainRows:
        """Every point."""
        return plain_rows(self.to_polars())

    def _table(self) -> pl.DataFrame:
        """A row for each point: dials, state, means with intervals, latency."""
        return pl.DataFrame([_row(point, self) for point in self.points], infer_schema_length=None)


def _row(point: SweepPoint, result: Sweep) -> dict[str, Json]:
    row: dict[str, Json] = {"hash": point.hash, "state": point.state, "problem": point.problem}
    row |= {
        name: value_text(value) if isinstance(value, list | tuple) else value
        for name, value in point.parameters.items()
    }
    for metric in result.metrics:
        value = point.metrics.get(metric)
        for end in ("mean", "low", "high"):
            row[metric if end == "mean" else f"{metric}.{end}"] = getattr(value, end, None)
    for name in ("p50", "p90", "p95", "p99"):
        row |= {name: point.latency.get(name), f"{name}.at_most": point.latency_bounds(name)[1]}
    return row | {f"{result.quantile}.low": point.latency_low, f"{result.quantile}.high": point.latency_high}


def _notices(result: Sweep) -> list[Notice]:
    notices = []
    for state, verb, more in _LEFT_OUT:
        points = [point for point in result.points if point.state == state]
        if points:
            first = "; ".join(f"{point_text(point.parameters)}: {point.problem}" for point in points[:_SHOWN])
            notices.append(
                Notice(
                    f"{state.replace('_', '-')}-points",
                    f"{len(points):,} of {count_noun(len(result.points), 'point')} {verb} and are not "
                    f"compared ({first}{'; …' if len(points) > _SHOWN else ''}){more}",
                )
            )
    return [*notices, *_cautions(result)]


_RARE_QUERIES = 100  # with fewer queries, losses of .7 in 5 % of the queries are often missed


def _cautions(result: Sweep) -> list[Notice]:
    """Notices about the basis of the choice."""
    notices = []
    if result.baseline.state != "ok":
        notices.append(
            Notice("no-baseline", "the baseline has no figures, so nothing can be compared with it")
        )
    if result.search != "grid":
        notices.append(
            Notice(
                "adaptive-search",
                "points were proposed by their values on all queries, and only the choice among them is held "
                "out: the held-out gain may still be a little too high",
            )
        )
    if result.choice is not None and result.queries < 50:
        notices.append(
            Notice(
                "few-queries",
                f"{count_noun(result.queries, 'query is', 'queries are')} few: intervals are wide, and "
                "skewed values may make them too short",
            )
        )
    if result.choice is not None and result.queries < _RARE_QUERIES:
        notices.append(
            Notice(
                "rare-losses",
                f"losses that fewer than about {3 / result.queries:.0%} of the queries have may be missing "
                f"among these {result.queries}: where all points lose much in few queries, intervals of the "
                "gain cover less often than they state",
            )
        )
    if result.left_out:
        notices.append(
            Notice(
                "queries-not-asked",
                f"{count_noun(result.left_out, 'judged query was', 'judged queries were')} not asked",
            )
        )
    if result.not_timed:
        notices.append(
            Notice(
                "not-timed-in-turn",
                f"points could not be timed in turn ({result.not_timed}): their latencies are from different "
                "times, so there is no front",
            )
        )
    if result.substituted:
        lower = result.metric in result.lower
        verbs = ("is", "counts") if result.substituted == 1 else ("are", "count")
        treatment = f"{verbs[0]} left out" if lower else f"{verbs[1]} 0 there"
        notices.append(
            Notice(
                "missing-values",
                f"{count_noun(result.substituted, 'query has', 'queries have')} no value at some points and "
                f"{treatment}",
            )
        )
    return notices
