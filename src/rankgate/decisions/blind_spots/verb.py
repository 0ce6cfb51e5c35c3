"""The verb ``blindspots``: find changes that the metrics do not detect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.present.result import Notice, run_notices
from rankgate.core.progress import step
from rankgate.data import read_run
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.decisions.blind_spots.blindspots import PROFILE, SEEN, BlindSpots
from rankgate.decisions.blind_spots.perturbations import PERTURBATIONS
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.names import DEFAULT_METRICS, parse
from rankgate.measurement.scoring.alignment.tops import tops
from rankgate.measurement.scoring.run_names import distinct_names, refuse_baseline_again
from rankgate.measurement.scoring.score import score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

    Floats = NDArray[np.float64]

STANDARD_METRICS = ("nDCG@10", "RR@10", "P@10", "R@100", "AP", "RBP(p=0.8)", "Success@1", "ERR@10")
"""Metrics from which a set is suggested, in addition to the chosen ones."""

_MAX_DEPTH = 1000
_CLOSE = 1e-12
_MIN_MOVED_SHARE = 0.5  # of the lists that a change alters: a metric that moves for so many sees it
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
    """Find what the chosen metrics do not see.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        baseline: the run that is changed, or ``{name: run}``.
        candidate: the run that it was changed to; without it only the profile is made.
        metrics: names or metrics.
        convention: whose rules the numbers follow.
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
    scorer = Scorer.of(collection, metrics, convention, depth=depth)
    chosen_labels = [label for label, _ in scorer.metrics]
    standard_metrics = [
        (name, parse(name)) for name in STANDARD_METRICS if name not in chosen_labels
    ]
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
    suggested, unseen = _suggest_metrics(
        profile, moved, [label for label, _ in all_metrics], chosen_labels
    )
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
        len(baseline_values["query_id"]),
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


def _values(
    scorer: Scorer, lists: pl.DataFrame, metrics: Sequence[tuple[str, Metric]]
) -> dict[str, Any]:
    """Values by metric and query, with ``query_id``; undefined values are 0."""
    # a rank may be shared after a change: the order of the rows decides
    ranked_lists = lists.sort("query_id", "rank", maintain_order=True).select(
        "query_id",
        "doc_id",
        (-pl.int_range(pl.len()).over("query_id")).cast(pl.Float64).alias("score"),
    )
    if ranked_lists.is_empty():
        queries = scorer.index.query_ids.to_list()
        return {"query_id": queries, **{label: np.zeros(len(queries)) for label, _ in metrics}}
    scores = score(scorer.index, read_run(ranked_lists), metrics, scorer.how)
    values = {label: np.nan_to_num(scores.values[label]) for label, _ in metrics}
    return {"query_id": scores.query_ids.to_list(), **values}


def _profile(
    scorer: Scorer,
    lists: pl.DataFrame,
    baseline_values: dict[str, Any],
    metrics: Sequence[tuple[str, Metric]],
    k: int,
) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for change in PERTURBATIONS:
        changed_lists = change.apply(lists, k)
        altered_queries = _altered_queries(lists, changed_lists, pl.col("grade").fill_null(0.0))
        changed_values = _values(scorer, changed_lists, metrics)
        is_altered = np.array([query in altered_queries for query in baseline_values["query_id"]])
        for label, _ in metrics:
            delta = (
                _align_values(changed_values, label, baseline_values) - baseline_values[label]
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


def _align_values(values: dict[str, Any], label: str, order: dict[str, Any]) -> Floats:
    """Sort a metric's values by the queries of `order`; a query that vanished has 0."""
    if values["query_id"] == order["query_id"]:
        return np.asarray(values[label], np.float64)
    value_of_query = dict(zip(values["query_id"], values[label], strict=True))
    return np.array([value_of_query.get(query, 0.0) for query in order["query_id"]])


def _altered_queries(
    lists: pl.DataFrame, changed_lists: pl.DataFrame, content: pl.Expr
) -> set[str]:
    """The queries whose content at some rank has changed."""

    def ordered(table: pl.DataFrame) -> pl.DataFrame:
        row = table.sort("query_id", "rank", maintain_order=True)
        return row.group_by("query_id", maintain_order=True).agg(content.alias("what"))

    joined = ordered(lists).join(ordered(changed_lists), on="query_id", how="left")
    is_different = joined["what_right"].is_null() | (joined["what"] != joined["what_right"])
    return set(joined.filter(is_different)["query_id"].to_list())


def _changed_queries(lists: pl.DataFrame, changed_lists: pl.DataFrame, depth: int) -> list[str]:
    first_documents = [table.filter(pl.col("rank") <= depth) for table in (lists, changed_lists)]
    query_ids = set(first_documents[0]["query_id"].to_list()) | set(
        first_documents[1]["query_id"].to_list()
    )
    unchanged = query_ids - _altered_queries(
        first_documents[0], first_documents[1], pl.col("doc_id")
    )
    baseline_query_ids = set(first_documents[0]["query_id"].to_list())
    return sorted(
        query for query in query_ids if query not in unchanged or query not in baseline_query_ids
    )


def _moved_queries(
    baseline_values: dict[str, Any],
    candidate_values: dict[str, Any],
    label: str,
    queries: list[str],
) -> set[str]:
    delta = _align_values(candidate_values, label, baseline_values) - baseline_values[label]
    moved_queries = {
        q for q, d in zip(baseline_values["query_id"], delta, strict=True) if abs(d) > _CLOSE
    }
    return moved_queries & set(queries)


def _seen_table(
    chosen_labels: list[str],
    baseline_values: dict[str, Any],
    candidate_values: dict[str, Any],
    queries: list[str],
    moved: dict[str, set[str]],
) -> pl.DataFrame:
    rows = []
    for label in chosen_labels:
        missed_queries = sorted(set(queries) - moved[label])
        delta = _align_values(candidate_values, label, baseline_values) - baseline_values[label]
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
    profile: pl.DataFrame,
    moved: Mapping[str, set[str]],
    labels: list[str],
    chosen_labels: list[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The smallest set of metrics that sees every change that one of them sees.

    Among sets of one size, that with most of the chosen metrics, then the first.
    """
    changes_seen: dict[str, set[str]] = {label: set(moved.get(label, ())) for label in labels}
    for row in profile.iter_rows(named=True):
        if row["altered"] and row["unmoved"] < _MIN_MOVED_SHARE:
            changes_seen[row["metric"]].add(f"\x1f{row['change']}")
    detectable = set().union(*changes_seen.values())
    change_names = {
        f"\x1f{name}" for name in profile.filter(pl.col("altered") > 0)["change"].unique()
    }
    unseen = tuple(sorted(name[1:] for name in change_names - detectable))
    for size in range(1, len(labels) + 1):
        sets = [
            labels_of_set
            for labels_of_set in combinations(labels, size)
            if detectable <= set().union(*(changes_seen[label] for label in labels_of_set))
        ]
        if sets:
            return max(
                sets, key=lambda labels_of_set: len({*labels_of_set} & {*chosen_labels})
            ), unseen
    return (), unseen
