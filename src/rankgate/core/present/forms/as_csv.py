"""Rows as CSV: one fact a line, numbers with every digit, undefined ones empty."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from rankgate.core.formulas import guard_cell


def guarded_csv(header: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    r"""A header line and the rows, in which no spreadsheet program takes a text for a formula.

    >>> guarded_csv(("query_id", "value"), [("1", 1 / 3), ("a,b", None), ("=1+1", "-0.5")])
    'query_id,value\n1,0.3333333333333333\n"a,b",\n =1+1,-0.5\n'
    """
    return plain_csv([*map(guard_cell, header)], (map(_guard_value, row) for row in rows))


def plain_csv(header: Sequence[str], rows: Iterable[Iterable[str | float | None]]) -> str:
    r"""The same as data: texts as they are, for a file that is to be read again.

    >>> plain_csv(("query_id",), [("=1+1",)])
    'query_id\n=1+1\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_csv_cell, row) for row in rows)
    return text.getvalue()


def _guard_value(value: str | float | None) -> str | float | None:
    return guard_cell(value) if isinstance(value, str) else value


def _csv_cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
