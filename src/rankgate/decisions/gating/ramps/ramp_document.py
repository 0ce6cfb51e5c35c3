"""The document of a day of a launch: the rules, the steps, the error budget, the experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import (
    Document,
    Entries,
    Grid,
    PlainRows,
    Points,
    Section,
    Table,
    make_printable,
    nonempty_blocks,
)
from rankgate.core.present.number_formats import UNDEFINED
from rankgate.decisions.gating.verdict_document import rule_entry

if TYPE_CHECKING:
    from rankgate.decisions.gating.ramps.watch import RampVerdict


def ramp_document(result: RampVerdict) -> Document:
    """The decision, its reasons and the figures."""
    control, treatment = map(make_printable, result.names)
    title = f"{treatment} against {control} on {result.day}"
    blocks = nonempty_blocks(
        (
            Entries(tuple(map(rule_entry, result.rules))),
            Table("ramp", _steps(result)),
            Table("error budget", _stages(result)),
            Points(result.notes),
            f"policy: {make_printable(result.policy)} ({result.sha256[:12]})",
        )
    )
    sections = [Section("rules", "Rules", blocks)]
    if result.experiment is not None:
        experiment_document = result.experiment.document()
        blocks_shown = [block for section in experiment_document.sections for block in section.blocks]
        sections.append(Section("experiment", "The experiment in this step", tuple(blocks_shown)))
    rows = [tuple(rule_result.to_dict().values())[:-1] for rule_result in result.rules]
    header = tuple(result.rules[0].to_dict())[:-1] if result.rules else ("id",)
    return Document(
        title, result.verdict, (allowed_sentence(result),), tuple(sections), PlainRows(header, rows)
    )


def allowed_sentence(result: RampVerdict) -> str:
    """A sentence on the share of units that the treatment may have today."""
    treatment = make_printable(result.names[1])
    if result.verdict == "fail":
        return f"Stop: take {treatment} back to 0% of the units."
    if result.verdict == "pass" and result.allowed >= 1:
        return f"Launch: {treatment} may have all units."
    if result.verdict == "pass":
        return f"Go on: {treatment} may have {result.allowed:.2%} of the units."
    return f"Stay: {treatment} may have {result.allowed:.2%} of the units, and no more."


def _steps(result: RampVerdict) -> Grid:
    rows = [
        (
            str(row["step"]),
            f"{row['share']:.2%}",
            row["since"] or UNDEFINED,
            row["until"] or UNDEFINED,
            UNDEFINED if row["units"] is None else f"{row['units']:,}",
            f"{row['alpha']:.4f}",
            row["status"] or "not begun",
            row["why"] or "",
        )
        for row in result.steps.iter_rows(named=True)
    ]
    header = ("step", "share", "since", "until", "units", "alpha", "status", "why")
    return Grid(header, tuple(rows), frozenset({2, 3, 6, 7}))


def _stages(result: RampVerdict) -> Grid:
    rows = [
        (
            row["stage"],
            f"{row['alpha']:.4f}",
            row["status"] or "not asked for",
            make_printable(row["source"] or ""),
        )
        for row in result.stages.iter_rows(named=True)
        if row["status"] or row["stage"] == "ramp"
    ]
    return Grid(("stage", "alpha", "status", "result"), tuple(rows), frozenset({0, 2, 3}))
