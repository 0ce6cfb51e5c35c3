"""Recorded evaluations and tables of a project for programs.

Programs add recorded evaluations, and read their figures and files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.qrels import Qrels, Scale
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.store.blobs import stored_results, stored_runs
from rankgate.store.blobs.blob_folders import to_parquet
from rankgate.store.material import projects, queries_documents
from rankgate.store.models.model_admissions import read_counting_ratings
from rankgate.store.rating import batches, ratings
from rankgate.store.records import record_notes as noted
from rankgate.store.records import records, series
from rankgate.store.records.records import NewRecord
from rankgate.store.rows import now
from rankgate.store.tables.record_tables import ANNOTATIONS
from rankgate.workspace.records.storages.store_storage import StoreStorage
from rankgate.workspace.records.storages.store_storage import save_inputs_in as keep_inputs
from rankgate.workspace.web.pages.upload_files import read_parquet
from rankgate.workspace.web.rendering import to_json
from rankgate.workspace.web.replies import ActionReply, FileReply, not_found
from rankgate.workspace.web.shared_fields import SINCE_FIELD, SLICE, SYSTEM
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    MEMBER_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    invalid_value,
    page,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.records.records import Record
    from rankgate.workspace.web.rendering import PageRow, PageValue
    from rankgate.workspace.web.web_request import WebRequest


_JSON, _PARQUET = "application/json", "application/octet-stream"


_PROJECT_PATH = "/projects/{project}"

_RECORDED_PATH = f"{_PROJECT_PATH}/recorded"

_RECORD_METRIC = Field("metric", "Metric", most=200)

_NAME = Field("name", "Name", required=True, most=200)

_ABOUT_FIELD = Field("about", "About it", "long", most=200_000, help="An object of JSON.")


@action(
    "record-add",
    f"{_PROJECT_PATH}/records",
    MANAGING_ROLES,
    "Record an evaluation",
    Field(
        "record",
        "Figures and the result, as JSON",
        "file",
        required=True,
        help="As rankgate record writes it; the same content is recorded once.",
    ),
    Field(
        "per_query",
        "Values per query, as Parquet",
        "file",
        help="system, query_id, and a column for each metric.",
    ),
    scope="record",
)
def add_record(request: WebRequest) -> ActionReply:
    """Record an evaluation."""
    table = request.values["per_query"]
    per_query = None if table is None else read_parquet(table, "per_query", request.config.largest_unpacked)
    if per_query is not None and per_query.columns[:2] != ["system", "query_id"]:
        raise invalid_value("per_query", "does not begin with the columns system and query_id")
    try:
        content = json.loads(request.values["record"].content)
    except (ValueError, RecursionError):
        raise InputError("it is not JSON.", source="record", code="invalid-json") from None
    new = NewRecord.from_dict(content, per_query, "record")
    with request.store.write() as connection:
        addition = records.add(
            connection, request.store.blobs, request.project.id, new, recorded_by=request.user.id
        )
        if addition.new:
            request.record(connection, "record.add", str(addition.record.id), kind=addition.record.kind)
    answer = {"record": addition.record.id, "sha256": addition.record.sha256, "new": addition.new}
    return ActionReply(request.project_path("records", addition.record.sha256), answer)


@action(
    "record-input",
    f"{_PROJECT_PATH}/records/inputs",
    MANAGING_ROLES,
    "Keep the judgments or a run of an evaluation",
    Field("kind", "Kind", "choice", required=True, choices=(("judgments", "judgments"), ("run", "run"))),
    Field("name", "Name", required=True, most=200),
    Field("table", "Rows as Parquet", "file", required=True),
    scope="record",
)
def save_input(request: WebRequest) -> ActionReply:
    """Store the judgments or a run of an evaluation."""
    rows = read_parquet(request.values["table"], "table", request.config.largest_unpacked)
    name, kind = request.values["name"], request.values["kind"]
    try:
        qrels = Qrels(rows, name, place=RowLocation(name)) if kind == "judgments" else None
        runs = [] if qrels is not None else [Run(name, lambda: iter([rows]), place=RowLocation(name))]
        digest = runs[0].sha256 if qrels is None else qrels.sha256
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise invalid_value("table", f"does not have the columns of {kind}") from None
    with request.store.write() as connection:
        keep_inputs(connection, request.stored_project, qrels, runs)
        request.record(connection, f"{kind}.keep", name, sha256=digest)
    return ActionReply(request.project_path("records"), {"kind": kind, "sha256": digest})


@action(
    "annotation-add",
    f"{_PROJECT_PATH}/annotations",
    MANAGING_ROLES,
    "Note it",
    Field("kind", "Kind", "choice", required=True, choices=tuple((kind, kind) for kind in ANNOTATIONS)),
    Field("text", "Text of the note", required=True, most=2_000),
    Field("at", "When (UTC)", "moment", help="Now, if it is left out."),
    Field("revision", "Revision", most=200),
    Field("metric", "Only for this metric", most=200, help="Empty is all."),
    Field("annotation_id", most=100, help="Made by the client, and the same in every retry."),
    scope="record",
)
def add_annotation(request: WebRequest) -> ActionReply:
    """Add an annotation of a moment."""
    fields = request.values
    client_id = fields["annotation_id"]
    with request.store.write() as connection:
        annotation = noted.add_annotation(
            connection,
            request.project.id,
            at=fields["at"] or now(),
            kind=fields["kind"],
            text=fields["text"],
            metric=fields["metric"],
            revision=fields["revision"] or "",
            user=request.user.id,
            actor=request.user.name,
            annotation_id=f"{request.project.id}-{request.user.id}-{client_id}" if client_id else "",
        )
        request.record(connection, "annotation.add", str(annotation.id), kind=annotation.kind)
    return ActionReply(_trend_path(request, annotation.metric), {"annotation": annotation.id})


def _trend_path(request: WebRequest, metric: str | None) -> str:
    """The address of the page that shows an annotation."""
    query_string = f"?{urlencode({'metric': metric}, quote_via=quote)}" if metric else ""
    return f"{request.project_path('trends')}{query_string}"


@action(
    "annotation-withdraw",
    f"{_PROJECT_PATH}/annotations/{{annotation:int}}/withdraw",
    MANAGING_ROLES,
    "Withdraw the annotation",
)
def withdraw_annotation(request: WebRequest) -> ActionReply:
    """Withdraw an annotation."""
    number = int(request.path["annotation"])
    with request.store.write() as connection:
        user = request.user
        annotation = noted.get_annotation(connection, request.project.id, number)
        noted.withdraw_annotation(connection, request.project.id, number, user=user.id, actor=user.name)
        request.record(connection, "annotation.withdraw", str(number))
    return ActionReply(_trend_path(request, annotation.metric), {"annotation": number})


@page(
    "points",
    f"{_RECORDED_PATH}/points.json",
    VIEWING_ROLES,
    "Recorded figures",
    _RECORD_METRIC,
    SYSTEM,
    SLICE,
    SINCE_FIELD,
)
def points_file(request: WebRequest) -> FileReply:
    """The figures of a metric, or of all metrics."""
    fields = request.values
    with request.store.read() as connection:
        series_points = series.list_points(
            connection,
            request.project.id,
            fields["metric"],
            system=fields["system"],
            slice=fields["slice"] or "",
            since=fields["since"],
        )
    return _json_file({"points": [vars(point) for point in series_points]})


@page(
    "annotations",
    f"{_RECORDED_PATH}/annotations.json",
    VIEWING_ROLES,
    "Annotations",
    _RECORD_METRIC,
    SINCE_FIELD,
)
def annotations_file(request: WebRequest) -> FileReply:
    """The annotations of a metric, and those that apply to all metrics."""
    fields = request.values
    with request.store.read() as connection:
        project_annotations = noted.list_annotations(
            connection, request.project.id, metric=fields["metric"], since=fields["since"]
        )
    return _json_file({"annotations": [vars(annotation) for annotation in project_annotations]})


@page("recorded", f"{_RECORDED_PATH}/{{record:int}}.json", VIEWING_ROLES, "Details of a record")
def record_file(request: WebRequest) -> FileReply:
    """The details of a record."""
    return _json_file({"record": vars(_find_record(request))})


@page(
    "recorded-file",
    f"{_RECORDED_PATH}/{{record:int}}/file",
    VIEWING_ROLES,
    "A record's values per query, as Parquet",
)
def per_query_file(request: WebRequest) -> FileReply:
    """The values per query of a record."""
    record = _find_record(request)
    if record.per_query is None:
        raise not_found("values per query")
    name = f"{request.project.name}-{record.id}.parquet"
    return FileReply(request.store.blobs.get(record.per_query), _PARQUET, name)


@page(
    "recorded-input",
    f"{_RECORDED_PATH}/inputs/{{kind}}/{{sha256}}",
    VIEWING_ROLES,
    "Kept judgments or a kept run, as Parquet",
)
def input_file(request: WebRequest) -> FileReply:
    """Stored judgments or a stored run."""
    storage, digest = StoreStorage(request.stored_project), str(request.path["sha256"])
    kind = request.path["kind"]
    kept_input = {"judgments": storage.qrels, "run": storage.run}.get(str(kind), lambda _: None)(digest)
    if kept_input is None:
        raise not_found("file")
    return FileReply(to_parquet(kept_input.table), _PARQUET, f"{digest[:12]}.parquet")


def _find_record(request: WebRequest) -> Record:
    with request.store.read() as connection:
        matches = records.records_of_project(connection, request.project.id, [int(request.path["record"])])
    if not matches:
        raise not_found("record")
    return matches[0]


def _json_file(content: PageValue) -> FileReply:
    return FileReply(to_json(content), _JSON)


_MATERIAL_READERS = {
    "queries": queries_documents.queries_table,
    "documents": queries_documents.documents_table,
}


@page("contents", f"{_PROJECT_PATH}/contents.json", MEMBER_ROLES, "Scale, batches, runs and judgments")
def contents_file(request: WebRequest) -> FileReply:
    """The scale and the names of all contents; raters get only the batches."""
    project = request.project.id
    with request.store.read() as connection:
        scale = projects.scale(connection, project)
        project_contents: PageRow = {
            "project": request.project.name,
            "scale": None if scale is None else _scale_view(scale),
            "batches": [
                {"id": batch.id, "name": batch.name} for batch in batches.list_batches(connection, project)
            ],
        }
        if request.role not in VIEWING_ROLES:
            return FileReply(to_json(project_contents), "application/json")
        project_contents |= {
            "runs": [
                {"name": run.name, "tag": run.tag, "ordered": run.ordered, "states": run.states is not None}
                for run in stored_runs.list_runs(connection, project)
            ],
            "judgments": [
                {
                    "name": stored_judgments.name,
                    "scale": dict(stored_judgments.scale),
                    "unjudged": list(stored_judgments.unjudged),
                    "made_by": dict(stored_judgments.made_by),
                }
                for stored_judgments in stored_runs.list_judgments(connection, project)
            ],
        }
    return FileReply(to_json(project_contents), "application/json")


def _scale_view(scale: Scale) -> PageRow:
    labels: list[PageValue] = [list(label) for label in scale.labels]
    return {"lowest": scale.lowest, "highest": scale.highest, "labels": labels}


@page(
    "table-file",
    f"{_PROJECT_PATH}/tables/{{kind}}/file",
    VIEWING_ROLES,
    "A table as Parquet",
    Field("name", "Name", most=200, help="Of a run, judgments, or a batch."),
    Field(
        "counted",
        "How admitted models count",
        "choice",
        choices=(("fill", "fill"), ("equal", "equal"), ("none", "none")),
        help="For ratings: only ratings that count in judgments.",
    ),
)
def table_file(request: WebRequest) -> FileReply:
    """The rows of a run, judgments, query states of a run, ratings and their order, queries or documents."""
    kind, name = request.path["kind"], request.values["name"] or ""
    project, blobs = request.project.id, request.store.blobs
    with request.store.read() as connection:
        if kind == "ratings":
            content = to_parquet(_read_ratings(connection, request, name))
        elif kind == "judgments":
            content = to_parquet(stored_runs.read_judgments(connection, blobs, project, name).table)
        elif kind == "order":
            content = to_parquet(ratings.read_order(connection, project, name))
        elif kind in {"run", "states"}:
            stored_run = stored_runs.find_run(connection, project, name)
            blob = None if stored_run is None else stored_run.blob if kind == "run" else stored_run.states
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


@action(
    "judgments-add",
    f"{_PROJECT_PATH}/tables/judgments",
    MANAGING_ROLES,
    "Add judgments",
    _NAME,
    Field("table", "Grades as Parquet", "file", required=True),
    _ABOUT_FIELD,
)
def add_judgments(request: WebRequest) -> ActionReply:
    """Store judgments created by a program."""
    metadata = _parse_object(request.values["about"])
    rows = read_parquet(request.values["table"], "table", request.config.largest_unpacked)
    scale = metadata.get("scale")
    try:
        qrels = Qrels(
            rows,
            request.values["name"],
            None
            if scale is None
            else Scale(scale["lowest"], scale["highest"], tuple((g, str(n)) for g, n in scale["labels"])),
            tuple(map(str, metadata.get("unjudged") or ())),
            metadata.get("made_by") or None,
            RowLocation(request.values["name"]),
        )
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise invalid_value("table", "does not have the columns of judgments") from None
    with request.store.write() as connection:
        stored_judgments = stored_runs.add_judgments(
            connection, request.store.blobs, request.project.id, qrels, created_by=request.user.id
        )
        request.record(connection, "judgments.add", stored_judgments.name, rows=stored_judgments.rows)
    return ActionReply(
        request.project_path("judgments"), {"name": stored_judgments.name, "rows": stored_judgments.rows}
    )


@action(
    "result-add",
    f"{_PROJECT_PATH}/results",
    MANAGING_ROLES,
    "Add a result",
    Field("name", "Name", most=200),
    Field("result", "The result as JSON", "file", required=True),
    _ABOUT_FIELD,
)
def add_result(request: WebRequest) -> ActionReply:
    """Store a result created by a program."""
    result = _parse_object(request.values["result"].content)
    with request.store.write() as connection:
        stored_result = stored_results.add_result(
            connection,
            request.store.blobs,
            request.project.id,
            result,
            created_by=request.user.id,
            name=request.values["name"] or "",
            summary=_parse_object(request.values["about"]),
        )
    return ActionReply(request.project_path(), {"result": stored_result.id, "kind": stored_result.kind})


def _parse_object(content: str | bytes | None) -> dict[str, Any]:
    try:
        document = json.loads(content or "{}")
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InputError("it is not an object of JSON.", source="request", code="invalid-json")
    return document
