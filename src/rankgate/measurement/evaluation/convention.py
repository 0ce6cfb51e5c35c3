"""Details of one convention: its choice on every axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.measurement.metrics.catalogue import by_name
from rankgate.measurement.scoring import Convention, convention
from rankgate.measurement.scoring.axes import axes
from rankgate.measurement.scoring.differences import value_text

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

EVERY_METRIC = "*"
"""Stands for every metric among the parameters that a convention binds."""


@dataclass(frozen=True)
class AxisChoice:
    """The choice of a convention on one axis.

    Attributes:
        axis: its name: ``ties``; ``nDCG.gain`` of a metric's parameter; ``RR@.ties`` where a
            single metric is treated otherwise.
        value: the choice, as words.
        usual: whether it is what a convention chooses that says nothing.
        about: what the axis decides.
    """

    axis: str
    value: str
    usual: bool
    about: str


@dataclass(frozen=True)
class ConventionDetails(Result):
    """One convention in full.

    Attributes:
        name: the tool, or the user's own name.
        title: what it reproduces.
        source: where the choices can be read or were measured.
        versions: versions of the tool that the choices were checked against; empty where there is
            no tool.
        defects: what the tool does besides that is not reproduced.
        hash: of the choices.
        choices: every axis.
        parameters: the parameters of metrics that it binds.
        special: what it chooses otherwise for single metrics.
        spellings: the tool's own names of metrics, and what they are here.
    """

    kind: ClassVar[str] = "convention"
    document_from: ClassVar[str] = (
        "rankgate.measurement.evaluation.documents.conventions:convention_document"
    )

    name: str
    title: str
    source: str
    versions: str
    defects: tuple[str, ...]
    hash: str
    choices: tuple[AxisChoice, ...]
    parameters: tuple[AxisChoice, ...]
    special: tuple[AxisChoice, ...]
    spellings: Mapping[str, str]

    @classmethod
    def of(cls, how: Convention) -> ConventionDetails:
        """The facts of a convention."""
        return cls(
            name=how.name,
            title=how.title,
            source=how.source,
            versions=how.versions,
            defects=tuple(how.defects),
            hash=how.hash,
            choices=tuple(_choices(how)),
            parameters=tuple(_parameters(how)),
            special=tuple(_special(how)),
            spellings=dict(how.spellings),
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Behaviour of the tool that is not reproduced."""
        return tuple(Notice("not-reproduced", text, self.name) for text in self.defects)

    def _table(self) -> pl.DataFrame:
        """Every choice: ``axis``, ``value``, ``usual``, ``about``."""
        all_choices = (*self.choices, *self.parameters, *self.special)
        return pl.DataFrame([vars(choice) for choice in all_choices])


def convention_details(name: str | Convention) -> ConventionDetails:
    """One convention, by its name or from the TOML file of that name.

    Raises:
        UsageError: an unknown name; the nearest is in the message.
        InputError: a file that does not say a convention.
    """
    return ConventionDetails.of(convention(name))


def _choices(how: Convention) -> list[AxisChoice]:
    return [
        AxisChoice(
            axis.name,
            value_text(getattr(how, axis.name)),
            value_text(getattr(how, axis.name)) == value_text(axis.default),
            axis.help,
        )
        for axis in axes().values()
    ]


def _parameters(how: Convention) -> list[AxisChoice]:
    choices = []
    for name, bound in how.parameters.items():
        metric = by_name.get(name)
        for key, value in bound.items():
            usual = metric is not None and value_text(default_value(metric, key)) == value_text(
                value
            )
            label = key if name == EVERY_METRIC else f"{name}.{key}"
            description = "every metric that has it" if name == EVERY_METRIC else ""
            choices.append(AxisChoice(label, value_text(value), usual, description))
    return choices


def _special(how: Convention) -> list[AxisChoice]:
    choices = []
    for name, axis_values in how.special.items():
        for key, value in axis_values.items():
            axis = axes().get(key)
            description = axis.help if axis else ""
            if isinstance(value, dict) and not axis:
                value = {k: v for table in value.values() for k, v in table.items()}  # noqa: PLW2901
            choices.append(
                AxisChoice(f"{name}.{key}", value_text(value), usual=False, about=description)
            )
    return choices


def default_value(metric: Metric, key: str) -> object:
    """The default of a metric's parameter."""
    declared = metric.parameters.get(key)
    return declared.default if declared else None
