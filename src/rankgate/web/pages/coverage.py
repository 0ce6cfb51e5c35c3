"""How far runs are judged, how raters answer hidden questions, and what to judge next."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.errors import InputError
from rankgate.judging.pooling.pool import pool
from rankgate.store.kept import judgments, runs
from rankgate.store.rating import batches, ratings, tasks
from rankgate.web.replies import Done, Page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.web.asked import Asked

DEPTHS = (1, 3, 5, 10, 20)
_PAIR = ["query_id", "doc_id"]


def page(asked: Asked) -> Page:
    """The share of each run's first documents that somebody graded, and answers to known grades."""
    project = asked.project.id
    with asked.store.read() as connection:
        graded = _graded(connection, project)
        stored = [(e.name, runs.rankings(e, asked.store.blobs).table)
                  for e in runs.listed(connection, project)]  # fmt: skip
        known = tasks.golds(connection, project)
    rows = [
        {"run": name, "depth": depth, "judged": share}
        for name, table in stored
        for depth, share in _shares(table, graded)
    ]
    data = {"project": asked.project.name, "coverage": rows, "depths": list(DEPTHS),
            "gold": _accuracy(known)}  # fmt: skip
    return Page("coverage.html", data)


def _graded(connection: Connection, project: int) -> pl.DataFrame:
    try:
        table = ratings.table(connection, project).table
    except InputError:
        return pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})
    return table.filter(pl.col("grade").is_not_null()).select(_PAIR).unique()


def _shares(table: pl.DataFrame, graded: pl.DataFrame) -> list[tuple[int, float]]:
    ranked = table.select(
        *_PAIR, rank=pl.col("score").rank("ordinal", descending=True).over("query_id")
    ).join(graded.with_columns(known=pl.lit(value=True)), on=_PAIR, how="left")
    found = []
    for depth in DEPTHS:
        top = ranked.filter(pl.col("rank") <= depth)
        found.append((depth, float(top["known"].fill_null(value=False).mean() or 0)))  # type: ignore[arg-type]
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


def add_next(asked: Asked) -> Done:
    """A batch of what the runs rank first and nobody graded, the most influential first."""
    given = asked.values
    project, blobs = asked.project.id, asked.store.blobs
    with asked.store.read() as connection:
        stored = [runs.rankings(e, blobs) for e in runs.listed(connection, project)]
        graded = _graded(connection, project)
        made = judgments.listed(connection, project)
        known = judgments.read(connection, blobs, project, made[-1].name) if made else None
    if not stored:
        raise InputError("there is no run in the project; add one.", code="missing-input")
    order = given["order"] or ("influence" if known is not None and len(stored) > 1 else "rank")
    found = pool(stored, qrels=known, depth=given["depth"] or 10, order=order).table
    found = found.join(graded, on=_PAIR, how="anti", maintain_order="left")
    if given["most"]:
        found = found.head(given["most"])
    with asked.store.write() as connection:
        batch = batches.add(
            connection, project, given["name"], strategy=given["strategy"] or "2",
            priority=given["priority"] or 0, created_by=asked.user.id,
        )  # fmt: skip
        count = batches.add_pairs(connection, batch, found)
        asked.record(connection, "batch.add", batch.name, tasks=count, order=order)
    return Done(asked.at(), {"batch": batch.id, "tasks": count})
