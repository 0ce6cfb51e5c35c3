"""Rules on judged documents, latency, empty or failed queries, and unnoticed changes.

The rules are on the share of judged documents, the latency of queries, the share of empty or
failed queries, and the share of changed queries that the metrics notice.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.core.present.number_formats import count_noun, format_bounds
from rankgate.data.collection import SETTLED
from rankgate.decisions.gating.bounds import ROUNDING
from rankgate.decisions.gating.outcome_sentences import limit_percent, needed_decimals, percent
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.decisions.gating.rule import Evidence, Rule


def decide_judged(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the mean share of judged documents of both systems with the floor."""
    if evidence.inputs.selection in SETTLED:
        return Outcome("pass", SETTLED[evidence.inputs.selection])
    k = rule["k"] or evidence.comparison.depth
    tops = evidence.lists(rule.slice).filter(pl.col("rank") <= k)
    slice_label = f" for {rule.slice}" if rule.slice else ""
    judged_shares = {}
    for system in ("baseline", "candidate"):
        lists = tops.filter(pl.col("system") == system).group_by("query_id", maintain_order=True)
        mean = lists.agg(pl.col("grade").is_not_null().mean())["grade"].mean()
        judged_shares[system] = mean if isinstance(mean, float) else 0.0
    floor = rule["at_least"]
    below = [system for system, share in judged_shares.items() if share < floor - ROUNDING]
    share_texts = {
        name: f"{name} {share:.{needed_decimals(share, [floor], 3)}f}"
        for name, share in judged_shares.items()
    }
    low_texts = [share_texts[system] for system in below]
    unjudged = tops.filter(pl.col("system").is_in(below) & pl.col("grade").is_null())
    holes = unjudged.select("query_id", "doc_id").n_unique()
    if not low_texts:
        shares = f"judged@{k}{slice_label} is at least {floor:g}: {', '.join(share_texts.values())}"
        complete = f"the first {count_noun(k, 'document')}{slice_label} are all judged in both"
        return Outcome("pass", complete if min(judged_shares.values()) == 1 else shares)
    reason = (
        f"judged@{k}{slice_label} is below {floor:g}: {', '.join(low_texts)}; the metrics do not see the "
        "unjudged documents"
    )
    subject = f"the {below[0]} shows" if len(below) == 1 else "they show"
    return Outcome("fail", reason, f"judge the {count_noun(holes, 'unjudged document')} that {subject}")


JUDGED_RULE = RuleKind(
    "judged",
    (
        Parameter(
            "at_least", "number", "the mean share of judged documents", required=True, range=Range(0.0, 1.0)
        ),
        Parameter("k", "int", "the number of first documents; the policy's depth by default", range=Range(1)),
    ),
    decide_judged,
    title="both systems show mostly judged documents",
    sliced=True,
    depth=("k",),
)


_LATENCY_ADVICE = "add latency_ms to RUN.meta.jsonl next to the run, or as a column of a CSV or Parquet run"


