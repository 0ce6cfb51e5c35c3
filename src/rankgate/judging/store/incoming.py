"""What a file brings into a project of a store: read, mapped, added in one transaction."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.column_map import ColumnMap, mapped
from rankgate.data.files.conversion import Conversion
from rankgate.data.formats import registry
from rankgate.data.formats.writing import unrated
from rankgate.data.notes import Loss, Note
from rankgate.data.ratings import Ratings
from rankgate.data.read import contents_of
from rankgate.judging.transformers import transformer_of
from rankgate.store import imports
from rankgate.store.kept import extras, judgments, runs
from rankgate.store.material import documents, projects, queries
from rankgate.store.rating import batches, ratings

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.inputs import ColumnsLike
    from rankgate.judging.transformers import Transformer
    from rankgate.store.database import Connection
    from rankgate.store.kept.blobs import Blobs

KEPT = ("qrels", "ratings", "queries", "documents", "runs")
"""The parts of a file that a store takes."""


@dataclass(frozen=True)
class Incoming:
    """A file that was read.

    Attributes:
        contents: what it holds for a store.
        label: the file.
        form: the name of its format.
        reason: why it was taken for that.
        losses: columns that nobody named.
    """

    contents: FileContents
    label: str
    form: str
    reason: str
    losses: tuple[Loss, ...] = ()


def read_incoming(
    source: str | Path,
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    transform: str | Path | Transformer | None = None,
    final: str | None = None,
) -> Incoming:
    """Read a file for a store, without judgments that follow from its ratings.

    Args:
        source: a path; ``NAME:PATH`` names the format.
        from_: the name of the format; found by looking into the file if not given.
        columns: the columns of a sheet that have no usual name, as of `column_map`.
        transform: what grades become on the project's scale, as of `transformer_of`.
        final: the rater, or the column of grades, whose grades are final words.

    Raises:
        InputError: a file that cannot be read, or holds nothing for a store; a grade that the
            transformer does not map.
        UsageError: no such format, column or transformer.
    """
    place, found = registry.opened(mapped(source, columns), from_)
    reason = "it was named"
    if found is None:
        found, reason = registry.detected(place)
    contents = contents_of(place, found.name)
    kept = contents if contents.ratings is None else replace(contents, qrels=None)
    if not set(kept.parts) & set(KEPT):
        raise InputError(
            "there is nothing for a store in it.", source=place.label, code="no-such-content"
        )
    kept = _transformed(kept, transformer_of(transform))
    if final is not None and kept.ratings is not None:
        kept = replace(kept, ratings=_final(kept.ratings, final))
    return Incoming(kept, place.label, found.name, reason, _unnamed(source, columns))


def _transformed(contents: FileContents, transformer: Transformer | None) -> FileContents:
    """Grades on the project's scale: those of ratings, or of judgments."""
    if transformer is None:
        return contents
    if contents.ratings is not None:
        return replace(contents, ratings=transformer(contents.ratings))
    if contents.qrels is None:
        return contents
    qrels = contents.qrels
    said = qrels.table.with_columns(pl.lit("the judgments").alias("rater"))
    carried = transformer(Ratings(said, qrels.name, qrels.scale, qrels.place))
    table = carried.table.drop("rater").select(qrels.table.columns)
    return replace(contents, qrels=replace(qrels, table=table, scale=transformer.scale))


def _final(said: Ratings, rater: str) -> Ratings:
    if rater not in said.table["rater"]:
        known = ", ".join(said.table["rater"].unique(maintain_order=True).head(10))
        problem = f"no rater or column of grades {rater!r}; there are {known}."
        raise InputError(problem, source=said.place.label, code="missing-column")
    return replace(said, table=said.table.with_columns(
        pl.when(pl.col("rater") == rater).then(pl.lit(ratings.FINAL)).otherwise("rater")
        .alias("rater")))  # fmt: skip


def _unnamed(source: str | Path, columns: ColumnsLike | None) -> tuple[Loss, ...]:
    """Columns of a sheet of several raters that are left behind."""
    how = ColumnMap.of(columns)
    if how is None or not how.several:
        return ()
    return Loss.of("columns that are not named", how.unused(source))


def bring(
    connection: Connection,
    blobs: Blobs,
    project: int,
    found: Incoming,
    *,
    batch: str | None = None,
    created_by: int | None = None,
    target: str = "store",
) -> Conversion:
    """Add what a file holds to a project. The same file twice changes nothing.

    Args:
        connection: of a store, to write.
        blobs: of the store.
        project: its number.
        found: the file.
        batch: a batch to which pairs without a rating are added; it is made if there is none.
        created_by: a user.
        target: what the report calls the store.

    Raises:
        InputError: grades that are not on the project's scale.
        UsageError: a run or judgments of this name are there already.
    """
    kept = found.contents
    name = Path(found.label).name
    rows, again = _brought(connection, blobs, project, found, created_by)
    if batch is not None:
        rows["tasks"] = _unrated(connection, project, batch, kept)
    if kept.extra:
        extras.keep(connection, blobs, project, name, kept.extra)
    repeated = Note.of("ratings that the store has already", [found.label] * again)
    return Conversion(
        source=found.label,
        target=target,
        from_format=found.form,
        reason=found.reason,
        to_format="store",
        rows=rows,
        notes=(*kept.notes, *repeated),
        losses=(*found.losses, *kept.losses(*KEPT, "extra")),
    )


def project_for(connection: Connection, name: str, contents: FileContents) -> int:
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
    connection: Connection, blobs: Blobs, project: int, found: Incoming, created_by: int | None
) -> tuple[dict[str, int], int]:
    """How many rows of each part there are, and how many ratings were there before."""
    contents = found.contents
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
        source = Path(found.label).name
        new = imports.add(connection, project, contents.ratings, source=source, models=models)
        rows["ratings"] = len(contents.ratings.table)
        again = rows["ratings"] - new
    if contents.qrels is not None and len(contents.qrels.table):
        made = judgments.add(connection, blobs, project, contents.qrels, created_by=created_by)
        rows["qrels"] = made.rows
    for run in contents.runs:
        stored = runs.add(connection, blobs, project, run, created_by=created_by)
        rows["runs"] = rows.get("runs", 0) + stored.rows
    return rows, again
