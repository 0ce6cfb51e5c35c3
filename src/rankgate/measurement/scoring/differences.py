"""Differences between two conventions for one metric, and paths between them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.axes import axes
from rankgate.measurement.scoring.convention import Convention

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

_SMALLEST_FLOAT = sys.float_info.min  # a lower bound below it means any value above 0


@dataclass(frozen=True)
class Choices:
    """Every choice of a convention for one metric, without nesting.

    Attributes:
        metric: the metric.
        axes: the value of every axis.
        bound: the parameters of the metric that the convention binds.
    """

    metric: Metric
    axes: Mapping[str, Any]
    bound: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, how: Convention, metric: Metric) -> Choices:
        """Collect the choices under a convention."""
        metric_convention = how.for_metric(metric)
        arguments = dict(metric.given)
        free = {name for name in metric.parameters if name not in arguments}
        bound = {
            name: value
            for name, value in metric_convention.defaults(metric).items()
            if name in free
        }
        return cls(metric, {name: getattr(metric_convention, name) for name in axes()}, bound)

    @property
    def flat(self) -> dict[str, Any]:
        """Every choice by its key: ``ties``, ``nDCG.gain``, a parameter with its default."""
        arguments = dict(self.metric.given)
        parameters = {
            f"{self.metric.name}.{name}": self.bound.get(name, declared.default)
            for name, declared in self.metric.parameters.items()
            if name not in arguments
        }
        return {**self.axes, **parameters}

    def differing(self, other: Choices) -> tuple[str, ...]:
        """The keys on which two conventions differ."""
        choices, other_choices = self.flat, other.flat
        return tuple(key for key in choices if not equal_values(choices[key], other_choices[key]))

    def towards(self, other: Choices, keys: Iterable[str]) -> Choices:
        """These choices with some replaced by the other's."""
        axis_values, bound = dict(self.axes), dict(self.bound)
        for key in keys:
            name = key.removeprefix(f"{self.metric.name}.")
            if key in axis_values:
                axis_values[key] = other.axes[key]
            elif name in other.bound:
                bound[name] = other.bound[name]
            else:
                bound.pop(name, None)
        return replace(self, axes=axis_values, bound=bound)

    def convention(self, name: str) -> Convention:
        """Make a convention with these choices for this metric."""
        parameters = {self.metric.name: dict(self.bound)} if self.bound else {}
        return Convention(name, parameters=parameters, **self.axes)


def equal_values(left: object, right: object) -> bool:
    """True if two values of an axis are equal; NaN equals NaN."""
    return value_text(left) == value_text(right)


def value_text(value: object) -> str:
    """Write a value of an axis as text.

    >>> value_text(None), value_text("exp"), value_text(float("nan")), value_text({"nothing": 1.0})
    ('none', 'exp', 'nan', 'nothing=1')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "above 0" if 0 < value < _SMALLEST_FLOAT else f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={value_text(value[key])}" for key in sorted(value)) or "none"
    return value if isinstance(value, str) else json.dumps(value)


def differing_choices(
    first_axes: Mapping[str, Any], second_axes: Mapping[str, Any]
) -> dict[str, tuple[str, str]]:
    """The keys on which the axes of two results differ, with the value of each.

    Args:
        first_axes: ``Convention.axes``, as results carry them.
        second_axes: those of the other result.
    """
    first_choices, second_choices = _flat_choices(first_axes), _flat_choices(second_axes)
    keys = [*first_choices, *(key for key in second_choices if key not in first_choices)]
    pairs = {
        key: (first_choices.get(key, "as usual"), second_choices.get(key, "as usual"))
        for key in keys
    }
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _flat_choices(axis_values: Mapping[str, Any]) -> dict[str, str]:
    """The values of axes as text, with those of single metrics, ``nDCG.gain``."""
    texts: dict[str, str] = {}
    for key, value in axis_values.items():
        if key in ("parameters", "special"):
            for metric, table in value.items():
                texts |= {f"{metric}.{name}": value_text(inside) for name, inside in table.items()}
        else:
            texts[key] = value_text(value)
    return texts
