"""The verb ``total_error``: the error of a difference over queries, raters and snapshots.

`TotalError` is the result: one interval for queries, judgments and snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result, run_notices
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.result_frames import make_frame
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data.adapters import read_rankings
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.data.qrels import RepeatedJudgments
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.paired_values import pair_values
from rankgate.decisions.unjudged.hole_figures import drawn_values
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.variance_components import facets as components
from rankgate.measurement.stats.variance_components import skewed_interval_ends

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.stats.variance_components import Facets


HOLES = "unjudged documents"


def _facet_text(levels: int | None, facet: str) -> str:
    return f"judge all {facet}" if levels is None else f"{levels:,} {facet}"


METRICS = Columns(
    "One row per metric. The naive figures take the judgments and the snapshots for the only ones there are.",
    METRIC,
    Column("queries", pl.Int64, "queries with a value in every repetition"),
    Column("baseline", pl.Float64, "the mean of the baseline over all repetitions"),
    Column("candidate", pl.Float64, "the mean of the candidate over all repetitions"),
    Column("delta", pl.Float64, "their difference", "signed"),
    Column(
        "low", pl.Float64, "the low end of its interval for other queries, judgments and snapshots", "signed"
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of its interval for other queries, judgments and snapshots",
        "signed",
    ),
    Column("error", pl.Float64, "its standard error for other queries, judgments and snapshots"),
    Column("naive_low", pl.Float64, "the low end of its interval for other queries alone", "signed"),
    Column("naive_high", pl.Float64, "the high end of its interval for other queries alone", "signed"),
    Column("naive_error", pl.Float64, "its standard error for other queries alone"),
)
SOURCES = Columns(
    "One row per metric and source of the variance.",
    METRIC,
    Column("source", pl.String, "a facet, an interaction of facets, or unjudged documents"),
    Column("levels", pl.Int64, "how many levels of the facet were measured"),
    Column("share", pl.Float64, "the share of the source in the variance", ".1%"),
)
NEXT = Columns(
    "One row per metric and facet, the largest gain first.",
    METRIC,
    Column(
        "facet",
        pl.String,
        "the facet that would have twice as many levels",
        _facet_text,
        header="with",
        arguments=("levels",),
    ),
    Column("levels", pl.Int64, "how many it would have"),
    Column("error", pl.Float64, "the standard error of the difference then", header="standard\nerror"),
    Column("less", pl.Float64, "by how much the error falls", ".1%"),
)
_MIN_SHARE = 0.005  # smaller shares are not shown


@dataclass(frozen=True)
class TotalError(Result):
    """A difference with the error of all that was drawn to measure it.

    Attributes:
        baseline, candidate: the systems.
        convention: name, axes and hash.
        facets: what was repeated, with how many levels of each, the queries first.
        metrics: the columns of `METRICS`.
        sources: the columns of `SOURCES`.
        next: the columns of `NEXT`.
        level: of the intervals.
        left_out: queries without a value in some repetition.
        without_holes: metrics without a count of unjudged documents, as they look deeper than
            the lists.
        input_notices: remarks on the judgments and the runs.
    """

    kind = "total_error"
    label = "Total error"
    order = 12
    SCHEMAS: ClassVar = {"metrics": METRICS, "sources": SOURCES, "next": NEXT}
    headline_text = "{candidate} against {baseline}: {facet_sizes}"
    layout = (
        View(
            "metrics",
            "",
            ("metric", "baseline", "candidate", "delta", ("low", "high"), ("naive_low", "naive_high")),
            headers={
                "baseline": "{baseline}",
                "candidate": "{candidate}",
                "low": "{level:.0%} interval,\ntotal",
                "naive_low": "{level:.0%} interval,\nqueries alone",
            },
        ),
        View(
            "sources",
            "{metric}: sources of the error",
            ("source", "levels", "share"),
            table_key="metric",
            row_filter=pl.col("share") >= _MIN_SHARE,
        ),
        View(
            "next",
            "the input that lowers the error most",
            ("metric", "facet", "error", "less"),
            row_filter=pl.col("less") >= _MIN_SHARE,
        ),
        NOTICES,
        Sentence(
            "The total interval is for other queries, judgments and snapshots like these; that of queries "
            "alone takes the judgments and snapshots for the only ones there are. Shares are of the variance "
            "of the difference; a product of two is their joint effect, such as a judge that is strict with "
            "some queries."
        ),
    )
    notice_texts = (
        "input_notices",
        NoticeText(
            "few-levels",
            "{facets_of_two}: two levels show little about other levels; where they add much error, the "
            "interval is wide enough for that",
            "facets_of_two",
        ),
        NoticeText(
            "left-out",
            "{left_out:n query} without a value in some repetition {left_out:v is/are} left out",
            "left_out",
        ),
        NoticeText(
            "holes-not-counted", "unjudged documents are not counted for {without_holes}", "without_holes"
        ),
    )

    baseline: str
    candidate: str
    convention: JsonObject
    facets: Mapping[str, int]
    metrics: pl.DataFrame
    sources: pl.DataFrame
    next: pl.DataFrame
    level: float
    left_out: int
    without_holes: tuple[str, ...] = ()
    input_notices: tuple[Notice, ...] = ()

    @property
    def facet_sizes(self) -> str:
        """The number of levels of each facet."""
        return ", ".join(f"{levels:,} {name}" for name, levels in self.facets.items())

    @property
    def facets_of_two(self) -> list[str]:
        """The facets of two levels."""
        return [name for name, levels in self.facets.items() if levels == 2]


QUERIES, SNAPSHOTS = "queries", "snapshots"
DRAWS = 100
"""Sets of grades of unjudged documents; the variance of their means is known to 14 %."""

CORRELATED = 0.3
"""The correlation of biases for which a wider interval is named."""
_MIN_SHARED_SHARE = 0.05  # of the variance; a smaller share widens an interval by less than 3 %


def total_error(
    collection: Collection | QrelsLike | Sequence[QrelsLike] | Mapping[str, QrelsLike],
    baseline: RunLike | Sequence[RunLike],
    candidate: RunLike | Sequence[RunLike],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Test | None = None,
    holes: bool = True,
) -> TotalError:
    """Measure a difference, and its error for everything that was drawn to measure it.

    Args:
        collection: judgments, repeated by raters, judges or prompts: several, or by label, as
            ``{"judge:A,prompt:1": qrels}``; every level of a facet goes with every level of the
            others. One set is enough where documents are unjudged. Or a `Collection` with such
            judgments.
        baseline: A run of the baseline; several are snapshots of the same system.
        candidate: A run of the candidate; as many as of the baseline.
        metrics: names such as ``"nDCG@10"``.
        convention: the convention of the metrics.
        test: the confidence level of the intervals (level), and the seed of the random numbers.
        holes: Count what unjudged documents could change, by drawn grades.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: nothing is repeated, and nothing is unjudged; a combination of levels is
            missing; other numbers of snapshots; queries that only one system ran.

    >>> one = {f"q{i}": {"a": i % 2, "b": 1} for i in range(12)}
    >>> two = {f"q{i}": {"a": i % 3 % 2, "b": 1} for i in range(12)}
    >>> old = {query: {"a": 2.0, "b": 1.0} for query in one}
    >>> new = {query: {"b": 2.0, "a": 1.0} for query in one}
    >>> result = total_error([one, two], old, new, ["P@1"])
    >>> result.facets
    {'queries': 12, 'judgments': 2}
    """
    collection = Collection.of(collection)  # judgments, repeated
    collection.refuse("total_error", *TASK_FIELDS, *SAMPLE_FIELDS)
    test = (test or Test()).only("total_error", "level", "seed")
    repeated = RepeatedJudgments.from_judgments(collection.judgments)
    runs = [_list_snapshots(read_rankings(run, "run")) for run in (baseline, candidate)]
    if len(runs[0]) != len(runs[1]):
        raise UsageError(
            f"{count_noun(len(runs[0]), 'snapshot')} of the baseline and {len(runs[1])} of the candidate; "
            "give as many of each.",
            code="invalid-design",
        )
    sizes = {name: len(levels) for name, levels in repeated.facets.items() if len(levels) > 1}
    sizes |= {SNAPSHOTS: len(runs[0])} if len(runs[0]) > 1 else {}
    if not sizes and not holes:
        raise _nothing_repeated_error("only queries were repeated")
    cells = []
    for labels, qrels in repeated.qrels.items():
        step(f"scoring by {', '.join(labels)}")
        scorer = Scorer.from_metrics(replace(collection, judgments=qrels), metrics, convention)
        cells += [_make_cell(scorer, *pair, holes=holes, seed=test.seed) for pair in zip(*runs, strict=True)]
    if not sizes and not any(cell.drawn for cell in cells):
        problem = "only queries were repeated, and all documents that the metrics use are judged"
        raise _nothing_repeated_error(problem)
    step("finding the components of the error")
    return _make_result(cells, sizes, test.level)


def _nothing_repeated_error(problem: str) -> UsageError:
    return UsageError(
        f"{problem}; give several sets of judgments, or several snapshots of both systems (compare gives the "
        "error of queries).",
        code="invalid-design",
    )


def _list_snapshots(runs: Any) -> list[Any]:  # noqa: ANN401 - a run or several
    is_several = isinstance(runs, list | tuple) and not isinstance(runs, str)
    return list(runs) if is_several else [runs]


@dataclass(frozen=True)
class _DesignCell:
    """Scores of one snapshot of both systems by one set of judgments.

    Attributes:
        base, other: both scored systems.
        queries: (T,) the queries.
        values: (2, T, M) the values of both systems, NaN if undefined; for queries with unjudged
            documents, means over drawn grades.
        drawn: the queries with unjudged documents (H of them) and (H, S) differences under drawn
            grades, by metric.
    """

    base: ScoredRun
    other: ScoredRun
    queries: list[str]
    values: Floats
    drawn: Mapping[str, tuple[list[str], Floats]]

    def spread(self, metric: str, queries: Sequence[str]) -> float:
        """The variance of the mean difference over drawn grades."""
        if metric not in self.drawn:
            return 0.0
        names, deltas = self.drawn[metric]
        query_ids = set(queries)
        rows = [i for i, name in enumerate(names) if name in query_ids]
        means = deltas[rows].sum(axis=0) / max(len(queries), 1)
        return float(means.var(ddof=1)) if rows else 0.0


def _make_cell(
    scorer: Scorer,
    baseline: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    holes: bool,
    seed: int,
) -> _DesignCell:
    scored_baseline, scored_candidate = scorer.scored(baseline), scorer.scored(candidate)
    pair = pair_values(scored_baseline, scored_candidate, "refuse")
    values = np.stack([pair.baseline, pair.candidate])
    deltas_by_metric: dict[str, tuple[list[str], Floats]] = {}
    if holes:
        row_of_query = {query: i for i, query in enumerate(pair.query_ids)}
        selection = scorer.collection.selection or "unknown"
        drawn_grades = drawn_values(
            scorer, scored_baseline, scored_candidate, draws=DRAWS, seed=seed, selection=selection
        )
        for label, values_of_metric in drawn_grades.items():
            names = [str(query) for query in values_of_metric.query_ids]
            rows, column = ([row_of_query[name] for name in names], scored_baseline.metrics.index(label))
            values[0, rows, column] = values_of_metric.baseline.mean(axis=1)
            values[1, rows, column] = values_of_metric.candidate.mean(axis=1)
            deltas_by_metric[label] = names, values_of_metric.candidate - values_of_metric.baseline
    return _DesignCell(scored_baseline, scored_candidate, pair.query_ids, values, deltas_by_metric)


def _make_result(cells: Sequence[_DesignCell], sizes: Mapping[str, int], level: float) -> TotalError:
    first_cell = cells[0]
    labels = first_cell.base.metrics
    rows: dict[str, list[dict[str, object]]] = {"metrics": [], "sources": [], "next": []}
    left_out_count, used_count = 0, 0
    notices: list[Notice] = []
    query_ids = sorted(set().union(*(cell.queries for cell in cells)))
    for column, label in enumerate(labels):
        queries, values = _common_values(cells, column)
        left_out_count, used_count = (
            max(left_out_count, len(query_ids) - len(queries)),
            max(used_count, len(queries)),
        )
        if len(queries) < 2:
            rows["metrics"].append({"metric": label, "queries": len(queries)})
            continue
        cube = (values[1] - values[0]).reshape(len(queries), *sizes.values())
        facets = components(cube)
        holes = float(np.mean([cell.spread(label, queries) for cell in cells]))
        low, high = skewed_interval_ends(cube, facets, level, holes)
        raters = [axis for axis, name in enumerate(sizes, 1) if name != SNAPSHOTS]
        shared_variance = facets.correlated(raters, CORRELATED)
        if shared_variance > _MIN_SHARED_SHARE * (facets.error**2 + holes):
            wide_interval = skewed_interval_ends(cube, facets, level, holes + shared_variance)
            notices.append(
                _correlation_notice(label, ", ".join(list(sizes)[axis - 1] for axis in raters), wide_interval)
            )
        naive = t_interval(cube.reshape(len(queries), -1).mean(axis=1), level)
        half_width = float(naive.high[0] - naive.low[0]) / 2
        means = values.mean(axis=(1, 2))
        rows["metrics"].append(
            {
                "metric": label,
                "queries": len(queries),
                "baseline": float(means[0]),
                "candidate": float(means[1]),
                "delta": facets.mean,
                "low": low,
                "high": high,
                "error": float(np.sqrt(facets.error**2 + holes)),
                "naive_low": float(naive.low[0]),
                "naive_high": float(naive.high[0]),
                "naive_error": half_width / _quantile(len(queries) - 1, level),
            }
        )
        rows["sources"] += _source_rows(label, facets, (QUERIES, *sizes), holes)
        rows["next"] += _next_rows(label, facets, (QUERIES, *sizes), holes)
    without_holes = tuple(
        label for label in labels if any(cell.drawn and label not in cell.drawn for cell in cells)
    )
    return TotalError(
        first_cell.base.name,
        first_cell.other.name,
        first_cell.base.convention,
        {QUERIES: used_count, **sizes},
        make_frame(rows["metrics"], METRICS),
        make_frame(rows["sources"], SOURCES),
        make_frame(rows["next"], NEXT),
        level,
        left_out_count,
        without_holes,
        (*_notices(cells), *notices),
    )


def _correlation_notice(label: str, names: str, interval: tuple[float, float]) -> Notice:
    """Warn about the interval under a common bias of raters, judges or prompts."""
    text = (
        f"{label}: {names}: their biases are taken as independent; an error that they share does not show. "
        f"If it makes them correlate by {CORRELATED}, the interval is [{interval[0]:+.4f}, "
        f"{interval[1]:+.4f}]"
    )
    return Notice("correlated-biases", text, label)


def _notices(cells: Sequence[_DesignCell]) -> tuple[Notice, ...]:
    """The cautions of each run by each set of judgments; the first text of each code."""
    notices: dict[tuple[str, str], Notice] = {}
    for cell in cells:
        for run in (cell.base, cell.other):
            for notice in run_notices(run.name, run.cautions):
                notices.setdefault((notice.subject, notice.code), notice)
    return tuple(notices.values())


def _quantile(df: int, level: float) -> float:
    from rankgate.measurement.stats.mean_intervals import student_quantile

    return student_quantile(df, (1 + level) / 2)


def _common_values(cells: Sequence[_DesignCell], column: int) -> tuple[list[str], Floats]:
    """The queries with a value in every cell, and their values (2, T, C)."""
    tables = [dict(zip(cell.queries, cell.values[:, :, column].T, strict=True)) for cell in cells]
    defined_queries = [
        {query for query, pair in table.items() if not np.isnan(pair).any()} for table in tables
    ]
    queries = sorted(set.intersection(*defined_queries))
    values = np.array([[table[query] for query in queries] for table in tables])
    return queries, values.reshape(len(tables), len(queries), 2).transpose(2, 1, 0)


def _source_rows(label: str, facets: Facets, names: Sequence[str], holes: float) -> list[dict[str, object]]:
    total = float(facets.shares.sum()) + holes
    rows: list[dict[str, object]] = [
        {
            "metric": label,
            "source": " × ".join(names[axis] for axis in effect),
            "levels": facets.sizes[effect[0]] if len(effect) == 1 else None,
            "share": float(share) / total if total else 0.0,
        }
        for effect, share in zip(facets.effects, facets.shares, strict=True)
    ]
    if holes:
        rows.append({"metric": label, "source": HOLES, "levels": None, "share": holes / total})
    return sorted(rows, key=lambda row: -float(str(row["share"])))


def _next_rows(label: str, facets: Facets, names: Sequence[str], holes: float) -> list[dict[str, object]]:
    error_now = float(np.sqrt(facets.error**2 + holes))
    rows: list[dict[str, object]] = []
    for axis, name in enumerate(names):
        error = float(np.sqrt(facets.error_with(axis, 2 * facets.sizes[axis]) ** 2 + holes))
        rows.append(
            {
                "metric": label,
                "facet": name,
                "levels": 2 * facets.sizes[axis],
                "error": error,
                "less": 1 - error / error_now if error_now else 0.0,
            }
        )
    if holes:
        rows.append(
            {
                "metric": label,
                "facet": HOLES,
                "levels": None,
                "error": facets.error,
                "less": 1 - facets.error / error_now,
            }
        )
    return sorted(rows, key=lambda row: -float(str(row["less"])))
