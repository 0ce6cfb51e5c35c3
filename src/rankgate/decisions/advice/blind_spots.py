"""The verb ``blindspots``: find changes of rankings that metrics do not detect.

`PERTURBATIONS` are changes that occur in practice, each a small pure function of all lists. Lists
are a table of ``query_id``, ``rank``, ``doc_id``, ``grade`` (null where unjudged) and ``relevant``;
a perturbation returns the same columns. Only the order of ``rank`` within a query counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result, run_notices
from rankgate.core.present.charts.chart_views import ChartView, HeatMap
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, View, plain_rows
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data import read_run
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS, parse
from rankgate.measurement.scoring.alignment.top_documents import distinct_names, refuse_baseline_again, tops
from rankgate.measurement.scoring.run_sources import score

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.present.document_model import PlainRows
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


PROFILE = Columns(
    "One row per change and metric.",
    Column("change", pl.String, "the name of the change of the lists"),
    Column("about", pl.String, "a description of the change"),
    METRIC,
    Column(
        "altered",
        pl.Int64,
        "lists in which the change alters the grades at the ranks; judgments cannot detect a change that "
        "alters no grade",
        unit="lists",
        header="lists",
    ),
    Column("unmoved", pl.Float64, "the share of these lists with an unchanged value of the metric", ".0%"),
    Column("delta", pl.Float64, "the mean difference of the metric over these lists", "signed"),
)

SEEN = Columns(
    "One row per metric: its response to the actual change; empty without a candidate.",
    METRIC,
    Column(
        "moved",
        pl.Int64,
        "queries that it moved for, of the changed ones",
        unit="queries",
        header="moved\nfor",
    ),
    Column(
        "blind",
        pl.Float64,
        "the share of the changed queries that it did not move for",
        ".0%",
        header="blind\nto",
    ),
    Column("delta", pl.Float64, "the mean difference over all queries", "signed", header="mean\ndelta"),
    Column(
        "examples", pl.List(pl.String), "changed queries that it did not move for", header="did not move for"
    ),
)


@dataclass(frozen=True)
class BlindSpots(Result):
    """The changes that metrics detect, and those they miss.

    Attributes:
        baseline: the run that was changed.
        candidate: the actual change; None if only the profile was requested.
        convention: name, axes and hash.
        depth: how far lists were compared.
        k: the cutoff that the changes use.
        queries: of the baseline, with judgments.
        changed: queries with different first documents in baseline and candidate.
        seen: the columns of `SEEN`.
        profile: the columns of `PROFILE`.
        suggested: the smallest set of metrics that sees what can be seen.
        unseen: changes that no metric tried sees.
        notices: remarks on the judgments and the runs.
    """

    kind = "blindspots"
    main_table = "profile"
    order = 35
    charts: ClassVar = {
        "blindspots": ChartView(
            "What the metrics do not see (first {k:n document})",
            "Each row is a change to the lists of {baseline:short}; a cell has the share of the lists that "
            "it alters for which the metric does not move. Deep blue: blind; empty: no list could be "
            "altered.",
            "{queries:n query}",
            (
                HeatMap(
                    "profile",
                    (
                        pl.col("change").alias("row"),
                        pl.col("metric").alias("column"),
                        pl.col("unmoved").alias("value"),
                        "altered",
                    ),
                    form="%",
                ),
            ),
            fluid=False,
        )
    }
    SCHEMAS: ClassVar = {"seen": SEEN, "profile": PROFILE}
    layout = (
        NOTICES,
        View(
            "seen",
            "{candidate} against {baseline}: the first {depth:n document} changed for {changed} of "
            "{queries:n query}",
        ),
        CrossView(
            "profile",
            "if {baseline} changed so (k = {k}): share of the lists with other grades at their ranks for "
            "which the metric does not move",
            ("change", "altered"),
            column_key="metric",
            value="unmoved",
        ),
        CrossView(
            "profile",
            "and by how much it moves, mean over these lists",
            ("change", "altered"),
            column_key="metric",
            value="delta",
        ),
        Sentence("the smallest set that detects all detectable changes: {suggested}", "suggested"),
        Sentence("not detected by any tried metric: {unseen}", "unseen"),
    )

    baseline: str
    candidate: str | None
    convention: JsonObject
    depth: int
    k: int
    queries: int
    changed: int
    seen: pl.DataFrame
    profile: pl.DataFrame
    suggested: tuple[str, ...]
    unseen: tuple[str, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """The heading of its part of a report."""
        return "What the metrics do not see"

    def csv_rows(self) -> PlainRows:
        """The profile, without descriptions of the changes."""
        return plain_rows(self.profile.drop("about"))


UNJUDGED_PREFIX = "\x1f"
"""Prefix of the ids of documents that no judgments contain."""

_RANK, _QUERY = pl.col("rank"), "query_id"


@dataclass(frozen=True)
class Perturbation:
    """One change of rankings.

    Attributes:
        name: a short name.
        about: a description of the change.
        apply: a function of lists and the cutoff of the metrics that returns the changed lists.
    """

    name: str
    about: str
    apply: Callable[[pl.DataFrame, int], pl.DataFrame]


def _swap_ranks(rank: int) -> Callable[[pl.DataFrame, int], pl.DataFrame]:
    def apply(lists: pl.DataFrame, k: int) -> pl.DataFrame:
        new_rank = pl.when(rank == _RANK).then(rank + 1).when(rank + 1 == _RANK).then(rank).otherwise(_RANK)
        return lists.with_columns(new_rank.alias("rank"))

    return apply


def _is_first_relevant() -> pl.Expr:
    """The row of the first relevant document of each query."""
    return pl.col("relevant") & (_RANK.filter(pl.col("relevant")).min().over(_QUERY) == _RANK)


def _is_first_best() -> pl.Expr:
    """The row of the first document with the highest grade of each query."""
    has_top_grade = pl.col("relevant") & (pl.col("grade") == pl.col("grade").max())  # of its query
    return has_top_grade.over(_QUERY) & (_RANK.filter(has_top_grade).min().over(_QUERY) == _RANK)


def _lose_first(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(~_is_first_relevant().fill_null(value=False))


def _lose_best(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(~_is_first_best().fill_null(value=False))


def _unjudge_first(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    is_first_relevant = _is_first_relevant().fill_null(value=False)
    unjudged_id = (
        pl.when(is_first_relevant).then(pl.lit(UNJUDGED_PREFIX) + pl.col("doc_id")).otherwise("doc_id")
    )
    grade = pl.when(~is_first_relevant).then("grade")
    return lists.with_columns(unjudged_id.alias("doc_id"), grade.alias("grade"))


def _push_down(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    top_rows = (
        lists.select(_QUERY)
        .unique(maintain_order=True)
        .with_columns(
            pl.lit(0, dtype=pl.Int64).alias("rank"),
            pl.lit(f"{UNJUDGED_PREFIX}top").alias("doc_id"),
            pl.lit(None, dtype=pl.Float64).alias("grade"),
            pl.lit(value=False).alias("relevant"),
        )
    )
    return pl.concat([top_rows.select(lists.columns), lists])


def _move_best_down(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    new_rank = pl.when(_is_first_best().fill_null(value=False) & (k > _RANK)).then(k + 0.5).otherwise(_RANK)
    return lists.with_columns(new_rank.alias("rank"))


def _reverse_page(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    depth = pl.min_horizontal(pl.lit(k), _RANK.max().over(_QUERY))
    return lists.with_columns(pl.when(depth >= _RANK).then(depth + 1 - _RANK).otherwise(_RANK).alias("rank"))


def _drop_tail(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(k >= _RANK)


def _cut_half(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(max(1, k // 2) >= _RANK)


def _lower_later_relevant(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    """Swap relevant documents below the first one with the documents that follow them."""
    is_later_relevant = pl.col("relevant") & ~_is_first_relevant().fill_null(value=False)
    return lists.with_columns(pl.when(is_later_relevant).then(_RANK + 1.5).otherwise(_RANK).alias("rank"))


PERTURBATIONS = (
    Perturbation("swap ranks 1 and 2", "the two first change places", _swap_ranks(1)),
    Perturbation("swap ranks 2 and 3", "the second and third change places", _swap_ranks(2)),
    Perturbation("swap ranks 3 and 4", "the third and fourth change places", _swap_ranks(3)),
    Perturbation("swap ranks 9 and 10", "at the end of the first page", _swap_ranks(9)),
    Perturbation("swap ranks 10 and 11", "over the end of the first page", _swap_ranks(10)),
    Perturbation("lose the first relevant", "it is not returned any more", _lose_first),
    Perturbation("lose the best", "the document of the highest grade is gone", _lose_best),
    Perturbation("first relevant unjudged", "a new document is in its place", _unjudge_first),
    Perturbation("push all down by one", "an unjudged document comes first", _push_down),
    Perturbation("best down to rank k", "the best is at the end of the page", _move_best_down),
    Perturbation("later relevant fall by one", "all but the first relevant", _lower_later_relevant),
    Perturbation("turn the first k round", "the page is reversed", _reverse_page),
    Perturbation("cut after k", "nothing behind the first page", _drop_tail),
    Perturbation("cut after k/2", "half of the page is gone", _cut_half),
)
"""The perturbations, from small to large."""


STANDARD_METRICS = ("nDCG@10", "RR@10", "P@10", "R@100", "AP", "RBP(p=0.8)", "Success@1", "ERR@10")
"""Metrics that may be suggested, in addition to the chosen ones."""

_MAX_DEPTH = 1000
_CLOSE = 1e-12
_MIN_MOVED_SHARE = 0.5  # share of changed lists: a metric that moves for as many detects the change
_EXAMPLES = 5


def blindspots(
    collection: Collection | QrelsLike,
    baseline: RunLike | Mapping[str, RunLike],
    candidate: RunLike | Mapping[str, RunLike] | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    depth: Cutoff = 10,
    page: Cutoff = 10,
) -> BlindSpots:
    """Find changes between two runs that the chosen metrics do not detect.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        baseline: the run that is changed, or ``{name: run}``.
        candidate: the changed run; without it only the profile is made.
        metrics: names or metrics.
        convention: the convention of the metrics.
        depth: the depth to which the lists are compared.
        page: the last rank of the result page, for the changes of the profile.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric or convention.

    >>> qrels = {"q": {"a": 1, "b": 1}}
    >>> old, new = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> blindspots(qrels, old, new, ["RR", "nDCG@10"]).seen.select("metric", "moved").rows()
    [('RR', 0), ('nDCG@10', 1)]
    """
    refuse_baseline_again(baseline, [candidate])
    collection = Collection.of(collection)
    collection.refuse("blindspots", *TASK_FIELDS, *SAMPLE_FIELDS)
    scorer = Scorer.from_metrics(collection, metrics, convention, depth=depth)
    chosen_labels = [label for label, _ in scorer.metrics]
    standard_metrics = [(name, parse(name)) for name in STANDARD_METRICS if name not in chosen_labels]
    all_metrics = (*scorer.metrics, *standard_metrics)
    step("scoring the baseline")
    baseline_run = collection.run(baseline)
    notices = _notices(scorer, baseline_run)
    lists = _lists(scorer, baseline_run)
    baseline_values = _values(scorer, lists, all_metrics)
    step("changing it")
    profile = _profile(scorer, lists, baseline_values, all_metrics, page)
    seen_table, changed, name = pl.DataFrame(schema=SEEN), 0, None
    moved: dict[str, set[str]] = {}
    if candidate is not None:
        step("scoring the candidate")
        candidate_run = collection.run(candidate)
        name = candidate_run.name
        notices += _notices(scorer, candidate_run)
        after_lists = _lists(scorer, candidate_run)
        candidate_values = _values(scorer, after_lists, all_metrics)
        queries = _changed_queries(lists, after_lists, depth)
        changed = len(queries)
        moved = {
            label: _moved_queries(baseline_values, candidate_values, label, queries)
            for label, _ in all_metrics
        }
        seen_table = _seen_table(chosen_labels, baseline_values, candidate_values, queries, moved)
    suggested, unseen = _suggest_metrics(profile, moved, [label for label, _ in all_metrics], chosen_labels)
    chosen_profile = profile.filter(pl.col("metric").is_in(chosen_labels))
    baseline_name = baseline_run.name
    if name is not None:
        baseline_name, name = distinct_names([baseline_name, name], [baseline, candidate])
    return BlindSpots(
        baseline_name,
        name,
        scorer.how.to_dict(),
        depth,
        page,
        len(baseline_values.query_ids),
        changed,
        seen_table,
        chosen_profile,
        suggested,
        unseen,
        notices,
    )


def _notices(scorer: Scorer, run: Run) -> tuple[Notice, ...]:
    """Warnings about a run; a run without a judged query is an error."""
    ranked_run = scorer.ranked(run)
    scores = score(scorer.index, ranked_run, list(scorer.metrics), scorer.how)
    return run_notices(ranked_run.name, scores.counts.cautions)


def _lists(scorer: Scorer, run: Run) -> pl.DataFrame:
    """The rankings with grade and relevance of each document; relevant is a grade above 0."""
    top_documents = tops(scorer.ranked(run), scorer.index, scorer.how, _MAX_DEPTH)
    relevant = (pl.col("grade") > 0).fill_null(value=False).alias("relevant")
    return top_documents.select("query_id", "rank", "doc_id", "grade", relevant)


class _QueryValues(NamedTuple):
    """Queries, and their values by metric; undefined values are 0."""

    query_ids: list[str]
    by_metric: Mapping[str, Floats]


def _values(scorer: Scorer, lists: pl.DataFrame, metrics: Sequence[tuple[str, Metric]]) -> _QueryValues:
    # two rows may share a rank after a change: the order of the rows decides
    ranked_lists = lists.sort("query_id", "rank", maintain_order=True).select(
        "query_id", "doc_id", (-pl.int_range(pl.len()).over("query_id")).cast(pl.Float64).alias("score")
    )
    if ranked_lists.is_empty():
        queries = scorer.index.query_ids.to_list()
        return _QueryValues(queries, {label: np.zeros(len(queries)) for label, _ in metrics})
    scores = score(scorer.index, read_run(ranked_lists), metrics, scorer.how)
    values = {label: np.nan_to_num(scores.values[label]) for label, _ in metrics}
    return _QueryValues(scores.query_ids.to_list(), values)


def _profile(
    scorer: Scorer,
    lists: pl.DataFrame,
    baseline_values: _QueryValues,
    metrics: Sequence[tuple[str, Metric]],
    k: int,
) -> pl.DataFrame:
    rows: list[JsonObject] = []
    for change in PERTURBATIONS:
        changed_lists = change.apply(lists, k)
        altered_queries = _altered_queries(lists, changed_lists, pl.col("grade").fill_null(0.0))
        changed_values = _values(scorer, changed_lists, metrics)
        is_altered = np.array([query in altered_queries for query in baseline_values.query_ids])
        for label, _ in metrics:
            delta = (
                _align_values(changed_values, label, baseline_values) - baseline_values.by_metric[label]
            )[is_altered]
            rows.append(
                {
                    "change": change.name,
                    "about": change.about,
                    "metric": label,
                    "altered": len(delta),
                    "unmoved": float((np.abs(delta) <= _CLOSE).mean()) if len(delta) else None,
                    "delta": float(delta.mean()) if len(delta) else None,
                }
            )
    return pl.DataFrame(rows, schema=PROFILE)


def _align_values(values: _QueryValues, label: str, order: _QueryValues) -> Floats:
    """Sort a metric's values by the queries of `order`; a removed query has 0."""
    metric_values = values.by_metric[label]
    if values.query_ids == order.query_ids:
        return metric_values
    value_of_query = dict(zip(values.query_ids, metric_values, strict=True))
    return np.array([value_of_query.get(query, 0.0) for query in order.query_ids])


