"""A scorecard: metrics down, systems across, intervals below, marks where systems differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.report import as_csv, as_html, as_json, as_markdown
from rankgate.report.as_text import WIDTH, fitted
from rankgate.report.figures import p_value, signed
from rankgate.report.grid import Grid, printable
from rankgate.report.numbers import UNDEFINED
from rankgate.report.paragraphs import wrapped

if TYPE_CHECKING:
    from rankgate.services.scorecard import Scorecard

FORMS = ("text", "json", "csv", "markdown", "html")
"""The forms of a scorecard, by the name that ``--format`` takes."""

_UP, _DOWN = "▲", "▼"


def render(told: Scorecard, form: str, width: int = WIDTH) -> str:
    """A scorecard in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if form == "csv":
        return as_csv.written(told.figures.columns, told.figures.iter_rows())
    if form == "html":
        words = "".join(as_html.paragraph(line) for line in notes(told))
        return f"{as_html.table(card(told))}\n{words}\n"
    if form == "markdown":
        lines = [f"- {as_markdown.escaped(line)}" for line in notes(told)]
        return "\n".join([as_markdown.table(card(told)), "", *lines]) + "\n"
    lines = [part for line in notes(told) for part in wrapped(line, width)]
    return f"{fitted(card(told), width)}\n\n" + "\n".join(lines) + "\n"


def card(told: Scorecard) -> Grid:
    """A row for each metric, and one below it with the intervals."""
    marks = _marks(told)
    values = {
        (row["system"], row["metric"]): row for row in told.figures.iter_rows(named=True)
    }  # fmt: skip
    rows = []
    for metric in told.metrics:
        found = [values[system, metric] for system in told.systems]
        better = "↑" if found[0]["higher_is_better"] else "↓"
        cells = [
            f"{_number(row['value'])} {marks.get((row['system'], metric), ' ')}" for row in found
        ]
        rows.append((metric, better, *cells))
        if any(row["low"] is not None for row in found):
            rows.append(("", "", *(_ends(row["low"], row["high"]) for row in found)))
    return Grid(("metric", "", *told.systems), tuple(rows))


def differences(told: Scorecard) -> Grid:
    """Every difference from the first system, with its interval and p."""
    rows = [
        (row["metric"], row["system"], signed(row["delta"]), _ends(row["low"], row["high"]),
         p_value(row["p_value"]))
        for row in told.differences.iter_rows(named=True)
    ]  # fmt: skip
    head = ("metric", "system", f"from\n{told.systems[0]}", f"{told.level:.0%} interval", "p")
    return Grid(head, tuple(rows), frozenset({0, 1}))


def notes(told: Scorecard) -> list[str]:
    """What stands below the card, a line each."""
    first = (
        f"{told.users:,} users of {printable(told.qrels)}, {told.catalogue:,} items, convention "
        f"{told.convention['name']}; {told.level:.0%} intervals over users"
    )
    lines = [first]
    if len(told.systems) > 1:
        lines.append(
            f"{_UP} better, {_DOWN} worse than {printable(told.systems[0])}: p < "
            f"{1 - told.level:.2g}, corrected for {len(told.differences)} comparisons (Holm)"
        )
    lines += [
        f"{printable(one)} is dominated: {printable(by)} is as good by every metric here, and "
        "better by some"
        for one, by in told.dominated
    ]
    if len(told.systems) > 1 and not told.dominated:
        lines.append("no system is dominated: each is better than each other by some metric here")
    return [*lines, *told.warnings]


def _marks(told: Scorecard) -> dict[tuple[str, str], str]:
    alpha = 1 - told.level
    return {
        (row["system"], row["metric"]): _UP if row["better"] else _DOWN
        for row in told.differences.iter_rows(named=True)
        if row["p_value"] is not None and row["p_value"] < alpha
    }


def _number(value: float | None) -> str:
    """Four digits that count."""
    if value is None:
        return UNDEFINED
    return f"{value:z.4f}" if abs(value) < 10 else f"{value:.1f}"  # noqa: PLR2004 - as it is read


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return UNDEFINED
    digits = 3 if max(abs(low), abs(high)) < 10 else 1  # noqa: PLR2004 - as above
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"
