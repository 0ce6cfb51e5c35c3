"""Judgments in files of NTCIR, of TREC's million query track and of TREC's web track.

NTCIR's judgments are ``0001 doc L2``, or ``0001 A doc 1`` with the letters S, A, B, C. Prels
are judgments of a sample (TREC million query): ``1 GX000-00-0000000 1 2 0.25``. Judgments by
subtopic (TREC web track, diversity) are ``51 2 clueweb09-en0000-96-09560 1``.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Loss, Note
from rankgate.data.formats.format import Format
from rankgate.data.qrels import QRELS_SCHEMA, Qrels, Scale
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.field_lines import Layout, first_fields, line_of, read_line_frames
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rankgate.data.streams.source import InputFile


_LETTERS = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
_GRADE_NAMES = ((3.0, "S"), (2.0, "A"), (1.0, "B"), (0.0, "C"))
_LABEL = re.compile(rb"[SABC]|L-?\d{1,3}")
_WIDTHS = (3, 4)
_MAX_LINES = 100


def _split_lines(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The fields of lines that are neither empty nor comments."""
    for line in lines:
        fields = line.split()
        if fields and not fields[0].startswith(b"#"):
            yield fields


def sniff_ntcir(first_bytes: bytes, name: str) -> str | None:
    """The second or third field of the first lines is a label such as S, A, B, C or L2."""
    label_index = find_label_index(first_bytes.removeprefix(BOM).splitlines())
    return f"field {label_index + 1} of the first lines is a label such as A or L2" if label_index else None


def read_ntcir(source: InputFile) -> FileContents:
    """Read judgments; S, A, B, C are 3, 2, 1, 0, and L2 is 2."""
    return FileContents(qrels=read_ntcir_qrels(source))


def read_ntcir_qrels(source: InputFile) -> Qrels:
    """As `read`."""
    first = first_fields(source)
    label_index = find_label_index(source.head().splitlines()) or 2
    if len(first) not in _WIDTHS or (label_index == 1 and len(first) != max(_WIDTHS)):
        problem = f"{count_noun(len(first), 'field')}, expected 3 (query doc L2) or 4 (query A doc 1)."
        raise InputError(problem, source=source.label, line=line_of(source, 0), code="wrong-field-count")
    names = ["query_id", "doc_id", "label"] if label_index > 1 else ["query_id", "label", "doc_id", "binary"]
    if label_index > 1 and len(first) > len(names):
        problem = "4 fields, where a label such as A should be the second; see format trec."
        raise InputError(problem, source=source.label, line=line_of(source, 0), code="wrong-field-count")
    layout = Layout(names, "", ("query_id", "doc_id", "label"))
    chunks = list(read_line_frames(source, layout))
    table = pl.concat(chunks) if chunks else pl.DataFrame(schema=dict.fromkeys(layout.kept, pl.String))
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
    scale = Scale(0.0, 3.0, _GRADE_NAMES) if is_letter.all() else None
    location = RowLocation(source.label, partial(line_of, source))
    judged = table.with_columns(grade.alias("grade")).select(*QRELS_SCHEMA)
    return Qrels(judged, source.stem, scale=scale, place=location)


