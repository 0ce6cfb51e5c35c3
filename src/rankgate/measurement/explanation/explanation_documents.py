"""Documents of an explanation and of reconciliations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.present import text_tables
from rankgate.core.present.document_model import (
    Chart,
    Document,
    Entries,
    Entry,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.layout import fill
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_column,
    format_counts,
    format_decimal,
    format_grade,
)
from rankgate.measurement.explanation.explanation_results import Bridge, Reconciliation

if TYPE_CHECKING:
    from rankgate.measurement.explanation.convention_path import Step
    from rankgate.measurement.explanation.explanation_results import (
        ExplainedRow,
        Explanation,
        Finding,
        Fit,
        Group,
        IdealRow,
        Sum,
    )


_MOST_TERMS = 8  # terms of a sum that is written in full; a longer sum is cut in the middle

_REASON_TEXTS = {
    "missing": "the run does not have this query",
    "no relevant": "there is no relevant document, so that the metric has no value",
    "nothing retrieved": "nothing was retrieved, so that the metric has no value",
}

_BY_RANK = "no sum over documents: a row shows by how much the value moves when the list is read down to it"


def compose_value(result: Explanation) -> list[str]:
    """Compose the value from gains, weights and norm, or from the list read rank by rank."""
    value = format_column([result.value])[0]
    if result.why:
        subject = f"under {result.convention['name']} it"
        if result.value is not None:
            return [_REASON_TEXTS[result.why], f"{subject} counts as {value}"]
        outcome = "is left out of the mean" if result.why == "missing" else "stays undefined"
        return [_REASON_TEXTS[result.why], f"{subject} {outcome}"]
    if result.summed is None or result.norm is None:
        start = "" if not result.start else f", from {format_decimal(result.start)} for an empty list"
        return [f"{result.metric} = {value}", f"{_BY_RANK}{start}"]
    if not result.norm.name:
        return [f"{result.metric} = {_equation(result.summed, value)}"]
    summed_text, norm_text = (format_counts([result.summed.value])[0], format_counts([result.norm.value])[0])
    return [
        f"{result.summed.name} = {_equation(result.summed, summed_text)}",
        f"{result.norm.name} = {_equation(result.norm, norm_text)}",
        f"{result.metric} = {summed_text} / {norm_text} = {value}",
    ]


def _equation(result: Sum, value: str) -> str:
    """The terms and their sum; only the value if there are fewer than two terms.

    A long sum keeps its first and its last terms.
    """
    terms = format_counts(result.terms)
    if len(terms) > _MOST_TERMS:
        terms = [*terms[: _MOST_TERMS - 2], "…", terms[-1]]
    return f"{' + '.join(terms)} = {value}" if len(terms) > 1 else value


_TIED, _MORE = "=", "…"
_TIES = {
    "doc_id_desc": "the document id, descending",
    "doc_id_asc": "the document id, ascending",
    "file_order": "their order in the file",
}
_SHORTEST_ID = 25  # shortest width of a document's id: readers search for ids


def explanation_document(result: Explanation, *, every: bool = False) -> Document:
    """The ranking, the ideal, and the formula of the value.

    Args:
        result: the explanation.
        every: True to show all parameters, including those with default values.
    """
    value = format_column([result.value])[0]
    chart = Chart("explain", result)
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
    warnings = Warnings.from_notices(result.notices)
    return made(title, warnings, chart, *tables, entries, rows=rows)


def _tables(result: Explanation) -> list[tuple[str, Grid]]:
    tables = []
    if result.rows:
        tables.append((f"the ranking, {count_noun(result.retrieved, 'document')}", ranking(result)))
    if result.ideal:
        best = "" if result.best is None else f", which would have {format_column([result.best])[0]}"
        tables.append((f"the ideal, {count_noun(result.relevant, 'relevant document')}{best}", ideal(result)))
    return tables


def ranking(result: Explanation) -> Grid:
    """One row for each document of the run."""
    columns = {
        "rank": [f"{_TIED if row.tied else ''}{row.rank}" for row in result.rows],
        **_columns(result, result.rows),
    }
    gaps = [row.skipped for row in result.rows]
    return _with_gaps(Grid.of(columns, left=(1,)), [*gaps, result.left_out])


def ideal(result: Explanation) -> Grid:
    """One row for each relevant document, with its rank in the run."""
    run_ranks = [UNDEFINED if row.found is None else str(row.found) for row in result.ideal]
    columns = {
        "rank": [str(row.rank) for row in result.ideal],
        **_columns(result, result.ideal),
        "in the run": ["not retrieved" if rank == UNDEFINED else f"rank {rank}" for rank in run_ranks],
    }
    gaps = [0] * len(result.ideal)
    return _with_gaps(Grid.of(columns, left=(1, len(columns) - 1)), [*gaps, result.ideal_left_out])


def _columns(result: Explanation, rows: Sequence[ExplainedRow | IdealRow]) -> dict[str, list[str]]:
    columns = {"document": [row.doc_id for row in rows], "grade": [format_grade(row.grade) for row in rows]}
    if result.weighed:
        columns["gain"] = format_counts(row.gain for row in rows)
        columns[result.weighed] = [format_decimal(row.weight) for row in rows]
    columns["contribution"] = [format_decimal(row.contribution) for row in rows]
    columns["sum" if result.weighed else "value"] = [format_decimal(row.running) for row in rows]
    return columns


def _with_gaps(grid: Grid, gaps: Sequence[int]) -> Grid:
    """Add a line before each row and after the last row, with the number of omitted rows."""
    rows = []
    for gap, row in zip(gaps, [*grid.rows, None], strict=True):
        if gap:
            rows.append((_MORE, count_noun(gap, "more document"), *[""] * (len(grid.head) - 2)))
        if row:
            rows.append(row)
    return Grid(grid.head, tuple(rows), grid.left)


def _fit_width(grid: Grid) -> Grid:
    """Shorten long document ids in the middle, so that the grid fits 80 columns."""
    table_text = text_tables.text_table(grid)
    excess = max(map(text_tables.text_width, table_text.split("\n"))) - text_tables.WIDTH
    if excess <= 0:
        return grid
    longest = max(text_tables.text_width(row[1]) for row in grid.rows)
    id_width = max(longest - excess, _SHORTEST_ID)
    rows = tuple((row[0], text_tables.shorten_middle(row[1], id_width), *row[2:]) for row in grid.rows)
    return Grid(grid.head, rows, grid.left)


def _facts(result: Explanation, *, every: bool) -> dict[str, list[str]]:
    """The lines below the tables, by label."""
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
            f"{tool.metric} = {format_column([tool.value])[0]} under {tool.convention}: {tool.title}"
            for tool in result.others
        ],
        "marks": _marks(result),
        "all queries": [f"{format_column([result.mean])[0]} over {count_noun(result.queries, 'query')}"],
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
            f"{count_noun(result.excluded, 'document of the run does', 'documents of the run do')} not count "
            "under this convention"
        )
    return marks


_MOST_DIGITS = 12  # numbers with a smaller difference are one group

NOTHING_FITS = "none of the conventions tried gives it; the nearest are"

_AMBIGUOUS = (
    "several fit: the number alone does not show which was used; more digits, or a second metric, would show "
    "it"
)


def reconciliation_document(result: Reconciliation) -> Document:
    """The conventions grouped by their number, and the differences between groups."""
    digits = digits_for([group.value for group in result.groups])
    refused = tuple(Entry(refusal.convention, (refusal.reason,)) for refusal in result.refusals)
    rows = PlainRows(
        ("convention", "value"),
        [(name, group.value) for group in result.groups for name in group.conventions],
    )
    return made(
        title(result),
        Warnings.from_notices(result.notices),
        Chart("reconcile", result),
        Entries(tuple(_group(group, digits) for group in result.groups)),
        Entries(refused, "cannot take these data"),
        rows=rows,
    )


def bridge_document(result: Bridge) -> Document:
    """The mean at the start, each step that changes the mean, and the mean at the end."""
    begin, end = result.begin, result.end
    entries = [Entry(format_decimal(result.before), (f"{begin['name']} ({begin['hash']})",))]
    entries += [Entry(effect_text(step), (step_text(step),)) for step in result.steps if step.moves]
    entries.append(Entry(format_decimal(result.after), (f"{end['name']} ({end['hash']})",)))
    unchanged = tuple(change_text(step) for step in result.steps if not step.moves)
    without = Entries((Entry("no effect", unchanged),) if unchanged else ())
    return made(title(result), Warnings.from_notices(result.notices), Entries(tuple(entries)), without)


def finding_document(result: Finding) -> Document:
    """The conventions that compute the value, or the nearest ones."""
    is_ambiguous = len(result.fits) > 1 or any(len(fit.conventions) > 1 for fit in result.fits[:1])
    fits = _fits(result.fits or result.nearest)
    explanation = _AMBIGUOUS if is_ambiguous else ""
    nothing = "" if result.fits else NOTHING_FITS
    return made(title(result), Warnings.from_notices(result.notices), nothing, Entries(fits), explanation)


def title(result: Reconciliation | Bridge | Finding) -> str:
    """The question and its data, on one line."""
    values = {}
    if isinstance(result, Reconciliation):
        values["count"] = sum(len(group.conventions) for group in result.groups)
        summary = f"{_numbers(len(result.groups))} under {{count:n convention}}"
    elif isinstance(result, Bridge):
        summary = "from {begin[name]} to {end[name]}"
    else:
        off = ", taken as a percentage" if result.percent else ""
        tried_text = "{tried:n metric} under {conventions:n convention} tried"
        summary = f"conventions that give {{reported}}{off}; {tried_text}"
    return fill(f"{{metric}} of run {{run}} by judgments {{qrels}}: {summary}", result, values)


def _group(group: Group, digits: int) -> Entry:
    value = UNDEFINED if group.value is None else f"{group.value:.{digits}f}"
    names = ", ".join(group.conventions)
    if group.nearest is None or not group.steps:
        return Entry(value, (names,))
    steps = [f"{effect_text(step, digits)}  {change_text(step)}" for step in group.steps]
    return Entry(value, (names, f"from {group.nearest} to {group.member}:", *steps))


def digits_for(values: Sequence[float | None]) -> int:
    """Format numbers with four decimals, or with as many as distinguish them."""
    defined = [value for value in values if value is not None]
    for digits in range(4, _MOST_DIGITS):
        if len({f"{value:.{digits}f}" for value in defined}) == len(defined):
            return digits
    return _MOST_DIGITS


def _fits(fits: Sequence[Fit]) -> tuple[Entry, ...]:
    """One entry for each number; cutoffs with equal numbers are joined."""
    rows: dict[tuple[float, tuple[str, ...]], list[str]] = {}
    for fit in fits:
        rows.setdefault((fit.mean, fit.conventions), []).append(fit.metric)
    return tuple(
        Entry(f"{mean:.6f}", (", ".join(metrics), ", ".join(names)))
        for (mean, names), metrics in rows.items()
    )


def _numbers(count: int) -> str:
    return "one number" if count == 1 else count_noun(count, "number")


def effect_text(step: Step, digits: int = 4) -> str:
    """The effect as the difference of the two printed means, so that effects add up."""
    if step.before is None or step.after is None:
        return UNDEFINED
    return f"{round(step.after, digits) - round(step.before, digits):+z.{digits}f}"


def change_text(step: Step) -> str:
    """The axes of a step, each with its old and its new value."""
    changes = zip(step.axes, step.begin, step.end, strict=True)
    return ", ".join(f"{axis}: {begin} → {end}" for axis, begin, end in changes)


def step_text(step: Step) -> str:
    """The step with its effect on single queries."""
    if step.moved is None:
        return change_text(step)
    if step.query_id is None:
        return f"{change_text(step)}; moves no query, but the number of those that count"
    queries = "1 query" if step.moved == 1 else f"{step.moved} queries, most"
    before, after = format_decimal(step.query_before), format_decimal(step.query_after)
    return f"{change_text(step)}; moves {queries} {make_printable(step.query_id)} ({before} → {after})"
