"""Tests charged to an account of held-out queries, whose answer is pass or not and nothing else.

Every figure would tell an optimiser how to fit these queries: the union over what it can reach is
small only because "not" has no figures and is the same for all candidates.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.decisions.gating.decide import combine_outcomes
from rankgate.decisions.gating.rule import Evidence, Outcome, Rule, Terms
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.saved.holdout_account import (
    FILE,
    Charge,
    HoldoutAccount,
    HoldoutBudget,
    find_account,
    query_keys,
    unknown_budget,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rankgate.core.arrays import Floats
    from rankgate.decisions.comparison.compared_systems import ComparedPair
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Inputs
    from rankgate.decisions.gating.verdict import RuleResult, Verdict

_GAIN_RULES = ("noninferiority", "improvement")


def promoting(policy: Policy) -> Policy:
    """A default policy for the candidates of an optimiser: what may not lose must gain.

    Candidates that may lose a margin would lose it again at every promotion.
    """
    rules = tuple(
        Rule("better", "improvement", slice=rule.slice, values={"metric": rule["metric"], "by": 0.0})
        if rule.tier == "block" and rule.kind == "noninferiority"
        else rule
        for rule in policy.rules
    )
    metrics = ", ".join(rule["metric"] for rule in rules if rule.kind == "improvement")
    digest = sha256(f"{policy.sha256} {metrics}".encode()).hexdigest()
    return replace(
        policy, rules=rules, sha256=digest, source=f"{metrics} must rise, as this folder has an account"
    )


def charge_test(
    pair: ComparedPair, rules: Policy, inputs: Inputs, texts: Mapping[str, str], folder: Path
) -> tuple[HoldoutAccount | None, Charge] | None:
    """Charge a test to the account of a folder; None if the policy asks for none and there is none.

    Args:
        pair: what the comparison was made from.
        rules: the policy.
        inputs: the inputs of its rules.
        texts: the texts of queries, where they are known.
        folder: the folder of the project.

    Raises:
        InputError: the account cannot be read or written.
    """
    account, setting = find_account(folder), rules["looks"]
    if account is None:
        return (None, Charge(None, 0.0, missing_account())) if setting == "account" else None
    if inputs.groups is not None:
        reason = "values are sums of groups of queries, so that no query can be charged"
        return None, Charge(None, 0.0, unknown_budget(reason))
    systems = pair.systems
    queries = systems[0].queries if systems else pair.measured.queries
    query_ids = queries["query_id"].unique(maintain_order=True).to_list()
    judgments = None if pair.made.scorer is None else pair.made.scorer.qrels.table
    table = pl.DataFrame(list(texts.items()), {"query_id": pl.String, "text": pl.String}, orient="row")
    keys = query_keys(query_ids, judgments, table)
    if setting not in ("auto", "account"):
        account.show(keys)
        reason = f'looks = "{setting}" turns the account off; as figures are shown, these queries are worn'
        return None, Charge(None, 0.0, unknown_budget(reason))
    comparison = pair.measured
    parts = (comparison.qrels_sha256, comparison.baseline.sha256, comparison.candidate.sha256, rules.sha256)
    test = blake2b("\x00".join(map(str, parts)).encode(), digest_size=16).hexdigest()
    rule, gains = _rule_gains(pair, rules, inputs, query_ids)
    return account, account.charge(test, keys, rules["alpha"], rules["power"], rule, gains)


def missing_account() -> HoldoutBudget:
    """The budget of a folder without an account."""
    return unknown_budget(
        f"there is no account at {FILE}, so that nobody knows how many candidates these queries judged; "
        "open one for fresh queries: rankgate account open"
    )


def withhold(verdict: Verdict, account: HoldoutAccount | None, charge: Charge) -> Verdict:
    """Write the answer into the account, and leave it alone in the verdict.

    Rules that look at nothing but lists, states and latencies keep their outcome.
    """
    if account is not None and charge.id is not None:
        account.settle(charge, passed=verdict.passed)
    is_pass = verdict.passed and charge.id is not None
    results = tuple(_withheld(result, charge, is_pass=is_pass) for result in verdict.rules)
    return replace(
        verdict,
        verdict=combine_outcomes(results),
        rules=results,
        comparison=None,
        counted=tuple(verdict.states),
        notes=(charge.budget.sentence, _WITHHELD, *((_CAUTION,) if is_pass else ())),
        methods=(_METHOD,),
        again=None,
        level=None,
        account=charge.budget,
    )


_WITHHELD = "figures of these queries are withheld: each would help an optimiser to fit them"
_CAUTION = (
    "losses that are rare and large, or skewed in fewer than about 100 queries, make false passes more "
    'frequent than the alpha of the account, except with interval = "guaranteed"'
)
_METHOD = (
    "the probability that any test that an optimiser can reach is a false pass is at most the alpha of the "
    "account, if queries are drawn independently and intervals hold at the levels of single tests"
)


def _withheld(result: RuleResult, charge: Charge, *, is_pass: bool) -> RuleResult:
    """A rule with its status alone, and only if all pass."""
    rule, kind = result.rule, RULES[result.rule.kind]
    if "query" in kind.parameters or kind.files or kind.needs == {"queries"}:
        return result
    if is_pass and rule.tier == "block":
        return replace(result, outcome=Outcome("pass", "holds at the level of this test"))
    reason, remedy = "not shown at the level of this test", "try another candidate, or add fresh queries"
    if rule.tier != "block":
        reason, remedy = "withheld", ""
    elif charge.id is None:
        reason, remedy = "these queries decide nothing more", "draw fresh queries"
        if charge.budget.state == "unknown":
            reason, remedy = (
                "the budget of these queries is unknown",
                "rankgate account open, for fresh queries",
            )
    return replace(result, outcome=Outcome("inconclusive", reason, remedy))


def _rule_gains(
    pair: ComparedPair, rules: Policy, inputs: Inputs, query_ids: list[str]
) -> tuple[str, Floats | None]:
    """The rule whose tests may overlap, and its gains in the order of the queries; None if they may not.

    With several inferring rules two tests can be false by different ones, which nothing bounds; other rules
    and intervals have statistics that are no means of these gains.
    """
    inferring: list[Rule] = [
        rule for rule in rules.rules if rule.tier == "block" and RULES[rule.kind].statistical
    ]
    if len(inferring) != 1 or inputs.design is not None or rules["interval"] != "t":
        return "", None
    (rule,) = inferring
    evidence = Evidence(pair.measured, Terms(), inputs)
    if rule.kind not in _GAIN_RULES or rule.get("relative") or (rule["metric"], rule.slice) in inputs.wholes:
        return "", None
    table = evidence.queries(rule["metric"], rule.slice)
    if not len(table) or evidence.units(table) is not None:
        return "", None
    gains_in_order = pl.DataFrame({"query_id": query_ids}).join(
        table.select("query_id", "gain"), "query_id", how="left", maintain_order="left"
    )
    return f"{rule['metric']} {rule.slice or ''}", np.asarray(gains_in_order["gain"].to_numpy(), np.float64)
