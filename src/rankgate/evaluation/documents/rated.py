"""Values made of single raters' grades: each way with its judgments, then its evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.forms import as_json
from rankgate.present.grid import printable
from rankgate.present.numbers import UNDEFINED
from rankgate.present.write import rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.judging.resolution.from_ratings import ToolPart


def render_parts(parts: Sequence[ToolPart], form: str, *, per_query: bool = False) -> str:
    """Every part in one of the evaluation's forms."""
    if form == "json":
        items = [part.to_dict(per_query=per_query) for part in parts]
        return as_json.dumped({"schema_version": 1, "parts": items})
    shown = [rendered(part.evaluation, form, per_query=per_query) for part in parts]
    if form == "csv":
        heads = [each.split("\n", 1)[0] for each in shown]
        rest = [each.split("\n", 1)[1] for each in shown]
        return f"{heads[0]}\n{''.join(rest)}" if len(set(heads)) == 1 else "\n".join(shown)
    sign = "% " if form == "latex" else ""
    heads = ["\n".join(f"{sign}{line}" for line in (way(part), *changes(part))) for part in parts]
    return "\n".join(f"{head}\n\n{items}" for head, items in zip(heads, shown, strict=True))


def changes(part: ToolPart) -> list[str]:
    """How far each further run is from the first, in whole per cent, a line a run."""
    values: dict[str, list[str]] = {}
    for each in part.changes:
        shown = UNDEFINED if each["per_cent"] is None else f"{each['per_cent']:+d} %"
        values.setdefault(each["run"], []).append(f"{each['metric']} {shown}")
    first = part.evaluation.runs[0].run
    return [
        f"{printable(run)} against {printable(first)}: {', '.join(words)}"
        for run, words in values.items()
    ]


def way(part: ToolPart) -> str:
    """How the judgments of a part were made."""
    made_by = part.made_by
    carried = f" after {made_by['transformer']}" if "transformer" in made_by else ""
    scale = f"on the {part.way.scale} scale, " if part.way.scale else ""
    return f"judgments of single ratings, {scale}by {made_by['rule']}{carried}"
