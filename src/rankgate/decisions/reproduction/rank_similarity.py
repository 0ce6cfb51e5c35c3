"""The verb ``rank_similarity``: compare runs without judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, overload

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.base_result import Notice, run_notices
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.decisions.reproduction.rank_similarity_result import (
    CHANGES,
    CURVE,
    MEASURES,
    PAIRS,
    PER_QUERY,
    REPRODUCTION,
    RankSimilarities,
    RankSimilarity,
)
from rankgate.measurement.scoring.alignment.top_documents import distinct_names
from rankgate.measurement.stats.rank_correlation import group_ties, rbo, tau, tau_ap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike, RunsLike
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.stats.rank_correlation import RboTies

    Rankings = Mapping[str, Mapping[str, float]]


TIES = ("a", "b", "w")
OVERLAPS = (1, 3, 5, 10, 20, 50, 100)
MATRIX_MEASURES = (*("RBO", "KTU", "tau", "tau-b", "tau-AP", "Spearman"), *(f"overlap@{k}" for k in OVERLAPS))


@overload
def rank_similarity(
    first: RunLike,
    second: RunLike,
    *,
    p: float = 0.9,
    ties: RboTies = "a",
    depth: int = 100,
    collection: Collection | QrelsLike | None = None,
    metrics: Sequence[str] = (),
    baselines: tuple[RunLike, RunLike] | None = None,
    convention: str | Convention = "trec",
) -> RankSimilarity: ...


@overload
def rank_similarity(
    first: RunLike | RunsLike,
    second: RunLike | None = None,
    *others: RunLike,
    p: float = 0.9,
    ties: RboTies = "a",
    depth: int = 100,
    collection: Collection | QrelsLike | None = None,
    metrics: Sequence[str] = (),
    baselines: tuple[RunLike, RunLike] | None = None,
    convention: str | Convention = "trec",
) -> RankSimilarity | RankSimilarities: ...


def rank_similarity(
    first: RunLike | RunsLike,
    second: RunLike | None = None,
    *others: RunLike,
    p: Annotated[float, Range(0, 1, exclusive=True)] = 0.9,
    ties: RboTies = "a",
    depth: Annotated[int, Range(1, 1_000_000)] = 100,
    collection: Collection | QrelsLike | None = None,
    metrics: Sequence[str] = (),
    baselines: tuple[RunLike, RunLike] | None = None,
    convention: str | Convention = "trec",
) -> RankSimilarity | RankSimilarities:
    """Compare the rankings of two runs or more without judgments: RBO, overlap, tau.

    Query by query: rank-biased overlap with its bounds
    (`rankgate.measurement.stats.rank_correlation`),
    the share of documents that both have in the first k, Kendall's tau over the union of documents
    (KTU), and over the documents that both have tau (pairs tied in either run count as neither),
    tau-b, tau-AP (directed: the first run is the reference) and Spearman's rho. Scores that are
    equal are tied.

    With judgments, also how well the second of two runs reproduces the first: the root mean square
    error of the values; and with the baselines that both were to improve on, the effect ratio and
    the delta of the relative improvement (Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036).

    Args:
        first: a run; or all runs, as a list or ``{name: run}``.
        second: another one, of the same queries.
        others: further runs. Of three or more the result has each pair, and a matrix.
        p: the persistence of rank-biased overlap; at 0.9 the first 10 ranks have 86% of the weight.
        ties: the treatment of equal scores in rank-biased overlap: the mean over all orders
            (``a``), the same so that a ranking with ties agrees fully with itself (``b``), or equal
            ranks (``w``).
        depth: documents of each ranking that count.
        collection: judgments, or a `Collection`, for the reproduction of values.
        metrics: metrics of the reproduction; nDCG@10 and AP without.
        baselines: the runs that the first and the second were to improve on.
        convention: compute metrics as this tool does.

    Raises:
        InputError, DuplicateError: data that cannot be read, with file and line; two runs without
            a common query.
        UsageError: one run; of three or more, a run twice, or judgments; baselines or metrics
            without judgments.

    >>> one = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> two = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    >>> round(rank_similarity(one, two, p=0.5).measures.row(0, named=True)["mean"], 4)
    0.5
    >>> three = {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}
    >>> rank_similarity({"one": one, "two": two, "three": three}, p=0.5).matrix()[0].round(4)
    array([  nan, 0.5  , 0.375])
    """
    collection = Collection.of(collection)
    collection.refuse("rank_similarity", *TASK_FIELDS, *SAMPLE_FIELDS)
    sources: list[tuple[str | None, Any]] = (
        named_runs(first, collection.doc_field)
        if second is None
        else [(None, source) for source in (first, second, *others)]
    )
    if len(sources) < 2:
        problem = "one run, where two or more are compared; give another one."
        raise UsageError(problem, code="wrong-run-count")
    if len(sources) > 2:
        is_reproduction = collection.judgments is not None or bool(metrics or baselines)
        _refuse_for_many([source for _, source in sources], reproduced=is_reproduction)
    elif collection.judgments is None and (baselines or metrics):
        raise UsageError("metrics and baselines need judgments; give them.", code="missing-input")
    runs = [collection.run(source, name) for name, source in sources]
    if len(runs) == 2:
        return _compare_two((runs[0], runs[1]), p, ties, depth, collection, metrics, baselines, convention)
    names = distinct_names([run.name for run in runs], [source for _, source in sources])
    return _compare_many(names, [_rankings(run, depth) for run in runs], p, ties, depth)


def _refuse_for_many(sources: Sequence[object], *, reproduced: bool) -> None:
    """Check that three runs or more have no judgments, and that no run is given twice.

    Raises:
        UsageError: judgments, metrics or baselines, which are for two runs; a run twice.
    """
    if reproduced:
        raise UsageError(
            "judgments, metrics and baselines measure how well one run reproduces another; with "
            f"{count_noun(len(sources), 'run')} leave them out, or give two runs.",
            code="conflicting-options",
        )
    for i, j in combinations(range(len(sources)), 2):
        if _is_same_run(sources[i], sources[j]):
            label = sources[j] if isinstance(sources[j], str | Path) else f"run {j + 1}"
            problem = f"{label}: this run is given twice, as run {i + 1} and run {j + 1}"
            raise UsageError(f"{problem}; leave one out.", code="run-twice")


def _is_same_run(first: object, second: object) -> bool:
    """True for one object, or one file by any path."""
    paths = [Path(source) for source in (first, second) if isinstance(source, str | Path)]
    if len(paths) == 2 and all(path.is_file() for path in paths):
        return paths[0].samefile(paths[1])
    return first is second


def _compare_two(
    runs: tuple[Run, Run],
    p: float,
    ties: RboTies,
    depth: int,
    collection: Collection,
    metrics: Sequence[str],
    baselines: tuple[RunLike, RunLike] | None,
    convention: str | Convention,
) -> RankSimilarity:
    first_rankings, second_rankings = (_rankings(run, depth) for run in runs)
    common_queries, rows, curves, longest_list = _compare_rankings(
        (runs[0].name, runs[1].name), first_rankings, second_rankings, p, ties, depth
    )
    curve = curves.mean(axis=0)[:longest_list]
    reproduction, notices = _reproduction(runs, collection, metrics, baselines, convention)
    return RankSimilarity(
        runs[0].name,
        runs[1].name,
        p,
        ties,
        depth,
        len(common_queries),
        len(first_rankings) - len(common_queries),
        len(second_rankings) - len(common_queries),
        _mean_table(rows, curves, longest_list),
        _value_table(rows, curves, longest_list),
        pl.DataFrame({"depth": range(1, len(curve) + 1), "overlap": curve}, schema=CURVE),
        reproduction,
        notices,
        _change_table(common_queries, first_rankings, second_rankings),
    )


def _change_table(
    queries: Sequence[str], first_rankings: Rankings, second_rankings: Rankings
) -> pl.DataFrame:
    """One row for each query, the largest change first."""
    rows = []
    for query in queries:
        first, second = list(first_rankings[query]), list(second_rankings[query])
        pairs = enumerate(zip_longest(first, second), 1)
        first_change = next((rank for rank, (old, new) in pairs if old != new), None)
        rows.append((query, first_change, *(len({*second[:k]} - {*first[:k]}) for k in (3, 10))))
    table = pl.DataFrame(rows, schema=CHANGES, orient="row")
    largest_first = ("new_in_3", "new_in_10", "first_change", "query_id")
    return table.sort(largest_first, descending=[True, True, False, False], nulls_last=True)


def _compare_many(
    names: Sequence[str], rankings: Sequence[Rankings], p: float, ties: RboTies, depth: int
) -> RankSimilarities:
    tables = []
    for i, j in combinations(range(len(names)), 2):
        step(f"comparing {names[i]} and {names[j]}")
        first_rankings, second_rankings = rankings[i], rankings[j]
        common_queries, rows, curves, longest_list = _compare_rankings(
            (names[i], names[j]), first_rankings, second_rankings, p, ties, depth
        )
        reversed_values = {
            query: {"tau-AP": _tau_ap(second_rankings[query], first_rankings[query])}
            for query in common_queries
        }
        for reference, compared_run, means in (
            (names[i], names[j], _mean_table(rows, curves, longest_list)),
            (names[j], names[i], _mean_table(reversed_values, np.zeros((len(common_queries), 0)), 0)),
        ):
            ids = {"first": reference, "second": compared_run, "queries": len(common_queries)}
            keys = [pl.lit(value, PAIRS[name]).alias(name) for name, value in ids.items()]
            tables.append(means.select(*keys, pl.all()))
    queries = set[str]().union(*rankings)
    missing = {name: len(queries) - len(lists) for name, lists in zip(names, rankings, strict=True)}
    return RankSimilarities(tuple(names), p, ties, depth, pl.concat(tables), missing)


def _compare_rankings(
    names: tuple[str, str],
    first_rankings: Rankings,
    second_rankings: Rankings,
    p: float,
    ties: RboTies,
    depth: int,
) -> tuple[list[str], dict[str, dict[str, float]], NDArray[np.float64], int]:
    """Compare two runs: common queries, measures by query, (n, depth) overlaps, longest list.

    Raises:
        InputError: no common query.
    """
    common_queries = sorted(first_rankings.keys() & second_rankings.keys(), key=str.encode)
    if not common_queries:
        raise InputError(
            f"no query is both in {names[0]} and in {names[1]}; check their ids.", code="queries-differ"
        )
    rows = {
        query: _measure_query(first_rankings[query], second_rankings[query], p, ties)
        for query in common_queries
    }
    curves = np.array(
        [_overlap_curve(first_rankings[query], second_rankings[query], depth) for query in common_queries]
    )
    longest_list = max(
        len(lists[query]) for lists in (first_rankings, second_rankings) for query in common_queries
    )
    return common_queries, rows, curves, longest_list


def kendall_union(first: Sequence[str], second: Sequence[str]) -> float:
    """Kendall's tau of two lists of documents, as indices in their sorted union (KTU).

    Both lists are cut to the length of the shorter list. NaN for fewer than two documents.

    >>> kendall_union(["a", "b", "c"], ["a", "b", "c"])
    1.0
    """
    index_of_document = {document: i for i, document in enumerate(sorted({*first, *second}))}
    n = min(len(first), len(second))
    first_ranks, second_ranks = (
        np.array([index_of_document[document] for document in docs[:n]], float) for docs in (first, second)
    )
    return tau(first_ranks, second_ranks) if n > 1 else float("nan")


def _rankings(run: Run, depth: int) -> Rankings:
    """The scores of the first documents of each query, by rank: equal scores by id, descending."""
    rows = pl.concat(list(run.pieces())).sort("score", "doc_id", descending=True)
    lists_by_query = rows.group_by("query_id", maintain_order=True).agg(
        pl.col("doc_id").head(depth), pl.col("score").head(depth)
    )
    return {
        query: dict(zip(documents, scores, strict=True))
        for query, documents, scores in lists_by_query.iter_rows()
    }


def _measure_query(
    first_scores: Mapping[str, float], second_scores: Mapping[str, float], p: float, ties: RboTies
) -> dict[str, float]:
    """Compute the measures of one query."""
    from rankgate.measurement.stats.rank_correlation import rank_correlation

    overlap = rbo(group_ties(first_scores), group_ties(second_scores), p, ties)
    x, y = _common_scores(first_scores, second_scores)
    return {
        "RBO": overlap.value,
        "RBO low": overlap.low,
        "RBO high": overlap.high,
        "KTU": kendall_union(list(first_scores), list(second_scores)),
        "tau": tau(x, y, "a"),
        "tau-b": tau(x, y),
        "tau-AP": tau_ap(y, x),
        "Spearman": rank_correlation(x, y),
    }


def _tau_ap(first_scores: Mapping[str, float], second_scores: Mapping[str, float]) -> float:
    """tau-AP of the second list with the first as the reference."""
    x, y = _common_scores(first_scores, second_scores)
    return tau_ap(y, x)


def _common_scores(
    first_scores: Mapping[str, float], second_scores: Mapping[str, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scores of both runs for their common documents."""
    common_documents = [document for document in first_scores if document in second_scores]
    x, y = (
        np.array([scores[document] for document in common_documents])
        for scores in (first_scores, second_scores)
    )
    return x, y


