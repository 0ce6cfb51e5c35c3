"""Rows as CSV: one fact a line, numbers with every digit, undefined ones empty."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from rankgate.core.formulas import guarded


def written(head: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    r"""A header line and the rows, in which no spreadsheet program takes a text for a formula.

    >>> written(("query_id", "value"), [("1", 1 / 3), ("a,b", None), ("=1+1", "-0.5")])
    'query_id,value\n1,0.3333333333333333\n"a,b",\n =1+1,-0.5\n'
    """
    return unguarded([*map(guarded, head)], (map(_guarded, row) for row in rows))


def unguarded(head: Sequence[str], rows: Iterable[Iterable[str | float | None]]) -> str:
    r"""The same as data: texts as they are, for a file that is to be read again.

    >>> unguarded(("query_id",), [("=1+1",)])
    'query_id\n=1+1\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _guarded(value: str | float | None) -> str | float | None:
    return guarded(value) if isinstance(value, str) else value


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
