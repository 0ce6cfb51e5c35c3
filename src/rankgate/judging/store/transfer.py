"""Bring files of any format into a project of a store, and out of it; report what is lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats import registry
from rankgate.data.formats.writing import unrated
from rankgate.data.notes import Note
from rankgate.data.read import contents_of
from rankgate.errors import InputError, UsageError
from rankgate.files.conversion import Conversion
from rankgate.files.convert import convert
from rankgate.store import imports
from rankgate.store.kept import extras, judgments, runs
from rankgate.store.material import documents, projects, queries
from rankgate.store.rating import batches, ratings

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.store import Store

_KEPT = ("qrels", "ratings", "queries", "documents", "runs")


def import_file(
    store: Store,
    project: str,
    source: str | Path,
    *,
    from_: str | None = None,
    batch: str | None = None,
) -> Conversion:
    """Bring a file into a project, which is made if there is none; in one transaction.

    Ratings stay those of single raters. Judgments are brought in where the file has no ratings
    that they follow from. The same file twice changes nothing.

    Args:
        store: an open store.
        project: its name.
        source: a path; ``NAME:PATH`` names the format.
        from_: the name of the format; found by looking into the file if not given.
        batch: a batch to which pairs without a rating are added, to be rated; it is made if there
            is none.

    Raises:
        InputError: a file that cannot be read; grades that are not on the project's scale.
        UsageError: no such format; a run or judgments of this name are there already.
    """
    place, found = registry.opened(source, from_)
    reason = "it was named"
    if found is None:
        found, reason = registry.detected(place)
    contents = contents_of(place, found.name)
    label = place.label
    kept = contents if contents.ratings is None else replace(contents, qrels=None)
    if not set(kept.parts) & set(_KEPT):
        raise InputError(
            "there is nothing for a store in it.", source=label, code="no-such-content"
        )
    with store.write() as connection:
        number = _project(connection, project, kept)
        rows, again = _brought(connection, store, number, kept, Path(label).name)
        if batch is not None:
            rows["tasks"] = _unrated(connection, number, batch, kept)
        if kept.extra:
            extras.keep(connection, store.blobs, number, Path(label).name, kept.extra)
    repeated = Note.of("ratings that the store has already", [label] * again)
    return Conversion(
        source=label,
        target=f"{store.name} project {project}",
        from_format=found.name,
        reason=reason,
        to_format="store",
        rows=rows,
        notes=(*contents.notes, *repeated),
        losses=kept.losses(*_KEPT, "extra"),
    )


def _project(connection: Connection, name: str, contents: FileContents) -> int:
    """The number of a project, made with the scale of the file if there is none."""
    try:
        return projects.named(connection, name).id
    except UsageError as error:
        if error.code != "unknown-project":
            raise
    made = projects.add(connection, name)
    holder = contents.ratings or contents.qrels
    if holder is not None and holder.scale is not None:
        with suppress(UsageError):  # a range without a list of grades
            projects.set_scale(connection, made.id, holder.scale)
    return made.id


def _unrated(connection: Connection, project: int, name: str, contents: FileContents) -> int:
    """Add the pairs that nobody has rated to a batch; how many are new."""
    pair = ["query_id", "doc_id"]
    tables = [unrated(contents)]
    for extra in contents.extra.values():
        known = extra.get("pairs") if isinstance(extra, dict) else None
        tables += [pl.DataFrame(list(known), pair, orient="row")] if known else []
    pairs = pl.concat(tables).unique(maintain_order=True)
    if contents.ratings is not None:
        pairs = pairs.join(contents.ratings.table, pair, "anti", maintain_order="left")
    try:
        found = batches.named(connection, project, name)
    except UsageError:
        found = batches.add(connection, project, name)
    return batches.add_pairs(connection, found, pairs)


def _brought(
    connection: Connection, store: Store, project: int, contents: FileContents, source: str
) -> tuple[dict[str, int], int]:
    """How many rows of each part there are, and how many ratings were there before."""
    rows: dict[str, int] = {}
    again = 0
    if contents.queries is not None:
        rows["queries"] = queries.add(connection, project, contents.queries)
    if contents.documents is not None:
        rows["documents"] = documents.add(connection, project, contents.documents)
    if contents.ratings is not None:
        known = [
            each.get("models", ()) for each in contents.extra.values() if isinstance(each, dict)
        ]
        models = tuple(name for names in known for name in names)
        new = imports.add(connection, project, contents.ratings, source=source, models=models)
        rows["ratings"] = len(contents.ratings.table)
        again = rows["ratings"] - new
    if contents.qrels is not None and len(contents.qrels.table):
        rows["qrels"] = judgments.add(connection, store.blobs, project, contents.qrels).rows
    for run in contents.runs:
        found = runs.add(connection, store.blobs, project, run)
        rows["runs"] = rows.get("runs", 0) + found.rows
    return rows, again


def contents_in(
    store: Store,
    project: str,
    *,
    judgments_name: str | None = None,
    run_names: tuple[str, ...] = (),
) -> FileContents:
    """What a project holds, as the contents of a file.

    Args:
        store: an open store.
        project: its name.
        judgments_name: resolved judgments to put in, instead of ratings.
        run_names: runs to put in.

    Raises:
        UsageError: there is no such thing.
    """
    with store.read() as connection:
        number = projects.named(connection, project).id
        rated = None
        if judgments_name is None:
            try:
                rated = ratings.table(connection, number, name=project)
            except InputError:
                rated = None
        qrels = None
        if judgments_name is not None:
            qrels = judgments.read(connection, store.blobs, number, judgments_name)
        return FileContents(
            qrels=qrels,
            ratings=rated,
            queries=queries.table(connection, number),
            documents=documents.table(connection, number),
            runs=tuple(runs.read(connection, store.blobs, number, name) for name in run_names),
            extra=extras.kept(connection, store.blobs, number),
        )


def export_file(
    store: Store,
    project: str,
    target: str | Path | BinaryIO,
    *,
    to: str | None = None,
    as_: str | None = None,
    judgments_name: str | None = None,
    run_names: tuple[str, ...] = (),
) -> Conversion:
    """Write what a project holds into a file; ratings of every rater, in the order recorded.

    Args:
        store: an open store.
        project: its name.
        target: the file, which is replaced in one step.
        to: the format; by the suffix of the name if not given.
        as_: the one part to write, such as ``ratings``.
        judgments_name: resolved judgments to write, instead of ratings.
        run_names: runs to write.

    Raises:
        InputError: the project holds nothing that the format can hold.
        UsageError: there is no such thing; no such format; the file cannot be written.
    """
    contents = contents_in(store, project, judgments_name=judgments_name, run_names=run_names)
    made = convert(contents, target, to=to, as_=as_)
    return replace(
        made, source=f"{store.name} project {project}", from_format="store",
        reason="it was named",
    )  # fmt: skip
