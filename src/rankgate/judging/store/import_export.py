"""Import files of any format into a project of a store, and export them.

A file is read, mapped, and added in one transaction. Import and export report lost data.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.column_map import ColumnMap, map_columns
from rankgate.data.file_contents import FileContents, Loss, Note
from rankgate.data.files.conversion import Conversion, PartName, convert
from rankgate.data.formats import registry
from rankgate.data.formats.format_writing import unrated_pairs
from rankgate.data.qrels import Ratings
from rankgate.data.read import contents_of
from rankgate.judging.grade_transformers import find_transformer
from rankgate.store.blobs import stored_results, stored_runs
from rankgate.store.blobs.blob_folders import HashOnlyBlobs
from rankgate.store.material import projects, queries_documents
from rankgate.store.rating import batches, import_ratings, ratings

if TYPE_CHECKING:
    from rankgate.data.input_types import ColumnsLike
    from rankgate.judging.grade_transformers import Transformer
    from rankgate.store.blobs.blob_folders import Blobs
    from rankgate.store.database import Connection
    from rankgate.store.store import Store


STORE_PARTS = ("qrels", "ratings", "queries", "documents", "runs")
"""The parts of a file that a store accepts."""


@dataclass(frozen=True)
class ImportedFile:
    """A file read for import.

    Attributes:
        contents: the data for a store.
        label: the name of the file in messages.
        form: the name of the format.
        reason: the reason for choosing this format.
        losses: columns that were not named.
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
) -> ImportedFile:
    """Read a file for import, without judgments that follow from its ratings.

    Args:
        source: a path; ``NAME:PATH`` names the format.
        from_: the name of the format; by default it is detected from the file.
        columns: the columns of a sheet with unusual names, as in `column_map`.
        transform: the mapping of grades to the project's scale, as in `find_transformer`.
        final: the rater, or the column of grades, with the final grades.

    Raises:
        InputError: the file cannot be read, or has no data for a store; the transformer does not
            map a grade.
        UsageError: the format, column or transformer does not exist.
    """
    opened_file, file_format = registry.open_input(map_columns(source, columns), from_)
    reason = "it was named"
    if file_format is None:
        file_format, reason = registry.detect_format(opened_file)
    contents = contents_of(opened_file, file_format.name)
    store_contents = contents if contents.ratings is None else replace(contents, qrels=None)
    if not set(store_contents.parts) & set(STORE_PARTS):
        raise InputError(
            "it has no rows that a store can hold.", source=opened_file.label, code="no-such-content"
        )
    store_contents = _transform_grades(store_contents, find_transformer(transform))
    if final is not None and store_contents.ratings is not None:
        store_contents = replace(store_contents, ratings=_mark_final(store_contents.ratings, final))
    return ImportedFile(
        store_contents, opened_file.label, file_format.name, reason, _unnamed_columns(source, columns)
    )


def _transform_grades(contents: FileContents, transformer: Transformer | None) -> FileContents:
    """The grades of ratings or judgments, mapped to the project's scale."""
    if transformer is None:
        return contents
    if contents.ratings is not None:
        return replace(contents, ratings=transformer(contents.ratings))
    if contents.qrels is None:
        return contents
    qrels = contents.qrels
    rated_table = qrels.table.with_columns(pl.lit("the judgments").alias("rater"))
    transformed = transformer(Ratings(rated_table, qrels.name, qrels.scale, qrels.place))
    table = transformed.table.drop("rater").select(qrels.table.columns)
    return replace(contents, qrels=replace(qrels, table=table, scale=transformer.scale))


def _mark_final(all_ratings: Ratings, rater: str) -> Ratings:
    if rater not in all_ratings.table["rater"]:
        names = ", ".join(all_ratings.table["rater"].unique(maintain_order=True).head(10))
        problem = f"no rater or column of grades {rater!r}; there are {names}."
        raise InputError(problem, source=all_ratings.place.label, code="missing-column")
    return replace(
        all_ratings,
        table=all_ratings.table.with_columns(
            pl.when(pl.col("rater") == rater).then(pl.lit(ratings.FINAL)).otherwise("rater").alias("rater")
        ),
    )


