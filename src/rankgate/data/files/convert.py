"""Convert a file to another format; report what is lost."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from rankgate.core.errors import InputError, UsageError
from rankgate.core.target import replacing
from rankgate.data import read
from rankgate.data.column_map import mapped
from rankgate.data.contents import WORDS, FileContents
from rankgate.data.files.conversion import Conversion
from rankgate.data.formats import registry, run_meta
from rankgate.data.formats.format import Loss, Note
from rankgate.data.notes import STATES
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run, ScatteredError
from rankgate.data.streams.source import InputFile
from rankgate.data.write import format_for

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.formats.format import Format
    from rankgate.data.inputs import ColumnsLike, FileLike
    from rankgate.data.rows import Part

PARTS = {
    "qrels": "qrels",
    "run": "runs",
    "ratings": "ratings",
    "queries": "queries",
    "documents": "documents",
    "values": "values",
}
"""What ``--as`` may say, and the part of `FileContents` that it is."""


def convert(
    source: FileLike,
    target: str | Path | BinaryIO,
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    to: str | None = None,
    as_: str | None = None,
) -> Conversion:
    r"""Write what a file holds in another format; report what could not be kept.

    A run is read and written batch by batch where both formats allow. The target is replaced in
    one step when all of it is written; its name's last suffix may be ``.gz`` or ``.zst``.

    Args:
        source: a path (``-`` is standard input, ``NAME:PATH`` names the format), `FileContents`,
            `Qrels`, a `Run`; or with ``as_`` a frame or a dict of dicts.
        target: a path, or a stream of bytes, which needs ``to``.
        from_: the format of the source; found by looking into it if not given.
        columns: the columns of CSV and TSV files that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are
            grade=ann+bob or grade=rater_*.
        to: the format of the target; by the suffix of its name if not given.
        as_: the one part to carry: a key of ``PARTS``.

    Raises:
        InputError: the source cannot be read, or holds no such part.
        UsageError: no such format, or it writes no such part; a target that cannot be written.

    >>> import io
    >>> out = io.BytesIO()
    >>> result = convert({"7": {"a": 2}}, out, to="trec", as_="qrels")
    >>> out.getvalue(), result.losses
    (b'7 0 a 2\n', ())
    """
    source = mapped(source, columns)
    if as_ is not None and as_ not in PARTS:
        raise UsageError(f"no part '{as_}'; choose {', '.join(PARTS)}.", code="unknown-choice")
    writer = format_for(None if hasattr(target, "write") else target, to)
    label, reader, reason, contents, lost = _read(source, from_, as_)
    _refuse_unheld(contents, writer, label)
    contents, flat = _flattened(contents, writer)
    lost += flat
    counts: dict[str, int] = {}
    left = _written(contents, target, writer, counts)
    left, notes = _beside(contents, target, left, counts)
    lost += left
    return Conversion(
        source=label,
        target=str(target) if not hasattr(target, "write") else "-",
        from_format=reader,
        reason=reason,
        to_format=writer.name,
        rows=_rows(contents, writer, lost, counts),
        notes=(*contents.notes, *notes),
        losses=lost,
    )


def _read(
    source: Any,
    from_: str | None,
    as_: str | None,
) -> tuple[str, str, str, FileContents, tuple[Loss, ...]]:
    """The source's label, its format, why it is of that, what it holds, and what is left out."""
    content = source if isinstance(source, FileContents) else _in_memory(source, as_)
    if content is not None:
        kept, lost = _only(content, as_, "the source")
        return "in memory", "memory", "it is in memory", kept, lost
    place, found = registry.opened(source, from_)
    reason = "it was named" if found else ""
    if found is None:
        found, reason = registry.detected(place)
    part: Part | None = "qrels" if as_ == "qrels" else "run" if as_ == "run" else None
    if found.streams and part:  # one table, which may be read as either
        contents = read.contents_of(place, found.name, part)
        return place.label, found.name, reason, contents, ()
    kept, lost = _only(read.contents_of(place, found.name), as_, place.label)
    return place.label, found.name, reason, kept, lost


def _in_memory(source: Any, as_: str | None) -> FileContents | None:
    """What a table in memory holds; None if the source is a path."""
    if isinstance(source, Qrels):
        return FileContents(qrels=source)
    if isinstance(source, Run):
        return FileContents(runs=(source,))
    if isinstance(source, str | InputFile) or hasattr(source, "__fspath__"):
        return None
    if as_ == "qrels":
        return FileContents(qrels=read.read_qrels(source))
    if as_ == "run":
        return FileContents(runs=(read.read_run(source),))
    raise UsageError(
        "a table in memory is judgments or a run; set as_='qrels' or as_='run'.",
        code="ambiguous-input",
    )


