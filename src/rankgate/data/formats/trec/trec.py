"""TREC files: qrels and runs, fields between blanks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.trec import qrels as trec_qrels
from rankgate.data.formats.trec import run as trec_run
from rankgate.data.place import RowLocation
from rankgate.data.rows import NUMBER_COLUMNS, FileRows, Part
from rankgate.data.text.lines import Layout, first_fields, line_of, read_line_frames
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile

_QRELS, _RUN, _EITHER, _RANKED = 4, 6, 3, 2  # fields in a line
_WIDTH_LABELS = {_QRELS: ", as judgments have", _RUN: ", as a run has", _EITHER: "", _RANKED: ""}
_LOOKED_AT = 1000
_MIN_RANKS = 3  # ranks count this far in some query if they are ranks and not grades
_FIELDS: dict[Part, dict[int, tuple[str, ...]]] = {
    "qrels": {
        _QRELS: ("query_id", "iteration", "doc_id", "grade"),
        _EITHER: ("query_id", "doc_id", "grade"),
    },
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
            reason = f"the first line has {width} fields between blanks"
            return f"{reason}{_WIDTH_LABELS[width]}" if width in _WIDTH_LABELS else None
    return None


def read(source: InputFile) -> FileContents:
    """Judgments from 4 fields, a run from 6 or 2; 3 are judgments if whole and no ranks."""
    if holds_judgments(source):
        return FileContents(qrels=trec_qrels.read(source))
    return FileContents(runs=(trec_run.read(source),))


def rows(source: InputFile) -> FileRows | None:
    """The rows with their defects, with the rank or the iteration; None of other widths.

    Raises:
        InputError: a line with the wrong number of fields, bytes that are not text.
    """
    input_kind: Part = "qrels" if holds_judgments(source) else "run"
    fields = _FIELDS[input_kind].get(len(first_fields(source)))
    if fields is None:
        return None
    if input_kind == "run" and len(fields) == _EITHER and trec_run.counts_ranks(source, 2):
        fields = ("query_id", "doc_id", "rank")
    kept_fields = tuple(name for name in fields if name not in _IGNORED_FIELDS)
    number_field = NUMBER_COLUMNS[input_kind] if NUMBER_COLUMNS[input_kind] in fields else ""
    parsed_frames = read_line_frames(
        source, Layout(fields, number_field, kept_fields, defects=True)
    )
    return FileRows.of(
        input_kind, parsed_frames, RowLocation(source.label, partial(line_of, source))
    )


def holds_judgments(source: InputFile) -> bool:
    """True if the first line is one of judgments; of 3 fields, if all are whole, and no ranks."""
    width = len(first_fields(source))
    return width == _QRELS or (
        width == _EITHER
        and _has_whole_thirds(source)
        and not trec_run.counts_ranks(source, _MIN_RANKS)
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the first run; blanks in ids become ``_``.

    Raises:
        InputError: two ids that would become one.
        UsageError: neither judgments nor a run.
    """
    from rankgate.data.formats.trec import write as trec_write

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
    read=read,
    write=write,
    read_qrels=trec_qrels.read,
    read_run=trec_run.read,
    rows=rows,
    holds=("qrels", "runs"),
    loses="all parts but one; texts, raters, scales; blanks in ids are written as _",
    streams=True,
    detail=(
        "Judgments have 4 fields (query_id iteration doc_id grade) or 3; runs have 6 (query_id Q0 "
        "doc_id rank score tag), 3 (query_id doc_id score, or rank where it counts 1, 2, 3, … in "
        "each query, as in MS MARCO's runs) or 2, best first. Three fields are taken for "
        "judgments if all their numbers are whole and no ranks, else for a run. Tabs, runs of "
        "blanks, blank lines and lines that begin with # are fine. Rankings follow the score, "
        "not the rank column, as in trec_eval; what is written has ranks that follow the score "
        "and keeps the run's tag and order of lines."
    ),
)
