"""Side tables of a collection: their ids, and how many of them the judgments have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels, read_run
from rankgate.data.column_map import map_columns
from rankgate.data.columns import rename_columns
from rankgate.data.formats.tags import read_tags
from rankgate.data.logs.items import read_candidates, read_described_table
from rankgate.data.logs.user_items import read_user_items
from rankgate.data.sample import Sample

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.qrels import Qrels


@dataclass(frozen=True)
class SideTable:
    """One table of a collection besides the judgments.

    Attributes:
        name: the field of the collection.
        source: its file, or ``in memory``.
        of: the kind of its ids: queries or documents.
        ids: different ids in it.
        judged: queries or documents that have judgments.
        matched: those of them that the table has.
    """

    name: str
    source: str
    of: str
    ids: int
    judged: int
    matched: int


def side_tables(collection: Collection, qrels: Qrels) -> tuple[SideTable, ...]:
    """Read the side tables that a collection states.

    Raises:
        InputError: a table that cannot be read.
    """
    judged = {
        "queries": qrels.table["query_id"].unique(),
        "documents": qrels.table["doc_id"].unique(),
    }
    tables = []
    for name, (kind, read) in _TABLES.items():
        source = _source(collection, name)
        if source is None:
            continue
        ids = read(collection, source, judged["queries"]).cast(pl.String).drop_nulls().unique()
        matched = int(judged[kind].is_in(ids.implode()).sum())
        label = str(source) if isinstance(source, str | Path) else "in memory"
        tables.append(SideTable(name, label, kind, len(ids), len(judged[kind]), matched))
    return tuple(tables)


def _source(collection: Collection, name: str) -> Any:
    """The table of a field; None where the collection does not state it."""
    if name == "items":
        return collection.items.table
    if name in {"predicted", "saw"}:
        predicted = collection.predicted
        source = (
            None if predicted is None else predicted.judgments if name != "saw" else predicted.saw
        )
        return None if source in ("none", "unknown") else source
    source = getattr(collection, name)
    return None if isinstance(source, str) and source == "random" else source


def _sample(_: Collection, source: Any, queries: pl.Series) -> pl.Series:
    sample = Sample.of(source)
    table = sample.table if sample.table is not None else sample.documents
    return queries.clear() if table is None else table["query_id"]


def _judgments(collection: Collection, source: Any, _: pl.Series) -> pl.Series:
    return read_qrels(map_columns(source, collection.columns, "qrels")).table["query_id"]


_Reader = Callable[["Collection", Any, pl.Series], pl.Series]

_TABLES: Mapping[str, tuple[str, _Reader]] = {
    "tags": ("queries", lambda _, source, queries: read_tags(source, queries)["query_id"]),
    "sample": ("queries", _sample),
    "predicted": ("queries", _judgments),
    "saw": ("queries", _judgments),
    "sequences": ("queries", lambda _, source, queries: read_tags(source, queries)["query_id"]),
    "items": ("documents", lambda _, source, __: read_described_table(source).ids),
    "users": ("queries", lambda _, source, __: read_described_table(source, "users").ids),
    "training": (
        "queries",
        lambda collection, source, _: (
            read_user_items(rename_columns(source, collection.frame_columns)).users
        ),
    ),
    "candidates": ("queries", lambda _, source, __: read_candidates(source)[0]["query_id"]),
    "reference": (
        "queries",
        lambda collection, source, _: read_run(collection.run_source(source)).query_ids,
    ),
}
"""For each field of a collection, the kind of its ids and the function that reads them."""
