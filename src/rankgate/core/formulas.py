"""Escape cells against spreadsheet formulas, and undo it when reading."""

from __future__ import annotations

import io
import re

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
    """The word with a blank before it where it begins like a formula and is not a number.

    >>> (guard_cell("=1+1"), guard_cell("a=1"), guard_cell(" =1"), guard_cell("-0.5"),
    ...  guard_cell("-x"))
    (' =1+1', 'a=1', '  =1', '-0.5', ' -x')
    """
    return f" {word}" if _DANGEROUS.match(word) and not _NUMBER.match(word) else word


def unguard_cell(word: str) -> str:
    """The word as it was before ``guarded``.

    >>> [unguard_cell(guard_cell(word)) for word in ("=1", " =1", "a", "-1", " -1")]
    ['=1', ' =1', 'a', '-1', ' -1']
    """
    return word[1:] if _GUARDED.match(word) else word


def guard_sheet(content: bytes, separator: str) -> bytes:
    r"""A table as CSV or TSV in which no spreadsheet program takes a cell for a formula.

    >>> guard_sheet(b'query_id,text\n=1+1,"a, b"\n-2,@x\n', ",")
    b'query_id,text\n =1+1,"a, b"\n-2, @x\n'
    """
    import polars as pl

    if not content.strip():
        return content
    table = pl.read_csv(content, has_header=False, separator=separator, infer_schema=False)
    cells = [
        pl.when(
            pl.col(name).str.contains(FORMULA_PATTERN) & ~pl.col(name).str.contains(NUMBER_PATTERN)
        )
        .then(" " + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in table.columns
    ]
    target = io.BytesIO()
    table.select(cells).write_csv(target, include_header=False, separator=separator)
    return target.getvalue()
