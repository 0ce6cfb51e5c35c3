"""Other choices than a named convention makes, said one by one.

``ties=doc_id_asc`` holds for all metrics, ``RR.without_relevant=none`` for one,
``RR@.ties=doc_id_asc`` for it with a cutoff; ``nDCG.gain=exp`` sets a parameter of a metric,
``rel=2`` a parameter of all that have it, ``forced.nothing=1`` the value of a kind of empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.scoring.axes import KINDS, axes, number

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.convention import Convention

Overrides = Mapping[str, Any]


def overridden(start: Convention, settings: Overrides | Iterable[str] = ()) -> Convention:
    """A convention with some axes or parameters set otherwise, named ``NAME+``.

    Args:
        start: the convention to begin with.
        settings: ``AXIS=VALUE`` words, or axes with their values; what is said of one metric
            goes before what is said of all where it comes later.

    Raises:
        UsageError: an unknown axis, metric or value; the message suggests the nearest; an axis
            that is given twice.

    >>> from rankgate.measurement.scoring.convention import Convention
    >>> how = overridden(Convention("mine"), ["ties=doc_id_asc", "nDCG.gain=exp"])
    >>> how.name, how.ties, how.parameters["nDCG"]["gain"]
    ('mine+', 'doc_id_asc', 'exp')
    >>> overridden(how, {"missing": "leave_out"}).missing
    'leave_out'
    """
    pairs = list(settings.items() if isinstance(settings, Mapping) else map(_split, settings))
    names = [key for key, _ in pairs]
    if twice := [key for key in names if names.count(key) > 1]:
        raise UsageError(f"{twice[0]} is given twice; keep one.", code="duplicate-name")
    found = start
    for key, value in pairs:
        found = _set(found, key, value)
    if found.hash == start.hash:
        return start
    return replace(found, name=start.name if start.name.endswith("+") else f"{start.name}+")


def _split(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not (sign and key.strip() and value.strip()):
        raise UsageError(
            f"'{word}' is not AXIS=VALUE; write it as in ties=doc_id_asc.", code="invalid-syntax"
        )
    return key.strip(), value.strip()


def _set(how: Convention, key: str, value: object) -> Convention:
    left, dot, right = key.rpartition(".")
    if not dot:
        return _for_all(how, key, value)
    if left == "forced":
        return _forced(how, right, value)
    return _for_one(how, left, right, value)


def _for_all(how: Convention, key: str, value: object) -> Convention:
    """An axis, or a parameter of every metric that has it; what single metrics had is gone."""
    if key in axes():
        return replace(_without(how, "special", key), **{key: _value(key, value)})
    having = [metric for metric in _catalogue() if key in metric.parameters]
    if not having:
        raise UsageError(_unknown(key, [*axes(), *_parameters()]), code="unknown-axis")
    read = {metric.name: _read(metric.parameters[key], value) for metric in having}
    if unfit := [name for name, (_, wrong) in read.items() if wrong]:
        fits = [name for name, (_, wrong) in read.items() if not wrong]
        if not fits:
            raise UsageError(f"{key}={value} {read[unfit[0]][1]}", code="invalid-axis-value")
        raise UsageError(
            f"{key}={value} does not fit {', '.join(unfit)}; say it for single metrics, "
            f"as in {fits[0]}.{key}={value}.",
            code="invalid-axis-value",
        )
    plain = next(iter(read.values()))[0]
    every = {**how.parameters.get("*", {}), key: plain}
    cleared = _without(how, "parameters", key)
    return replace(cleared, parameters={**cleared.parameters, "*": every})


def _forced(how: Convention, kind: str, value: object) -> Convention:
    if kind not in KINDS:
        raise UsageError(
            _unknown(f"forced.{kind}", [f"forced.{each}" for each in KINDS]), code="unknown-axis"
        )
    try:
        plain = number(value)
    except ValueError as error:
        raise UsageError(f"forced.{kind}={value} {error}", code="invalid-axis-value") from None
    return replace(_without(how, "special", "forced"), forced={**how.forced, kind: plain})


def _for_one(how: Convention, name: str, key: str, value: object) -> Convention:
    """An axis or a parameter of one metric."""
    metric, cut = _metric(name), "@" if name.endswith("@") else ""
    if key in metric.parameters and not cut:
        plain, wrong = _read(metric.parameters[key], value)
        if wrong:
            raise UsageError(f"{name}.{key}={value} {wrong}", code="invalid-axis-value")
        own = {**how.parameters.get(metric.name, {}), key: plain}
        return replace(how, parameters={**how.parameters, metric.name: own})
    if key not in axes():
        raise UsageError(
            _unknown(f"{name}.{key}", [f"{name}.{each}" for each in _keys(metric)]),
            code="unknown-axis",
        )
    if not axes()[key].each:
        raise UsageError(
            f"{key} holds for all metrics at once; use {key}={value}.", code="invalid-axis-value"
        )
    plain = _value(key, value)
    _refuse_idle(how, key, plain)
    place = metric.name + cut
    special = {name: dict(chosen) for name, chosen in how.special.items()}
    special.setdefault(place, {})[key] = plain
    special.get("" if cut else f"{metric.name}@", {}).pop(key, None)
    return replace(how, special={name: chosen for name, chosen in special.items() if chosen})


def _refuse_idle(how: Convention, key: str, value: object) -> None:
    """Check that a choice for one metric can have an effect there.

    Queries are missing, or lack relevant documents, for all metrics of a run at once: one metric
    can leave them out of its own mean, and no more.
    """
    if key in ("missing", "no_relevant") and value == "error":
        raise UsageError(
            f"{key}=error stops the whole run; use {key}=error, for all metrics.",
            code="invalid-axis-value",
        )
    if key == "missing" and value == "zero" and how.missing == "leave_out":
        raise UsageError(
            "missing=zero cannot hold for one metric where the others leave missing queries out; "
            "say missing=zero for all, and missing=leave_out for the others, one by one.",
            code="invalid-axis-value",
        )


def _metric(name: str) -> Metric:
    """The metric of a name, without what is bound to it."""
    from rankgate.measurement.metrics.list_names import parse_list

    of_lists = parse_list(name.removesuffix("@"))
    if of_lists is not None:
        return replace(of_lists, given=())
    found = parse(name.removesuffix("@"))
    return next(metric for metric in _catalogue() if metric.name == found.name)


def _value(key: str, value: object) -> Any:  # noqa: ANN401 - as the field has it
    try:
        return axes()[key].parse(value)
    except ValueError as error:
        raise UsageError(f"{key}={value} {error}", code="invalid-axis-value") from None


def _read(parameter: Parameter, value: object) -> tuple[Any, str]:
    """A parameter's value as the kernel takes it, and what is wrong with it, if anything."""
    try:
        return parameter.parse(value), ""
    except ValueError as error:
        return None, str(error)


def _without(how: Convention, field: str, key: str) -> Convention:
    """What single metrics have of an axis or a parameter, taken back."""
    tables = getattr(how, field).items()
    left = {name: {k: v for k, v in table.items() if k != key} for name, table in tables}
    changed: dict[str, Any] = {field: {name: table for name, table in left.items() if table}}
    return replace(how, **changed)


def _catalogue() -> tuple[Metric, ...]:
    """Every metric, loaded only where an axis or a parameter is set."""
    from rankgate.measurement.metrics.catalogue import CATALOGUE

    return CATALOGUE


def _parameters() -> list[str]:
    return list(dict.fromkeys(name for metric in _catalogue() for name in metric.parameters))


def _keys(metric: Metric) -> list[str]:
    return [*metric.parameters, *(name for name, axis in axes().items() if axis.each)]


def _unknown(key: str, known: list[str]) -> str:
    near = get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "see `rankgate conventions axes`."
    return f"unknown axis '{key}'; {hint}"
