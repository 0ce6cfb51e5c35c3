"""Blocks of whole queries as input of kernels: padded, by subtopic, by stratum.

Rankings are also aligned with judgments by subtopic, and with the strata of the pool that judgments
were sampled from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.facet_input import Faceted
from rankgate.measurement.metrics.judged_block import PAD, Judged
from rankgate.measurement.metrics.metric_declaration import RANKING, SAMPLED_POOLS, SUBTOPICS
from rankgate.measurement.metrics.stratified_samples import SampledPool
from rankgate.measurement.scoring.alignment.judgment_index import Subtopics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Duplicates
    from rankgate.measurement.metrics.metric_declaration import View
    from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment

    Codes = NDArray[np.int64]
    Grades = NDArray[np.float32]


_Number = TypeVar("_Number", np.int32, np.float64, np.bool_)

_BLOCK_CELLS = 1 << 20  # cells of one matrix of a block; all its matrices take about 64 MB


def blocks(aligned: JudgedRanks, index: JudgmentIndex) -> Iterator[tuple[NDArray[np.int64], Judged]]:
    """Split queries into blocks of limited size; yield their positions in `aligned` and the block.

    A value does not depend on the block of its query: kernels add by prefix sums.
    """
    T = len(aligned.codes)
    retrieved = np.bincount(aligned.owner, minlength=T)
    pool = index.offsets[aligned.codes + 1] - index.offsets[aligned.codes]
    width = np.maximum(np.maximum(retrieved, pool), 1)
    query_order = np.argsort(width, kind="stable")
    begin = 0
    while begin < T:
        end = begin + max(1, int(np.searchsorted(_cells(width[query_order[begin:]]), _BLOCK_CELLS, "right")))
        yield query_order[begin:end], _block(aligned, index, query_order[begin:end])
        begin = end


def _cells(width: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of cells of the block that ends with each query; widths are increasing."""
    return width * np.arange(1, len(width) + 1)


def _block(aligned: JudgedRanks, index: JudgmentIndex, queries: NDArray[np.int64]) -> Judged:
    sizes = np.bincount(aligned.owner, minlength=len(aligned.codes))
    counts = sizes[queries]
    rows, is_padding = _padded_rows((np.cumsum(sizes) - sizes)[queries], counts)

    def spread(values: NDArray[Any], fill: float, dtype: type[_Number]) -> NDArray[_Number]:
        return _spread(values, rows, is_padding, fill).astype(dtype, copy=False)

    ideal, below, judged, pooled = _pools(index, aligned.codes[queries])
    return Judged(
        rank=spread(aligned.rank, PAD, np.int32),
        grade=spread(aligned.grade, 0, np.float64),
        known=~is_padding,
        first=spread(aligned.first, PAD, np.int32),
        last=spread(aligned.last, PAD, np.int32),
        ideal=ideal,
        below=below,
        retrieved=aligned.retrieved[queries],
        judged=judged,
        pooled=pooled,
        relevant=judged,
        relevant_retrieved=counts,
        level=np.nan,
    )


