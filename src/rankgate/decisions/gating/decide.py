"""Decide a verdict from rules and a comparison.

The admissions of judges that a policy requires are read from the files that it names. Rules that
every value meets, or that no value can meet, are refused.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.collection import SETTLED
from rankgate.data.seal import SEALED
from rankgate.decisions.comparison.documents.comparison_grids import CONDITION
from rankgate.decisions.comparison.list_metrics import ResampledValue
from rankgate.decisions.gating.bounds import MIN_QUERIES
from rankgate.decisions.gating.flip_checks import (
    check_flip,
    clustered_terms,
    compute_flip_rate,
    weighed_terms,
)
from rankgate.decisions.gating.outcome_sentences import limit_percent
from rankgate.decisions.gating.policy_settings import ANSWERED, MIN_ANSWERED
from rankgate.decisions.gating.rule import Evidence, Inputs, Outcome, Terms
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import RuleResult, Verdict
from rankgate.measurement.evaluation.model_judgments import MISLED_BY_STATEMENT
from rankgate.measurement.stats.mean_intervals import SKEWED, skewness

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.decisions.gating.saved.baseline_file import LookNumber


def decide(
    comparison: Comparison,
    policy: Policy,
    inputs: Inputs | None = None,
    *,
    looks: LookNumber | None = None,
    level: float | None = None,
    today: str = "",
    redraws: int = 0,
) -> Verdict:
    """Decide every rule, and combine the outcomes into a verdict.

    Fail if a blocking rule failed; else inconclusive if a blocking rule is inconclusive; else pass.
    The probability of a false pass is at most alpha (intersection-union); the probability of any false fail
    is at most alpha in total (Bonferroni).

    Args:
        comparison: the candidate against the baseline.
        policy: the demands.
        inputs: further inputs of rules.
        looks: the number of this look at the queries; None if the queries are not pinned.
        level: the alpha of this test, if an account of the queries gives it.
        today: the day, for exceptions that expire.
        redraws: the number of resampled sets of queries for the rate of other verdicts.

    Raises:
        UsageError: a margin below the noise floor; a slice without queries; a rule about single
            queries on a metric without values of queries.
    """
    inputs = inputs or Inputs()
    design, alpha = inputs.design, level or policy["alpha"] * _alpha_share(policy, looks)
    inferring = [rule for rule in policy.rules if rule.tier == "block" and RULES[rule.kind].statistical]
    terms = Terms(
        alpha,
        max(1, len(inferring)),
        policy["power"],
        policy["interval"],
        policy["flip"],
        policy["seed"],
        today,
        policy["looks"] == "anytime",
        least=MIN_QUERIES if design is None else design.min_queries,
    )
    evidence = Evidence(comparison, terms, inputs)
    _refuse_unfit_rules(policy, evidence)
    results = tuple(RuleResult(rule, _decide_rule(rule, evidence)) for rule in policy.rules)
    answered, judged = _count_answered(comparison), inputs.judged
    if answered < policy["min_answered"] * judged:
        results = tuple(
            replace(result, outcome=_with_few_answers(result.outcome, answered, judged)) for result in results
        )
    if design is not None and design.saw is not None and design.saw.label != SEALED:
        results = tuple(replace(result, outcome=_on_a_statement(result.outcome)) for result in results)
    cautions = [
        f"{result.rule.id}: {result.outcome.caution}"
        for result in results
        if result.outcome.caution and result.outcome.status == "pass"
    ]
    is_settled = inputs.selection in SETTLED
    warnings = [text for text in comparison.warnings if not (is_settled and text.startswith("judged@"))]
    notes = (*_notes(policy, evidence, looks), *cautions, *warnings)
    return Verdict(
        combine_outcomes(results),
        results,
        comparison,
        hashes={
            "qrels": comparison.qrels_sha256,
            "baseline": comparison.baseline.sha256,
            "candidate": comparison.candidate.sha256,
            "policy": policy.sha256,
        },
        convention=comparison.convention,
        policy=policy.source,
        looks=looks.look if looks else 0,
        notes=notes,
        exit=policy["inconclusive"],
        names=(comparison.baseline.name, comparison.candidate.name),
        again=compute_flip_rate(results, evidence, redraws) if redraws else None,
        subset=(answered, judged) if answered < MIN_ANSWERED * judged else (),
        methods=tuple(_error_rate_notes(policy, evidence)),
        level=1 - alpha,
    )


def _count_answered(comparison: Comparison) -> int:
    """The number of queries that the system with fewer answers answered."""
    counts = {"baseline": 0, "candidate": 0}
    for row in comparison.states.to_dicts():
        counts[row["system"]] += row["queries"] if row["state"] in ANSWERED else 0
    return min(counts.values())


def _with_few_answers(outcome: Outcome, answered: int, judged: int) -> Outcome:
    """The outcome of a rule over too few answered queries: it does not pass."""
    if outcome.status != "pass":
        return outcome
    reason = f"only {answered:,} of {judged:,} judged queries are answered; {outcome.reason}"
    remedy = "run the other queries, or set min_answered under [gate] of the policy for a deliberate subset"
    return replace(outcome, status="inconclusive", reason=reason, next=remedy)


def _on_a_statement(outcome: Outcome) -> Outcome:
    """The outcome of a rule on an interval that rests on a statement about the model: it does not pass."""
    if outcome.status != "pass" or outcome.low is None:
        return outcome
    reason = (
        f"{outcome.reason}, if the model saw none of people's judgments, of which there is only a statement: "
        f"by models that saw some, up to {MISLED_BY_STATEMENT:.0%} of samples of equal systems have an "
        "interval without 0"
    )
    remedy = (
        "keep the model's judgments in a project of a store, then let people rate there: --project NAME "
        "--predicted-saw sealed"
    )
    return replace(outcome, status="inconclusive", reason=reason, next=remedy, code="model-not-sealed")


def _decide_rule(rule: Rule, evidence: Evidence) -> Outcome:
    """The outcome of a rule; inconclusive if a needed part of the scores is not available."""
    kind = RULES[rule.kind]
    if (lack := kind.lack(rule, evidence.inputs.supply)) is not None:
        return Outcome("inconclusive", lack.reason, lack.remedy)
    if (groups := evidence.inputs.groups) is not None:
        terms = replace(evidence.terms, per_value=groups.per_group(rule["metric"]))
        return kind.decide(rule, replace(evidence, terms=terms))
    if (design := evidence.inputs.design) is not None and kind.statistical:
        evidence = replace(evidence, terms=weighed_terms(rule, evidence, design))
    if kind.statistical and evidence.inputs.design is None and rule.get("metric"):
        evidence = replace(evidence, terms=clustered_terms(rule, evidence))
    return check_flip(rule, evidence, kind.decide(rule, evidence))


def combine_outcomes(results: tuple[RuleResult, ...]) -> Status:
    """The verdict from the outcomes of all blocking rules."""
    blocking = {result.outcome.status for result in results if result.rule.tier == "block"}
    if "fail" in blocking:
        return "fail"
    return "inconclusive" if "inconclusive" in blocking else "pass"


def _refuse_unfit_rules(policy: Policy, evidence: Evidence) -> None:
    if len(evidence.comparison.seeds):
        problem = (
            "the comparison is over several seeds, whose spread rules do not take in; gate on one run of "
            "each system."
        )
        raise UsageError(problem, code="conflicting-options")
    for rule in policy.rules:
        if (
            evidence.inputs.groups is None
            and rule.slice
            and (tag := rule.slice.partition("=")[0]) not in evidence.comparison.tags
        ):
            tags = ", ".join(evidence.comparison.tags) or "none"
            raise UsageError(
                f"rule {rule.id}: no query has the tag {tag!r}; there are {tags}; name a file of tags in the "
                "policy or with --tags.",
                code="unknown-tag",
            )
        kind = RULES[rule.kind]
        if limits := evidence.inputs.ranges.get(rule.get("metric") or ""):
            _refuse_impossible(rule, *limits)
        if kind.limits == "drop" and (rule["metric"], rule.slice) in evidence.inputs.wholes:
            raise UsageError(
                f"rule {rule.id}: {rule['metric']} is one number for all lists, not one per query; use "
                "noninferiority, improvement or floor.",
                code="unsupported-rule",
            )
        if kind.limits != "loss":
            continue
        floor = evidence.inputs.noise.get(rule["metric"])
        margin = rule[kind.difference]
        if floor is not None and margin is not None and margin < floor:
            raise UsageError(
                f"rule {rule.id}: the margin {margin:g} is below the noise floor {floor:.4f} that the same "
                f"system shows against itself in {rule['metric']}; raise the margin.",
                code="margin-below-noise",
            )


def _refuse_impossible(rule: Rule, low: float, high: float) -> None:
    """Refuse a rule whose outcome does not depend on the systems.

    Raises:
        UsageError: a margin as wide as the metric's range, a floor outside of it.
    """
    kind = RULES[rule.kind]
    range_message = f"{rule['metric']} lies between {low:g} and {high:g}"
    name = kind.difference
    if name and (rule.get(name) or 0.0) >= high - low:
        raise UsageError(
            f"rule {rule.id}: {name} = {rule[name]:g} is impossible; {range_message}, and no difference "
            "is larger.",
            code="impossible-bound",
        )
    for name in kind.bounds:
        if (bound := rule.get(name)) is not None and not low <= bound <= high:
            raise UsageError(
                f"rule {rule.id}: {name} = {bound:g} is impossible; {range_message}.", code="impossible-bound"
            )


def _alpha_share(policy: Policy, look_number: LookNumber | None) -> float:
    """The share of alpha that this look may spend; the shares of looks 1, 2, … add up to 1."""
    if look_number is None or policy["looks"] not in ("correct", "anytime"):
        return 1.0
    count = look_number.candidate if policy["looks"] == "anytime" else look_number.look
    return 6 / (pi * count) ** 2


def _notes(policy: Policy, evidence: Evidence, look_number: LookNumber | None) -> list[str]:
    notes = _skew_notes(policy, evidence)
    if evidence.inputs.selection in SETTLED:
        notes.append(SETTLED[evidence.inputs.selection])
    if (design := evidence.inputs.design) is not None:
        notes.append(f"{design.population}; the effect of unjudged documents is not computed")
        notes += _effective_notes(policy, evidence)
    if look_number is None:
        return notes
    if policy["looks"] in ("correct", "anytime"):
        look_label = f"look {look_number.look}"
        if policy["looks"] == "anytime":
            look_label = f"candidate {look_number.candidate}, look {look_number.look}"
        notes.append(
            f"{look_label} at these queries: alpha is {evidence.terms.alpha:.2g} instead of "
            f"{policy['alpha']:g}, so that all of them together keep it"
        )
    elif look_number.look > 1:
        notes.append(
            f"look {look_number.look} at these queries: the rates are those of a single look; with more "
            'looks false passes add up; set looks = "anytime" under [gate] of the policy, or draw fresh '
            "queries"
        )
    return notes


def _effective_notes(policy: Policy, evidence: Evidence) -> list[str]:
    """Notes on the number of effective queries of each metric and slice, for unequal weights."""
    design, numbers = evidence.inputs.design, []
    for rule in policy.rules:
        kind = RULES[rule.kind]
        if design is None or not kind.statistical:
            continue
        queries = evidence.queries(rule["metric"], rule.slice)["query_id"].to_list()
        if not queries or (weighing := design.weighing(queries, rule.slice)).equal:
            continue
        slice_label = f" ({rule.slice})" if rule.slice else ""
        contrast = evidence.gained(rule["metric"])
        worth = weighing.worth(evidence.represented(rule["metric"], rule.slice, contrast))
        numbers.append(f"{worth:.1f} of {count_noun(len(queries), 'query')} in {rule['metric']}{slice_label}")
    if not numbers:
        return []
    return [f"effective: {', '.join(dict.fromkeys(numbers))}. {CONDITION}"]


def _error_rate_notes(policy: Policy, evidence: Evidence) -> list[str]:
    """The error rates and the kind of the bounds; empty if no rule infers."""
    if not any(RULES[rule.kind].statistical for rule in policy.rules):
        return []
    terms = evidence.terms
    share, tests = terms.alpha, terms.tests
    scope_of_tests = f" (over the {tests} blocking rules that infer)" if tests > 1 else ""
    rates = f"{100 * share:.2g}% each{scope_of_tests}"
    any_looks = ", at however many looks as queries are added," if terms.anytime else ""
    if terms.interval == "guaranteed" and not evidence.inputs.wholes:
        errors = (
            f"false-pass and false-fail rates are at most {rates}{any_looks} for every distribution of the "
            "values, if queries are drawn independently"
        )
    else:
        errors = (
            f"false-pass and false-fail rates are about {rates}{any_looks} if these queries represent how "
            "values are distributed; rare large losses that are not among them make false passes more "
            'frequent, except with interval = "guaranteed"'
        )
    level = limit_percent(1 - share)
    bounds = f"one-sided {level} confidence bounds"
    if tests > 1:
        level_of_fail = limit_percent(1 - share / tests)
        bounds = f"one-sided confidence bounds, {level} for a pass and {level_of_fail} for a fail"
    return [errors, f"bounds: {bounds}"]


def _skew_notes(policy: Policy, evidence: Evidence) -> list[str]:
    """Notes on skewed metrics, for which a few large losses can make error rates exceed alpha."""
    notes = []
    for metric in policy.ruled_metrics:
        delta = evidence.gains(metric, None)
        if isinstance(delta, ResampledValue):
            continue
        if len(delta) > 1 and float(skewness(delta)[0]) < -SKEWED:
            notes.append(
                f"{metric}: a few queries lose much more than the others gain (skewness "
                f"{float(skewness(delta)[0]):.1f}); where such losses are rare a sample may miss them, and a "
                "false pass is more frequent than stated; add a per_query rule"
            )
    return notes
