"""Resample raters: the share of rater sets that would reverse a comparison.

`RedrawnGrades` draws ratings that another set of raters might give, `rater_components` splits the
variance of a metric by system, query and judge, and `resample_raters` compares two systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.declare import Draws
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, run_notices
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, P_VALUE
from rankgate.core.present.result_frames import make_frame
from rankgate.core.progress import step
from rankgate.data import Qrels, read_qrels, read_run
from rankgate.data.read import read_ratings
from rankgate.data.table_rows import in_row_order
from rankgate.judging.counting_ratings import PAIR, counting_ratings
from rankgate.judging.resolution.resolution import resolve_ratings
from rankgate.measurement.evaluation.scored_system import Scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import JsonObject
    from rankgate.data import Run
    from rankgate.data.input_types import RatingsLike, RunLike
    from rankgate.data.qrels import Ratings
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

    Places = NDArray[np.int64]


@dataclass(frozen=True)
class RedrawnGrades:
    """The grades from which resamples of ratings are drawn.

    A pair with several grades gets as many of its own grades, drawn with replacement. A pair with
    a single grade gets one that another rater might have given: a draw from the grades of other
    raters on pairs that some rater gave this grade.

    Attributes:
        ratings: the ratings that count and have a grade.
        grades: (n,) the grades of these ratings.
        begins: (n,) the index of the first grade of each rating's pair.
        sizes: (n,) the number of grades of each rating's pair.
        others: the grades of other raters on the same pairs, by grade.
    """

    ratings: Ratings
    grades: Floats
    begins: Places
    sizes: Places
    others: dict[float, Floats]

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> RedrawnGrades:
        """Create the grades from single ratings; each rater's last rating on a pair counts.

        Raises:
            InputError: no pair has two grades, so that other raters cannot be estimated.
        """
        graded_ratings = (
            counting_ratings(ratings)
            .table.filter(pl.col("grade").is_not_null())
            .sort(PAIR, maintain_order=True)
        )
        pair_bounds = graded_ratings.with_row_index("place").select(
            pl.col("place").first().over(PAIR).cast(pl.Int64), pl.len().over(PAIR).cast(pl.Int64)
        )
        begins, sizes = pair_bounds["place"].to_numpy(), pair_bounds["len"].to_numpy()
        if not (sizes > 1).any():
            problem = "no pair has the grades of two raters; let some be graded twice."
            raise InputError(problem, source=ratings.place.label, code="no-common-pairs")
        grades = graded_ratings["grade"].to_numpy().astype(np.float64)
        return cls(
            replace(ratings, table=graded_ratings),
            grades,
            begins,
            sizes,
            _grades_of_others(graded_ratings.filter(pl.len().over(PAIR) > 1)),
        )

    def draw(self, rng: np.random.Generator) -> Ratings:
        """Draw another set of ratings."""
        drawn_grades = self.grades[self.begins + rng.integers(0, self.sizes)]
        is_single = self.sizes == 1
        for grade, other_grades in self.others.items():
            row_index = np.flatnonzero(is_single & (self.grades == grade))
            drawn_grades[row_index] = rng.choice(other_grades, len(row_index))
        table = self.ratings.table.with_columns(pl.Series("grade", drawn_grades))
        return replace(self.ratings, table=table)


def _grades_of_others(graded_ratings: pl.DataFrame) -> dict[float, Floats]:
    """The grades of other raters on the same pair, for each grade of a rater."""
    grades = graded_ratings.select(*PAIR, "rater", "grade")
    rating_pairs = grades.join(grades, on=PAIR, suffix="_other").filter(
        pl.col("rater") != pl.col("rater_other")
    )
    return {
        float(grade): rows["grade_other"].to_numpy().astype(np.float64)
        for (grade,), rows in rating_pairs.sort("grade", *PAIR, "rater", "rater_other").group_by(
            "grade", maintain_order=True
        )
    }


_LEVEL = 0.95


@dataclass(frozen=True)
class RaterComponents:
    """A model with crossed random effects of one metric, by each judge's own grades.

    Attributes:
        metric: the label of the metric.
        queries: the number of queries with grades of all these judges and values of both systems.
        judges: the judges in the model.
        left_out: the judges with too few queries in common with the others.
        delta: candidate minus baseline, mean over queries and judges.
        low: lower end of the interval of the delta for other queries and judges.
        high: upper end of this interval.
        p_value: the p-value of the hypothesis that the systems are equal.
        shares: the share of each effect in the variance of a single value.
    """

    metric: str
    queries: int
    judges: tuple[str, ...]
    left_out: tuple[str, ...]
    delta: float
    low: float
    high: float
    p_value: float
    shares: Mapping[str, float]


def rater_components(
    ratings: Ratings,
    runs: Sequence[Run],
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
) -> tuple[RaterComponents, ...]:
    """The model of each metric for which two judges share two queries.

    The design is balanced: judges are added in the order of their numbers of queries, and the set
    with the most values on common queries is kept. Documents that a judge did not grade are
    unjudged for that judge.
    """
    graded_ratings = counting_ratings(ratings).table.filter(pl.col("grade").is_not_null())
    counts = graded_ratings.group_by("rater").agg(pl.col("query_id").n_unique())
    order = counts.sort("query_id", "rater", descending=[True, False])["rater"].to_list()
    if len(order) < 2:
        return ()
    values = {
        rater: _values(graded_ratings.filter(pl.col("rater") == rater), runs, metrics, how) for rater in order
    }
    labels = list(dict.fromkeys(label for values_by_label in values.values() for label in values_by_label))
    models = (_fit_metric(label, order, values) for label in labels)
    return tuple(model for model in models if model is not None)


_Values = Mapping[str, Mapping[str, tuple[float, ...]]]


def _values(
    rater_ratings: pl.DataFrame,
    runs: Sequence[Run],
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
) -> _Values:
    """The values of all systems by one judge's grades, by metric and query."""
    scorer = Scorer.from_metrics(Qrels(rater_ratings.select(*PAIR, "grade"), "judge"), metrics, how, depth=1)
    tables = [scorer.scored(run).scores.drop_nulls("value") for run in runs]
    values_by_metric: dict[str, dict[str, tuple[float, ...]]] = {}
    columns = [{(metric, query): value for query, metric, value, *_ in table.iter_rows()} for table in tables]
    for metric, query in columns[0]:
        if all((metric, query) in column for column in columns):
            row = tuple(column[metric, query] for column in columns)
            values_by_metric.setdefault(metric, {})[query] = row
    return values_by_metric


