"""Estimates and bounds of differences under hypothetical grades for missing judgments.

The module computes figures for each metric from drawn grades and from the extreme grades that bound
them, the documents to judge next, and the values of two systems under drawn grades for rules of the
gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, TAG
from rankgate.core.present.result_frames import make_frame
from rankgate.data.query_tags import CLUSTER, COPY_CLUSTER, TEXT_COLUMNS
from rankgate.decisions.comparison.paired_values import pair_values
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.evaluation.query_slices import sort_values
from rankgate.measurement.scoring.score_bounds import best_grade

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.collection import Selection
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.unjudged.hole_model import HoleModel
    from rankgate.measurement.evaluation.scored_system import Scorer


_LEVEL = 0.95
_CORNERS = 4
_ROWS, _FEWEST = 5_000_000, 40  # the largest number of drawn grades; the smallest number of sets

FIGURES = Columns(
    "One row per metric.",
    METRIC,
    Column("n", pl.Int64, "queries where both systems have a value", unit="queries"),
    Column("delta", pl.Float64, "the difference as measured", "signed"),
    Column(
        "worst",
        pl.Float64,
        "the difference if all unjudged documents were against the candidate, in either direction of the "
        "metric",
        "signed",
    ),
    Column("best", pl.Float64, "the difference if all unjudged documents were for the candidate", "signed"),
    Column("expected", pl.Float64, "the estimated difference", "signed"),
    Column("low", pl.Float64, "the low end of the interval of the estimate", "signed", header="95% of draws"),
    Column("high", pl.Float64, "the high end of the interval of the estimate", "signed"),
    Column(
        "flip",
        pl.Float64,
        "the probability that judging the holes changes the conclusion of the interval",
        ".0%",
    ),
    Column(
        "flip_random",
        pl.Float64,
        "the same where judgments are missing at random; null where `selection` excludes it",
        ".0%",
        header="if random",
    ),
    Column(
        "flip_pooled",
        pl.Float64,
        "the same where judgments are missing because no pooled system had the document; null where "
        "`selection` excludes it",
        ".0%",
        header="if pooled",
    ),
)


SLICES = Columns(
    "One row per value of a tag and metric, for each tag of the collection with at most 20 values.",
    TAG,
    Column("value", pl.String, "the value of the tag that the queries have"),
    FIGURES,
)
VALUES_OF_TAG = 20
"""A tag with more values, such as one of texts, has no slices."""


def estimate_metrics(
    stage: HypotheticalScorer,
    holes: HoleModel,
    margins: Mapping[str, float],
    draws: int,
    seed: int,
    selection: Selection = "unknown",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Bounds and estimates of every metric within the lists.

    With many holes, fewer than `draws` sets of grades are drawn.

    Returns:
        The columns of `FIGURES`, and the columns of `SLICES` by tag and value of the queries.
    """
    measured_values = pair_values(stage.baseline, stage.candidate, "zero")
    row_of_query = {query: i for i, query in enumerate(measured_values.query_ids)}
    column = {metric: j for j, metric in enumerate(measured_values.metrics)}
    table, top = holes.table, best_grade(stage.scorer.qrels)
    grades, is_pooled = holes.draw_grades(count_grade_sets(draws, len(table)), seed, selection)
    is_measured = table["query_id"].is_in(measured_values.query_ids)
    table, grades = table.filter(is_measured), grades[is_measured.to_numpy()]
    queries = table["query_id"].unique(maintain_order=True).to_list()
    rows = np.array([row_of_query[query] for query in queries], np.int64)
    values = stage.values(table, np.concatenate([extreme_grades(table, top), grades], axis=1))
    deltas = values[1] - values[0]
    slices = list(_slices(stage.baseline, measured_values.query_ids))
    metric_rows, slice_rows = [], []
    for j, (label, _) in enumerate(stage.metrics):
        metric_column = column[label]
        sign, margin = measured_values.signs[metric_column], margins[label]
        gains = HoleGains(measured_values.gains[:, metric_column], rows, sign * deltas[j], is_pooled)
        metric_rows.append({"metric": label, **gains.figures(margin, sign)})
        slice_rows += [
            {
                "tag": tag,
                "value": value,
                "metric": label,
                **gains.from_queries(is_member).figures(margin, sign),
            }
            for tag, value, is_member in slices
        ]
    return make_frame(metric_rows, FIGURES), make_frame(slice_rows, SLICES).sort("tag", maintain_order=True)


