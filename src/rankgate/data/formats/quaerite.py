"""Quaerite's judgments: ``rating,docid,query`` with a byte order mark."""

from __future__ import annotations

from rankgate.data.formats.rating_sheet import product_format
from rankgate.data.text import sheet
from rankgate.data.text.utf8 import BOM

_COLUMNS = {"rating": "grade", "docid": "doc_id", "query": "query_id"}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The three columns in Quaerite's order."""
    if sheet.read_column_names(first_bytes) == tuple(_COLUMNS):
        return "the first line is rating,docid,query, as Quaerite writes it"
    return None


FORMAT = product_format(
    "quaerite",
    "Quaerite's judgments",
    _COLUMNS,
    sniff,
    "CSV with the columns rating, docid and query in this order, written with a byte order "
    "mark, as Quaerite's own judgments are. An empty rating is unrated. Where a document has "
    "two ratings for one query the last one counts, as in Quaerite, and is reported.",
    last=True,
    mark=BOM,
)