def _overlap_curve(
    first_scores: Mapping[str, float], second_scores: Mapping[str, float], depth: int
) -> NDArray[np.float64]:
    """The share of common documents in the first k, for each k."""
    second_ranks = {document: rank for rank, document in enumerate(second_scores)}
    both_seen = [
        max(rank, second_ranks[document])
        for rank, document in enumerate(first_scores)
        if document in second_ranks
    ]
    common_count = np.cumsum(np.bincount(np.array(both_seen, np.int64), minlength=depth))
    return np.asarray(common_count / np.arange(1, depth + 1), np.float64)


def _value_table(rows: Mapping[str, Mapping[str, float]], curves: Floats, longest_list: int) -> pl.DataFrame:
    """One row for each query and measure."""
    value_rows = [
        (query, measure, value)
        for i, (query, values) in enumerate(rows.items())
        for measure, value in (*values.items(), *_overlaps(curves[i], longest_list))
    ]
    return pl.DataFrame(value_rows, schema=PER_QUERY, orient="row")


def _overlaps(curve: Floats, longest_list: int) -> list[tuple[str, float]]:
    return [(f"overlap@{k}", float(curve[k - 1])) for k in OVERLAPS if k <= min(len(curve), longest_list)]


def _mean_table(rows: Mapping[str, Mapping[str, float]], curves: Floats, longest_list: int) -> pl.DataFrame:
    """The mean of each measure over the queries with a value, and the least similar query."""
    table = _value_table(rows, curves, longest_list)
    mean_rows = []
    for (measure,), measure_rows in table.group_by("measure", maintain_order=True):
        if str(measure).startswith("RBO "):
            continue
        defined_rows = measure_rows.filter(pl.col("value").is_not_nan())
        lowest_row = defined_rows.sort("value", "query_id").head(1)
        rbo_bounds = [
            table.filter(pl.col("measure") == f"RBO {end}")["value"].mean() if measure == "RBO" else None
            for end in ("low", "high")
        ]
        lowest_values = lowest_row.row(0) if len(lowest_row) else (None, None, None)
        mean_rows.append(
            (
                measure,
                defined_rows["value"].mean(),
                *rbo_bounds,
                lowest_values[2],
                lowest_values[0],
                len(defined_rows),
            )
        )
    return pl.DataFrame(mean_rows, schema=MEASURES, orient="row")


