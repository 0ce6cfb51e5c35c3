"""What an index lost against another one, without judgments: neighbours, documents, scores, lists."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID, RUN
from rankgate.decisions.migration.moved_documents import PAIR

STEPS = Columns(
    "One row per step from one list to another.",
    Column("step", pl.String, "what the step changes"),
    Column("reference", pl.String, "the run whose documents are looked for"),
    Column("run", pl.String, "the run in which they are looked for"),
    Column("kept", pl.Float64, "the mean share of the first k documents that are kept", ".1%"),
    Column("lowest", pl.Float64, "the share that is kept for the worst query", ".0%", header="worst query"),
    Column("losing", pl.Int64, "queries that lose a document", unit="queries", header="queries\nthat lose"),
)
SCORES = Columns(
    "One row per run.",
    RUN,
    Column("first", pl.Float64, "the median score of the first document", ".4g", header="score at\nrank 1"),
    Column("last", pl.Float64, "the median score at rank k", ".4g", header="score at\nrank k"),
    Column(
        "above",
        pl.Float64,
        "the share of the first k documents with at least the old median score at rank k",
        ".0%",
        header="above the old\nscore at k",
    ),
)
CHANGES = Columns(
    "One row per query whose list changed, the largest possible loss first.",
    QUERY_ID,
    Column("kept", pl.Int64, "old documents that the new list has too", header="kept"),
    Column("first_change", pl.Int64, "the first rank that differs", header="first\nchange"),
    Column("most", pl.Float64, "the largest loss that judgments could show", ".3f", header="can\nlose"),
    Column("old", pl.List(pl.String), "the documents of the old list"),
    Column("new", pl.List(pl.String), "the documents of the new list"),
)


def measure_step(names: tuple[str, str, str], reference: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """A row of `STEPS`: the share of the documents of one list that another list has.

    Args:
        names: the step, the reference and the run.
        reference: ``query_id``, ``doc_id`` of the first k documents.
        answers: the same of the other list.
    """
    is_kept = pl.col("is_kept").fill_null(value=False).mean()
    kept_shares = (
        reference.join(answers.select(*PAIR, is_kept=True), on=PAIR, how="left")
        .group_by("query_id")
        .agg(kept=is_kept)
        .sort("query_id")["kept"]  # the same sum with any number of threads
    )
    row = (*names, kept_shares.mean(), kept_shares.min(), int((kept_shares < 1).sum()))
    return pl.DataFrame([row], schema=STEPS, orient="row")


def measure_scores(names: Sequence[str], tables: Sequence[pl.DataFrame], k: int) -> pl.DataFrame:
    """The rows of `SCORES`, from ``rank`` and ``score`` of the first k documents; the old run first."""
    medians = [[table.filter(rank=rank)["score"].median() for rank in (1, k)] for table in tables]
    limit = medians[0][1]
    shares_above = [None if limit is None else (table["score"] >= limit).mean() for table in tables]
    rows = [(name, *pair, share) for name, pair, share in zip(names, medians, shares_above, strict=True)]
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def list_changes(documents: pl.DataFrame, largest_losses: pl.DataFrame) -> pl.DataFrame:
    """The rows of `CHANGES`.

    Args:
        documents: the table of `moved_documents.join_lists`.
        largest_losses: ``query_id`` and ``most`` of the queries that changed.
    """
    old_rank, new_rank = pl.col("old_rank"), pl.col("new_rank")
    is_moved = old_rank.ne_missing(new_rank)
    doc_ids = pl.col("doc_id")
    return (
        documents.join(largest_losses, on="query_id")
        .group_by("query_id")
        .agg(
            (old_rank.is_not_null() & new_rank.is_not_null()).sum().cast(pl.Int64).alias("kept"),
            pl.col("best_rank").filter(is_moved).min().alias("first_change"),
            pl.col("most").first(),
            doc_ids.filter(old_rank.is_not_null()).sort_by(old_rank.drop_nulls()).alias("old"),
            doc_ids.filter(new_rank.is_not_null()).sort_by(new_rank.drop_nulls()).alias("new"),
        )
        .sort("most", "query_id", descending=[True, False])
        .select(*CHANGES)
    )
