"""Overrides of single choices of a convention, and differences between two conventions.

``ties=doc_id_asc`` applies to all metrics, ``RR.without_relevant=none`` to one metric,
``RR@.ties=doc_id_asc`` to that metric with a cutoff; ``nDCG.gain=exp`` sets a parameter of a
metric, ``rel=2`` a parameter of all metrics that have it, ``forced.nothing=1`` the value of a kind
of empty.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring.convention import KINDS, Convention, axes, parse_number

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter
    from rankgate.core.value_types import JsonObject
    from rankgate.measurement.metrics.metric_declaration import Metric


Overrides = Mapping[str, Any]


def override_convention(start: Convention, settings: Overrides | Iterable[str] = ()) -> Convention:
    """A convention with some axes or parameters set otherwise, named ``NAME+``.

    Args:
        start: the convention to begin with.
        settings: ``AXIS=VALUE`` words, or axes with their values; a later setting of
            one metric takes precedence over one of all.

    Raises:
        UsageError: an unknown axis, metric or value; the message suggests the nearest; an axis
            that is given twice.

    >>> from rankgate.measurement.scoring.convention import Convention
    >>> how = override_convention(Convention("mine"), ["ties=doc_id_asc", "nDCG.gain=exp"])
    >>> how.name, how.ties, how.parameters["nDCG"]["gain"]
    ('mine+', 'doc_id_asc', 'exp')
    >>> override_convention(how, {"missing": "leave_out"}).missing
    'leave_out'
    """
    pairs = list(settings.items() if isinstance(settings, Mapping) else map(_split, settings))
    names = [key for key, _ in pairs]
    if repeated_names := [key for key in names if names.count(key) > 1]:
        raise UsageError(f"{repeated_names[0]} is given twice; keep one.", code="duplicate-name")
    convention = start
    for key, value in pairs:
        convention = _apply_override(convention, key, value)
    if (convention.hash, convention.unrated) == (start.hash, start.unrated):
        return start
    return replace(convention, name=start.name if start.name.endswith("+") else f"{start.name}+")


def _split(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not (sign and key.strip() and value.strip()):
        raise UsageError(
            f"'{word}' is not AXIS=VALUE; write it as in ties=doc_id_asc.", code="invalid-syntax"
        )
    return key.strip(), value.strip()


def _apply_override(how: Convention, key: str, value: object) -> Convention:
    prefix, dot, right = key.rpartition(".")
    if not dot:
        return _override_all(how, key, value)
    if prefix == "forced":
        return _override_forced(how, right, value)
    return _override_metric(how, prefix, right, value)


def _override_all(how: Convention, key: str, value: object) -> Convention:
    """Set an axis, or a parameter of all its metrics; remove choices of single metrics."""
    if key in axes():
        return replace(_drop_specials(how, "special", key), **{key: _value(key, value)})
    matching_metrics = [metric for metric in _catalogue() if key in metric.parameters]
    if not matching_metrics:
        raise UsageError(_unknown(key, [*axes(), *_parameters()]), code="unknown-axis")
    parsed = {metric.name: _read(metric.parameters[key], value) for metric in matching_metrics}
    if unfit := [name for name, (_, wrong) in parsed.items() if wrong]:
        fits = [name for name, (_, wrong) in parsed.items() if not wrong]
        if not fits:
            raise UsageError(f"{key}={value} {parsed[unfit[0]][1]}", code="invalid-axis-value")
        raise UsageError(
            f"{key}={value} does not fit {', '.join(unfit)}; set it for single metrics, as in "
            f"{fits[0]}.{key}={value}.",
            code="invalid-axis-value",
        )
    plain = next(iter(parsed.values()))[0]
    shared_parameters = {**how.parameters.get("*", {}), key: plain}
    without_specials = _drop_specials(how, "parameters", key)
    return replace(without_specials, parameters={**without_specials.parameters, "*": shared_parameters})


def _override_forced(how: Convention, kind: str, value: object) -> Convention:
    if kind not in KINDS:
        raise UsageError(
            _unknown(f"forced.{kind}", [f"forced.{kind_name}" for kind_name in KINDS]), code="unknown-axis"
        )
    try:
        plain = parse_number(value)
    except ValueError as error:
        raise UsageError(f"forced.{kind}={value} {error}", code="invalid-axis-value") from None
    return replace(_drop_specials(how, "special", "forced"), forced={**how.forced, kind: plain})


def _override_metric(how: Convention, name: str, key: str, value: object) -> Convention:
    """Set an axis or a parameter of one metric."""
    metric, suffix = _metric(name), "@" if name.endswith("@") else ""
    if key in metric.parameters and not suffix:
        plain, wrong = _read(metric.parameters[key], value)
        if wrong:
            raise UsageError(f"{name}.{key}={value} {wrong}", code="invalid-axis-value")
        metric_parameters = {**how.parameters.get(metric.name, {}), key: plain}
        return replace(how, parameters={**how.parameters, metric.name: metric_parameters})
    if key not in axes():
        raise UsageError(
            _unknown(f"{name}.{key}", [f"{name}.{metric_key}" for metric_key in _keys(metric)]),
            code="unknown-axis",
        )
    if not axes()[key].each:
        raise UsageError(
            f"{key} holds for all metrics at once; use {key}={value}.", code="invalid-axis-value"
        )
    plain = _value(key, value)
    _refuse_idle(how, key, plain)
    target = metric.name + suffix
    special = {name: dict(choices) for name, choices in how.special.items()}
    special.setdefault(target, {})[key] = plain
    special.get("" if suffix else f"{metric.name}@", {}).pop(key, None)
    return replace(how, special={name: choices for name, choices in special.items() if choices})


def _refuse_idle(how: Convention, key: str, value: object) -> None:
    """Check that a choice for a single metric can have an effect.

    Queries are missing, or lack relevant documents, for all metrics of a run at once. A single
    metric can only leave them out of its own mean.
    """
    if key in ("missing", "no_relevant") and value == "error":
        raise UsageError(
            f"{key}=error stops the whole run; use {key}=error, for all metrics.", code="invalid-axis-value"
        )
    if key == "missing" and value == "zero" and how.missing == "leave_out":
        raise UsageError(
            "missing=zero cannot apply to one metric if the others leave missing queries out; set "
            "missing=zero for all, and missing=leave_out for each of the others.",
            code="invalid-axis-value",
        )


def _metric(name: str) -> Metric:
    """The metric with a name, without bound parameters."""
    from rankgate.measurement.metrics.list_names import parse_list

    of_lists = parse_list(name.removesuffix("@"))
    if of_lists is not None:
        return replace(of_lists, given=())
    parsed_metric = parse(name.removesuffix("@"))
    return next(metric for metric in _catalogue() if metric.name == parsed_metric.name)


def _value(key: str, value: object) -> Any:  # noqa: ANN401 - as the field has it
    try:
        return axes()[key].parse(value)
    except ValueError as error:
        raise UsageError(f"{key}={value} {error}", code="invalid-axis-value") from None


def _read(parameter: Parameter, value: object) -> tuple[Any, str]:
    """A parameter's value for the kernel, and an error message, which may be empty."""
    try:
        return parameter.parse(value), ""
    except ValueError as error:
        return None, str(error)


