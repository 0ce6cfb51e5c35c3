"""Results of a gate: the verdict, its flip rate, and the gate's self-check.

The flip rate is the result of evaluating a gate's rules on resampled queries. The verdict is
pass, fail or inconclusive, rule by rule, with its inputs. The gate's decisions about a system
and itself are the result of the verb ``self_check``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.document_model import SIGNS, Entry
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.core.value_types import JsonObject
from rankgate.decisions.comparison.comparison import Comparison
from rankgate.decisions.gating.rule import Outcome, Rule, Status
from rankgate.decisions.gating.saved.holdout_account import HoldoutBudget


@dataclass(frozen=True)
class FlipRate:
    """The share of resampled sets of queries that would change the verdict.

    Attributes:
        share: the share of the resamples that end with another verdict.
        verdicts: the share of each verdict.
        rules: the share of the resamples in which a rule ends otherwise, by id.
        fixed: rules whose outcome was kept, as they do not look at values of queries.
        draws: resampled sets of queries.
        seed: the seed of the resampling.
    """

    share: float
    verdicts: Mapping[str, float]
    rules: Mapping[str, float]
    fixed: tuple[str, ...]
    draws: int
    seed: int


@dataclass(frozen=True)
class RuleResult:
    """A rule and its outcome."""

    rule: Rule
    outcome: Outcome

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rule, outcome = self.rule, self.outcome
        return {
            "id": rule.id,
            "kind": rule.kind,
            "tier": rule.tier,
            "status": outcome.status,
            "metric": rule.get("metric"),
            "slice": rule.slice,
            "n": outcome.n,
            "delta": outcome.delta,
            "low": outcome.low,
            "high": outcome.high,
            "margin": outcome.margin,
            "mde": outcome.mde,
            "reason": outcome.reason,
            "next": outcome.next,
            "queries": list(outcome.queries),
            "code": outcome.code,
        }

    def entry(self, *, short: bool = False) -> Entry:
        """The status, the reason, and the next step; in short a rule that passes is one line."""
        rule, outcome = self.rule, self.outcome
        name = rule.id if rule.tier == "block" else f"{rule.id} ({rule.tier})"
        label = f"{SIGNS[outcome.status]} {outcome.status}"
        if short and outcome.status == "pass":
            claim = outcome.reason
            if rule.kind == "noninferiority" and outcome.delta and outcome.low is not None:
                slice_label = f" for {rule.slice}" if rule.slice else ""
                claim = f"{rule['metric']} loses at most {outcome.margin:g}{slice_label}"
            return Entry(label, (f"{name}: {claim}",))
        next_lines = (f"next: {outcome.next}",) if outcome.next else ()
        return Entry(label, (name, outcome.reason, *next_lines))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RuleResult:
        """From ``to_dict``; of the rule's parameters only the metric is known."""
        metric_values = {"metric": values["metric"]} if values["metric"] is not None else {}
        rule = Rule(values["id"], values["kind"], values["tier"], values["slice"], metric_values)
        figures = {name: values[name] for name in _FIGURES}
        code = values.get("code", "")  # older results have no such field
        return cls(rule, Outcome(**figures, queries=tuple(values["queries"]), code=code))


_MEANS = ("metric", "n", "baseline", "candidate", "delta", "gain", "wins", "losses")
_FIGURES = ("status", "n", "delta", "low", "high", "margin", "mde", "reason", "next")


def _exit_word(values: Mapping[str, Any]) -> str:
    """The verdict that an inconclusive one counts as, by the exit code."""
    words = {0: "pass", 1: "fail", 3: "inconclusive"}
    return words[values["exit_code"]] if values["verdict"] == "inconclusive" else "inconclusive"


