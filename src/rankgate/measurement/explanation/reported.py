"""Find the conventions and cutoffs that give a value that somebody reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.numbers import finite_or_none
from rankgate.core.present.result import run_notices
from rankgate.data.collection import Collection
from rankgate.data.scores import RunScores
from rankgate.measurement.explanation.finding import Finding, Fit
from rankgate.measurement.explanation.reconcile import (
    TOLERANCE,
    one_metric,
    prepare_run,
    usual_conventions,
)
from rankgate.measurement.scoring import Convention, convention
from rankgate.measurement.scoring.input_cautions import first_cautions

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.metrics.declare import Metric

CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 1000)
"""The cutoffs that are tried besides the given one; the whole list too."""

_NEAREST = 3
_NUMBER = re.compile(r"[+-]?(\d+)(?:\.(\d*))?|[+-]?\.(\d+)")


def find_reported(
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
        value: the value as it was written, whose last digit sets the tolerance; more than 1
              for a metric that ends there is a percentage.
        conventions: conventions or their names; None is as of `reconcile`.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: several metrics, an unknown name, a value that is not a number.
    """
    _, used_metric = one_metric(metric)
    target, tolerance = parse_exactness(str(value))
    percent = used_metric.high == 1 and used_metric.aggregate != "sum" and target > 1 + tolerance
    scale = 100.0 if percent else 1.0
    metrics = [(str(variant), variant) for variant in _metric_variants(used_metric)]
    names = usual_conventions(used_metric) if conventions is None else list(conventions)
    used_conventions = list(map(convention, names))
    content, name = prepare_run(Collection.of(collection), run, used_metric)
    scored = zip(used_conventions, content.score(metrics, used_conventions), strict=True)
    scored_conventions = [
        (used_convention.name, result)
        for used_convention, result in scored
        if isinstance(result, RunScores)
    ]
    fits = _group_by_number([(label, _means(label, scored_conventions)) for label, _ in metrics])
    target_mean, mean_tolerance = target / scale, tolerance / scale
    matching = tuple(
        fit for fit in fits if abs(fit.mean - target_mean) <= mean_tolerance + TOLERANCE
    )
    near = (
        ()
        if matching
        else tuple(sorted(fits, key=lambda fit: abs(fit.mean - target_mean))[:_NEAREST])
    )
    return Finding(
        qrels=name,
        run=content.name,
        metric=str(used_metric),
        reported=str(value),
        value=target_mean,
        tolerance=mean_tolerance,
        percent=percent,
        fits=matching,
        nearest=near,
        tried=tuple(label for label, _ in metrics),
        conventions=len(used_conventions),
        notices=run_notices(
            content.name, first_cautions(scores for _, scores in scored_conventions)
        ),
    )


def parse_exactness(word: str) -> tuple[float, float]:
    """Parse a number, and half a unit of its last digit.

    Raises:
        UsageError: the word is no decimal number.

    >>> parse_exactness("0.4326")
    (0.4326, 5e-05)
    """
    match = _NUMBER.fullmatch(word.strip())
    if match is None:
        raise UsageError(
            f"'{word}' is not a number; write it as it was reported, such as 0.4326.",
            code="not-a-number",
        )
    return float(word), float(f"5e-{len(match[2] or match[3] or '') + 1}")


def _metric_variants(metric: Metric) -> list[Metric]:
    """The metric as given, then at the usual cutoffs and without one."""
    if metric.at != "cutoff":
        return [metric]
    plain = [pair for pair in metric.given if pair[0] != "cutoff"]
    uncut = [] if metric.parameters["cutoff"].required else [_with_arguments(metric, plain)]
    return list(
        dict.fromkeys([metric, *(_with_arguments(metric, plain) @ k for k in CUTOFFS), *uncut])
    )


def _with_arguments(metric: Metric, arguments: list[tuple[str, Any]]) -> Metric:
    return replace(metric, given=tuple(arguments))


def _means(label: str, scored_conventions: list[tuple[str, RunScores]]) -> list[tuple[str, float]]:
    """The defined means of a metric by convention."""
    means = [
        (name, finite_or_none(run_scores.means[label])) for name, run_scores in scored_conventions
    ]
    return [(name, mean) for name, mean in means if mean is not None]


def _group_by_number(means_by_metric: list[tuple[str, list[tuple[str, float]]]]) -> list[Fit]:
    """Group the conventions of each metric by their number."""
    fits: list[Fit] = []
    for label, means in means_by_metric:
        names_by_mean: list[tuple[float, list[str]]] = []
        for name, mean in means:
            names_of_mean = next(
                (names for value, names in names_by_mean if abs(value - mean) <= TOLERANCE), None
            )
            if names_of_mean is None:
                names_by_mean.append((mean, [name]))
            else:
                names_of_mean.append(name)
        fits += [Fit(label, mean, tuple(names)) for mean, names in names_by_mean]
    return fits
