"""Bring files of any format into a project of a store, and out of it; report what is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.files.convert import convert
from rankgate.judging.store.incoming import add_contents, project_for, read_incoming
from rankgate.store.kept import extras, judgments, runs
from rankgate.store.kept.blobs import HashOnlyBlobs
from rankgate.store.material import documents, projects, queries
from rankgate.store.rating import ratings

if TYPE_CHECKING:
    from rankgate.data.files.conversion import Conversion
    from rankgate.data.inputs import ColumnsLike
    from rankgate.judging.transformers import Transformer
    from rankgate.store.store import Store


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
    """Bring a file into a project, which is made if there is none; in one transaction.

    Ratings stay those of single raters. Judgments are brought in where the file has no ratings
    that they follow from. The same file twice changes nothing.

    Args:
        store: an open store.
        project: its name.
        source: a path; ``NAME:PATH`` names the format.
        from_: the name of the format; found by looking into the file if not given.
        columns: the columns of a CSV or TSV file that have no usual name, as in
            query=search_term,doc=sku,rater=who,grade=stars; grades of several raters side by side
            are grade=ann+bob or grade=rater_*.
        transform: what grades become on the project's scale: ``graded-to-binary`` and its like,
            a file with one ``from: to`` a line, or the lines.
        final: the rater, or the column of grades, whose grades are final words.
        batch: a batch to which pairs without a rating are added, to be rated; it is made if there
            is none.
        dry_run: only report what would come of it; the store stays as it is.

    Raises:
        InputError: a file that cannot be read; grades that are not on the project's scale.
        UsageError: no such format; a run or judgments of this name are there already.
    """
    incoming = read_incoming(source, from_=from_, columns=columns, transform=transform, final=final)
    target = f"{store.name} project {project}"
    with store.trial() if dry_run else store.write() as connection:
        number = project_for(connection, project, incoming.contents)
        projects.refuse_archived(connection, number)
        blobs = HashOnlyBlobs() if dry_run else store.blobs
        return add_contents(connection, blobs, number, incoming, batch=batch, target=target)


def contents_in(
    store: Store,
    project: str,
    *,
    judgments_name: str | None = None,
    run_names: tuple[str, ...] = (),
) -> FileContents:
    """The contents of a project, as those of a file.

    Args:
        store: an open store.
        project: its name.
        judgments_name: resolved judgments to put in, instead of ratings.
        run_names: runs to put in.

    Raises:
        UsageError: there is no such thing.
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
            qrels = judgments.read_judgments(connection, store.blobs, number, judgments_name)
        return FileContents(
            qrels=qrels,
            ratings=project_ratings,
            queries=queries.queries_table(connection, number),
            documents=documents.documents_table(connection, number),
            runs=tuple(
                runs.read_stored_run(connection, store.blobs, number, name) for name in run_names
            ),
            extra=extras.read_extras(connection, store.blobs, number),
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
        UsageError: there is no such thing; no such format; the file cannot be written.
    """
    contents = contents_in(store, project, judgments_name=judgments_name, run_names=run_names)
    conversion = convert(contents, target, to=to, as_=as_)
    return replace(
        conversion,
        source=f"{store.name} project {project}",
        from_format="store",
        reason="it was named",
    )
