"""Files for learning to rank: a grade, a query, features, and a comment on each line.

Features have the form of svmlight, RankLib, LETOR and LightGBM. ``3 qid:1 1:0.5 2:12.0 # 1370 star
trek`` has grade, query, features, and the document in a comment. Judgments in the file form of
RankLib have no features: ``3 qid:1 # 1370 star trek``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import find_losses, format_data, texts_by_query
from rankgate.data.qrels import QRELS_SCHEMA, Qrels
from rankgate.data.streams.source import open_source as source_of
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.delimited_records import format_grade
from rankgate.data.text.text_values import BOM, decode_utf8, number_fault

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data.streams.source import InputFile


_PIECE = 4 << 20  # bytes to parse at one time, and the longest line
_SHOWN = 40


def read_lines(source: InputFile) -> Iterator[pl.DataFrame]:
    """The lines that are not blank, piece by piece: ``at``, the number of the line, and ``line``.

    Raises:
        InputError: text that is not UTF-8; with the line.
    """
    line = 1
    for data in source.chunks(_PIECE):
        if line == 1 or not data.isspace():  # blank lines may be very many
            text = decode_utf8(data.removeprefix(BOM) if line == 1 else data, source.label, line)
            lines = pl.DataFrame({"line": text.replace("\r\n", "\n").split("\n")})
            yield lines.with_row_index("at", line).filter(pl.col("line").str.strip_chars() != "")
        line += data.count(b"\n")


def _read_graded_lines(
    source: InputFile, pattern: str, example: str, dropped_groups: Sequence[str] = ()
) -> tuple[pl.DataFrame, pl.Series]:
    """Parse the lines of a file into groups; blank lines and comments have no grade.

    Args:
        source: the file.
        pattern: the pattern of a line, with named groups, one of them ``grade``.
        example: a correct line, for the error.
        dropped_groups: groups of the pattern that are not returned.

    Returns:
        The groups as columns of strings, ``grade`` as numbers and ``at``, the line of each row;
        and the lines that begin with ``#``.

    Raises:
        InputError: a line of another shape, a grade that is not a finite number, text that is not
            UTF-8; with the line.
    """
    all_rows, comments = [], []
    for lines in read_lines(source):
        is_comment = pl.col("line").str.contains(r"^\s*#")
        comments.append(lines.filter(is_comment)["line"])
        groups = pl.col("line").str.extract_groups(pattern).struct.unnest()
        rows = lines.filter(~is_comment).with_columns(groups)
        invalid_rows = rows.filter(pl.col("grade").is_null())
        if len(invalid_rows):
            line, text = invalid_rows.select("at", "line").row(0)
            problem = f"'{text[:_SHOWN]}', expected a line such as {example}."
            raise InputError(problem, source=source.label, line=line, code="invalid-syntax")
        number = pl.col("grade").cast(pl.Float64, strict=False)
        wrong_rows = rows.filter(~number.is_finite().fill_null(value=False))
        if len(wrong_rows):
            line, grade_text = wrong_rows.select("at", pl.col("grade").str.head(_SHOWN)).row(0)
            problem = number_fault(grade_text, "grade") or f"grade {grade_text} is not a finite number."
            raise InputError(problem, source=source.label, line=line, code="not-a-number")
        all_rows.append(rows.with_columns(number).drop("line", *dropped_groups))
    if not all_rows:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return pl.concat(all_rows), pl.concat(comments)


_SVMLIGHT_NAME = "svmlight"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SVMLIGHT_LINE = (
    r"^\s*(?P<grade>[^\s:#]+)(?:\s+qid:(?P<query_id>[^\s#]+))?"
    rf"(?P<features>(?:\s+\d+:{_NUMBER})*)\s*(?:#\s*(?P<comment>.*?))?\s*$"
)
_SVMLIGHT_FIRST_LINE = re.compile(
    rf"\s*+{_NUMBER}(?:[ \t]++qid:[^\s#]++)?"
    rf"(?:[ \t]++\d++:{_NUMBER})++[ \t]*+(?:#|\r?\n|$)".encode()
)
_DOCID = r"(?i)^docid\s*=\s*(\S+)"  # LETOR: docid = GX008-86-4444840 inc = 1 prob = 0.086622


def sniff_svmlight(first_bytes: bytes, name: str) -> str | None:
    """The first line is a number, perhaps a qid, and features such as 1:0.5."""
    for line in first_bytes.removeprefix(BOM).splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith(b"#"):
            match = _SVMLIGHT_FIRST_LINE.match(line)
            return "the first line is a grade with numbered features" if match else None
    return None


def read_svmlight(source: InputFile) -> FileContents:
    """Judgments; features and comments are kept next to them for this format.

    Without qid, ``NAME.query`` next to the file has the number of lines of each query, as for
    LightGBM. A document without an id in its comment has the number of its line.
    """
    is_for_judgments = source.read_as == "qrels"  # without the features, which are nearly all of a file
    if companion := _find_companion(source, ".weight"):
        problem = (
            f"{companion.name} next to it gives rows weights, which metrics of rankings do not have; move it "
            "to another folder."
        )
        raise InputError(problem, source=source.label, code="unused-weights")
    dropped_groups = ("features",) if is_for_judgments else ()
    rows, _ = _read_graded_lines(source, _SVMLIGHT_LINE, "3 qid:1 1:0.5 2:12 # 1370", dropped_groups)
    comment = pl.col("comment").replace("", None)
    given_id = pl.coalesce(comment.str.extract(_DOCID), comment.str.extract(r"^(\S+)"))
    line_id = pl.col("at").cast(pl.String)
    rows = rows.with_columns(comment, given=given_id, doc_id=pl.coalesce(given_id, line_id))
    rows, notes = _with_queries(rows, source)
    qrels = _make_qrels(rows, source)
    if is_for_judgments:
        return FileContents(qrels=qrels)
    numbered = rows.filter(pl.col("given").is_null())["doc_id"]
    features = rows.select("query_id", "doc_id", pl.col("features").str.strip_chars(), pl.col("comment"))
    return FileContents(
        qrels=qrels,
        queries=_texts_in_comments(rows),
        extra={_SVMLIGHT_NAME: {"features": features}},
        notes=(*notes, *Note.of("rows without a document id; their line numbers are the ids", numbered)),
    )


def _make_qrels(rows: pl.DataFrame, source: InputFile) -> Qrels:
    lines = rows["at"]
    location = RowLocation(source.label, lambda row: int(lines[row]))
    return Qrels(rows.select(*QRELS_SCHEMA), source.stem, place=location)


def write_svmlight(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a line for each judgment, with features and comment if they came from this format.

    Query ids with blanks are numbered from 1, which is reported.

    Raises:
        InputError: there are no judgments, or a document's id has blanks.
    """
    table, numbered_ids = _rows_to_write(contents, r"^[^\s#]+$")
    stored_features = format_data(contents, _SVMLIGHT_NAME).get("features")
    if isinstance(stored_features, pl.DataFrame):
        table = table.join(stored_features, on=["query_id", "doc_id"], how="left", maintain_order="left")
    else:
        table = table.with_columns(pl.lit(None, pl.String).alias(name) for name in ("features", "comment"))
    features = pl.lit(" ") + pl.col("features").replace("", None)
    comment = pl.coalesce("comment", pl.col("doc_id") + pl.col("text"))
    line = (format_grade(), pl.lit(" qid:"), "qid", features, pl.lit(" # "), comment, pl.lit("\n"))
    line_texts = table.select(pl.concat_str(line, ignore_nulls=True))
    out.writelines(line_text.encode() for line_text in line_texts.to_series())
    return (
        *find_losses(contents, _SVMLIGHT_NAME, "qrels", "queries", queries=("text",)),
        *Loss.of("ids of queries with blanks; they are numbered", numbered_ids),
    )


