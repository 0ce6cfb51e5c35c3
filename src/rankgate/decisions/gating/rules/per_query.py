"""No single query, or only few, may drop far."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import ROUNDING
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import short_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_MAX_QUERIES = 5


def decide(rule: Rule, evidence: Evidence) -> Outcome:
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
            "inconclusive",
            f"no query{slice_label} has a value on both sides",
            "see whether the tags are right",
            n=0,
        )
    drop_texts = ", ".join(
        f"{row['query_id']} ({row['delta']:+.3f})"
        for row in counted_drops.head(_MAX_QUERIES).to_dicts()
    )
    ellipsis = ", …" if len(counted_drops) > _MAX_QUERIES else ""
    reason = (
        f"{len(counted_drops)} of {n} queries {_drop_verb(lower, len(counted_drops))} by more than "
        f"{short_number(rule['max_drop'])} in {rule['metric']}, at most {allowed_count} may"
        + (f": {drop_texts}{ellipsis}" if len(counted_drops) else "")
    )
    if len(dropped) > len(counted_drops):
        reason += f"; {len(dropped) - len(counted_drops)} excused"
    if expired:
        reason += f"; the exception for {', '.join(expired)} is over"
    is_passed = len(counted_drops) <= allowed_count
    next_step = (
        "" if is_passed else "look at these queries side by side (rankgate compare --query ID)"
    )
    return Outcome("pass" if is_passed else "fail", reason, next_step, n=n, queries=queries)


def _statuses_of_resamples(
    rule: Rule, evidence: Evidence, places: NDArray[np.int64]
) -> NDArray[np.str_]:
    """The status of each resample; a query counts as often as it is drawn."""
    table = evidence.queries(rule["metric"], rule.slice)
    excused, _ = _split_exceptions(rule["allow"] or [], evidence.terms.today)
    dropped = (pl.col("gain") < -rule["max_drop"] - ROUNDING) & ~pl.col("query_id").is_in(
        list(excused)
    )
    is_counted = table.select(dropped.alias("counted"))["counted"].to_numpy()
    return np.where(is_counted[places].sum(axis=0) <= rule["at_most"], "pass", "fail")


def _drop_verb(lower: bool, count: int) -> str:  # noqa: FBT001 - of the metric
    word = "rise" if lower else "drop"
    return f"{word}s" if count == 1 else word


def _split_exceptions(allow: list[Any], today: str) -> tuple[set[str], list[str]]:
    """Excused queries, and those whose exception has expired."""
    excused, expired = set(), []
    for exception in allow:
        query, until = (
            (exception, "")
            if isinstance(exception, str)
            else (exception["query"], str(exception["until"]))
        )
        if until and today > until:
            expired.append(query)
        else:
            excused.add(query)
    return excused, expired


def _exception_problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The problem of the exceptions; None if they are right."""
    if all(
        isinstance(exception, str) or _is_exception(exception)
        for exception in values["allow"] or []
    ):
        return None
    return 'an exception is a query id or {query = "q7", until = "2026-12-31"}.', "allow"


def _is_exception(exception: object) -> bool:
    """True if it has a query and a day."""
    if not isinstance(exception, dict) or set(exception) != {"query", "until"}:
        return False
    try:
        date.fromisoformat(str(exception["until"]))
    except ValueError:
        return False
    return isinstance(exception["query"], str)


KIND = RuleKind(
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
        Parameter("at_most", "int", "how many queries may lose more", 0, range=Range(0)),
        Parameter(
            "allow",
            "list",
            'excused queries, each with its last day: {query = "q7", until = "2026-12-31"}',
        ),
    ),
    decide,
    title="no query, or at most a given number, drops by more than a limit",
    sliced=True,
    needs=frozenset({"values"}),
    check=_exception_problem,
    difference="max_drop",
    limits="drop",
    redrawn=_statuses_of_resamples,
)
