"""Pages of the engines of a project, with a form for each kind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.core.present.codec import encode
from rankgate.engines.configuration import ENGINES
from rankgate.engines.engine import Engine
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines
from rankgate.store.material.project_engines import ProjectEngine
from rankgate.store.material.queries_documents import Document
from rankgate.workspace.web.pages.card_proposal import propose_card, with_proposal
from rankgate.workspace.web.pages.document_card import card_settings, parse_card
from rankgate.workspace.web.pages.document_view import document_view
from rankgate.workspace.web.pages.highlighting import QueryWords
from rankgate.workspace.web.pages.live_engines import ask_engine, configure_engine, live_engine
from rankgate.workspace.web.replies import ActionReply, PageReply, Reply, RequestRefused
from rankgate.workspace.web.shared_fields import PROJECT
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    Field,
    action,
    declared_field,
    invalid_value,
    list_engine_secrets,
    list_judgment_names,
    page,
    write_lines,
)

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter
    from rankgate.core.value_types import Json
    from rankgate.engines.configuration import Configuration, EngineKind
    from rankgate.engines.project_engines import EngineAccess
    from rankgate.workspace.web.pages.live_engines import LiveDocument
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


DEFAULT_QUERY = "test"
"""The query for trying an engine."""

_PAGE_FIELDS = frozenset({"name", "query", "seen", "preview"})
"""Fields of the form that are not settings of the engine."""

_OPEN_FIELDS = frozenset({"search", "table", "sql", "fields", "id", "score", "params"})
"""Optional settings that most engines need."""

_LONG_SETTINGS = frozenset({"sql", "dsn"})


def engine_fields(kind: EngineKind) -> tuple[Field, ...]:
    """The form fields for a kind of engine: a name, the declared settings, and a query."""
    settings = {setting.name: setting for setting in dataclass_fields(kind.declaration)}
    return (
        Field("name", "Name", required=True, most=63, help="Such as shop, or shop-new."),
        *(
            engine_field(parameter, settings[parameter.name].metadata)
            for parameter in kind.parameters.values()
        ),
        Field("query", "Query to try", default=DEFAULT_QUERY, unset=DEFAULT_QUERY, most=2_000),
        Field("seen", kind="text", most=64, unset="", help="The state that was changed."),
        Field("preview", kind="flag", help="Only send the query, without saving the engine."),
    )


_LABELS = {
    "about": "Path of the answer about the index",
    "api_key": "API key",
    "bearer": "Bearer token",
    "body": "Body of the request, JSON",
    "boosts": "Weight of each field",
    "ca": "File of certificates",
    "command": "Program and its arguments",
    "database": "Database file",
    "depth": "Documents to ask for",
    "documents": "Path of the number of documents",
    "dsn": "Connection to the database",
    "error": "Path of an error message",
    "every": "Every word must match",
    "fields": "Fields of documents that raters see",
    "first_page": "Number of the first page",
    "folder": "Working folder",
    "function": "Python function",
    "headers": "Headers of the request",
    "hits": "Path of the list of documents",
    "id": "Field of the document's id",
    "index": "Index to search",
    "match": "How words match",
    "method": "Method of the request",
    "page_size": "Documents of one request",
    "parameters": "Values of names in braces",
    "params": "Parameters of the address",
    "score": "Path of the document's score",
    "search": "Fields to search",
    "sql": "SQL statement",
    "state": "Path of the state of the index",
    "table": "Full-text table",
    "template": "Stored search template",
    "timeout": "Seconds to wait for an answer",
    "total": "Path of the number of matches",
    "url": "Address of the search service",
    "user": "User name",
    "weights": "Weight of each column",
}
"""The labels of settings in words; a setting of a plug-in has its own name."""


def engine_field(parameter: Parameter, metadata: Mapping[str, object]) -> Field:
    """The form field of a setting of a kind of engine."""
    labels = {"label": _LABELS[parameter.name]} if parameter.name in _LABELS else {}
    if parameter.kind in {"list", "table"}:
        is_list = parameter.kind == "list"
        format_hint = "One a line." if is_list else "Lines such as name = value, or JSON."
        return declared_field(
            parameter,
            **labels,
            kind="lines",
            most=50_000,
            default="",
            unset=None,
            required=parameter.required,
            help=f"{parameter.sentence} {format_hint}",
            schema={"type": "array" if is_list else "object"},
        )
    if metadata.get("path"):
        location_hint = "The file is in the project's folder on the server."
        return declared_field(parameter, **labels, most=2_000, help=f"{parameter.sentence} {location_hint}")
    if metadata.get("secret"):
        return declared_field(
            parameter,
            **labels,
            help=f"{parameter.sentence} Names are those that this server allows.",
            options=list_engine_secrets,
        )
    if parameter.name in _LONG_SETTINGS:
        return declared_field(parameter, **labels, kind="long", most=20_000)
    return declared_field(parameter, **labels, most=2_000)


def folded_settings(kind: EngineKind) -> list[str]:
    """The settings of a kind that most users leave unchanged."""
    return [
        name
        for name, parameter in kind.parameters.items()
        if not parameter.required and name not in _OPEN_FIELDS
    ]


_ENGINES_PATH = f"{PROJECT}/engines"


@page(
    "engines",
    _ENGINES_PATH,
    MANAGING_ROLES,
    "Engines",
    Field("kind", "Kind", most=63),
    Field("engine", "Engine", most=63),
)
def engines_page(request: WebRequest) -> PageReply:
    """The page of the project's engines, with the form of one engine or of a kind."""
    with request.store.read() as connection:
        engines = project_engines.list_engines(connection, request.project.id)
        runs = stored_runs.list_runs(connection, request.project.id)
    edited_engine = next((engine for engine in engines if engine.name == request.values["engine"]), None)
    wanted_kind = edited_engine.kind if edited_engine else request.values["kind"]
    kind = next((kind.name for kind in ENGINES.all_objects if kind.name == wanted_kind), None)
    data: PageRow = {
        "project": request.project.name,
        "engines": [_engine_view(request, engine) for engine in engines],
        "kinds": [{"name": kind.name, "title": kind.title} for kind in offered_kinds(request)],
        "kind": kind,
        "engine": edited_engine.name if edited_engine else None,
        "runs": len(runs),
    }
    extra: PageRow = {"given": {}, "folded": [], "options": {}, "access": _access(request)}
    extra["judged"] = bool(list_judgment_names(request))
    if kind is not None:
        extra |= form_values(request, ENGINES.find(kind), edited_engine)
    return PageReply("engines.html", data, extra)


