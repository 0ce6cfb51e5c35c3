"""Rules on single queries: limits of their drops, and assertions about them.

A limit allows no large drop, or only a few. Assertions about single queries are like behavioural
tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.gating.bounds import ROUNDING
from rankgate.decisions.gating.outcome_sentences import short_number
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.rule import Evidence, Rule


_MAX_QUERIES = 5


def decide_per_query(rule: Rule, evidence: Evidence) -> Outcome:
    """Count the queries that drop too far; exceptions apply until their last day."""
    table = evidence.queries(rule["metric"], rule.slice)
    excused, expired = _split_exceptions(rule["allow"] or [], evidence.terms.today)
    lower = evidence.lower(rule["metric"])
    dropped = table.filter(pl.col("gain") < -rule["max_drop"] - ROUNDING)
    counted_drops = dropped.filter(~pl.col("query_id").is_in(list(excused)))
    queries = tuple(counted_drops["query_id"].to_list())
    allowed_count, n = rule["at_most"], len(table)
    if not n:
        slice_label = f" with {rule.slice}" if rule.slice else ""
        return Outcome(
            "inconclusive", f"no query{slice_label} has a value on both sides", "check the tags", n=0
        )
    drop_texts = ", ".join(
        f"{row['query_id']} ({row['delta']:+.3f})" for row in counted_drops.head(_MAX_QUERIES).to_dicts()
    )
    ellipsis = ", …" if len(counted_drops) > _MAX_QUERIES else ""
    reason = (
        f"{len(counted_drops)} of {count_noun(n, 'query')} "
        f"{_drop_verb(lower, len(counted_drops))} by more than {short_number(rule['max_drop'])} in "
        f"{rule['metric']}, at most {allowed_count} may"
        + (f": {drop_texts}{ellipsis}" if len(counted_drops) else "")
    )
    if len(dropped) > len(counted_drops):
        reason += f"; {len(dropped) - len(counted_drops)} excused"
    if expired:
        reason += f"; the exception for {', '.join(expired)} is over"
    is_passed = len(counted_drops) <= allowed_count
    next_step = "" if is_passed else "look at these queries side by side (rankgate compare --query ID)"
    return Outcome("pass" if is_passed else "fail", reason, next_step, n=n, queries=queries)


def _statuses_of_resamples(rule: Rule, evidence: Evidence, places: NDArray[np.int64]) -> NDArray[np.str_]:
    """The status of each resample; a query counts as often as it is drawn."""
    table = evidence.queries(rule["metric"], rule.slice)
    excused, _ = _split_exceptions(rule["allow"] or [], evidence.terms.today)
    dropped = (pl.col("gain") < -rule["max_drop"] - ROUNDING) & ~pl.col("query_id").is_in(list(excused))
    is_counted = table.select(dropped.alias("counted"))["counted"].to_numpy()
    return np.where(is_counted[places].sum(axis=0) <= rule["at_most"], "pass", "fail")


def _drop_verb(lower: bool, count: int) -> str:  # noqa: FBT001 - of the metric
    word = "rise" if lower else "drop"
    return f"{word}s" if count == 1 else word


def _split_exceptions(allow: list[Any], today: str) -> tuple[set[str], list[str]]:
    """Excused queries, and queries with an expired exception."""
    excused, expired = set(), []
    for exception in allow:
        query, until = (
            (exception, "") if isinstance(exception, str) else (exception["query"], str(exception["until"]))
        )
        if until and today > until:
            expired.append(query)
        else:
            excused.add(query)
    return excused, expired


def _exception_problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The problem of the exceptions; None if they are right."""
    if all(isinstance(exception, str) or _is_exception(exception) for exception in values["allow"] or []):
        return None
    return 'an exception is a query id or {query = "q7", until = "2026-12-31"}.', "allow"


def _is_exception(exception: object) -> bool:
    """True if the value has a query and a day."""
    if not isinstance(exception, dict) or set(exception) != {"query", "until"}:
        return False
    try:
        date.fromisoformat(str(exception["until"]))
    except ValueError:
        return False
    return isinstance(exception["query"], str)


