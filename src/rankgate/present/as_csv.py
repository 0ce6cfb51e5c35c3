"""Rows as CSV: one fact a line, numbers with every digit, undefined ones empty."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from rankgate.data.text.formulas import guarded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def written(head: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    r"""A header line and the rows.

    >>> written(("query_id", "value"), [("1", 1 / 3), ("a,b", None)])
    'query_id,value\n1,0.3333333333333333\n"a,b",\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def shown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""A table for spreadsheets, where no cell is taken for a formula.

    >>> shown(("document",), [("=1+1",)])
    'document\n =1+1\n'
    """
    return written(list(map(guarded, head)), [list(map(guarded, row)) for row in rows])


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