def decide_latency(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare a quantile with a ceiling in milliseconds, and with the baseline's.

    Latencies of failed queries are lower bounds, so that a quantile may be one too: it fails a
    ceiling that its smallest possible value exceeds, and leaves open one that its largest exceeds.
    """
    rows = {row["system"]: row for row in evidence.counted(rule.slice).latency.to_dicts()}
    slice_label = f" for {rule.slice}" if rule.slice else ""
    name, ceiling, ratio = rule["quantile"], rule["max_ms"], rule["max_ratio"]
    if "candidate" not in rows:
        return Outcome("inconclusive", f"the candidate's run has no latencies{slice_label}", _LATENCY_ADVICE)
    low, high = _bounds(rows["candidate"], name)
    decimals = needed_decimals(low, [ceiling] * (ceiling is not None), 1)
    reason = f"{name}{slice_label} is {_bounds_text(low, high, decimals)} ms"
    ceilings = []
    if ceiling is not None:
        ceilings.append((ceiling, ceiling, f"at most {ceiling:g} ms are allowed"))
    if ratio is not None:
        if "baseline" not in rows:
            return Outcome("inconclusive", f"the baseline has no latencies{slice_label}", _LATENCY_ADVICE)
        baseline_low, baseline_high = _bounds(rows["baseline"], name)
        reason += f", the baseline's {_bounds_text(baseline_low, baseline_high, 1)} ms"
        text = f"at most {ratio:g} times the baseline's is allowed"
        ceilings.append((ratio * baseline_low, ratio * baseline_high, text))
    exceeded = [text for _, largest, text in ceilings if low > largest + ROUNDING]
    open_texts = [text for smallest, _, text in ceilings if high > smallest + ROUNDING]
    count = rows["candidate"]["n"]
    if exceeded:
        advice = "find what made it slower"
        return Outcome("fail", f"{reason}; {' and '.join(exceeded)}", advice, n=count)
    if open_texts:
        failed = {system: row["censored"] for system, row in rows.items() if row["censored"]}
        causes = " and ".join(f"{number} of the {system}'s queries" for system, number in failed.items())
        return Outcome(
            "inconclusive",
            f"{reason}, as {causes} failed; {' and '.join(open_texts)}",
            "find why queries fail, and ask them again (rankgate snapshot --again)",
            n=count,
        )
    return Outcome("pass", reason, n=count)


def _bounds(row: Mapping[str, Any], name: str) -> tuple[float, float]:
    """The smallest and the largest possible value of a quantile."""
    high = row[f"{name}_at_most"]
    return row[name], inf if high is None else high


def _bounds_text(low: float, high: float, decimals: int) -> str:
    return format_bounds(low, high if isfinite(high) else None, f"{{:.{decimals}f}}".format)


LATENCY_RULE = RuleKind(
    "latency",
    (
        Parameter("quantile", "text", "p50, p90, p95 or p99", "p95", choices=("p50", "p90", "p95", "p99")),
        Parameter("max_ms", "number", "the largest quantile in milliseconds", range=Range(0.0)),
        Parameter("max_ratio", "number", "the largest quantile over the baseline's", range=Range(0.0)),
    ),
    decide_latency,
    title="queries do not take too long; needs runs with latencies, and counts failed queries",
    sliced=True,
    any_of=("max_ms", "max_ratio"),
    needs=frozenset({"queries"}),
)


_VERB_OF_STATE = {"zero": "return nothing", "failed": "fail", "not_run": "were not run"}
_SYSTEMS = ("baseline", "candidate")


def decide_states(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the share of queries in a state with a ceiling, and with the baseline's share."""
    states = evidence.counted(rule.slice).states
    slice_label = f" for {rule.slice}" if rule.slice else ""
    ceiling, more = rule["at_most"], rule["more"]
    share, texts, n = {}, {}, 0
    for system in _SYSTEMS:
        system_states = states.filter(pl.col("system") == system)
        state_count = int(system_states.filter(pl.col("state") == rule["state"])["queries"].sum())
        total = int(system_states["queries"].sum())
        if not total:
            return Outcome(
                "inconclusive",
                f"the {system} has no query{slice_label}",
                "check the tags" if slice_label else "ask some queries",
                n=0,
            )
        share[system], n = state_count / total, total
        bounds = [ceiling] * (ceiling is not None)
        texts[system] = f"{state_count} of the {system}'s {total}", percent(share[system], *bounds)
    (candidate_text, candidate_share), (baseline_text, baseline_share) = (
        texts["candidate"],
        texts["baseline"],
    )
    noun = "query" if n == 1 else "queries"
    text = (
        f"{candidate_text} {noun}{slice_label} ({candidate_share}) {_VERB_OF_STATE[rule['state']]}, "
        f"{baseline_text} ({baseline_share})"
    )
    limits = (
        {}
        if ceiling is None
        else {f"at most {limit_percent(ceiling)} may": share["candidate"] <= ceiling + ROUNDING}
    )
    if more is not None:
        rise = share["candidate"] - share["baseline"]
        limits[f"at most {limit_percent(more)} more than of the baseline may"] = rise <= more + ROUNDING
    exceeded = [limit_text for limit_text, is_met in limits.items() if not is_met]
    if exceeded:
        reason = f"{text}; {' and '.join(exceeded)}"
        return Outcome("fail", reason, "see why these queries changed", n=n)
    return Outcome("pass", f"{text}; {' and '.join(limits)}", n=n)


STATES_RULE = RuleKind(
    "states",
    (
        Parameter(
            "state",
            "text",
            "zero (nothing returned), failed or not_run",
            "zero",
            choices=("zero", "failed", "not_run"),
        ),
        Parameter("at_most", "number", "the largest share of queries", range=Range(0.0, 1.0)),
        Parameter(
            "more", "number", "the largest rise of the share over the baseline's", range=Range(0.0, 1.0)
        ),
    ),
    decide_states,
    title="few queries return nothing or fail",
    sliced=True,
    any_of=("at_most", "more"),
    needs=frozenset({"queries"}),
)


def decide_unseen(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the share of queries whose lists changed while no metric moved with a ceiling."""
    result = evidence.comparison
    lists = evidence.lists(rule.slice)
    changed = set(lists.filter(pl.col("moved").is_null() | (pl.col("moved") != 0))["query_id"].to_list())
    moved_queries = set(result.queries.filter(pl.col("delta") != 0)["query_id"].to_list())
    unseen = sorted(changed - moved_queries)
    if not changed:
        return Outcome("pass", f"no list changed in its first {count_noun(result.depth, 'document')}")
    share, ceiling = len(unseen) / len(changed), rule["at_most"]
    lists_text = count_noun(len(changed), "changed list")
    if not unseen:
        return Outcome("pass", f"a metric moved for all of {lists_text}", n=len(changed))
    reason = (
        f"{len(unseen)} of {lists_text} moved no metric of this gate ({percent(share, ceiling)}; at most "
        f"{limit_percent(ceiling)})"
    )
    if share <= ceiling:
        return Outcome("pass", reason, n=len(changed))
    return Outcome(
        "inconclusive",
        reason,
        "add a metric that detects them (rankgate blindspots)",
        n=len(changed),
        queries=tuple(unseen),
    )


UNSEEN_RULE = RuleKind(
    "unseen",
    (
        Parameter(
            "at_most", "number", "the share of changed lists that no metric sees", 0.5, range=Range(0.0, 1.0)
        ),
    ),
    decide_unseen,
    title="the metrics see most of what changed",
    sliced=True,
)
