"""GOV.UK's judgment lists: ``queryEntry.query,queryEntry.targets.score,queryEntry.targets.uri``."""

from __future__ import annotations

from rankgate.data.formats.rating_sheet import product
from rankgate.data.text import sheet

_COLUMNS = {
    "queryEntry.query": "query_id",
    "queryEntry.targets.score": "grade",
    "queryEntry.targets.uri": "doc_id",
}


def sniff(head: bytes, name: str) -> str | None:
    """Its long names of columns."""
    if {each.lower() for each in _COLUMNS} <= set(sheet.names_of(head)):
        return "the first line names queryEntry.query, .targets.score and .targets.uri"
    return None


FORMAT = product(
    "govuk",
    "GOV.UK's judgment lists",
    _COLUMNS,
    sniff,
    "CSV with the columns queryEntry.query, queryEntry.targets.score and "
    "queryEntry.targets.uri, one judgment a row; the address is the document's id.",
)
