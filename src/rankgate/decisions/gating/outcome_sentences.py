"""Sentences for the outcomes of rules, also of rules on KPIs.

The module also has advice on the human judgments that a rule still needs if a model has judged more
queries, and the outcomes and common parts of rules on KPIs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.comparison.list_metrics import ResampledValue
from rankgate.decisions.gating.bounds import ROUNDING
from rankgate.decisions.gating.rule import Outcome
from rankgate.measurement.stats.mean_intervals import student_quantile
from rankgate.measurement.stats.weighted_means import sample_size_needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.gating.bounds import BoundCheck
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence
    from rankgate.decisions.gating.rule import Evidence, Rule
    from rankgate.measurement.stats.weighted_means import PopulationEstimate


def advise_more_queries(
    estimate: PopulationEstimate, bound: float, evidence: Evidence, design: Design, rule: Rule
) -> str:
    """Advise on further queries for people to judge, if a model has judged all queries."""
    terms, n = evidence.terms, len(estimate.values)
    if design.documents is not None:
        return _advise_more_documents(estimate, bound, evidence, design, rule)
    count = design.size(rule["metric"], rule.slice)
    quantile_sum = student_quantile(n - 1, 1 - terms.alpha) + student_quantile(n - 1, terms.power)
    size = sample_size_needed(estimate, estimate.mean - bound, quantile_sum, count)
    if size is None:
        return (
            f"people's judgments of all {count_noun(count, 'query')} that the model judged would not show it "
            "either: let the model judge more queries"
        )
    return (
        f"let people judge about {max(1, size - n):,} more of the {count_noun(count, 'query')} that the "
        "model judged, drawn at random, if the difference stays"
    )


def _advise_more_documents(
    estimate: PopulationEstimate, bound: float, evidence: Evidence, design: Design, rule: Rule
) -> str:
    """Advise on further documents for people to judge, if a model has judged all documents."""
    terms, n, metric = evidence.terms, len(estimate.values), rule["metric"]
    quantile_sum = student_quantile(n - 1, 1 - terms.alpha) + student_quantile(n - 1, terms.power)
    queries = evidence.queries(metric, rule.slice)["query_id"].to_list()
    error = abs(estimate.mean - bound) / quantile_sum
    contrast = evidence.gained(metric)
    more = design.documents_needed(estimate, queries, metric, contrast, error)
    if more is None:
        return (
            f"people's judgments of all documents of these {n:,} queries would not show it either: add "
            "queries"
        )
    return (
        f"let people judge about {count_noun(max(1, more), 'more document')} of these {n:,} queries, drawn "
        "at random, if the difference stays"
    )


_MAX_DECIMALS = 9  # decimals


def short_number(value: float | None) -> str:
    """A number of a policy in its shortest form; four decimals at most.

    >>> short_number(0.01), short_number(0.123456), short_number(None)
    ('0.01', '0.1235', 'unknown')
    """
    return "unknown" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def measured_number(value: float | None, *bounds: float) -> str:
    """A measured value: four decimals; more if it would look equal to a bound that it differs from.

    >>> measured_number(0.25), measured_number(0.69996, 0.7), measured_number(None)
    ('0.2500', '0.69996', 'unknown')
    """
    return "unknown" if value is None else f"{value:.{needed_decimals(value, bounds)}f}"


def signed_number(value: float | None, *bounds: float) -> str:
    """A measured value with a sign, as `measured_number`.

    >>> signed_number(-0.25), signed_number(0.00001), signed_number(-0.04998, -0.05)
    ('-0.2500', '0.0000', '-0.04998')
    """
    if value is None:
        return "unknown"
    text = f"{value:+.{needed_decimals(value, bounds)}f}"
    return text if float(text) else text[1:]


def limit_percent(share: float) -> str:
    """A share that a policy states.

    >>> limit_percent(0.05), limit_percent(0.125)
    ('5%', '12.5%')
    """
    return f"{100 * share:.6g}%"


def percent(share: float, *bounds: float) -> str:
    """A share with one decimal; more if it would look equal to a bound that it differs from.

    >>> percent(0.25), percent(0.05004, 0.05)
    ('25.0%', '5.004%')
    """
    return f"{100 * share:.{needed_decimals(share, bounds, 3) - 2}f}%"


def needed_decimals(value: float, bounds: Iterable[float], lowest: int = 4) -> int:
    """The decimals that distinguish a value from different bounds; `lowest` or more."""
    other_bounds = [bound for bound in bounds if abs(bound - value) > ROUNDING]
    return next(
        (
            n
            for n in range(lowest, _MAX_DECIMALS)
            if all(round(value, n) != round(b, n) for b in other_bounds)
        ),
        _MAX_DECIMALS,
    )


def unmoved_outcome(rule: Rule, evidence: Evidence, margin: float, *, passes: bool = True) -> Outcome | None:
    """The outcome of a rule if no value changed; None if a value changed.

    If the lists are the same, the candidate cannot be worse. If they differ, the metric is blind to
    the change, and equal values are not evidence.
    """
    metric, gains = rule["metric"], evidence.gains(rule["metric"], rule.slice)
    is_whole = isinstance(gains, ResampledValue)
    if _has_moved(gains):
        return None
    table = evidence.queries(None if is_whole else metric, rule.slice)
    queries = table["query_id"].unique()
    queries = queries.filter(~queries.is_in(evidence.inputs.unanswered))
    lists = evidence.comparison.lists.filter(pl.col("query_id").is_in(queries.implode()))
    if not evidence.inputs.supply.has("lists"):
        reason_start = f"{metric} is the same for all {len(queries)} queries; without lists it is unknown"
        return Outcome(
            "inconclusive",
            f"{reason_start} whether anything changed",
            "give judgments and runs instead of scores",
            n=len(queries),
            delta=0.0,
            margin=margin,
        )
    changed = lists.filter(pl.col("moved").is_null() | (pl.col("moved") != 0))["query_id"]
    n, depth = len(queries), evidence.comparison.depth
    make_outcome = partial(Outcome, n=n, delta=0.0, low=0.0, high=0.0, margin=margin)
    design = evidence.inputs.design
    elsewhere = 0 if design is None else design.changed_elsewhere(metric, rule.slice)
    if elsewhere:
        return Outcome(
            "inconclusive",
            f"{metric} moved for none of the {count_noun(n, 'query')} that people judged, and by the model "
            f"for {elsewhere:,} of the others",
            "let people judge more queries, drawn at random",
            n=n,
            delta=0.0,
            margin=margin,
        )
    if not len(changed):
        reason = f"no list changed in its first {count_noun(depth, 'document')}, so nothing differs"
        if passes:
            return make_outcome("pass", reason, "")
        return make_outcome("fail", reason, "there is no improvement to show")
    movement = "did not move" if is_whole else f"moved for none of {count_noun(n, 'query')}"
    reason = (
        f"{metric} {movement}, though the first {count_noun(depth, 'document')} of {changed.n_unique()} "
        f"changed: it does not see this change"
    )
    return make_outcome("inconclusive", reason, "add a metric that detects it (rankgate blindspots)")


def _has_moved(gains: NDArray[np.float64] | ResampledValue) -> bool:
    """True if a gain is not 0, or if there are no gains."""
    if isinstance(gains, ResampledValue):
        return bool(gains.value) or gains.redrawn.error != 0
    return not gains.size or bool(gains.any())


def difference_outcome(
    rule: Rule, evidence: Evidence, result: BoundCheck, margin: float, *, loss: bool
) -> Outcome:
    """The outcome of a rule on a difference, from the gain compared with a bound.

    With ``loss`` the bound is the largest loss, else the gain that must be exceeded.
    """
    metric = rule["metric"]
    lower, is_whole = evidence.lower(metric), (metric, rule.slice) in evidence.inputs.wholes
    difference = result.turned if lower else result
    lost_queries = tuple(evidence.losses(metric, rule.slice)["query_id"].to_list())
    make_outcome = partial(
        Outcome,
        n=result.n,
        delta=difference.mean,
        low=difference.low,
        high=difference.high,
        margin=margin,
        mde=result.mde,
        queries=lost_queries,
    )
    slice_label = f" for {rule.slice}" if rule.slice else ""
    if result.why:
        advice_to_add = "add users" if is_whole else few_queries_advice(result)
        return make_outcome(
            "inconclusive",
            f"{rule.slice}: {result.why}" if rule.slice else result.why,
            evidence.terms.advice if result.code else advice_to_add,
            code=result.code,
        )
    bound = -margin if loss != lower else margin
    low, high = signed_number(difference.low, bound), signed_number(difference.high, bound)
    ends = f"(bounds {low} and {high})"
    less = " (less is better)" if lower else ""
    interval = f"{metric} {signed_number(difference.mean)} {ends}{less}{slice_label}"
    claim = _claim_text(margin, loss=loss)
    if result.status == "inconclusive":
        reason = f"{interval} does not show whether it is {claim}"
        next_step = _next_step(result, margin, loss=loss, whole=is_whole)
        if (design := evidence.inputs.design) is not None and design.predicted is not None:
            estimate = evidence.represented(metric, rule.slice, evidence.gained(metric))
            next_step = advise_more_queries(estimate, -margin if loss else margin, evidence, design, rule)
        return make_outcome("inconclusive", reason, next_step)
    reason = f"{interval}: {'not ' * ((result.status == 'pass') == loss)}{claim}"
    advice = "look at the lists" if is_whole else "look at the worst queries"
    return make_outcome(
        result.status,
        reason,
        "" if result.status == "pass" else advice,
        caution=unseen_loss_sentence(rule, result, lower=lower),
    )


def equivalence_outcome(
    rule: Rule, evidence: Evidence, sides: tuple[BoundCheck, BoundCheck], margin: float
) -> Outcome:
    """The outcome of an equivalence rule: the gain and its negative, both compared with −margin."""
    metric, slice_label = rule["metric"], f" for {rule.slice}" if rule.slice else ""
    loss, gain = sides
    rise, fall = (gain.turned, loss) if not evidence.lower(metric) else (loss.turned, gain)
    low, high = fall.low, rise.high
    lost_queries = evidence.losses(metric, rule.slice)
    make_outcome = partial(
        Outcome,
        n=loss.n,
        delta=fall.mean,
        low=low,
        high=high,
        margin=margin,
        mde=loss.mde,
        queries=tuple(lost_queries["query_id"].to_list()),
    )
    if loss.why:
        reason = f"{rule.slice}: {loss.why}" if rule.slice else loss.why
        next_step = evidence.terms.advice if loss.code else few_queries_advice(loss)
        return make_outcome("inconclusive", reason, next_step, code=loss.code)
    ends = f"(bounds {signed_number(low, -margin, margin)} and {signed_number(high, -margin, margin)})"
    interval, claim = (
        f"{metric} {signed_number(fall.mean)} {ends}{slice_label}",
        f"within ±{short_number(margin)}",
    )
    if "fail" in (loss.status, gain.status):
        return make_outcome("fail", f"{interval}: not {claim}", "look at the worst queries")
    if loss.status == gain.status == "pass":
        caution = unseen_loss_sentence(rule, loss, lower=evidence.lower(metric))
        return make_outcome("pass", f"{interval}: {claim}", caution=caution)
    query_count = max((side.more or 0 for side in sides if side.status != "pass"), default=0)
    next_step = (
        f"add about {count_noun(query_count, 'query')} like these, if the difference stays"
        if query_count
        else ""
    )
    return make_outcome(
        "inconclusive",
        f"{interval} does not show whether it is {claim}",
        next_step or "add queries, or allow more",
    )


def few_queries_advice(result: BoundCheck) -> str:
    """The next step where queries are too few for any interval."""
    count_text = f"at least {result.more:,} " if result.more else ""
    return f"add {count_text}queries; or write must_have rules for single documents, which need no interval"


def _claim_text(margin: float, *, loss: bool) -> str:
    """The claim that the interval confirms or rules out."""
    if loss:
        return f"worse by more than the margin {short_number(margin)}" if margin else "worse"
    return f"better by more than {short_number(margin)}" if margin else "better"


def _next_step(result: BoundCheck, margin: float, *, loss: bool, whole: bool) -> str:
    steps, units = [], "users" if whole else "queries"
    if result.mde is not None and loss and margin and result.mde > margin:
        steps.append(
            f"the margin {short_number(margin)} is smaller than the difference of "
            f"{measured_number(result.mde)} that these {units} detect (one-sided, at the policy's power)"
        )
    elif result.mde is not None and not loss:
        steps.append(f"these {units} can show a gain of about {measured_number(margin + result.mde)} or more")
    if result.more:
        steps.append(f"add about {result.more:,} {units} like these, if the difference stays")
    return "; ".join(steps) or f"add {units}, or ask for less"


def unseen_loss_sentence(
    rule: Rule, result: BoundCheck, *, lower: bool = False, ceiling: bool = False
) -> str:
    """A sentence on losses that a pass cannot exclude: a share of queries that the sample may miss.

    Args:
        rule: the rule that passed.
        result: the check of its sample: of gains for a rule on a difference, else of the
            candidate's values.
        lower: True if less of the metric is better.
        ceiling: True if the values are limited from above.
    """
    if result.unseen is None or result.status != "pass":
        return ""
    share, value, metric = percent(result.unseen.share), result.unseen.value, rule["metric"]
    unseen = f"{share} of all queries are"
    if result.unseen.by_weight:
        unseen = f"queries with {share} of the weight of all are"
    beginning = (
        f"{count_noun(result.n, 'query cannot', 'queries cannot')} exclude that up to {unseen} unlike any of "
        "these; if such queries on average "
    )
    if rule.kind == "floor":
        side, kind = ("more", "ceiling") if ceiling else ("less", "floor")
        limit = measured_number(value)
        return f"{beginning}have {side} than {limit} in {metric}, the {kind} does not hold"
    if value > 0:
        least = measured_number(value)
        return f"{beginning}gain less than {least} in {metric}, the rule does not hold"
    verb = "rise" if lower else "lose"
    return f"{beginning}{verb} more than {measured_number(-value)} in {metric}, the rule does not hold"


KPI = Parameter("kpi", "text", "the KPI, such as search_ctr", required=True)
BETTER = Parameter(
    "better",
    "text",
    "the direction in which it is better; by default the direction in the catalogue",
    choices=("up", "down"),
)


def undecided_without_users(rule: Rule, evidence: Evidence) -> Outcome:  # noqa: ARG001 - the signature of rules
    """The outcome of a rule on a KPI in a gate, which has no users."""
    return Outcome("inconclusive", "it is about users of an experiment", "rankgate online watch")


def kpi_problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The problem of the rule's KPI: an unknown name, or no direction."""
    from rankgate.online.indicators.kpi_catalogue import KPIS

    try:
        kpi = KPIS.find(values["kpi"])
    except UsageError as error:
        return error.problem, "kpi"
    if not kpi.better and not values["better"]:
        return f"{kpi.name} has no direction that is better; set better.", "better"
    return None


