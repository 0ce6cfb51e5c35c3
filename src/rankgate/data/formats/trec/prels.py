"""Judgments of a sample (TREC million query): ``1 GX000-00-0000000 1 2 0.25``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.notes import Loss, Note
from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels
from rankgate.data.text.lines import Layout, first_fields, line_of, read_line_frames
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_FIELDS = ("query_id", "doc_id", "grade", "stratum", "inclusion")
_METHODS = (b"0", b"1", b"2")  # the algorithms that chose documents: one, the other, both
_CERTAIN = 1.0  # the probability of a document where every one was judged
_MAX_LINES = 100


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The first lines have 5 fields, the last of them numbers: grade, method, probability."""
    lines = [line.split() for line in first_bytes.removeprefix(BOM).splitlines()[:-1]]
    lines = lines or [first_bytes.split()]
    line_fields = [fields for fields in lines if fields and not fields[0].startswith(b"#")][
        :_MAX_LINES
    ]
    if line_fields and all(
        len(fields) == len(_FIELDS) and _is_sample_line(fields) for fields in line_fields
    ):
        return "the first lines have 5 fields: query, document, grade, method, probability"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments with the probability with which each document was drawn.

    A probability of 0, or one that is missing, means the document was chosen, not drawn.
    """
    qrels = read_qrels(source)
    without = qrels.table.filter(pl.col("inclusion").is_null())
    note_text = "documents that were chosen without a probability"
    pairs = [f"{query} {document}" for query, document in without[:, :2].head(3).rows()]
    notes = (Note(note_text, len(without), tuple(pairs)),) if len(without) else ()
    return FileContents(qrels=qrels, notes=notes)


def read_qrels(source: InputFile) -> Qrels:
    """As `read`."""
    first = first_fields(source)
    if len(first) != len(_FIELDS):
        problem = f"{len(first)} fields, expected 5 (query_id doc_id grade method probability)."
        raise InputError(
            problem, source=source.label, line=line_of(source, 0), code="wrong-field-count"
        )
    chunks = list(read_line_frames(source, Layout(_FIELDS, "grade", _FIELDS)))
    schema = {name: pl.Float64 if name == "grade" else pl.String for name in _FIELDS}
    table = pl.concat([pl.DataFrame(schema=schema), *chunks])
    column = table["inclusion"]
    probability = column.cast(pl.Float64, strict=False)
    is_wrong = probability.is_null()
    if is_wrong.any():
        from rankgate.data.text.numbers import number_fault

        row = int(is_wrong.arg_max() or 0)
        problem = number_fault(column[row][:40], "probability") or "a probability is not a number."
        raise InputError(
            problem, source=source.label, line=line_of(source, row), code="not-a-number"
        )
    inclusion = pl.select(
        pl.when(probability.is_nan() | (probability == 0)).then(None).otherwise(probability)
    )
    table = table.with_columns(inclusion.to_series().alias("inclusion"))
    columns = ["query_id", "doc_id", "grade", "inclusion", "stratum"]
    location = RowLocation(source.label, partial(line_of, source))
    return Qrels(table.select(columns), source.stem, place=location)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Five fields a line; where no probabilities are known, every document has 1.

    Raises:
        InputError: there are no judgments, or two ids that would become one.
    """
    from rankgate.data.formats.tables import schemas
    from rankgate.data.formats.trec import write as trec_write

    qrels = contents.judgments("")
    has_inclusion = "inclusion" in qrels.table.columns
    method = pl.col("stratum").fill_null("0") if "stratum" in qrels.table.columns else pl.lit("0")
    inclusion = pl.col("inclusion").fill_null(0.0) if has_inclusion else pl.lit(_CERTAIN)
    grade = schemas.grade_expression(qrels.table)
    fields: list[str | pl.Expr] = ["query_id", "doc_id", grade]
    fields += [method.alias("stratum"), inclusion.alias("inclusion")]
    lost = trec_write.write_judgments(contents, out, fields, ("inclusion", "stratum"))
    assumed_losses = (
        ()
        if has_inclusion
        else (Loss("probabilities that are not known, written as 1", len(qrels.table)),)
    )
    return (*lost, *assumed_losses)


def _is_sample_line(fields: list[bytes]) -> bool:
    """True if a line's last three fields are a grade, a method, and a probability."""
    grade, method, probability = fields[2:]
    try:
        number = float(probability)
    except ValueError:
        return False
    is_plausible = grade.lstrip(b"-").isdigit() and method in _METHODS
    return is_plausible and not number < 0 and not number > 1


FORMAT = Format(
    name="prels",
    title="judgments of a sample with probabilities (TREC million query)",
    suffixes=(".prels",),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    loses="all parts but judgments; raters, scales, queries without judgments",
    columns=("inclusion", "stratum"),
    detail=(
        "Lines of 5 fields: query_id doc_id grade method probability. The method (0, 1 or 2: which "
        "of two algorithms chose the document, or both) is kept as the stratum, the probability as "
        "inclusion; 0 and nan are no probability. Metrics over judgments use the grade alone."
    ),
)