PER_QUERY_RULE = RuleKind(
    "per_query",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter(
            "max_drop",
            "number",
            "the largest loss of one query; a rise where less is better",
            required=True,
            range=Range(0.0),
        ),
        Parameter("at_most", "int", "the number of queries that may lose more", 0, range=Range(0)),
        Parameter(
            "allow", "list", 'excused queries, each with its last day: {query = "q7", until = "2026-12-31"}'
        ),
    ),
    decide_per_query,
    title="no query, or at most a given number, drops by more than a limit",
    sliced=True,
    needs=frozenset({"values"}),
    check=_exception_problem,
    difference="max_drop",
    limits="drop",
    redrawn=_statuses_of_resamples,
)


_QUERY = Parameter("query", "text", "the id of the query, judged or not", required=True)
_DOC = Parameter("doc", "text", "the id of the document", required=True)
_DEPTH_ADVICE = "set a larger depth under [gate] of the policy, or check the ids"


def must_have(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if the document is among the first."""
    rank = _rank(rule["query"], rule["doc"], evidence)
    is_passed = rank is not None and rank <= rule["within"]
    rank_text = f"at rank {rank}" if rank else f"not among the first {evidence.comparison.depth}"
    reason = f"{rule['doc']} is {rank_text} for {rule['query']}; it must be within {rule['within']}"
    return _document_outcome(rule, evidence, reason, good=is_passed)


def must_not_have(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if the document is not among the first."""
    rank = _rank(rule["query"], rule["doc"], evidence)
    is_passed = rank is None or rank > rule["within"]
    rank_text = f"at rank {rank}" if rank else f"not among the first {evidence.comparison.depth}"
    reason = f"{rule['doc']} is {rank_text} for {rule['query']}; it must not be within {rule['within']}"
    return _document_outcome(rule, evidence, reason, good=is_passed)


def order(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if one document is above another; inconclusive beyond the depth of the lists."""
    upper_rank, lower_rank = (_rank(rule["query"], rule[name], evidence) for name in ("above", "below"))
    not_found = f"not among the first {evidence.comparison.depth}"
    rank_texts = [
        f"{rule[name]} is {f'at rank {rank}' if rank else not_found}"
        for name, rank in (("above", upper_rank), ("below", lower_rank))
    ]
    reason = f"for {rule['query']} {' and '.join(rank_texts)}; {rule['above']} must be above"
    outcome = _document_outcome(
        rule, evidence, reason, good=upper_rank is not None and (not lower_rank or upper_rank < lower_rank)
    )
    if upper_rank is None and lower_rank is None and outcome.n:
        return replace(outcome, status="inconclusive", next=_DEPTH_ADVICE)
    return outcome


def _rank(query: str, doc: str, evidence: Evidence) -> int | None:
    candidate_lists = evidence.comparison.lists.filter(pl.col("system") == "candidate")
    for table in (candidate_lists, evidence.inputs.unjudged_lists):
        if table is not None:
            ranks = table.filter((pl.col("query_id") == query) & (pl.col("doc_id") == doc))["rank"]
            if len(ranks):
                return int(ranks[0])
    return None


def _document_outcome(rule: Rule, evidence: Evidence, reason: str, *, good: bool) -> Outcome:
    result = evidence.comparison
    tables = (result.queries, result.lists, evidence.inputs.unjudged_lists)
    if not any(table is not None and rule["query"] in table["query_id"] for table in tables):
        reason = f"query {rule['query']} is neither judged nor in the candidate's run"
        return Outcome("inconclusive", reason, "check its id", n=0)
    advice = f"look at it side by side (rankgate compare --query {rule['query']})"
    return Outcome("pass" if good else "fail", reason, "" if good else advice, n=1, queries=(rule["query"],))


def _within_parameter(help_text: str) -> Parameter:
    return Parameter("within", "int", help_text, 10, range=Range(1))


MUST_HAVE = RuleKind(
    "must_have",
    (_QUERY, _DOC, _within_parameter("the largest allowed rank")),
    must_have,
    title="a document is among the first of a query",
    depth=("within",),
)
MUST_NOT_HAVE = RuleKind(
    "must_not_have",
    (_QUERY, _DOC, _within_parameter("the largest forbidden rank")),
    must_not_have,
    title="a document is not among the first of a query",
    depth=("within",),
)
ORDER = RuleKind(
    "order",
    (
        _QUERY,
        Parameter("above", "text", "the document that must be above", required=True),
        Parameter("below", "text", "the document that must be below, or not at all", required=True),
    ),
    order,
    title="one document is above another",
)