def _drop_specials(how: Convention, field: str, key: str) -> Convention:
    """Remove the choices of single metrics for an axis or a parameter."""
    tables = getattr(how, field).items()
    remaining = {name: {k: v for k, v in table.items() if k != key} for name, table in tables}
    changed: dict[str, Any] = {field: {name: table for name, table in remaining.items() if table}}
    return replace(how, **changed)


def _catalogue() -> tuple[Metric, ...]:
    """Every metric; metrics are loaded only if an axis or a parameter is set."""
    from rankgate.measurement.metrics.metric_catalogue import CATALOGUE

    return CATALOGUE


def _parameters() -> list[str]:
    return list(dict.fromkeys(name for metric in _catalogue() for name in metric.parameters))


def _keys(metric: Metric) -> list[str]:
    return [*metric.parameters, *(name for name, axis in axes().items() if axis.each)]


def _unknown(key: str, known_keys: list[str]) -> str:
    near = get_close_matches(key, known_keys, n=1)
    hint = f"did you mean {near[0]}?" if near else "see `rankgate conventions axes`."
    return f"unknown axis '{key}'; {hint}"


_SMALLEST_FLOAT = sys.float_info.min  # a smaller lower bound means any value above 0


@dataclass(frozen=True)
class Choices:
    """All choices of a convention for one metric, without nesting.

    Attributes:
        metric: the metric.
        axes: the value of every axis.
        bound: the parameters of the metric that the convention sets.
    """

    metric: Metric
    axes: Mapping[str, Any]
    bound: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def collect(cls, how: Convention, metric: Metric) -> Choices:
        """Collect the choices of a convention."""
        metric_convention = how.for_metric(metric)
        arguments = dict(metric.given)
        free = {name for name in metric.parameters if name not in arguments}
        bound = {name: value for name, value in metric_convention.defaults(metric).items() if name in free}
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
        """The same choices, some of them replaced by those of another convention."""
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


def differing_choices(first_axes: JsonObject, second_axes: JsonObject) -> dict[str, tuple[str, str]]:
    """The keys on which the axes of two results differ, with both values.

    Args:
        first_axes: ``Convention.axes``, as stored in results.
        second_axes: the axes of the other result.
    """
    first_choices, second_choices = _flat_choices(first_axes), _flat_choices(second_axes)
    keys = [*first_choices, *(key for key in second_choices if key not in first_choices)]
    pairs = {key: (first_choices.get(key, "as usual"), second_choices.get(key, "as usual")) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _flat_choices(axis_values: Mapping[str, Any]) -> dict[str, str]:
    """The values of axes as text, including those of single metrics, ``nDCG.gain``."""
    texts: dict[str, str] = {}
    for key, value in axis_values.items():
        if key in ("parameters", "special"):
            for metric, table in value.items():
                texts |= {f"{metric}.{name}": value_text(inside) for name, inside in table.items()}
        else:
            texts[key] = value_text(value)
    return texts
