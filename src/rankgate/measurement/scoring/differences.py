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

_LEAST = sys.float_info.min  # below it is the bound of what asks for anything above 0


@dataclass(frozen=True)
class Choices:
    """Everything that a convention chooses for one metric, laid flat.

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
        """What holds under a convention."""
        own = how.for_metric(metric)
        given = dict(metric.given)
        free = {name for name in metric.parameters if name not in given}
        bound = {name: value for name, value in own.defaults(metric).items() if name in free}
        return cls(metric, {name: getattr(own, name) for name in axes()}, bound)

    @property
    def flat(self) -> dict[str, Any]:
        """Every choice by its key: ``ties``, ``nDCG.gain``, a parameter with its default."""
        given = dict(self.metric.given)
        parameters = {
            f"{self.metric.name}.{name}": self.bound.get(name, declared.default)
            for name, declared in self.metric.parameters.items()
            if name not in given
        }
        return {**self.axes, **parameters}

    def differing(self, other: Choices) -> tuple[str, ...]:
        """The keys on which two differ."""
        mine, theirs = self.flat, other.flat
        return tuple(key for key in mine if not same(mine[key], theirs[key]))

    def towards(self, other: Choices, keys: Iterable[str]) -> Choices:
        """These choices with some of the other's."""
        chosen, bound = dict(self.axes), dict(self.bound)
        for key in keys:
            name = key.removeprefix(f"{self.metric.name}.")
            if key in chosen:
                chosen[key] = other.axes[key]
            elif name in other.bound:
                bound[name] = other.bound[name]
            else:
                bound.pop(name, None)
        return replace(self, axes=chosen, bound=bound)

    def convention(self, name: str) -> Convention:
        """A convention that chooses so for this metric."""
        parameters = {self.metric.name: dict(self.bound)} if self.bound else {}
        return Convention(name, parameters=parameters, **self.axes)


def same(one: object, other: object) -> bool:
    """Whether two values of an axis are one; NaN is itself."""
    return written(one) == written(other)


def written(value: object) -> str:
    """A value of an axis as words.

    >>> written(None), written("exp"), written(float("nan")), written({"nothing": 1.0})
    ('none', 'exp', 'nan', 'nothing=1')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "above 0" if 0 < value < _LEAST else f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={written(value[key])}" for key in sorted(value)) or "none"
    return value if isinstance(value, str) else json.dumps(value)


def all_differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The keys on which the axes of two results differ, with the value of each.

    Args:
        one: ``Convention.axes``, as results carry them.
        other: those of the other.
    """
    mine, theirs = _leaves(one), _leaves(other)
    keys = [*mine, *(key for key in theirs if key not in mine)]
    pairs = {key: (mine.get(key, "as usual"), theirs.get(key, "as usual")) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _leaves(chosen: Mapping[str, Any]) -> dict[str, str]:
    """Axes with those of single metrics, ``nDCG.gain``, each as words."""
    found: dict[str, str] = {}
    for key, value in chosen.items():
        if key in ("parameters", "special"):
            for metric, table in value.items():
                found |= {f"{metric}.{name}": written(inside) for name, inside in table.items()}
        else:
            found[key] = written(value)
    return found
