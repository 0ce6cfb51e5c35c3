"""Values of intent-aware metrics: rankings against judgments by subtopic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.run import starts_of
from rankgate.metrics.facets import Faceted
from rankgate.metrics.judged import PAD
from rankgate.scoring.index import Index
from rankgate.scoring.mean import filled, of_parts, parts
from rankgate.scoring.tally import Job
from rankgate.scoring.tops import tops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.data.scores import Scores
    from rankgate.metrics.facets import FacetMetric
    from rankgate.scoring.convention import Convention

    Flags = NDArray[np.bool_]

_PAIR = ["query_id", "doc_id"]


def with_facets(
    scores: Scores,
    qrels: Qrels,
    run: Run,
    metrics: Sequence[tuple[str, FacetMetric]],
    how: Convention,
) -> Scores:
    """The same scores with the values of intent-aware metrics.

    Args:
        scores: of the other metrics, for the same judgments with one grade a document.
        qrels: by subtopic; without the column, every query has one.
        run: the rankings.
        metrics: each with its label.
        how: the convention, which also says what empty queries are worth.

    Raises:
        InputError: as ``Run.batches``.
    """
    index = Index.of(qrels.by_document())
    ranked = tops(run, index, how, PAD)
    faceted = faceted_of(qrels, ranked, scores.query_ids)
    present, retrieved = _presence(ranked, run, scores.query_ids)
    values, why, means = dict(scores.values), dict(scores.why), dict(scores.means)
    made_of = dict(scores.parts.means)
    for label, metric in metrics:
        job = Job.of(label, metric, how)
        values[label], why[label] = filled(
            metric.kernel(faceted, **metric.bound()), faceted.subtopics == 0,
            present=present, retrieved=retrieved, job=job,
        )  # fmt: skip
        made_of[label] = parts(values[label], why[label], job)
        means[label] = of_parts(made_of[label], job, scores.counts.unknown_queries)
    told = replace(scores.parts, means=made_of)
    return replace(scores, values=values, why=why, means=means, parts=told)


def by_category(qrels: Qrels, doc_ids: pl.Series, words: pl.Series) -> Qrels:
    """Judgments by subtopic, the subtopics of an item being its categories.

    An item without a category answers none, and a query without any has nothing relevant.

    Args:
        qrels: with one grade for each query and item.
        doc_ids: items, each once.
        words: for each of them its categories between bars; null is none.
    """
    apart = pl.DataFrame({"doc_id": doc_ids, "subtopic": words.cast(pl.String).str.split("|")})
    named = apart.explode("subtopic").with_columns(pl.col("subtopic").str.strip_chars())
    known = named.filter(pl.col("subtopic") != "").unique(maintain_order=True)
    table = qrels.table.join(known, on="doc_id", maintain_order="left")
    gone = qrels.table.join(table, on="query_id", how="anti")["query_id"].unique()
    return replace(qrels, table=table, unjudged=(*qrels.unjudged, *gone.sort()))


def faceted_of(qrels: Qrels, ranked: pl.DataFrame, queries: pl.Series) -> Faceted:
    """The block of some queries.

    Args:
        qrels: by subtopic; a grade of 1 or more is relevant.
        ranked: ``query_id``, ``rank``, ``doc_id``.
        queries: the queries, each once.
    """
    subtopic = pl.col("subtopic").fill_null("") if qrels.by_subtopic else pl.lit("")
    relevant = qrels.table.with_columns(subtopic.alias("subtopic")).filter(pl.col("grade") >= 1)
    codes = pl.DataFrame({"query_id": queries, "t": np.arange(len(queries))})
    relevant = relevant.join(codes, on="query_id").with_columns(
        (pl.col("subtopic").rank("dense").over("query_id") - 1).cast(pl.Int64).alias("s")
    )
    size = int(relevant["s"].max() or 0) + 1 if len(relevant) else 1  # type: ignore[arg-type]
    answers = (
        relevant.group_by([*_PAIR, "t"]).agg("s").sort("t", "doc_id", descending=[False, True])
    )
    pool, _ = _laid_out(answers, len(queries), size)
    found = answers.join(ranked.select(*_PAIR, "rank"), on=_PAIR).sort("t", "rank")
    covers, ranks = _laid_out(found, len(queries), size, found["rank"].to_numpy())
    return Faceted(ranks, covers, pool, np.count_nonzero(pool.any(axis=1), axis=-1))


def _laid_out(
    rows: pl.DataFrame, queries: int, size: int, ranks: NDArray[Any] | None = None
) -> tuple[Flags, NDArray[np.int32]]:
    """Documents by query in a block, ``(T, ·, S)``, and their ranks."""
    starts = starts_of(rows["t"])
    lengths = np.diff(starts, append=len(rows))
    column = np.arange(len(rows)) - np.repeat(starts, lengths)
    width = max(1, int(lengths.max(initial=0)))
    owner = rows["t"].to_numpy()
    covers = np.zeros((queries, width, size), bool)
    each = rows["s"].list.len().to_numpy()
    subtopics = rows["s"].explode().drop_nulls().to_numpy()
    covers[np.repeat(owner, each), np.repeat(column, each), subtopics] = True
    rank = np.full((queries, width), PAD, np.int32)
    if ranks is not None:
        rank[owner, column] = ranks
    return covers, rank


def _presence(
    ranked: pl.DataFrame, run: Run, queries: pl.Series
) -> tuple[Flags, NDArray[np.int64]]:
    """Which queries the run has, and how many documents each has."""
    counts = ranked.group_by("query_id").agg(pl.len().alias("n"))
    joined = pl.DataFrame({"query_id": queries}).join(
        counts, on="query_id", how="left", maintain_order="left"
    )
    retrieved = joined["n"].fill_null(0).to_numpy().astype(np.int64)
    present: Flags = retrieved > 0
    if run.queries is not None:
        zero = run.queries.filter(pl.col("state") == "zero")["query_id"]
        present |= queries.is_in(zero.implode()).to_numpy()
    return present, retrieved
