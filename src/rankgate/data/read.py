"""Read judgments, runs and ratings from files of any format and from frames.

Judgments and runs may also be dicts. The first part refuses to work in a process that was forked
after the first use: Polars keeps threads, a fork does not copy them, and code that waits for them
would wait forever.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.adapters import read_rankings
from rankgate.data.column_names import match_columns
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.foreign_frames import is_frame, lazy_frame
from rankgate.data.formats import registry
from rankgate.data.qrels import Qrels, Ratings
from rankgate.data.run import Run
from rankgate.data.streams.source import InputFile, limit_judgments
from rankgate.data.table_rows import NUMBER_COLUMNS, RowLocation

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.input_types import QrelsLike, RatingsLike, RunLike
    from rankgate.data.run import Pieces
    from rankgate.data.streams.source import InputKind
    from rankgate.data.unfold import Unfolded


_state = {"used": False, "forked": False, "doubtful": False}
_TIMEOUT_SECONDS = 10  # live threads answer within this time on any machine


def refuse_forked() -> None:
    """Record that the library is used; raise an error in a fork of a process that already used it.

    Raises:
        UsageError: this process was forked after the first use.
    """
    if _state["doubtful"]:
        _state["doubtful"], _state["forked"] = False, not _has_live_threads()
    if _state["forked"]:
        problem = (
            "this process was forked after rankgate or Polars had been used, and their threads do not "
            "survive a fork; start workers with multiprocessing.get_context('spawn'), or fork before the "
            "first use."
        )
        raise UsageError(problem, code="forked-process")
    _state["used"] = True


def _has_live_threads() -> bool:
    """True if the threads of Polars are alive: another module may have used it before the fork."""
    has_answered = threading.Event()

    def ask() -> None:
        import polars as pl

        pl.LazyFrame({"a": [1, 2], "b": [1, 2]}).group_by("a").agg(pl.col("b").sum()).collect()
        has_answered.set()

    threading.Thread(target=ask, daemon=True).start()
    return has_answered.wait(_TIMEOUT_SECONDS)


def _note_fork() -> None:
    _state["forked"] = _state["used"]
    _state["doubtful"] = not _state["used"] and "polars" in sys.modules


if type(multiprocessing.current_process()).__name__ == "ForkProcess":  # imported after the fork
    _state["doubtful"] = "polars" in sys.modules
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_note_fork)


Content = TypeVar("Content")
Judged = TypeVar("Judged", Qrels, Run)


def contents_of(
    path: str | Path | InputFile, from_: str | None = None, as_: InputKind | None = None
) -> FileContents:
    """Everything that a file holds; ``-`` is standard input.

    Args:
        path: the file; ``NAME:PATH`` names its format.
        from_: the name of its format; found by looking into it if not given.
        as_: read it as judgments, or as a run, where its format has both.

    Raises:
        InputError: a file cannot be read; the message names file and line.
        UsageError: no such format.
    """
    refuse_forked()
    input_file, format_ = registry.open_input(path, from_)
    format_ = format_ or registry.detect_format(input_file)[0]
    if as_ == "qrels":
        return FileContents(qrels=_read_file_qrels(input_file, format_))
    if as_ == "run":
        return FileContents(runs=(_read_file_run(input_file, format_),))
    contents = _read_with_guess(input_file, format_)
    if input_file.western_word:
        contents = replace(contents, notes=(*contents.notes, Note(_western_caution(input_file), 1)))
    if len(contents.runs) != 1:
        return contents
    if contents.runs[0].by_row:
        problem = (
            "scores of a model have no ids; give them where the file of features is the judgments, as in "
            "rankgate eval FEATURES SCORES."
        )
        raise InputError(problem, source=input_file.label, code="no-ids")
    return replace(contents, runs=(_with_companions(contents.runs[0], input_file),))


def read_qrels(
    table: QrelsLike | InputFile,
    name: str | None = None,
    from_: str | None = None,
    *,
    subtopics: bool = False,
    scale: str | None = None,
) -> Qrels:
    """Judgments from a path (``-`` is standard input), a frame, a dict of dicts, or as they are.

    Args:
        table: the source of the table; a path may be ``NAME:PATH`` to name its format.
        name: their name where they have no name of their own.
        from_: the name of the file's format; found by looking into it if not given.
        subtopics: True if judgments by subtopic are taken; otherwise they are an error.
        scale: the grades that were possible, such as graded, 0..4 or 0,1,10; those that the source
            states without it.

    Raises:
        InputError: a file cannot be read, with its name and line; judgments by subtopic.
        DuplicateError: a document judged twice for one query.
        UsageError: no such format or scale.
    """
    qrels = _read_qrels(table, name, from_, subtopics=subtopics)
    if scale is None:
        return qrels
    from rankgate.data.qrels import parse_scale

    return replace(qrels, scale=parse_scale(scale))


def _read_qrels(
    table: QrelsLike | InputFile, name: str | None, format_name: str | None, *, subtopics: bool
) -> Qrels:
    refuse_forked()
    if isinstance(table, Qrels):
        return table if subtopics else _require_documents(table)
    if isinstance(table, str | Path | InputFile):
        input_file, format_ = registry.open_input(table, format_name)
        qrels = _read_file_qrels(input_file, format_ or registry.detect_format(input_file)[0])
        return qrels if subtopics else _require_documents(qrels)
    from rankgate.data.formats.tables import memory_tables

    return _from_memory(memory_tables.qrels_of_table, table, name or "qrels", "qrels")


def read_run(
    table: RunLike | InputFile,
    name: str | None = None,
    from_: str | None = None,
    *,
    earlier: RunLike | None = None,
    repeats: Sequence[RunLike] = (),
    noise: Sequence[RunLike] = (),
    seeds: Sequence[RunLike] = (),
) -> Run:
    """A run from a path (``-`` is standard input), a frame, a dict of dicts, or as it is.

    Rows are read and checked when they are first needed.

    Args:
        table: as of ``read_qrels``.
        name: as of ``read_qrels``.
        from_: as of ``read_qrels``.
        earlier: a run of the same system at an earlier time, for metrics of stability.
        repeats: other rankings of a system that draws them, for expected exposure (EEL, EED, EER).
        noise: other answers of the same system to the same queries, which show its noise.
        seeds: runs of the same model, trained with other seeds; `compare` and `scorecard` take the
            mean over all of them, and their spread.

    Raises:
        InputError: a file cannot be read; the message names file and line.
        UsageError: no such format.
    """
    run = _open_run(table, name, from_)
    run_fields: dict[str, Any] = {"earlier": earlier, "repeats": tuple(repeats), "noise": tuple(noise)}
    run_fields["seeds"] = tuple(seeds)
    run_fields = {key: value for key, value in run_fields.items() if value is not None and value != ()}
    return replace(run, **run_fields) if run_fields else run


def _open_run(table: RunLike | InputFile, name: str | None, format_name: str | None) -> Run:
    refuse_forked()
    if isinstance(table, Run):
        return table
    if isinstance(table, str | Path | InputFile):
        input_file, format_ = registry.open_input(table, format_name)
        path = input_file.path  # a snapshot's run that has no result for any query is an empty file
        is_snapshot = path is not None and Path(f"{path}.meta.jsonl").is_file() and not path.is_dir()
        if is_snapshot and not input_file.head(1):
            return _with_companions(
                Run(input_file.stem, lambda: iter(()), place=RowLocation(input_file.label)), input_file
            )
        return _read_file_run(input_file, format_ or registry.detect_format(input_file)[0])
    from rankgate.data.formats.tables import memory_tables

    return _from_memory(memory_tables.run_of_table, table, name or "run", "run")


def _from_memory(
    read: Callable[[Any, str], Content], table: object, name: str, input_kind: InputKind
) -> Content:
    """Read a table in memory; errors about columns include a guess to copy.

    Raises:
        InputError: see the reader.
    """
    rankings = read_rankings(table, input_kind)
    try:
        return read(rankings, name)
    except InputError as error:
        if is_frame(rankings):
            frame = lazy_frame(rankings, name)
        elif error.code == "not-a-number" and input_kind == "qrels" and isinstance(rankings, Mapping):
            rows = [
                (query, document, None if label is None else str(label))
                for query, documents in rankings.items()
                for document, label in documents.items()
            ]
            schema = dict.fromkeys(("query_id", "doc_id", "grade"), pl.String)
            frame = pl.LazyFrame(rows, schema, orient="row")
        else:
            raise
        from rankgate.data.column_guess import guessed_frame_error

        raise guessed_frame_error(error, frame, input_kind) from None


_COMPANIONS = (".meta.jsonl", ".snapshot.json", ".partial.jsonl")


def _require_documents(qrels: Qrels) -> Qrels:
    """Judgments with one grade per document, as metrics need them."""
    if qrels.by_subtopic:
        problem = (
            "judgments by subtopic, where one grade per document is needed; write each document's highest "
            "grade into its own file with rankgate convert --to trec."
        )
        raise InputError(problem, source=qrels.place.label, code="wrong-type")
    return qrels


def _read_file_qrels(input_file: InputFile, format_: Format) -> Qrels:
    input_file = replace(limit_judgments(input_file), read_as="qrels")
    qrels = _read_with_guess(input_file, format_).judgments(input_file.label)
    return _with_western_caution(qrels, input_file)


def _western_caution(input_file: InputFile) -> str:
    return f"not UTF-8 text, read as Windows-1252, as {input_file.western_word!r} shows"


def _with_western_caution(table: Judged, input_file: InputFile) -> Judged:
    """The judgments or the run, with a caution if the text was not UTF-8."""
    if not input_file.western_word:
        return table
    text = f"{input_file.label}: {_western_caution(input_file)}"
    return replace(table, cautions={**table.cautions, "not-utf8": text})


def _read_with_guess(input_file: InputFile, format_: Format) -> FileContents:
    """Read a file; a table of lists or of pairs is unfolded, and unusual names give a guess to copy.

    Raises:
        InputError: the file cannot be read; the message has file and line.
    """
    if input_file.paths and format_.table is not None:
        try:
            table = format_.table(input_file)
            return _contents_unfolded(table.frame(), table.location, input_file)
        except InputError as path_error:  # paths of another file, if this one is read without them
            with suppress(InputError):
                return format_.read(input_file)
            raise path_error from None
    try:
        return format_.read(input_file)
    except InputError as error:
        from rankgate.data.column_guess import COLUMN_ERRORS, guessed_error

        is_of_columns = error.code in COLUMN_ERRORS and not (error.code == "invalid-id" and error.line)
        rows = _read_rows(input_file, format_) if is_of_columns and not error.suggestions else None
        if rows is not None:
            try:
                return _contents_unfolded(*rows, input_file)
            except InputError as unfold_error:
                if unfold_error.suggestions or unfold_error.code not in COLUMN_ERRORS:
                    raise unfold_error from None
        raise guessed_error(error, input_file, format_) from None


def _read_rows(input_file: InputFile, format_: Format) -> tuple[pl.LazyFrame, RowLocation] | None:
    """The rows of a table and their location; None if the file is not a table, or is not read as one."""
    try:
        table = format_.table(input_file) if format_.table is not None else None
        return None if table is None else (table.frame(), table.location)
    except InputError:  # the reader's own error is more precise
        return None


def _contents_unfolded(frame: pl.LazyFrame, location: RowLocation, input_file: InputFile) -> FileContents:
    """The judgments or the run in a table with lists, or what it holds of both; pairs have grade 1.

    Raises:
        InputError: see `_unfold_table`.
    """
    from rankgate.data.formats.tables import memory_tables
    from rankgate.data.formats.tables.parquet_arrow import damage_named
    from rankgate.data.unfold import CAUTIONS

    label, name = input_file.label, input_file.stem
    tables = _unfold_table(frame, location, input_file)
    qrels = run = None
    if unfolded := tables.get("qrels"):
        with damage_named(label):
            qrels = memory_tables.qrels_of_unfolded(unfolded, name, label)
        if unfolded.rows is frame:
            text = f"{label}: rows without a column of grades, read as relevant documents, each with grade 1"
            qrels = replace(qrels, cautions={CAUTIONS["grade"]: text})
    if unfolded := tables.get("run"):
        run = memory_tables.run_of_unfolded(unfolded, name, label)
        run = replace(run, pieces=partial(_name_damage, run.pieces, label))
    notes = tuple(
        Note(text.removeprefix(f"{label}: "), unfolded.lists.query_count)
        for kind, unfolded in tables.items()
        if unfolded.lists is not None
        for text in unfolded.cautions(NUMBER_COLUMNS[kind], label).values()
    )
    return FileContents(qrels=qrels, runs=() if run is None else (run,), notes=notes)


_EXAMPLE_COLUMNS = {"dataset_id", "inputs", "outputs"}
"""Columns of LangSmith's examples, whose outputs are those that a system should give."""


