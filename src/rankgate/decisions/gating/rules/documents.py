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
_DEEPER = "say a larger depth in [gate], or see whether the ids are right"


def must_have(rule: Rule, evidence: Evidence) -> Outcome:
    """The document is among the first."""
    rank = _rank(rule["query"], rule["doc"], evidence)
    good = rank is not None and rank <= rule["within"]
    where = f"at rank {rank}" if rank else f"not among the first {evidence.comparison.depth}"
    reason = f"{rule['doc']} is {where} for {rule['query']}; it must be within {rule['within']}"
    return _ended(rule, evidence, reason, good=good)


def must_not_have(rule: Rule, evidence: Evidence) -> Outcome:
    """The document is not among the first."""
    rank = _rank(rule["query"], rule["doc"], evidence)
    good = rank is None or rank > rule["within"]
    where = f"at rank {rank}" if rank else f"not among the first {evidence.comparison.depth}"
    reason = f"{rule['doc']} is {where} for {rule['query']}; it must not be within {rule['within']}"
    return _ended(rule, evidence, reason, good=good)


def order(rule: Rule, evidence: Evidence) -> Outcome:
    """One document is above another; beyond the depth of the lists nobody can tell."""
    first, then = (_rank(rule["query"], rule[name], evidence) for name in ("above", "below"))
    deep = f"not among the first {evidence.comparison.depth}"
    items = [
        f"{rule[name]} is {f'at rank {rank}' if rank else deep}"
        for name, rank in (("above", first), ("below", then))
    ]
    reason = f"for {rule['query']} {' and '.join(items)}; {rule['above']} must be above"
    ended = _ended(rule, evidence, reason, good=first is not None and (not then or first < then))
    if first is None and then is None and ended.n:
        return replace(ended, status="inconclusive", next=_DEEPER)
    return ended


def _rank(query: str, doc: str, evidence: Evidence) -> int | None:
    own = evidence.comparison.lists.filter(pl.col("system") == "candidate")
    for table in (own, evidence.inputs.unjudged_lists):
        if table is not None:
            found = table.filter((pl.col("query_id") == query) & (pl.col("doc_id") == doc))["rank"]
            if len(found):
                return int(found[0])
    return None


def _ended(rule: Rule, evidence: Evidence, reason: str, *, good: bool) -> Outcome:
    result = evidence.comparison
    tables = (result.queries, result.lists, evidence.inputs.unjudged_lists)
    if not any(table is not None and rule["query"] in table["query_id"] for table in tables):
        reason = f"query {rule['query']} is neither judged nor in the candidate's run"
        return Outcome("inconclusive", reason, "see whether its id is right", n=0)
    look = f"look at it side by side (rankgate compare --query {rule['query']})"
    return Outcome(
        "pass" if good else "fail", reason, "" if good else look, n=1, queries=(rule["query"],)
    )


def _within(about: str) -> Parameter:
    return Parameter("within", "int", about, 10, range=Range(1))


MUST_HAVE = RuleKind(
    "must_have",
    (_QUERY, _DOC, _within("the last rank at which it may be")),
    must_have,
    title="a document is among the first of a query",
    depth=("within",),
)
MUST_NOT_HAVE = RuleKind(
    "must_not_have",
    (_QUERY, _DOC, _within("the last rank at which it must not be")),
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