def _altered_queries(lists: pl.DataFrame, changed_lists: pl.DataFrame, content: pl.Expr) -> set[str]:
    """The queries with changed content at some rank."""

    def ordered(table: pl.DataFrame) -> pl.DataFrame:
        row = table.sort("query_id", "rank", maintain_order=True)
        return row.group_by("query_id", maintain_order=True).agg(content.alias("what"))

    joined = ordered(lists).join(ordered(changed_lists), on="query_id", how="left")
    is_different = joined["what_right"].is_null() | (joined["what"] != joined["what_right"])
    return set(joined.filter(is_different)["query_id"].to_list())


def _changed_queries(lists: pl.DataFrame, changed_lists: pl.DataFrame, depth: int) -> list[str]:
    first_documents = [table.filter(pl.col("rank") <= depth) for table in (lists, changed_lists)]
    query_ids = set(first_documents[0]["query_id"].to_list()) | set(first_documents[1]["query_id"].to_list())
    unchanged = query_ids - _altered_queries(first_documents[0], first_documents[1], pl.col("doc_id"))
    baseline_query_ids = set(first_documents[0]["query_id"].to_list())
    return sorted(query for query in query_ids if query not in unchanged or query not in baseline_query_ids)


def _moved_queries(
    baseline_values: _QueryValues, candidate_values: _QueryValues, label: str, queries: list[str]
) -> set[str]:
    delta = _align_values(candidate_values, label, baseline_values) - baseline_values.by_metric[label]
    moved_queries = {q for q, d in zip(baseline_values.query_ids, delta, strict=True) if abs(d) > _CLOSE}
    return moved_queries & set(queries)


