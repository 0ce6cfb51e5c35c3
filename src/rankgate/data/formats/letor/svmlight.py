"""Features for learning to rank, as svmlight, RankLib, LETOR and LightGBM have them.

``3 qid:1 1:0.5 2:12.0 # 1370 star trek``: grade, query, features, and in a comment the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.letor.graded_lines import graded_lines
from rankgate.data.formats.writing import lost, lost_columns, own, texts
from rankgate.data.notes import Note
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.streams.source import source as source_of
from rankgate.data.text.sheet import grade
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rankgate.data.streams.source import InputFile

_NAME = "svmlight"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = (
    r"^\s*(?P<grade>[^\s:#]+)(?:\s+qid:(?P<query_id>[^\s#]+))?"
    rf"(?P<features>(?:\s+\d+:{_NUMBER})*)\s*(?:#\s*(?P<comment>.*?))?\s*$"
)
_SNIFFED = re.compile(
    rf"\s*+{_NUMBER}(?:[ \t]++qid:[^\s#]++)?"
    rf"(?:[ \t]++\d++:{_NUMBER})++[ \t]*+(?:#|\r?\n|$)".encode()
)
_NAMED = r"(?i)^docid\s*=\s*(\S+)"  # LETOR: docid = GX008-86-4444840 inc = 1 prob = 0.086622


def sniff(head: bytes, name: str) -> str | None:
    """The first line is a number, perhaps a qid, and features such as 1:0.5."""
    for line in head.removeprefix(BOM).splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith(b"#"):
            fits = _SNIFFED.match(line)
            return "the first line is a grade with numbered features" if fits else None
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; features and comments are kept next to them for this format.

    Without qid, ``NAME.query`` next to the file says how many lines each query has, as LightGBM
    has it. A document without an id in its comment has the number of its line.
    """
    rows, at, notes = _rows(source)
    numbered = rows["given"].null_count()
    if numbered:
        words = "rows without a document's id, which have the numbers of their lines"
        shown = tuple(rows.filter(pl.col("given").is_null())["doc_id"].head(3).to_list())
        notes = (*notes, Note(words, numbered, shown))
    place = Place(source.label, _line_of(at))
    qrels = Qrels(rows.select(list(SCHEMA)), source.stem, place=place)
    kept = rows.select(
        "query_id", "doc_id", pl.col("features").str.strip_chars(), pl.col("comment")
    )
    extra = {_NAME: {"features": kept}}
    return FileContents(qrels=qrels, queries=_queries(rows), extra=extra, notes=notes)


def read_qrels(source: InputFile) -> Qrels:
    """The judgments alone, without the features, which are nearly all of a file."""
    rows, at, _ = _rows(source, ("features",))
    place = Place(source.label, _line_of(at))
    return Qrels(rows.select(list(SCHEMA)), source.stem, place=place)


def _rows(
    source: InputFile, without: Sequence[str] = ()
) -> tuple[pl.DataFrame, NDArray[np.int64], tuple[Note, ...]]:
    """The rows with the ids of queries and documents, their lines, and what was seen."""
    _refuse_weights(source)
    found = graded_lines(source, _LINE, "3 qid:1 1:0.5 2:12 # 1370", without)
    rows = found.rows.with_columns(*_document(found.at))
    rows, notes = _with_queries(rows, found.at, source)
    return rows, found.at, notes


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A line a judgment, with its features and comment where they came from this format.

    Query ids with blanks are numbered from 1, which is reported.

    Raises:
        InputError: there are no judgments, or a document's id has blanks.
    """
    qrels = contents.judgments("")
    broken = qrels.table.filter(pl.col("doc_id").str.contains(r"\s"))
    if len(broken):
        problem = f"document '{broken['doc_id'][0]}' has a blank in its id, which ends it here."
        raise InputError(problem, code="invalid-id")
    ids = qrels.table["query_id"].unique(maintain_order=True)
    whole = not ids.str.contains(r"[\s#]").any()
    qids = ids if whole else pl.Series([str(i) for i in range(1, len(ids) + 1)], dtype=pl.String)
    keys = pl.DataFrame([ids, qids.alias("qid"), _shown(ids, texts(contents), whole=whole)])
    table = qrels.table.join(keys, on="query_id", how="left", maintain_order="left")
    pair = ["query_id", "doc_id"]
    kept = own(contents, _NAME).get("features")
    if isinstance(kept, pl.DataFrame):
        table = table.join(kept, on=pair, how="left", maintain_order="left")
    else:
        nothing = pl.lit(None, pl.String)
        table = table.with_columns(nothing.alias("features"), nothing.alias("comment"))
    features = (
        pl.when(pl.col("features").fill_null("") == "")
        .then(pl.lit(""))
        .otherwise(pl.lit(" ") + pl.col("features"))
    )
    comment = pl.coalesce("comment", pl.col("doc_id") + pl.col("text"))
    line = pl.concat_str(
        grade(), pl.lit(" qid:"), "qid", features, pl.lit(" # "), comment, pl.lit("\n")
    )
    out.writelines(written.encode() for written in table.select(line).to_series())
    words = "ids of queries, which have blanks and are numbered"
    return (
        *lost(contents, _NAME, "qrels", "queries"),
        *lost_columns("queries", contents.queries, ("query_id", "text")),
        *Loss.of(words, [] if whole else ids.to_list()),
    )


def _document(at: NDArray[np.int64]) -> list[pl.Expr]:
    """The document's id from the comment, or the number of the line."""
    comment = pl.col("comment").replace("", None)
    given = pl.coalesce(comment.str.extract(_NAMED), comment.str.extract(r"^(\S+)"))
    return [
        comment,
        given.alias("given"),
        pl.coalesce(given, pl.Series("line", at).cast(pl.String)).alias("doc_id"),
    ]


