"""One table in several files: a format that reads a folder of part files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.tables import arrow
from rankgate.data.formats.tables import csv as delimited
from rankgate.data.streams.part_files import PartRows, part_files
from rankgate.data.text.records import first_fields

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.qrels import Qrels
    from rankgate.data.ratings import Ratings
    from rankgate.data.rows import FileRows
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_FRAMES = ("queries", "documents", "values")


def in_parts(form: Format, folder: InputFile) -> Format:
    """The same format, read from a folder of part files.

    Args:
        form: of each file.
        folder: where they are, for errors.

    Raises:
        InputError: files of this format are no tables.
    """
    if not form.streams:
        problem = f"a folder of files of {form.name}, which are no parts of a table; name one file."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    parts = _Parts(form)
    return replace(
        form,
        read=parts.contents,
        read_qrels=parts.qrels,
        read_run=parts.run,
        rows=parts.rows if form.rows else None,
    )


class _Parts:
    """Reads a folder of files of one format."""

    def __init__(self, form: Format) -> None:
        self._form = form

    def qrels(self, folder: InputFile) -> Qrels:
        """The judgments of all files."""
        assert self._form.read_qrels
        return _joined_qrels([*self._filled(self._form.read_qrels, folder)], folder)

    def run(self, folder: InputFile) -> Run:
        """The run of all files, which are read one after another when rows are needed."""
        parts = self._checked(folder)
        assert self._form.read_run
        read = self._form.read_run
        first = read(next(parts))
        where = PartRows(folder.label)

        def pieces() -> Iterator[pl.DataFrame]:
            runs = (_of_one_run(read(part), first) for part in self._checked(folder))
            yield from where.together((run.place, run.pieces()) for run in runs)

        known = first.queries
        if known is not None:
            others = [run.queries for run in map(read, parts) if run.queries is not None]
            known = pl.concat([known, *others]).unique("query_id", maintain_order=True)
        return replace(first, name=folder.stem, pieces=pieces, queries=known, place=where.place)

    def rows(self, folder: InputFile) -> FileRows | None:
        """The rows with their defects."""
        assert self._form.rows
        found = [self._form.rows(part) for part in self._checked(folder)]
        some = [each for each in found if each is not None]
        if not some or len(some) < len(found):
            return None
        where = PartRows(folder.label)
        tables = [*where.together((each.place, [each.table]) for each in some)]
        return replace(some[0], table=pl.concat(tables or [some[0].table]), place=where.place)

    def contents(self, folder: InputFile) -> FileContents:
        """Whatever the first file holds, of all of them."""
        found = self._filled(self._form.read, folder)
        first: FileContents = next(found)
        if first.runs:
            return FileContents(runs=(self.run(folder),))
        each = [first, *found]
        if first.qrels:
            return FileContents(qrels=_joined_qrels([_only(one.qrels) for one in each], folder))
        if first.ratings:
            return FileContents(
                ratings=_joined_ratings([_only(one.ratings) for one in each], folder)
            )
        joined = {
            name: pl.concat([_only(getattr(one, name)) for one in each], how="diagonal")
            for name in _FRAMES
            if getattr(first, name) is not None
        }
        return replace(first, **joined)

    def _filled(self, read: Any, folder: InputFile) -> Iterator[Any]:
        """What a reader makes of each file; of files with a header alone only if all are so."""
        empty: InputError | None = None
        some = False
        for part in self._checked(folder):
            try:
                found = read(part)
            except InputError as error:
                if error.code != "no-judgments":
                    raise
                empty = error
                continue
            some = True
            yield found
        if empty and not some:
            raise empty

    def _checked(self, folder: InputFile) -> Iterator[InputFile]:
        """The files, each with the columns of the first.

        Raises:
            InputError: a file with other columns.
        """
        parts = part_files(folder)
        first: tuple[str, ...] | None = None
        for part in parts:
            names = self._columns(part)
            if first is None:
                first = names
            elif {*names} != {*first}:
                lacking = sorted({*first} - {*names}) or sorted({*names} - {*first})
                word = "no column" if {*first} - {*names} else "a column"
                problem = (
                    f"{word} {lacking[0]}, other than in {parts[0].label}; files of one folder are "
                    "one table and have the same columns."
                )
                raise InputError(problem, source=part.label, code="columns-differ")
            yield part

    def _columns(self, part: InputFile) -> tuple[str, ...]:
        """The columns that a file names for all of its rows."""
        if self._form.name in {"parquet", "arrow"}:
            return tuple(arrow.scanned(part).collect_schema().names())
        if self._form.name in {"csv", "tsv"}:
            head = part.head()
            return first_fields(head, delimited.separator_of(head) or ",")
        return ()


def _only(part: Any) -> Any:
    assert part is not None
    return part


def _of_one_run(run: Run, first: Run) -> Run:
    """A run of one file, whose tag is that of the first.

    Raises:
        InputError: it is the run of another system.
    """
    if run.tag == first.tag:
        return run
    problem = (
        f"run {run.tag!r}, and {first.tag!r} in {first.place.label}: files of one folder are one "
        "run; name the files of several."
    )
    raise InputError(problem, source=run.place.label, line=run.place.line(0), code="mixed-runs")


def _joined_qrels(parts: Sequence[Qrels], folder: InputFile) -> Qrels:
    where = PartRows(folder.label)
    tables = [*where.together((each.place, [each.table]) for each in _alike(parts))]
    table = pl.concat(tables, rechunk=True) if tables else parts[0].table
    asked = dict.fromkeys(query for each in parts for query in each.unjudged)
    judged = set(table["query_id"].unique()) if asked else set()
    unjudged = tuple(query for query in asked if query not in judged)
    return replace(parts[0], table=table, name=folder.stem, unjudged=unjudged, place=where.place)


def _alike(parts: Sequence[Qrels]) -> Iterator[Qrels]:
    """Judgments that all have the columns that any has."""
    schema = {name: dtype for each in parts for name, dtype in each.table.schema.items()}
    for each in parts:
        missing = [name for name in schema if name not in each.table.columns]
        if not missing:
            yield replace(each, table=each.table.select(*schema))
            continue
        filled = each.table.with_columns(pl.lit(None, schema[name]).alias(name) for name in missing)
        yield replace(each, table=filled.select(*schema))


def _joined_ratings(parts: Sequence[Ratings], folder: InputFile) -> Ratings:
    where = PartRows(folder.label)
    tables = [*where.together((each.place, [each.table]) for each in parts)]
    table = pl.concat(tables) if tables else parts[0].table
    return replace(parts[0], table=table, name=folder.stem, place=where.place)