def _seen_table(
    chosen_labels: list[str],
    baseline_values: _QueryValues,
    candidate_values: _QueryValues,
    queries: list[str],
    moved: dict[str, set[str]],
) -> pl.DataFrame:
    rows = []
    for label in chosen_labels:
        missed_queries = sorted(set(queries) - moved[label])
        delta = _align_values(candidate_values, label, baseline_values) - baseline_values.by_metric[label]
        rows.append(
            {
                "metric": label,
                "moved": len(moved[label]),
                "blind": len(missed_queries) / len(queries) if queries else None,
                "delta": float(delta.mean()) if len(delta) else None,
                "examples": missed_queries[:_EXAMPLES],
            }
        )
    return pl.DataFrame(rows, schema=SEEN)


def _suggest_metrics(
    profile: pl.DataFrame, moved: Mapping[str, set[str]], labels: list[str], chosen_labels: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The smallest set of metrics that detects every detectable change, and undetected changes.

    Among sets of the same size, the set with most of the chosen metrics is preferred, then the
    first.
    """
    changes_seen: dict[str, set[str]] = {label: set(moved.get(label, ())) for label in labels}
    for row in profile.iter_rows(named=True):
        if row["altered"] and row["unmoved"] < _MIN_MOVED_SHARE:
            changes_seen[row["metric"]].add(f"\x1f{row['change']}")
    detectable = set().union(*changes_seen.values())
    change_names = {f"\x1f{name}" for name in profile.filter(pl.col("altered") > 0)["change"].unique()}
    unseen = tuple(sorted(name[1:] for name in change_names - detectable))
    for size in range(1, len(labels) + 1):
        sets = [
            labels_of_set
            for labels_of_set in combinations(labels, size)
            if detectable <= set().union(*(changes_seen[label] for label in labels_of_set))
        ]
        if sets:
            return max(sets, key=lambda labels_of_set: len({*labels_of_set} & {*chosen_labels})), unseen
    return (), unseen
