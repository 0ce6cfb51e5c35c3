"""The agreement of raters: figures with intervals, alarms, confusion and drift."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.pages.page import page_content
from rankgate.judging.agreement.agree import agree
from rankgate.judging.agreement.drift import drift
from rankgate.judging.agreement.report import sentence
from rankgate.store.rating import batches, ratings
from rankgate.store.rows import now
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.replies import PageReply, not_found

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings
    from rankgate.workspace.web.asked import WebRequest

_agreement_cache: ProjectCache[tuple[dict[str, Any], dict[str, str]]] = ProjectCache()


def agreement_page(request: WebRequest) -> PageReply:
    """The agreement of raters: the document of ``rankgate agree`` with alarms, confusion, drift."""
    batch = request.values["batch"]
    with request.store.read() as connection:
        rating_batches = [
            {"id": rating_batch.id, "name": rating_batch.name}
            for rating_batch in batches.list_batches(connection, request.project.id)
            if rating_batch.kind == "rating"
        ]
    if batch is not None and batch not in {rating_batch["id"] for rating_batch in rating_batches}:
        raise not_found("batch")
    empty: dict[str, Any] = {"agreement": None, "confusion": [], "drift": [], "at": now()}
    try:
        if batch is None:
            data, extra = _agreement_cache.of_project(
                request, lambda: _compute_agreement(request, None)
            )
        else:
            data, extra = _compute_agreement(request, batch)
    except InputError:
        data, extra = empty, {}
    data = {"project": request.project.name, "batch": batch, "batches": rating_batches, **data}
    return PageReply("agreement.html", data, extra)


def _compute_agreement(
    request: WebRequest, batch: int | None
) -> tuple[dict[str, Any], dict[str, str]]:
    opinions = read_people_ratings(request, batch)
    agreement = agree(opinions)
    data = {
        "agreement": agreement.to_dict(),
        "confusion": _confusion_rows(agreement.found.confusion),
        "drift": drift(opinions).to_dicts(),
        "at": now(),
    }
    return data, {"document": page_content(agreement.document()), "sentence": sentence(agreement)}


def read_people_ratings(request: WebRequest, batch: int | None = None) -> Ratings:
    """The ratings without final words, which are not the opinion of a rater.

    Raises:
        InputError: there are none.
    """
    with request.store.read() as connection:
        all_ratings = ratings.read_ratings(
            connection, request.project.id, batch=batch, name=request.project.name
        )
    rater_rows = all_ratings.table.filter(pl.col("rater") != ratings.FINAL)
    if rater_rows.is_empty():
        raise InputError("there are no ratings.", code="no-judgments")
    return replace(all_ratings, table=rater_rows)


def _confusion_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """For each rater the counts of their grades, a row for each consensus grade of the others."""
    grades = sorted({*table["consensus"], *table["grade"]})
    counts = {(rater, consensus, grade): n for rater, consensus, grade, n in table.iter_rows()}
    return [
        {
            "rater": rater,
            "grades": grades,
            "rows": [
                {
                    "consensus": consensus,
                    "counts": [counts.get((rater, consensus, grade), 0) for grade in grades],
                }
                for consensus in grades
            ],
        }
        for rater in table["rater"].unique(maintain_order=True)
    ]
