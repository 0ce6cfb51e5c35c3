"""Rules and a comparison to a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import pi
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.documents.represented import CONDITION
from rankgate.decisions.comparison.whole import Drawn
from rankgate.decisions.gating.designed import clustered_terms, weighed_terms
from rankgate.decisions.gating.evidence import Evidence, Inputs, Terms
from rankgate.decisions.gating.flips import checked
from rankgate.decisions.gating.intervals import LEAST
from rankgate.decisions.gating.redrawing import flip_rate
from rankgate.decisions.gating.rule import Outcome
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import RuleResult, Verdict
from rankgate.measurement.stats.interval import SKEWED, skewness

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.gating.evidence import Drift
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.decisions.gating.saved.looks import LookNumber


def decide(
    comparison: Comparison,
    policy: Policy,
    inputs: Inputs | None = None,
    *,
    looks: LookNumber | None = None,
    today: str = "",
    redraws: int = 0,
) -> Verdict:
    """How every rule ends, and what that makes of the whole.

    Fail if a rule that blocks failed; else inconclusive if one is; else pass. A false pass of any
    rule that must not pass has at most the chance alpha (intersection-union); a false fail of any
    of them alpha in all (Bonferroni).

    Args:
        comparison: the candidate against the baseline.
        policy: what is demanded.
        inputs: what rules look at in addition.
        looks: which look at these queries this is; None where they are not pinned.
        today: the day, for exceptions that expire.
        redraws: resampled sets of queries that say whether it would decide the same again.

    Raises:
        UsageError: a margin below the noise floor; a slice that no query has; a rule about single
            queries on a metric that has none.
    """
    alpha = policy["alpha"] * _share(policy, looks)
    inferring = [
        rule for rule in policy.rules if rule.tier == "block" and RULES[rule.kind].statistical
    ]
    terms = Terms(
        alpha,
        max(1, len(inferring)),
        policy["power"],
        policy["interval"],
        policy["flip"],
        comparison.seed,
        today,
        policy["looks"] == "anytime",
        least=LEAST if inputs is None or inputs.design is None else inputs.design.least,
    )
    evidence = Evidence(comparison, terms, inputs or Inputs())
    _refuse(policy, evidence)
    ended = tuple(RuleResult(rule, _outcome(rule, evidence)) for rule in policy.rules)
    cautions = [
        f"{each.rule.id}: {each.outcome.caution}"
        for each in ended
        if each.outcome.caution and each.outcome.status == "pass"
    ]
    notes = (*_notes(policy, evidence, looks), *cautions, *comparison.warnings)
    return Verdict(
        verdict(ended),
        ended,
        comparison,
        {
            "qrels": comparison.qrels_sha256,
            "baseline": comparison.baseline.sha256,
            "candidate": comparison.candidate.sha256,
            "policy": policy.sha256,
        },
        comparison.convention,
        policy.source,
        looks.look if looks else 0,
        notes,
        policy["inconclusive"],
        (comparison.baseline.name, comparison.candidate.name),
        again=flip_rate(ended, evidence, redraws) if redraws else None,
    )


def _outcome(rule: Rule, evidence: Evidence) -> Outcome:
    """How a rule ends; open where it looks at what is not given."""
    kind = RULES[rule.kind]
    if evidence.inputs.values_only and not kind.of_values:
        return Outcome(
            "inconclusive", "it needs the lists of the systems, and only values were given",
            "give judgments and runs instead of scores",
        )  # fmt: skip
    if (groups := evidence.inputs.groups) is not None:
        if (open_ := of_single_queries(rule)) is not None:
            return open_
        terms = replace(evidence.terms, per_value=groups.per_group(rule["metric"]))
        return kind.decide(rule, replace(evidence, terms=terms))
    if (design := evidence.inputs.design) is not None and kind.statistical:
        evidence = replace(evidence, terms=weighed_terms(rule, evidence, design))
    if kind.statistical and evidence.inputs.design is None:
        evidence = replace(evidence, terms=clustered_terms(rule, evidence))
    return checked(rule, evidence, kind.decide(rule, evidence))


def of_single_queries(rule: Rule) -> Outcome | None:
    """The outcome where a rule needs values of single queries and there are sums of groups."""
    if rule.slice is None and RULES[rule.kind].limits != "drop":
        return None
    return Outcome(
        "inconclusive",
        "it needs values of single queries, and the evaluations have sums of groups of them",
        "give judgments and runs, or the values of queries (rankgate eval --per-query)",
    )


def verdict(ended: tuple[RuleResult, ...]) -> Status:
    """What rules that block make together."""
    blocking = {each.outcome.status for each in ended if each.rule.tier == "block"}
    if "fail" in blocking:
        return "fail"
    return "inconclusive" if "inconclusive" in blocking else "pass"


def _refuse(policy: Policy, evidence: Evidence) -> None:
    for rule in policy.rules:
        if (
            evidence.inputs.groups is None
            and rule.slice
            and (tag := rule.slice.partition("=")[0]) not in evidence.comparison.tags
        ):
            known = ", ".join(evidence.comparison.tags) or "none"
            raise UsageError(
                f"rule {rule.id}: no query has the tag {tag!r}; there are {known}; name a file of "
                "tags in the policy or with --tags.",
                code="unknown-tag",
            )
        kind = RULES[rule.kind]
        if kind.limits == "drop" and (rule["metric"], rule.slice) in evidence.inputs.wholes:
            raise UsageError(
                f"rule {rule.id}: {rule['metric']} is one number for all lists, no query has one; "
                "say noninferiority, improvement or floor.",
                code="unsupported-rule",
            )
        if kind.limits != "loss":
            continue
        floor = evidence.inputs.noise.get(rule["metric"])
        margin = rule[kind.difference]
        if floor is not None and margin is not None and margin < floor:
            raise UsageError(
                f"rule {rule.id}: the margin {margin:g} is below the noise floor {floor:.4f} that "
                f"the same system shows against itself in {rule['metric']}; raise the margin.",
                code="margin-below-noise",
            )


def _share(policy: Policy, looks: LookNumber | None) -> float:
    """The share of alpha that this look may spend; those of looks 1, 2, … add up to 1."""
    if looks is None or policy["looks"] == "warn":
        return 1.0
    count = looks.candidate if policy["looks"] == "anytime" else looks.look
    return 6 / (pi * count) ** 2


def _notes(policy: Policy, evidence: Evidence, looks: LookNumber | None) -> list[str]:
    items = [*_control(policy, evidence), *_skewed(policy, evidence)]
    if (design := evidence.inputs.design) is not None:
        items.append(f"{design.words}; what unjudged documents could change is not asked")
        items += _effective(policy, evidence)
    if looks is None:
        return items
    if policy["looks"] != "warn":
        this = f"look {looks.look}"
        if policy["looks"] == "anytime":
            this = f"candidate {looks.candidate}, look {looks.look}"
        items.append(
            f"{this} at these queries: alpha is {evidence.terms.alpha:.2g} instead of "
            f"{policy['alpha']:g}, so that all of them together keep it"
        )
    elif looks.look > 1:
        items.append(
            f"look {looks.look} at these queries: the rates are those of a single look; with "
            'more looks false passes add up; set looks = "anytime" in the policy, or draw fresh '
            "queries"
        )
    return items


def _effective(policy: Policy, evidence: Evidence) -> list[str]:
    """The number of effective queries of each metric and slice, where weights are unequal."""
    design, numbers = evidence.inputs.design, []
    for rule in policy.rules:
        kind = RULES[rule.kind]
        if design is None or not kind.statistical:
            continue
        queries = evidence.queries(rule["metric"], rule.slice)["query_id"].to_list()
        if (
            not queries
            or (weighing := design.weighing(queries, evidence.slice_of(rule.slice))).equal
        ):
            continue
        where = f" ({rule.slice})" if rule.slice else ""
        contrast = evidence.gained(rule["metric"])
        worth = weighing.worth(evidence.represented(rule["metric"], rule.slice, contrast))
        numbers.append(f"{worth:.1f} of {len(queries)} queries in {rule['metric']}{where}")
    if not numbers:
        return []
    return [f"effective: {', '.join(dict.fromkeys(numbers))}. {CONDITION}"]


def _control(policy: Policy, evidence: Evidence) -> list[str]:
    """The error rates, and what the bounds are; nothing if no rule infers."""
    if not any(RULES[rule.kind].statistical for rule in policy.rules):
        return []
    terms = evidence.terms
    share, tests = terms.alpha, terms.tests
    together = f" (over the {tests} blocking rules that infer)" if tests > 1 else ""
    rates = f"{100 * share:.2g}% each{together}"
    looks = ", at however many looks as queries are added," if terms.anytime else ""
    if terms.interval == "guaranteed" and not evidence.inputs.wholes:
        errors = (
            f"false-pass and false-fail rates are at most {rates}{looks} for every distribution "
            "of the values, if queries are drawn independently"
        )
    else:
        errors = (
            f"false-pass and false-fail rates are about {rates}{looks} if these queries represent "
            "how values are distributed; rare large losses that are not among them make false "
            'passes more frequent, except with interval = "guaranteed"'
        )
    level = f"{100 * (1 - share):.3g}%"
    bounds = f"one-sided {level} confidence bounds"
    if tests > 1:
        other = f"{100 * (1 - share / tests):.3g}%"
        bounds = f"one-sided confidence bounds, {level} for a pass and {other} for a fail"
    return [errors, f"bounds: {bounds}"]


def _skewed(policy: Policy, evidence: Evidence) -> list[str]:
    """Where the promise of alpha does not hold: a few great losses that a sample may miss."""
    items = []
    for metric in dict.fromkeys(rule.get("metric") for rule in policy.rules):
        if metric is None:
            continue
        delta = evidence.gains(metric, None)
        if isinstance(delta, Drawn):
            continue
        if len(delta) > 1 and float(skewness(delta)[0]) < -SKEWED:
            items.append(
                f"{metric}: a few queries lose much more than the others gain (skewness "
                f"{float(skewness(delta)[0]):.1f}); where such losses are rare a sample may miss "
                "them, and a false pass is more frequent than said; add a per_query rule"
            )
    return items


def stale(
    policy: Policy,
    names: tuple[str, str],
    drift: Drift,
    reason: str,
    after: str,
    hashes: Mapping[str, str | None],
) -> Verdict:
    """The verdict where a baseline cannot be compared any more.

    A drift rule of the policy ends as it demands; every other rule is inconclusive.
    """
    open_ = Outcome("inconclusive", reason, after)
    ended = []
    for rule in policy.rules:
        settle = RULES[rule.kind].without_comparison
        ended.append(RuleResult(rule, settle(rule, drift) if settle else open_))
    return Verdict(
        verdict(tuple(ended)),
        tuple(ended),
        None,
        hashes,
        {},
        policy.source,
        exit=policy["inconclusive"],
        names=names,
    )
