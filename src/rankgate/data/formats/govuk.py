"""GOV.UK's judgment lists: ``queryEntry.query,queryEntry.targets.score,queryEntry.targets.uri``."""

from __future__ import annotations

from rankgate.data.formats.rating_sheet import product_format
from rankgate.data.text import sheet

_COLUMNS = {
    "queryEntry.query": "query_id",
    "queryEntry.targets.score": "grade",
    "queryEntry.targets.uri": "doc_id",
}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Its long names of columns."""
    if {name.lower() for name in _COLUMNS} <= set(sheet.read_column_names(first_bytes)):
        return "the first line names queryEntry.query, .targets.score and .targets.uri"
    return None


FORMAT = product_format(
    "govuk",
    "GOV.UK's judgment lists",
    _COLUMNS,
    sniff,
    "CSV with the columns queryEntry.query, queryEntry.targets.score and "
    "queryEntry.targets.uri, one judgment a row; the address is the document's id.",
)
