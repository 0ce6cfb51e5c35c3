"""Describe the axes of conventions: meaning, choices, and what each tool chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.measurement.evaluation.convention import EVERY, default_of
from rankgate.measurement.metrics.catalogue import by_name
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.measurement.scoring.axes import axes as declared_axes
from rankgate.measurement.scoring.differences import written

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric


@dataclass(frozen=True)
class AxisDetails:
    """One axis, and what each convention chooses on it.

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
        """How many there are."""
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
    hows = list(CONVENTIONS.values())
    plain = [
        AxisDetails(
            name=axis.name,
            about=axis.help,
            takes=axis.takes,
            default=written(axis.default),
            each=axis.each,
            chosen=_sorted((how.name, written(getattr(how, axis.name))) for how in hows),
        )
        for axis in declared_axes().values()
    ]
    return Axes((*plain, *_parameter_axes(hows)))


def _parameter_axes(hows: list[Convention]) -> list[AxisDetails]:
    """Parameters that some convention binds: for all metrics at once, or for one."""
    every = {key for how in hows for key in how.parameters.get(EVERY, {})}
    found = []
    for key in sorted(every):
        metric = next(each for each in by_name.values() if key in each.parameters)
        values = [(how.name, _bound(how, EVERY, metric, key)) for how in hows]
        about = f"a parameter of every metric that has it, such as {metric.name}"
        found.append(_parameter_axis(key, about, metric, values))
    for metric in by_name.values():
        about = f"a parameter of {metric.name}; `rankgate metrics {metric.name}` has the formula"
        for key in metric.parameters:
            if any(key in how.parameters.get(metric.name, {}) for how in hows):
                values = [(how.name, _bound(how, metric.name, metric, key)) for how in hows]
                found.append(_parameter_axis(f"{metric.name}.{key}", about, metric, values))
    return found


def _parameter_axis(
    name: str, about: str, metric: Metric, values: list[tuple[str, str]]
) -> AxisDetails:
    declared = metric.parameters[name.rpartition(".")[2]]
    words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    return AxisDetails(
        name=name,
        about=about,
        takes=" or ".join(declared.choices) or words.get(declared.kind, "a value"),
        default="required" if declared.required else written(declared.default),
        each=True,
        chosen=_sorted(values),
    )


def _bound(how: Convention, name: str, metric: Metric, key: str) -> str:
    """What a convention binds for one metric, else for every metric, else the default."""
    every = how.parameters.get(EVERY, {})
    bound = {**every, **how.parameters.get(name, {})}
    return written(bound.get(key, default_of(metric, key)))


def _sorted(values: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Names by value, the most usual value first."""
    found: dict[str, list[str]] = {}
    for name, value in values:
        found.setdefault(value, []).append(name)
    return {value: tuple(found[value]) for value in sorted(found, key=lambda v: -len(found[v]))}