def _unfold_table(frame: pl.LazyFrame, location: RowLocation, input_file: InputFile) -> dict[str, Unfolded]:
    """The judgments and the run in a table with lists; of the same lists, only the run if nothing says more.

    Raises:
        InputError: the table has no lists of documents; see also `unfold`.
    """
    from rankgate.data.column_guess import COLUMN_ERRORS
    from rankgate.data.formats.tables.parquet_arrow import damage_named
    from rankgate.data.unfold import unfold

    label, names = input_file.label, frame.collect_schema().names()
    is_pairs = (
        input_file.read_as == "qrels" and len(names) == len(match_columns(names, ("query_id", "doc_id"))) == 2
    )
    tables: dict[str, Unfolded] = {}
    errors = []
    for kind, number in NUMBER_COLUMNS.items():
        if input_file.read_as not in {None, kind}:
            continue
        try:
            with damage_named(label):
                unfolded = unfold(frame, number, label, input_file.paths, location)
        except InputError as error:
            if error.code not in COLUMN_ERRORS:
                raise  # these are the lists, and they are wrong
            errors.append(error)
            continue
        if unfolded.rows is frame and not is_pairs:
            errors.append(InputError("no lists in it.", source=label, code="missing-column"))
        else:
            tables[kind] = unfolded
    if not tables:
        raise next((error for error in errors if error.suggestions), errors[-1])
    if len({unfolded.documents for unfolded in tables.values()}) < len(tables):
        del tables["run" if set(names) >= _EXAMPLE_COLUMNS else "qrels"]
    return tables


