"""Click counts: how often a list was shown for a query and clicked in the same places.

They are all that click models are estimated from, so that a log of any size is counted where it is
(DuckDB, Spark or a warehouse), and the models are fitted to the counts on one machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.online.clicks.packed import DEFAULT_RANKS, PackedSearches
from rankgate.online.events.ingest import MANIFEST
from rankgate.online.indicators.tables import events, load_ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from rankgate.online.database import Database

_LIST_FIELDS = {"rank": pl.Int64, "doc_id": pl.String, "clicked": pl.Boolean}
COLUMNS: dict[str, Any] = {
    "query_id": pl.String,
    "list": pl.List(pl.Struct(_LIST_FIELDS)),
    "searches": pl.Int64,
}
"""The columns of click counts: the words, the list by rank with its clicks, how many searches."""


def searches_with_lists(rows: ir.Table, ranks: int = DEFAULT_RANKS) -> ir.Table:
    """The searches with words and a list: one row each, as an expression.

    A click counts at the rank that it logs, which tells apart the places of a document that a list
    shows twice. Without a rank, or with one at which the search did not show the document, it
    counts at the document's first rank. Of two documents at one rank the first by its id counts.

    Args:
        rows: the table of events.
        ranks: how many ranks of each list count.

    Returns:
        ``query_event_id``, ``query_id`` (the words), ``session`` (else the user, else the search),
        ``list`` (an array of ``rank``, ``doc_id``, ``clicked``, by rank).
    """
    lib = load_ibis()
    search_events = rows.filter(rows.query_event_id.notnull())
    texts = search_events.group_by("query_event_id").aggregate(
        query_id=search_events["query"].max(),
        session=lib.coalesce(
            search_events.session.max(),
            search_events.user.max(),
            search_events.query_event_id.max(),
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
        doc_id=ranked_documents.doc_id.min(),
        clicked=ranked_documents.clicked.argmin(ranked_documents.doc_id),
    )
    rank_struct = lib.struct({name: list_rows[name] for name in _LIST_FIELDS})
    lists_by_search = list_rows.group_by("query_event_id").aggregate(
        list=rank_struct.collect().sort()
    )
    return lists_by_search.inner_join(texts.filter(texts.query_id.notnull()), "query_event_id")


def click_counts(rows: ir.Table, ranks: int = DEFAULT_RANKS, min_searches: int = 1) -> ir.Table:
    """Count searches with the same words, list and clicks, as an expression.

    Args:
        rows: the table of events.
        ranks: how many ranks of each list count.
        min_searches: how many searches a query must have in all.

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
        ranks: how many ranks count.

    Raises:
        InputError: no impressions.
    """
    return PackedSearches.of(
        _rows_by_rank(base.rows(base.text(searches_with_lists(events(), ranks))))
    )


def pack_counts(table: pl.DataFrame, ranks: int = DEFAULT_RANKS) -> PackedSearches:
    """Click counts as packed searches.

    Args:
        table: the columns of `COLUMNS`.
        ranks: how many ranks count.

    Raises:
        InputError: no rows, or columns of other types.
    """
    try:
        counts = table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
    except pl.exceptions.PolarsError as error:
        kinds = ", ".join(f"{name} {kind}" for name, kind in table.schema.items())
        problem = f"not click counts: the columns are {kinds}; make them with click_counts."
        raise InputError(problem, code="wrong-type") from error
    return PackedSearches.of(_rows_by_rank(counts).filter(pl.col("rank") <= ranks))


def _rows_by_rank(counts: pl.DataFrame) -> pl.DataFrame:
    """A row for each search, or count of searches, and rank."""
    return counts.with_row_index("search").explode("list").unnest("list")


def read_counts(source: Any) -> pl.DataFrame | None:  # noqa: ANN401 - as of judgments
    """The click counts in a frame, a Parquet file or a folder of them; None if it has others."""
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        frame = source.lazy()
    elif isinstance(source, str | Path):
        path = Path(source)
        if path.is_dir() and ((path / MANIFEST).exists() or not any(path.glob("*.parquet"))):
            return None
        if not path.is_dir() and (path.suffix not in (".parquet", ".pq") or not path.is_file()):
            return None
        frame = pl.scan_parquet(path / "*.parquet" if path.is_dir() else path)
    elif hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source).lazy()
    else:
        return None
    return frame.collect() if set(COLUMNS) <= set(frame.collect_schema().names()) else None
