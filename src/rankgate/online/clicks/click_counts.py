"""Click counts: how often a list was shown for a query and clicked in the same places.

They are all that click models are estimated from, so that a log of any size is counted where it is
(DuckDB, Spark or a warehouse), and the models are fitted to the counts on one machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.online.clicks.packed import RANKS, PackedSearches
from rankgate.online.events.ingest import MANIFEST
from rankgate.online.indicators.tables import events, ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from rankgate.online.database import Database

_PLACE = {"rank": pl.Int64, "doc_id": pl.String, "clicked": pl.Boolean}
COLUMNS: dict[str, Any] = {
    "query_id": pl.String,
    "list": pl.List(pl.Struct(_PLACE)),
    "searches": pl.Int64,
}
"""The columns of click counts: the words, the list by rank with its clicks, how many searches."""


def lists(rows: ir.Table, ranks: int = RANKS) -> ir.Table:
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
    lib = ibis()
    known = rows.filter(rows.query_event_id.notnull())
    texts = known.group_by("query_event_id").aggregate(
        query_id=known["query"].max(),
        session=lib.coalesce(known.session.max(), known.user.max(), known.query_event_id.max()),
    )
    shown, clicked = known.kind == "impression", known.kind == "click"
    both = known.filter(known.doc_id.notnull() & (shown | clicked))
    placed = both.group_by("query_event_id", "doc_id", "rank").aggregate(
        shown=(both.kind == "impression").any(), clicked=(both.kind == "click").any()
    )
    ranked = placed.shown & placed["rank"].notnull()
    of_document = lib.window(group_by=["query_event_id", "doc_id"])
    documents = placed.mutate(
        ranked=ranked,
        first=lib.cases((ranked, placed["rank"]), else_=None).min().over(of_document),
        elsewhere=(placed.clicked & ~ranked).any().over(of_document),
    )
    counted = documents.filter(documents.ranked & (documents["rank"] <= ranks)).mutate(
        clicked=documents.clicked | (documents.elsewhere & (documents["rank"] == documents.first))
    )
    places = counted.group_by("query_event_id", "rank").aggregate(
        doc_id=counted.doc_id.min(), clicked=counted.clicked.argmin(counted.doc_id)
    )
    place = lib.struct({name: places[name] for name in _PLACE})
    found = places.group_by("query_event_id").aggregate(list=place.collect().sort())
    return found.inner_join(texts.filter(texts.query_id.notnull()), "query_event_id")


def click_counts(rows: ir.Table, ranks: int = RANKS, min_searches: int = 1) -> ir.Table:
    """How many searches had the same words, list and clicks, as an expression.

    Args:
        rows: the table of events.
        ranks: how many ranks of each list count.
        min_searches: how many searches a query must have in all.

    Returns:
        The columns of `COLUMNS`.
    """
    found = lists(rows, ranks)
    counted = found.group_by("query_id", "list").aggregate(searches=found.count())
    if min_searches > 1:
        every = counted.searches.sum().over(group_by="query_id")
        counted = counted.filter(every >= min_searches)
    return counted


def packed(base: Database, ranks: int = RANKS) -> PackedSearches:
    """The searches of the view ``events`` that have impressions with ranks, and their clicks.

    Args:
        base: has ``events``.
        ranks: how many ranks count.

    Raises:
        InputError: no impressions.
    """
    return PackedSearches.of(_rows(base.rows(base.text(lists(events(), ranks)))))


def packed_counts(table: pl.DataFrame, ranks: int = RANKS) -> PackedSearches:
    """Click counts as packed searches.

    Args:
        table: the columns of `COLUMNS`.
        ranks: how many ranks count.

    Raises:
        InputError: no rows, or columns of other types.
    """
    try:
        counted = table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
    except pl.exceptions.PolarsError as error:
        kinds = ", ".join(f"{name} {kind}" for name, kind in table.schema.items())
        problem = f"not click counts: the columns are {kinds}; make them with click_counts."
        raise InputError(problem, code="wrong-type") from error
    return PackedSearches.of(_rows(counted).filter(pl.col("rank") <= ranks))


def _rows(found: pl.DataFrame) -> pl.DataFrame:
    """A row for each search, or count of searches, and rank."""
    return found.with_row_index("search").explode("list").unnest("list")


def counts_in(given: Any) -> pl.DataFrame | None:  # noqa: ANN401 - as of judgments
    """The click counts in a frame, a Parquet file or a folder of them; None if it has others."""
    if isinstance(given, pl.DataFrame | pl.LazyFrame):
        frame = given.lazy()
    elif isinstance(given, str | Path):
        path = Path(given)
        if path.is_dir() and ((path / MANIFEST).exists() or not any(path.glob("*.parquet"))):
            return None
        if not path.is_dir() and (path.suffix not in (".parquet", ".pq") or not path.is_file()):
            return None
        frame = pl.scan_parquet(path / "*.parquet" if path.is_dir() else path)
    elif hasattr(given, "__arrow_c_stream__"):
        frame = pl.DataFrame(given).lazy()
    else:
        return None
    return frame.collect() if set(COLUMNS) <= set(frame.collect_schema().names()) else None
