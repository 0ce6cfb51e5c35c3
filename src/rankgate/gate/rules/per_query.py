"""``per_query``: few queries, or none, lose much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.gate.declare import Finding, Kind, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule

_SHOWN = 5


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Count the queries that lose more than ``max_drop``; those allowed today do not count."""
    settings = rule.settings
    metric, drop, most = settings["metric"], settings["max_drop"], settings["at_most"]
    table = evidence.queries(rule).drop_nulls("delta")
    n = table.height
    if not n:
        where = f" where {rule.slice}" if rule.slice else ""
        return Finding("inconclusive", f"No query{where} has {metric} on both sides.",
                       "Tag queries, or name another slice.", n=0)  # fmt: skip
    allowed = {each["query"] for each in settings["allow"] if each["until"] >= evidence.today}
    expired = {each["query"] for each in settings["allow"]} - allowed
    # equal in decimals is no loss beyond the limit, whatever the last bit says
    lost = table.filter(pl.col("delta") < -drop - 1e-12).sort("delta", "query_id")
    counted = lost.filter(~pl.col("query_id").is_in(sorted(allowed)))
    words = f"{counted.height} of {n} queries lose more than {drop:g} of {metric}"
    if named := ", ".join(
        f"{query} {delta:+.4f}"
        for query, delta in counted.select("query_id", "delta").head(_SHOWN).rows()
    ):
        words += f" ({named}{', …' if counted.height > _SHOWN else ''})"
    words += f"; {most} may."
    if spared := lost.height - counted.height:
        words += f" {spared} more {'is' if spared == 1 else 'are'} allowed for now."
    if late := sorted(expired & set(counted["query_id"].to_list())):
        words += f" The allowance of {', '.join(late)} has expired."
    worst = float(table["delta"].min() or 0.0)  # type: ignore[arg-type]
    if counted.height <= most:
        return Finding("pass", words, n=n, delta=worst, margin=drop)
    step = "Look at these queries, or allow them with a date until which they may."
    return Finding("fail", words, step, n=n, delta=worst, margin=drop)


KIND = Kind(
    "per_query",
    "At most so many queries lose more than so much.",
    (
        Parameter("metric", "string", "One of the policy's metrics.", required=True),
        Parameter("max_drop", "number", "The loss of one query that does not matter.",
                  required=True, low=0),
        Parameter("at_most", "integer", "So many queries may lose more.", default=0, low=0),
        Parameter("allow", "allow", "Queries that may lose until a date.", default=()),
    ),
    decide,
)  # fmt: skip
