"""The passports of metrics: all of them as a list, or one in full."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rankgate.report import as_json, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankgate.services import ParameterFacts, Passport

FORMS = ("text", "json")
"""The forms of passports, by the name that ``--format`` takes."""

_SCHEMA_VERSION = 1


def render_all(passports: Iterable[Passport], form: str) -> str:
    """Every metric in one of `FORMS`."""
    if form == "json":
        listed = [each.to_dict() for each in passports]
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, "metrics": listed})
    named = [(_spelled(each), _entry(each)) for each in passports]
    width = max(len(name) for name, _ in named)
    return "".join(as_text.labelled(name, lines, width) for name, lines in named)


def render(passport: Passport, form: str) -> str:
    """One metric in one of `FORMS`."""
    if form == "json":
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, **passport.to_dict()})
    facts = {
        "formula": [passport.formula],
        "parameters": [_parameter(each, passport.at) for each in passport.parameters],
        "values": [_values(passport)],
        "sees": [passport.sees],
        "blind to": [passport.blind_to],
        "also called": [", ".join(passport.aliases)],
        "trec_eval": [", ".join(passport.trec)],
        "source": [passport.source],
        "conventions": _conventions(passport.conventions),
    }
    width = max(map(len, facts))
    known = ((label, lines) for label, lines in facts.items() if any(lines))
    told = [as_text.labelled(label, lines, width) for label, lines in known]
    return f"{_spelled(passport)}\n{passport.title}\n\n{''.join(told)}"


def _spelled(passport: Passport) -> str:
    """How the name is written, with what stands after @."""
    needed = {each.name: each.required for each in passport.parameters}
    if passport.at is None:
        return passport.name
    return passport.name + (f"@{passport.at}" if needed[passport.at] else f"[@{passport.at}]")


def _entry(passport: Passport) -> list[str]:
    names = dict.fromkeys((*passport.aliases, *passport.trec))
    inside = ", ".join(each.name for each in passport.parameters if each.name != passport.at)
    told = [f"parameters {inside}"] if inside else []
    others = ", ".join(name for name in names if name != passport.name)
    told += [f"also {others}"] if others else []
    return [passport.title, f"({'; '.join(told)})"] if told else [passport.title]


def _parameter(facts: ParameterFacts, at: str | None) -> str:
    default = "required" if facts.required else f"= {facts.default}"
    told = [_takes(facts)]
    if facts.name == at:
        told.append(f"written @{facts.name}")
    return f"{facts.name} {default}: {', '.join(told)}"


def _takes(facts: ParameterFacts) -> str:
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


def _values(passport: Passport) -> str:
    low = "no lower bound" if passport.low is None else f"from {passport.low:g}"
    high = "no upper bound" if passport.high is None else f"to {passport.high:g}"
    better = "higher is better" if passport.higher_is_better else "lower is better"
    joint = {"geometric": "geometric mean", "weighted": "weighted mean"}.get(
        passport.aggregate, passport.aggregate
    )
    comma = " " if passport.low is not None and passport.high is not None else ", "
    return f"{low}{comma}{high}; {better}; {joint} over queries"


def _conventions(conventions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What each convention does with this metric; those that do the same stand together."""
    told: dict[str, list[str]] = {}
    for name, how in conventions.items():
        bound = [_bound(key, value) for key, value in how["parameters"].items()]
        empty = (
            "where it has no value: "
            f"{_empty(how['without_relevant'])} for lack of relevant documents, "
            f"{_empty(how['nothing_retrieved'])} for an empty list"
        )
        told.setdefault("; ".join([*bound, empty]), []).append(name)
    return [f"{', '.join(names)}: {what}" for what, names in told.items()]


def _bound(key: str, value: object) -> str:
    """A parameter that a convention sets; the least of all numbers means any above 0."""
    least = isinstance(value, float) and 0 < value < sys.float_info.min
    return f"{key} above 0" if least else f"{key}={value!r}"


def _empty(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
