"""TREC files: qrels and runs, with fields separated by blanks.

Qrels are ``query_id iteration doc_id grade``, or without the iteration. Runs are
``query_id Q0 doc_id rank score tag``.

The rank column is not used: like trec_eval, rankgate orders by score. Three columns are ``query_id
doc_id score``, or ``query_id doc_id rank`` if the third column counts from 1 in each query; two are
``query_id doc_id``, best first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.qrels import QRELS_SCHEMA, Qrels
from rankgate.data.run import RUN_SCHEMA, Run
from rankgate.data.table_rows import NUMBER_COLUMNS, RowLocation
from rankgate.data.text.field_lines import Layout, first_fields, line_of, read_line_frames
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile, InputKind
    from rankgate.data.unchecked_rows import RawQrels, RawRun


_QRELS_FIELDS = tuple(QRELS_SCHEMA)
_RUN_WIDTH = 6  # fields of a run
_FOUR_FIELDS = ("query_id", "iteration", "doc_id", "grade")


def read_qrels_lines(source: InputFile, *, loose: bool = False) -> Qrels:
    """The judgments of a file.

    Args:
        source: the file.
        loose: read as trec_eval does: four fields, and a grade is the whole number at the beginning
            of the field, or 0.

    Raises:
        InputError: a line is not a judgment; the message has its number.
        DuplicateError: a document is judged twice for one query.
    """
    first_row = first_fields(source)
    if len(first_row) not in (len(_FOUR_FIELDS), len(_FOUR_FIELDS) if loose else len(_QRELS_FIELDS)):
        found_count = count_noun(len(first_row), "field")
        expectation = "expected 4 (query_id iteration doc_id grade)"
        expectation += "" if loose else " or 3 (query_id doc_id grade)"
        if len(first_row) == _RUN_WIDTH:
            expectation += "; this is a run, which comes after the judgments"
        first_line = line_of(source, 0)
        raise InputError(
            f"{found_count}, {expectation}.", source=source.label, line=first_line, code="wrong-field-count"
        )
    fields = _FOUR_FIELDS if len(first_row) == len(_FOUR_FIELDS) else _QRELS_FIELDS
    frames = read_line_frames(source, Layout(fields, "grade", _QRELS_FIELDS, loose=loose))
    table = pl.concat([pl.DataFrame(schema=QRELS_SCHEMA), *frames], rechunk=True)
    if loose:
        table = table.with_columns(pl.col("grade").cast(pl.Int64).cast(pl.Float64))
    return Qrels(table, name=source.stem, place=RowLocation(source.label, partial(line_of, source)))


_RUN_FIELDS = tuple(RUN_SCHEMA)
_SIX_FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
_QRELS_WIDTH = 4  # fields of judgments
_MIN_RUN_RANKS = 2  # documents of a query that are needed to see an order in the third field
_RANKS = (
    "the third field counts 1, 2, 3, … in each query and is read as the rank, as in MS MARCO's runs; write "
    "six fields, query_id Q0 doc_id rank score tag, if it is a score"
)


def read_run_lines(source: InputFile, *, loose: bool = False) -> Run:
    """A run with rows that are parsed when they are needed.

    Args:
        source: the file.
        loose: read as trec_eval does: six fields, further fields are ignored, and a score is the
            number at the beginning of the field, or 0.

    Raises:
        InputError: the first line has a number of fields that no kind of run has.
    """
    first_row, cautions = first_fields(source), {}
    if loose or len(first_row) == len(_SIX_FIELDS):
        read_frames = partial(
            read_line_frames, source, Layout(_SIX_FIELDS, "score", _RUN_FIELDS, loose=loose, longer=loose)
        )
    elif len(first_row) == len(_RUN_FIELDS):
        read_frames = partial(read_line_frames, source, Layout(_RUN_FIELDS, "score", _RUN_FIELDS))
        if counts_ranks(source, _MIN_RUN_RANKS):
            read_frames, cautions = partial(_read_ranks, source), {"ranks-not-scores": _RANKS}
    elif len(first_row) == len(_RUN_FIELDS) - 1:
        read_frames = partial(_read_ordered, source)
    else:
        expectation = "expected 6 (query_id Q0 doc_id rank score tag), 3 (query_id doc_id score) or 2"
        if len(first_row) == _QRELS_WIDTH:
            expectation += "; these are judgments, which come before the run"
        line = line_of(source, 0)
        raise InputError(
            f"{count_noun(len(first_row), 'field')}, {expectation}.",
            source=source.label,
            line=line,
            code="wrong-field-count",
        )
    tag = first_row[5] if len(first_row) >= len(_SIX_FIELDS) else None
    location = RowLocation(source.label, partial(line_of, source))
    return Run(source.stem, read_frames, tag=tag, place=location, cautions=cautions)


def counts_ranks(source: InputFile, min_rank: int) -> bool:
    """True if the third of three fields counts 1, 2, 3, … in each query, as in MS MARCO's runs.

    Args:
        source: the file.
        min_rank: the rank that one query has to reach; two queries have to reach 2.
    """
    first_bytes = source.head()
    lines = first_bytes.split(b"\n")
    if len(lines) > 1 and not first_bytes.endswith(b"\n"):
        lines.pop()  # the last line may be incomplete
    ranks: dict[bytes, int] = {}
    for fields in map(bytes.split, lines):
        if not fields or fields[0].startswith(b"#"):
            continue
        if len(fields) != len(_RUN_FIELDS) or fields[2] != b"%d" % (ranks.get(fields[0], 0) + 1):
            return False
        ranks[fields[0]] = ranks.get(fields[0], 0) + 1
    counting_queries = sum(rank >= _MIN_RUN_RANKS for rank in ranks.values())
    return counting_queries >= _MIN_RUN_RANKS or max(ranks.values(), default=0) >= min_rank


def _read_ranks(source: InputFile) -> Iterator[pl.DataFrame]:
    """Read three columns; the third is the rank."""
    for frame in read_line_frames(source, Layout(_RUN_FIELDS, "score", _RUN_FIELDS)):
        yield frame.with_columns(-pl.col("score"))


def _read_ordered(source: InputFile) -> Iterator[pl.DataFrame]:
    """Read two columns; the score is the position in the file, counted down."""
    layout = Layout(_RUN_FIELDS[:2], "", _RUN_FIELDS[:2])
    row = 0
    for frame in read_line_frames(source, layout):
        score = -np.arange(row, row + len(frame), dtype=np.float64)
        yield frame.with_columns(pl.Series("score", score))
        row += len(frame)


_QRELS, _RUN, _EITHER, _RANKED = 4, 6, 3, 2  # fields in a line
_WIDTH_LABELS = {_QRELS: ", as judgments have", _RUN: ", as a run has", _EITHER: "", _RANKED: ""}
_LOOKED_AT = 1000
_MIN_TREC_RANKS = 3  # in ranks, at least one query counts this far; grades do not
_FIELDS: dict[InputKind, dict[int, tuple[str, ...]]] = {
    "qrels": {_QRELS: ("query_id", "iteration", "doc_id", "grade"), _EITHER: ("query_id", "doc_id", "grade")},
    "run": {
        _RUN: ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
        _EITHER: ("query_id", "doc_id", "score"),
        _RANKED: ("query_id", "doc_id"),
    },
}
_IGNORED_FIELDS = frozenset({"Q0", "tag"})


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The first line has as many fields between blanks as judgments or runs have."""
    for text in first_bytes.removeprefix(BOM).split(b"\n"):
        content = text.strip()
        if content and not content.startswith(b"#"):
            width = len(content.split())
            reason = f"the first line has {count_noun(width, 'field')} between blanks"
            return f"{reason}{_WIDTH_LABELS[width]}" if width in _WIDTH_LABELS else None
    return None


