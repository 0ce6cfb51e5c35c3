"""JSONL: one object a line with a query, a document and a grade or a score.

The fast way hands a piece to Polars. Polars takes the last of two equal keys and makes text
of whatever an id is; a piece in which that could happen is read again line by line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data import json_text, tables
from rankgate.data.ahead import in_order
from rankgate.data.columns import ALIASES
from rankgate.data.contents import Contents
from rankgate.data.format import Format
from rankgate.data.place import Place
from rankgate.data.run import Run
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from rankgate.data.format import Loss
    from rankgate.data.qrels import Qrels
    from rankgate.data.source import Source
    from rankgate.data.tables import Table

_BOM = b"\xef\xbb\xbf"
# half a character, which Polars takes for NUL; or a letter of a key, which could not be found
_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|00[2-7])")
_NO_ID = rb'\s*:\s*+(?!"|(?:0|-?[1-9]\d*+)\s*+[,}])'
_COLON, _QUOTE = 58, 34
_BLOCK = 1 << 18  # bytes looked at together: small enough for the cache
_IDS = ("query_id", "doc_id")
_NEEDED = {"qrels": "grade", "runs": "score"}


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """The first line is an object with known keys and plain values."""
    first = _first_object(head)
    table = tables.table_of(list(first)) if first else None
    if not first or table is None or not _flat(first, table):
        return None
    keys = ", ".join(f"'{theirs}'" for theirs in list(table.kept.values())[:3])
    return f"the first line is an object with {keys}"


def read(source: Source) -> Contents:
    """What the keys say: judgments, a run, ratings, queries, documents or metric values.

    Raises:
        InputError: no such keys, or as of the readers.
    """
    names = names_of(source)
    table = tables.table_of(names)
    if table is None:
        problem = f"the keys {', '.join(names[:10])} are those of no known table."
        raise InputError(problem, source=source.label, line=1)
    if table.part == "runs":
        return Contents(runs=(read_run(source),))
    place = Place(source.label, partial(line_of, source))
    return tables.contents_of(table, whole(source, table), source.stem, place)


def read_qrels(source: Source) -> Qrels:
    """Judgments from objects with a query, a document and a grade; null is unrated.

    Raises:
        InputError: a line that is no such object, with its number.
        DuplicateError: a document judged twice for one query.
    """
    rows = whole(source, _asked(source, "qrels"))
    place = Place(source.label, partial(line_of, source))
    with tables.raters_told(names_of(source)):
        return tables.judgments(rows, source.stem, place)[0]


def read_run(source: Source) -> Run:
    """A run from objects with a query, a document and a score, or rank; read when needed.

    Raises:
        InputError: the first line is no such object.
    """
    table = _asked(source, "runs")

    def pieces() -> Iterator[pl.DataFrame]:
        for frame in _frames(source, table):
            yield tables.scored(frame)

    return Run(source.stem, pieces, place=Place(source.label, partial(line_of, source)))


def write(contents: Contents, out: BinaryIO) -> tuple[Loss, ...]:
    """One part, an object a row, a run in its own order.

    Raises:
        UsageError: no part that is a table.
    """
    part, lost = tables.chosen(contents)
    for frame in tables.rows(contents, part):
        frame.write_ndjson(out)
    return lost


def _first_object(head: bytes) -> dict[str, Any] | None:
    line = head.removeprefix(_BOM).lstrip().split(b"\n", 1)[0].strip()
    try:
        value = json_text.parsed(line, "")
    except InputError:
        return None
    return value if isinstance(value, dict) else None


def _flat(first: dict[str, Any], table: Table) -> bool:
    """Whether the values that are needed are plain, as those of a row are."""
    return not any(isinstance(first[key], dict | list) for key in table.kept.values())


def names_of(source: Source) -> list[str]:
    """The keys of the first object.

    Raises:
        InputError: the first line is no object.
    """
    _, first = next(json_text.objects(source), (1, None))
    if first is None:
        problem = "the file is empty; see whether writing it went through."
        raise InputError(problem, source=source.label)
    return list(first)


def _asked(source: Source, part: str) -> Table:
    names = names_of(source)
    table = tables.table_of(names, part)
    needed = {"query_id", "doc_id", _NEEDED[part]}
    found = {"score" if ours == "rank" else ours for ours in table.kept} if table else set()
    if table is None or not needed <= found:
        ours = min(needed - found)
        wanted = ", ".join(ALIASES[ours][:4])
        problem = f"no key for {ours} among {', '.join(names[:10])}; name one {wanted}."
        raise InputError(problem, source=source.label, line=1)
    return table


def whole(source: Source, table: Table) -> pl.DataFrame:
    """The rows of a file with the keys that a table keeps; errors as of `read`."""
    return pl.concat([pl.DataFrame(schema=_schema(table)), *_frames(source, table)])


def _schema(table: Table) -> dict[str, type[pl.DataType]]:
    return {name: pl.Float64 if name in table.numbers else pl.String for name in table.kept}


@dataclass(frozen=True)
class _Piece:
    data: bytes
    line: int


def _frames(source: Source, table: Table) -> Iterator[pl.DataFrame]:
    tasks = (partial(_frame, piece, table, source) for piece in _pieces(source))
    for frame in in_order(tasks):
        if len(frame):
            yield frame


def _pieces(source: Source) -> Iterator[_Piece]:
    line = 1
    for data in source.chunks():
        yield _Piece(data.removeprefix(_BOM) if line == 1 else data, line)
        line += data.count(b"\n")


def _frame(piece: _Piece, table: Table, source: Source) -> pl.DataFrame:
    frame = _quick(piece.data, table)
    return _careful(piece, table, source) if frame is None else frame


def _quick(data: bytes, table: Table) -> pl.DataFrame | None:
    """The rows as Polars reads them; None where anything needs a closer look."""
    schema = {theirs: _schema(table)[ours] for ours, theirs in table.kept.items()}
    try:
        frame = pl.read_ndjson(data, schema=schema)
    except (pl.exceptions.PolarsError, OSError):  # as in records
        return None
    if not _bare(data, table, len(frame)) and (
        _ESCAPE.search(data)
        or any(
            _doubtful(data, theirs, len(frame), number=ours in table.numbers)
            for ours, theirs in table.kept.items()
        )
    ):
        return None
    for column in frame:
        fine = column.is_finite() if column.dtype == pl.Float64 else column != ""
        if column.null_count() or not fine.all():
            return None
    return frame.rename({theirs: ours for ours, theirs in table.kept.items()})


def _bare(data: bytes, table: Table, rows: int) -> bool:
    """Whether surely no row has anything but the kept keys, once, and ids are strings.

    Every row has at least a colon for each key, and at most two quotes for each key and each
    string where nothing is escaped; so equal sums mean that every row has just these.
    """
    if b"\\" in data or b"[" in data:
        return False
    values = np.frombuffer(data, np.uint8)
    keys = len(table.kept)
    strings = len(set(table.kept) - table.numbers)
    colons = quotes = 0
    for begin in range(0, len(values), _BLOCK):
        block = values[begin : begin + _BLOCK]
        colons += int(np.count_nonzero(block == _COLON))
        quotes += int(np.count_nonzero(block == _QUOTE))
    return colons == rows * keys and quotes == rows * 2 * (keys + strings)


def _doubtful(data: bytes, key: str, rows: int, *, number: bool) -> bool:
    """Whether a key is not once in every row, or an id is neither text nor a whole number.

    Counting takes a tenth of the time of a regular expression, which lets no other thread run.
    A number that is none is left to Polars.
    """
    written = b'"' + key.encode() + b'"'
    if data.count(written) != rows:
        return True
    if number or data.count(written + b':"') == rows or data.count(written + b': "') == rows:
        return False
    return bool(re.search(re.escape(written) + _NO_ID, data))


def _careful(piece: _Piece, table: Table, source: Source) -> pl.DataFrame:
    """The same, object by object."""
    columns: dict[str, list[str | float | None]] = {ours: [] for ours in table.kept}
    for at, text in enumerate(piece.data.split(b"\n"), piece.line):
        if not text.strip():
            continue
        value = json_text.parsed(text.strip(), source.label, at)
        if not isinstance(value, dict):
            problem = f"{json_text.kind(value)}, where an object is needed."
            raise InputError(problem, source=source.label, line=at)
        for ours, theirs in table.kept.items():
            columns[ours].append(_value(value.get(theirs), ours, table, source, at))
    return pl.DataFrame(columns, schema=_schema(table))


def _value(value: Any, ours: str, table: Table, source: Source, at: int) -> str | float | None:  # noqa: ANN401
    if value in (None, "") and ours in table.empty:
        return None
    if ours in table.numbers:
        return json_text.number(value, ours, source.label, at)
    if ours not in _IDS and ours in table.empty and not isinstance(value, str):
        try:
            return json_text.dumped(value)
        except ValueError:
            problem = f"a number in '{ours}' is too large, such as 1e999; write it as a string."
            raise InputError(problem, source=source.label, line=at) from None
    return json_text.identifier(value, ours, source.label, at)


def line_of(source: Source, row: int) -> int | None:
    """The line of a row: blank lines are none."""
    line = 0
    for piece in source.chunks():
        for text in piece.split(b"\n"):
            line += 1
            row -= bool(text.strip())
            if row < 0:
                return line
        line -= piece.endswith(b"\n")
    return None


FORMAT = Format(
    name="jsonl",
    title="JSONL, an object a line with named keys",
    suffixes=(".jsonl", ".ndjson"),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    read_run=read_run,
    holds=tables.HOLDS,
    loses=tables.LOSES,
    streams=True,
    detail=(
        "Keys as the columns of csv; other keys are passed over, whatever they hold. An id is a "
        "string or a whole number; a grade or a score is a number or a string that writes one; "
        "null is unrated. A key twice in one object is an error."
    ),
)
