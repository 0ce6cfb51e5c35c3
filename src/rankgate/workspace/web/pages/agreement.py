"""How far raters agree: figures with intervals, alarms, confusion and drift."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.pages.page import content
from rankgate.judging.agreement.agree import agree
from rankgate.judging.agreement.drift import drift
from rankgate.judging.agreement.report import sentence
from rankgate.store.rating import batches, ratings
from rankgate.store.rows import now
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.replies import Page, not_found

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings
    from rankgate.workspace.web.asked import Asked

_whole: ProjectCache[tuple[dict[str, Any], dict[str, str]]] = ProjectCache()


def page(asked: Asked) -> Page:
    """How far raters agree, and alarms: the document of ``rankgate agree``, confusion and drift."""
    batch = asked.values["batch"]
    with asked.store.read() as connection:
        found = [{"id": e.id, "name": e.name} for e in batches.listed(connection, asked.project.id)
                 if e.kind == "rating"]  # fmt: skip
    if batch is not None and batch not in {each["id"] for each in found}:
        raise not_found("batch")
    empty: dict[str, Any] = {"agreement": None, "confusion": [], "drift": [], "at": now()}
    try:
        if batch is None:
            data, extra = _whole.of_project(asked, lambda: _found(asked, None))
        else:
            data, extra = _found(asked, batch)
    except InputError:
        data, extra = empty, {}
    data = {"project": asked.project.name, "batch": batch, "batches": found, **data}
    return Page("agreement.html", data, extra)


def _found(asked: Asked, batch: int | None) -> tuple[dict[str, Any], dict[str, str]]:
    said = people_ratings(asked, batch)
    found = agree(said)
    data = {
        "agreement": found.to_dict(),
        "confusion": _confusion(found.found.confusion),
        "drift": drift(said).to_dicts(),
        "at": now(),
    }
    return data, {"document": content(found.document()), "sentence": sentence(found)}


def people_ratings(asked: Asked, batch: int | None = None) -> Ratings:
    """The ratings without final words, which are no rater's opinion.

    Raises:
        InputError: there are none.
    """
    with asked.store.read() as connection:
        found = ratings.table(connection, asked.project.id, batch=batch, name=asked.project.name)
    others = found.table.filter(pl.col("rater") != ratings.FINAL)
    if others.is_empty():
        raise InputError("there are no ratings.", code="no-judgments")
    return replace(found, table=others)


def _confusion(table: pl.DataFrame) -> list[dict[str, Any]]:
    """For each rater a row for each grade of the others' consensus: how often which was given."""
    grades = sorted({*table["consensus"], *table["grade"]})
    counts = {(who, true, given): n for who, true, given, n in table.iter_rows()}
    return [
        {
            "rater": who,
            "grades": grades,
            "rows": [
                {"consensus": true, "counts": [counts.get((who, true, g), 0) for g in grades]}
                for true in grades
            ],
        }
        for who in table["rater"].unique(maintain_order=True)
    ]
