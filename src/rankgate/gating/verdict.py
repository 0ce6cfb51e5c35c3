"""The verdict: pass, fail or inconclusive, rule by rule, with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.data.comparison import Comparison
    from rankgate.gating.rule import Outcome, Rule, Status

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Ended:
    """A rule and how it ended."""

    rule: Rule
    outcome: Outcome

    def to_dict(self) -> dict[str, Any]:
        """The fields that CONTRACTS name, in their order."""
        rule, told = self.rule, self.outcome
        return {
            "id": rule.id,
            "kind": rule.kind,
            "tier": rule.tier,
            "status": told.status,
            "metric": rule.get("metric"),
            "slice": rule.slice,
            "n": told.n,
            "delta": told.delta,
            "low": told.low,
            "high": told.high,
            "margin": told.margin,
            "mde": told.mde,
            "reason": told.reason,
            "next": told.next,
            "queries": list(told.queries),
        }


@dataclass(frozen=True)
class Verdict:
    """What the gate says.

    Attributes:
        verdict: pass, fail or inconclusive.
        rules: each with how it ended, in the policy's order.
        comparison: what it rests on; None where nothing could be compared.
        hashes: of qrels, baseline, candidate and policy.
        convention: name, axes and hash.
        policy: where it came from.
        looks: how often this pinned set of queries was looked at, this time included.
        notes: what holds for the verdict as a whole: error control, looks, warnings.
        exit: the policy's word for inconclusive: inconclusive, pass or fail.
        names: of baseline and candidate.
    """

    verdict: Status
    rules: tuple[Ended, ...]
    comparison: Comparison | None
    hashes: Mapping[str, str | None]
    convention: Mapping[str, Any]
    policy: str
    looks: int = 0
    notes: tuple[str, ...] = ()
    exit: str = "inconclusive"
    names: tuple[str, str] = field(default=("baseline", "candidate"))

    @property
    def status(self) -> int:
        """The exit code: 0 pass, 1 fail, 3 inconclusive unless the policy maps it."""
        told = self.exit if self.verdict == "inconclusive" else self.verdict
        return {"pass": 0, "fail": 1, "inconclusive": 3}[told]

    @property
    def queries(self) -> list[dict[str, Any]]:
        """The queries that lost, worst first: by metrics of rules, then by the others."""
        if self.comparison is None:
            return []
        names = ("query_id", "metric", "baseline", "candidate", "delta")
        lost = self.comparison.queries.filter(pl.col("gain") < 0)
        ruled = {each.rule.get("metric") for each in self.rules} - {None}
        aside = ~pl.col("metric").is_in(list(ruled))
        return lost.sort(aside, "gain", "metric", "query_id").select(names).to_dicts()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict,
            "exit_code": self.status,
            "baseline": self.names[0],
            "candidate": self.names[1],
            "convention": dict(self.convention),
            "hashes": dict(self.hashes),
            "policy": self.policy,
            "rules": [each.to_dict() for each in self.rules],
            "queries": self.queries,
            "notes": list(self.notes),
            "looks": self.looks,
        }