def _name_damage(pieces: Pieces, label: str) -> Iterator[pl.DataFrame]:
    """The rows of a run, where an error of Polars means that their file is damaged."""
    from rankgate.data.formats.tables.parquet_arrow import damage_named

    with damage_named(label):
        yield from pieces()


def _read_file_run(input_file: InputFile, format_: Format) -> Run:
    run = _read_with_guess(replace(input_file, read_as="run"), format_).ranking(input_file.label)
    run = run if run.name else replace(run, name=input_file.stem)
    return _with_companions(_with_western_caution(run, input_file), input_file)


def _with_companions(run: Run, input_file: InputFile) -> Run:
    """The run with the data of its queries and its snapshot, from the files next to it.

    Raises:
        InputError: its snapshot is not finished.
    """
    path = input_file.path
    if path is None or not any(Path(f"{path}{suffix}").is_file() for suffix in _COMPANIONS):
        return run
    from rankgate.data.formats.run_companions import refuse_unfinished_file, with_meta, with_snapshot

    refuse_unfinished_file(path)
    return with_snapshot(with_meta(run, input_file), path)


_NO_RATERS = "it does not name the raters; ratings need a column rater besides query_id, doc_id and grade."


def read_ratings(
    table: RatingsLike | InputFile, name: str | None = None, from_: str | None = None
) -> Ratings:
    """Read the ratings of single raters from a path (``-`` is standard input) or a frame.

    Args:
        table: the source; a path may be ``NAME:PATH`` to name its format.
        name: the name of the ratings if the source has none.
        from_: the name of the file's format; detected from the contents if not given.

    Raises:
        InputError: the file cannot be read (the message has file and line), or raters are missing.
        UsageError: the format is unknown.
    """
    if isinstance(table, Ratings):
        return table
    if isinstance(table, str | Path | InputFile):
        content = contents_of(table, from_)
        if content.ratings is None:
            label = table.label if isinstance(table, InputFile) else str(table)
            raise InputError(_NO_RATERS, source=label, code="missing-column")
        return content.ratings
    name = name or "ratings"
    if not is_frame(table):
        problem = f"a {type(table).__name__} is not a table of ratings; give a path or a frame."
        raise InputError(problem, source=name, code="wrong-type")
    from rankgate.data.formats.tables.parquet_arrow import FrameTable
    from rankgate.data.formats.tables.table_contents import read_table

    ratings = read_table(FrameTable(InputFile.in_memory(name), lazy_frame(table, name))).ratings
    if ratings is None:
        raise InputError(_NO_RATERS, source=name, code="missing-column")
    return replace(ratings, name=name)
