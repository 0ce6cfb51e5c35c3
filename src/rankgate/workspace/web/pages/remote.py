"""Tables of a project for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels, Scale
from rankgate.store.kept import judgments, results, runs
from rankgate.store.kept.parquet import to_parquet
from rankgate.store.material import documents, projects, queries
from rankgate.store.models.counted import read_counting_ratings
from rankgate.store.rating import batches, ratings
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.pages.uploads import read_parquet
from rankgate.workspace.web.render import to_json
from rankgate.workspace.web.replies import ActionReply, FileReply, not_found
from rankgate.workspace.web.route import VIEWING_ROLES

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import WebRequest


_MATERIAL_READERS = {"queries": queries.queries_table, "documents": documents.documents_table}


def contents_file(request: WebRequest) -> FileReply:
    """The scale, and the contents by name; raters see the batches alone."""
    project = request.project.id
    with request.store.read() as connection:
        scale = projects.scale(connection, project)
        project_contents: dict[str, Any] = {
            "project": request.project.name,
            "scale": None if scale is None else _scale_view(scale),
            "batches": [
                {"id": batch.id, "name": batch.name}
                for batch in batches.list_batches(connection, project)
            ],
        }
        if request.role not in VIEWING_ROLES:
            return FileReply(to_json(project_contents), "application/json")
        project_contents |= {
            "runs": [
                {
                    "name": run.name,
                    "tag": run.tag,
                    "ordered": run.ordered,
                    "states": run.states is not None,
                }
                for run in runs.list_runs(connection, project)
            ],
            "judgments": [
                {
                    "name": stored_judgments.name,
                    "scale": dict(stored_judgments.scale),
                    "unjudged": list(stored_judgments.unjudged),
                    "made_by": dict(stored_judgments.made_by),
                }
                for stored_judgments in judgments.list_judgments(connection, project)
            ],
        }
    return FileReply(to_json(project_contents), "application/json")


def _scale_view(scale: Scale) -> dict[str, Any]:
    labels = [list(label) for label in scale.labels]
    return {"lowest": scale.lowest, "highest": scale.highest, "labels": labels}


def table_file(request: WebRequest) -> FileReply:
    """The rows of a run, judgments, states of a run's queries, ratings, queries or documents."""
    kind, name = request.path["kind"], request.values["name"] or ""
    project, blobs = request.project.id, request.store.blobs
    with request.store.read() as connection:
        if kind == "ratings":
            content = to_parquet(_read_ratings(connection, request, name))
        elif kind == "judgments":
            content = to_parquet(judgments.read_judgments(connection, blobs, project, name).table)
        elif kind in {"run", "states"}:
            stored_run = runs.find_run(connection, project, name)
            blob = (
                None
                if stored_run is None
                else stored_run.blob
                if kind == "run"
                else stored_run.states
            )
            if blob is None:
                raise not_found("run")
            content = blobs.get(blob)
        elif kind in _MATERIAL_READERS:
            rows = _MATERIAL_READERS[kind](connection, project)
            content = to_parquet(pl.DataFrame() if rows is None else rows)
        else:
            raise not_found("table")
    return FileReply(content, "application/octet-stream", f"{request.project.name}-{kind}.parquet")


def _read_ratings(connection: Connection, request: WebRequest, name: str) -> pl.DataFrame:
    project = request.project.id
    batch = batches.get_by_name(connection, project, name).id if name else None
    models = request.values["counted"]
    if models is not None:
        return read_counting_ratings(connection, project, batch=batch, models=models).table
    return ratings.read_ratings(connection, project, batch=batch).table


def add_judgments(request: WebRequest) -> ActionReply:
    """Save judgments that a program made."""
    metadata = _parse_object(request.values["about"])
    rows = read_parquet(request.values["table"], "table", request.config.largest_unpacked)
    scale = metadata.get("scale")
    try:
        qrels = Qrels(
            rows,
            request.values["name"],
            None
            if scale is None
            else Scale(
                scale["lowest"], scale["highest"], tuple((g, str(n)) for g, n in scale["labels"])
            ),
            tuple(map(str, metadata.get("unjudged") or ())),
            metadata.get("made_by") or None,
            RowLocation(request.values["name"]),
        )
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise invalid_value("table", "has not the columns of judgments") from None
    with request.store.write() as connection:
        stored_judgments = judgments.add_judgments(
            connection, request.store.blobs, request.project.id, qrels, created_by=request.user.id
        )
        request.record(
            connection, "judgments.add", stored_judgments.name, rows=stored_judgments.rows
        )
    return ActionReply(
        request.at("judgments"), {"name": stored_judgments.name, "rows": stored_judgments.rows}
    )


def add_result(request: WebRequest) -> ActionReply:
    """Save a result that a program made."""
    result = _parse_object(request.values["result"].content)
    with request.store.write() as connection:
        stored_result = results.add_result(
            connection,
            request.store.blobs,
            request.project.id,
            result,
            created_by=request.user.id,
            name=request.values["name"] or "",
            summary=_parse_object(request.values["about"]),
        )
    return ActionReply(request.at(), {"result": stored_result.id, "kind": stored_result.kind})


def _parse_object(content: str | bytes | None) -> dict[str, Any]:
    try:
        document = json.loads(content or "{}")
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InputError("it is not an object of JSON.", source="request", code="invalid-json")
    return document
