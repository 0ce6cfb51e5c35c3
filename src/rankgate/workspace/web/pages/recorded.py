"""Recorded evaluations for programs: add them, read their figures and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.store.kept.parquet import packed
from rankgate.store.records import annotations as noted
from rankgate.store.records import records, series
from rankgate.store.records.new_record import NewRecord
from rankgate.store.rows import now
from rankgate.store.stored_project import StoredProject
from rankgate.workspace.records.places.stored import Stored
from rankgate.workspace.records.places.stored import keep as keep_inputs
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.pages.uploads import parquet_of
from rankgate.workspace.web.render import plain
from rankgate.workspace.web.replies import Done, Sent, not_found

if TYPE_CHECKING:
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import Asked

_JSON, _PARQUET = "application/json", "application/octet-stream"


def _project(asked: Asked) -> StoredProject:
    return StoredProject(asked.store, asked.project.name, asked.project.id)


def add(asked: Asked) -> Done:
    """Record an evaluation."""
    table = asked.values["per_query"]
    per_query = (
        None if table is None else parquet_of(table, "per_query", asked.config.largest_unpacked)
    )
    if per_query is not None and per_query.columns[:2] != ["system", "query_id"]:
        raise wrong("per_query", "has not the columns system and query_id first")
    try:
        found = json.loads(asked.values["record"].content)
    except (ValueError, RecursionError):
        raise InputError("it is not JSON.", source="record", code="invalid-json") from None
    new = NewRecord.from_dict(found, per_query, "record")
    with asked.store.write() as connection:
        done = records.add(
            connection, asked.store.blobs, asked.project.id, new, recorded_by=asked.user.id
        )
        if done.new:
            asked.record(connection, "record.add", str(done.record.id), kind=done.record.kind)
    answer = {"record": done.record.id, "sha256": done.record.sha256, "new": done.new}
    return Done(asked.at("records", done.record.sha256), answer)


def keep(asked: Asked) -> Done:
    """Keep the judgments or a run of an evaluation."""
    rows = parquet_of(asked.values["table"], "table", asked.config.largest_unpacked)
    name, kind = asked.values["name"], asked.values["kind"]
    try:
        qrels = Qrels(rows, name, place=Place(name)) if kind == "judgments" else None
        runs = [] if qrels is not None else [Run(name, lambda: iter([rows]), place=Place(name))]
        digest = runs[0].sha256 if qrels is None else qrels.sha256
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise wrong("table", f"has not the columns of {kind}") from None
    with asked.store.write() as connection:
        keep_inputs(connection, _project(asked), qrels, runs)
        asked.record(connection, f"{kind}.keep", name, sha256=digest)
    return Done(asked.at("records"), {"kind": kind, "sha256": digest})


def annotate(asked: Asked) -> Done:
    """Write down what happened at a moment."""
    given = asked.values
    own = given["annotation_id"]
    with asked.store.write() as connection:
        made = noted.add(
            connection, asked.project.id, at=given["at"] or now(), kind=given["kind"],
            text=given["text"], metric=given["metric"], revision=given["revision"] or "",
            user=asked.user.id, actor=asked.user.name,
            annotation_id=f"{asked.project.id}-{asked.user.id}-{own}" if own else "",
        )  # fmt: skip
        asked.record(connection, "annotation.add", str(made.id), kind=made.kind)
    return Done(_trend(asked, made.metric), {"annotation": made.id})


def _trend(asked: Asked, metric: str | None) -> str:
    """The page on which a note is shown."""
    words = f"?{urlencode({'metric': metric}, quote_via=quote)}" if metric else ""
    return f"{asked.at('trends')}{words}"


def withdraw(asked: Asked) -> Done:
    """Withdraw an annotation."""
    number = int(asked.path["annotation"])
    with asked.store.write() as connection:
        user = asked.user
        found = noted.get(connection, asked.project.id, number)
        noted.withdraw(connection, asked.project.id, number, user=user.id, actor=user.name)
        asked.record(connection, "annotation.withdraw", str(number))
    return Done(_trend(asked, found.metric), {"annotation": number})


def points(asked: Asked) -> Sent:
    """The figures of a metric, or of all."""
    given = asked.values
    with asked.store.read() as connection:
        found = series.points(
            connection, asked.project.id, given["metric"], system=given["system"],
            slice=given["slice"] or "", since=given["since"],
        )  # fmt: skip
    return _sent({"points": [vars(each) for each in found]})


def happened(asked: Asked) -> Sent:
    """What happened."""
    given = asked.values
    with asked.store.read() as connection:
        found = noted.listed(
            connection, asked.project.id, metric=given["metric"], since=given["since"]
        )
    return _sent({"annotations": [vars(each) for each in found]})


def details(asked: Asked) -> Sent:
    """What is known of a record."""
    return _sent({"record": vars(_record(asked))})


def per_query(asked: Asked) -> Sent:
    """A record's values per query."""
    found = _record(asked)
    if found.per_query is None:
        raise not_found("values per query")
    name = f"{asked.project.name}-{found.id}.parquet"
    return Sent(asked.store.blobs.get(found.per_query), _PARQUET, name)


def kept(asked: Asked) -> Sent:
    """Kept judgments or a kept run."""
    place, digest = Stored(_project(asked)), str(asked.path["sha256"])
    kind = asked.path["kind"]
    found = {"judgments": place.qrels, "run": place.run}.get(str(kind), lambda _: None)(digest)
    if found is None:
        raise not_found("file")
    return Sent(packed(found.table), _PARQUET, f"{digest[:12]}.parquet")


def _record(asked: Asked) -> Record:
    with asked.store.read() as connection:
        found = records.of_project(connection, asked.project.id, [int(asked.path["record"])])
    if not found:
        raise not_found("record")
    return found[0]


def _sent(found: dict[str, Any]) -> Sent:
    return Sent(plain(found), _JSON)
