"""Align rankings with judgments by subtopic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.measurement.metrics.facets import Faceted
from rankgate.measurement.metrics.judged import PAD
from rankgate.measurement.scoring.alignment.judgments import Subtopics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels
    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

    Codes = NDArray[np.int64]
    Grades = NDArray[np.float32]

_CELLS = 1 << 22  # grades of a block
_HIGHEST = float(np.finfo(np.float32).max)
_PAIR = ["query_id", "doc_id"]
_NO_SUBTOPIC = frozenset({"0", "Q0"})  # the second field of judgments that have no subtopics


def with_subtopics(index: JudgmentIndex, qrels: Qrels) -> JudgmentIndex:
    """Add subtopics to judgments: which of them each answers, and how well: grades above 0.

    Args:
        index: the same judgments with one grade a document, or more of them.
        qrels: by subtopic.

    Raises:
        InputError: the judgments have no subtopics.
    """
    if not qrels.by_subtopic or set(qrels.table["subtopic"].unique()) <= _NO_SUBTOPIC:
        raise no_subtopics(qrels.place.label)
    return with_known_subtopics(index, qrels)


def no_subtopics(label: str) -> InputError:
    """The error for judgments without subtopics.

    Args:
        label: the source of the judgments.
    """
    return InputError(
        "judgments without subtopics, which a metric of subtopics needs; give judgments "
        "by subtopic (query_id subtopic doc_id grade), or choose other metrics.",
        source=label,
        code="no-subtopics",
    )


def with_known_subtopics(index: JudgmentIndex, qrels: Qrels) -> JudgmentIndex:
    """Like `with_subtopics`, but judgments without a subtopic are allowed, as in a batch.

    Args:
        index: as of `with_subtopics`.
        qrels: as of `with_subtopics`.
    """
    subtopic = pl.col("subtopic").fill_null("")
    weighed = [name for name in ("subtopic_weight",) if name in qrels.table.columns]
    positive = qrels.table.filter(pl.col("grade") > 0)
    _refuse_too_great(positive)
    relevant = positive.select(*_PAIR, "grade", *weighed, subtopic=subtopic)
    owner = np.repeat(np.arange(len(index.query_ids)), np.diff(index.offsets))
    judgments = pl.DataFrame(
        [
            index.query_ids.gather(owner).alias("query_id"),
            index.doc_ids.alias("doc_id"),
            pl.Series("t", owner),
        ]
    ).with_row_index("judgment")
    numbered = relevant.with_columns(
        (pl.col("subtopic").rank("dense").over("query_id") - 1).cast(pl.Int64).alias("s")
    )
    rows = numbered.join(judgments, on=_PAIR).group_by("t", "doc_id", "judgment").agg("s", "grade")
    rows = rows.sort("t", "doc_id", descending=[False, True])
    lengths = rows["s"].list.len().to_numpy()
    codes = rows["s"].explode().drop_nulls().to_numpy()
    grades = np.zeros((len(rows), int(codes.max(initial=0)) + 1), np.float32)
    relevant_grades = rows["grade"].explode().drop_nulls().to_numpy()
    grades[np.repeat(np.arange(len(rows)), lengths), codes] = relevant_grades
    judgment = rows["judgment"].to_numpy().astype(np.int64)
    position = np.full(len(index.grades), -1)
    position[judgment] = np.arange(len(judgment))
    starts = np.zeros(len(index.query_ids) + 1, np.int64)
    np.cumsum(np.bincount(rows["t"].to_numpy(), minlength=len(starts) - 1), out=starts[1:])
    weights = _weights(numbered.join(judgments, on=_PAIR), (len(starts) - 1, grades.shape[1]))
    return replace(index, subtopics=Subtopics(judgment, starts, grades, position, weights))


def _refuse_too_great(judgments: pl.DataFrame) -> None:
    """Raise InputError for a grade that the type of `Grades` does not hold."""
    too_great = judgments.filter(pl.col("grade") > _HIGHEST)
    if len(too_great):
        query, grade = too_great.select("query_id", "grade").row(0)
        raise InputError(
            f"query '{query}' has grade {grade:g}; metrics of subtopics take grades to "
            f"{_HIGHEST:.4g}; scale the grades down.",
            code="grade-outside-scale",
        )


def _weights(rows: pl.DataFrame, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """The weight of each subtopic of a query, ``(T, S)``; None if the judgments have none."""
    if "subtopic_weight" not in rows.columns:
        return None
    out = np.zeros(shape)
    out[rows["t"].to_numpy(), rows["s"].to_numpy()] = rows["subtopic_weight"].to_numpy()
    return out


def subtopic_blocks(aligned: JudgedRanks, index: JudgmentIndex) -> Iterator[tuple[Codes, Faceted]]:
    """Blocks of bounded size: positions among the queries of ``aligned``, and kernel inputs.

    The sums of one value add documents in a fixed order, in every block.
    """
    if not len(aligned.codes):  # no judgments, maybe
        return
    subtopics = index.subtopics
    assert subtopics is not None
    T, S = len(aligned.codes), subtopics.grades.shape[1]
    position = subtopics.place[aligned.judgment]
    is_relevant = position >= 0
    owner, rank, position = (
        aligned.owner[is_relevant],
        aligned.rank[is_relevant],
        position[is_relevant],
    )
    pooled = subtopics.starts[aligned.codes + 1] - subtopics.starts[aligned.codes]
    step = max(1, _CELLS // (S * max(1, int(pooled.max(initial=1)))))
    for begin in range(0, T, step):
        queries = np.arange(begin, min(begin + step, T))
        rows = slice(*np.searchsorted(owner, [begin, begin + len(queries)]))
        grades, line, column = _padded(
            owner[rows] - begin, subtopics.grades[position[rows]], len(queries)
        )
        ranks = np.full(grades.shape[:2], PAD, np.int32)
        ranks[line, column] = rank[rows]
        first = subtopics.starts[aligned.codes[queries]]
        pool_owner = np.repeat(np.arange(len(queries)), pooled[queries])
        inside = np.arange(len(pool_owner)) - np.repeat(
            np.cumsum(pooled[queries]) - pooled[queries], pooled[queries]
        )
        pool, _, _ = _padded(pool_owner, subtopics.grades[first[pool_owner] + inside], len(queries))
        weights = None if subtopics.weights is None else subtopics.weights[aligned.codes[queries]]
        yield queries, Faceted(ranks, grades, pool, weights=weights)


def _padded(owner: Codes, grades: Grades, T: int) -> tuple[Grades, Codes, Codes]:
    """Rows of each query side by side, ``(T, ·, S)``, with the place of each row."""
    lengths = np.bincount(owner, minlength=T)
    column = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    out = np.zeros((T, max(1, int(lengths.max(initial=0))), grades.shape[1]), np.float32)
    out[owner, column] = grades
    return out, owner, column


def judge_by_category(qrels: Qrels, doc_ids: pl.Series, categories: pl.Series) -> Qrels:
    """Judgments by subtopic, the subtopics of an item being its categories.

    An item without a category answers none, and a query without any has nothing relevant.

    Args:
        qrels: with one grade for each query and item.
        doc_ids: items, each once.
        categories: for each of them its categories between bars; null is not a value.
    """
    return judge_by_categories(qrels, categories_of(doc_ids, categories))


def categories_of(doc_ids: pl.Series, categories: pl.Series) -> pl.DataFrame:
    """Categories of items: ``doc_id`` and ``subtopic``; arguments as of `judge_by_category`."""
    split = pl.DataFrame({"doc_id": doc_ids, "subtopic": categories.cast(pl.String).str.split("|")})
    item_categories = split.explode("subtopic").with_columns(pl.col("subtopic").str.strip_chars())
    return item_categories.filter(pl.col("subtopic") != "").unique(maintain_order=True)


def judge_by_categories(qrels: Qrels, item_categories: pl.DataFrame) -> Qrels:
    """Like `judge_by_category`, for categories from `categories_of`."""
    table = qrels.table.join(item_categories, on="doc_id", maintain_order="left")
    lost_queries = qrels.table.join(table, on="query_id", how="anti")["query_id"].unique()
    return replace(qrels, table=table, unjudged=(*qrels.unjudged, *lost_queries.sort()))