def decide_kpi(rule: Rule, evidence: KpiEvidence, bound: float, *, relative: bool) -> Outcome:
    """Compare the gain of the rule's KPI with a bound.

    Args:
        rule: the rule on a KPI.
        evidence: the experiment.
        bound: the gain that must be exceeded; a bound below 0 is an acceptable loss.
        relative: True for a gain that is a share of the control's value.
    """
    from rankgate.decisions.gating.kpi_check import check_kpi, measure_of_rule
    from rankgate.online.experiments.experiment_result import format_figure

    measure = measure_of_rule(rule)
    if reason := evidence.problem(measure):
        return Outcome(
            "inconclusive", f"{measure.name}: {reason}", "fix the experiment or its log", margin=abs(bound)
        )
    rows = evidence.units.unit_rows(measure)["variant"].value_counts()
    counts = dict(rows.iter_rows())
    if min(counts.get(evidence.control, 0), counts.get(evidence.treatment, 0)) < 2:
        return Outcome(
            "inconclusive",
            f"{measure.name} is null: an arm has no values of it",
            "wait for users, or log the events that it needs",
            margin=abs(bound),
        )
    kpi_check = check_kpi(evidence, measure, bound, relative=relative)
    if not np.isfinite(kpi_check.low):
        return Outcome(
            "inconclusive",
            f"{measure.name} has too few values for an interval",
            "wait for more users",
            margin=abs(bound),
        )
    lower = measure.better == "down"
    difference, low, high = (
        (-kpi_check.gain, -kpi_check.high, -kpi_check.low)
        if lower
        else (kpi_check.gain, kpi_check.low, kpi_check.high)
    )
    delta_text, low_text, high_text = (
        f"{value:+.2%}" if relative else f"{value:+.4g}" for value in (difference, low, high)
    )
    interval = f"[{low_text}, {high_text}] ({1 - 2 * evidence.alpha:.2%} interval)".replace("inf%", "∞")
    less = ", less is better" if lower else ""
    control, treatment = (
        format_figure(arm_value, "", measure.name)
        for arm_value in (kpi_check.effect.control, kpi_check.effect.treatment)
    )
    bound_text = f"{abs(bound):.2%}" if relative else f"{abs(bound):g}"
    conclusions = {
        "pass": f"a loss of more than {bound_text} is excluded"
        if bound < 0
        else f"a gain of more than {bound_text} is shown",
        "fail": f"it loses more than the {bound_text} that is acceptable"
        if bound < 0
        else f"it does not gain {bound_text}",
        "inconclusive": f"a loss of {bound_text} is not excluded yet"
        if bound < 0
        else f"a gain of {bound_text} is not shown yet",
    }
    next_steps = {"pass": "", "fail": "stop the ramp", "inconclusive": "wait for more users"}
    return Outcome(
        kpi_check.status,
        f"{measure.name} {control} → {treatment}: {delta_text} {interval}{less}; "
        f"{conclusions[kpi_check.status]}",
        next_steps[kpi_check.status],
        n=kpi_check.effect.n,
        delta=difference,
        low=low if np.isfinite(low) else None,
        high=high if np.isfinite(high) else None,
        margin=abs(bound),
        mde=kpi_check.mde if np.isfinite(kpi_check.mde) else None,
    )