def _rows_to_write(contents: FileContents, id_pattern: str) -> tuple[pl.DataFrame, list[str]]:
    """The judgments with the id of the query to write, ``qid``, and its text after a blank.

    If an id does not match the pattern, all are numbered from 1 and are the texts of queries
    without one; they are returned too.

    Raises:
        InputError: there are no judgments, or a document's id has blanks.
    """
    table, text_of_query = contents.judgments("").table, texts_by_query(contents)
    invalid_ids = table.filter(pl.col("doc_id").str.contains(r"\s"))["doc_id"]
    if len(invalid_ids):
        problem = f"document '{invalid_ids[0]}' has a blank in its id, and a blank ends an id in this format."
        raise InputError(problem, code="invalid-id")
    ids = table["query_id"].unique(maintain_order=True)
    is_valid = ids.str.contains(id_pattern).all()
    qids = ids if is_valid else pl.int_range(1, len(ids) + 1, eager=True).cast(pl.String)
    texts = (text_of_query.get(id_, "" if is_valid else id_) for id_ in ids)
    lines = [f" {' '.join(text.splitlines())}" if text else "" for text in texts]
    keys = pl.DataFrame([ids, qids.alias("qid"), pl.Series("text", lines, pl.String)])
    joined = table.join(keys, on="query_id", how="left", maintain_order="left")
    return joined, [] if is_valid else ids.to_list()


