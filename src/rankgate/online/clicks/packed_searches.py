"""Searches with their lists and clicks as arrays, and click counts.

A click count is the number of times that a list was shown for a query and clicked in the same
places. Click models need only these counts, so that a log of any size is counted in DuckDB, Spark
or a warehouse, and the models are fitted to the counts on one machine.
"""

from __future__ import annotations

import glob
import re
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.checksums import check_file
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.data.adapters import column_names
from rankgate.data.foreign_frames import polars_frame
from rankgate.data.formats.tables.parquet_arrow import damage_named
from rankgate.data.guessed_column_names import guess_our_columns
from rankgate.data.logs.item_tables import read_frame
from rankgate.data.table_rows import RowLocation
from rankgate.online.events.guessed_mapping import COUNT_COLUMNS, names_counts
from rankgate.online.events.ingest import MANIFEST
from rankgate.online.indicators.search_tables import events, load_ibis

if TYPE_CHECKING:
    from collections.abc import Callable

    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from rankgate.online.log_database import Database


_BLOCK_CELLS = 1 << 16  # elements of a block: arrays of half a megabyte

DEFAULT_RANKS = 20
"""The number of ranks of each list that count by default."""


def sum_by_cell(cells: NDArray[np.int64], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """(size,) the sum of the values of each cell."""
    return np.asarray(np.bincount(cells.ravel(), values.ravel(), size), dtype=np.float64)


@dataclass(frozen=True)
class PackedSearches:
    """Searches with N different lists of K ranks; equal searches are one row with a weight.

    Attributes:
        pairs: ``query_id``, ``doc_id`` of each pair, in the order of their numbers.
        pair: (N, K) the pair at each rank; 0 without a shown document.
        shown: (N, K) True if a document was shown at the rank.
        clicked: (N, K) True if the document was clicked.
        weight: (N,) the number of times that the list was shown with these clicks.
        row: the row that contains each single search; None if unknown.
        unit: the number of the session of each single search, for the bootstrap.
    """

    pairs: pl.DataFrame
    pair: NDArray[np.int64]
    shown: NDArray[np.bool_]
    clicked: NDArray[np.bool_]
    weight: NDArray[np.float64]
    row: NDArray[np.int64] | None = None
    unit: NDArray[np.int64] | None = None

    @property
    def searches(self) -> float:
        """The number of searches."""
        return float(self.weight.sum())

    @property
    def depth(self) -> int:
        """K, the number of ranks."""
        return int(self.pair.shape[1])

    @cached_property
    def last(self) -> NDArray[np.int64]:
        """(N,) the position of the last click, from 0; -1 without a click."""
        click_positions = np.where(self.clicked, np.arange(self.depth), -1)
        return np.asarray(click_positions.max(axis=1), dtype=np.int64)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(N, K) the weight if a document was shown, else 0."""
        return self.weight[:, None] * self.shown

    def by_pair(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over searches and ranks for each pair; values are weighted already."""
        return sum_by_cell(self.pair, values, len(self.pairs))

    @cached_property
    def follows(self) -> NDArray[np.bool_]:
        """(N, K) True if a document was shown at a lower rank."""
        shown_ranks = np.where(self.shown, np.arange(1, self.depth + 1), 0)
        return np.asarray(np.arange(self.depth) < shown_ranks.max(axis=1)[:, None] - 1)

    @cached_property
    def blocks(self) -> tuple[PackedSearches, ...]:
        """The searches in blocks that fit into a processor's cache; sums over them are the same."""
        cells = max(_BLOCK_CELLS, len(self.pairs))
        step = max(cells // max(self.depth, 1), 1)
        if step >= len(self.weight):
            return (self,)
        return tuple(
            PackedSearches(
                self.pairs,
                self.pair[start : start + step],
                self.shown[start : start + step],
                self.clicked[start : start + step],
                self.weight[start : start + step],
            )
            for start in range(0, len(self.weight), step)
        )

    def summed(
        self, step: Callable[[PackedSearches], tuple[NDArray[np.float64], ...]]
    ) -> list[NDArray[np.float64]]:
        """The sums over blocks of the results of a step."""
        sums_of_blocks = (step(block) for block in self.blocks)
        total = list(next(sums_of_blocks))
        for block_sums in sums_of_blocks:
            for index, array_sum in enumerate(block_sums):
                total[index] = total[index] + array_sum
        return total

    def resampled(self, random: np.random.Generator) -> PackedSearches:
        """A Poisson bootstrap sample of the sessions; of the searches if sessions are unknown."""
        weight = self.resampled_weight(random)
        resampled_searches = PackedSearches(self.pairs, self.pair, self.shown, self.clicked, weight)
        return resampled_searches.rows(weight > 0)

    def resampled_weight(self, random: np.random.Generator) -> NDArray[np.float64]:
        """(N,) the weights of the searches in a bootstrap sample; 0 for searches outside of it."""
        if self.row is None or self.unit is None:
            return random.poisson(self.weight).astype(np.float64)
        session_weight = random.poisson(1.0, int(self.unit.max()) + 1).astype(np.float64)
        return sum_by_cell(self.row, session_weight[self.unit], len(self.weight))

    def rows(self, mask: NDArray[np.bool_]) -> PackedSearches:
        """Some of the searches, with the same numbers of pairs."""
        return PackedSearches(
            self.pairs, self.pair[mask], self.shown[mask], self.clicked[mask], self.weight[mask]
        )

    def split(self, share: float, seed: int) -> tuple[PackedSearches, PackedSearches]:
        """Split the searches in two; each goes to the second part with probability `share`."""
        second_counts = np.random.default_rng(seed).binomial(self.weight.astype(np.int64), share)
        first, second = self.weight - second_counts, second_counts.astype(np.float64)
        halves = (
            PackedSearches(self.pairs, self.pair, self.shown, self.clicked, weight)
            for weight in (first, second)
        )
        first_half, second_half = (half.rows(half.weight > 0) for half in halves)
        return first_half, second_half

    @classmethod
    def pack(cls, table: pl.DataFrame) -> PackedSearches:
        """Pack rows; equal searches become one row with a weight.

        Args:
            table: ``search`` (any number for each list), ``query_id``, ``doc_id``, ``rank`` from 1,
                ``clicked``; at most one document a rank; ``session``, if known; ``searches``, if
                each list is of several.

        Raises:
            InputError: no rows.
        """
        return cls.unmerged(table).merged()

    @classmethod
    def unmerged(cls, table: pl.DataFrame) -> PackedSearches:
        """Pack rows without merging: a row of the arrays for each search, in the order of numbers.

        Raises:
            InputError: no rows.
        """
        if table.is_empty():
            problem = "no search has a list with ranks; log impressions, or their ids in responses."
            raise InputError(problem, code="no-impressions")
        keys = ["query_id", "doc_id"]
        pairs = table.select(keys).unique().sort(keys).with_row_index("pair")
        rows = table.join(pairs, on=keys)
        search = rows["search"].rank("dense").to_numpy().astype(np.int64) - 1
        position = rows["rank"].to_numpy().astype(np.int64) - 1
        shape = (int(search.max()) + 1, int(position.max()) + 1)
        pair = np.zeros(shape, np.int64)
        is_shown, is_clicked = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        pair[search, position] = rows["pair"].to_numpy()
        is_shown[search, position] = True
        is_clicked[search, position] = rows["clicked"].to_numpy()
        if "searches" in rows.columns:
            weight = np.zeros(shape[0])
            weight[search] = rows["searches"].to_numpy()
            return cls(pairs.drop("pair"), pair, is_shown, is_clicked, weight)
        unit = np.arange(shape[0])
        if "session" in rows.columns:
            unit[search] = rows["session"].rank("dense").to_numpy().astype(np.int64) - 1
        return cls(
            pairs.drop("pair"), pair, is_shown, is_clicked, np.ones(shape[0]), np.arange(shape[0]), unit
        )

    def merged(self) -> PackedSearches:
        """Merge equal searches into one row with a weight."""
        code = (self.pair * 2 + self.clicked) * self.shown - ~self.shown
        row_bytes = np.ascontiguousarray(code).view(np.dtype((np.void, code.shape[1] * 8))).ravel()
        _, first_index, inverse = np.unique(row_bytes, return_index=True, return_inverse=True)
        weight = sum_by_cell(inverse, self.weight, len(first_index))
        return PackedSearches(
            self.pairs,
            self.pair[first_index],
            self.shown[first_index],
            self.clicked[first_index],
            weight,
            None if self.row is None else inverse[self.row],
            self.unit,
        )


_LIST_FIELDS = {"rank": pl.Int64, "doc_id": pl.String, "clicked": pl.Boolean}
COLUMNS = Columns(
    "One row per list of a query with equal clicks.",
    Column("query_id", pl.String, "the words of the query"),
    Column("list", pl.List(pl.Struct(_LIST_FIELDS)), "the list by rank, with its clicks"),
    Column("searches", pl.Int64, "searches that had this list with these clicks"),
)


def searches_with_lists(rows: ir.Table, ranks: int = DEFAULT_RANKS) -> ir.Table:
    """An expression of the searches with words and a list, one row each.

    A click counts at the rank that it logs, so the places of a document that a list shows
    twice are separate. Without a rank, or with one at which the search did not show the document,
    it counts at the document's first rank. If two documents have the same rank, the first by id
    counts.

    Args:
        rows: the table of events.
        ranks: the number of ranks of each list that count.

    Returns:
        ``query_event_id``, ``query_id`` (the words), ``session`` (else the user, else the search),
        ``list`` (an array of ``rank``, ``doc_id``, ``clicked``, by rank).
    """
    lib = load_ibis()
    search_events = rows.filter(rows.query_event_id.notnull())
    texts = search_events.group_by("query_event_id").aggregate(
        query_id=search_events["query"].max(),
        session=lib.coalesce(
            search_events.session.max(), search_events.user.max(), search_events.query_event_id.max()
        ),
    )
    is_impression, is_click = search_events.kind == "impression", search_events.kind == "click"
    list_events = search_events.filter(search_events.doc_id.notnull() & (is_impression | is_click))
    by_rank = list_events.group_by("query_event_id", "doc_id", "rank").aggregate(
        shown=(list_events.kind == "impression").any(), clicked=(list_events.kind == "click").any()
    )
    ranked = by_rank.shown & by_rank["rank"].notnull()
    of_document = lib.window(group_by=["query_event_id", "doc_id"])
    documents = by_rank.mutate(
        ranked=ranked,
        first=lib.cases((ranked, by_rank["rank"]), else_=None).min().over(of_document),
        elsewhere=(by_rank.clicked & ~ranked).any().over(of_document),
    )
    ranked_documents = documents.filter(documents.ranked & (documents["rank"] <= ranks)).mutate(
        clicked=documents.clicked | (documents.elsewhere & (documents["rank"] == documents.first))
    )
    list_rows = ranked_documents.group_by("query_event_id", "rank").aggregate(
        doc_id=ranked_documents.doc_id.min(), clicked=ranked_documents.clicked.argmin(ranked_documents.doc_id)
    )
    rank_struct = lib.struct({name: list_rows[name] for name in _LIST_FIELDS})
    lists_by_search = list_rows.group_by("query_event_id").aggregate(list=rank_struct.collect().sort())
    return lists_by_search.inner_join(texts.filter(texts.query_id.notnull()), "query_event_id")


def click_counts(rows: ir.Table, ranks: int = DEFAULT_RANKS, min_searches: int = 1) -> ir.Table:
    """An expression that counts searches with the same words, list and clicks.

    Args:
        rows: the table of events.
        ranks: the number of ranks of each list that count.
        min_searches: the lowest number of searches of a query.

    Returns:
        The columns of `COLUMNS`.
    """
    searches = searches_with_lists(rows, ranks)
    counts = searches.group_by("query_id", "list").aggregate(searches=searches.count())
    if min_searches > 1:
        searches_of_query = counts.searches.sum().over(group_by="query_id")
        counts = counts.filter(searches_of_query >= min_searches)
    return counts


def pack_events(base: Database, ranks: int = DEFAULT_RANKS) -> PackedSearches:
    """The searches of the view ``events`` that have impressions with ranks, and their clicks.

    Args:
        base: has ``events``.
        ranks: the number of ranks that count.

    Raises:
        InputError: no impressions.
    """
    if base.dialect == "postgres":
        problem = (
            "judgments are not learned in PostgreSQL; export the table, or counts with the columns query, "
            "doc_id, rank, impressions and clicks, and read that file."
        )
        raise UsageError(problem, code="not-in-postgresql")
    return PackedSearches.pack(_rows_by_rank(base.rows(base.text(searches_with_lists(events(), ranks)))))


def pack_counts(table: pl.DataFrame, ranks: int = DEFAULT_RANKS) -> PackedSearches:
    """Click counts as packed searches.

    Args:
        table: the columns of `COLUMNS`.
        ranks: the number of ranks that count.

    Raises:
        InputError: no rows, or columns of other types.
    """
    try:
        counts = table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
    except pl.exceptions.PolarsError as error:
        kinds = ", ".join(f"{name} {kind}" for name, kind in table.schema.items())
        problem = f"not click counts: the columns are {kinds}; make them with click_counts."
        raise InputError(problem, code="wrong-type") from error
    return PackedSearches.pack(_rows_by_rank(counts).filter(pl.col("rank") <= ranks))


def _rows_by_rank(counts: pl.DataFrame) -> pl.DataFrame:
    """A row for each search, or count of searches, and rank."""
    return counts.with_row_index("search").explode("list").unnest("list")


def read_counts(source: object) -> pl.DataFrame | None:
    """The click counts in a frame, a Parquet file or a folder of files; None for other columns.

    A table of impressions and clicks by query, document and rank, in any format, is click counts too.

    Raises:
        InputError: the file is damaged, or has counts that cannot be.
    """
    if not isinstance(source, str | Path):
        names = set(column_names(source))
        if names_counts(names):
            return _counts_by_rank(polars_frame(source), RowLocation("the table"))
        return polars_frame(source) if set(COLUMNS) <= names else None
    path = Path(source)
    if path.is_file() and names_counts(_header_names(path)):
        return _counts_by_rank(*read_frame(source, str(source)))
    if path.is_dir() and ((path / MANIFEST).exists() or not any(path.glob("*.parquet"))):
        return None
    if not path.is_dir() and (path.suffix not in (".parquet", ".pq") or not path.is_file()):
        return None
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    for file in files:
        check_file(file)
    with damage_named(str(source)):
        frame = pl.scan_parquet([glob.escape(str(file)) for file in files])
        return frame.collect() if set(COLUMNS) <= set(frame.collect_schema().names()) else None


def _header_names(path: Path) -> set[str]:
    """The names in the first line of a file of text; of Parquet its columns."""
    if path.suffix in (".parquet", ".pq"):
        with suppress(pl.exceptions.PolarsError, OSError):
            return set(pl.read_parquet_schema(path))
        return set()
    with path.open("rb") as stream:
        return set(re.findall(r"\w+", stream.readline(_MAX_HEADER).decode("utf-8", "replace")))


_MAX_HEADER = 10_000  # bytes


def _counts_by_rank(table: pl.DataFrame, location: RowLocation) -> pl.DataFrame:
    """Click counts from a table of impressions and clicks by query, document and rank.

    Each list has one document, as such a table does not say what was shown with it.

    Raises:
        InputError: a column is missing; clicks above impressions, or a count that is not one.
    """
    our_columns = ("query_id", "doc_id", "rank")
    names = guess_our_columns(table.columns, our_columns)
    if missing := [column for column in our_columns if column not in names]:
        problem = (
            f"a table of impressions and clicks has a row for each query, document and rank; there is no "
            f"column {missing[0]}; the columns are {', '.join(table.columns)}."
        )
        raise InputError(problem, source=location.label, code="missing-column")
    names |= {name.lower(): name for name in table.columns if name.lower() in COUNT_COLUMNS}
    impressions, clicked = pl.col("impressions"), pl.col("clicks")
    rows = table.select(
        pl.col(names["query_id"]).cast(pl.String).alias("query_id"),
        pl.col(names["doc_id"]).cast(pl.String).alias("doc_id"),
        *(
            pl.col(names[name]).cast(pl.String).cast(pl.Float64, strict=False).alias(name)
            for name in ("rank", *COUNT_COLUMNS)
        ),
    )
    is_wrong = ~((impressions >= clicked) & (clicked >= 0) & (pl.col("rank") >= 1)).fill_null(value=False)
    if len(wrong := rows.with_row_index("row").filter(is_wrong)):
        problem = "ranks are from 1, clicks from 0, and impressions no fewer than clicks."
        row = wrong["row"][0]
        raise location.error(problem, row, "invalid-count")
    lists = [
        rows.select(
            "query_id",
            list=pl.concat_list(
                pl.struct(
                    pl.col("rank").cast(pl.Int64), "doc_id", pl.lit(is_clicked, pl.Boolean).alias("clicked")
                )
            ),
            searches=(clicked if is_clicked else impressions - clicked).cast(pl.Int64),
        )
        for is_clicked in (True, False)
    ]
    return pl.concat(lists).filter(pl.col("searches") > 0)
