"""The parts of a report that tell of a verdict, from its JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present.document import SIGNS, Points, Section, Table
from rankgate.present.figures import signed
from rankgate.present.grid import Grid
from rankgate.present.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORST = 20


def verdict_section(
    told: Mapping[str, Any], place: str = "", known: tuple[str, ...] = ()
) -> Section:
    """How each rule ended, why, and what holds for all of it, but for what is said elsewhere."""
    ended = [
        (f"{SIGNS.get(rule['status'], '')} {rule['status']}", rule["id"], rule["tier"],
         rule["reason"], rule["next"])
        for rule in told["rules"]
    ]  # fmt: skip
    settle = any(row[-1] for row in ended)
    head = ("status", "rule", "tier", "why", "next")
    rows = tuple(row if settle else row[:-1] for row in ended)
    grid = Grid(head if settle else head[:-1], rows, frozenset(range(5)))
    looks = [f"This is look {told['looks']} at these queries."] if told["looks"] else []
    notes = Points((*(note for note in told["notes"] if note not in known), *looks))
    return Section(f"verdict{place}", "Rules", (Table("", grid), notes))


def worst_section(told: Mapping[str, Any], place: str = "") -> list[Section]:
    """The queries that lost most, each once, with the metric in which it lost most."""
    rows: dict[str, tuple[str, ...]] = {}
    for row in told["queries"]:
        values = (decimal(row["baseline"]), decimal(row["candidate"]), signed(row["delta"]))
        rows.setdefault(row["query_id"], (row["query_id"], row["metric"], *values))
    if not rows:
        return []
    head = ("query", "metric", told["baseline"], told["candidate"], "delta")
    grid = Grid(head, tuple(rows.values())[:_WORST], frozenset({0, 1}))
    heading = f"{len(grid.rows)} of {len(rows):,} that lost"
    return [Section(f"worst{place}", "Worst queries", (Table(heading, grid),))]
