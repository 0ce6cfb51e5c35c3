"""The table of events, one row for each thing that was logged, and goals of sessions.

Goals are declared by events, with values and in combination.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, or_
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import ibis.expr.types as ir


COLUMNS: Mapping[str, str] = {
    "event_id": "VARCHAR",
    "at": "TIMESTAMP WITH TIME ZONE",
    "kind": "VARCHAR",
    "action": "VARCHAR",
    "query_event_id": "VARCHAR",
    "query": "VARCHAR",
    "session": "VARCHAR",
    "user": "VARCHAR",
    "doc_id": "VARCHAR",
    "rank": "INTEGER",
    "value": "DOUBLE",
    "variant": "VARCHAR",
    "page": "INTEGER",
    "latency_ms": "DOUBLE",
    "cache_hit": "BOOLEAN",
    "state": "VARCHAR",
    "attributes": "VARCHAR",
    "source_file": "VARCHAR",
    "source_line": "BIGINT",
}
"""Name and SQL type of every column; ``attributes`` is JSON, ``rank`` counts from 1."""

_IBIS_TYPE_OF_SQL = {
    "VARCHAR": "string",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
    "TIMESTAMP WITH TIME ZONE": "timestamp('UTC')",
}
IBIS_TYPES: Mapping[str, str] = {name: _IBIS_TYPE_OF_SQL[kind] for name, kind in COLUMNS.items()}
"""Name and type in Ibis of every column."""


def is_event_schema(names: Iterable[str]) -> bool:
    """True if a table has the columns of events, so that it needs no mapping."""
    return {"kind", "at", "query_event_id"} <= {*names}


KINDS = ("search", "impression", "click", "dwell", "add_to_cart", "purchase", "refund", "other")
"""The kinds of events."""

PRICED = "priced purchase"
"""What KPIs of revenue need: a log of purchases may have no prices."""

COLUMN_MEANINGS: Mapping[str, str] = {
    "event_id": "the event's id; its file and line where the log has none",
    "at": "when it happened, in UTC; null where the log has no readable time",
    "kind": f"one of {', '.join(KINDS)}",
    "action": "the action's name in the log",
    "query_event_id": "the search that it belongs to",
    "query": "the words of the search",
    "session": "the visit",
    "user": "the user, or the browser where the user is unknown",
    "doc_id": "the document",
    "rank": "where the document was shown, from 1",
    "value": "money of a purchase or refund, seconds of a dwell, the answer of a survey",
    "variant": "the arm of an experiment",
    "page": "the page of the results, from 1",
    "latency_ms": "how long the search took",
    "cache_hit": "whether the search was answered by a cache",
    "state": "of a search: ok, zero (no results) or failed",
    "attributes": "everything else, as JSON",
    "source_file": "the file",
    "source_line": "its line; of CSV the record, of Parquet the row",
}
"""The meaning of every column."""

ACTIONS: Mapping[str, str] = {
    **dict.fromkeys(("search", "query", "ubi_query"), "search"),
    **dict.fromkeys(("impression", "impressions", "on_impression", "shown", "show"), "impression"),
    **dict.fromkeys(("click", "click_through", "item_click", "product_click", "result_click"), "click"),
    **dict.fromkeys(("dwell", "page_exit"), "dwell"),
    **dict.fromkeys(("add_to_cart", "addtocart", "cart", "add_cart"), "add_to_cart"),
    **dict.fromkeys(("purchase", "transaction", "buy", "order"), "purchase"),
    **dict.fromkeys(("refund", "return", "returned"), "refund"),
}
"""The kinds of usual actions; a mapping can add more."""

UBI_ACTIONS: Mapping[str, str] = {**ACTIONS, **dict.fromkeys(("search", "query"), "other")}
"""In UBI a search is a record of the queries file; ``search`` events come with every keystroke."""

SLICES = {
    "day": ("searches", "clicks", "sessions", "users", "people", "events"),
    "variant": ("searches", "clicks", "sessions", "users", "people", "events"),
    "application": ("searches", "clicks", "sessions"),
    "band": ("searches",),
    "position": ("events",),
    "page": ("searches",),
}
"""The columns that divide figures, and the tables that have them; band is query frequency."""

DIMENSION = "dimension "
"""The beginning of the name of a dimension among fields of a mapping."""

SESSION_PAUSE_SECONDS = 1800
"""Seconds without an event after which a session ends, where the log has no session ids."""

SURVEY_PATTERN = "survey|satisf|rating|csat|feedback"
"""A regular expression of actions that are answers of surveys; their kind is ``other``."""


_OPERATORS = {">=": ge, "<=": le, ">": gt, "<": lt, "=": eq}
_RULE = re.compile(r"([^<>=]+?)\s*(?:(>=|<=|>|<|=)\s*(-?\d+(?:\.\d+)?))?")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


@dataclass(frozen=True)
class GoalCondition:
    """A condition of a goal: an event, and a value if needed.

    Attributes:
        name: its action or kind, in lower case.
        sign: the comparison; empty if any value matches.
        value: the value to compare with.
    """

    name: str
    sign: str = ""
    value: float = 0.0

    def is_met(self, rows: ir.Table) -> Any:  # noqa: ANN401 - a column of Ibis
        """True for each event that meets this condition."""
        has_name = (rows.action.lower() == self.name) | (rows.kind == self.name)
        if not self.sign:
            return has_name
        return has_name & _OPERATORS[self.sign](rows.value, self.value).fill_null(False)  # noqa: FBT003


DEFAULT_GOALS = ((GoalCondition("add_to_cart"),), (GoalCondition("purchase"),))
"""The goals by default: something is put into the cart, or bought."""


def parse_goals(rules: Sequence[str]) -> tuple[tuple[GoalCondition, ...], ...]:
    """Read rules such as ``purchase``, ``dwell>=30`` or ``click and survey>=4``: any will do.

    >>> [[order, click]] = parse_goals(["Order >= 20 and click"])
    >>> order, click.name
    (GoalCondition(name='order', sign='>=', value=20.0), 'click')

    Raises:
        UsageError: a rule that cannot be read.
    """
    return tuple(tuple(map(_parse_condition, _AND.split(rule))) for rule in rules) or DEFAULT_GOALS


def _parse_condition(rule: str) -> GoalCondition:
    match = _RULE.fullmatch(rule.strip())
    if not match:
        problem = f"{rule!r} is not a goal; write an action, as in purchase, dwell>=30, or a and b."
        raise UsageError(problem, code="invalid-goal")
    name, sign, value = match.groups()
    return GoalCondition(name.strip().lower(), sign or "", float(value or 0))


def goal_times(rows: ir.Table, rules: Sequence[Sequence[GoalCondition]]) -> dict[str, Any]:
    """Map columns of a session to the times when each part of each goal was first reached."""
    return {
        f"goal_{goal_index}_{part_index}": rows.at.min(where=condition.is_met(rows))
        for goal_index, parts in enumerate(rules)
        for part_index, condition in enumerate(parts)
    }


def add_goal_columns(sessions: ir.Table, rules: Sequence[Sequence[GoalCondition]]) -> ir.Table:
    """The sessions with ``done`` and ``done_at`` in place of the columns of `goal_times`."""
    import ibis

    goals_reached, times = [], []
    for goal_index, parts in enumerate(rules):
        firsts = [sessions[f"goal_{goal_index}_{part_index}"] for part_index in range(len(parts))]
        is_reached = reduce(and_, [time.notnull() for time in firsts])
        last = firsts[0] if len(firsts) == 1 else ibis.greatest(*firsts)
        goals_reached.append(is_reached)
        times.append(ibis.cases((is_reached, last), else_=None))
    latest_time = ibis.timestamp("9999-01-01", timezone="UTC")
    first = times[0] if len(times) == 1 else ibis.least(*(time.fill_null(latest_time) for time in times))
    with_goals = sessions.mutate(done=reduce(or_, goals_reached), done_at=first)
    return with_goals.drop(*(column for column in sessions.columns if column.startswith("goal_")))