def _reproduction(
    runs: tuple[Run, Run],
    collection: Collection,
    metrics: Sequence[str],
    baselines: tuple[RunLike, RunLike] | None,
    convention: str | Convention,
) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """Compare the values of the second run with those of the first; also cautions of all runs."""
    if collection.judgments is None:
        return pl.DataFrame(schema=REPRODUCTION), ()
    from rankgate.measurement.evaluation.evaluate import evaluate

    named = {"first": runs[0], "second": runs[1]}
    if baselines:
        named |= {"base1": collection.run(baselines[0]), "base2": collection.run(baselines[1])}
    result = evaluate(collection, named, list(metrics) or ["nDCG@10", "AP"], convention)
    metric_rows = []
    for metric in result.metrics:
        values = [run.per_query(metric) for run in result.runs]
        queries = [q for q in values[0] if all(_is_defined(values_of_run.get(q)) for values_of_run in values)]
        table = np.array([[values_of_run[q] for q in queries] for values_of_run in values], float)
        means = table.mean(axis=1) if queries else np.full(len(values), np.nan)
        rmse = float(np.sqrt(((table[0] - table[1]) ** 2).mean())) if queries else float("nan")
        effect, delta = _effects(means) if baselines else (None, None)
        metric_rows.append((metric, means[0], means[1], rmse, len(queries), effect, delta))
    notices = tuple(
        notice
        for run, scores in zip(named.values(), result.runs, strict=True)
        for notice in run_notices(run.name, scores.counts.cautions)
    )
    return pl.DataFrame(metric_rows, schema=REPRODUCTION, orient="row"), notices


def _is_defined(value: float | None) -> bool:
    return value is not None and not np.isnan(value)


def _effects(means: Floats) -> tuple[float, float]:
    """Effect ratio Δ′/Δ, and RI − RI′ with RI = Δ / mean of the baseline; 1 and 0 are perfect."""
    first, second, first_baseline, second_baseline = map(float, means)
    ratio = (second - second_baseline) / (first - first_baseline) if first != first_baseline else float("nan")
    if not first_baseline or not second_baseline:
        return ratio, float("nan")
    return ratio, (first - first_baseline) / first_baseline - (second - second_baseline) / second_baseline
