"""Documents of metrics: the list, or one in full."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid
from rankgate.measurement.evaluation.metrics import COLUMNS

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.metric import MetricDetails, ParameterDetails
    from rankgate.measurement.evaluation.metrics import Metrics

USUAL = "as usual"
"""The words for a convention that binds no parameter of a metric."""

_WORDS = frozenset(range(4))


def listed(result: Metrics) -> Document:
    """Every metric with what it measures, its parameters and other names."""
    rows = tuple((spelled(each), _entry(each)) for each in result.metrics)
    return made(
        f"{len(result)} metrics",
        Table("", Grid(("metric", "what it measures"), rows, _WORDS), prose=True),
        rows=PlainRows(COLUMNS, result.rows),
    )


def details(result: MetricDetails) -> Document:
    """One metric: formula, values, what it sees, parameters, and what conventions choose."""
    facts = _facts(result)
    return made(
        spelled(result),
        Entries(tuple(Entry(label, (line,)) for label, line in facts.items())),
        Table("parameters and their defaults", _parameters(result), prose=True),
        *([_conventions(result.conventions)] if result.conventions else []),
        lead=(result.title,),
        rows=PlainRows(("what", "value"), [("title", result.title), *facts.items()]),
    )


def _facts(metric: MetricDetails) -> dict[str, str]:
    facts = {
        "formula": metric.formula,
        "values": values(metric),
        "needs": "; ".join(metric.needs),
        "sees": metric.sees,
        "blind to": metric.blind_to,
        "also called": ", ".join(metric.aliases),
        "trec_eval": ", ".join(metric.trec),
        "source": metric.source,
    }
    return {label: line for label, line in facts.items() if line}


def spelled(metric: MetricDetails) -> str:
    """How the name is written, with what is after @."""
    needed = {each.name: each.required for each in metric.parameters}
    if metric.at is None:
        return metric.name
    return metric.name + (f"@{metric.at}" if needed[metric.at] else f"[@{metric.at}]")


def _entry(metric: MetricDetails) -> str:
    names = dict.fromkeys((*metric.aliases, *metric.trec))
    inside = ", ".join(each.name for each in metric.parameters if each.name != metric.at)
    items = [f"parameters {inside}"] if inside else []
    others = ", ".join(name for name in names if name != metric.name)
    items += [f"also {others}"] if others else []
    return f"{metric.title} ({'; '.join(items)})" if items else metric.title


def _parameters(metric: MetricDetails) -> Grid:
    rows = tuple(
        (
            each.name,
            "required" if each.required else f"{each.default}",
            takes(each) + _written(each, metric.at),
        )
        for each in metric.parameters
    )
    return Grid(("parameter", "default", "may be"), rows, _WORDS)


def _written(facts: ParameterDetails, at: str | None) -> str:
    return f", written @{facts.name}" if facts.name == at else ""


def takes(facts: ParameterDetails) -> str:
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


def values(metric: MetricDetails) -> str:
    """The bounds, the direction of improvement, and how queries become one number."""
    low = "no lower bound" if metric.low is None else f"from {metric.low:g}"
    high = "no upper bound" if metric.high is None else f"to {metric.high:g}"
    better = "higher is better" if metric.higher_is_better else "lower is better"
    joint = {"geometric": "geometric mean", "weighted": "weighted mean"}.get(
        metric.aggregate, metric.aggregate
    )
    where = "" if "lists" in joint else " over queries"
    comma = " " if metric.low is not None and metric.high is not None else ", "
    return f"{low}{comma}{high}; {better}; {joint}{where}"


def same_values(conventions: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """The names of conventions by what they do with a metric.

    That is the parameters they bind, and the values where nothing is relevant or retrieved.
    """
    fields: dict[tuple[str, ...], list[str]] = {}
    for name, how in conventions.items():
        bound = ", ".join(_bound(key, value) for key, value in how["parameters"].items())
        empty = (_empty(how[kind]) for kind in ("without_relevant", "nothing_retrieved"))
        fields.setdefault((bound or USUAL, *empty), []).append(name)
    return fields


def _conventions(conventions: Mapping[str, Mapping[str, Any]]) -> Table:
    """What each convention does with this metric; those that do the same are together."""
    if any("called" in how for how in conventions.values()):
        grid = Grid(
            ("convention", "parameters", "its tool's name"), tuple(tools(conventions)), _WORDS
        )
        return Table("conventions", grid, prose=True)
    rows = tuple((*choice, ", ".join(names)) for choice, names in same_values(conventions).items())
    head = ("parameters", "nothing relevant", "empty list", "conventions")
    return Table("conventions", Grid(head, rows, _WORDS), prose=True)


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


def _bound(key: str, value: object) -> str:
    """A parameter that a convention sets; the least of all numbers means any above 0."""
    least = isinstance(value, float) and 0 < value < sys.float_info.min
    return f"{key} above 0" if least else f"{key}={value!r}"


def _empty(value: float | str) -> str:
    """The substituted value, or what is done instead."""
    return value if isinstance(value, str) else f"{value:g}"
