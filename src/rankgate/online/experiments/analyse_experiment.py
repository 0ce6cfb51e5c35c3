"""All figures of an experiment: metrics with corrections, guardrails, days, segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.stats.experiment_arms import MOST_SKEWED, posterior
from rankgate.measurement.stats.multiple_comparisons import Correction, correct
from rankgate.online.experiments.estimate_effects import ComparisonMethod, estimate_effect
from rankgate.online.experiments.experiment_design import TUNED_TO
from rankgate.online.experiments.experiment_result import (
    AGAINST_ITSELF,
    DAILY,
    METRICS,
    SEGMENTS,
    ExperimentFinding,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.online.experiments.effects import Effect
    from rankgate.online.experiments.units import Measure, Units


_DAYS = 90  # days at most; a longer experiment shows the last days
_MIN_UNITS = 100  # the fewest units of an arm in a segment
_ALARM_P_VALUE = 0.01
_MIN_VALUES = 10  # the fewest units of an arm with a value other than 0, if arms are unequal


@dataclass(frozen=True)
class ArmComparison:
    """The arms and measures that are compared, and the methods.

    Attributes:
        control: the arm that the treatments are compared with.
        treatments: the other arms.
        measures: the measures to compare.
        method: the method of differences.
        margins: the relative loss that is allowed, by the name of the guardrail.
        correction: the correction of p-values of metrics that are not guardrails.
        power: the power of detectable differences.
        prior: standard deviation of relative effects, for the Bayesian view.
        halves: the number of comparisons of the control with itself.
        why: the reason why a measure has no figures, by its name.
    """

    control: str
    treatments: tuple[str, ...]
    measures: tuple[Measure, ...]
    method: ComparisonMethod = field(default_factory=ComparisonMethod)
    margins: Mapping[str, float] = field(default_factory=dict)
    correction: Correction = "holm"
    power: float = 0.8
    prior: float = 0.1
    halves: int = 0
    why: Mapping[str, str] = field(default_factory=dict)


def metrics_table(units: Units, comparison: ArmComparison) -> pl.DataFrame:
    """One row for each measure and arm; see `Experiment.metrics`."""
    rows = [
        _metric_row(units, measure, arm, comparison)
        for arm in comparison.treatments
        for measure in comparison.measures
    ]
    family = [row for row in rows if row["role"] == "success"]
    raw_p_values = np.array([np.nan if row["p_raw"] is None else row["p_raw"] for row in family], float)
    tests = int((~np.isnan(raw_p_values)).sum())
    for row, p in zip(family, correct(raw_p_values, comparison.correction), strict=True):
        row["p_value"] = None if np.isnan(p) else float(p)
        row["correction"] = f"{comparison.correction} over {count_noun(tests, 'test')}"
        row["status"] = _status(row, 1 - comparison.method.level)
    return pl.DataFrame(rows, schema=METRICS)


def _metric_row(units: Units, measure: Measure, arm: str, comparison: ArmComparison) -> dict[str, Json]:
    margin = comparison.margins.get(measure.name)
    row: dict[str, Any] = {
        **dict.fromkeys(METRICS),
        "metric": measure.name,
        "variant": arm,
        "margin": margin,
        "role": "success" if margin is None else "guardrail",
        "better": measure.better,
        "level": comparison.method.level,
        "kind": "quantile" if measure.quantile else "mean",
        "status": "inconclusive",
    }
    if reason := comparison.why.get(measure.name):
        return {**row, "why": reason}
    values = units.unit_rows(measure).group_by("variant").agg(pl.col("unit").n_unique())
    counts = dict(values.iter_rows())
    row |= {"n_control": counts.get(comparison.control, 0), "n": counts.get(arm, 0)}
    if min(row["n_control"], row["n"]) < 2:
        return {**row, "why": "an arm has fewer than two units with a value"}
    method = comparison.method if margin is None else guardrail_method(comparison.method)
    effect = estimate_effect(units, measure, comparison.control, arm, method)
    row |= {
        name: _null_if_not_finite(getattr(effect, name))
        for name in (
            "control",
            "treatment",
            "delta",
            "low",
            "high",
            "relative",
            "relative_low",
            "relative_high",
            "method",
            "explained",
        )
    }
    row |= {
        "p_raw": _null_if_not_finite(effect.p_value),
        "kind": _test_kind(measure, effect.method),
        "level": method.level,
    }
    if not np.isfinite(effect.se):
        return {**row, "why": "there are too few values for an interval"}
    row["mde"] = effect.mde(1 - comparison.method.level, comparison.power)
    row |= _bayesian_view(effect, measure, comparison.prior)
    if margin is not None:
        row["status"] = guardrail_status(effect, measure, margin)
    return row


def _test_kind(measure: Measure, method: str) -> str:
    if measure.quantile is not None:
        return "quantile"
    if method.startswith("delta"):
        return "ratio"
    return "proportion" if method.startswith("z") else "mean"


def _bayesian_view(effect: Effect, measure: Measure, prior: float) -> dict[str, Json]:
    """The Bayesian view: a normal prior of relative effects around 0."""
    if not effect.control or not effect.se > 0:
        return {}
    sign = -1.0 if measure.better == "down" else 1.0
    belief = posterior(sign * effect.delta, effect.se, prior * abs(effect.control))
    return {"chance_better": belief.better, "expected_loss": belief.loss}


def guardrail_method(method: ComparisonMethod) -> ComparisonMethod:
    """The method of guardrails: each end of the interval holds on its own at the level.

    At a level of 95 % their interval is two-sided at 90 %, by the test whose p is shown.
    """
    return replace(method, level=2 * method.level - 1, relative="fieller")


def guardrail_status(effect: Effect, measure: Measure, margin: float) -> str:
    """Pass if a loss of more than the margin is excluded, fail if such a loss is shown.

    Pass if the low end of the relative difference is above −margin, fail if the high end is below
    −margin; both in the direction in which the measure is better.
    """
    worst, best = effect.relative_low, effect.relative_high
    if measure.better == "down":
        worst, best = -effect.relative_high, -effect.relative_low
    return "pass" if worst > -margin else "fail" if best < -margin else "inconclusive"


def _status(row: Mapping[str, Any], alpha: float) -> str:
    if row["why"] or row["p_value"] is None:
        return "inconclusive"
    if row["p_value"] > alpha:
        return "undecided"
    if not row["better"]:
        return "differs"
    return "better" if (row["delta"] > 0) == (row["better"] == "up") else "worse"


def _null_if_not_finite(value: Json) -> Json:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def daily_table(units: Units, comparison: ArmComparison) -> pl.DataFrame:
    """Differences at the end of each day, with intervals that hold on all days together."""
    method = comparison.method
    if method.tuned_to is None:
        method = replace(method, tuned_to=TUNED_TO)
    method = replace(method, resamples=0)
    rows = []
    for day in units.days[-_DAYS:]:
        units_until_day = units.until(day)
        for measure in comparison.measures:
            if measure.name in comparison.why:
                continue
            for arm in comparison.treatments:
                effect = estimate_effect(units_until_day, measure, comparison.control, arm, method)
                if np.isfinite(effect.se):
                    rows.append(
                        (measure.name, arm, str(day), effect.n, effect.delta, effect.low, effect.high)
                    )
    return pl.DataFrame(rows, schema=DAILY, orient="row")


def segments_table(units: Units, comparison: ArmComparison) -> pl.DataFrame:
    """Differences within segments; p is corrected by Benjamini-Hochberg over all segments.

    ``p_differ`` is that of Cochran's Q, Σ (delta − weighted mean)² / se² against chi-squared,
    corrected by Holm over all columns of segments, metrics and arms.
    """
    groups: list[list[dict[str, Json]]] = []
    method = replace(comparison.method, resamples=0)
    for segment in units.segments:
        for measure in comparison.measures:
            if measure.name in comparison.why:
                continue
            groups += [
                _segment_rows(units, measure, (segment, arm), comparison.control, method)
                for arm in comparison.treatments
            ]
    groups = [group for group in groups if group]
    first_p = [np.nan if (p := group[0].get("p_differ")) is None else p for group in groups]
    for group, p in zip(groups, correct(np.array(first_p, float), "holm"), strict=True):
        for row in group:
            row["p_differ"] = _null_if_not_finite(float(p))
    rows = [row for group in groups for row in group]
    corrected = correct(np.array([row["p_raw"] for row in rows], float), "bh")
    for row, p in zip(rows, corrected, strict=True):
        row["p_value"] = float(p)
    return pl.DataFrame(rows, schema=SEGMENTS)


def _segment_rows(
    units: Units, measure: Measure, segment_and_arm: tuple[str, str], control: str, method: ComparisonMethod
) -> list[dict[str, Json]]:
    from rankgate.measurement.stats.special_functions import chdtrc

    segment, arm = segment_and_arm
    rows: list[dict[str, Json]] = []
    effects = []
    for value in units.arms[segment].drop_nulls().unique().sort():
        members = units.on_arms(pl.col(segment) == value)
        if min(members.counts.get(control, 0), members.counts.get(arm, 0)) < _MIN_UNITS:
            continue
        effect = estimate_effect(members, measure, control, arm, method)
        if np.isfinite(effect.se) and effect.se > 0:
            effects.append(effect)
            rows.append(
                {
                    "metric": measure.name,
                    "variant": arm,
                    "segment": segment,
                    "value": str(value),
                    "n": effect.n,
                    "delta": effect.delta,
                    "low": effect.low,
                    "high": effect.high,
                    "p_raw": effect.p_value,
                }
            )
    if len(rows) > 1:
        weights = np.array([1 / effect.se**2 for effect in effects])
        deltas = np.array([effect.delta for effect in effects])
        q = float(weights @ (deltas - weights @ deltas / weights.sum()) ** 2)
        for row in rows:
            row["p_differ"] = float(chdtrc(len(rows) - 1, q))
    return rows


def compare_with_itself(units: Units, comparison: ArmComparison, seed: int) -> pl.DataFrame:
    """Compare random halves of the control; if all is well, a share of 1 − level is significant.

    The halves are drawn again each time. Their common users make the count vary more than that of
    independent tests.
    """
    if not comparison.halves:
        return pl.DataFrame(schema=AGAINST_ITSELF)
    control_units = units.on_arms(pl.col("variant") == comparison.control)
    random = np.random.default_rng(seed)
    method = replace(comparison.method, tuned_to=None, resamples=0)
    rows: dict[str, int] = dict.fromkeys(
        (measure.name for measure in comparison.measures if measure.name not in comparison.why), 0
    )
    for _ in range(comparison.halves):
        halves = pl.Series(random.permutation(len(control_units.arms)) % 2).cast(pl.String)
        split_units = replace(control_units, arms=control_units.arms.with_columns(variant=halves))
        for measure in comparison.measures:
            if measure.name in rows:
                p = estimate_effect(split_units, measure, "0", "1", method).p_value
                rows[measure.name] += bool(p < 1 - comparison.method.level)
    table = [(name, comparison.halves, count, count / comparison.halves) for name, count in rows.items()]
    return pl.DataFrame(table, schema=AGAINST_ITSELF, orient="row")


def find_doubts(units: Units, comparison: ArmComparison) -> Iterable[ExperimentFinding]:
    """Find doubts about measures: one unit with much influence, effects that fade."""
    for measure in comparison.measures:
        if measure.name in comparison.why:
            continue
        for arm in comparison.treatments:
            if measure.quantile is None:
                yield from _find_influential_unit(units, measure, arm, comparison)
                yield from _find_few_values(units, measure, arm, comparison)
            yield from _find_changing_effect(units, measure, arm, comparison)


def _find_influential_unit(
    units: Units, measure: Measure, arm: str, comparison: ArmComparison
) -> Iterable[ExperimentFinding]:
    rows = units.unit_rows(measure, comparison.method.cap)
    rows = rows.filter(pl.col("variant").is_in([comparison.control, arm]))
    if len(rows) < 2 * _MIN_UNITS:
        return
    plain_method = replace(comparison.method, resamples=0, tuned_to=None)
    largest = rows.sort(pl.col("value").abs(), descending=True)["unit"][0]
    full_effect = estimate_effect(units, measure, comparison.control, arm, plain_method)
    without_largest = estimate_effect(
        units.on_arms(pl.col("unit") != largest), measure, comparison.control, arm, plain_method
    )
    if not full_effect.se > 0 or abs(full_effect.delta - without_largest.delta) < full_effect.se / 2:
        return
    text = (
        f"{measure.name}: without unit {largest} the difference of {arm} is {without_largest.delta:+.4g} "
        f"instead of {full_effect.delta:+.4g}; cut off large values with --winsorise 0.999"
    )
    yield ExperimentFinding("one-unit", "warn", text, measure.name)


def _find_few_values(
    units: Units, measure: Measure, arm: str, comparison: ArmComparison
) -> Iterable[ExperimentFinding]:
    """Find arms of unequal size with too few units with a value for the skewness correction."""
    if comparison.method.resamples:
        return
    plain_method = replace(comparison.method, tuned_to=None)
    skewness = estimate_effect(units, measure, comparison.control, arm, plain_method).arms.skewness
    if abs(skewness) < MOST_SKEWED:
        return
    rows = units.unit_rows(measure, comparison.method.cap).filter(pl.col("value") != 0)
    counts = dict(rows["variant"].value_counts().iter_rows())
    fewest_values, arm_of_few = min((counts.get(name, 0), name) for name in (comparison.control, arm))
    if fewest_values >= _MIN_VALUES:
        return
    text = (
        f"{measure.name}: only {count_noun(fewest_values, 'unit')} of the arm {arm_of_few} have a value "
        f"other than 0, and the arms are unequal; an error of 5 % may be 13 % for {arm}: wait for "
        f"{_MIN_VALUES} such units, or give the arms equal shares"
    )
    yield ExperimentFinding("few-values", "warn", text, measure.name)


def _find_changing_effect(
    units: Units, measure: Measure, arm: str, comparison: ArmComparison
) -> Iterable[ExperimentFinding]:
    """Find effects that differ between the first and the second half of the days."""
    from rankgate.measurement.stats.special_functions import ndtr

    days = sorted(units.rows[measure.name]["day"].drop_nulls().unique().to_list())
    if len(days) < 4:
        return
    middle = days[len(days) // 2]
    method = replace(comparison.method, resamples=0, tuned_to=None)
    halves = []
    for in_half in (pl.col("day") < middle, pl.col("day") >= middle):
        rows = {measure.name: units.rows[measure.name].filter(in_half)}
        half_units = replace(units, rows=rows)
        halves.append(estimate_effect(half_units, measure, comparison.control, arm, method))
    first, second = halves
    error = float(np.hypot(first.se, second.se))
    if not error > 0:
        return
    p = float(2 * ndtr(-abs(second.delta - first.delta) / error))
    if p < _ALARM_P_VALUE:
        text = (
            f"{measure.name}: the difference of {arm} is {first.delta:+.4g} before {middle} and "
            f"{second.delta:+.4g} from then on (p = {p:.2g}): it may be one of novelty; run longer"
        )
        yield ExperimentFinding("changing-effect", "warn", text, measure.name)