def _slices(system: ScoredRun, query_ids: Sequence[str]) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Iterate over tags and values, with the mask of the queries that have the value."""
    for tag in system.tags:
        if tag in {CLUSTER, COPY_CLUSTER, *TEXT_COLUMNS}:
            continue
        tag_value_of_query = dict(system.tagged.select("query_id", tag).iter_rows())
        values = np.array([tag_value_of_query.get(query) or "" for query in query_ids], dtype=object)
        names = sort_values(list(set(values)))
        if len(names) <= VALUES_OF_TAG:
            yield from ((tag, str(name) or "(none)", values == name) for name in names)


@dataclass(frozen=True)
class HoleGains:
    """Gains of the candidate by query: as measured, and under sets of grades of the holes.

    Attributes:
        measured: (T,) the measured gains; NaN if undefined.
        rows: (H,) the indices of the queries with holes.
        supposed: (H, 4 + S) the gains of these queries under the extreme grades, then under each
            drawn set.
        pooled: (S,) true for sets in which holes are worse than similar judged documents, like
            documents that no pooled system returned.
    """

    measured: Floats
    rows: NDArray[np.int64]
    supposed: Floats
    pooled: NDArray[np.bool_]

    def from_queries(self, queries: NDArray[np.bool_]) -> HoleGains:
        """The gains of selected queries."""
        is_selected = queries[self.rows]
        rows = (np.cumsum(queries) - 1)[self.rows[is_selected]]
        return HoleGains(self.measured[queries], rows, self.supposed[is_selected], self.pooled)

    def figures(self, margin: float, sign: float) -> dict[str, Any]:
        """The columns of `FIGURES` except the first; differences have the metric's own sign."""
        is_defined = ~np.isnan(self.measured)
        base, n = np.where(is_defined, self.measured, 0.0), max(int(is_defined.sum()), 1)
        sum_without_holes = base.sum() - base[self.rows].sum()
        extremes, drawn_gains = self.supposed[:, :_CORNERS], self.supposed[:, _CORNERS:]
        means = (sum_without_holes + drawn_gains.sum(axis=0)) / n
        # the spread of each drawn set, from unchanged and changed queries
        squares = (base**2).sum() - (base[self.rows] ** 2).sum() + (drawn_gains**2).sum(axis=0)
        status_now = interval_status(base.sum() / n, (base**2).sum(), n, margin)
        flips = np.array(
            [
                interval_status(mean, square_sum, n, margin) != status_now
                for mean, square_sum in zip(means, squares, strict=True)
            ]
        )
        quantile_levels = [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]
        low, high = sorted(sign * quantile for quantile in np.quantile(means, quantile_levels))
        return {
            "n": int(is_defined.sum()),
            "delta": float(sign * base.sum() / n),
            "worst": float(sign * (sum_without_holes + extremes.min(axis=1).sum()) / n),
            "best": float(sign * (sum_without_holes + extremes.max(axis=1).sum()) / n),
            "expected": float(sign * means.mean()),
            "low": float(low),
            "high": float(high),
            "flip": float(flips.mean()),
            "flip_random": _mean(flips[~self.pooled]),
            "flip_pooled": _mean(flips[self.pooled]),
        }


def _mean(flips: NDArray[np.bool_]) -> float:
    return float(flips.mean()) if flips.size else float("nan")


def interval_status(mean: float, squares: float, n: int, margin: float) -> str:
    """Position of a one-sided 95 % interval relative to −margin: above, below, or open."""
    from rankgate.measurement.stats.special_functions import stdtrit

    if n < 2:  # a single query has no standard deviation
        return "above" if mean > -margin else "below"
    error = np.sqrt(max(squares - n * mean**2, 0.0) / (n - 1) / n)
    half_width = float(stdtrit(n - 1, _LEVEL)) * error
    return "above" if mean - half_width > -margin else "below" if mean + half_width < -margin else "open"


