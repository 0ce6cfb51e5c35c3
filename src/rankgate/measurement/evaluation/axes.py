"""Describe the axes of conventions: meaning, permitted values, and each tool's choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.measurement.evaluation.convention import EVERY_METRIC, default_value
from rankgate.measurement.metrics.catalogue import by_name
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.measurement.scoring.axes import axes as declared_axes
from rankgate.measurement.scoring.differences import value_text

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric


@dataclass(frozen=True)
class AxisDetails:
    """One axis, with the choice of each convention.

    Attributes:
        name: as ``--override`` takes it.
        about: what it decides.
        takes: what it may be.
        default: what it is where a convention says nothing.
        each: whether it can be set for single metrics.
        chosen: the names of the conventions by choice.
    """

    name: str
    about: str
    takes: str
    default: str
    each: bool
    chosen: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Axes(Result):
    """Every axis, then every parameter of a metric on which the conventions differ.

    Attributes:
        axes: the details of each.
    """

    kind: ClassVar[str] = "axes"
    document_from: ClassVar[str] = "rankgate.measurement.evaluation.documents.conventions:axes"

    axes: tuple[AxisDetails, ...]

    def __len__(self) -> int:
        """The number of axes."""
        return len(self.axes)

    def _table(self) -> pl.DataFrame:
        """A row for each choice: ``axis``, ``choice``, ``conventions``."""
        rows = [
            (axis.name, choice, list(names))
            for axis in self.axes
            for choice, names in axis.chosen.items()
        ]
        return pl.DataFrame(rows, ["axis", "choice", "conventions"], orient="row")


def axes() -> Axes:
    """Every axis, then every parameter of a metric on which the conventions differ."""
    named_conventions = list(CONVENTIONS.values())
    plain = [
        AxisDetails(
            name=axis.name,
            about=axis.help,
            takes=axis.takes,
            default=value_text(axis.default),
            each=axis.each,
            chosen=_group_by_value(
                (convention.name, value_text(getattr(convention, axis.name)))
                for convention in named_conventions
            ),
        )
        for axis in declared_axes().values()
    ]
    return Axes((*plain, *_parameter_axes(named_conventions)))


def _parameter_axes(conventions: list[Convention]) -> list[AxisDetails]:
    """Parameters that some convention binds: for all metrics at once, or for one."""
    shared_keys = {
        key
        for used_convention in conventions
        for key in used_convention.parameters.get(EVERY_METRIC, {})
    }
    details = []
    for key in sorted(shared_keys):
        metric = next(candidate for candidate in by_name.values() if key in candidate.parameters)
        values = [
            (used_convention.name, _bound_value(used_convention, EVERY_METRIC, metric, key))
            for used_convention in conventions
        ]
        description = f"a parameter of every metric that has it, such as {metric.name}"
        details.append(_parameter_axis(key, description, metric, values))
    for metric in by_name.values():
        description = (
            f"a parameter of {metric.name}; `rankgate metrics {metric.name}` has the formula"
        )
        for key in metric.parameters:
            if any(
                key in used_convention.parameters.get(metric.name, {})
                for used_convention in conventions
            ):
                values = [
                    (used_convention.name, _bound_value(used_convention, metric.name, metric, key))
                    for used_convention in conventions
                ]
                details.append(_parameter_axis(f"{metric.name}.{key}", description, metric, values))
    return details


def _parameter_axis(
    name: str, description: str, metric: Metric, values: list[tuple[str, str]]
) -> AxisDetails:
    declared = metric.parameters[name.rpartition(".")[2]]
    kind_names = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    return AxisDetails(
        name=name,
        about=description,
        takes=" or ".join(declared.choices) or kind_names.get(declared.kind, "a value"),
        default="required" if declared.required else value_text(declared.default),
        each=True,
        chosen=_group_by_value(values),
    )


def _bound_value(how: Convention, name: str, metric: Metric, key: str) -> str:
    """The value that a convention binds for one metric, else for every metric, else the default."""
    shared_parameters = how.parameters.get(EVERY_METRIC, {})
    bound = {**shared_parameters, **how.parameters.get(name, {})}
    return value_text(bound.get(key, default_value(metric, key)))


def _group_by_value(values: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Group names by value, the most usual value first."""
    names_by_value: dict[str, list[str]] = {}
    for name, value in values:
        names_by_value.setdefault(value, []).append(name)
    return {
        value: tuple(names_by_value[value])
        for value in sorted(names_by_value, key=lambda v: -len(names_by_value[v]))
    }