def _only(
    contents: FileContents, as_: str | None, label: str
) -> tuple[FileContents, tuple[Loss, ...]]:
    if as_ is None:
        return contents, ()
    part = PARTS[as_]
    if part == "qrels":
        contents.judgments(label)
    if part not in contents.parts:
        there = ", ".join(contents.parts) or "nothing"
        raise InputError(f"no {part} in it, but {there}.", source=label, code="no-such-content")
    return contents.only(part), contents.losses(part)


def _refuse_unheld(contents: FileContents, writer: Format, label: str) -> None:
    if not set(contents.parts) & set(writer.holds):
        there = ", ".join(part for part in contents.parts if part != "extra") or "nothing"
        problem = f"it contains {there}, but {writer.name} holds {', '.join(writer.holds)}"
        unresolved = "ratings" in contents.parts and "qrels" in writer.holds
        way = "resolve the ratings first" if unresolved else "choose another format"
        raise InputError(f"{problem}; {way}.", source=label, code="format-cannot-hold")


def _flattened(contents: FileContents, writer: Format) -> tuple[FileContents, tuple[Loss, ...]]:
    """Judgments with one grade a document, if the format has no place for subtopics."""
    qrels = contents.qrels
    if qrels is None or not qrels.by_subtopic or {"subtopic"} <= {*writer.columns}:
        return contents, ()
    flat = qrels.by_document()
    words = "judgments by subtopic; each document is written with its highest grade"
    examples = tuple(" ".join(map(str, row)) for row in qrels.table.head(3).rows())
    gone = [name for name in qrels.table.columns if name not in {*flat.table.columns, "subtopic"}]
    lost = (Loss(words, len(qrels.table), examples), *Loss.of("columns of judgments", gone))
    return replace(contents, qrels=flat), lost


def _written(
    contents: FileContents, target: str | Path | BinaryIO, writer: Format, counts: dict[str, int]
) -> tuple[Loss, ...]:
    """Write; a run whose queries are apart is brought together in memory and written anew."""
    try:
        return _once(contents, target, writer, counts)
    except ScatteredError:
        together = tuple(run.together() for run in contents.runs)
        return _once(replace(contents, runs=together), target, writer, counts)


def _once(
    contents: FileContents, target: str | Path | BinaryIO, writer: Format, counts: dict[str, int]
) -> tuple[Loss, ...]:
    assert writer.write is not None
    counted = replace(contents, runs=tuple(_counted(run, counts) for run in contents.runs))
    if not isinstance(target, str | PathLike):
        with tempfile.TemporaryFile() as partial:
            lost = writer.write(counted, cast("BinaryIO", partial))
            partial.seek(0)
            shutil.copyfileobj(partial, target)
        return lost
    with replacing(target) as stream:
        return writer.write(counted, stream)


def _beside(
    contents: FileContents,
    target: str | Path | BinaryIO,
    lost: tuple[Loss, ...],
    counts: dict[str, int],
) -> tuple[tuple[Loss, ...], tuple[Note, ...]]:
    """Write a run's query data to its companion file; note an older one that is replaced."""
    if not isinstance(target, str | PathLike) or len(contents.runs) != 1 or not counts:
        return lost, ()
    place = run_meta.companion_of(target)
    queries = contents.runs[0].queries
    if queries is not None and STATES in {loss.what for loss in lost}:
        run_meta.write(queries, place)
        result = Note(f"{STATES}, written into {place.name} next to it", len(queries))
        return tuple(loss for loss in lost if loss.what != STATES), (result,)
    if not place.is_file():
        return lost, ()
    what = "older companion file that is read with it; remove it if it belongs to another run"
    return lost, (Note(what, 1, (place.name,)),)


def _counted(run: Run, counts: dict[str, int]) -> Run:
    """The same run, whose rows are counted while they are read."""

    def pieces() -> Iterator[pl.DataFrame]:
        counts[run.name] = 0
        for frame in run.pieces():
            counts[run.name] += len(frame)
            yield frame

    return replace(run, pieces=pieces)


def _rows(
    contents: FileContents, writer: Format, lost: tuple[Loss, ...], counts: dict[str, int]
) -> dict[str, int]:
    """By part the rows that were written; a part without any only where there is no other."""
    whole = {loss.what for loss in lost}
    rows: dict[str, int] = {}
    for part in contents.parts:
        if part == "runs" and counts and part in writer.holds:
            rows[part] = sum(counts.values())
        elif part in writer.holds and part not in {"runs", "extra"}:
            table = getattr(getattr(contents, part), "table", getattr(contents, part))
            if WORDS[part] not in whole:
                rows[part] = len(table)
    return {part: count for part, count in rows.items() if count} or rows
