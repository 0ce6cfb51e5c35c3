"""Convert a file to another format; report the loss.

Tables are written to files in the format given by name or suffix; a failed write leaves no partial
file. The result of ``convert`` has rows written, losses and notes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, cast

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file, suffix_of
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import FactList, Lines, plain_rows
from rankgate.data import read
from rankgate.data.column_map import map_columns
from rankgate.data.file_contents import PART_LABELS, STATES, FileContents, Loss, Note
from rankgate.data.formats import registry, run_companions
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run, ScatteredError
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from rankgate.core.present.document_model import PlainRows
    from rankgate.data.formats.format import Format
    from rankgate.data.input_types import ColumnsLike, FileLike
    from rankgate.data.streams.source import InputKind


def choose_format(
    target: str | Path | None, format_name: str | None = None, part_name: str | None = None
) -> Format:
    """The format for writing a file.

    Args:
        target: the file; its suffix names the format; None for a stream.
        format_name: the name of the format; by the suffix if not given.
        part_name: a part that the format must hold, such as ``runs``; anything if not given.

    Raises:
        UsageError: no such format; one that is read only or does not hold the part; a suffix
            that is ambiguous.
    """
    writers = [
        format_
        for format_ in registry.FORMATS
        if format_.write and (part_name is None or part_name in format_.holds)
    ]
    if format_name is not None:
        format_ = registry.find_format(format_name)
        if format_.write is None:
            raise UsageError(
                f"{format_.name} can be read, but not written; see rankgate formats.",
                code="format-not-written",
            )
        if part_name is not None and part_name not in format_.holds:
            names = ", ".join(format_.name for format_ in writers)
            raise UsageError(
                f"{format_.name} holds no {part_name}; choose with --to: {names}.", code="format-cannot-hold"
            )
        return format_
    suffix = "" if target is None else suffix_of(str(target))
    matching_formats = [format_ for format_ in writers if suffix in format_.suffixes]
    tables = [
        format_ for format_ in matching_formats if format_.streams
    ]  # any tool reads this format, so it comes before a product's format
    best_formats = tables or [
        format_ for format_ in matching_formats if suffix == f".{format_.name}" or len(matching_formats) == 1
    ]
    if best_formats:
        return best_formats[0]
    names = ", ".join(format_.name for format_ in matching_formats or writers)
    if matching_formats:
        raise UsageError(
            f"several formats end in {suffix}: choose with --to: {names}.", code="ambiguous-input"
        )
    reason = f"no format has the suffix '{suffix}'" if suffix else "the target has no suffix"
    raise UsageError(f"{reason}; choose a format with --to: {names}.", code="unknown-format")


def write_run(run: Run, target: str | Path | BinaryIO, format_: Format) -> tuple[Loss, ...]:
    """Write a run; return the losses, without the states of queries.

    Args:
        run: a run with the rows of each query adjacent.
        target: a path, which may end in ``.gz`` or ``.zst`` and is replaced in one step; or a
            stream of bytes.
        format_: a format that holds a run, from `choose_format`.
    """
    assert format_.write is not None
    contents = FileContents(runs=(run,))
    if isinstance(target, str | Path):
        with replace_file(target) as stream:
            losses = format_.write(contents, stream)
    else:  # a stream too gets the complete output or nothing
        with tempfile.TemporaryFile() as temporary_file:
            losses = format_.write(contents, temporary_file)
            temporary_file.seek(0)
            shutil.copyfileobj(temporary_file, target)
    return tuple(loss for loss in losses if loss.what != STATES)


_LOSSES = Columns(
    "One row per kind of data that the output could not hold.",
    Column("kind", pl.String, "the kind of lost data"),
    Column("count", pl.Int64, "how many there are"),
    Column("what", pl.String, "a description of the lost data"),
    Column("examples", pl.List(pl.String), "the first ones"),
)


@dataclass(frozen=True)
class Conversion(Result):
    """The files read and written, and the losses.

    Attributes:
        source: the file read.
        target: the file written; ``-`` is standard output.
        from_format: the format it was read in.
        reason: why it was taken for that format.
        to_format: the format it was written in.
        rows: the rows that were written, by part.
        notes: notes of the reader about the file.
        losses: the content that the new file cannot hold.
    """

    kind = "conversion"
    main_table = "findings"
    headline_text = "{source} to {target}"
    layout = (
        FactList(
            (
                ("read", "{source} as {from_format}: {reason}"),
                ("written", "{target} as {to_format}: {written}"),
                ("seen", Lines("note_texts")),
                ("lost", Lines("lost")),
            )
        ),
    )
    notice_texts = (
        NoticeText("seen", "{row.count:,} {row.what}", source="notes"),
        NoticeText("lost", "{row.count:,} {row.what}", source="losses"),
    )

    source: str
    target: str
    from_format: str
    reason: str
    to_format: str
    rows: Mapping[str, int]
    notes: tuple[Note, ...]
    losses: tuple[Loss, ...]

    @property
    def written(self) -> str:
        """The numbers of written rows."""
        names = {"qrels": "judgments", "runs": "lines of runs", "values": "metric values"}
        counts = (f"{count:,} {names.get(name, name)}" for name, count in self.rows.items())
        return ", ".join(counts) or "nothing"

    @property
    def note_texts(self) -> tuple[str, ...]:
        """The notes of the reader."""
        return tuple(note.words for note in self.notes)

    @property
    def lost(self) -> tuple[str, ...]:
        """The losses in words."""
        return tuple(loss.words for loss in self.losses) or ("nothing",)

    def csv_rows(self) -> PlainRows:
        """Notes and losses."""
        examples = pl.col("examples").list.join(", ")
        return plain_rows(self.findings.with_columns(examples))

    @property
    def findings(self) -> pl.DataFrame:
        """Notes and losses: ``kind``, ``count``, ``what``, ``examples``."""
        rows = [
            (kind, note.count, note.what, list(note.examples))
            for kind, notes in (("seen", self.notes), ("lost", self.losses))
            for note in notes
        ]
        return pl.DataFrame(rows, _LOSSES, orient="row")


PartName = Literal["qrels", "run", "ratings", "queries", "documents", "values"]

PARTS = {
    "qrels": "qrels",
    "run": "runs",
    "ratings": "ratings",
    "queries": "queries",
    "documents": "documents",
    "values": "values",
}
"""The choices of ``--as``, and the part of `FileContents` of each."""


def convert(
    source: FileLike,
    target: str | Path | BinaryIO,
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    grades: Mapping[str, float] | None = None,
    to: str | None = None,
    as_: PartName | None = None,
    depth: Annotated[int, Range(1)] | None = None,
    tolerance: Annotated[float, Range(0)] | None = None,
) -> Conversion:
    r"""Write what a file holds in another format; report what could not be kept.

    A run is read and written batch by batch where both formats allow. The target is replaced in
    one step when all of it is written; its name's last suffix may be ``.gz`` or ``.zst``.

    With ``depth`` the source is the run of an exact search, and its first documents become the
    judgments by which the recall of an approximate search is measured (`nearest_neighbours`).

    Args:
        source: a path (``-`` is standard input, ``NAME:PATH`` names the format), `FileContents`,
            `Qrels`, a `Run`; or with ``as_`` a frame or a dict of dicts.
        target: a path, or a stream of bytes, which needs ``to``.
        from_: the format of the source; found by looking into it if not given.
        columns: the columns of files that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are
            grade=ann+bob or grade=rater_*.
        grades: the grade of each label, where judgments hold labels, as in Exact=3,Partial=1.
        to: the format of the target; by default from its suffix.
        as_: convert only this part; needed for tables that could be judgments or a run.
        depth: with ``--as qrels`` and a run: its first documents of each query become relevant.
        tolerance: with ``--depth``: documents whose score is lower than that of the last one by at
            most this are relevant too.

    Raises:
        InputError: the source cannot be read, or holds no such part.
        UsageError: no such format, or it writes no such part; a target that cannot be written; a
            depth without ``as_="qrels"``, a tolerance without a depth.

    >>> import io
    >>> out = io.BytesIO()
    >>> result = convert({"7": {"a": 2}}, out, to="trec", as_="qrels")
    >>> out.getvalue(), result.losses
    (b'7 0 a 2\n', ())
    """
    source = map_columns(source, columns, grades=grades)
    if as_ is not None and as_ not in PARTS:
        raise UsageError(f"no part '{as_}'; choose {', '.join(PARTS)}.", code="unknown-choice")
    if (depth is not None and as_ != "qrels") or (tolerance is not None and depth is None):
        problem = "a depth makes judgments of a run: it needs --as qrels; a tolerance needs --depth."
        raise UsageError(problem, code="unused-option")
    writer = choose_format(None if hasattr(target, "write") else target, to)
    label, reader, reason, contents, lost = _read_source(source, from_, as_ if depth is None else "run")
    if depth is not None:
        qrels, neighbour_notes = nearest_neighbours(contents.ranking(label), depth, tolerance)
        contents = FileContents(qrels=qrels, notes=(*contents.notes, *neighbour_notes))
    _refuse_unsupported_parts(contents, writer, label)
    contents, flat = _flatten_subtopics(contents, writer)
    lost += flat
    counts: dict[str, int] = {}
    unwritten = _write_contents(contents, target, writer, counts)
    unwritten, notes = _write_companion(contents, target, unwritten, counts)
    lost += unwritten
    return Conversion(
        source=label,
        target=str(target) if not hasattr(target, "write") else "-",
        from_format=reader,
        reason=reason,
        to_format=writer.name,
        rows=_rows_by_part(contents, writer, lost, counts),
        notes=(*contents.notes, *notes),
        losses=lost,
    )


def nearest_neighbours(
    exact: Run, depth: int, tolerance: float | None = None
) -> tuple[Qrels, tuple[Note, ...]]:
    """Judgments that hold the first documents of an exact search, and notes about them.

    Documents are in the order of their scores, equal scores by id, descending. The value of
    RelP@k, |found at ranks ≤ k| / min(k, R), of an approximate search is then its recall:

    - without a tolerance, the share of the k nearest neighbours that it finds;
    - with a tolerance e, documents of the exact run with a score of at least s_k − e count, with
      s_k its k-th score. With distances d = −s this is the recall of ann-benchmarks,
      |{returned: d ≤ d_k + e}| / k. A list that ends with such a document may lack others of them,
      so the exact run must be deeper than k.

    Args:
        exact: the run of the exact search; higher scores are nearer.
        depth: k.
        tolerance: e; None for exactly k documents.

    Source: Aumüller, Bernhardsson and Faithfull, Information Systems 87, 2020,
    doi:10.1016/j.is.2019.02.006.
    """
    rank = pl.int_range(pl.len()).over("query_id") + 1
    table = exact.table.select("query_id", "doc_id", "score").with_row_index("row")
    table = table.sort("score", "doc_id", descending=True).with_columns(rank=rank)
    last_score = pl.col("score").filter(pl.col("rank") <= depth).min().over("query_id")
    is_near = pl.col("rank") <= depth if tolerance is None else pl.col("score") >= last_score - tolerance
    near = table.with_columns(is_near=is_near)
    lists = near.group_by("query_id", maintain_order=True).agg(pl.len().alias("n"), pl.col("is_near").all())
    short = lists.filter(pl.col("n") < depth)["query_id"]
    notes = [Note(f"queries with fewer than {depth} documents", len(short), tuple(short.head(3)))]
    if tolerance is not None:
        cut_queries = lists.filter((pl.col("n") >= depth) & pl.col("is_near"))["query_id"]
        note_text = "queries whose list ends within the tolerance and may lack near documents; make it deeper"
        notes.append(Note(note_text, len(cut_queries), tuple(cut_queries.head(3))))
    relevant = near.filter(pl.col("is_near")).sort("row").select("query_id", "doc_id", grade=pl.lit(1.0))
    return Qrels(relevant, exact.name), tuple(note for note in notes if note.count)


def _read_source(
    source: Any, format_name: str | None, as_: str | None
) -> tuple[str, str, str, FileContents, tuple[Loss, ...]]:
    """The label of the source, its format, the reason for the format, its contents, and losses."""
    content = source if isinstance(source, FileContents) else _contents_in_memory(source, as_)
    if content is not None:
        contents_kept, lost = _select_part(content, as_, "the source")
        return "in memory", "memory", "it is in memory", contents_kept, lost
    input_file, format_ = registry.open_input(source, format_name)
    reason = "it was named" if format_ else ""
    if format_ is None:
        format_, reason = registry.detect_format(input_file)
    input_kind: InputKind | None = "qrels" if as_ == "qrels" else "run" if as_ == "run" else None
    if format_.streams and input_kind:  # one table, which may be read as either
        contents = read.contents_of(input_file, format_.name, input_kind)
        return input_file.label, format_.name, reason, contents, ()
    contents_kept, lost = _select_part(read.contents_of(input_file, format_.name), as_, input_file.label)
    return input_file.label, format_.name, reason, contents_kept, lost


def _contents_in_memory(source: Any, as_: str | None) -> FileContents | None:
    """The contents of a table in memory; None if the source is a path."""
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
        "a table in memory is judgments or a run; set as_='qrels' or as_='run'.", code="ambiguous-input"
    )


def _select_part(
    contents: FileContents, as_: str | None, label: str
) -> tuple[FileContents, tuple[Loss, ...]]:
    if as_ is None:
        return contents, ()
    part_name = PARTS[as_]
    if part_name == "qrels":
        contents.judgments(label)
    if part_name not in contents.parts:
        part_list = ", ".join(contents.parts) or "nothing"
        raise InputError(f"no {part_name} in it, but {part_list}.", source=label, code="no-such-content")
    return contents.only(part_name), contents.losses(part_name)


def _refuse_unsupported_parts(contents: FileContents, writer: Format, label: str) -> None:
    if not set(contents.parts) & set(writer.holds):
        part_list = ", ".join(name for name in contents.parts if name != "extra") or "nothing"
        problem = f"it contains {part_list}, but {writer.name} holds {', '.join(writer.holds)}"
        has_unresolved = "ratings" in contents.parts and "qrels" in writer.holds
        remedy = "resolve the ratings first" if has_unresolved else "choose another format"
        raise InputError(f"{problem}; {remedy}.", source=label, code="format-cannot-hold")


def _flatten_subtopics(contents: FileContents, writer: Format) -> tuple[FileContents, tuple[Loss, ...]]:
    """Judgments with one grade per document, if the format cannot hold subtopics."""
    qrels = contents.qrels
    if qrels is None or not qrels.by_subtopic or {"subtopic"} <= {*writer.columns}:
        return contents, ()
    flat = qrels.by_document()
    loss_text = "judgments by subtopic; each document is written with its highest grade"
    examples = tuple(" ".join(map(str, row)) for row in qrels.table.head(3).rows())
    dropped_columns = [name for name in qrels.table.columns if name not in {*flat.table.columns, "subtopic"}]
    lost = (Loss(loss_text, len(qrels.table), examples), *Loss.of("columns of judgments", dropped_columns))
    return replace(contents, qrels=flat), lost


def _write_contents(
    contents: FileContents, target: str | Path | BinaryIO, writer: Format, counts: dict[str, int]
) -> tuple[Loss, ...]:
    """Write the contents; a run with scattered queries is collected in memory and written again."""
    try:
        return _write_once(contents, target, writer, counts)
    except ScatteredError:
        collected_runs = tuple(run.together() for run in contents.runs)
        return _write_once(replace(contents, runs=collected_runs), target, writer, counts)


def _write_once(
    contents: FileContents, target: str | Path | BinaryIO, writer: Format, counts: dict[str, int]
) -> tuple[Loss, ...]:
    assert writer.write is not None
    counted_contents = replace(contents, runs=tuple(_count_rows(run, counts) for run in contents.runs))
    if not isinstance(target, str | PathLike):
        with tempfile.TemporaryFile() as partial:
            lost = writer.write(counted_contents, cast("BinaryIO", partial))
            partial.seek(0)
            shutil.copyfileobj(partial, target)
        return lost
    with replace_file(target) as stream:
        return writer.write(counted_contents, stream)


def _write_companion(
    contents: FileContents, target: str | Path | BinaryIO, lost: tuple[Loss, ...], counts: dict[str, int]
) -> tuple[tuple[Loss, ...], tuple[Note, ...]]:
    """Write a run's query data to its companion file; add a note if an older file is replaced."""
    if not isinstance(target, str | PathLike) or len(contents.runs) != 1 or not counts:
        return lost, ()
    companion_path = run_companions.companion_path(target)
    queries = contents.runs[0].queries
    if queries is not None and STATES in {loss.what for loss in lost}:
        run_companions.write(queries, companion_path)
        note = Note(f"{STATES}, written into {companion_path.name} next to it", len(queries))
        return tuple(loss for loss in lost if loss.what != STATES), (note,)
    if not companion_path.is_file():
        return lost, ()
    note_text = "older companion file that is read with it; remove it if it belongs to another run"
    return lost, (Note(note_text, 1, (companion_path.name,)),)


def _count_rows(run: Run, counts: dict[str, int]) -> Run:
    """The same run, with a count of its rows while they are read."""

    def pieces() -> Iterator[pl.DataFrame]:
        counts[run.name] = 0
        for frame in run.pieces():
            counts[run.name] += len(frame)
            yield frame

    return replace(run, pieces=pieces)


def _rows_by_part(
    contents: FileContents, writer: Format, lost: tuple[Loss, ...], counts: dict[str, int]
) -> dict[str, int]:
    """The number of written rows by part; an empty part is listed only if there is no other."""
    lost_texts = {loss.what for loss in lost}
    rows: dict[str, int] = {}
    for name in contents.parts:
        if name == "runs" and counts and name in writer.holds:
            rows[name] = sum(counts.values())
        elif name in writer.holds and name not in {"runs", "extra"}:
            table = getattr(getattr(contents, name), "table", getattr(contents, name))
            if PART_LABELS[name] not in lost_texts:
                rows[name] = len(table)
    return {name: count for name, count in rows.items() if count} or rows
