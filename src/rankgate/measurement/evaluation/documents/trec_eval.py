"""The lines of trec_eval: name, query, value, between tabs and to four decimals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.trec.columns import Column
    from rankgate.measurement.evaluation.trec.trec_eval import TrecEvaluation

_QUERY_MARK = "\0"  # is replaced by the query in a template; no field of a file holds it
_FORMS = {"number": "%6.4f", "count": "%d", "relstring": "'%s'", "runid": "%s"}


def render(
    result: TrecEvaluation, *, per_query: bool = False, summary: bool = True
) -> Iterator[str]:
    """Render the block of each query, if ``per_query``, and the summary, piece by piece."""
    if per_query:
        yield from _blocks(result)
    if summary:
        printed = [
            (column, value)
            for column, value in zip(result.columns, result.summary, strict=True)
            if column.in_summary
        ]
        template = _template([column for column, _ in printed])
        yield _fill_template(template, tuple(value for _, value in printed), "all")


def _blocks(result: TrecEvaluation) -> Iterator[str]:
    printed = [
        (column, list(values))
        for column, values in zip(result.columns, result.values, strict=True)
        if column.per_query
    ]
    template = _template([column for column, _ in printed])
    rows = zip(*(values for _, values in printed), strict=True) if printed else ()
    for query, row in zip(result.query_ids, rows, strict=False):
        yield _fill_template(template, row, query)


def _template(columns: list[Column]) -> str:
    lines = (
        f"{column.prefix}{column.label:<22}\t{_QUERY_MARK}\t".replace("%", "%%")
        + f"{_FORMS[column.kind]}\n"
        for column in columns
    )
    return "".join(lines)


def _fill_template(template: str, row: tuple[object, ...], query: str) -> str:
    text = template % row
    if any(_is_negative_nan(value) for value in row):
        lines = zip(text.split("\n"), row, strict=False)
        text = "".join(
            (line.removesuffix("   nan") + "  -nan" if _is_negative_nan(value) else line) + "\n"
            for line, value in lines
        )
    return text.replace(_QUERY_MARK, query)


def _is_negative_nan(value: object) -> bool:
    """NaN with its sign bit set: C prints ``-nan``, Python ``nan``."""
    return isinstance(value, float) and math.isnan(value) and math.copysign(1, value) < 0
