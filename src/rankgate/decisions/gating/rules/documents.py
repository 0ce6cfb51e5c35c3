"""Assertions about single queries, as a behavioural test makes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_QUERY = Parameter("query", "text", "the id of the query, judged or not", required=True)
_DOC = Parameter("doc", "text", "the id of the document", required=True)
_DEPTH_ADVICE = "say a larger depth in [gate], or see whether the ids are right"


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
    reason = (
        f"{rule['doc']} is {rank_text} for {rule['query']}; it must not be within {rule['within']}"
    )
    return _document_outcome(rule, evidence, reason, good=is_passed)


def order(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if one document is above another; inconclusive beyond the depth of the lists."""
    upper_rank, lower_rank = (
        _rank(rule["query"], rule[name], evidence) for name in ("above", "below")
    )
    not_found = f"not among the first {evidence.comparison.depth}"
    rank_texts = [
        f"{rule[name]} is {f'at rank {rank}' if rank else not_found}"
        for name, rank in (("above", upper_rank), ("below", lower_rank))
    ]
    reason = f"for {rule['query']} {' and '.join(rank_texts)}; {rule['above']} must be above"
    outcome = _document_outcome(
        rule,
        evidence,
        reason,
        good=upper_rank is not None and (not lower_rank or upper_rank < lower_rank),
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
        return Outcome("inconclusive", reason, "see whether its id is right", n=0)
    advice = f"look at it side by side (rankgate compare --query {rule['query']})"
    return Outcome(
        "pass" if good else "fail", reason, "" if good else advice, n=1, queries=(rule["query"],)
    )


def _within_parameter(help_text: str) -> Parameter:
    return Parameter("within", "int", help_text, 10, range=Range(1))


MUST_HAVE = RuleKind(
    "must_have",
    (_QUERY, _DOC, _within_parameter("the last rank at which it may be")),
    must_have,
    title="a document is among the first of a query",
    depth=("within",),
)
MUST_NOT_HAVE = RuleKind(
    "must_not_have",
    (_QUERY, _DOC, _within_parameter("the last rank at which it must not be")),
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