def offered_kinds(request: WebRequest) -> list[EngineKind]:
    """The kinds of engines that the operator of the server allows."""
    return [kind for kind in ENGINES.all_objects if not _missing_option(kind, request.config.engines)]


def _missing_option(kind: EngineKind, access: EngineAccess) -> str:
    """The option of the server without which engines of a kind are refused; empty if they are allowed."""
    if kind.declaration.addresses is Engine.addresses:
        return "" if access.programs else "--engine-programs"
    settings = dataclass_fields(kind.declaration)
    if any(setting.metadata.get("path") and kind.parameters[setting.name].required for setting in settings):
        return "" if access.folder else "--jobs"
    return "" if access.hosts else "--engine-host"


def _access(request: WebRequest) -> dict[str, list[str]]:
    """The engine access that the server allows, as text for the form, and the options for further kinds."""
    engines = request.config.engines
    options = {_missing_option(kind, engines) for kind in ENGINES.all_objects}
    return {
        "hosts": sorted(engines.hosts),
        "secrets": sorted(engines.secrets),
        "options": sorted(filter(None, options)),
    }


def form_values(request: WebRequest, kind: EngineKind, edited_engine: ProjectEngine | None) -> dict[str, Any]:
    """The initial values of an engine's form."""
    form_values: PageRow = {}
    if edited_engine is not None:
        form_values = {
            name: write_lines(value) if isinstance(value, dict | list) else value
            for name, value in edited_engine.settings.items()
        }
        form_values |= {"name": edited_engine.name}
    options = {
        field.name: field.options(request) for field in engine_fields(kind) if field.options is not None
    }
    return {
        "kind_title": kind.title,
        "given": form_values,
        "folded": [name for name in folded_settings(kind) if name not in form_values],
        "options": options,
        "seen": "" if edited_engine is None else engine_digest(edited_engine),
    }


def _engine_view(request: WebRequest, engine: ProjectEngine) -> PageRow:
    """An engine with the reason why it cannot be used, if any."""
    try:
        configure_engine(request, engine)
        problem = ""
    except RankgateError as error:
        problem = error.problem
    return {
        "name": engine.name,
        "kind": engine.kind,
        "settings": dict(engine.settings),
        "secrets": list(engine.secrets),
        "problem": problem,
    }


