"""The verb ``blindspots``: what metrics cannot see of a change."""

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
from rankgate.data.collection import OF_SAMPLES, OF_TASKS, Collection
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

STANDARD = ("nDCG@10", "RR@10", "P@10", "R@100", "AP", "RBP(p=0.8)", "Success@1", "ERR@10")
"""Metrics from which a set is suggested, in addition to the chosen ones."""

_DEEP = 1000
_CLOSE = 1e-12
_SEES = 0.5  # of the lists that a change alters: a metric that moves for so many sees it
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
    collection.refuse("blindspots", *OF_TASKS, *OF_SAMPLES)
    scorer = Scorer.of(collection, metrics, convention, depth=depth)
    chosen = [label for label, _ in scorer.metrics]
    others = [(name, parse(name)) for name in STANDARD if name not in chosen]
    every = (*scorer.metrics, *others)
    step("scoring the baseline")
    first = collection.run(baseline)
    notices = _notices(scorer, first)
    lists = _lists(scorer, first)
    before = _values(scorer, lists, every)
    step("changing it")
    profile = _profile(scorer, lists, before, every, page)
    seen, changed, name = pl.DataFrame(schema=SEEN), 0, None
    moved: dict[str, set[str]] = {}
    if candidate is not None:
        step("scoring the candidate")
        other = collection.run(candidate)
        name = other.name
        notices += _notices(scorer, other)
        after_lists = _lists(scorer, other)
        after = _values(scorer, after_lists, every)
        queries = _changed(lists, after_lists, depth)
        changed = len(queries)
        moved = {label: _moved(before, after, label, queries) for label, _ in every}
        seen = _seen(chosen, before, after, queries, moved)
    suggested, unseen = _suggested(profile, moved, [label for label, _ in every], chosen)
    own = profile.filter(pl.col("metric").is_in(chosen))
    first_name = first.name
    if name is not None:
        first_name, name = distinct_names([first_name, name], [baseline, candidate])
    return BlindSpots(
        first_name,
        name,
        scorer.how.to_dict(),
        depth,
        page,
        len(before["query_id"]),
        changed,
        seen,
        own,
        suggested,
        unseen,
        notices,
    )


def _notices(scorer: Scorer, run: Run) -> tuple[Notice, ...]:
    """What the reader should know of a run; one without a judged query is refused."""
    ranked = scorer.ranked(run)
    scores = score(scorer.index, ranked, list(scorer.metrics), scorer.how)
    return run_notices(ranked.name, scores.counts.cautions)


def _lists(scorer: Scorer, run: Run) -> pl.DataFrame:
    """The rankings with what is known of each document; relevant is a grade above 0."""
    found = tops(scorer.ranked(run), scorer.index, scorer.how, _DEEP)
    relevant = (pl.col("grade") > 0).fill_null(value=False).alias("relevant")
    return found.select("query_id", "rank", "doc_id", "grade", relevant)


def _values(
    scorer: Scorer, lists: pl.DataFrame, metrics: Sequence[tuple[str, Metric]]
) -> dict[str, Any]:
    """Each metric's value of each query, with ``query_id``; undefined counts as 0."""
    # a rank may be shared after a change: the order of the rows decides
    ranked = lists.sort("query_id", "rank", maintain_order=True).select(
        "query_id",
        "doc_id",
        (-pl.int_range(pl.len()).over("query_id")).cast(pl.Float64).alias("score"),
    )
    if ranked.is_empty():
        queries = scorer.index.query_ids.to_list()
        return {"query_id": queries, **{label: np.zeros(len(queries)) for label, _ in metrics}}
    scores = score(scorer.index, read_run(ranked), metrics, scorer.how)
    values = {label: np.nan_to_num(scores.values[label]) for label, _ in metrics}
    return {"query_id": scores.query_ids.to_list(), **values}


