"""Saved baselines: what they hold, their noise, and who looked at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.forms import as_json
from rankgate.present.forms.as_text import fitted
from rankgate.present.grid import Grid
from rankgate.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.gating.baselines import Saved

FORMS = ("text", "json")
"""The forms of baselines, by the name that ``--format`` takes."""

_LOOKS = 10


def render(saved: Sequence[Saved], form: str, *, short: bool = False) -> str:
    """Baselines in one of `FORMS`; in short, a line each."""
    items = [each.to_dict() for each in saved]
    if form == "json":
        return as_json.dumped({"schema_version": 1, "baselines": items})
    if short:
        rows = tuple(
            (
                each["name"],
                each["run"]["name"],
                str(each["queries"]),
                each["convention"]["name"],
                each["qrels"]["sha256"][:12],
                str(len(each["looks"])),
            )
            for each in items
        )
        head = ("name", "run", "queries", "convention", "judgments", "looks")
        grid = Grid(head, rows, frozenset({0, 1, 3, 4}))
        return f"{fitted(grid)}\n" if rows else "no baseline is saved here\n"
    parts = []
    for each in items:
        parts.append(
            f"{each['name']}: run {each['run']['name']}, {each['queries']} queries, convention "
            f"{each['convention']['name']}, judgments {each['qrels']['sha256'][:12]}\n"
            f"in {each['file']}"
        )
        means = tuple(
            (metric, decimal(mean), decimal(each["noise"].get(metric)))
            for metric, mean in each["means"].items()
        )
        parts.append(fitted(Grid(("metric", "mean", "noise"), means)))
        if each["looks"]:
            looks = tuple(
                (
                    look.get("at", UNDEFINED),
                    look.get("candidate", UNDEFINED),
                    look.get("verdict", UNDEFINED),
                )
                for look in each["looks"][-_LOOKS:]
            )
            table = Grid(("at", "candidate", "verdict"), looks, frozenset({0, 1, 2}))
            count = len(each["looks"])
            shown = "1 look" if count == 1 else f"{count} looks, the last {len(looks)}"
            parts.append(f"{shown}\n{fitted(table)}")
    return "\n\n".join(parts) + "\n"