def _unnamed_columns(source: str | Path, columns: ColumnsLike | None) -> tuple[Loss, ...]:
    """The columns of a sheet of several raters that are not imported."""
    column_map = ColumnMap.read(columns)
    if column_map is None or not column_map.has_raters:
        return ()
    return Loss.of("columns that are not named", column_map.unused(source))


def add_contents(
    connection: Connection,
    blobs: Blobs,
    project: int,
    incoming: ImportedFile,
    *,
    batch: str | None = None,
    created_by: int | None = None,
    target: str = "store",
) -> Conversion:
    """Add the contents of a file to a project; repeating the import changes nothing.

    Args:
        connection: a connection to a store, for writing.
        blobs: the blobs of the store.
        project: the number of the project.
        incoming: the file that was read.
        batch: the batch for pairs without a rating; a missing batch is created.
        created_by: the user who imports the file.
        target: the name of the store in the report.

    Raises:
        InputError: grades are not on the project's scale.
        UsageError: a run or judgments of this name exist already.
    """
    contents = incoming.contents
    name = Path(incoming.label).name
    rows, repeated_count = _add_parts(connection, blobs, project, incoming, created_by)
    if batch is not None:
        rows["tasks"] = _add_unrated_pairs(connection, project, batch, contents)
    if contents.extra:
        stored_results.save_extra(connection, blobs, project, name, contents.extra)
    repeated = Note.of("ratings that the store has already", [incoming.label] * repeated_count)
    return Conversion(
        source=incoming.label,
        target=target,
        from_format=incoming.form,
        reason=incoming.reason,
        to_format="store",
        rows=rows,
        notes=(*contents.notes, *repeated),
        losses=(*incoming.losses, *contents.losses(*STORE_PARTS, "extra")),
    )


def project_for(connection: Connection, name: str, contents: FileContents) -> int:
    """The number of a project; a missing project is created with the scale of the file."""
    try:
        return projects.get_by_name(connection, name).id
    except UsageError as error:
        if error.code != "unknown-project":
            raise
    project = projects.add(connection, name)
    holder = contents.ratings or contents.qrels
    if holder is not None and holder.scale is not None:
        with suppress(UsageError):  # a range has no list of grades
            projects.set_scale(connection, project.id, holder.scale)
    return project.id


def _add_unrated_pairs(connection: Connection, project: int, name: str, contents: FileContents) -> int:
    """Add unrated pairs to a batch; return the number of new pairs."""
    pair = ["query_id", "doc_id"]
    tables = [unrated_pairs(contents)]
    for extra in contents.extra.values():
        extra_pairs = extra.get("pairs") if isinstance(extra, dict) else None
        tables += [pl.DataFrame(list(extra_pairs), pair, orient="row")] if extra_pairs else []
    pairs = pl.concat(tables).unique(maintain_order=True)
    if contents.ratings is not None:
        pairs = pairs.join(contents.ratings.table, pair, "anti", maintain_order="left")
    try:
        batch = batches.get_by_name(connection, project, name)
    except UsageError:
        batch = batches.add_batch(connection, project, name)
    return batches.add_pairs(connection, batch, pairs)


def _add_parts(
    connection: Connection, blobs: Blobs, project: int, incoming: ImportedFile, created_by: int | None
) -> tuple[dict[str, int], int]:
    """Add all contents; return the rows of each part, and the number of ratings already known."""
    contents = incoming.contents
    rows: dict[str, int] = {}
    repeated_count = 0
    if contents.queries is not None:
        rows["queries"] = queries_documents.add_queries(connection, project, contents.queries)
    if contents.documents is not None:
        rows["documents"] = queries_documents.add_documents(connection, project, contents.documents)
    if contents.ratings is not None:
        model_names = [
            extra.get("models", ()) for extra in contents.extra.values() if isinstance(extra, dict)
        ]
        models = tuple(name for names in model_names for name in names)
        source = Path(incoming.label).name
        new = import_ratings.add_ratings(connection, project, contents.ratings, source=source, models=models)
        rows["ratings"] = len(contents.ratings.table)
        repeated_count = rows["ratings"] - new
    if contents.qrels is not None and len(contents.qrels.table):
        stored_judgments = stored_runs.add_judgments(
            connection, blobs, project, contents.qrels, created_by=created_by
        )
        rows["qrels"] = stored_judgments.rows
    for run in contents.runs:
        stored_run = stored_runs.add_run(connection, blobs, project, run, created_by=created_by)
        rows["runs"] = rows.get("runs", 0) + stored_run.rows
    return rows, repeated_count