def count_grade_sets(draws: int, holes: int) -> int:
    """The number of sets of grades to draw: at most `draws`, fewer with many holes."""
    return min(draws, max(_FEWEST, _ROWS // max(holes, 1)))


def extreme_grades(table: pl.DataFrame, top: float) -> Floats:
    """(N, 4) grades against and for the candidate, each with shared documents bad and best.

    A document in both lists has the same grade in both. The worse grade for the candidate depends
    on the ranks, so both extremes are tried.
    """
    in_candidate = table["rank_candidate"].is_not_null().to_numpy()
    in_baseline = table["rank_baseline"].is_not_null().to_numpy()
    in_both = in_candidate & in_baseline
    grades_against = np.where(in_baseline, top, 0.0)
    grades_for = np.where(in_candidate, top, 0.0)
    columns = [
        np.where(in_both, shared_grade, grades)
        for grades in (grades_against, grades_for)
        for shared_grade in (0.0, top)
    ]
    return np.stack(columns, axis=1) if len(table) else np.zeros((0, 4))


def judge_next(stage: HypotheticalScorer, holes: HoleModel) -> pl.DataFrame:
    """Sort holes by the influence of their grade on the mean difference of the first metric.

    influence = |Δ(best) − Δ(0)| · √(p(1 − p)) / queries, with p the estimated probability of
    relevance: the standard deviation that judging the document removes.
    """
    table = holes.table
    relevant = holes.chances[:, holes.grades > 0].sum(axis=1)
    effect = np.zeros(0) if table.is_empty() else _effects(stage, holes)
    grade_sd = np.sqrt(relevant * (1 - relevant))
    result = table.with_columns(
        pl.Series("relevant", relevant), pl.Series("influence", np.abs(effect) * grade_sd)
    )
    ranks = [
        pl.format("rank {}", pl.col(f"rank_{side}")).fill_null("not among the first")
        for side in ("baseline", "candidate")
    ]
    reason = pl.format("{} of the baseline, {} of the candidate", *ranks)
    return result.with_columns(reason.alias("why")).sort(
        "influence", "query_id", "doc_id", descending=[True, False, False]
    )


def _effects(stage: HypotheticalScorer, holes: HoleModel) -> Floats:
    """(N,) the change of the mean difference if only this hole has the best grade."""
    top = best_grade(stage.scorer.qrels)
    table = holes.table
    index_in_query = table.select(pl.int_range(pl.len()).over("query_id").alias("at"))["at"].to_numpy()
    max_holes = int(index_in_query.max()) + 1
    # a set for each hole of the query with most holes, with the i-th hole best, and a set of zeros
    grades = np.zeros((len(table), max_holes + 1))
    grades[np.arange(len(table)), index_in_query] = top
    queries = table["query_id"].unique(maintain_order=True).to_list()
    index_of_query = {query: i for i, query in enumerate(queries)}
    query_index = np.array([index_of_query[query] for query in table["query_id"].to_list()], np.int64)
    values = replace(stage, metrics=stage.metrics[:1]).values(table, grades)[:, 0]
    effect = values[1] - values[0]
    n = max(len(stage.baseline.queries), 1)
    return np.asarray((effect[query_index, index_in_query] - effect[query_index, max_holes]) / n, np.float64)


DRAWS = 200
"""The number of random sets of grades."""


@dataclass(frozen=True)
class DrawnValues:
    """One metric of both systems, for the queries with unjudged documents.

    Attributes:
        query_ids: (H,) the queries with unjudged documents.
        holes: (H,) number of unjudged documents of each query.
        baseline, candidate: (H, S) values, each column under one set of drawn grades.
        extremes: (2, H, 4) values of both systems under the extreme grades: against and for the
            candidate, each with shared documents bad and best.
        pooled: (S,) true for sets in which unjudged documents are worse than similar judged
            documents.
    """

    query_ids: Sequence[str]
    holes: NDArray[np.int64]
    baseline: Floats
    candidate: Floats
    extremes: Floats
    pooled: NDArray[np.bool_]


def drawn_values(
    scorer: Scorer,
    baseline: ScoredRun,
    candidate: ScoredRun,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    selection: Selection = "unknown",
) -> dict[str, DrawnValues]:
    """Draw grades, and compute both systems' values by metric; empty without holes.

    Args:
        scorer: judgments, metrics, convention.
        baseline: a scored system; its run is not read.
        candidate: another scored system.
        draws: the number of random sets of grades.
        seed: the seed of the random draws.
        selection: the selection of the judged documents.
    """
    stage, hole_model = (
        HypotheticalScorer.from_systems(scorer, baseline, candidate),
        model_holes(baseline, candidate),
    )
    table = hole_model.table
    if not stage.metrics or table.is_empty():
        return {}
    corner_grades = extreme_grades(table, best_grade(scorer.qrels))
    drawn_grades, pooled = hole_model.draw_grades(count_grade_sets(draws, len(table)), seed, selection)
    grades = np.concatenate([corner_grades, drawn_grades], axis=1)
    queries = table["query_id"].unique(maintain_order=True).to_list()
    values = stage.values(table, grades)
    counts = dict(table["query_id"].value_counts().iter_rows())
    holes = np.array([counts[query] for query in queries], np.int64)
    width = corner_grades.shape[1]
    drawn_columns = values[..., width:]
    return {
        label: DrawnValues(
            queries, holes, drawn_columns[0, j], drawn_columns[1, j], values[:, j, :, :width], pooled
        )
        for j, (label, _) in enumerate(stage.metrics)
    }
