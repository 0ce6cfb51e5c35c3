"""Rows as CSV, with cells escaped against spreadsheet formulas."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence

FORMULA_PATTERN = r"^ *[-=+@\t\r]"
"""The beginning of a cell that spreadsheet programs may take for a formula."""

GUARDED_PATTERN = r"^ +[-=+@\t\r]"
"""The beginning of such a cell once it is guarded."""

NUMBER_PATTERN = r"^[-+](?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?%?)?$"
"""A number with a sign, or the sign alone: values and no formulas."""

_DANGEROUS, _GUARDED, _NUMBER = (
    re.compile(pattern) for pattern in (FORMULA_PATTERN, GUARDED_PATTERN, NUMBER_PATTERN)
)


def guard_cell(word: str) -> str:
    """The text, with a blank before it if it begins like a formula and is not a number.

    >>> (guard_cell("=1+1"), guard_cell("a=1"), guard_cell(" =1"), guard_cell("-0.5"),
    ...  guard_cell("-x"))
    (' =1+1', 'a=1', '  =1', '-0.5', ' -x')
    """
    return f" {word}" if _DANGEROUS.match(word) and not _NUMBER.match(word) else word


def unguard_cell(word: str) -> str:
    """The text before ``guarded`` changed it.

    >>> [unguard_cell(guard_cell(word)) for word in ("=1", " =1", "a", "-1", " -1")]
    ['=1', ' =1', 'a', '-1', ' -1']
    """
    return word[1:] if _GUARDED.match(word) else word


def guarded_csv(header: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    r"""A header line and the rows, with texts escaped against spreadsheet formulas.

    >>> guarded_csv(("query_id", "value"), [("1", 1 / 3), ("a,b", None), ("=1+1", "-0.5")])
    'query_id,value\n1,0.3333333333333333\n"a,b",\n =1+1,-0.5\n'
    """
    return plain_csv([*map(guard_cell, header)], (map(_guard_value, row) for row in rows))


def plain_csv(header: Sequence[str], rows: Iterable[Iterable[str | float | None]]) -> str:
    r"""The same without the escape, for a file that is to be read again.

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