def _fit_metric(label: str, order: Sequence[str], values: Mapping[str, _Values]) -> RaterComponents | None:
    from rankgate.measurement.stats.variance_components import EFFECTS, crossed

    best: tuple[int, list[str]] = (0, [])
    common: set[str] | None = None
    for count, rater in enumerate(order, 1):
        rater_queries = set(values[rater].get(label, {}))
        common = rater_queries if common is None else common & rater_queries
        if count > 1 and len(common) > 1 and count * len(common) > best[0] * max(len(best[1]), 1):
            best = (len(common), list(order[:count]))
    queries, judges = best
    if not judges:
        return None
    shared = sorted(set.intersection(*(set(values[rater][label]) for rater in judges)))
    table = np.array(
        [[values[rater][label][query] for rater in judges] for query in shared], np.float64
    ).transpose(0, 2, 1)
    result = crossed(table, _LEVEL)
    total_variance = result.components.sum()
    variance_shares = (
        result.components / total_variance if total_variance > 0 else np.full(len(EFFECTS), np.nan)
    )
    return RaterComponents(
        label,
        queries,
        tuple(judges),
        tuple(rater for rater in order if rater not in judges),
        float(result.delta[1]),
        float(result.low[1]),
        float(result.high[1]),
        float(result.p_value[1]),
        dict(zip(EFFECTS, map(float, variance_shares), strict=True)),
    )


DRAWS = 200
"""The number of random sets of raters."""


EFFECTS = Columns(
    "One row per metric.",
    METRIC,
    Column("delta", pl.Float64, "candidate minus baseline, by the actual ratings", "signed"),
    Column(
        "low",
        pl.Float64,
        "the 2.5 % quantile of the drawn differences",
        "signed",
        header="95% of other raters",
    ),
    Column("high", pl.Float64, "the 97.5 % quantile of the drawn differences", "signed"),
    Column("reversed", pl.Float64, "the share of drawn sets of raters that reverse the sign", ".0%"),
)


def _break_effect(effect: str) -> str:
    return effect.replace(" × ", "\n× ")


COMPONENT_SHARES = Columns(
    "One row per metric and effect.",
    METRIC,
    Column("queries", pl.Int64, "queries with grades of all judges"),
    Column("judges", pl.Int64, "the number of judges"),
    Column("delta", pl.Float64, "candidate minus baseline, mean over queries and judges", "signed"),
    Column(
        "low",
        pl.Float64,
        "the low end of its interval for other queries and judges",
        "signed",
        header="95% of other queries\nand judges",
    ),
    Column("high", pl.Float64, "the high end of this interval", "signed"),
    P_VALUE,
    Column("effect", pl.String, "the effect", _break_effect),
    Column("share", pl.Float64, "its share in the variance of a single value", ".0%"),
)


