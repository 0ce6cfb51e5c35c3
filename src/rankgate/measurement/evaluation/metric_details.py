"""Details of one metric, and the list of every metric that can be named.

The details are formula, parameters, source, strengths and blind spots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
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

    kind: ClassVar[str] = "metric"
    document_from: ClassVar[str] = "rankgate.measurement.evaluation.metric_documents:metric_document"

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


COLUMNS = ("name", "title", "formula", "higher_is_better", "source")


@dataclass(frozen=True)
class Metrics(Result):
    """Every metric that can be named.

    Attributes:
        metrics: the details of each.
    """

    kind: ClassVar[str] = "metrics"
    document_from: ClassVar[str] = "rankgate.measurement.evaluation.metric_documents:metrics_document"

    metrics: tuple[MetricDetails, ...]

    def __len__(self) -> int:
        """The number of metrics."""
        return len(self.metrics)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The details for tables, by `COLUMNS`."""
        return [tuple(getattr(details, name) for name in COLUMNS) for details in self.metrics]

    def _table(self) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(self.rows, COLUMNS, orient="row")


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
