"""Whose number is it: which conventions and cutoffs give a value that somebody reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.numbers import known
from rankgate.core.present.result import run_notices
from rankgate.data.collection import Collection
from rankgate.data.scores import Scores
from rankgate.measurement.explanation.finding import Finding, Fit
from rankgate.measurement.explanation.reconcile import CLOSE, hold, one_metric, usual
from rankgate.measurement.scoring import Convention, convention
from rankgate.measurement.scoring.input_cautions import first_cautions

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.metrics.declare import Metric

CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 1000)
"""The cutoffs that are tried besides the one asked for; the whole list too."""

_NEAREST = 3
_NUMBER = re.compile(r"[+-]?(\d+)(?:\.(\d*))?|[+-]?\.(\d+)")


def reported(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    value: str | float,
    conventions: Sequence[str | Convention] | None = None,
) -> Finding:
    """Find the conventions and cutoffs under which a metric has a reported value on these data.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name; it is tried at its usual cutoffs too.
        value: the value as it was written, whose last digit says how exact it is; more than 1
            for a metric that ends there is a percentage.
        conventions: conventions or their names; None is as of `reconcile`.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: several metrics, an unknown name, a value that is not a number.
    """
    _, one = one_metric(metric)
    wanted, tolerance = exactness(str(value))
    percent = one.high == 1 and one.aggregate != "sum" and wanted > 1 + tolerance
    scale = 100.0 if percent else 1.0
    metrics = [(str(each), each) for each in _family(one)]
    names = usual(one) if conventions is None else list(conventions)
    hows = list(map(convention, names))
    content, name = hold(Collection.of(collection), run, one)
    scored = zip(hows, content.score(metrics, hows), strict=True)
    taken = [(how.name, each) for how, each in scored if isinstance(each, Scores)]
    fits = _by_number([(label, _means(label, taken)) for label, _ in metrics])
    goal, room = wanted / scale, tolerance / scale
    chosen = tuple(fit for fit in fits if abs(fit.mean - goal) <= room + CLOSE)
    near = () if chosen else tuple(sorted(fits, key=lambda fit: abs(fit.mean - goal))[:_NEAREST])
    return Finding(
        qrels=name,
        run=content.name,
        metric=str(one),
        reported=str(value),
        value=goal,
        tolerance=room,
        percent=percent,
        fits=chosen,
        nearest=near,
        tried=tuple(label for label, _ in metrics),
        conventions=len(hows),
        notices=run_notices(content.name, first_cautions(scores for _, scores in taken)),
    )


def exactness(word: str) -> tuple[float, float]:
    """A number and half a unit of the last digit written.

    Raises:
        UsageError: the word is no decimal number.

    >>> exactness("0.4326")
    (0.4326, 5e-05)
    """
    match = _NUMBER.fullmatch(word.strip())
    if match is None:
        raise UsageError(
            f"'{word}' is not a number; write it as it was reported, such as 0.4326.",
            code="not-a-number",
        )
    return float(word), float(f"5e-{len(match[2] or match[3] or '') + 1}")


def _family(metric: Metric) -> list[Metric]:
    """The metric as asked for, then at the usual cutoffs and without one."""
    if metric.at != "cutoff":
        return [metric]
    plain = [pair for pair in metric.given if pair[0] != "cutoff"]
    uncut = [] if metric.parameters["cutoff"].required else [_with(metric, plain)]
    return list(dict.fromkeys([metric, *(_with(metric, plain) @ k for k in CUTOFFS), *uncut]))


def _with(metric: Metric, given: list[tuple[str, Any]]) -> Metric:
    return replace(metric, given=tuple(given))


def _means(label: str, taken: list[tuple[str, Scores]]) -> list[tuple[str, float]]:
    """The defined means of a metric by convention."""
    means = [(name, known(each.means[label])) for name, each in taken]
    return [(name, mean) for name, mean in means if mean is not None]


def _by_number(several: list[tuple[str, list[tuple[str, float]]]]) -> list[Fit]:
    """For each metric, conventions of one number together."""
    found: list[Fit] = []
    for label, means in several:
        mine: list[tuple[float, list[str]]] = []
        for name, mean in means:
            same = next((names for value, names in mine if abs(value - mean) <= CLOSE), None)
            if same is None:
                mine.append((mean, [name]))
            else:
                same.append(name)
        found += [Fit(label, mean, tuple(names)) for mean, names in mine]
    return found
