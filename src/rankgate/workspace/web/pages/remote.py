"""Tables of a project for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, Scale
from rankgate.store.kept import judgments, results, runs
from rankgate.store.kept.parquet import packed
from rankgate.store.material import projects
from rankgate.store.models.counted import counted
from rankgate.store.rating import batches, ratings
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.pages.uploads import parquet_of
from rankgate.workspace.web.render import plain
from rankgate.workspace.web.replies import Done, Sent, not_found
from rankgate.workspace.web.route import VIEW

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import Asked


def contents(asked: Asked) -> Sent:
    """The scale, and what there is by name; raters see the batches alone."""
    project = asked.project.id
    with asked.store.read() as connection:
        scale = projects.scale(connection, project)
        found: dict[str, Any] = {
            "project": asked.project.name,
            "scale": None if scale is None else _scale(scale),
            "batches": [{"id": e.id, "name": e.name} for e in batches.listed(connection, project)],
        }
        if asked.role not in VIEW:
            return Sent(plain(found), "application/json")
        found |= {
            "runs": [
                {"name": e.name, "tag": e.tag, "ordered": e.ordered, "states": e.states is not None}
                for e in runs.listed(connection, project)
            ],
            "judgments": [
                {"name": e.name, "scale": dict(e.scale), "unjudged": list(e.unjudged),
                 "made_by": dict(e.made_by)}
                for e in judgments.listed(connection, project)
            ],
        }  # fmt: skip
    return Sent(plain(found), "application/json")


def _scale(scale: Scale) -> dict[str, Any]:
    labels = [list(each) for each in scale.labels]
    return {"lowest": scale.lowest, "highest": scale.highest, "labels": labels}


def table(asked: Asked) -> Sent:
    """The rows of a run, of judgments, of the states of a run's queries, or of ratings."""
    kind, name = asked.path["kind"], asked.values["name"] or ""
    project, blobs = asked.project.id, asked.store.blobs
    with asked.store.read() as connection:
        if kind == "ratings":
            content = packed(_ratings(connection, asked, name))
        elif kind == "judgments":
            content = packed(judgments.read(connection, blobs, project, name).table)
        elif kind in {"run", "states"}:
            stored = runs.find(connection, project, name)
            blob = None if stored is None else stored.blob if kind == "run" else stored.states
            if blob is None:
                raise not_found("run")
            content = blobs.get(blob)
        else:
            raise not_found("table")
    return Sent(content, "application/octet-stream", f"{asked.project.name}-{kind}.parquet")


def _ratings(connection: Connection, asked: Asked, name: str) -> pl.DataFrame:
    project = asked.project.id
    batch = batches.named(connection, project, name).id if name else None
    models = asked.values["counted"]
    if models is not None:
        return counted(connection, project, batch=batch, models=models).table
    return ratings.table(connection, project, batch=batch).table


def add_judgments(asked: Asked) -> Done:
    """Keep judgments that a program made."""
    about = _object(asked.values["about"])
    rows = parquet_of(asked.values["table"], "table", asked.config.largest_unpacked)
    scale = about.get("scale")
    try:
        found = Qrels(
            rows, asked.values["name"],
            None if scale is None else Scale(
                scale["lowest"], scale["highest"], tuple((g, str(n)) for g, n in scale["labels"])),
            tuple(map(str, about.get("unjudged") or ())), about.get("made_by") or None,
            Place(asked.values["name"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise wrong("table", "has not the columns of judgments") from None
    with asked.store.write() as connection:
        made = judgments.add(
            connection, asked.store.blobs, asked.project.id, found, created_by=asked.user.id
        )
        asked.record(connection, "judgments.add", made.name, rows=made.rows)
    return Done(asked.at("judgments"), {"name": made.name, "rows": made.rows})


def add_result(asked: Asked) -> Done:
    """Keep a result that a program made."""
    result = _object(asked.values["result"].content)
    with asked.store.write() as connection:
        made = results.add(
            connection, asked.store.blobs, asked.project.id, result, created_by=asked.user.id,
            name=asked.values["name"] or "", summary=_object(asked.values["about"]),
        )  # fmt: skip
    return Done(asked.at(), {"result": made.id, "kind": made.kind})


def _object(content: str | bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(content or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("it is not an object of JSON.", source="request", code="invalid-json")
    return found
