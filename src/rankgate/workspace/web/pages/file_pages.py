"""Pages that import and export files of a project, and create and change its batches.

Imports and exports report lost data. A batch is created from a pool with the texts of its queries
and documents.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.file_contents import PART_LABELS
from rankgate.data.files.conversion import convert
from rankgate.data.formats import registry
from rankgate.data.formats.pool_file import read_pool
from rankgate.data.read import read_qrels
from rankgate.data.text.delimited_records import guard_sheet
from rankgate.judging.grade_transformers import TRANSFORMERS, Transformer
from rankgate.judging.rating_tasks import read_texts
from rankgate.judging.store.import_export import add_contents, contents_in, import_file, read_incoming
from rankgate.store.blobs import stored_runs
from rankgate.store.blobs.blob_folders import HashOnlyBlobs
from rankgate.store.material import queries_documents
from rankgate.store.rating import batches
from rankgate.store.rating import batches as stored
from rankgate.workspace.web import web_request
from rankgate.workspace.web.pages.upload_files import add_text_columns, list_columns, upload_file
from rankgate.workspace.web.replies import ActionReply, FileReply, PageReply, Reply, not_found
from rankgate.workspace.web.shared_fields import DEADLINE_FIELD, NAME, RAW, STRATEGY_FIELD, TRANSFORM_FIELD
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    declared_fields,
    invalid_value,
    page,
)

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.file_contents import FileContents, Note
    from rankgate.data.files.conversion import Conversion
    from rankgate.judging.store.import_export import ImportedFile
    from rankgate.store.blobs.blob_folders import Blobs
    from rankgate.workspace.web.rendering import PageData, PageRow
    from rankgate.workspace.web.web_request import Upload, WebRequest


_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SHEETS = frozenset({"csv", "tsv", "jsonl", "parquet", "arrow"})
"""Formats with a single table, which contain only the part."""


_COLUMNS = {"kind": "text", "most": 5_000}

_FORMAT = Field("format", "Format", most=50)

_PART_FIELD = Field("what", "What", most=200, help="ratings, judgments/NAME, run/NAME, queries, documents")


@page("material", "/projects/{project}/material", MANAGING_ROLES, "Files")
def material_page(request: WebRequest) -> PageReply:
    """The page with the contents of the project, and forms to add data."""
    project = request.project.id
    with request.store.read() as connection:
        data = {
            "project": request.project.name,
            "queries": queries_documents.count_queries(connection, project),
            "documents": queries_documents.count_documents(connection, project),
            "document_fields": queries_documents.field_names(connection, project),
            "runs": [
                {"name": run.name, "rows": run.rows} for run in stored_runs.list_runs(connection, project)
            ],
            "batches": [
                {"id": batch.id, "name": batch.name} for batch in batches.list_batches(connection, project)
            ],
        }
    readable = [file_format.name for file_format in registry.FORMATS]
    return PageReply("material.html", data, {"formats": readable})


@action(
    "material-add",
    "/projects/{project}/material",
    MANAGING_ROLES,
    "Add the file",
    Field(
        "file",
        "File",
        "file",
        required=True,
        help="Ratings, judgments, queries, documents or runs, in any format that rankgate reads: of "
        "Quepid, SearchTweak, RRE, OpenSearch, RankQuest, Label Studio, Argilla, TREC, CSV and "
        "others.",
    ),
    Field(
        "format",
        "Format",
        most=50,
        help="Only if the format is not recognised.",
        options=web_request.list_format_names,
    ),
    *declared_fields(import_file, "columns", "final", columns=_COLUMNS, final={"most": 200}),
    TRANSFORM_FIELD,
    *declared_fields(import_file, "batch", batch={"most": 100}),
    Field("preview", kind="flag", help="Only report what would change."),
    does_step=True,
)
def add_file(request: WebRequest) -> Reply:
    """Add the contents of a file, or only report the effect."""
    fields, upload = request.values, request.values["file"]
    with upload_file(upload, request.config.largest_unpacked) as path:
        if fields["preview"]:
            return PageReply("incoming.html", _trial_report(request, path))
        incoming = _read_upload(request, path)
        with request.store.write() as connection:
            conversion = _import_contents(request, connection, incoming, request.store.blobs)
            request.record(connection, "material.add", upload.name[:200], **conversion.rows)
    return ActionReply(
        request.project_path("material"), _import_report(conversion, incoming) | {"added": True}
    )


def _read_upload(request: WebRequest, path: Path) -> ImportedFile:
    options = {name: request.values[name] for name in ("columns", "final")}
    grade_mapping = parse_grade_mapping(request.values["transform"])
    return read_incoming(path, from_=request.values["format"], transform=grade_mapping, **options)


def parse_grade_mapping(text: str | None) -> Transformer | None:
    """Parse a mapping of grades from a name or lines; files of the server are never read.

    Raises:
        InputError: a line has another form.
    """
    if text is None:
        return None
    transformer = TRANSFORMERS.get(text.strip())
    return transformer or Transformer.parse(text.replace(";", "\n"), "the mapping of grades")


def _import_contents(
    request: WebRequest, connection: Connection, incoming: ImportedFile, blobs: Blobs
) -> Conversion:
    return add_contents(
        connection,
        blobs,
        request.project.id,
        incoming,
        batch=request.values["batch"],
        created_by=request.user.id,
    )


def _trial_report(request: WebRequest, path: Path) -> PageRow:
    """The report on a trial import: its result or problem, and the columns of a sheet."""
    fields = request.values
    columns = list_columns(fields["file"], fields["columns"], fields["final"])
    data: PageRow = {
        "project": request.project.name,
        "file": fields["file"].name,
        "added": False,
        "columns": columns,
        "problem": None,
    }
    try:
        incoming = _read_upload(request, path)
        with request.store.trial() as connection:
            conversion = _import_contents(request, connection, incoming, HashOnlyBlobs())
    except (InputError, UsageError) as error:
        message = str(error).replace(str(path), fields["file"].name)
        problem = {"code": error.code, "message": message}
        return data | {
            "problem": problem,
            "holds": {},
            "seen": [],
            "lost": [],
            "raters": [],
            "grades": [],
            "format": None,
        }
    data["columns"] = add_text_columns(columns, incoming.contents)
    return data | _import_report(conversion, incoming) | _rating_counts(incoming.contents)


def _import_report(conversion: Conversion, incoming: ImportedFile) -> PageRow:
    """The imported, recognised and lost contents of a file."""
    rows = {
        "judgments" if content_kind == "qrels" else content_kind: n
        for content_kind, n in conversion.rows.items()
    }
    return {
        "format": conversion.from_format,
        "holds": rows | ({"runs": len(incoming.contents.runs)} if "runs" in rows else {}),
        "seen": [_note_view(note) for note in conversion.notes],
        "lost": [_note_view(note) for note in conversion.losses],
    }


def _note_view(note: Note) -> PageData:
    return {"count": note.count, "what": note.what, "examples": list(note.examples)}


def _rating_counts(contents: FileContents) -> PageRow:
    """Counts of ratings by rater and by grade."""
    judged = contents.ratings or contents.qrels
    if judged is None:
        return {"raters": [], "grades": []}
    raters = Counter(judged.table["rater"]) if contents.ratings is not None else Counter()
    grades = Counter(judged.table["grade"])
    return {
        "raters": [{"rater": name, "ratings": n} for name, n in raters.most_common()],
        "grades": [
            {"grade": grade, "count": grades[grade]}
            for grade in sorted(grades, key=lambda grade: (grade is None, grade))
        ],
    }


@page("export", "/projects/{project}/export", VIEWING_ROLES, "Export", _FORMAT, _PART_FIELD)
def export_page(request: WebRequest) -> PageReply:
    """The preview of an export: the data of a part that a format keeps or loses."""
    form = request.values["format"]
    choice = ExportChoice.parse(request.values["what"])
    with request.store.read() as connection:
        project = request.project.id
        judgments_names = [
            f"judgments/{stored_judgments.name}"
            for stored_judgments in stored_runs.list_judgments(connection, project)
        ]
        run_names = [f"run/{run.name}" for run in stored_runs.list_runs(connection, project)]
    data: PageRow = {
        "project": request.project.name,
        "what": choice.words,
        "format": form,
        "parts": ["ratings", *judgments_names, *run_names, "queries", "documents"],
        "formats": list_formats(choice.part),
        "holds": {},
        "lost": [],
        "problem": None,
    }
    if form:
        try:
            result = _write_contents(request, form, choice)[1]
            data |= {"holds": dict(result.rows), "lost": [_note_view(note) for note in result.losses]}
        except (InputError, UsageError) as error:
            data["problem"] = {"code": error.code, "message": str(error)}
    has_formula_guard = bool(form) and _file_suffix(form) in _SEPARATORS
    return PageReply("export.html", data, {"guards": has_formula_guard})


@dataclass(frozen=True)
class ExportChoice:
    """The part of the contents to export, and the name of judgments or a run."""

    words: str
    part: str
    name: str | None = None

    @classmethod
    def parse(cls, text: str | None) -> ExportChoice:
        """Parse ``ratings``, ``judgments/NAME``, ``run/NAME``, ``queries`` or ``documents``."""
        kind, _, name = (text or "ratings").partition("/")
        parts = {
            "ratings": "ratings",
            "judgments": "qrels",
            "run": "runs",
            "queries": "queries",
            "documents": "documents",
        }
        if kind not in parts or bool(name) != (kind in {"judgments", "run"}):
            raise invalid_value("what", "is ratings, judgments/NAME, run/NAME, queries or documents")
        return cls(text or "ratings", parts[kind], name or None)


@page(
    "export-file",
    "/projects/{project}/export/file",
    VIEWING_ROLES,
    "Export as a file",
    _FORMAT,
    _PART_FIELD,
    RAW,
)
def export_file(request: WebRequest) -> FileReply:
    """Export a part of the project in a format; ratings and judgments include texts."""
    fields = request.values
    return _file_reply(request, fields["format"] or "csv", ExportChoice.parse(fields["what"]))


@page(
    "judgments-file",
    "/projects/{project}/judgments/{judgments}/file",
    VIEWING_ROLES,
    "Judgments as a file",
    _FORMAT,
    RAW,
)
def judgments_file(request: WebRequest) -> FileReply:
    """Judgments as a file in any format."""
    choice = ExportChoice.parse(f"judgments/{request.path['judgments']}")
    return _file_reply(request, request.values["format"] or "trec", choice)


@page("ratings-file", "/projects/{project}/ratings/file", VIEWING_ROLES, "Ratings as a file", _FORMAT, RAW)
def ratings_file(request: WebRequest) -> FileReply:
    """Every rating as a row of a file, in any format for ratings."""
    return _file_reply(request, request.values["format"] or "csv", ExportChoice.parse("ratings"))


def _file_reply(request: WebRequest, form: str, choice: ExportChoice) -> FileReply:
    content, _ = _write_contents(request, form, choice)
    suffix = _file_suffix(form)
    if suffix in _SEPARATORS and not request.values["raw"]:
        content = guard_sheet(content, _SEPARATORS[suffix])
    stem = f"{request.project.name}-{choice.name or choice.part}"
    return FileReply(content, "application/octet-stream", f"{stem}{suffix}")


def _file_suffix(form: str) -> str:
    suffixes = registry.find_format(form).suffixes
    return suffixes[0] if suffixes else ".txt"


def _write_contents(request: WebRequest, form: str, choice: ExportChoice) -> tuple[bytes, Conversion]:
    """The bytes of an exported file, and the lost data."""
    content_kind, name = choice.part, choice.name
    if content_kind not in registry.find_format(form).holds:
        problem = f"{form} holds no {PART_LABELS[content_kind]}; choose another format."
        raise InputError(problem, code="format-cannot-hold")
    contents = contents_in(
        request.store,
        request.project.name,
        judgments_name=name if content_kind == "qrels" else None,
        run_names=(name,) if content_kind == "runs" and name else (),
    )
    if content_kind not in contents.parts:
        raise InputError(f"there are no {PART_LABELS[content_kind]}.", code="no-such-content")
    if form in _SHEETS or content_kind not in {"ratings", "qrels"}:
        contents = contents.only(content_kind)
    target = io.BytesIO()
    conversion = convert(contents, target, to=form)
    return target.getvalue(), conversion


def list_formats(content_kind: str) -> list[str]:
    """The writable formats for a part."""
    return [
        file_format.name
        for file_format in registry.FORMATS
        if file_format.write and content_kind in file_format.holds
    ]


@action(
    "batch-add",
    "/projects/{project}/batches",
    MANAGING_ROLES,
    "Add the batch",
    NAME,
    Field(
        "pool", "Pool", "file", required=True, help="As rankgate pool writes it: columns query and document."
    ),
    Field("queries", "Queries with their texts", "file"),
    Field("documents", "Documents with their fields", "file"),
    Field(
        "gold",
        "Known grades, asked among the others",
        "file",
        help="Judgments for hidden questions or for a training.",
    ),
    Field(
        "kind",
        "Kind",
        "choice",
        default="rating",
        choices=(("rating", "rating"), ("training", "training, with the known grade after each")),
    ),
    STRATEGY_FIELD,
    Field("priority", "Priority; higher is first", "whole", default="0"),
    DEADLINE_FIELD,
    Field("seed", "Seed of the order", "whole"),
    Field("open", "Show the pool's fields, such as ranks (not blind)", "flag"),
    does_step=True,
)
def add_batch(request: WebRequest) -> ActionReply:
    """Add a batch from a pool, with the texts of its queries and documents."""
    fields = request.values
    tables: dict[str, pl.DataFrame] = {}
    size_limit = request.config.largest_unpacked
    with upload_file(fields["pool"], size_limit) as path:
        pool = read_pool(str(path))
    for table_name in ("queries", "documents"):
        if fields[table_name] is not None:
            with upload_file(fields[table_name], size_limit) as path:
                tables[table_name] = read_texts(path, table_name)
    gold = _read_gold(fields["gold"], size_limit) if fields["gold"] is not None else {}
    project = request.project.id
    with request.store.write() as connection:
        if "queries" in tables:
            queries_documents.add_queries(connection, project, tables["queries"])
        if "documents" in tables:
            queries_documents.add_documents(connection, project, tables["documents"])
        batch = stored.add_batch(
            connection,
            project,
            fields["name"],
            kind=fields["kind"] or "rating",
            strategy=fields["strategy"] or "2",
            priority=fields["priority"] or 0,
            deadline=fields["deadline"],
            blind=not fields["open"],
            seed=fields["seed"] or 0,
            created_by=request.user.id,
        )
        count = stored.add_pairs(connection, batch, pool, gold)
        request.record(connection, "batch.add", batch.name, tasks=count, blind=batch.blind)
    return ActionReply(request.project_path(), {"batch": batch.id, "tasks": count})


def _read_gold(upload: Upload, size_limit: float) -> dict[tuple[str, str], stored.Gold]:
    with upload_file(upload, size_limit) as path:
        table = read_qrels(path).table
    return {
        (row["query_id"], row["doc_id"]): stored.Gold(row["grade"]) for row in table.iter_rows(named=True)
    }


@action(
    "batch-change",
    "/projects/{project}/batches/{batch:int}",
    MANAGING_ROLES,
    "Change the batch",
    Field("state", "State", "choice", choices=(("open", "open"), ("paused", "paused"), ("closed", "closed"))),
    STRATEGY_FIELD,
    Field("priority", "Priority", "whole"),
    DEADLINE_FIELD,
)
def change_batch(request: WebRequest) -> ActionReply:
    """Pause, close or open a batch, or change its priority, deadline or number of raters."""
    with request.store.write() as connection:
        batch = stored.get_batch(connection, request.path["batch"])
        if batch.project != request.project.id:
            raise not_found("batch")
        values = {name: request.values[name] for name in ("state", "priority", "strategy", "deadline")}
        changes = {name: value for name, value in values.items() if value is not None}
        stored.change_batch(connection, batch.id, **changes)
        request.record(
            connection, "batch.change", batch.name, **{name: str(value) for name, value in changes.items()}
        )
    return ActionReply(request.project_path(), {"batch": batch.id})
