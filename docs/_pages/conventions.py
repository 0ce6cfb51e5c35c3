"""A page for each convention, and all of them side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _pages.words import MADE, code, label, prose, table, toctree
from rankgate.measurement.evaluation import metric_details as documents
from rankgate.measurement.evaluation.convention_details import axes as every_axis
from rankgate.measurement.evaluation.convention_details import conventions
from rankgate.measurement.evaluation.metric_details import metric_details

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankgate.measurement.evaluation.convention_details import AxisChoice, AxisDetails, ConventionDetails

_METRICS = ("nDCG", "DCG", "AP", "RR", "P", "R", "F", "Success", "Rprec", "ERR", "RBP", "Bpref")
_SAME = "·"


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its place below ``reference``."""
    all_conventions = conventions().conventions
    yield "conventions/index.md", _index(all_conventions)
    yield "side-by-side.md", _side_by_side(all_conventions)
    for facts in all_conventions:
        yield f"conventions/{facts.name}.md", _page(facts)


def _index(known: Sequence[ConventionDetails]) -> str:
    rows = [(f"[{convention.name}]({convention.name}.md)", prose(convention.title)) for convention in known]
    return "\n".join(
        [
            MADE,
            "# Named conventions\n",
            (
                f"All {len(known)}: the rules of a tool or a document, as data. [Side by "
                "side](../side-by-side.md) · [How to use one, or write your own]"
                "(../../conventions.md) · [The proof against the tools](../../agreement.md)\n"
            ),
            table(("convention", "what it reproduces"), rows),
            toctree(convention.name for convention in known),
        ]
    )


def _page(facts: ConventionDetails) -> str:
    parts = [
        MADE,
        f"# {facts.name}\n",
        f"{prose(facts.title)}.\n",
        table(("", ""), _about(facts)),
        _other(facts),
        "## What it chooses on every axis\n",
        table(("axis", "choice", "what it decides"), map(_choice, facts.choices)),
        "**Bold** where it differs from the default.\n",
    ]
    if facts.parameters:
        rows = [_choice(choice)[:2] for choice in facts.parameters]
        parts += ["## Parameters of metrics\n", table(("parameter", "choice"), rows)]
    if facts.special:
        parts += [
            "## Single metrics\n",
            table(("metric and axis", "choice", "what it decides"), map(_choice, facts.special)),
        ]
    if facts.spellings:
        rows = [
            (code(peer_name), code(rankgate_name)) for peer_name, rankgate_name in facts.spellings.items()
        ]
        parts += [
            "## Its own names of metrics\n",
            "Read wherever a metric is named under this convention.\n",
            table(("its name", "here"), rows),
        ]
    parts.append(f"On the terminal: `rankgate conventions show {facts.name}`.\n")
    return "\n".join(section for section in parts if section)


def _about(facts: ConventionDetails) -> list[tuple[str, str]]:
    versions = [("checked against", prose(facts.versions))] if facts.versions else []
    return [("hash", code(facts.hash)), ("source", prose(facts.source)), *versions]


def _other(facts: ConventionDetails) -> str:
    if not facts.defects:
        return ""
    lines = [f"- {prose(defect)}" for defect in facts.defects]
    return "\n".join(["## What it does not reproduce\n", *lines, ""])


def _choice(choice: AxisChoice) -> tuple[str, str, str]:
    value = code(choice.value)
    return (code(choice.axis), value if choice.usual else f"**{value}**", prose(choice.about))


def _side_by_side(known: Sequence[ConventionDetails]) -> str:
    axes = [axis for axis in every_axis().axes if len(axis.chosen) > 1]
    plain = [axis for axis in axes if "." not in axis.name]
    parts = [
        MADE,
        "# Conventions side by side\n",
        (
            f"`{_SAME}` is the default, shown under the name of the axis; only different choices are written "
            f"out. [What each axis decides](#axes) is below, and what [single metrics](#by-metric) get in "
            "between. The first column and the heads stay in sight.\n"
        ),
        "## By axis\n",
        _wide(_axis_head(plain), [_axis_row(convention.name, plain) for convention in known]),
        label("by-metric") + "## By metric\n",
        (
            "Parameters that a convention binds, then in brackets the value of a query with nothing relevant "
            "where that is not 0. [Every metric's page](metrics/index.md) has all conventions.\n"
        ),
        _wide(
            ["convention", *(f"[{name}](metrics/{name}.md)" for name in _METRICS)],
            [_metric_row(convention.name) for convention in known],
        ),
        label("axes") + "## What each axis decides\n",
        *map(_axis, axes),
    ]
    return "\n".join(parts)


def _wide(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([":::{container} wide", table(head, rows), ":::", ""])


def _axis_head(axes: Sequence[AxisDetails]) -> list[str]:
    return ["convention", *(f"{code(axis.name)}<br>{prose(axis.default)}" for axis in axes)]


def _axis_row(name: str, axes: Sequence[AxisDetails]) -> list[str]:
    cells = [f"[{name}](conventions/{name}.md)"]
    for axis in axes:
        value = next(value for value, names in axis.chosen.items() if name in names)
        cells.append(_SAME if value == axis.default else prose(value))
    return cells


def _metric_row(name: str) -> list[str]:
    cells = [f"[{name}](conventions/{name}.md)"]
    for metric in _METRICS:
        treatment = metric_details(metric).conventions[name]
        (bound, relevant, _), *_ = documents.group_by_treatment({name: treatment})
        result = [] if bound == documents.USUAL_TEXT else [code(binding) for binding in bound.split(", ")]
        result += [] if relevant == "0" else [f"({relevant})"]
        cells.append("<br>".join(result) or _SAME)
    return cells


def _axis(facts: AxisDetails) -> str:
    rows = [
        (code(value), ", ".join(f"[{name}](conventions/{name}.md)" for name in names))
        for value, names in facts.chosen.items()
    ]
    description = f"{prose(facts.about)} It may be {prose(facts.takes)}."
    return "\n".join(
        [
            f"### {facts.name}\n",
            description[:1].upper() + description[1:] + "\n",
            table(("choice", "of"), rows),
        ]
    )
