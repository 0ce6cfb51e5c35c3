"""How far runs are judged, and how raters answer hidden questions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.store.kept import runs
from rankgate.store.rating import ratings, tasks
from rankgate.workspace.web.replies import Page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import Asked

DEPTHS = (1, 3, 5, 10, 20)
_PAIR = ["query_id", "doc_id"]


def page(asked: Asked) -> Page:
    """The share of each run's first documents that somebody graded, and answers to known grades."""
    project = asked.project.id
    with asked.store.read() as connection:
        known = graded(connection, project)
        stored = [(e.name, runs.rankings(e, asked.store.blobs).table)
                  for e in runs.listed(connection, project)]  # fmt: skip
        golds = tasks.golds(connection, project)
    rows = [
        {
            "run": name,
            "depth": depth,
            "judged": share,
            "documents": documents,
            "queries": table["query_id"].n_unique(),
        }
        for name, table in stored
        for depth, share, documents in _shares(table, known)
    ]
    data = {"project": asked.project.name, "coverage": rows, "depths": list(DEPTHS),
            "gold": _accuracy(golds)}  # fmt: skip
    return Page("coverage.html", data)


def graded(connection: Connection, project: int) -> pl.DataFrame:
    """The pairs of a project that somebody graded."""
    rows = ratings.graded_pairs(connection, project)
    return pl.DataFrame(rows, schema=dict.fromkeys(_PAIR, pl.String), orient="row")


def _shares(table: pl.DataFrame, known: pl.DataFrame) -> list[tuple[int, float, int]]:
    ranked = table.select(
        *_PAIR, rank=pl.col("score").rank("ordinal", descending=True).over("query_id")
    ).join(known.with_columns(known=pl.lit(value=True)), on=_PAIR, how="left")
    found = []
    for depth in DEPTHS:
        top = ranked.filter(pl.col("rank") <= depth)
        share = float(top["known"].fill_null(value=False).mean() or 0)  # type: ignore[arg-type]
        found.append((depth, share, len(top)))
    return found


def _accuracy(known: list[tuple[str, float, float | None]]) -> list[dict[str, Any]]:
    """How many known grades each rater found, and how far off they were on average."""
    by_rater: dict[str, list[tuple[float, float | None]]] = defaultdict(list)
    for rater, gold, grade in known:
        by_rater[rater].append((gold, grade))
    rows = []
    for rater, answers in by_rater.items():
        off = [abs(grade - gold) for gold, grade in answers if grade is not None]
        right = sum(grade == gold for gold, grade in answers)
        rows.append({"rater": rater, "answers": len(answers), "right": right,
                     "share": right / len(answers),
                     "off": sum(off) / len(off) if off else None})  # fmt: skip
    return rows