def _profile(
    scorer: Scorer,
    lists: pl.DataFrame,
    before: dict[str, Any],
    metrics: Sequence[tuple[str, Metric]],
    k: int,
) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for change in PERTURBATIONS:
        changed = change.apply(lists, k)
        altered = _altered(lists, changed, pl.col("grade").fill_null(0.0))
        after = _values(scorer, changed, metrics)
        place = np.array([query in altered for query in before["query_id"]])
        for label, _ in metrics:
            delta = (_like(after, label, before) - before[label])[place]
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


def _like(values: dict[str, Any], label: str, order: dict[str, Any]) -> Floats:
    """Values in the order of others' queries; a query that vanished counts 0."""
    if values["query_id"] == order["query_id"]:
        return np.asarray(values[label], np.float64)
    known = dict(zip(values["query_id"], values[label], strict=True))
    return np.array([known.get(query, 0.0) for query in order["query_id"]])


def _altered(lists: pl.DataFrame, changed: pl.DataFrame, what: pl.Expr) -> set[str]:
    """The queries in which the ranks hold something else than before."""

    def ordered(table: pl.DataFrame) -> pl.DataFrame:
        row = table.sort("query_id", "rank", maintain_order=True)
        return row.group_by("query_id", maintain_order=True).agg(what.alias("what"))

    both = ordered(lists).join(ordered(changed), on="query_id", how="left")
    other = both["what_right"].is_null() | (both["what"] != both["what_right"])
    return set(both.filter(other)["query_id"].to_list())


def _changed(lists: pl.DataFrame, others: pl.DataFrame, depth: int) -> list[str]:
    first = [table.filter(pl.col("rank") <= depth) for table in (lists, others)]
    every = set(first[0]["query_id"].to_list()) | set(first[1]["query_id"].to_list())
    same = every - _altered(first[0], first[1], pl.col("doc_id"))
    known = set(first[0]["query_id"].to_list())
    return sorted(query for query in every if query not in same or query not in known)


def _moved(
    before: dict[str, Any], after: dict[str, Any], label: str, queries: list[str]
) -> set[str]:
    delta = _like(after, label, before) - before[label]
    some = {q for q, d in zip(before["query_id"], delta, strict=True) if abs(d) > _CLOSE}
    return some & set(queries)


def _seen(
    chosen: list[str],
    before: dict[str, Any],
    after: dict[str, Any],
    queries: list[str],
    moved: dict[str, set[str]],
) -> pl.DataFrame:
    rows = []
    for label in chosen:
        missed = sorted(set(queries) - moved[label])
        delta = _like(after, label, before) - before[label]
        rows.append(
            {
                "metric": label,
                "moved": len(moved[label]),
                "blind": len(missed) / len(queries) if queries else None,
                "delta": float(delta.mean()) if len(delta) else None,
                "examples": missed[:_EXAMPLES],
            }
        )
    return pl.DataFrame(rows, schema=SEEN)


def _suggested(
    profile: pl.DataFrame, moved: Mapping[str, set[str]], labels: list[str], chosen: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The smallest set of metrics that sees every change that one of them sees.

    Among sets of one size, that with most of the chosen metrics, then the first.
    """
    sees: dict[str, set[str]] = {label: set(moved.get(label, ())) for label in labels}
    for row in profile.iter_rows(named=True):
        if row["altered"] and row["unmoved"] < _SEES:
            sees[row["metric"]].add(f"\x1f{row['change']}")
    wanted = set().union(*sees.values())
    tried = {f"\x1f{name}" for name in profile.filter(pl.col("altered") > 0)["change"].unique()}
    unseen = tuple(sorted(name[1:] for name in tried - wanted))
    for size in range(1, len(labels) + 1):
        sets = [
            some
            for some in combinations(labels, size)
            if wanted <= set().union(*(sees[label] for label in some))
        ]
        if sets:
            return max(sets, key=lambda some: len({*some} & {*chosen})), unseen
    return (), unseen
