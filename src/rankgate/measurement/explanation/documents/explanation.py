"""Document of an explanation: ranking, ideal ranking and formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    Chart,
    Document,
    Entries,
    Entry,
    PlainRows,
    Table,
    Warnings,
)
from rankgate.core.present.document import make_document as made
from rankgate.core.present.forms import as_text
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import (
    UNDEFINED,
    format_column,
    format_counts,
    format_decimal,
    format_grade,
)
from rankgate.measurement.explanation.documents.sentences import compose_value

if TYPE_CHECKING:
    from rankgate.measurement.explanation.explanation import ExplainedRow, Explanation, IdealRow

_TIED, _MORE = "=", "…"
_TIES = {
    "doc_id_desc": "the document id, descending",
    "doc_id_asc": "the document id, ascending",
    "file_order": "their order in the file",
}
_SHORTEST_ID = 25  # cells that a document's id is never shortened below: readers search for ids


def document(result: Explanation, *, every: bool = False) -> Document:
    """The ranking, the ideal, and the formula of the value.

    Args:
        result: the explanation.
        every: True for all parameters, also those with their usual values.
    """
    value = format_column([result.value])[0]
    chart = Chart("rankgate.measurement.explanation.charts.gains:draw", result)
    tables = [Table(heading, _fit_width(grid)) for heading, grid in _tables(result)]
    facts = _facts(result, every=every)
    entries = Entries(tuple(Entry(label, tuple(lines)) for label, lines in facts.items()))
    header = ("rank", "document", "grade", "gain", "weight", "contribution", "running")
    rows = PlainRows(
        header,
        [
            (row.rank, row.doc_id, row.grade, row.gain, row.weight, row.contribution, row.running)
            for row in result.rows
        ],
    )
    title = f"{result.metric} = {value} for query {result.query_id} of run {result.run}"
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return made(title, warnings, chart, *tables, entries, rows=rows)


def _tables(result: Explanation) -> list[tuple[str, Grid]]:
    tables = []
    if result.rows:
        tables.append((f"the ranking, {_count_with_noun(result.retrieved)}", ranking(result)))
    if result.ideal:
        best = (
            "" if result.best is None else f", which would have {format_column([result.best])[0]}"
        )
        tables.append(
            (
                f"the ideal, {_count_with_noun(result.relevant, 'relevant document')}{best}",
                ideal(result),
            )
        )
    return tables


def ranking(result: Explanation) -> Grid:
    """One row a document of the run."""
    columns = {
        "rank": [f"{_TIED if row.tied else ''}{row.rank}" for row in result.rows],
        **_columns(result, result.rows),
    }
    gaps = [row.skipped for row in result.rows]
    return _with_gaps(Grid.of(columns, left=(1,)), [*gaps, result.left_out])


def ideal(result: Explanation) -> Grid:
    """One row a relevant document, with its rank in the run."""
    run_ranks = [UNDEFINED if row.found is None else str(row.found) for row in result.ideal]
    columns = {
        "rank": [str(row.rank) for row in result.ideal],
        **_columns(result, result.ideal),
        "in the run": [
            "not retrieved" if rank == UNDEFINED else f"rank {rank}" for rank in run_ranks
        ],
    }
    gaps = [0] * len(result.ideal)
    return _with_gaps(Grid.of(columns, left=(1, len(columns) - 1)), [*gaps, result.ideal_left_out])


def _columns(result: Explanation, rows: Sequence[ExplainedRow | IdealRow]) -> dict[str, list[str]]:
    columns = {
        "document": [row.doc_id for row in rows],
        "grade": [format_grade(row.grade) for row in rows],
    }
    if result.weighed:
        columns["gain"] = format_counts(row.gain for row in rows)
        columns[result.weighed] = [format_decimal(row.weight) for row in rows]
    columns["contribution"] = [format_decimal(row.contribution) for row in rows]
    columns["sum" if result.weighed else "value"] = [format_decimal(row.running) for row in rows]
    return columns


def _with_gaps(grid: Grid, gaps: Sequence[int]) -> Grid:
    """Add a line before each row, and after the last, with the number of left-out rows."""
    rows = []
    for gap, row in zip(gaps, [*grid.rows, None], strict=True):
        if gap:
            rows.append(
                (_MORE, _count_with_noun(gap, "more document"), *[""] * (len(grid.head) - 2))
            )
        if row:
            rows.append(row)
    return Grid(grid.head, tuple(rows), grid.left)


def _fit_width(grid: Grid) -> Grid:
    """Shorten long document ids in the middle, so that the grid fits 80 columns."""
    table_text = as_text.text_table(grid)
    excess = max(map(as_text.text_width, table_text.split("\n"))) - as_text.WIDTH
    if excess <= 0:
        return grid
    longest = max(as_text.text_width(row[1]) for row in grid.rows)
    id_width = max(longest - excess, _SHORTEST_ID)
    rows = tuple((row[0], as_text.shorten_middle(row[1], id_width), *row[2:]) for row in grid.rows)
    return Grid(grid.head, rows, grid.left)


def _facts(result: Explanation, *, every: bool) -> dict[str, list[str]]:
    """The lines after the tables, by label."""
    bound = ", ".join(
        f"{key}={value!r}"
        for key, value in result.parameters.items()
        if every or key not in result.usual or value != result.usual[key]
    )
    facts = {
        "formula": [result.formula] if result.formula else [],
        "parameters": [bound] if bound else [],
        "value": compose_value(result),
        "elsewhere": [
            f"{tool.metric} = {format_column([tool.value])[0]} under {tool.convention}: "
            f"{tool.title}"
            for tool in result.others
        ],
        "marks": _marks(result),
        "all queries": [
            f"{format_column([result.mean])[0]} over {_count_with_noun(result.queries, 'query')}"
        ],
        "convention": [f"{result.convention['name']} ({result.convention['hash']})"],
    }
    return {label: lines for label, lines in facts.items() if lines}


def _marks(result: Explanation) -> list[str]:
    marks = []
    if any(row.tied for row in result.rows):
        marks.append(f"{_TIED} equal scores, ordered by {_TIES[result.ties]}")
    if any(row.grade is None for row in result.rows):
        marks.append(f"{UNDEFINED} no judgment")
    if result.excluded:
        marks.append(
            f"{_count_with_noun(result.excluded)} of the run do not count under this convention"
        )
    return marks


def _count_with_noun(count: int, noun: str = "document") -> str:
    """A count with its noun: 1 query, 2 queries."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{count} {noun}s"