def write_ntcir(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write one line ``query doc L2`` per judgment.

    Raises:
        InputError: there are no judgments, a grade is not a whole number, or an id has blanks.
    """
    from rankgate.data.formats.trec.trec_writer import write_judgments

    table = contents.judgments("").table
    fractional = table.filter(pl.col("grade") != pl.col("grade").round())
    if len(fractional):
        problem = f"grade {fractional['grade'][0]}, where NTCIR has whole numbers; scale the grades."
        raise InputError(problem, code="grade-outside-scale")
    label = pl.format("L{}", pl.col("grade").cast(pl.Int64)).alias("label")
    return write_judgments(contents, out, ["query_id", "doc_id", label])


def find_label_index(lines: Sequence[bytes]) -> int | None:
    """The index of the field that is a label in all of the first lines."""
    line_fields = list(_split_lines(lines[:_MAX_LINES]))
    for index, width in ((2, 3), (1, 4)):
        full_lines = [fields for fields in line_fields if len(fields) == width]
        if (
            full_lines
            and len(full_lines) >= len(line_fields) - 1
            and all(_LABEL.fullmatch(fields[index]) for fields in full_lines)
        ):
            return index
    return None


NTCIR_FORMAT = Format(
    name="ntcir",
    title="NTCIR's judgments with labels",
    suffixes=(".txt",),
    sniff=sniff_ntcir,
    read=read_ntcir,
    write=write_ntcir,
    loses="all parts but judgments; raters, the names of other scales",
    detail=(
        "Lines of 3 fields with a label at the end (0001 doc L2), or of 4 with a letter behind the query "
        "(0001 A doc 1). S, A, B and C are the grades 3, 2, 1 and 0; L2 is 2. The fourth field, the same in "
        "two grades, is passed over. Written with L and the grade."
    ),
)


_PRELS_FIELDS = ("query_id", "doc_id", "grade", "stratum", "inclusion")
_METHODS = (b"0", b"1", b"2")  # methods that chose documents: the first algorithm, the second, both
_CERTAIN = 1.0  # the probability of a document if all documents were judged


def sniff_prels(first_bytes: bytes, name: str) -> str | None:
    """The first lines have 5 fields, the last of them numbers: grade, method, probability."""
    lines = first_bytes.removeprefix(BOM).splitlines()[:-1] or [first_bytes]
    line_fields = list(islice(_split_lines(lines), _MAX_LINES))
    if line_fields and all(
        len(fields) == len(_PRELS_FIELDS) and _is_sample_line(fields) for fields in line_fields
    ):
        return "the first lines have 5 fields: query, document, grade, method, probability"
    return None


def read_prels(source: InputFile) -> FileContents:
    """Judgments with the probability that each document was drawn.

    A missing probability, or 0, means that the document was chosen and not drawn.
    """
    qrels = read_prels_qrels(source)
    without = qrels.table.filter(pl.col("inclusion").is_null())
    note_text = "documents that were chosen without a probability"
    pairs = [f"{query} {document}" for query, document in without[:, :2].head(3).rows()]
    notes = (Note(note_text, len(without), tuple(pairs)),) if len(without) else ()
    return FileContents(qrels=qrels, notes=notes)


def _read_fields(source: InputFile, fields: Sequence[str], field_text: str) -> pl.DataFrame:
    """The fields of all lines of a file; the grade is a number, the others are text."""
    first = first_fields(source)
    if len(first) != len(fields):
        problem = f"{count_noun(len(first), 'field')}, expected {len(fields)} ({field_text})."
        raise InputError(problem, source=source.label, line=line_of(source, 0), code="wrong-field-count")
    schema = {name: pl.Float64 if name == "grade" else pl.String for name in fields}
    chunks = read_line_frames(source, Layout(fields, "grade", fields))
    return pl.concat([pl.DataFrame(schema=schema), *chunks])


def read_prels_qrels(source: InputFile) -> Qrels:
    """As `read`."""
    table = _read_fields(source, _PRELS_FIELDS, "query_id doc_id grade method probability")
    column = table["inclusion"]
    probability = column.cast(pl.Float64, strict=False)
    is_wrong = probability.is_null()
    if is_wrong.any():
        from rankgate.data.text.text_values import number_fault

        row = int(is_wrong.arg_max() or 0)
        problem = number_fault(column[row][:40], "probability") or "a probability is not a number."
        raise InputError(problem, source=source.label, line=line_of(source, row), code="not-a-number")
    inclusion = pl.select(
        pl.when(probability.is_nan() | (probability == 0)).then(None).otherwise(probability)
    )
    table = table.with_columns(inclusion.to_series().alias("inclusion"))
    columns = ["query_id", "doc_id", "grade", "inclusion", "stratum"]
    location = RowLocation(source.label, partial(line_of, source))
    return Qrels(table.select(columns), source.stem, place=location)


def write_prels(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write five fields per line; without known probabilities, every document has 1.

    Raises:
        InputError: there are no judgments, or two ids would become equal.
    """
    from rankgate.data.formats.tables import schemas
    from rankgate.data.formats.trec import trec_writer as trec_write

    qrels = contents.judgments("")
    has_inclusion = "inclusion" in qrels.table.columns
    method = pl.col("stratum").fill_null("0") if "stratum" in qrels.table.columns else pl.lit("0")
    inclusion = pl.col("inclusion").fill_null(0.0) if has_inclusion else pl.lit(_CERTAIN)
    grade = schemas.grade_expression(qrels.table)
    fields: list[str | pl.Expr] = ["query_id", "doc_id", grade]
    fields += [method.alias("stratum"), inclusion.alias("inclusion")]
    lost = trec_write.write_judgments(contents, out, fields, ("inclusion", "stratum"))
    assumed_losses = (
        () if has_inclusion else (Loss("probabilities that are not known, written as 1", len(qrels.table)),)
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


PRELS_FORMAT = Format(
    name="prels",
    title="judgments of a sample with probabilities (TREC million query)",
    suffixes=(".prels",),
    sniff=sniff_prels,
    read=read_prels,
    write=write_prels,
    loses="all parts but judgments; raters, scales, queries without judgments",
    columns=("inclusion", "stratum"),
    detail=(
        "Lines of 5 fields: query_id doc_id grade method probability. The method (0, 1 or 2: which of two "
        "algorithms chose the document, or both) is kept as the stratum, the probability as inclusion; 0 and "
        "nan mean that the probability is not known. Metrics over judgments use the grade alone."
    ),
)


_SUBTOPIC_FIELDS = ("query_id", "subtopic", "doc_id", "grade")
_FORM_NAMES = ("diversity", "subtopic")


def sniff_subtopics(first_bytes: bytes, name: str) -> str | None:
    """Four fields, and a document of a query has two second fields; or a mark in the file name."""
    line_fields = _split_lines(first_bytes.removeprefix(BOM).splitlines())
    first_row = next(line_fields, [])
    if len(first_row) != len(_SUBTOPIC_FIELDS):
        return None
    marker = next((marker_word for marker_word in _FORM_NAMES if marker_word in name.lower()), None)
    if marker:
        return f"lines of 4 fields, and the file's name has '{marker}' in it"
    subtopic_of_pair: dict[tuple[bytes, bytes], bytes] = {}
    for fields in chain([first_row], line_fields):
        if len(fields) == len(_SUBTOPIC_FIELDS):
            query, subtopic, document, _ = fields
            if subtopic_of_pair.setdefault((query, document), subtopic) != subtopic:
                return "lines of 4 fields, and a document has several second fields for one query"
    return None


def read_subtopics(source: InputFile) -> FileContents:
    """Read judgments, each for a subtopic of a query."""
    table = _read_fields(source, _SUBTOPIC_FIELDS, "query_id subtopic doc_id grade")
    location = RowLocation(source.label, partial(line_of, source))
    columns = ["query_id", "doc_id", "grade", "subtopic"]
    return FileContents(qrels=Qrels(table.select(columns), source.stem, place=location))


def write_subtopics(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write four fields per line; without subtopics the second is 0, as in TREC's qrels.

    Raises:
        InputError: there are no judgments, or two ids would become equal.
    """
    from rankgate.data.formats.tables import schemas
    from rankgate.data.formats.trec import trec_writer as trec_write

    qrels = contents.judgments("")
    zero = pl.lit("0")
    subtopic = pl.col("subtopic").fill_null(zero) if qrels.by_subtopic else zero
    grade, subtopic_column = schemas.grade_expression(qrels.table), subtopic.alias("subtopic")
    fields: tuple[str | pl.Expr, ...] = ("query_id", subtopic_column, "doc_id", grade)
    return trec_write.write_judgments(contents, out, fields, ("subtopic",))


SUBTOPICS_FORMAT = Format(
    name="trec-subtopics",
    title="TREC judgments by subtopic, for diversity",
    suffixes=(".qrels", ".txt"),
    sniff=sniff_subtopics,
    read=read_subtopics,
    write=write_subtopics,
    loses="all parts but judgments; raters, scales, queries without judgments",
    columns=("subtopic",),
    detail=(
        "Lines of 4 fields: query_id subtopic doc_id grade. They look like TREC's qrels, and are known by a "
        "document that has several second fields for one query, or by 'diversity' or 'subtopic' in the "
        "file's name; otherwise name the format. Formats without subtopics are written with each document's "
        "highest grade, which is reported as a loss."
    ),
)
