"""Judgments in the file form of RankLib, without features: ``3 qid:1 # 1370 star trek``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.letor.graded_lines import graded_lines
from rankgate.data.formats.writing import lost, lost_columns, texts
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.text.sheet import grade

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-ltr"
_LINE = r"^\s*(?P<grade>\S+)\s+qid:(?P<query_id>\S+)\s*#\s*(?P<doc_id>\S+)[ \t]*(?P<text>.*?)\s*$"
_HEADER = r"^\s*#\s*qid:(?P<query_id>[^\s:]+):\s*(?P<text>.*?)(?:\*(?P<weight>[\d.]+))?\s*$"
_SNIFFED = re.compile(rb"^[ \t]*[-+.\deE]+[ \t]+qid:\S+[ \t]*#", re.MULTILINE)
_FEATURE = re.compile(rb"^[ \t]*\S+[ \t]+qid:\S+[ \t]+\d+:", re.MULTILINE)


def sniff(head: bytes, name: str) -> str | None:
    """A grade and a qid, then at once the comment with the document."""
    if _SNIFFED.search(head) and not _FEATURE.search(head):
        return "lines of a grade, qid: and a comment with the document, without features"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, and the texts of queries from the comments or a header of ``# qid:1: text``."""
    found = graded_lines(source, _LINE, "3 qid:1 # 1370 star trek")
    place = Place(source.label, lambda row: int(found.at[row]))
    qrels = Qrels(found.rows.select(*SCHEMA), source.stem, place=place)
    header = pl.DataFrame(found.comments.str.extract_groups(_HEADER)).unnest("line")
    return FileContents(qrels=qrels, queries=_queries(found.rows, header.drop_nulls("query_id")))


def _queries(rows: pl.DataFrame, header: pl.DataFrame) -> pl.DataFrame | None:
    """The text of each query, the header's first; its weight where one is not 1."""
    plain = rows.select("query_id", pl.col("text").replace("", None))
    every = pl.concat([header.select("query_id", "text"), plain.drop_nulls("text")])
    found = every.unique("query_id", keep="first", maintain_order=True)
    weights = header.select("query_id", "weight").filter(pl.col("weight").is_not_null())
    if (weights["weight"] != "1").any():
        found = found.join(weights.unique("query_id"), on="query_id", how="left")
    return found if len(found) else None


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """One line a judgment, with the document and the query's text in the comment.

    Query ids that are no whole numbers are numbered from 1 in the order of the table, and are
    the text if there is none.

    Raises:
        InputError: there are no judgments, a document's id with blanks.
    """
    qrels = contents.judgments("")
    table, known = qrels.table, texts(contents)
    queries = table["query_id"].unique(maintain_order=True)
    whole = bool(queries.str.contains(r"^\d+$").all())
    broken = table.filter(pl.col("doc_id").str.contains(r"\s"))
    if len(broken):
        problem = f"document '{broken['doc_id'][0]}' has a blank in its id, which ends it here."
        raise InputError(problem, code="invalid-id")
    names = queries.to_list()
    numbers = names if whole else [str(i) for i in range(1, len(names) + 1)]
    shown = [known.get(each, "" if whole else each).replace("\n", " ") for each in names]
    keys = pl.DataFrame(
        {"query_id": names, "qid": numbers, "text": shown}, schema_overrides={"text": pl.String}
    )
    lines = table.join(keys, on="query_id", how="left", maintain_order="left").with_columns(grade())
    end = pl.when(pl.col("text") == "").then(pl.lit("")).otherwise(" " + pl.col("text"))
    written = lines.select(
        pl.concat_str("grade", pl.lit(" qid:"), "qid", pl.lit(" # "), "doc_id", end)
    )
    out.write("".join(f"{line}\n" for line in written.to_series()).encode())
    kept = lost_columns("queries", contents.queries, ("query_id", "text"))
    new = Loss.of("ids of queries, which are numbered and kept as texts", [] if whole else names)
    return (*lost(contents, _NAME, "qrels", "queries"), *kept, *new)


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
