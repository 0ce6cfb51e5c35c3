"""Engines of a project that answer a single query for a page, within limits of the server."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from threading import Semaphore
from typing import TYPE_CHECKING

from rankgate.core.errors import MissingExtraError, RankgateError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import Answer, Failure
from rankgate.engines.engine import Query
from rankgate.engines.project_engines import read_project_engine
from rankgate.store.material import project_engines
from rankgate.workspace.web.replies import RequestRefused

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.engines.configuration import Configuration
    from rankgate.store.material.project_engines import ProjectEngine
    from rankgate.workspace.web.web_request import WebRequest


LIVE_SECONDS = 10.0
"""The time limit in seconds for an engine's answer to one query on a page."""

LIVE_DEPTH = 10
"""The number of documents of an answer on a page."""

_AT_ONCE = 8
"""The number of engines that pages of this process query at the same time."""

_MAX_CHARACTERS = 300
"""The largest number of characters of a document's field on a page."""

EXPLANATION = "explanation"
"""The field of a document with the engine's explanation of its score."""

_MAX_EXPLANATION = 20_000
"""The largest number of characters of an explanation on a page."""

_free_places = Semaphore(_AT_ONCE)


@dataclass(frozen=True)
class LiveDocument:
    """A document of an answer: its score, if the engine has scores, and its fields as texts."""

    doc_id: str
    score: float | None
    fields: dict[str, str]


@dataclass(frozen=True)
class LiveAnswer:
    """The answer of an engine to one query.

    Attributes:
        documents: the first documents.
        seconds: the duration of the request.
        total: the number of matching documents reported by the engine.
        problem: the reason for a missing answer; empty if there is an answer.
    """

    documents: tuple[LiveDocument, ...] = ()
    seconds: float = 0.0
    total: int | None = None
    problem: str = ""


def live_engine(request: WebRequest, name: str) -> Configuration:
    """An engine of the project of a request, within the limits of the server.

    Raises:
        UsageError: the engine does not exist; a host, secret, program or file is not allowed.
        InputError: a setting is no longer valid.
    """
    with request.store.read() as connection:
        definition = project_engines.get_engine(connection, request.project.id, name)
    return configure_engine(request, definition)


def configure_engine(request: WebRequest, definition: ProjectEngine) -> Configuration:
    """Configure an engine from its definition in the project, within the limits of the server."""
    return read_project_engine(definition, request.project.name, request.config.engines)


def ask_engine(configuration: Configuration, text: str, depth: int = LIVE_DEPTH) -> LiveAnswer:
    """The answer of an engine to a text; failures become the problem of the answer.

    Args:
        configuration: the configured engine from `live_engine`.
        text: the query.
        depth: the number of documents.

    Raises:
        Refused: too many requests to engines are in progress (503).
    """
    engine = replace(
        configuration.engine, depth=depth, timeout=min(configuration.engine.timeout, LIVE_SECONDS)
    )
    if not _free_places.acquire(blocking=False):
        problem = "Too many engines are being asked at the moment; try again."
        raise RequestRefused(503, "too-many-requests", problem, again=5)
    pool = ThreadPoolExecutor(1, thread_name_prefix="engine")
    start_time = time.monotonic()
    try:
        future = pool.submit(_answer, replace(configuration, engine=engine), text)
        future.add_done_callback(lambda _: _free_places.release())
    except BaseException:
        _free_places.release()
        raise
    try:
        # the engine has its own limit; this limit is for slow name resolution and connections
        reply = future.result(LIVE_SECONDS + 1)
    except FutureTimeoutError:
        reply = Failure("again", f"no answer within {LIVE_SECONDS:g} seconds")
    finally:
        pool.shutdown(wait=False)
    seconds = round(time.monotonic() - start_time, 3)
    if isinstance(reply, Failure):
        return LiveAnswer(seconds=seconds, problem=reply.problem)
    fields = list(reply.fields) or [{}] * len(reply.doc_ids)
    scores = [None] * len(reply.doc_ids) if reply.scores is None else list(reply.scores)
    documents = tuple(
        LiveDocument(
            doc_id, score, {name: _field_text(name, value) for name, value in document_fields.items()}
        )
        for doc_id, score, document_fields in zip(reply.doc_ids, scores, fields, strict=True)
    )
    return LiveAnswer(documents, seconds, reply.total)


def _answer(configuration: Configuration, text: str) -> Answer | Failure:
    try:
        connection = configuration.engine.connect()
        try:
            return connection.ask(Query("typed", text))
        finally:
            connection.close()
    except MissingExtraError:
        return Failure("fatal", "the server lacks the library of this kind of engine")
    except RankgateError as error:
        return Failure("fatal", error.problem)


def _field_text(name: str, value: Json) -> str:
    """A field of a document as shortened text; objects and lists as JSON."""
    text = json.dumps(value, indent=1, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
    return text[: _MAX_EXPLANATION if name == EXPLANATION else _MAX_CHARACTERS]
