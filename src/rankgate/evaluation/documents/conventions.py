"""Conventions as text and JSON: all of them, one in full, or axis by axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.forms import as_json
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import indented, labelled
from rankgate.present.grid import Grid, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.evaluation.conventions import AxisChoice, AxisFacts, ConventionFacts

FORMS = ("text", "json")
"""The forms of conventions, by the name that ``--format`` takes."""

_SCHEMA_VERSION = 1
_OTHER = "*"


def render_all(conventions: Sequence[ConventionFacts], form: str, width: int = WIDTH) -> str:
    """Every convention in one of `FORMS`."""
    if form == "json":
        listed = [each.to_dict() for each in conventions]
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, "conventions": listed})
    widths = [max(len(each.name) for each in conventions)]
    return "".join(labelled([each.name], [each.title], widths, width) for each in conventions)


def render(facts: ConventionFacts, form: str, width: int = WIDTH) -> str:
    """One convention in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(facts.to_dict())
    words = {
        "source": [facts.source] if facts.source else [],
        "defects": [*facts.defects],
    }
    items = [(label, lines) for label, lines in words.items() if lines]
    room = [max((len(label) for label, _ in items), default=0)]
    parts = [
        f"{printable(facts.name)} ({facts.hash})\n"
        + labelled([""], [facts.title], [0], width).lstrip(),
        "".join(labelled([label], map(printable, lines), room, width) for label, lines in items),
        _choices("axes", facts.choices, width),
        _choices("parameters of metrics", facts.parameters, width),
        _choices("single metrics", facts.special, width),
        _names(facts, width),
        f"{_OTHER} other than where nothing is said\n",
    ]
    return "\n".join(part for part in parts if part)


def render_axes(axes: Sequence[AxisFacts], form: str, width: int = WIDTH) -> str:
    """Every axis with what each convention chooses, in one of `FORMS`."""
    if form == "json":
        listed = [each.to_dict() for each in axes]
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, "axes": listed})
    return "\n".join(_axis(each, width) for each in axes)


def listed(conventions: Sequence[ConventionFacts]) -> Grid:
    """One row a convention."""
    rows = tuple((each.name, each.title) for each in conventions)
    return Grid(("convention", "what it reproduces"), rows, frozenset({0, 1}))


def grids(facts: ConventionFacts) -> list[Grid]:
    """The choices of one convention: axes, parameters of metrics, single metrics, its names."""
    parts = {
        "axis": facts.choices,
        "parameter": facts.parameters,
        "for a single metric": facts.special,
    }
    items = [
        Grid(
            (head, "choice", "what it decides"),
            tuple((_starred(each), each.value, each.about) for each in choices),
            frozenset({0, 1, 2}),
        )
        for head, choices in parts.items()
        if choices
    ]
    if facts.spellings:
        rows = tuple(facts.spellings.items())
        items.append(Grid(("its own name", "here"), rows, frozenset({0, 1})))
    return items


def _starred(choice: AxisChoice) -> str:
    return choice.axis + ("" if choice.usual else f" {_OTHER}")


def _axis(facts: AxisFacts, width: int) -> str:
    default = facts.default if facts.default == "required" else f"{facts.default} by default"
    where = "for all metrics or for one" if facts.each and "." not in facts.name else ""
    words = "; ".join(part for part in (facts.takes, default, where) if part)
    widths = [min(max(map(len, facts.chosen)), 24)]
    rows = (labelled([value], [names], widths, width - 2) for value, names in _named(facts).items())
    about = labelled([""], [facts.about, words], [0], width)
    return f"{facts.name}\n{about}{indented(''.join(rows))}"


def _named(facts: AxisFacts) -> dict[str, str]:
    """Who chooses what; the first and most usual choice of many is that of all others."""
    values = {value: ", ".join(names) for value, names in facts.chosen.items()}
    first, *others = facts.chosen
    if not others:
        return {first: "all"}
    many = sum(map(len, facts.chosen.values())) // 2
    return values | ({first: "all others"} if len(facts.chosen[first]) > many else {})


def _choices(title: str, choices: Sequence[AxisChoice], width: int) -> str:
    if not choices:
        return ""
    named = [_starred(each) for each in choices]
    widths = [max(map(len, named)), min(max(len(each.value) for each in choices), 24)]
    rows = (
        labelled([name, each.value], [each.about], widths, width - 2)
        for name, each in zip(named, choices, strict=True)
    )
    return f"{title}\n{indented(''.join(rows))}"


def _names(facts: ConventionFacts, width: int) -> str:
    """The tool's own names of metrics."""
    if not facts.spellings:
        return ""
    widths = [max(map(len, facts.spellings))]
    rows = (
        labelled([theirs], [ours], widths, width - 2) for theirs, ours in facts.spellings.items()
    )
    return f"its own names\n{indented(''.join(rows))}"
