"""Details of one metric, and the list of every metric that can be named.

The details are formula, parameters, source, strengths and blind spots.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.document_model import Grid, PlainRows, Table
from rankgate.core.present.layout import FactList
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS, NEEDS
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE, METRICS_BY_TREC_NAME
from rankgate.measurement.metrics.metric_name_parser import of_plugins, parse
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.sequences.sequence import SequenceMetric
from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS
from rankgate.measurement.scoring import CONVENTIONS

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.declare import Parameter
    from rankgate.core.value_types import JsonObject
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.convention import Convention, Empty


_AGGREGATES = {"mean": "mean", "items": "one number for all lists", "ratio": "ratio of sums"}


@dataclass(frozen=True)
class ParameterDetails:
    """One parameter of a metric.

    Attributes:
        name: as it is written in parentheses.
        default: its default value, None if required or none.
        required: True if the metric needs it.
        kind: ``choice``, ``gain`` (a choice or a map), ``int``, ``float``, ``bool`` or ``any``.
        choices: the words it may be.
        low: the least number it may be, None where there is no bound.
        high: the greatest.
    """

    name: str
    default: Any
    required: bool
    kind: str
    choices: tuple[str, ...]
    low: float | None
    high: float | None

    @classmethod
    def from_parameter(cls, name: str, parameter: Parameter) -> ParameterDetails:
        """The facts of a declared parameter."""
        return cls(
            name=name,
            default=parameter.default,
            required=parameter.required,
            kind=parameter.kind,
            choices=parameter.choices,
            low=_bound(parameter.range.low),
            high=_bound(parameter.range.high),
        )

    @property
    def permitted(self) -> str:
        """The permitted values of a parameter."""
        choices = " or ".join(self.choices)
        if self.kind == "gain":
            return f"{choices}, or a map such as {{1: 1, 2: 3}}"
        if self.choices:
            return choices
        if self.kind == "bool":
            return "True or False"
        number = "a whole number" if self.kind == "int" else "a number"
        if self.low is None:
            return number
        if self.high is None:
            return f"{number} of at least {self.low:g}"
        return f"{number} from {self.low:g} to {self.high:g}"


def _text_table(heading: str, rows: Sequence[tuple[str, ...]], *names: str) -> Table:
    """A table of texts, made without Polars, whose import takes longer than the command."""
    return Table(heading, Grid(names, tuple(rows), frozenset(range(len(names)))), prose=True)


def _parameters(metric: MetricDetails) -> Iterator[Table]:
    """The parameters of a metric."""
    rows = [
        (
            parameter.name,
            "required" if parameter.required else f"{parameter.default}",
            parameter.permitted + (f", written @{parameter.name}" if parameter.name == metric.at else ""),
        )
        for parameter in metric.parameters
    ]
    yield _text_table("parameters and their defaults", rows, "parameter", "default", "may be")


def _treatments(metric: MetricDetails) -> Iterator[Table]:
    """The treatment of the metric by each convention; equal treatments are grouped."""
    if any("called" in treatment for treatment in metric.conventions.values()):
        rows = tools(metric.conventions)
        yield _text_table("conventions", rows, "convention", "parameters", "its tool's name")
    else:
        grouped = group_by_treatment(metric.conventions).items()
        texts = [(*treatment, ", ".join(names)) for treatment, names in grouped]
        header = ("parameters", "nothing relevant", "empty list", "conventions")
        yield _text_table("conventions", texts, *header)


def _entries(result: Metrics) -> Iterator[Table]:
    """The metrics with their titles, parameters and other names."""
    rows = [(metric.written_name, metric.entry) for metric in result.metrics]
    yield _text_table("", rows, "metric", "what it measures")


_FACTS = FactList(
    (
        ("formula", "{formula}"),
        ("values", "{value_text}"),
        ("needs", "{need_text}"),
        ("sees", "{sees}"),
        ("blind to", "{blind_to}"),
        ("also called", "{aliases}"),
        ("trec_eval", "{trec}"),
        ("source", "{source}"),
    )
)


@dataclass(frozen=True)
class MetricDetails(Result):
    """The description of a metric.

    Attributes:
        name: the canonical name.
        title: a description of the measured quality, in one sentence.
        formula: its definition.
        parameters: in the order of writing.
        at: the parameter that ``@`` binds, None where nothing is after it.
        low: the least value, None where there is no bound.
        high: the greatest value.
        higher_is_better: the direction of improvement.
        aggregate: the method that makes one number of queries: ``mean``, ``sum``, ``geometric`` or
            ``weighted``.
        aliases: other names.
        trec: the names that trec_eval gives it.
        source: the paper or tool that defines it.
        sees: the data that can change its value.
        blind_to: the data that cannot change its value.
        conventions: the parameters that each named convention binds and its kinds of empty; for
            metrics on lists, the conventions that have them, with their bindings and names.
        needs: the data that it needs besides judgments and runs, in words.
    """

    kind = "metric"
    headline_text = "{written_name}"
    lead = ("{title}",)
    layout = (_FACTS, _parameters, _treatments)

    name: str
    title: str
    formula: str
    parameters: tuple[ParameterDetails, ...]
    at: str | None
    low: float | None
    high: float | None
    higher_is_better: bool
    aggregate: str
    aliases: tuple[str, ...]
    trec: tuple[str, ...]
    source: str
    sees: str
    blind_to: str
    conventions: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...] = ()

    @property
    def written_name(self) -> str:
        """The name as users write it, with the part after @."""
        needed = {parameter.name: parameter.required for parameter in self.parameters}
        if self.at is None:
            return self.name
        return self.name + (f"@{self.at}" if needed[self.at] else f"[@{self.at}]")

    @property
    def value_text(self) -> str:
        """The bounds, the direction of improvement, and the aggregation over queries."""
        low = "no lower bound" if self.low is None else f"from {self.low:g}"
        high = "no upper bound" if self.high is None else f"to {self.high:g}"
        better = "higher is better" if self.higher_is_better else "lower is better"
        joint = {"geometric": "geometric mean", "weighted": "weighted mean"}.get(
            self.aggregate, self.aggregate
        )
        scope = "" if "lists" in joint else " over queries"
        comma = " " if self.low is not None and self.high is not None else ", "
        return f"{low}{comma}{high}; {better}; {joint}{scope}"

    @property
    def need_text(self) -> str:
        """The data that it needs besides judgments and runs."""
        return "; ".join(self.needs)

    @property
    def entry(self) -> str:
        """The title, the parameters and other names."""
        names = dict.fromkeys((*self.aliases, *self.trec))
        inside = ", ".join(parameter.name for parameter in self.parameters if parameter.name != self.at)
        notes = [f"parameters {inside}"] if inside else []
        other_names = ", ".join(name for name in names if name != self.name)
        notes += [f"also {other_names}"] if other_names else []
        return f"{self.title} ({'; '.join(notes)})" if notes else self.title

    def csv_rows(self) -> PlainRows:
        """The title and the facts."""
        (facts,) = _FACTS.blocks(self)
        rows = [("title", self.title), *((entry.label, *entry.lines) for entry in facts.entries)]
        return PlainRows(("what", "value"), rows)

    @classmethod
    def from_metric(cls, metric: Metric) -> MetricDetails:
        """Collect the details of a declared metric, without bound parameters."""
        list_metric = split_list_metrics({metric.name: metric})[1].get(metric.name)
        return cls(
            name=metric.name,
            title=metric.title,
            formula=metric.formula,
            parameters=tuple(ParameterDetails.from_parameter(n, p) for n, p in metric.parameters.items()),
            at=metric.at,
            low=_bound(metric.low),
            high=metric.high,
            higher_is_better=metric.higher_is_better,
            aggregate=metric.aggregate if list_metric is None else _AGGREGATES[list_metric.merge],
            aliases=metric.aliases,
            trec=metric.trec,
            source=metric.source,
            sees=metric.sees,
            blind_to=metric.blind_to,
            conventions={
                name: _bindings(used_convention, metric) for name, used_convention in CONVENTIONS.items()
            }
            if list_metric is None
            else _variants(list_metric),
            needs=() if list_metric is None else tuple(NEEDS[need] for need in list_metric.needs),
        )


USUAL_TEXT = "as usual"
"""The words for a convention that binds no parameter of a metric."""


def group_by_treatment(conventions: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """Group conventions by their treatment of a metric.

    The treatment is the set parameters, and the values without relevant or retrieved documents.
    """
    fields: dict[tuple[str, ...], list[str]] = {}
    for name, treatment in conventions.items():
        bound = ", ".join(_bound_text(key, value) for key, value in treatment["parameters"].items())
        empty = (_empty(treatment[kind]) for kind in ("without_relevant", "nothing_retrieved"))
        fields.setdefault((bound or USUAL_TEXT, *empty), []).append(name)
    return fields


def tools(conventions: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The tools that have a metric on lists, with their parameters and names for it."""
    return [
        (
            name,
            ", ".join(_bound_text(*pair) for pair in treatment["parameters"].items()) or USUAL_TEXT,
            ", ".join(treatment["called"]),
        )
        for name, treatment in conventions.items()
    ]


