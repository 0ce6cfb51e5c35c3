"""An explanation in every form: the ranking, the ideal, and how they make the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.explanation.documents.sentences import together
from rankgate.present import as_json, as_markdown, as_text
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import UNDEFINED, column, decimal, grade, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.explanation.explanation import Explanation, IdealRow, Row

_TIED, _MORE = "=", "…"
_TIES = {
    "doc_id_desc": "the document id, descending",
    "doc_id_asc": "the document id, ascending",
    "file_order": "their order in the file",
}
_LEAST = 25  # cells that a document's id is never shortened below: ids are there to be found


def render(told: Explanation, form: str, *, every: bool = False) -> str:
    """The explanation in one of `FORMS`, ending with a newline.

    Args:
        told: the explanation.
        form: the name of the form.
        every: all parameters, also those that are as usual; JSON has them in any case.
    """
    return FORMS[form](told, every)


def _text(told: Explanation, every: bool) -> str:  # noqa: FBT001 - as every form takes it
    facts = _facts(told, every=every)
    width = max(map(len, facts))
    value = column([told.value])[0]
    query, run = printable(told.query_id), printable(told.run)
    parts = [
        f"{told.metric} = {value} for query {query} of run {run}\n",
        *(f"{title}\n{_narrow(grid)}\n" for title, grid in _tables(told)),
        "".join(as_text.labelled(label, lines, width) for label, lines in facts.items()),
    ]
    return "\n".join(parts)


def _markdown(told: Explanation, every: bool) -> str:  # noqa: FBT001 - as above
    word = as_markdown.escaped
    value = column([told.value])[0]
    title = f"**{word(told.metric)} = {value}** for query {word(told.query_id)} of run"
    parts = [f"{title} {word(told.run)}"]
    for heading, grid in _tables(told):
        parts += [word(heading), as_markdown.table(grid)]
    facts = _facts(told, every=every)
    listed = [f"- {label}: {word(line)}" for label, lines in facts.items() for line in lines]
    return "\n\n".join([*parts, "\n".join(listed)]) + "\n"


def _json(told: Explanation, every: bool) -> str:  # noqa: ARG001, FBT001 - as above
    return as_json.dumped(told.to_dict())


FORMS = {"text": _text, "json": _json, "markdown": _markdown}
"""The forms of an explanation, by the name that ``--format`` takes."""


def _tables(told: Explanation) -> list[tuple[str, Grid]]:
    tables = []
    if told.rows:
        tables.append((f"the ranking, {_counted(told.retrieved)}", ranking(told)))
    if told.ideal:
        best = "" if told.best is None else f", which would have {column([told.best])[0]}"
        tables.append(
            (f"the ideal, {_counted(told.relevant, 'relevant document')}{best}", ideal(told))
        )
    return tables


def ranking(told: Explanation) -> Grid:
    """One row a document of the run."""
    columns = {
        "rank": [f"{_TIED if row.tied else ''}{row.rank}" for row in told.rows],
        **_columns(told, told.rows),
    }
    gaps = [row.skipped for row in told.rows]
    return _with_gaps(Grid.of(columns, left=(1,)), [*gaps, told.left_out])


def ideal(told: Explanation) -> Grid:
    """One row a relevant document, and where the run has it."""
    found = [UNDEFINED if row.found is None else str(row.found) for row in told.ideal]
    columns = {
        "rank": [str(row.rank) for row in told.ideal],
        **_columns(told, told.ideal),
        "in the run": ["not retrieved" if rank == UNDEFINED else f"rank {rank}" for rank in found],
    }
    gaps = [0] * len(told.ideal)
    return _with_gaps(Grid.of(columns, left=(1, len(columns) - 1)), [*gaps, told.ideal_left_out])


def _columns(told: Explanation, rows: Sequence[Row | IdealRow]) -> dict[str, list[str]]:
    columns = {
        "document": [row.doc_id for row in rows],
        "grade": [grade(row.grade) for row in rows],
    }
    if told.weighed:
        columns["gain"] = plain(row.gain for row in rows)
        columns[told.weighed] = [decimal(row.weight) for row in rows]
    columns["contribution"] = [decimal(row.contribution) for row in rows]
    columns["sum" if told.weighed else "value"] = [decimal(row.running) for row in rows]
    return columns


def _with_gaps(grid: Grid, gaps: Sequence[int]) -> Grid:
    """The grid with a line before each row, and after the last, that says what is left out."""
    rows = []
    for gap, row in zip(gaps, [*grid.rows, None], strict=True):
        if gap:
            rows.append((_MORE, _counted(gap, "more document"), *[""] * (len(grid.head) - 2)))
        if row:
            rows.append(row)
    return Grid(grid.head, tuple(rows), grid.left)


def _narrow(grid: Grid) -> str:
    """The grid in 80 columns, at the cost of the middle of long document ids."""
    whole = as_text.table(grid)
    over = max(map(as_text.wide, whole.split("\n"))) - as_text.WIDTH
    if over <= 0:
        return whole
    longest = max(as_text.wide(row[1]) for row in grid.rows)
    room = max(longest - over, _LEAST)
    rows = tuple((row[0], as_text.shortened(row[1], room), *row[2:]) for row in grid.rows)
    return as_text.table(Grid(grid.head, rows, grid.left))


def _facts(told: Explanation, *, every: bool) -> dict[str, list[str]]:
    """What stands below the tables, by its label."""
    bound = ", ".join(
        f"{key}={value!r}"
        for key, value in told.parameters.items()
        if every or key not in told.usual or value != told.usual[key]
    )
    facts = {
        "formula": [told.formula] if told.formula else [],
        "parameters": [bound] if bound else [],
        "value": together(told),
        "elsewhere": [
            f"{other.metric} = {column([other.value])[0]} under {other.convention}: {other.title}"
            for other in told.others
        ],
        "marks": _marks(told),
        "all queries": [f"{column([told.mean])[0]} over {_counted(told.queries, 'query')}"],
        "convention": [f"{told.convention['name']} ({told.convention['hash']})"],
    }
    return {label: lines for label, lines in facts.items() if lines}


def _marks(told: Explanation) -> list[str]:
    marks = []
    if any(row.tied for row in told.rows):
        marks.append(f"{_TIED} equal scores, ordered by {_TIES[told.ties]}")
    if any(row.grade is None for row in told.rows):
        marks.append(f"{UNDEFINED} no judgment")
    if told.excluded:
        marks.append(f"{_counted(told.excluded)} of the run do not count under this convention")
    return marks


def _counted(count: int, noun: str = "document") -> str:
    """A count and what it counts: 1 query, 2 queries."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{count} {noun}s"
