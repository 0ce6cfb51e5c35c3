"""NTCIR's judgments: ``0001 doc L2``, or ``0001 A doc 1`` with the letters S, A, B, C."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.place import RowLocation
from rankgate.data.qrels import SCHEMA, Qrels, Scale
from rankgate.data.text.lines import Layout, first_fields, line_of, read_line_frames
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile

_LETTERS = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
_NAMES = ((3.0, "S"), (2.0, "A"), (1.0, "B"), (0.0, "C"))
_LABEL = re.compile(rb"[SABC]|L-?\d{1,3}")
_WIDTHS = (3, 4)
_MAX_LINES = 100


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The second or third field of the first lines is a label such as S, A, B, C or L2."""
    label_index = find_label_index(
        [line.split() for line in first_bytes.removeprefix(BOM).splitlines()]
    )
    return (
        f"field {label_index + 1} of the first lines is a label such as A or L2"
        if label_index
        else None
    )


def read(source: InputFile) -> FileContents:
    """Judgments; S, A, B, C are 3, 2, 1, 0, and L2 is 2."""
    return FileContents(qrels=read_qrels(source))


def read_qrels(source: InputFile) -> Qrels:
    """As `read`."""
    first = first_fields(source)
    label_index = find_label_index([line.split() for line in source.head().splitlines()]) or 2
    if len(first) not in _WIDTHS or (label_index == 1 and len(first) != max(_WIDTHS)):
        problem = f"{len(first)} fields, expected 3 (query doc L2) or 4 (query A doc 1)."
        raise InputError(
            problem, source=source.label, line=line_of(source, 0), code="wrong-field-count"
        )
    names = (
        ["query_id", "doc_id", "label"]
        if label_index > 1
        else ["query_id", "label", "doc_id", "binary"]
    )
    if label_index > 1 and len(first) > len(names):
        problem = "4 fields, where a label such as A should be the second; see format trec."
        raise InputError(
            problem, source=source.label, line=line_of(source, 0), code="wrong-field-count"
        )
    layout = Layout(names, "", ("query_id", "doc_id", "label"))
    chunks = list(read_line_frames(source, layout))
    table = (
        pl.concat(chunks) if chunks else pl.DataFrame(schema=dict.fromkeys(layout.kept, pl.String))
    )
    label = table["label"]
    is_letter = label.is_in(list(_LETTERS))
    number = label.str.extract(r"^L(-?\d{1,3})$").cast(pl.Float64, strict=False)
    grade = pl.select(
        pl.when(is_letter).then(label.replace_strict(_LETTERS, default=None)).otherwise(number)
    ).to_series()
    if grade.null_count():
        row = int(grade.is_null().arg_max() or 0)
        problem = f"'{label[row][:40]}' is not a label; write S, A, B, C, or L and a number."
        raise InputError(problem, source=source.label, line=line_of(source, row), code="wrong-type")
    scale = Scale(0.0, 3.0, _NAMES) if is_letter.all() else None
    location = RowLocation(source.label, partial(line_of, source))
    judged = table.with_columns(grade.alias("grade")).select(*SCHEMA)
    return Qrels(judged, source.stem, scale=scale, place=location)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """``query doc L2`` a line.

    Raises:
        InputError: there are no judgments, a grade that is not a whole number, ids with blanks.
    """
    from rankgate.data.formats.trec.write import write_judgments

    table = contents.judgments("").table
    fractional = table.filter(pl.col("grade") != pl.col("grade").round())
    if len(fractional):
        problem = (
            f"grade {fractional['grade'][0]}, where NTCIR has whole numbers; scale the grades."
        )
        raise InputError(problem, code="grade-outside-scale")
    label = pl.format("L{}", pl.col("grade").cast(pl.Int64)).alias("label")
    return write_judgments(contents, out, ["query_id", "doc_id", label])


def find_label_index(lines: list[list[bytes]]) -> int | None:
    """The index of the label in every one of the first lines."""
    line_fields = [
        fields for fields in lines[:_MAX_LINES] if fields and not fields[0].startswith(b"#")
    ]
    for index, width in ((2, 3), (1, 4)):
        full_lines = [fields for fields in line_fields if len(fields) == width]
        if (
            full_lines
            and len(full_lines) >= len(line_fields) - 1
            and all(_LABEL.fullmatch(fields[index]) for fields in full_lines)
        ):
            return index
    return None


FORMAT = Format(
    name="ntcir",
    title="NTCIR's judgments with labels",
    suffixes=(".txt",),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    loses="all parts but judgments; raters, the names of other scales",
    detail=(
        "Lines of 3 fields with a label at the end (0001 doc L2), or of 4 with a letter behind the "
        "query (0001 A doc 1). S, A, B and C are the grades 3, 2, 1 and 0; L2 is 2. The fourth "
        "field, the same in two grades, is passed over. Written with L and the grade."
    ),
)