def import_file(
    store: Store,
    project: str,
    source: str | Path,
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    transform: str | Path | Transformer | None = None,
    final: str | None = None,
    batch: str | None = None,
    dry_run: bool = False,
) -> Conversion:
    """Import a file into a project in one transaction; a missing project is created.

    The ratings of single raters are kept. Judgments are brought in where the file has no ratings
    that they follow from. The same file twice changes nothing.

    Args:
        store: an open store.
        project: its name.
        source: a path; ``NAME:PATH`` names the format.
        from_: the name of the format; by default it is detected from the file.
        columns: the columns of a sheet with unusual names, as in query=term,doc=sku; grades
            of several raters side by side are grade=ann+bob or grade=rater_*.
        transform: the mapping of grades to the project's scale: a name such as graded-to-binary, a
            file with one 'from: to' per line, or '1: 0; 2: 1'.
        final: the grades of this rater, or of this column of grades, replace the other
            grades.
        batch: add the unrated pairs to this batch; the batch is created if it does not exist.
        dry_run: only report; the store is not changed.

    Raises:
        InputError: the file cannot be read; grades are not on the project's scale.
        UsageError: the format does not exist; a run or judgments of this name exist already.
    """
    incoming = read_incoming(source, from_=from_, columns=columns, transform=transform, final=final)
    target = f"{store.name} project {project}"
    with store.trial() if dry_run else store.write() as connection:
        number = project_for(connection, project, incoming.contents)
        projects.refuse_archived(connection, number)
        blobs = HashOnlyBlobs() if dry_run else store.blobs
        return add_contents(connection, blobs, number, incoming, batch=batch, target=target)


def contents_in(
    store: Store, project: str, *, judgments_name: str | None = None, run_names: tuple[str, ...] = ()
) -> FileContents:
    """The contents of a project, in the form of file contents.

    Args:
        store: an open store.
        project: its name.
        judgments_name: resolved judgments to include, instead of ratings.
        run_names: runs to include.

    Raises:
        UsageError: the project, the judgments or a run does not exist.
    """
    with store.read() as connection:
        number = projects.get_by_name(connection, project).id
        project_ratings = None
        if judgments_name is None:
            try:
                project_ratings = ratings.read_ratings(connection, number, name=project)
            except InputError:
                project_ratings = None
        qrels = None
        if judgments_name is not None:
            qrels = stored_runs.read_judgments(connection, store.blobs, number, judgments_name)
        return FileContents(
            qrels=qrels,
            ratings=project_ratings,
            queries=queries_documents.queries_table(connection, number),
            documents=queries_documents.documents_table(connection, number),
            runs=tuple(
                stored_runs.read_stored_run(connection, store.blobs, number, name) for name in run_names
            ),
            extra=stored_results.read_extras(connection, store.blobs, number),
        )


def export_file(
    store: Store,
    project: str,
    target: str | Path | BinaryIO,
    *,
    to: str | None = None,
    as_: PartName | None = None,
    judgments_name: str | None = None,
    run_names: tuple[str, ...] = (),
) -> Conversion:
    """Write the contents of a project into a file; ratings of every rater, in recorded order.

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
        UsageError: unknown part, unknown format, or the file cannot be written.
    """
    contents = contents_in(store, project, judgments_name=judgments_name, run_names=run_names)
    conversion = convert(contents, target, to=to, as_=as_)
    return replace(
        conversion, source=f"{store.name} project {project}", from_format="store", reason="it was named"
    )
