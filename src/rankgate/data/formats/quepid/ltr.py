"""Judgments in the file form of RankLib, without features: ``3 qid:1 # 1370 star trek``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.letor.graded_lines import read_graded_lines
from rankgate.data.formats.writing import column_losses, find_losses, texts_by_query
from rankgate.data.place import RowLocation
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.text.sheet import format_grade

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-ltr"
_LINE = r"^\s*(?P<grade>\S+)\s+qid:(?P<query_id>\S+)\s*#\s*(?P<doc_id>\S+)[ \t]*(?P<text>.*?)\s*$"
_HEADER = r"^\s*#\s*qid:(?P<query_id>[^\s:]+):\s*(?P<text>.*?)(?:\*(?P<weight>[\d.]+))?\s*$"
_FIRST_LINE = re.compile(rb"^[ \t]*[-+.\deE]+[ \t]+qid:\S+[ \t]*#", re.MULTILINE)
_FEATURE = re.compile(rb"^[ \t]*\S+[ \t]+qid:\S+[ \t]+\d+:", re.MULTILINE)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A grade and a qid, then at once the comment with the document."""
    if _FIRST_LINE.search(first_bytes) and not _FEATURE.search(first_bytes):
        return "lines of a grade, qid: and a comment with the document, without features"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, and the texts of queries from the comments or a header of ``# qid:1: text``."""
    graded = read_graded_lines(source, _LINE, "3 qid:1 # 1370 star trek")
    location = RowLocation(source.label, lambda row: int(graded.at[row]))
    qrels = Qrels(graded.rows.select(*SCHEMA), source.stem, place=location)
    header = pl.DataFrame(graded.comments.str.extract_groups(_HEADER)).unnest("line")
    return FileContents(
        qrels=qrels, queries=_query_texts(graded.rows, header.drop_nulls("query_id"))
    )


def _query_texts(rows: pl.DataFrame, header: pl.DataFrame) -> pl.DataFrame | None:
    """The text of each query, the header's first; its weight if any is not 1."""
    row_texts = rows.select("query_id", pl.col("text").replace("", None))
    all_texts = pl.concat([header.select("query_id", "text"), row_texts.drop_nulls("text")])
    texts_by_query = all_texts.unique("query_id", keep="first", maintain_order=True)
    weights = header.select("query_id", "weight").filter(pl.col("weight").is_not_null())
    if (weights["weight"] != "1").any():
        texts_by_query = texts_by_query.join(weights.unique("query_id"), on="query_id", how="left")
    return texts_by_query if len(texts_by_query) else None


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a line for each judgment, with the document and the query's text in the comment.

    Query ids that are no whole numbers are numbered from 1 in the order of the table, and are
    the text if there is none.

    Raises:
        InputError: there are no judgments, a document's id with blanks.
    """
    qrels = contents.judgments("")
    table, text_of_query = qrels.table, texts_by_query(contents)
    queries = table["query_id"].unique(maintain_order=True)
    has_numeric_ids = bool(queries.str.contains(r"^\d+$").all())
    invalid_ids = table.filter(pl.col("doc_id").str.contains(r"\s"))
    if len(invalid_ids):
        problem = (
            f"document '{invalid_ids['doc_id'][0]}' has a blank in its id, which ends it here."
        )
        raise InputError(problem, code="invalid-id")
    names = queries.to_list()
    numbers = names if has_numeric_ids else [str(i) for i in range(1, len(names) + 1)]
    comment_texts = [
        text_of_query.get(query_id, "" if has_numeric_ids else query_id).replace("\n", " ")
        for query_id in names
    ]
    keys = pl.DataFrame(
        {"query_id": names, "qid": numbers, "text": comment_texts},
        schema_overrides={"text": pl.String},
    )
    lines = table.join(keys, on="query_id", how="left", maintain_order="left").with_columns(
        format_grade()
    )
    text_suffix = pl.when(pl.col("text") == "").then(pl.lit("")).otherwise(" " + pl.col("text"))
    line_texts = lines.select(
        pl.concat_str("grade", pl.lit(" qid:"), "qid", pl.lit(" # "), "doc_id", text_suffix)
    )
    out.write("".join(f"{line}\n" for line in line_texts.to_series()).encode())
    query_losses = column_losses("queries", contents.queries, ("query_id", "text"))
    id_losses = Loss.of(
        "ids of queries, which are numbered and kept as texts", [] if has_numeric_ids else names
    )
    return (*find_losses(contents, _NAME, "qrels", "queries"), *query_losses, *id_losses)


FORMAT = Format(
    name=_NAME,
    title="judgments as RankLib's lines without features",
    suffixes=(".txt",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels", "queries"),
    loses="raters, scales, queries without judgments, ids that are no numbers",
    detail=(
        "Lines such as 3 qid:1 # 1370 star trek: grade, number of the query, and in the comment "
        "the document and the text of the query, as Quepid exports for learning to rank. A header "
        "of lines such as # qid:1: star trek*1 gives texts and weights."
    ),
)
