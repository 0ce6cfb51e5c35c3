"""Open a file so that checks can look at it, however wrong it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read
from rankgate.data.column_map import label_of
from rankgate.data.columns import graded, shaped
from rankgate.data.contents import FileContents
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.files.checks.subject import Bytes, RawQrels, RawRun, Subject
from rankgate.data.formats import registry
from rankgate.data.formats.tables import csv as delimited
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels
from rankgate.data.run import SCHEMA, Run
from rankgate.data.streams.prefetch import ahead
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.inputs import FileLike
    from rankgate.data.qrels import Scale
    from rankgate.data.rows import FileRows, Part

_LOOKED_AT = 1 << 24  # bytes: guards and line ends are looked for in these
_NOTHING = Bytes(b"")


def part_of(as_: str | None) -> Part | None:
    """What a file is to be read as.

    Raises:
        UsageError: neither judgments nor a run.
    """
    if as_ not in {None, "qrels", "run"}:
        raise UsageError(
            f"a file is read as 'qrels' or as 'run', not as '{as_}'.", code="unknown-choice"
        )
    return "qrels" if as_ == "qrels" else "run" if as_ == "run" else None


def subject(
    given: FileLike,
    from_: str | None = None,
    as_: Part | None = None,
    scale: Scale | None = None,
) -> tuple[Subject, InputError | None]:
    """What checks look at, and why nothing more could be read, if so.

    Args:
        given: a file, or a table in memory.
        from_: the format of the file; found by looking into it if not given.
        as_: read it as this, where it could be either.
        scale: the grades that are possible, if the file does not say.

    Raises:
        UsageError: no such format; a dict of dicts that could be either.
    """
    if not isinstance(given, str | Path | InputFile):
        return _in_memory(given, as_, scale), None
    result = Subject(label_of(given), "?", "", _NOTHING)
    try:
        place, found = registry.opened(given, from_)
        result = replace(result, label=place.label, bytes=_text(place))
        reason = "it was named"
        if found is None:
            found, reason = registry.detected(place)
        begins = replace(
            result.bytes,
            separator=_separator(result.bytes.head),
            guarded=found.rows is None,
            guess=reason if found.name == "trec" and not (from_ or as_) else "",
            name=place.path.name if place.path else "",
        )
        result = replace(result, format=found.name, reason=reason, bytes=begins)
        return _read(result, place, found, as_, scale)
    except InputError as problem:
        return result, problem


def _text(place: InputFile) -> Bytes:
    """The beginning of a file of text; nothing of a folder, or of bytes that no text has."""
    if place.path is not None and place.path.is_dir():
        return _NOTHING
    head = place.head(_LOOKED_AT)
    return _NOTHING if b"\x00" in head[: 1 << 16] else Bytes(head)


def _separator(head: bytes) -> str | None:
    """What separates the fields of a table with a header; None for anything else."""
    text = head[: 1 << 16]
    return None if text.lstrip()[:1] in {b"{", b"["} else delimited.separator_of(text)


def _read(
    result: Subject, place: InputFile, found: Format, as_: Part | None, scale: Scale | None
) -> tuple[Subject, InputError | None]:
    """With the rows as they are where the format has such, else as its reader reads it."""
    plain = found.rows(place) if found.rows and as_ is None else None
    if plain:
        return _of_rows(result, place, plain, scale), None
    try:
        return _holding(result, read.contents_of(place, found.name, as_), scale), None
    except InputError as problem:
        rows = found.rows or (delimited.rows if result.bytes.separator else None)
        plain = rows(place) if rows else None
        if plain is None or (as_ and plain.part != as_):
            raise
        return _of_rows(result, place, plain, scale), problem


def _holding(result: Subject, contents: FileContents, scale: Scale | None) -> Subject:
    """With everything that a reader made of the file."""
    judged = _judged(contents.qrels, scale) if contents.qrels else None
    ranked = tuple(_ranked(run) for run in contents.runs)
    return replace(result, contents=contents, judged=judged, ranked=ranked)


def _of_rows(result: Subject, place: InputFile, plain: FileRows, scale: Scale | None) -> Subject:
    if plain.table.is_empty():
        raise InputError(
            "there is nothing in it but its head.", source=place.label, code="empty-file"
        )
    if plain.part == "qrels":
        return replace(result, judged=RawQrels(plain.table, scale, (), plain.place))
    return replace(result, ranked=(RawRun(place.stem, plain.table, plain.place),))


def _judged(qrels: Qrels, scale: Scale | None) -> RawQrels:
    return RawQrels(qrels.table, scale or qrels.scale, qrels.unjudged, qrels.place)


def _ranked(run: Run) -> RawRun:
    """All rows of a run, with duplicates."""
    table = pl.concat([pl.DataFrame(schema=SCHEMA), *ahead(run.pieces())], rechunk=False)
    known = run.queries
    tasks = None if known is None or "sequence" not in known.columns else known["sequence"].unique()
    return RawRun(run.name or run.place.label, table, run.place, tasks)


def _in_memory(given: Any, as_: Part | None, scale: Scale | None) -> Subject:
    """Tables in memory; frames with anybody's names for columns."""
    if isinstance(given, FileContents):
        return _holding(Subject("in memory", "memory", "", _NOTHING), given, scale)
    if isinstance(given, Qrels):
        return Subject(given.name, "memory", "", _NOTHING, judged=_judged(given, scale))
    if isinstance(given, Run):
        return Subject(given.name, "memory", "", _NOTHING, ranked=(_ranked(given),))
    frame = _frame(given)
    if as_ is None and frame is None:
        raise UsageError(
            "a dict could be judgments or a run; set as_='qrels' or as_='run'.",
            code="ambiguous-input",
        )
    part = as_ or ("qrels" if graded(frame.columns) else "run")  # type: ignore[union-attr]
    if frame is None:
        content = read.read_qrels(given) if part == "qrels" else read.read_run(given)
        return _in_memory(content, as_, scale)
    number = "grade" if part == "qrels" else "score"
    try:
        table = shaped(frame.lazy(), number, part).collect()
    except pl.exceptions.InvalidOperationError as error:
        problem = f"a {number} is not a number: {str(error).splitlines()[0]}."
        raise InputError(problem, source=part, code="not-a-number") from None
    if part == "qrels":
        return Subject(
            "qrels", "memory", "", _NOTHING, judged=RawQrels(table, scale, (), Place("qrels"))
        )
    return Subject("run", "memory", "", _NOTHING, ranked=(RawRun("run", table, Place("run")),))


def _frame(given: Any) -> pl.DataFrame | None:
    return polars_frame(given) if is_frame(given) else None