def _with_queries(
    rows: pl.DataFrame, at: NDArray[np.int64], source: InputFile
) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """The rows with the ids of their queries, from qid or from the companion file."""
    missing = rows["query_id"].is_null()
    if not missing.any():
        return rows, ()
    sizes = _sizes(source) if missing.all() else None
    if sizes is None:
        problem = "no qid:, and no file of the queries' sizes next to it; add qid:1 and so on."
        where = int(at[int(missing.arg_max() or 0)])
        raise InputError(problem, source=source.label, line=where, code="wrong-shape")
    if int(sizes.sum()) != len(rows):
        problem = f"{len(rows)} rows, and the file of sizes next to it adds up to {sizes.sum()}."
        raise InputError(problem, source=source.label, code="wrong-shape")
    names = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    words = "queries from the file of sizes next to it, numbered from 1"
    ids = pl.Series("query_id", names).cast(pl.String)
    return rows.with_columns(ids), (Note(words, len(sizes)),)


def _sizes(source: InputFile) -> NDArray[np.int64] | None:
    """The number of rows of each query, from ``NAME.query`` or ``.group`` next to the file.

    Raises:
        InputError: a companion that holds something else; two of them that differ.
    """
    sizes = {
        companion: _read_sizes(companion)
        for suffix in (".query", ".group")
        if (companion := _companion(source, suffix))
    }
    if len({tuple(values) for values in sizes.values()}) > 1:
        names = " and ".join(companion.name for companion in sizes)
        problem = f"{names} next to it have different sizes of queries; keep one of them."
        raise InputError(problem, source=source.label, code="conflicting-sizes")
    return next(iter(sizes.values()), None)


def _read_sizes(companion: Path) -> NDArray[np.int64]:
    words = source_of(companion).everything(1 << 26).split()
    if not all(word.isdigit() and len(word) < len("1000000000") for word in words):
        problem = "no whole number of rows a line, as sizes of queries are."
        raise InputError(problem, source=str(companion), code="not-a-whole-number")
    return np.array([int(word) for word in words], np.int64)


def _companion(source: InputFile, suffix: str) -> Path | None:
    """The file of this name and suffix next to a file of features."""
    if source.path is None:
        return None
    plain = source.path.with_suffix("") if source.path.suffix in {".gz", ".zst"} else source.path
    companion = plain.with_name(plain.name + suffix)
    return companion if companion.is_file() else None


def _refuse_weights(source: InputFile) -> None:
    if companion := _companion(source, ".weight"):
        problem = (
            f"{companion.name} next to it gives rows weights, which metrics of rankings do not "
            "have; move it to another folder."
        )
        raise InputError(problem, source=source.label, code="unused-weights")


def _queries(rows: pl.DataFrame) -> pl.DataFrame | None:
    """The words behind the document's id, where they are the same in all rows of a query."""
    text = pl.col("comment").str.extract(r"^\S+\s+(.*)$")
    plain = pl.when(pl.col("comment").str.contains(_NAMED)).then(None).otherwise(text)
    found = rows.group_by("query_id", maintain_order=True).agg(
        plain.unique().alias("texts"), plain.null_count().alias("without")
    )
    if not len(found) or (found["texts"].list.len() != 1).any() or found["without"].sum():
        return None
    return found.select("query_id", pl.col("texts").list.first().alias("text"))


def _shown(ids: pl.Series, known: dict[str, str], *, whole: bool) -> pl.Series:
    """The text of each query as it is in the comment; an id that is numbered, if no text."""
    found = [known.get(each, "" if whole else each) for each in ids.to_list()]
    return pl.Series("text", [f" {' '.join(text.split())}" if text else "" for text in found])


def _line_of(at: NDArray[np.int64]) -> Callable[[int], int]:
    return partial(_at, at)


def _at(at: NDArray[np.int64], row: int) -> int:
    return int(at[row])


FORMAT = Format(
    name=_NAME,
    title="features for learning to rank (svmlight, RankLib, LETOR, LightGBM)",
    suffixes=(".svmlight", ".letor", ".libsvm"),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    holds=("qrels", "queries"),
    loses="raters, scales, queries without judgments, ids with blanks",
    detail=(
        "Lines such as 3 qid:1 1:0.5 2:12.0 # 1370 star trek: grade, query, numbered features, "
        "and in the comment the document and perhaps the text of the query; LETOR's docid = X is "
        "known. Features are carried to the same format and are a loss in any other. Without "
        "qid, the sizes of queries are taken from FILE.query or FILE.group next to it, as LightGBM "
        "has them; without a document's id, the number of the line is one."
    ),
)