@dataclass(frozen=True)
class Verdict(Result):
    """Pass, fail or inconclusive, rule by rule.

    Attributes:
        verdict: pass, fail or inconclusive.
        rules: each with its outcome, in the policy's order.
        comparison: the comparison behind it; None where nothing could be compared.
        hashes: the hashes of qrels, baseline, candidate and policy.
        convention: name, axes and hash.
        policy: its file, or another source.
        looks: the number of looks at this pinned set of queries, this one included.
        notes: notes on the verdict as a whole: looks, warnings.
        exit: the policy's word for inconclusive: inconclusive, pass or fail.
        names: the names of baseline and candidate.
        lost: the queries that lost, where there is no comparison: read from JSON.
        again: shares of resampled queries with another verdict; None where it was not requested
            for, or no rule looks at values of queries.
        counted: queries by system and state, where there is no comparison.
        compared: the means by metric, where there is no comparison.
        subset: the answered and all judged queries, if fewer than nine tenths are answered.
        methods: the error rates and the kind of the bounds.
        level: the level of the bound that a pass needs; None where none was computed.
        texts: the texts of queries, where they are known.
        saved: the name of the saved baseline, and when it was saved; empty for a run.
        account: what the account of held-out queries says of these; None if none was asked.
    """

    kind = "verdict"
    main_table = "rules"
    document_from = "rankgate.decisions.gating.verdict_document:verdict_document"
    report_from = "rankgate.decisions.gating.verdict_document:page_document"
    order = 0
    WRITTEN: ClassVar[tuple[str, ...]] = (
        "verdict",
        "status",
        "names",
        "convention",
        "hashes",
        "policy",
        "rules",
        "all_means",
        "queries",
        "states",
        "notes",
        "methods",
        "level",
        "looks",
        "again",
        "subset",
        "saved",
        "account",
    )
    KEYS: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "status": "exit_code",
        "names": ("baseline", "candidate"),
        "all_means": "means",
        "compared": "means",
        "lost": "queries",
        "counted": "states",
        "again": "flip_rate",
        "saved": ("saved_baseline.name", "saved_baseline.saved_at"),
    }
    OPTIONAL: ClassVar[tuple[str, ...]] = ("subset", "saved", "account")
    READ: ClassVar[Mapping[str, Any]] = {"exit": _exit_word}
    notice_texts = (NoticeText("verdict", "{row}", source="notes"),)

    verdict: Status
    rules: tuple[RuleResult, ...]
    comparison: Comparison | None = None
    hashes: Mapping[str, str | None] = field(kw_only=True)
    convention: JsonObject = field(kw_only=True)
    policy: str = field(kw_only=True)
    looks: int = 0
    notes: tuple[str, ...] = ()
    exit: str = "inconclusive"
    names: tuple[str, str] = field(default=("baseline", "candidate"))
    lost: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    again: FlipRate | None = None
    counted: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    compared: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    subset: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()
    level: float | None = None
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    saved: tuple[str, ...] = ()
    account: HoldoutBudget | None = None

    def noted(self, note: str) -> Verdict:
        """The same with one note more."""
        return replace(self, notes=(*self.notes, note))

    def budgeted(self, budget: HoldoutBudget) -> Verdict:
        """The same with what an account says of the queries."""
        return replace(self, account=budget).noted(budget.sentence)

    @property
    def passed(self) -> bool:
        """True if the verdict is pass; an inconclusive one is not."""
        return self.verdict == "pass"

    @property
    def headline(self) -> str:
        """The verdict in a line."""
        line = f"{self.verdict.upper()}: {self.claim}"
        return f"{line}, {self.coverage}" if self.subset else line

    @property
    def claim(self) -> str:
        """What the verdict says of the candidate."""
        baseline, candidate = self.names
        return {
            "pass": f"{candidate} may replace {baseline}",
            "fail": f"{candidate} may not replace {baseline}",
            "inconclusive": f"not settled whether {candidate} may replace {baseline}",
        }[self.verdict]

    @property
    def coverage(self) -> str:
        """The subset of the judged queries that is answered; empty if nine tenths are."""
        return "{:,} of {:,} judged queries are answered".format(*self.subset) if self.subset else ""

    def __bool__(self) -> bool:
        raise TypeError("a verdict is not yes or no, it may be inconclusive; ask .passed.")

    @property
    def status(self) -> int:
        """The exit code: 0 pass, 1 fail, 3 inconclusive unless the policy maps it."""
        return exit_code(self.verdict, self.exit)

    @property
    def queries(self) -> list[dict[str, Any]]:
        """The queries that lost, worst first: by metrics of rules, then by the others."""
        if self.comparison is None:
            return [dict(row) for row in self.lost]
        names = ("query_id", "metric", "baseline", "candidate", "delta")
        lost_queries = self.comparison.queries.filter(pl.col("gain") < 0)
        ruled_metrics = {result.rule.get("metric") for result in self.rules} - {None}
        is_other_metric = ~pl.col("metric").is_in(list(ruled_metrics))
        rows = lost_queries.sort(is_other_metric, "gain", "metric", "query_id").select(names).to_dicts()
        return [{**row, "text": self.texts.get(row["query_id"])} for row in rows]

    @property
    def states(self) -> list[dict[str, Any]]:
        """The number of queries of each system in each state."""
        if self.comparison is None:
            return [dict(row) for row in self.counted]
        return self.comparison.states.to_dicts()

    @property
    def all_means(self) -> list[dict[str, Any]]:
        """Means, counts and differences by metric: those of rules in their order, then the others."""
        if self.comparison is None:
            return [dict(row) for row in self.compared]
        rows = {row["metric"]: row for row in self.comparison.metrics.to_dicts()}
        metrics = dict.fromkeys((*(result.rule.get("metric") for result in self.rules), *rows))
        metric_rows = (rows[metric] for metric in metrics if metric in rows)
        return [{name: row[name] for name in _MEANS} for row in metric_rows if row["delta"] is not None]

    @property
    def means(self) -> list[dict[str, Any]]:
        """Means, counts and differences by the metrics of rules, in their order."""
        ruled_metrics = {result.rule.get("metric") for result in self.rules}
        return [row for row in self.all_means if row["metric"] in ruled_metrics]

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Judgments, runs and policy."""
        names = {"baseline": self.names[0], "candidate": self.names[1], "policy": self.policy}
        return tuple(
            (names.get(input_name, input_name), input_name, digest)
            for input_name, digest in self.hashes.items()
            if digest
        )


def exit_code(verdict: str, if_inconclusive: str) -> int:
    """The exit code of a verdict: 0 pass, 1 fail, 3 inconclusive.

    Args:
        verdict: pass, fail or inconclusive.
        if_inconclusive: the verdict whose code an inconclusive one has, by the policy.
    """
    word = if_inconclusive if verdict == "inconclusive" else verdict
    return {"pass": 0, "fail": 1, "inconclusive": 3}[word]


VERDICTS = Columns(
    "One row per ordered pair of snapshots.",
    Column("baseline", pl.String, "the snapshot that is taken for the baseline"),
    Column("candidate", pl.String, "the snapshot that is taken for the candidate"),
    Column("verdict", pl.String, "the verdict of the policy"),
    Column("reason", pl.String, "the reason of the verdict", header="why"),
)
_EVENTS = {
    "flip": "a verdict other than that of most pairs",
    "false fail": "fail, though nothing changed",
    "false improvement": "an improvement, though nothing changed",
    "inconclusive": "no verdict (inconclusive)",
}
RATES = Columns(
    "One row per event.",
    Column(
        "event",
        pl.String,
        "``flip`` (a verdict other than that of most pairs), ``false fail``, ``false improvement`` (a rule "
        "sees an improvement) or ``inconclusive``",
        _EVENTS.__getitem__,
    ),
    Column("pairs", pl.Int64, "pairs of snapshots with the event", unit="pairs"),
    Column("share", pl.Float64, "their share of all pairs", ".1%"),
    Column("low", pl.Float64, "the low end of the interval of the share", ".1%"),
    Column("high", pl.Float64, "the high end of the interval of the share", ".1%"),
)
METRICS = Columns(
    "One row per metric.",
    METRIC,
    Column("lowest", pl.Float64, "its lowest mean", header="lowest\nmean"),
    Column("highest", pl.Float64, "its highest mean", header="highest\nmean"),
    Column("noise", pl.Float64, "the difference of both"),
    Column("margin", pl.Float64, "the smallest margin of the policy's rules", header="smallest\nmargin"),
)
_FEW_SNAPSHOTS = 6  # with fewer snapshots the intervals are too wide to use


@dataclass(frozen=True)
class GateCheck(Result):
    """Verdicts about pairs of snapshots of the same system.

    Attributes:
        runs: the names of the snapshots.
        policy: its file, or another source.
        verdicts: the columns of `VERDICTS`.
        rates: the columns of `RATES`.
        metrics: the columns of `METRICS`.
        queries: in the snapshots.
        changed: queries whose lists are not the same in all snapshots.
        level: of the intervals.
    """

    kind = "gate_check"
    label = "Self-check of a gate"
    order = 1
    SCHEMAS: ClassVar = {"verdicts": VERDICTS, "rates": RATES, "metrics": METRICS}
    headline_text = (
        "self-check of the gate: {snapshot_count:n snapshot} of one system, {verdicts.height:n pair}: "
        "{verdict_counts}"
    )
    layout = (
        View(
            "rates",
            "pairs with",
            ("event", "pairs", "share", ("low", "high")),
            headers={"low": "{level:.0%} interval"},
        ),
        View("metrics", "noise"),
        View(
            "other_verdicts",
            "other verdicts",
            ("candidate", "baseline", "verdict", "reason"),
            columns=VERDICTS,
            first=10,
        ),
        NOTICES,
        Sentence(
            "Each snapshot is gated against every other. Intervals ({level:.0%}, Wilson) count the "
            "{independent:n pair} without a snapshot in common. Noise is the largest difference of means "
            "between any two snapshots."
        ),
        "policy: {policy}",
    )
    notice_texts = (
        NoticeText(
            "not-deterministic",
            "the system is not deterministic: {changed:,} of {queries:,} queries do not have the same list "
            "in all snapshots; give the gate several of them (--noise), and look for the cause: replicas, "
            "ties, an index that changes",
            "changed",
        ),
        NoticeText(
            "deterministic",
            "all snapshots have the same lists: no verdict can flip by the system itself",
            lambda check: not check.changed,
        ),
        NoticeText(
            "margin-below-noise",
            "{metric}: the margin {margin:g} is below the noise {noise:.4f} of the same system; raise the "
            "margin",
            source="metrics",
            subject="{metric}",
            rows=pl.col("margin") < pl.col("noise"),
        ),
        NoticeText(
            "few-snapshots",
            "{runs:n snapshot has/snapshots have} only {independent:n independent pair}; "
            f"{_FEW_SNAPSHOTS} or more narrow the intervals",
            lambda check: check.changed and len(check.runs) < _FEW_SNAPSHOTS,
        ),
    )

    runs: tuple[str, ...]
    policy: str
    verdicts: pl.DataFrame
    rates: pl.DataFrame
    metrics: pl.DataFrame
    queries: int
    changed: int
    level: float

    @property
    def verdict(self) -> Status:
        """Fail if verdicts flip or one is false, inconclusive if all are, else pass."""
        rates = dict(self.rates.select("event", "pairs").iter_rows())
        if rates["flip"] or rates["false fail"] or rates["false improvement"]:
            return "fail"
        return "inconclusive" if rates["inconclusive"] else "pass"

    @property
    def outcome(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def snapshot_count(self) -> int:
        """The number of snapshots."""
        return len(self.runs)

    @property
    def pairs_by_verdict(self) -> Counter[str]:
        """The number of pairs by verdict."""
        return Counter(self.verdicts["verdict"])

    @property
    def verdict_counts(self) -> str:
        """The number of pairs with each verdict, the most frequent first."""
        return ", ".join(f"{count:,} {verdict}" for verdict, count in self.pairs_by_verdict.most_common())

    @property
    def other_verdicts(self) -> pl.DataFrame:
        """The pairs whose verdict differs from the most frequent one."""
        ((usual_verdict, _),) = self.pairs_by_verdict.most_common(1)
        return self.verdicts.filter(pl.col("verdict") != usual_verdict)

    @property
    def passed(self) -> bool:
        """True if every pair passes."""
        return self.verdict == "pass"

    @property
    def status(self) -> int:
        """The exit code: 0 pass, 1 fail, 3 inconclusive."""
        return {"pass": 0, "fail": 1, "inconclusive": 3}[self.verdict]

    @property
    def independent(self) -> int:
        """Pairs that have no snapshot in common, which intervals count."""
        return len(self.runs) // 2
