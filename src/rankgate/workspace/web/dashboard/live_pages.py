"""Live comparison: two engines of the project answer a typed query, with ratings in place.

A rating is the sender's answer to a task, as on the rating page. The batch of these tasks is
paused, so that other raters do not get typed queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import polars as pl

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines, queries_documents
from rankgate.store.material.queries_documents import Document
from rankgate.store.rating import batches, next_task, rating_answers
from rankgate.workspace.web.dashboard.recorded_results import read_judgments_table
from rankgate.workspace.web.dashboard.side_lists import SideLists, make_side_lists
from rankgate.workspace.web.pages.live_engines import (
    EXPLANATION,
    LiveAnswer,
    LiveDocument,
    ask_engine,
    configure_engine,
)
from rankgate.workspace.web.pages.rating_pages import record_answer
from rankgate.workspace.web.pages.task_view import scale_view
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found
from rankgate.workspace.web.web_request import MANAGING_ROLES, Field, action, invalid_value, page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.web_request import WebRequest


BATCH_NAME = "Live comparison"
"""The name of the batch for ratings given on the page of the live comparison."""

SIDES = ("first", "second")

_KEEP_SECONDS = 120.0
"""Seconds for which an answer is cached, so that a rating does not query the engine twice."""

_MAX_TASKS = 1_000


class _NoAnswer(Exception):  # noqa: N818 - a problem of an engine, which is not kept
    """A failed answer with its problem."""

    def __init__(self, answer: LiveAnswer) -> None:
        super().__init__(answer.problem)
        self.answer = answer


@dataclass(frozen=True)
class _TypedQuery:
    """A typed query with its id and the known grades by document.

    Attributes:
        query_id: the id of the project's query with this text, or an id made from the text.
        stored: True if the project has the query.
        judged: the grades in the latest judgments.
        people_grades: the latest grade by any person; the sender's grade if there is one.
        own_grades: the grades of the sender.
    """

    query_id: str
    stored: bool
    judged: Mapping[str, float]
    people_grades: Mapping[str, float]
    own_grades: Mapping[str, float]

    def grade(self, doc_id: str) -> float | None:
        """The grade of a document from judgments or ratings; None if ungraded."""
        return self.judged.get(doc_id, self.people_grades.get(doc_id))


_MAX_TEXT = 500

_PARAMETERS = "Such as k1=0.9 b=0.4; the engine must have these names."


@page(
    "live",
    "/projects/{project}/live",
    MANAGING_ROLES,
    "Live comparison",
    Field("text", "Query", most=_MAX_TEXT),
    Field("first", "First engine", most=63),
    Field("first_parameters", "Its parameters", most=500, help=_PARAMETERS),
    Field("second", "Second engine", most=63),
    Field("second_parameters", "Its parameters", most=500, help=_PARAMETERS),
    scope="read",
)
def live_page(request: WebRequest) -> PageReply:
    """The page with the answers of two engines to a typed query, or with only the form."""
    fields = request.values
    text = (fields["text"] or "").strip()
    with request.store.read() as connection:
        engines = project_engines.list_engines(connection, request.project.id)
        scale = request.cached("scale", lambda: scale_view(connection, request.project.id))
    names = [engine.name for engine in engines]
    # the engine chosen for each side; the first two by default
    defaults = (*names[:2], *names[:1] * 2, "", "")
    engine_by_side = {
        side: request.values[side] or default for side, default in zip(SIDES, defaults, strict=False)
    }
    answers = _ask_engines(request, engine_by_side, text) if text and names else {}
    lists: SideLists | None = None
    query: _TypedQuery | None = None
    if answers:
        with request.store.read() as connection:
            query = _read_query(connection, request, text)
            lists = _make_lists(connection, request, query, text, answers, scale)
    data = {
        "project": request.project.name,
        "text": text,
        "engines": names,
        "chosen": engine_by_side,
        "parameters": {side: fields[f"{side}_parameters"] or "" for side in SIDES},
        "answers": {
            side: {"seconds": answer.seconds, "total": answer.total, "problem": answer.problem}
            for side, answer in answers.items()
        },
        "query": None if query is None else {"query_id": query.query_id, "stored": query.stored},
        "lists": None if lists is None else {"first": lists.first, "second": lists.second},
        "unjudged": 0 if lists is None else lists.unjudged,
    }
    extra = {
        "scale": scale,
        "own": {} if query is None else query.own_grades,
        "known_parameters": {
            engine.name: dict(engine.settings.get("parameters") or {}) for engine in engines
        },
    }
    return PageReply("live.html", data, extra)


def _ask_engines(request: WebRequest, engine_by_side: Mapping[str, str], text: str) -> dict[str, LiveAnswer]:
    """The answers of both engines, which are queried at the same time."""
    with ThreadPoolExecutor(len(SIDES)) as pool:
        futures = {
            side: pool.submit(
                _read_answer, request, engine_by_side[side], request.values[f"{side}_parameters"], text
            )
            for side in SIDES
        }
        return {side: future.result() for side, future in futures.items()}


def _read_answer(request: WebRequest, name: str, parameters: str | None, text: str) -> LiveAnswer:
    """The answer of an engine with some parameters; the answer includes any problem."""
    try:
        with request.store.read() as connection:
            definition = project_engines.get_engine(connection, request.project.id, name)
        configuration = configure_engine(request, definition)
        if parameters:  # limits of the server are also checked with the parameters
            values = configuration.with_parameters(parameters.split()).engine.parameters
            settings = {**definition.settings, "parameters": values}
            configuration = configure_engine(request, replace(definition, settings=settings))
    except RankgateError as error:
        return LiveAnswer(problem=error.problem)

    def make_answer() -> LiveAnswer:
        answer = ask_engine(configuration, text)
        if answer.problem:
            raise _NoAnswer(answer)
        return answer

    key = ("live answer", request.project.id, configuration.engine_sha256, name, text)
    try:
        return request.cache.get(key, make_answer, changes=True, shortest=_KEEP_SECONDS)
    except _NoAnswer as failed:
        return failed.answer
    except RequestRefused as refused:
        return LiveAnswer(problem=refused.problem)


def _read_query(connection: Connection, request: WebRequest, text: str) -> _TypedQuery:
    project = request.project.id
    queries = queries_documents.list_queries(connection, project)
    stored_id = next((query.query_id for query in queries if query.text == text), None)
    query_id = stored_id or f"live-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    stored_judgments = stored_runs.list_judgments(connection, project)
    judged: dict[str, float] = {}
    if stored_judgments:
        table = read_judgments_table(connection, request, stored_judgments[-1])
        rows = table.filter(pl.col("query_id") == query_id).drop_nulls("grade")
        judged = dict(rows.select("doc_id", "grade").iter_rows())
    task_filter = rating_answers.TaskFilter(query=query_id)
    pairs = rating_answers.list_pairs(connection, project, task_filter, most=_MAX_TASKS)
    people_grades, own_grades = {}, {}
    for pair in pairs:
        for answer in pair.answers:
            if pair.query_id != query_id or pair.gold is not None or answer.grade is None:
                continue
            if answer.rater == request.user.name:
                own_grades[pair.doc_id] = answer.grade
            people_grades[pair.doc_id] = answer.grade
    return _TypedQuery(query_id, stored_id is not None, judged, {**people_grades, **own_grades}, own_grades)


def _make_lists(
    connection: Connection,
    request: WebRequest,
    query: _TypedQuery,
    text: str,
    answers: Mapping[str, LiveAnswer],
    scale: list[dict[str, Any]],
) -> SideLists:
    live_documents = {document.doc_id: document for side in SIDES for document in answers[side].documents}
    stored = queries_documents.documents_of_query(
        connection, request.project.id, query.query_id, live_documents
    )
    documents = {
        doc_id: _with_fields(document, stored.get(doc_id)) for doc_id, document in live_documents.items()
    }
    first, second = (
        {
            rank: (document.doc_id, query.grade(document.doc_id))
            for rank, document in enumerate(answers[side].documents, 1)
        }
        for side in SIDES
    )
    top = max((float(grade["grade"]) for grade in scale), default=0.0)
    return make_side_lists((first, second), documents, text, request.project.settings, top)


def _with_fields(document: LiveDocument, stored: Document | None) -> Document:
    """A document with the fields of the answer, or of the store if the answer has no fields."""
    if stored is not None and not set(document.fields) - {EXPLANATION}:
        return replace(stored, fields={**stored.fields, **document.fields})
    return Document(0, document.doc_id, "", document.fields, None if stored is None else stored.url, None)


@action(
    "live-rate",
    "/projects/{project}/live/ratings",
    MANAGING_ROLES,
    "Rate",
    Field("text", "Query", required=True, most=_MAX_TEXT),
    Field("first", required=True, most=63),
    Field("first_parameters", most=500),
    Field("second", required=True, most=63),
    Field("second_parameters", most=500),
    Field("doc_id", "Document", required=True, most=1_000),
    Field("grade", "Grade", "number", required=True, help="On the scale."),
    scope="rate",
)
def rate_live(request: WebRequest) -> ActionReply:
    """Record the sender's grade of a document for a typed query.

    Raises:
        Refused: no engine returned this document.
    """
    fields = request.values
    text = fields["text"].strip()
    if not text:
        raise invalid_value("text", "is missing")
    engine_by_side = {side: fields[side] for side in SIDES}
    answers = _ask_engines(request, engine_by_side, text)
    document = next(
        (
            document
            for side in SIDES
            for document in answers[side].documents
            if document.doc_id == fields["doc_id"]
        ),
        None,
    )
    if document is None:
        raise not_found("document in the answers")
    with request.store.write() as connection:
        project = request.project.id
        query = _read_query(connection, request, text)
        if not query.stored:
            table = pl.DataFrame({"query_id": [query.query_id], "text": [text]})
            queries_documents.add_queries(connection, project, table)
        task = _make_task(connection, request, query.query_id, document)
        rater = request.rater(connection)
        next_task.give(connection, task, rater)
        answer_fields = dict.fromkeys(("why", "reason", "comment", "seconds", "at", "rating_id"))
        answer = answer_fields | {"task": task, "grade": fields["grade"]}
        recorded = record_answer(connection, request, rater, answer)
    parameters = {name: fields[name] for name in _ADDRESS_FIELDS if fields[name]}
    path = f"{request.project_path('live')}?{urlencode(parameters)}"
    return ActionReply(path, {"rating_id": recorded.identity, "query_id": query.query_id})


_ADDRESS_FIELDS = ("text", *SIDES, *(f"{side}_parameters" for side in SIDES))


def _make_task(connection: Connection, request: WebRequest, query_id: str, document: LiveDocument) -> int:
    """The task of a pair in the batch of live ratings; a missing batch is created."""
    project = request.project.id
    fields = {name: text for name, text in document.fields.items() if name != EXPLANATION}
    stored_documents = queries_documents.documents_of_query(connection, project, query_id, [document.doc_id])
    if fields and (document.doc_id not in stored_documents or not stored_documents[document.doc_id].fields):
        row = {name: [text] for name, text in {**fields, "doc_id": document.doc_id}.items()}
        queries_documents.add_documents(connection, project, pl.DataFrame(row))
    project_batches = batches.list_batches(connection, request.project.id)
    batch = next((batch for batch in project_batches if batch.name == BATCH_NAME), None)
    if batch is None:
        batch = batches.add_batch(
            connection, request.project.id, BATCH_NAME, blind=False, created_by=request.user.id
        )
        batch = batches.change_batch(connection, batch.id, state="paused")
    pair = pl.DataFrame({"query_id": [query_id], "doc_id": [document.doc_id]})
    batches.add_pairs(connection, batch, pair)
    return batches.task_of_pair(connection, batch.id, query_id, document.doc_id)
