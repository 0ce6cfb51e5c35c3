"""Documents of metrics: the list, or one in full."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document_model import Document, Entries, Entry, Grid, PlainRows, Table
from rankgate.core.present.document_model import make_document as made
from rankgate.measurement.evaluation.metric_details import COLUMNS

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.measurement.evaluation.metric_details import MetricDetails, Metrics, ParameterDetails


USUAL_TEXT = "as usual"
"""The words for a convention that binds no parameter of a metric."""

_METRIC_TEXT_COLUMNS = frozenset(range(4))


def metrics_document(result: Metrics) -> Document:
    """Every metric with its title, its parameters and other names."""
    rows = tuple((written_name(metric), _entry(metric)) for metric in result.metrics)
    return made(
        f"{len(result)} metrics",
        Table("", Grid(("metric", "what it measures"), rows, _METRIC_TEXT_COLUMNS), prose=True),
        rows=PlainRows(COLUMNS, result.rows),
    )


def metric_document(result: MetricDetails) -> Document:
    """One metric: formula, values, the data it uses, parameters, and the choices of conventions."""
    facts = _facts(result)
    return made(
        written_name(result),
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


def written_name(metric: MetricDetails) -> str:
    """The name as users write it, with the part after @."""
    needed = {parameter.name: parameter.required for parameter in metric.parameters}
    if metric.at is None:
        return metric.name
    return metric.name + (f"@{metric.at}" if needed[metric.at] else f"[@{metric.at}]")


def _entry(metric: MetricDetails) -> str:
    names = dict.fromkeys((*metric.aliases, *metric.trec))
    inside = ", ".join(parameter.name for parameter in metric.parameters if parameter.name != metric.at)
    notes = [f"parameters {inside}"] if inside else []
    other_names = ", ".join(name for name in names if name != metric.name)
    notes += [f"also {other_names}"] if other_names else []
    return f"{metric.title} ({'; '.join(notes)})" if notes else metric.title


def _parameters(metric: MetricDetails) -> Grid:
    rows = tuple(
        (
            parameter.name,
            "required" if parameter.required else f"{parameter.default}",
            permitted_values(parameter)
            + (f", written @{parameter.name}" if parameter.name == metric.at else ""),
        )
        for parameter in metric.parameters
    )
    return Grid(("parameter", "default", "may be"), rows, _METRIC_TEXT_COLUMNS)


def permitted_values(facts: ParameterDetails) -> str:
    """The permitted values of a parameter."""
    choices = " or ".join(facts.choices)
    if facts.kind == "gain":
        return f"{choices}, or a map such as {{1: 1, 2: 3}}"
    if facts.choices:
        return choices
    if facts.kind == "bool":
        return "True or False"
    number = "a whole number" if facts.kind == "int" else "a number"
    if facts.low is None:
        return number
    if facts.high is None:
        return f"{number} of at least {facts.low:g}"
    return f"{number} from {facts.low:g} to {facts.high:g}"


def values(metric: MetricDetails) -> str:
    """The bounds, the direction of improvement, and the aggregation over queries."""
    low = "no lower bound" if metric.low is None else f"from {metric.low:g}"
    high = "no upper bound" if metric.high is None else f"to {metric.high:g}"
    better = "higher is better" if metric.higher_is_better else "lower is better"
    joint = {"geometric": "geometric mean", "weighted": "weighted mean"}.get(
        metric.aggregate, metric.aggregate
    )
    scope = "" if "lists" in joint else " over queries"
    comma = " " if metric.low is not None and metric.high is not None else ", "
    return f"{low}{comma}{high}; {better}; {joint}{scope}"


def group_by_treatment(conventions: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """Group conventions by their treatment of a metric.

    The treatment is the set parameters, and the values without relevant or retrieved documents.
    """
    fields: dict[tuple[str, ...], list[str]] = {}
    for name, treatment in conventions.items():
        bound = ", ".join(_bound(key, value) for key, value in treatment["parameters"].items())
        empty = (_empty(treatment[kind]) for kind in ("without_relevant", "nothing_retrieved"))
        fields.setdefault((bound or USUAL_TEXT, *empty), []).append(name)
    return fields


def _conventions(conventions: Mapping[str, JsonObject]) -> Table:
    """The treatment of the metric by each convention; equal treatments are grouped."""
    if any("called" in treatment for treatment in conventions.values()):
        grid = Grid(
            ("convention", "parameters", "its tool's name"), tuple(tools(conventions)), _METRIC_TEXT_COLUMNS
        )
        return Table("conventions", grid, prose=True)
    rows = tuple((*choice, ", ".join(names)) for choice, names in group_by_treatment(conventions).items())
    headers = ("parameters", "nothing relevant", "empty list", "conventions")
    return Table("conventions", Grid(headers, rows, _METRIC_TEXT_COLUMNS), prose=True)


def tools(conventions: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The tools that have a metric on lists, with their parameters and names for it."""
    return [
        (
            name,
            ", ".join(_bound(*pair) for pair in treatment["parameters"].items()) or USUAL_TEXT,
            ", ".join(treatment["called"]),
        )
        for name, treatment in conventions.items()
    ]


def _bound(key: str, value: object) -> str:
    """A parameter that a convention sets; the smallest positive number is shown as "above 0"."""
    is_smallest = isinstance(value, float) and 0 < value < sys.float_info.min
    return f"{key} above 0" if is_smallest else f"{key}={value!r}"


def _empty(value: float | str) -> str:
    """The substituted value, or the treatment as text."""
    return value if isinstance(value, str) else f"{value:g}"
