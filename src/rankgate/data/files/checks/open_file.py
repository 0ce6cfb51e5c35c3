"""Open a file for the checks, even if its contents are invalid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read
from rankgate.data.adapters import read_rankings
from rankgate.data.column_map import source_label
from rankgate.data.file_contents import FileContents
from rankgate.data.files.checks.check_declarations import FileStart, Subject
from rankgate.data.foreign_frames import has_grades, is_frame, polars_frame
from rankgate.data.formats import registry
from rankgate.data.formats.tables import csv_tables
from rankgate.data.formats.tables.parquet_arrow import FrameTable
from rankgate.data.formats.tables.table_contents import raw_rows
from rankgate.data.memory.rows import PAIR_VALUE
from rankgate.data.qrels import Qrels
from rankgate.data.run import RUN_SCHEMA, Run
from rankgate.data.streams.source import InputFile, read_ahead
from rankgate.data.unchecked_rows import RawQrels, RawRun

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.input_types import FileLike
    from rankgate.data.qrels import Scale
    from rankgate.data.streams.source import InputKind


_MAX_SEARCHED_BYTES = 1 << 24  # bytes to search for guards and line ends
_EMPTY_START = FileStart(b"")


def parse_input_kind(as_: str | None) -> InputKind | None:
    """The kind of input to read a file as.

    Raises:
        UsageError: the name is neither judgments nor a run.
    """
    if as_ not in {None, "qrels", "run"}:
        raise UsageError(f"a file is read as 'qrels' or as 'run', not as '{as_}'.", code="unknown-choice")
    return "qrels" if as_ == "qrels" else "run" if as_ == "run" else None


def open_subject(
    file_or_table: FileLike,
    format_name: str | None = None,
    as_: InputKind | None = None,
    scale: Scale | None = None,
) -> tuple[Subject, InputError | None]:
    """The input of checks, and the error that stopped the reading, if any.

    Args:
        file_or_table: a file, or a table in memory.
        format_name: the format of the file; found by looking into it if not given.
        as_: the kind to read it as, if two kinds are possible.
        scale: the possible grades, if the file does not give them.

    Raises:
        UsageError: the format is unknown, or a dict of dicts could be either kind.
    """
    if not isinstance(file_or_table, str | Path | InputFile):
        return _subject_in_memory(file_or_table, as_, scale), None
    file_subject = Subject(source_label(file_or_table), "?", "", _EMPTY_START)
    try:
        input_file, format_ = registry.open_input(file_or_table, format_name)
        file_subject = replace(file_subject, label=input_file.label, bytes=_read_start(input_file))
        reason = "it was named"
        if format_ is None:
            format_, reason = registry.detect_format(input_file)
        text = file_subject.bytes.head[: 1 << 16]
        is_json = text.lstrip()[:1] in {b"{", b"["}
        file_start = replace(
            file_subject.bytes,
            separator=None if is_json else csv_tables.separator_of(text),
            guarded=format_.rows is None,
            guess=reason if format_.name == "trec" and not (format_name or as_) else "",
            name=input_file.path.name if input_file.path else "",
        )
        file_subject = replace(file_subject, format=format_.name, reason=reason, bytes=file_start)
        return _read_subject(file_subject, input_file, format_, as_, scale)
    except InputError as error:
        return file_subject, error


def _read_start(input_file: InputFile) -> FileStart:
    """The first bytes of a text file; empty for a folder or for binary data."""
    if input_file.path is not None and input_file.content is None and not input_file.path.is_file():
        return _EMPTY_START
    first_bytes = input_file.head(_MAX_SEARCHED_BYTES)
    return _EMPTY_START if b"\x00" in first_bytes[: 1 << 16] else FileStart(first_bytes)


def _read_subject(
    file_subject: Subject, input_file: InputFile, format_: Format, as_: InputKind | None, scale: Scale | None
) -> tuple[Subject, InputError | None]:
    """Add the unchanged rows if the format has rows, else the rows from its reader."""
    raw_rows = format_.rows(input_file) if format_.rows and as_ is None else None
    if raw_rows:
        return _with_rows(file_subject, input_file, raw_rows, scale), None
    try:
        return _with_contents(file_subject, read.contents_of(input_file, format_.name, as_), scale), None
    except InputError as error:
        read_rows = format_.rows or (csv_tables.FORMAT.rows if file_subject.bytes.separator else None)
        raw_rows = read_rows(input_file) if read_rows else None
        if raw_rows is None or (as_ and isinstance(raw_rows, RawQrels) != (as_ == "qrels")):
            raise
        return _with_rows(file_subject, input_file, raw_rows, scale), error


def _with_contents(file_subject: Subject, contents: FileContents, scale: Scale | None) -> Subject:
    """Add everything that a reader read from the file."""
    raw_qrels = _make_raw_qrels(contents.qrels, scale) if contents.qrels else None
    raw_runs = tuple(_make_raw_run(run) for run in contents.runs)
    return replace(file_subject, contents=contents, judged=raw_qrels, ranked=raw_runs)


def _with_rows(
    file_subject: Subject, input_file: InputFile, raw_rows: RawQrels | RawRun, scale: Scale | None
) -> Subject:
    if raw_rows.table.is_empty():
        raise InputError("it has a header and no rows.", source=input_file.label, code="empty-file")
    if isinstance(raw_rows, RawQrels):
        return replace(file_subject, judged=replace(raw_rows, scale=scale))
    return replace(file_subject, ranked=(raw_rows,))


def _make_raw_qrels(qrels: Qrels, scale: Scale | None) -> RawQrels:
    return RawQrels(qrels.table, scale or qrels.scale, qrels.unjudged, qrels.place)


def _make_raw_run(run: Run) -> RawRun:
    """All rows of a run, including duplicates."""
    table = pl.concat([pl.DataFrame(schema=RUN_SCHEMA), *read_ahead(run.pieces())], rechunk=False)
    queries = run.queries
    tasks = None if queries is None or "sequence" not in queries.columns else queries["sequence"].unique()
    return RawRun(run.name or run.place.label, table, run.place, tasks)


def _subject_in_memory(source: Any, as_: InputKind | None, scale: Scale | None) -> Subject:
    """Add tables in memory; the columns of frames may have any names."""
    if isinstance(source, FileContents):
        return _with_contents(Subject("in memory", "memory", "", _EMPTY_START), source, scale)
    if isinstance(source, Qrels):
        return Subject(source.name, "memory", "", _EMPTY_START, judged=_make_raw_qrels(source, scale))
    if isinstance(source, Run):
        return Subject(source.name, "memory", "", _EMPTY_START, ranked=(_make_raw_run(source),))
    frame = polars_frame(source) if is_frame(source) else None
    if as_ is None and (frame is None or PAIR_VALUE in frame.columns):
        raise UsageError(
            "it could be judgments or a run; set as_='qrels' or as_='run'.", code="ambiguous-input"
        )
    input_kind = as_ or ("qrels" if has_grades(frame.columns) else "run")  # type: ignore[union-attr]
    if frame is None:
        contents = read.read_qrels(source) if input_kind == "qrels" else read.read_run(source)
        return _subject_in_memory(contents, as_, scale)
    table = FrameTable(InputFile.in_memory(input_kind), read_rankings(frame, input_kind).lazy())
    rows = raw_rows(table, input_kind)
    if isinstance(rows, RawQrels):
        return Subject("qrels", "memory", "", _EMPTY_START, judged=replace(rows, scale=scale))
    return Subject("run", "memory", "", _EMPTY_START, ranked=() if rows is None else (rows,))
