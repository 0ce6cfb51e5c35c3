"""SearchTweak's export of judgments: ``grade,keyword,doc``."""

from __future__ import annotations

from rankgate.data.formats.rating_sheet import product_format
from rankgate.data.text import sheet

_COLUMNS = {"grade": "grade", "keyword": "query_id", "doc": "doc_id"}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The columns grade, keyword and doc."""
    if {*_COLUMNS} <= set(sheet.read_column_names(first_bytes)):
        return "the first line names grade, keyword and doc, as SearchTweak does"
    return None


FORMAT = product_format(
    "searchtweak-csv",
    "SearchTweak's judgments as CSV",
    _COLUMNS,
    sniff,
    "CSV with the columns grade, keyword and doc, in any order. Grades are SearchTweak's "
    "aggregate of its raters and may be fractions; an empty one is unrated. Further columns "
    "(position) are kept as fields of the document for the keyword.",
)
