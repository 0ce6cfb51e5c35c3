"""No single query, or only few, may drop far."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import SLACK
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_SHOWN = 5


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Count the queries that drop too far; exceptions count until their day is over."""
    table = evidence.queries(rule["metric"], rule.slice)
    excused, expired = _allowed(rule["allow"] or [], evidence.terms.today)
    lower = evidence.lower(rule["metric"])
    dropped = table.filter(pl.col("gain") < -rule["max_drop"] - SLACK)
    counted = dropped.filter(~pl.col("query_id").is_in(list(excused)))
    queries = tuple(counted["query_id"].to_list())
    most, n = rule["at_most"], len(table)
    if not n:
        where = f" with {rule.slice}" if rule.slice else ""
        return Outcome(
            "inconclusive",
            f"no query{where} has a value on both sides",
            "see whether the tags are right",
            n=0,
        )
    shown = ", ".join(
        f"{row['query_id']} ({row['delta']:+.3f})" for row in counted.head(_SHOWN).to_dicts()
    )
    more = ", …" if len(counted) > _SHOWN else ""
    reason = (
        f"{len(counted)} of {n} queries {_falls(lower, len(counted))} by more than "
        f"{number(rule['max_drop'])} in {rule['metric']}, at most {most} may"
        + (f": {shown}{more}" if len(counted) else "")
    )
    if len(dropped) > len(counted):
        reason += f"; {len(dropped) - len(counted)} excused"
    if expired:
        reason += f"; the exception for {', '.join(expired)} is over"
    good = len(counted) <= most
    after = "" if good else "look at these queries side by side (rankgate compare --query ID)"
    return Outcome("pass" if good else "fail", reason, after, n=n, queries=queries)


def _redrawn(rule: Rule, evidence: Evidence, places: NDArray[np.int64]) -> NDArray[np.str_]:
    """The status of each resample, a query counted as often as it is drawn."""
    table = evidence.queries(rule["metric"], rule.slice)
    excused, _ = _allowed(rule["allow"] or [], evidence.terms.today)
    dropped = (pl.col("gain") < -rule["max_drop"] - SLACK) & ~pl.col("query_id").is_in(
        list(excused)
    )
    counted = table.select(dropped.alias("counted"))["counted"].to_numpy()
    return np.where(counted[places].sum(axis=0) <= rule["at_most"], "pass", "fail")


def _falls(lower: bool, count: int) -> str:  # noqa: FBT001 - of the metric
    word = "rise" if lower else "drop"
    return f"{word}s" if count == 1 else word


def _allowed(allow: list[Any], today: str) -> tuple[set[str], list[str]]:
    """Excused queries, and those whose exception is over."""
    excused, expired = set(), []
    for each in allow:
        query, until = (each, "") if isinstance(each, str) else (each["query"], str(each["until"]))
        if until and today > until:
            expired.append(query)
        else:
            excused.add(query)
    return excused, expired


def _check(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is wrong with the exceptions."""
    if all(isinstance(each, str) or _is_exception(each) for each in values["allow"] or []):
        return None
    return 'an exception is a query id or {query = "q7", until = "2026-12-31"}.', "allow"


def _is_exception(each: object) -> bool:
    """Whether it names a query and a day."""
    if not isinstance(each, dict) or set(each) != {"query", "until"}:
        return False
    try:
        date.fromisoformat(str(each["until"]))
    except ValueError:
        return False
    return isinstance(each["query"], str)


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
    of_values=True,
    check=_check,
    difference="max_drop",
    limits="drop",
    redrawn=_redrawn,
)
