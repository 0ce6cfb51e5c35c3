"""Read one table from a folder of part files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.streams.input_parts import PartRows, list_part_files

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.qrels import Qrels, Ratings
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile
    from rankgate.data.unchecked_rows import RawQrels, RawRun

_FRAME_PARTS = ("queries", "documents", "values")


def format_of_parts(format_: Format, folder: InputFile) -> Format:
    """The same format, read from a folder of part files.

    Args:
        format_: the format of each file.
        folder: the folder, for errors.

    Raises:
        InputError: files of this format are not tables.
    """
    if not format_.streams:
        problem = f"a folder of files of {format_.name}, which are not parts of one table; name one file."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    part_reader = _PartReader(format_)
    return replace(format_, read=part_reader.contents, rows=part_reader.rows if format_.rows else None)


class _PartReader:
    """A reader for a folder of files in one format."""

    def __init__(self, format_: Format) -> None:
        self._form = format_

    def _run(self, folder: InputFile) -> Run:
        """The run from all files, which are read in turn when rows are needed."""
        checked_files = self._checked(folder)

        def read_run(part_file: InputFile) -> Run:
            return self._form.read(replace(part_file, read_as="run")).ranking(part_file.label)

        first_run = read_run(next(checked_files))
        part_rows = PartRows(folder.label)

        def pieces() -> Iterator[pl.DataFrame]:
            runs = (_check_same_run(read_run(part_file), first_run) for part_file in self._checked(folder))
            yield from part_rows.together((run.place, run.pieces()) for run in runs)

        first_queries = first_run.queries
        if first_queries is not None:
            other_queries = [run.queries for run in map(read_run, checked_files) if run.queries is not None]
            first_queries = pl.concat([first_queries, *other_queries]).unique("query_id", maintain_order=True)
        return replace(
            first_run, name=folder.stem, pieces=pieces, queries=first_queries, place=part_rows.location
        )

    def rows(self, folder: InputFile) -> RawQrels | RawRun | None:
        """The rows, including invalid rows."""
        assert self._form.rows
        rows_or_none = [self._form.rows(part_file) for part_file in self._checked(folder)]
        rows_of_parts = [file_rows for file_rows in rows_or_none if file_rows is not None]
        if not rows_of_parts or len(rows_of_parts) < len(rows_or_none):
            return None
        part_rows = PartRows(folder.label)
        tables = [*part_rows.together((file_rows.place, [file_rows.table]) for file_rows in rows_of_parts)]
        return replace(
            rows_of_parts[0], table=pl.concat(tables or [rows_of_parts[0].table]), place=part_rows.location
        )

    def contents(self, folder: InputFile) -> FileContents:
        """The part that the first file holds, from all files."""
        if folder.read_as == "run":
            return FileContents(runs=(self._run(folder),))
        filled_contents = self._filled(folder)
        first_contents = next(filled_contents)
        if first_contents.runs:
            return FileContents(runs=(self._run(folder),))
        all_contents = [first_contents, *filled_contents]
        if first_contents.qrels:
            return FileContents(
                qrels=_join_qrels([_require(contents.qrels) for contents in all_contents], folder)
            )
        if first_contents.ratings:
            return FileContents(
                ratings=_join_ratings([_require(contents.ratings) for contents in all_contents], folder)
            )
        joined = {
            name: pl.concat([_require(getattr(contents, name)) for contents in all_contents], how="diagonal")
            for name in _FRAME_PARTS
            if getattr(first_contents, name) is not None
        }
        return replace(first_contents, **joined)

    def _filled(self, folder: InputFile) -> Iterator[FileContents]:
        """The contents of the files; files with only a header count if all are empty."""
        empty_error: InputError | None = None
        has_filled = False
        for part_file in self._checked(folder):
            try:
                file_contents = self._form.read(replace(part_file, read_as=folder.read_as))
            except InputError as error:
                if error.code != "no-judgments":
                    raise
                empty_error = error
                continue
            has_filled = True
            yield file_contents
        if empty_error and not has_filled:
            raise empty_error

    def _checked(self, folder: InputFile) -> Iterator[InputFile]:
        """The files, after a check that each has the columns of the first file.

        Raises:
            InputError: a file has other columns.
        """
        parts = list_part_files(folder)
        first_columns: tuple[str, ...] | None = None
        for part_file in parts:
            # the columns whose value a file gives once for all its rows
            table = self._form.table(part_file) if self._form.table else None
            names = () if table is None or table.is_ragged else tuple(table.names)
            if first_columns is None:
                first_columns = names
            elif {*names} != {*first_columns}:
                differing_columns = sorted({*first_columns} - {*names}) or sorted({*names} - {*first_columns})
                difference = "no column" if {*first_columns} - {*names} else "a column"
                problem = (
                    f"{difference} {differing_columns[0]}, other than in {parts[0].label}; files of one "
                    "folder are one table and have the same columns."
                )
                raise InputError(problem, source=part_file.label, code="columns-differ")
            yield part_file


def _require(content: object) -> Any:
    assert content is not None
    return content


def _check_same_run(run: Run, first_run: Run) -> Run:
    """The run of one file, after a check that its tag is that of the first file.

    Raises:
        InputError: the file holds the run of another system.
    """
    if run.tag == first_run.tag:
        return run
    problem = (
        f"run {run.tag!r}, and {first_run.tag!r} in {first_run.place.label}: files of one folder are one "
        "run; name the files of several."
    )
    raise InputError(problem, source=run.place.label, line=run.place.line(0), code="mixed-runs")


def _join_qrels(parts: Sequence[Qrels], folder: InputFile) -> Qrels:
    part_rows = PartRows(folder.label)
    tables = [*part_rows.together((qrels.place, [qrels.table]) for qrels in _with_all_columns(parts))]
    table = pl.concat(tables, rechunk=True) if tables else parts[0].table
    unjudged_queries = dict.fromkeys(query for qrels in parts for query in qrels.unjudged)
    judged_queries = set(table["query_id"].unique()) if unjudged_queries else set()
    unjudged = tuple(query for query in unjudged_queries if query not in judged_queries)
    return replace(parts[0], table=table, name=folder.stem, unjudged=unjudged, place=part_rows.location)


def _with_all_columns(parts: Sequence[Qrels]) -> Iterator[Qrels]:
    """Judgments with the union of their columns."""
    schema = {name: dtype for qrels in parts for name, dtype in qrels.table.schema.items()}
    for qrels in parts:
        missing = [name for name in schema if name not in qrels.table.columns]
        if not missing:
            yield replace(qrels, table=qrels.table.select(*schema))
            continue
        filled_table = qrels.table.with_columns(pl.lit(None, schema[name]).alias(name) for name in missing)
        yield replace(qrels, table=filled_table.select(*schema))


def _join_ratings(parts: Sequence[Ratings], folder: InputFile) -> Ratings:
    part_rows = PartRows(folder.label)
    tables = [*part_rows.together((ratings.place, [ratings.table]) for ratings in parts)]
    table = pl.concat(tables) if tables else parts[0].table
    return replace(parts[0], table=table, name=folder.stem, place=part_rows.location)
