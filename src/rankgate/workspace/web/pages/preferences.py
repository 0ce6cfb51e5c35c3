"""Preferences: batches that ask which of two documents or lists is better, and the results."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.formulas import guarded_sheet
from rankgate.measurement.stats.paired import sign
from rankgate.measurement.stats.proportion import wilson
from rankgate.store.kept import runs
from rankgate.store.rating import batches, preferences, tasks
from rankgate.store.rating.batches import Side
from rankgate.workspace.web.pages.answering import COMPARES
from rankgate.workspace.web.pages.task_view import LISTED, rankings
from rankgate.workspace.web.pages.uploads import file_of
from rankgate.workspace.web.replies import Done, Page, Sent, not_found

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from rankgate.store.kept.runs import StoredRun
    from rankgate.store.rating.batches import Batch
    from rankgate.workspace.web.asked import Asked

_SHOWN = 200
_MOST = 200
_COLUMNS = {
    "query_id": ("query_id", "query", "qid"),
    "first": ("first", "doc_id", "left", "document"),
    "second": ("second", "other_doc_id", "right", "other"),
}
Sides = list[tuple[str, Side, Side]]


def add(asked: Asked) -> Done:
    """A batch of pairs: lists of two runs, documents at which they part, or those of a file."""
    given = asked.values
    project = asked.project.id
    names = [given["first"], given["second"]]
    with asked.store.read() as connection:
        two = [] if given["pairs"] else _two(connection, project, names)
    left_out = 0
    if given["pairs"] is not None:
        if given["kind"] == "lists":
            raise InputError("a file of pairs is of documents; choose two runs for lists.",
                             code="conflicting-options")  # fmt: skip
        with file_of(given["pairs"], asked.config.largest_unpacked) as place:
            sides = _of_file(place)
    else:
        sides, left_out = _of_runs(asked, two, given["kind"])
    random.Random(given["seed"] or 0).shuffle(sides)  # noqa: S311 - an order, no secret
    sides = sides[: given["most"] or _MOST]
    if not sides:
        raise InputError("there is nothing to compare: both lists begin alike.", code="empty-file")
    settings = {} if given["pairs"] else {"first": names[0], "second": names[1]}
    with asked.store.write() as connection:
        batch = batches.add(
            connection, project, given["name"], kind=given["kind"], settings=settings,
            strategy=given["strategy"] or "2", priority=given["priority"] or 0,
            deadline=given["deadline"], seed=given["seed"] or 0, created_by=asked.user.id,
        )  # fmt: skip
        count = batches.add_preferences(connection, batch, sides)
        asked.record(connection, "batch.add", batch.name, tasks=count, kind=batch.kind, **settings)
    return Done(asked.at("preferences"), {"batch": batch.id, "tasks": count, "alike": left_out})


def _two(connection: Connection, project: int, names: list[str | None]) -> list[StoredRun]:
    found = [runs.find(connection, project, each or "") for each in names]
    if None in found or names[0] == names[1]:
        raise InputError("choose two runs of the project, or send a file of pairs.",
                         code="missing-input")  # fmt: skip
    return [each for each in found if each is not None]


def _of_file(place: Path) -> Sides:
    """The pairs of a CSV file: ``query_id``, ``first``, ``second``."""
    try:
        table = pl.read_csv(place, infer_schema=False)
    except pl.exceptions.PolarsError:
        raise InputError("is not a CSV file.", source=place.name, code="invalid-syntax") from None
    lower = {each.lower(): each for each in table.columns}
    found = {ours: next((lower[each] for each in usual if each in lower), None)
             for ours, usual in _COLUMNS.items()}  # fmt: skip
    if missing := [ours for ours, theirs in found.items() if theirs is None]:
        problem = f"no column {missing[0]}; a file of pairs has query_id, first and second."
        raise InputError(problem, source=place.name, line=1, code="missing-column")
    rows = table.select(*(pl.col(theirs or "") for theirs in found.values())).drop_nulls().rows()
    return [(query, Side(one), Side(other)) for query, one, other in rows if one != other]


def _of_runs(asked: Asked, two: list[StoredRun], kind: str) -> tuple[Sides, int]:
    """For each query in both runs both lists, or the documents at the rank at which they part.

    Queries whose lists are alike are left out, and counted.
    """
    tops = [_tops(rankings(asked.store, each.id)) for each in two]
    sides: Sides = []
    shared = [query for query in tops[0] if query in tops[1]]
    for query in shared:
        one, other = (each[query] for each in tops)
        parted = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), None)
        if kind == "lists" and one != other:
            sides.append((query, Side(run=two[0].id), Side(run=two[1].id)))
        elif kind == "documents" and parted is not None:
            sides.append((query, Side(parted[0]), Side(parted[1])))
    return sides, len(shared) - len(sides)


def _tops(table: pl.DataFrame) -> dict[str, list[str]]:
    """The first documents of each query."""
    found = (
        table.sort("score", descending=True, maintain_order=True)
        .group_by("query_id", maintain_order=True)
        .agg(pl.col("doc_id").head(LISTED))
        .sort("query_id")
    )
    return dict(found.iter_rows())


def page(asked: Asked) -> Page:
    """What raters preferred, batch by batch."""
    with asked.store.read() as connection:
        found = [e for e in batches.listed(connection, asked.project.id) if e.kind in COMPARES]
        stored = [each.name for each in runs.listed(connection, asked.project.id)]
        rows = [_batch(connection, each) for each in found]
    data = {"project": asked.project.name, "batches": rows, "runs": stored}
    return Page("preferences.html", data)


def _batch(connection: Connection, batch: Batch) -> dict[str, Any]:
    table = preferences.table(connection, batch.id)
    found = tasks.progress(connection, batch.project, batch.id)
    votes = _votes(table)
    return {
        "id": batch.id, "name": batch.name, "kind": batch.kind,
        "first": batch.settings.get("first"), "second": batch.settings.get("second"),
        "done": found.done, "open": found.open, "preferences": len(table),
        "outcome": _outcome(votes),
        "left": _left(table),
        "raters": _raters(table),
        "pairs": votes.sort("agree", descending=True, maintain_order=True).head(_SHOWN).to_dicts(),
    }  # fmt: skip


def _votes(table: pl.DataFrame) -> pl.DataFrame:
    """For each pair how many prefer each, and the margin."""
    sides = ("first", "second", "equal", "none")
    counted = table.group_by("task", "query_id", "first", "second", maintain_order=True).agg(
        *((pl.col("better") == each).sum().cast(pl.Int64).alias(f"for_{each}") for each in sides)
    )
    return counted.with_columns(
        margin=pl.col("for_first") - pl.col("for_second"),
        agree=(pl.max_horizontal("for_first", "for_second", "for_equal")
               / pl.max_horizontal(pl.sum_horizontal("for_first", "for_second", "for_equal"), 1)),
    )  # fmt: skip


def _outcome(votes: pl.DataFrame) -> dict[str, Any]:
    """Of how many pairs most prefer the first, with an interval and a sign test over pairs."""
    margin = votes["margin"].to_numpy().astype(np.float64)
    wins, losses = int((margin > 0).sum()), int((margin < 0).sum())
    decided = wins + losses
    found: dict[str, Any] = {
        "first": wins, "second": losses, "equal": len(votes) - decided, "share": None,
        "low": None, "high": None, "p_value": None,
    }  # fmt: skip
    if decided:
        low, high = wilson(np.array([float(wins)]), np.array([float(decided)]))
        found |= {"share": wins / decided, "low": float(low[0]), "high": float(high[0]),
                  "p_value": float(sign(margin[:, None]).p_value[0])}  # fmt: skip
    return found


def _left(table: pl.DataFrame) -> dict[str, Any]:
    """How often the side on the left was preferred: far from a half, raters look at the place."""
    chosen = table.filter(pl.col("better").is_in(["first", "second"]))
    if chosen.is_empty():
        return {"share": None, "low": None, "high": None, "choices": 0}
    count = int((chosen["better"] == chosen["on_left"]).sum())
    low, high = wilson(np.array([float(count)]), np.array([float(len(chosen))]))
    return {"share": count / len(chosen), "low": float(low[0]), "high": float(high[0]),
            "choices": len(chosen)}  # fmt: skip


def _raters(table: pl.DataFrame) -> list[dict[str, Any]]:
    """What each rater preferred, and how fast."""
    better = pl.col("better")
    return (
        table.group_by("rater")
        .agg(
            *((better == each).sum().alias(each) for each in ("first", "second", "equal", "none")),
            (better == pl.col("on_left")).sum().alias("left"),
            pl.col("seconds").median().alias("pace"),
        )
        .sort("rater")
        .to_dicts()
    )


def file(asked: Asked) -> Sent:
    """Every preference of a batch, one row each, as CSV."""
    with asked.store.read() as connection:
        batch = batches.get(connection, asked.path["batch"])
        if batch.project != asked.project.id or batch.kind not in COMPARES:
            raise not_found("batch")
        table = preferences.table(connection, batch.id)
    target = io.BytesIO()
    table.drop("task").write_csv(target)
    content = target.getvalue()
    if not asked.values["raw"]:
        content = guarded_sheet(content, ",")
    return Sent(content, "text/csv", f"{asked.project.name}-{batch.name}.csv")