def _with_queries(rows: pl.DataFrame, source: InputFile) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """The rows with the ids of their queries, from qid or the companion file."""
    unnamed_rows = rows.filter(pl.col("query_id").is_null())
    if unnamed_rows.is_empty():
        return rows, ()
    sizes = _find_sizes(source) if len(unnamed_rows) == len(rows) else None
    if sizes is None:
        problem = "no qid:, and no file of the queries' sizes next to it; add qid:1 and so on."
        raise InputError(problem, source=source.label, line=unnamed_rows["at"][0], code="wrong-shape")
    if sum(sizes) != len(rows):
        problem = f"{count_noun(len(rows), 'row')}, but the file of sizes next to it adds up to {sum(sizes)}."
        raise InputError(problem, source=source.label, code="wrong-shape")
    query_ids = pl.Series("query_id", np.repeat(np.arange(1, len(sizes) + 1), sizes)).cast(pl.String)
    note_text = "queries from the file of sizes next to it, numbered from 1"
    return rows.with_columns(query_ids), (Note(note_text, len(sizes)),)


def _find_sizes(source: InputFile) -> list[int] | None:
    """The number of rows of each query, from ``NAME.query`` or ``.group`` next to the file.

    Raises:
        InputError: the companion file has other contents, or two companion files differ.
    """
    companions = filter(None, (_find_companion(source, suffix) for suffix in (".query", ".group")))
    sizes = {companion: _read_sizes(companion) for companion in companions}
    if len({*map(tuple, sizes.values())}) > 1:
        names = " and ".join(companion.name for companion in sizes)
        problem = f"{names} next to it have different sizes of queries; keep one of them."
        raise InputError(problem, source=source.label, code="conflicting-sizes")
    return next(iter(sizes.values()), None)


def _read_sizes(companion: Path) -> list[int]:
    number_texts = source_of(companion).everything(1 << 26).split()
    if not all(word.isdigit() and len(word) < len("1000000000") for word in number_texts):
        problem = "a line is not a whole number of rows (the size of a query)."
        raise InputError(problem, source=str(companion), code="not-a-whole-number")
    return [*map(int, number_texts)]


def _find_companion(source: InputFile, suffix: str) -> Path | None:
    """The file with this suffix that belongs to a file of features."""
    if source.path is None:
        return None
    uncompressed_path = source.path.with_suffix("") if source.path.suffix in {".gz", ".zst"} else source.path
    companion = uncompressed_path.with_name(uncompressed_path.name + suffix)
    return companion if companion.is_file() else None


def _texts_in_comments(rows: pl.DataFrame) -> pl.DataFrame | None:
    """The words after the document's id, if all rows of a query have the same words."""
    text = pl.col("comment").str.extract(r"^\S+\s+(.*)$")
    plain_text = pl.when(pl.col("comment").str.contains(_DOCID)).then(None).otherwise(text)
    texts_by_query = rows.group_by("query_id", maintain_order=True).agg(
        plain_text.unique().alias("texts"), plain_text.null_count().alias("without")
    )
    has_one_text = (pl.col("texts").list.len() == 1) & (pl.col("without") == 0)
    if texts_by_query.is_empty() or not texts_by_query.select(has_one_text.all()).item():
        return None
    return texts_by_query.select("query_id", pl.col("texts").list.first().alias("text"))


