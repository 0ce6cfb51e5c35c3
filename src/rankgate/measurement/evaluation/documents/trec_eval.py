"""The lines of trec_eval: name, query, value, between tabs and to four decimals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.trec.columns import Column
    from rankgate.measurement.evaluation.trec.trec_eval import TrecEvaluation

_QUERY = "\0"  # is replaced by the query in a template; no field of a file holds it
_FORMS = {"number": "%6.4f", "count": "%d", "relstring": "'%s'", "runid": "%s"}


def render(
    result: TrecEvaluation, *, per_query: bool = False, summary: bool = True
) -> Iterator[str]:
    """The block of each query, if asked for, and the summary, piece by piece."""
    if per_query:
        yield from _blocks(result)
    if summary:
        shown = [
            (column, value)
            for column, value in zip(result.columns, result.summary, strict=True)
            if column.in_summary
        ]
        template = _template([column for column, _ in shown])
        yield _filled(template, tuple(value for _, value in shown), "all")


def _blocks(result: TrecEvaluation) -> Iterator[str]:
    shown = [
        (column, list(values))
        for column, values in zip(result.columns, result.values, strict=True)
        if column.per_query
    ]
    template = _template([column for column, _ in shown])
    rows = zip(*(values for _, values in shown), strict=True) if shown else ()
    for query, row in zip(result.query_ids, rows, strict=False):
        yield _filled(template, row, query)


def _template(columns: list[Column]) -> str:
    lines = (
        f"{column.prefix}{column.label:<22}\t{_QUERY}\t".replace("%", "%%")
        + f"{_FORMS[column.kind]}\n"
        for column in columns
    )
    return "".join(lines)


def _filled(template: str, row: tuple[object, ...], query: str) -> str:
    text = template % row
    if any(_is_negative_nan(value) for value in row):
        lines = zip(text.split("\n"), row, strict=False)
        text = "".join(
            (line.removesuffix("   nan") + "  -nan" if _is_negative_nan(value) else line) + "\n"
            for line, value in lines
        )
    return text.replace(_QUERY, query)


def _is_negative_nan(value: object) -> bool:
    """NaN with its sign bit set: C prints ``-nan``, Python ``nan``."""
    return isinstance(value, float) and math.isnan(value) and math.copysign(1, value) < 0