def _bound_text(key: str, value: object) -> str:
    """A parameter that a convention sets; the smallest positive number is shown as "above 0"."""
    is_smallest = isinstance(value, float) and 0 < value < sys.float_info.min
    return f"{key} above 0" if is_smallest else f"{key}={value!r}"


def _empty(value: float | str) -> str:
    """The substituted value, or the treatment as text."""
    return value if isinstance(value, str) else f"{value:g}"


def metric_details(name: str) -> MetricDetails:
    """The metric for a name, an alias, or a name of trec_eval; parameters are ignored.

    Args:
        name: the name.

    Raises:
        UsageError: the name is unknown; the message has the nearest names.
    """
    known_too = (*FACET_METRICS, *LIST_METRICS, *SEQUENCE_METRICS)
    return MetricDetails.from_metric(METRICS_BY_TREC_NAME.get(name.strip()) or parse(name, known_too))


def _bindings(how: Convention, metric: Metric) -> dict[str, Any]:
    return {
        "parameters": {
            name: value
            for name, value in how.for_metric(metric).defaults(metric).items()
            if name in metric.parameters
        },
        "without_relevant": _empty_value(how, metric, "without_relevant"),
        "nothing_retrieved": _empty_value(how, metric, "nothing_retrieved"),
    }


def _variants(metric: Metric) -> dict[str, Mapping[str, Any]]:
    """The conventions of tools that have a metric on lists, with parameters and names."""
    variants: dict[str, JsonObject] = {}
    tools_with_metric = (
        (name, used_convention)
        for name, used_convention in CONVENTIONS.items()
        if used_convention.has(metric.name)
    )
    for name, used_convention in tools_with_metric:
        bound = dict(used_convention.parameters.get(metric.name, {}))
        tool_names = [
            f"{tool_name}, here {metric_name}" if "(" in metric_name else tool_name
            for tool_name, metric_name in used_convention.spellings.items()
            if metric_name.partition("(")[0].partition("@")[0] == metric.name
        ]
        variants[name] = {"parameters": bound, "called": tool_names}
    return variants


