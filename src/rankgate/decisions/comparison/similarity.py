"""The verb ``rank_similarity``: compare two runs without judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.result import Notice, run_notices
from rankgate.data.collection import OF_SAMPLES, OF_TASKS, Collection
from rankgate.decisions.comparison.rank_similarity import (
    CURVE,
    MEASURES,
    PER_QUERY,
    REPRODUCTION,
    RankSimilarity,
)
from rankgate.measurement.stats.ranks.order import tau, tau_ap
from rankgate.measurement.stats.ranks.rbo import rbo, tied

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.stats.ranks.rbo import Ties

    Rankings = Mapping[str, Mapping[str, float]]

TIES = ("a", "b", "w")
OVERLAPS = (1, 3, 5, 10, 20, 50, 100)


def rank_similarity(
    first: RunLike,
    second: RunLike,
    *,
    p: Annotated[float, Range(0, 1, exclusive=True)] = 0.9,
    ties: Ties = "a",
    depth: Annotated[int, Range(1)] = 100,
    collection: Collection | QrelsLike | None = None,
    metrics: Sequence[str] = (),
    baselines: tuple[RunLike, RunLike] | None = None,
    convention: str | Convention = "trec",
) -> RankSimilarity:
    """Compare the rankings of two runs, query by query, without judgments.

    Rank-biased overlap with its bounds (`rankgate.measurement.stats.ranks.rbo`), the share of
    documents that both have in the first k, Kendall's tau over the union of documents (KTU), and
    over the documents that both have tau (pairs tied in either run count as neither), tau-b, tau-AP
    (directed: the first run is the reference) and Spearman's rho. Scores that are equal are tied.

    With judgments, also how well the second run reproduces the first: the root mean square error
    of the values; and with the baselines that both were to improve on, the effect ratio and the
    delta of the relative improvement (Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036).

    Args:
        first: a run.
        second: another one, of the same queries.
        p: how far down rank-biased overlap looks; at 0.9 the first 10 ranks have 86% of the weight.
        ties: how rank-biased overlap treats equal scores: the mean over all orders (``a``), the
            same so that a ranking with ties agrees wholly with itself (``b``), or as equal
            ranks (``w``).
        depth: documents of each ranking that count.
        collection: judgments, or a `Collection`, for the reproduction of values.
        metrics: metrics of the reproduction; nDCG@10 and AP without.
        baselines: the runs that the first and the second were to improve on.
        convention: compute metrics as this tool does.

    Raises:
        InputError, DuplicateError: data that cannot be read, with file and line; no query in both.
        UsageError: baselines or metrics without judgments.

    >>> one = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> two = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    >>> round(rank_similarity(one, two, p=0.5).measures.row(0, named=True)["mean"], 4)
    0.5
    """
    collection = Collection.of(collection)
    if collection.judgments is None and (baselines or metrics):
        raise UsageError("metrics and baselines need judgments; give them.", code="missing-input")
    collection.refuse("rank_similarity", *OF_TASKS, *OF_SAMPLES)
    runs = collection.run(first), collection.run(second)
    one, two = (_rankings(run, depth) for run in runs)
    shared = sorted(one.keys() & two.keys(), key=str.encode)
    if not shared:
        raise InputError(
            f"no query is both in {runs[0].name} and in {runs[1].name}; check their ids.",
            code="queries-differ",
        )
    rows = {query: _measured(one[query], two[query], p, ties) for query in shared}
    curves = np.array([_curve(one[query], two[query], depth) for query in shared])
    longest = max(len(each[query]) for each in (one, two) for query in shared)
    curve = curves.mean(axis=0)[:longest]
    reproduction, notices = _reproduction(runs, collection, metrics, baselines, convention)
    return RankSimilarity(
        runs[0].name,
        runs[1].name,
        p,
        ties,
        depth,
        len(shared),
        len(one) - len(shared),
        len(two) - len(shared),
        _means(rows, curves, longest),
        _values(rows, curves, longest),
        pl.DataFrame({"depth": range(1, len(curve) + 1), "overlap": curve}, schema=CURVE),
        reproduction,
        notices,
    )


def kendall_union(first: Sequence[str], second: Sequence[str]) -> float:
    """Kendall's tau of two lists of documents, each as its place in their sorted union (KTU).

    The shorter list decides how many are compared. NaN for fewer than two documents.

    >>> kendall_union(["a", "b", "c"], ["a", "b", "c"])
    1.0
    """
    place = {document: i for i, document in enumerate(sorted({*first, *second}))}
    n = min(len(first), len(second))
    one, two = (np.array([place[each] for each in docs[:n]], float) for docs in (first, second))
    return tau(one, two) if n > 1 else float("nan")


def _rankings(run: Run, depth: int) -> Rankings:
    """The scores of the first documents of each query, by rank: equal scores by id, descending."""
    rows = pl.concat(list(run.pieces())).sort("score", "doc_id", descending=True)
    grouped = rows.group_by("query_id", maintain_order=True).agg(
        pl.col("doc_id").head(depth), pl.col("score").head(depth)
    )
    return {
        query: dict(zip(documents, scores, strict=True))
        for query, documents, scores in grouped.iter_rows()
    }


def _measured(
    one: Mapping[str, float], two: Mapping[str, float], p: float, ties: Ties
) -> dict[str, float]:
    """The values of one query."""
    from rankgate.measurement.stats.ranks.correlation import rank_correlation

    overlap = rbo(tied(one), tied(two), p, ties)
    common = [document for document in one if document in two]
    x, y = (np.array([each[document] for document in common]) for each in (one, two))
    return {
        "RBO": overlap.value,
        "RBO low": overlap.low,
        "RBO high": overlap.high,
        "KTU": kendall_union(list(one), list(two)),
        "tau": tau(x, y, "a"),
        "tau-b": tau(x, y),
        "tau-AP": tau_ap(y, x),
        "Spearman": rank_correlation(x, y),
    }


def _curve(one: Mapping[str, float], two: Mapping[str, float], depth: int) -> list[float]:
    """The share of documents that both have in the first k, for each k."""
    shared, first, second, found = 0, set[str](), set[str](), []
    left, right = list(one), list(two)
    for k in range(depth):
        for documents, mine, other in ((left, first, second), (right, second, first)):
            if k < len(documents):
                mine.add(documents[k])
                shared += documents[k] in other
        found.append(shared / (k + 1))
    return found


def _values(
    rows: Mapping[str, Mapping[str, float]], curves: np.ndarray[Any, Any], longest: int
) -> pl.DataFrame:
    """One row for each query and measure."""
    found = [
        (query, measure, value)
        for i, (query, values) in enumerate(rows.items())
        for measure, value in (*values.items(), *_overlaps(curves[i], longest))
    ]
    return pl.DataFrame(found, schema=PER_QUERY, orient="row")


def _overlaps(curve: np.ndarray[Any, Any], longest: int) -> list[tuple[str, float]]:
    return [
        (f"overlap@{k}", float(curve[k - 1])) for k in OVERLAPS if k <= min(len(curve), longest)
    ]


def _means(
    rows: Mapping[str, Mapping[str, float]], curves: np.ndarray[Any, Any], longest: int
) -> pl.DataFrame:
    """The mean of each measure over the queries that have one, and the query least alike."""
    table = _values(rows, curves, longest)
    found = []
    for (measure,), part in table.group_by("measure", maintain_order=True):
        if str(measure).startswith("RBO "):
            continue
        known = part.filter(pl.col("value").is_not_nan())
        worst = known.sort("value", "query_id").head(1)
        ends = [
            table.filter(pl.col("measure") == f"RBO {end}")["value"].mean()
            if measure == "RBO"
            else None
            for end in ("low", "high")
        ]
        least = worst.row(0) if len(worst) else (None, None, None)
        found.append((measure, known["value"].mean(), *ends, least[2], least[0], len(known)))
    return pl.DataFrame(found, schema=MEASURES, orient="row")


def _reproduction(
    runs: tuple[Run, Run],
    collection: Collection,
    metrics: Sequence[str],
    baselines: tuple[RunLike, RunLike] | None,
    convention: str | Convention,
) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """How well the second run reproduces the values of the first, and the cautions of all runs."""
    if collection.judgments is None:
        return pl.DataFrame(schema=REPRODUCTION), ()
    from rankgate.measurement.evaluation.evaluate import evaluate

    named = {"first": runs[0], "second": runs[1]}
    if baselines:
        named |= {"base1": collection.run(baselines[0]), "base2": collection.run(baselines[1])}
    result = evaluate(collection, named, list(metrics) or ["nDCG@10", "AP"], convention)
    found = []
    for metric in result.metrics:
        values = [run.per_query(metric) for run in result.runs]
        queries = [q for q in values[0] if all(_known(each.get(q)) for each in values)]
        table = np.array([[each[q] for q in queries] for each in values], float)
        means = table.mean(axis=1) if queries else np.full(len(values), np.nan)
        rmse = float(np.sqrt(((table[0] - table[1]) ** 2).mean())) if queries else float("nan")
        effect, delta = _effects(means) if baselines else (None, None)
        found.append((metric, means[0], means[1], rmse, len(queries), effect, delta))
    notices = tuple(
        notice
        for run, scores in zip(named.values(), result.runs, strict=True)
        for notice in run_notices(run.name, scores.counts.cautions)
    )
    return pl.DataFrame(found, schema=REPRODUCTION, orient="row"), notices


def _known(value: float | None) -> bool:
    return value is not None and not np.isnan(value)


def _effects(means: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Effect ratio Δ′/Δ, and RI − RI′ with RI = Δ / mean of the baseline; 1 and 0 are perfect."""
    first, second, base, other = map(float, means)
    ratio = (second - other) / (first - base) if first != base else float("nan")
    if not base or not other:
        return ratio, float("nan")
    return ratio, (first - base) / base - (second - other) / other