def read_trec(source: InputFile) -> FileContents:
    """Read judgments from 4 fields, a run from 6 or 2; 3 are judgments if whole and not ranks."""
    if source.read_as == "qrels" or (source.read_as is None and holds_judgments(source)):
        return FileContents(qrels=read_qrels_lines(source))
    return FileContents(runs=(read_run_lines(source),))


def rows(source: InputFile) -> RawQrels | RawRun | None:
    """The rows with invalid values, with rank or iteration; None for other numbers of fields.

    Raises:
        InputError: a line has the wrong number of fields, or bytes are not text.
    """
    from rankgate.data.unchecked_rows import unchecked_rows

    input_kind: InputKind = "qrels" if holds_judgments(source) else "run"
    fields = _FIELDS[input_kind].get(len(first_fields(source)))
    if fields is None:
        return None
    if input_kind == "run" and len(fields) == _EITHER and counts_ranks(source, 2):
        fields = ("query_id", "doc_id", "rank")
    kept_fields = tuple(name for name in fields if name not in _IGNORED_FIELDS)
    number_field = NUMBER_COLUMNS[input_kind] if NUMBER_COLUMNS[input_kind] in fields else ""
    parsed_frames = read_line_frames(source, Layout(fields, number_field, kept_fields, defects=True))
    location = RowLocation(source.label, partial(line_of, source))
    return unchecked_rows(input_kind, parsed_frames, source.stem, location)


def holds_judgments(source: InputFile) -> bool:
    """True if the first line is a judgment; of 3 fields, if all are whole numbers and not ranks."""
    width = len(first_fields(source))
    return width == _QRELS or (
        width == _EITHER and _has_whole_thirds(source) and not counts_ranks(source, _MIN_TREC_RANKS)
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the judgments if there are any, else the first run; blanks in ids become ``_``.

    Raises:
        InputError: two ids would become equal.
        UsageError: there are neither judgments nor a run.
    """
    from rankgate.data.formats.trec import trec_writer as trec_write

    return trec_write.write(contents, out)


def _has_whole_thirds(source: InputFile) -> bool:
    """True if the third fields of the first lines are whole numbers."""
    lines = [line.split() for line in source.head().splitlines()[:_LOOKED_AT]]
    thirds = [fields[2].decode(errors="replace") for fields in lines if len(fields) == _EITHER]
    return all(third.lstrip("+-").isdigit() for third in thirds)


FORMAT = Format(
    name="trec",
    title="TREC qrels and runs, fields between blanks",
    suffixes=(".trec", ".qrels", ".run", ".txt"),
    sniff=sniff,
    read=read_trec,
    write=write,
    rows=rows,
    holds=("qrels", "runs"),
    loses="all parts but one; texts, raters, scales; blanks in ids are written as _",
    streams=True,
    detail=(
        "Judgments have 4 fields (query_id iteration doc_id grade) or 3; runs have 6 (query_id Q0 doc_id "
        "rank score tag), 3 (query_id doc_id score, or rank where it counts 1, 2, 3, … in each query, as in "
        "MS MARCO's runs) or 2, best first. Three fields are read as judgments if all their numbers are "
        "whole and not ranks, else as a run. Tabs, runs of blanks, blank lines and lines that begin with # "
        "are fine. Rankings follow the score, not the rank column, as in trec_eval; written runs have ranks "
        "that follow the score, and keep the tag and the order of lines."
    ),
)