def _empty_value(how: Convention, metric: Metric, kind: Empty) -> float | str:
    """The value for a query where the metric is undefined: a number, or the treatment as text."""
    undefined = isinstance(metric, SequenceMetric) and metric.undefined
    value = None if undefined else how.empty(metric, kind)
    if value is None:
        return "left out"
    return "undefined" if math.isnan(value) else value


def _bound(number: float) -> float | None:
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class Metrics(Result):
    """Every metric that can be named.

    Attributes:
        metrics: the details of each.
    """

    kind = "metrics"
    headline_text = "{metrics:n metric}"
    main_table = "table"
    layout = (_entries,)
    csv_table = "metrics"
    csv_columns: ClassVar = {
        "name": "name",
        "title": "title",
        "formula": "formula",
        "higher_is_better": "higher_is_better",
        "source": "source",
    }

    metrics: tuple[MetricDetails, ...]

    def __len__(self) -> int:
        """The number of metrics."""
        return len(self.metrics)

    @property
    def table(self) -> pl.DataFrame:
        """The rows of `csv_rows` as a frame."""
        import polars as pl

        rows = self.csv_rows()
        assert rows is not None
        return pl.DataFrame(rows.rows, rows.head, orient="row")


def metrics() -> Metrics:
    """Every built-in metric, ordered by its data, and those of plug-ins."""
    plugin_metrics = of_plugins().by_name.values()
    all_metrics = (
        *CATALOGUE,
        *FACET_METRICS,
        *PREFERENCE_METRICS,
        *SAMPLE_METRICS,
        *LIST_METRICS,
        *SEQUENCE_METRICS,
        *plugin_metrics,
    )
    return Metrics(tuple(map(MetricDetails.from_metric, all_metrics)))