SVMLIGHT_FORMAT = Format(
    name=_SVMLIGHT_NAME,
    title="features for learning to rank (svmlight, RankLib, LETOR, LightGBM)",
    suffixes=(".svmlight", ".letor", ".libsvm"),
    sniff=sniff_svmlight,
    read=read_svmlight,
    write=write_svmlight,
    holds=("qrels", "queries"),
    loses="raters, scales, queries without judgments, ids with blanks",
    detail=(
        "Lines such as 3 qid:1 1:0.5 2:12.0 # 1370 star trek: grade, query, numbered features, and in the "
        "comment the document and perhaps the text of the query; LETOR's docid = X is known. Features are "
        "carried to the same format and are a loss in any other. Without qid, the sizes of queries are taken "
        "from FILE.query or FILE.group next to it, as LightGBM does; without a document id, the line number "
        "is the id."
    ),
)


_QUEPID_LTR_NAME = "quepid-ltr"
_QUEPID_LINE = r"^\s*(?P<grade>\S+)\s+qid:(?P<query_id>\S+)\s*#\s*(?P<doc_id>\S+)[ \t]*(?P<text>.*?)\s*$"
_HEADER = r"^\s*#\s*qid:(?P<query_id>[^\s:]+):\s*(?P<text>.*?)(?:\*(?P<weight>[\d.]+))?\s*$"
_QUEPID_FIRST_LINE = re.compile(rb"^[ \t]*[-+.\deE]+[ \t]+qid:\S+[ \t]*#", re.MULTILINE)
_FEATURE = re.compile(rb"^[ \t]*\S+[ \t]+qid:\S+[ \t]+\d+:", re.MULTILINE)


def sniff_quepid_ltr(first_bytes: bytes, name: str) -> str | None:
    """A grade and a qid, then at once the comment with the document."""
    if _QUEPID_FIRST_LINE.search(first_bytes) and not _FEATURE.search(first_bytes):
        return "lines of a grade, qid: and a comment with the document, without features"
    return None


def read_quepid_ltr(source: InputFile) -> FileContents:
    """Judgments, and the texts of queries from the comments or a header of ``# qid:1: text``."""
    rows, comments = _read_graded_lines(source, _QUEPID_LINE, "3 qid:1 # 1370 star trek")
    header = pl.DataFrame(comments.str.extract_groups(_HEADER)).unnest("line").drop_nulls("query_id")
    # the text of each query, first from the header; its weight if any weight is not 1
    row_texts = rows.select("query_id", pl.col("text").replace("", None))
    all_texts = pl.concat([header.select("query_id", "text"), row_texts.drop_nulls("text")])
    texts_by_query = all_texts.unique("query_id", keep="first", maintain_order=True)
    weights = header.select("query_id", "weight").filter(pl.col("weight").is_not_null())
    if (weights["weight"] != "1").any():
        texts_by_query = texts_by_query.join(
            weights.unique("query_id", keep="first"), on="query_id", how="left", maintain_order="left"
        )
    return FileContents(
        qrels=_make_qrels(rows, source), queries=texts_by_query if len(texts_by_query) else None
    )


def write_quepid_ltr(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a line for each judgment, with the document and the query's text in the comment.

    Query ids that are not whole numbers are numbered from 1 in the order of the table, and
    are the text of queries without one.

    Raises:
        InputError: there are no judgments, a document's id with blanks.
    """
    table, numbered_ids = _rows_to_write(contents, r"^\d+$")
    line = (format_grade(), pl.lit(" qid:"), "qid", pl.lit(" # "), "doc_id", "text", pl.lit("\n"))
    out.write("".join(table.select(pl.concat_str(line)).to_series()).encode())
    return (
        *find_losses(contents, _QUEPID_LTR_NAME, "qrels", "queries", queries=("text",)),
        *Loss.of("ids of queries; they are numbered and kept as texts", numbered_ids),
    )


QUEPID_LTR_FORMAT = Format(
    name=_QUEPID_LTR_NAME,
    title="judgments as RankLib's lines without features",
    suffixes=(".txt",),
    sniff=sniff_quepid_ltr,
    read=read_quepid_ltr,
    write=write_quepid_ltr,
    holds=("qrels", "queries"),
    loses="raters, scales, queries without judgments, ids that are not numbers",
    detail=(
        "Lines such as 3 qid:1 # 1370 star trek: grade, number of the query, and in the comment the document "
        "and the text of the query, as Quepid exports for learning to rank. A header of lines such as # "
        "qid:1: star trek*1 gives texts and weights."
    ),
)
