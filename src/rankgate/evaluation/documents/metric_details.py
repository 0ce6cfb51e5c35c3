"""The passports of metrics: all of them as a list, or one in full."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rankgate.present.forms import as_json
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import indented, labelled, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankgate.evaluation.metric_details import ParameterFacts, Passport

FORMS = ("text", "json")
"""The forms of passports, by the name that ``--format`` takes."""

_SCHEMA_VERSION = 1
USUAL = "as usual"
"""The words for a convention that binds no parameter of a metric."""

_HEAD = (("", "none", "empty"), ("parameters", "relevant", "list"))
_MOST_BOUND = 28  # columns of 80 that the parameters of a convention take beside the rest


def render_all(passports: Iterable[Passport], form: str, width: int = WIDTH) -> str:
    """Every metric in one of `FORMS`."""
    if form == "json":
        listed = [each.to_dict() for each in passports]
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, "metrics": listed})
    named = [(spelled(each), _entry(each)) for each in passports]
    widths = [max(len(name) for name, _ in named)]
    return "".join(labelled([name], lines, widths, width) for name, lines in named)


def render(passport: Passport, form: str, width: int = WIDTH) -> str:
    """One metric in one of `FORMS`."""
    if form == "json":
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, **passport.to_dict()})
    facts = {
        "formula": passport.formula,
        "values": values(passport),
        "needs": "; ".join(passport.needs),
        "sees": passport.sees,
        "blind to": passport.blind_to,
        "also called": ", ".join(passport.aliases),
        "trec_eval": ", ".join(passport.trec),
        "source": passport.source,
    }
    widths = [max(map(len, facts))]
    known = ((label, line) for label, line in facts.items() if line)
    words = "".join(labelled([label], [line], widths, width) for label, line in known)
    parts = [
        "\n".join([spelled(passport), *wrapped(passport.title, width), ""]),
        words,
        _parameters(passport, width),
        _conventions(passport.conventions, width),
    ]
    return "\n".join(part for part in parts if part)


def spelled(passport: Passport) -> str:
    """How the name is written, with what stands after @."""
    needed = {each.name: each.required for each in passport.parameters}
    if passport.at is None:
        return passport.name
    return passport.name + (f"@{passport.at}" if needed[passport.at] else f"[@{passport.at}]")


def _entry(passport: Passport) -> list[str]:
    names = dict.fromkeys((*passport.aliases, *passport.trec))
    inside = ", ".join(each.name for each in passport.parameters if each.name != passport.at)
    items = [f"parameters {inside}"] if inside else []
    others = ", ".join(name for name in names if name != passport.name)
    items += [f"also {others}"] if others else []
    return [passport.title, f"({'; '.join(items)})"] if items else [passport.title]


def _parameters(passport: Passport, width: int) -> str:
    """One row a parameter: its name, what it is unasked, what it may be."""
    if not passport.parameters:
        return ""
    named = [
        (each.name, "required" if each.required else f"{each.default}")
        for each in passport.parameters
    ]
    widths = [max(len(words[i]) for words in named) for i in (0, 1)]
    rows = (
        labelled(words, [takes(each) + _written(each, passport.at)], widths, width - 2)
        for words, each in zip(named, passport.parameters, strict=True)
    )
    return f"parameters, and what they are unasked\n{indented(''.join(rows))}"


def _written(facts: ParameterFacts, at: str | None) -> str:
    return f", written @{facts.name}" if facts.name == at else ""


def takes(facts: ParameterFacts) -> str:
    """What a parameter may be."""
    words = " or ".join(facts.choices)
    if facts.kind == "gain":
        return f"{words}, or a map such as {{1: 1, 2: 3}}"
    if facts.choices:
        return words
    if facts.kind == "bool":
        return "True or False"
    number = "a whole number" if facts.kind == "int" else "a number"
    if facts.low is None:
        return number
    if facts.high is None:
        return f"{number} of at least {facts.low:g}"
    return f"{number} from {facts.low:g} to {facts.high:g}"


def values(passport: Passport) -> str:
    """The bounds, the direction of improvement, and how queries become one number."""
    low = "no lower bound" if passport.low is None else f"from {passport.low:g}"
    high = "no upper bound" if passport.high is None else f"to {passport.high:g}"
    better = "higher is better" if passport.higher_is_better else "lower is better"
    joint = {"geometric": "geometric mean", "weighted": "weighted mean"}.get(
        passport.aggregate, passport.aggregate
    )
    where = "" if "lists" in joint else " over queries"
    comma = " " if passport.low is not None and passport.high is not None else ", "
    return f"{low}{comma}{high}; {better}; {joint}{where}"


def alike(conventions: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """The names of conventions by what they do with a metric.

    That is the parameters they bind, and the values where nothing is relevant or retrieved.
    """
    fields: dict[tuple[str, ...], list[str]] = {}
    for name, how in conventions.items():
        bound = ", ".join(_bound(key, value) for key, value in how["parameters"].items())
        empty = (_empty(how[kind]) for kind in ("without_relevant", "nothing_retrieved"))
        fields.setdefault((bound or USUAL, *empty), []).append(name)
    return fields


def _conventions(conventions: Mapping[str, Mapping[str, Any]], width: int) -> str:
    """What each convention does with this metric; those that do the same stand together."""
    if not conventions:
        return ""
    if any("called" in how for how in conventions.values()):
        return _tools(conventions, width)
    result = alike(conventions)
    most = _MOST_BOUND * width // WIDTH
    widths = [max((len(key[0]) for key in result if len(key[0]) <= most), default=0)]
    widths += [max(len(key[i]) for key in (*_HEAD, *result)) for i in (1, 2)]
    rows = [labelled(line, [""], widths, width - 2) for line in _HEAD]
    for (bound, *empty), names in result.items():
        fits = len(bound) <= widths[0]
        rows += [] if fits else [f"{bound}\n"]
        rows.append(
            labelled([bound if fits else "", *empty], [", ".join(names)], widths, width - 2)
        )
    return f"conventions\n{indented(''.join(rows))}"


def tools(conventions: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The tools that have a metric on lists: what they bind, and what they call it."""
    return [
        (
            name,
            ", ".join(_bound(*each) for each in how["parameters"].items()) or USUAL,
            ", ".join(how["called"]),
        )
        for name, how in conventions.items()
    ]


def _tools(conventions: Mapping[str, Mapping[str, Any]], width: int) -> str:
    rows = tools(conventions)
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    result = (labelled(row[:2], [row[2]], widths, width - 2) for row in rows)
    return f"conventions, and what their tools call it\n{indented(''.join(result))}"


def _bound(key: str, value: object) -> str:
    """A parameter that a convention sets; the least of all numbers means any above 0."""
    least = isinstance(value, float) and 0 < value < sys.float_info.min
    return f"{key} above 0" if least else f"{key}={value!r}"


def _empty(value: float | str) -> str:
    """The value that stands in, or what is done instead."""
    return value if isinstance(value, str) else f"{value:g}"