def engine_digest(engine: ProjectEngine) -> str:
    """A hash of an engine's definition."""
    text = json.dumps([engine.kind, engine.settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def save_handler(kind: EngineKind) -> Callable[[WebRequest], Reply]:
    """A handler that saves an engine of a kind, or only tries it with a query."""

    def save(request: WebRequest) -> Reply:
        definition = read_definition(kind, request.values["name"], request.values)
        configuration = check_definition(request, definition)
        if request.values["preview"]:
            return _answer_page(request, configuration, request.values["query"])
        save_definition(request, definition)
        return ActionReply(request.project_path("engines"), {"engine": definition.name, "kind": kind.name})

    return save


def save_definition(request: WebRequest, definition: ProjectEngine) -> None:
    """Save an engine, unless it has changed since the sender saw it.

    Raises:
        Refused: the name is taken; another user has changed the engine (409).
    """
    with request.store.write() as connection:
        _refuse_overwriting(
            project_engines.list_engines(connection, request.project.id), definition, request.values["seen"]
        )
        project_engines.save_engine(connection, request.project.id, definition)
        request.record(connection, "engine.save", definition.name, kind=definition.kind)


def read_definition(kind: EngineKind, engine: str, values: Mapping[str, Any]) -> ProjectEngine:
    """The engine described by a form; default values are left out.

    Raises:
        Refused: a value does not fit; the error is shown next to its field.
    """
    settings: dict[str, Json] = {}
    for name, parameter in kind.parameters.items():
        value = values.get(name)
        if value is None or value == parameter.default:
            continue
        try:
            parameter.read(value)
        except ValueError as error:
            raise invalid_value(name, str(error).rstrip(".")) from None
        settings[name] = value
    return ProjectEngine(engine, kind.name, settings)


def check_definition(request: WebRequest, definition: ProjectEngine) -> Configuration:
    """The configured engine of a definition.

    Raises:
        Refused: settings do not work together, or the server does not allow them.
    """
    try:
        return configure_engine(request, definition)
    except (InputError, UsageError) as error:
        field = _field_of_error(definition, error)
        raise RequestRefused(400, error.code, error.problem, field=field) from None


def _field_of_error(definition: ProjectEngine, error: RankgateError) -> str:
    """The field for showing an error: the first setting named in the error."""
    names = ENGINES.find(definition.kind).parameters
    tokens = [word.strip(".,:;") for word in error.problem.split()]
    if error.code == "host-not-allowed":
        return next((name for name in ("url", "dsn") if name in names), "")
    if error.code == "secret-not-allowed":
        return next(
            (
                name
                for name, value in definition.settings.items()
                if any(f"${{{word}}}" in json.dumps(value) for word in tokens)
            ),
            "",
        )
    return next((word for word in tokens if word in names and word not in _PAGE_FIELDS), "")


def _refuse_overwriting(engines: list[ProjectEngine], definition: ProjectEngine, state_digest: str) -> None:
    """Refuse to replace an engine that has changed since the sender saw it.

    Raises:
        Refused: the name is taken; another user has changed the engine (409).
    """
    stored_engine = next((engine for engine in engines if engine.name == definition.name), None)
    if stored_engine is None or stored_engine == definition or engine_digest(stored_engine) == state_digest:
        return
    problem = (
        f"somebody changed the engine {definition.name} meanwhile; look at it again, or choose another name."
        if state_digest
        else f"there is an engine {definition.name} already; choose another name."
    )
    raise RequestRefused(409, "name-taken", problem, field="name")


@action(
    "engine-try",
    f"{_ENGINES_PATH}/{{engine}}/try",
    MANAGING_ROLES,
    "Try it",
    Field("query", "Query", default=DEFAULT_QUERY, unset=DEFAULT_QUERY, most=2_000),
)
def try_engine(request: WebRequest) -> PageReply:
    """Show the answer of an engine of the project to one query."""
    configuration = live_engine(request, request.path["engine"])
    return _answer_page(request, configuration, request.values["query"])


def _answer_page(request: WebRequest, configuration: Configuration, query: str) -> PageReply:
    answer = ask_engine(configuration, query)
    content = encode(answer)
    documents = content["documents"]
    data = {
        "project": request.project.name,
        "engine": configuration.name,
        "query": query,
        **content,
        "missing": [
            name
            for name in configuration.engine.fields
            if documents and not any(name in document["fields"] for document in documents)
        ],
    }
    return PageReply("engine_answer.html", data, _card_view(request, answer.documents[:1], documents))


def _card_view(
    request: WebRequest, first: Sequence[LiveDocument], documents: Sequence[Mapping[str, Any]]
) -> PageRow:
    """The proposed card of a project without one, and the first document as raters would see it."""
    settings = request.project.settings
    proposal = propose_card([document["fields"] for document in documents])
    if not first or settings.get("card") or not (proposal.card or proposal.links):
        return {"proposal": None}
    card = card_settings(parse_card(proposal.card))
    document = Document(0, first[0].doc_id, "", first[0].fields, None, None)
    first_document = document_view(document, QueryWords(), settings | {"card": card})
    return {
        "proposal": vars(proposal),
        "shown": first_document,
        "kept": with_proposal(settings, proposal) | {"project": request.project.name},
    }


@action("engine-delete", f"{_ENGINES_PATH}/{{engine}}/delete", MANAGING_ROLES, "Delete the engine")
def delete_engine(request: WebRequest) -> ActionReply:
    """Delete an engine; its runs stay."""
    name = request.path["engine"]
    with request.store.write() as connection:
        project_engines.delete_engine(connection, request.project.id, name)
        request.record(connection, "engine.delete", name)
    return ActionReply(request.project_path("engines"), {"engine": name})


for engine_kind in ENGINES.all_objects:
    action(
        f"engine-save-{engine_kind.name}",
        f"{_ENGINES_PATH}/kinds/{engine_kind.name}",
        MANAGING_ROLES,
        "Save the engine",
        *engine_fields(engine_kind),
        does_step=True,
    )(save_handler(engine_kind))