def _padded_rows(
    starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """``(T, J)`` the rows of each query, J the most, and True behind its last row."""
    column = np.arange(max(1, int(counts.max(initial=0))))
    return starts[:, None] + column, column >= counts[:, None]


def _spread(
    values: NDArray[Any], rows: NDArray[np.int64], is_padding: NDArray[np.bool_], fill: float
) -> NDArray[Any]:
    """``(T, J)`` the values of padded rows."""
    if not len(values):
        return np.full(rows.shape, fill)
    table: NDArray[Any] = values.take(rows, mode="clip")
    table[is_padding] = fill
    return table


def _pools(
    index: JudgmentIndex, codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The grades in each query's pool.

    Returns:
        grades of 0 or more, best first; grades below 0, lowest first; the number of grades of 0 or
        more; and the number of all grades.
    """
    pooled = index.offsets[codes + 1] - index.offsets[codes]
    rows, is_padding = _padded_rows(index.offsets[codes], pooled)
    grades = _spread(index.grades, rows, is_padding, 0).astype(np.float64, copy=False)
    negative = grades < 0
    if not negative.any():
        return grades, np.zeros((len(codes), 0)), pooled, pooled
    count = negative.sum(axis=1)  # the best grade comes first, so these are the last grades
    judged = pooled - count
    ideal = np.where(negative, 0, grades)[:, : max(1, int(judged.max(initial=0)))]
    from_last = np.arange(int(count.max(initial=0)))
    last_first = np.take_along_axis(grades, np.maximum(pooled[:, None] - 1 - from_last, 0), axis=1)
    return ideal, np.where(from_last < count[:, None], last_first, 0), judged, pooled


_SUBTOPIC_CELLS = 1 << 22  # grades in a block
_HIGHEST = float(np.finfo(np.float32).max)
_PAIR = ["query_id", "doc_id"]
_NO_SUBTOPIC = frozenset({"0", "Q0"})  # the second field of judgments without subtopics


def with_subtopics(index: JudgmentIndex, qrels: Qrels) -> JudgmentIndex:
    """Add the subtopics that each judgment answers, with their grades above 0.

    Args:
        index: the same judgments, or more, with one grade per document.
        qrels: the judgments by subtopic.

    Raises:
        InputError: the judgments have no subtopics.
    """
    if not has_subtopics(qrels):
        raise no_subtopics(qrels.place.label)
    return with_known_subtopics(index, qrels)


def has_subtopics(qrels: Qrels) -> bool:
    """True if a judgment has a subtopic."""
    return qrels.by_subtopic and not set(qrels.table["subtopic"].unique()) <= _NO_SUBTOPIC


def no_subtopics(label: str) -> InputError:
    """The error for judgments that have no subtopics.

    Args:
        label: the source of the judgments.
    """
    return InputError(
        "judgments without subtopics, which a metric of subtopics needs; give judgments by subtopic "
        "(query_id subtopic doc_id grade), or choose other metrics.",
        source=label,
        code="no-subtopics",
    )


def with_known_subtopics(index: JudgmentIndex, qrels: Qrels) -> JudgmentIndex:
    """As `with_subtopics`, but judgments without a subtopic are allowed, as in a batch.

    Args:
        index: see `with_subtopics`.
        qrels: see `with_subtopics`.
    """
    subtopic = pl.col("subtopic").fill_null("")
    weighed = [name for name in ("subtopic_weight",) if name in qrels.table.columns]
    positive = qrels.table.filter(pl.col("grade") > 0)
    _refuse_too_great(positive)
    relevant = positive.select(*_PAIR, "grade", *weighed, subtopic=subtopic)
    owner = np.repeat(np.arange(len(index.query_ids)), np.diff(index.offsets))
    judgments = index.table.with_columns(pl.Series("t", owner)).with_row_index("judgment")
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
    """Raise InputError for a grade that does not fit the type of `Grades`."""
    too_great = judgments.filter(pl.col("grade") > _HIGHEST)
    if len(too_great):
        query, grade = too_great.select("query_id", "grade").row(0)
        raise InputError(
            f"query '{query}' has grade {grade:g}; metrics of subtopics take grades to {_HIGHEST:.4g}; scale "
            f"the grades down.",
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
    """Blocks of limited size: positions among the queries of ``aligned``, and kernel inputs.

    The sums of one value add documents in a fixed order, in every block.
    """
    if not len(aligned.codes):  # there may be no judgments
        return
    subtopics = index.subtopics
    assert subtopics is not None
    T, S = len(aligned.codes), subtopics.grades.shape[1]
    position = subtopics.place[aligned.judgment]
    is_relevant = position >= 0
    owner, rank, position = (aligned.owner[is_relevant], aligned.rank[is_relevant], position[is_relevant])
    pooled = subtopics.starts[aligned.codes + 1] - subtopics.starts[aligned.codes]
    step = max(1, _SUBTOPIC_CELLS // (S * max(1, int(pooled.max(initial=1)))))
    for begin in range(0, T, step):
        queries = np.arange(begin, min(begin + step, T))
        rows = slice(*np.searchsorted(owner, [begin, begin + len(queries)]))
        grades, line, column = _padded(owner[rows] - begin, subtopics.grades[position[rows]], len(queries))
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
    """The rows of each query in one row, ``(T, ·, S)``, with the position of each row."""
    lengths = np.bincount(owner, minlength=T)
    column = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    out = np.zeros((T, max(1, int(lengths.max(initial=0))), grades.shape[1]), np.float32)
    out[owner, column] = grades
    return out, owner, column


def judge_by_category(qrels: Qrels, doc_ids: pl.Series, categories: pl.Series) -> Qrels:
    """Judgments by subtopic, where the subtopics of an item are its categories.

    An item without a category answers no subtopic; a query without any has no relevant items.

    Args:
        qrels: judgments with one grade for each query and item.
        doc_ids: items, each once.
        categories: for each item its categories, separated by bars; null means unknown.
    """
    return judge_by_categories(qrels, categories_of(doc_ids, categories))


def categories_of(doc_ids: pl.Series, categories: pl.Series) -> pl.DataFrame:
    """Categories of items: ``doc_id`` and ``subtopic``; arguments as of `judge_by_category`."""
    split = pl.DataFrame({"doc_id": doc_ids, "subtopic": categories.cast(pl.String).str.split("|")})
    item_categories = split.explode("subtopic").with_columns(pl.col("subtopic").str.strip_chars())
    return item_categories.filter(pl.col("subtopic") != "").unique(maintain_order=True)


def judge_by_categories(qrels: Qrels, item_categories: pl.DataFrame) -> Qrels:
    """As `judge_by_category`, for categories from `categories_of`."""
    table = qrels.table.join(item_categories, on="doc_id", maintain_order="left")
    lost_queries = qrels.table.join(table, on="query_id", how="anti")["query_id"].unique()
    return replace(qrels, table=table, unjudged=(*qrels.unjudged, *lost_queries.sort()))


def sampled_pools(block: Any) -> Iterator[tuple[NDArray[np.int64], list[SampledPool]]]:  # noqa: ANN401
    """The pools of whole queries, a ``scoring.alignment.block.Block``.

    Raises:
        InputError: the probabilities do not fit their strata.
    """
    aligned, index = block.aligned, block.judgments
    stratum, chance = _columns(index)
    ends = np.searchsorted(aligned.owner, np.arange(len(aligned.codes) + 1))
    sampled_pools = []
    for t, code in enumerate(aligned.codes):
        begin, end = index.offsets[code], index.offsets[code + 1]
        rank = np.full(end - begin, np.inf)
        rows = slice(ends[t], ends[t + 1])
        places = aligned.judgment[rows]
        rank[places[places >= 0] - begin] = aligned.rank[rows][places >= 0]
        _, codes = np.unique(stratum[begin:end], return_inverse=True)
        pool = SampledPool(rank, index.grades[begin:end], codes, chance[begin:end])
        pool.refuse_unfit(index.query_ids[int(code)])
        sampled_pools.append(pool)
    yield np.arange(len(sampled_pools)), sampled_pools


def _columns(index: Any) -> tuple[NDArray[np.int64], Floats]:  # noqa: ANN401 - a JudgmentIndex
    """The stratum and probability of each judgment, by position."""
    table = getattr(index.given, "table", None)
    known_columns = [] if table is None else [c for c in ("stratum", "inclusion") if c in table.columns]
    n = len(index.grades)
    stratum, chance = np.zeros(n, np.int64), np.full(n, np.nan)
    if known_columns:
        rows = index.table.join(
            index.given.table.select(*_PAIR, *known_columns), on=_PAIR, how="left", maintain_order="left"
        )
        if "stratum" in known_columns:
            ranks = rows["stratum"].fill_null("").rank("dense")
            stratum = ranks.to_numpy().astype(np.int64)
        if "inclusion" in known_columns:
            chance = rows["inclusion"].fill_null(np.nan).to_numpy()
    return stratum, chance


@dataclass(frozen=True)
class RankingMode:
    """The rules that form rankings: the rule for duplicates and the alignment."""

    duplicates: Duplicates
    alignment: Alignment


@dataclass(frozen=True, eq=False)
class Block:
    """Whole queries, ranked in one ranking mode.

    Attributes:
        way: the rules that form the rankings.
        aligned: their judged documents, with ranks and grades.
        judgments: the judgments.
    """

    way: RankingMode
    aligned: JudgedRanks
    judgments: JudgmentIndex

    def seen_as(self, view: View) -> Iterable[tuple[NDArray[np.int64], Any]]:
        """The kernel input for a view, with positions among the queries of the block."""
        if view == RANKING:
            return blocks(self.aligned, self.judgments)
        if view == SUBTOPICS:
            return subtopic_blocks(self.aligned, self.judgments)
        if view == SAMPLED_POOLS:
            return sampled_pools(self)
        assert view.build is not None
        return view.build(self)


class BlockSource(Protocol):
    """The source of blocks, for results and errors."""

    @property
    def name(self) -> str:
        """The run's name in results."""

    @property
    def tag(self) -> str | None:
        """The name in the run's file."""

    @property
    def label(self) -> str:
        """The source in errors."""

    @property
    def judgments(self) -> JudgmentIndex:
        """The judgments that the run is measured against."""

    @property
    def states(self) -> pl.DataFrame | None:
        """``query_id`` and ``state`` of the queries, if the run has states."""

    @property
    def cautions(self) -> Mapping[str, str]:
        """Cautions from reading the rankings, by code."""

    def first_rows(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of some rows, for messages if no row is judged."""