@dataclass(frozen=True)
class RaterEffect:
    """Effect of the choice of raters on the difference of two systems under one metric.

    Attributes:
        metric: the label of the metric.
        delta: candidate minus baseline, by the actual ratings.
        low: the 2.5 % quantile of the drawn differences.
        high: the 97.5 % quantile of the drawn differences.
        reversed: the share of drawn sets of raters that reverse the sign.
    """

    metric: str
    delta: float
    low: float
    high: float
    reversed: float


@dataclass(frozen=True)
class RaterResampling:
    """Comparison of two systems by random sets of raters.

    Attributes:
        baseline: name of the baseline.
        candidate: name of the candidate.
        rule: the rule that makes one grade of several.
        effects: one per metric.
        draws: the number of drawn sets of raters.
        seed: the seed of the draws.
        convention: name, axes and hash.
        components: the model system × query × judge of each metric, if judges share queries.
        notices: warnings about the ratings and the runs.
    """

    baseline: str
    candidate: str
    rule: str
    effects: tuple[RaterEffect, ...]
    draws: int
    seed: int
    convention: JsonObject
    components: tuple[RaterComponents, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def component_shares(self) -> pl.DataFrame:
        """The share of each effect in the variance of values: the columns of `COMPONENT_SHARES`."""
        rows = [
            (c.metric, c.queries, len(c.judges), c.delta, c.low, c.high, c.p_value, effect, share)
            for c in self.components
            for effect, share in c.shares.items()
        ]
        return make_frame(rows, COMPONENT_SHARES)


def resample_raters(
    ratings: RatingsLike,
    baseline: RunLike,
    candidate: RunLike,
    metrics: str | Metric | Sequence[str | Metric] = ("nDCG@10",),
    how: str | Convention = "trec",
    *,
    rule: str = "majority",
    draws: Draws = DRAWS,
    seed: int = 0,
    from_: str | None = None,
) -> RaterResampling:
    """Draw many sets of raters, and compare two systems by each set.

    Args:
        ratings: ratings of single raters, some pairs by two or more.
        baseline: a run.
        candidate: a run.
        metrics: names or metrics.
        how: the convention.
        rule: the rule that makes one grade of several for the comparison of two runs, as in
            rankgate resolve.
        draws: the number of random sets of raters for the comparison of two runs.
        seed: the seed of the draws.
        from_: the name of the ratings' format.

    Raises:
        InputError: data cannot be read; no pair has two grades or can be resolved.
        UsageError: unknown names.
    """
    all_ratings = read_ratings(ratings, from_=from_)
    redrawn_grades = RedrawnGrades.from_ratings(all_ratings)
    runs = [read_run(run) for run in (baseline, candidate)]
    first = Scorer.from_metrics(_resolved_qrels(all_ratings, rule), metrics, how, depth=1)
    systems = [first.scored(run) for run in runs]
    truth = _deltas(first, systems)
    rng = np.random.default_rng(seed)
    drawn_deltas = np.empty((draws, len(truth)))
    for i in range(draws):
        step(f"raters {i + 1} of {draws}")
        scorer = Scorer.from_metrics(_resolved_qrels(redrawn_grades.draw(rng), rule), metrics, how, depth=1)
        drawn_deltas[i] = _deltas(scorer, [scorer.scored(run) for run in runs])
    low, high = np.quantile(drawn_deltas, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    reversed_shares = (np.sign(drawn_deltas) * np.sign(truth) < 0).mean(axis=0)
    effects = tuple(
        RaterEffect(label, *map(float, figures))
        for (label, _), *figures in zip(first.metrics, truth, low, high, reversed_shares, strict=True)
    )
    return RaterResampling(
        runs[0].name,
        runs[1].name,
        rule,
        effects,
        draws,
        seed,
        first.how.to_dict(),
        rater_components(all_ratings, runs, metrics, how),
        tuple(notice for system in systems for notice in run_notices(system.name, system.cautions)),
    )


def _resolved_qrels(ratings: Ratings, rule: str) -> Qrels:
    result = resolve_ratings(ratings, rule).qrels
    if result is None:
        raise InputError(
            "no pair can be resolved by this rule.", source=ratings.place.label, code="no-grades"
        )
    return read_qrels(result)


def _deltas(scorer: Scorer, systems: Sequence[ScoredRun]) -> Floats:
    """(M,) the differences of the means; an undefined mean is 0."""
    means = []
    for system in systems:
        table = system.scores.group_by("metric").agg(in_row_order(pl.col("value")).mean())
        means.append(dict(table.iter_rows()))
    return np.array([(means[1][label] or 0.0) - (means[0][label] or 0.0) for label, _ in scorer.metrics])
