"""UMBRELA judgments: one JSON object per line with query, passage and model judgment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingRatings
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import known, lost, lost_columns, own, texts
from rankgate.data.notes import Note
from rankgate.data.qrels import Scale
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_reader import a_text
from rankgate.data.text.json_text import dumped, identifier, objects, whole
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "umbrela"
_NEEDED = ("query", "passage", "judgment")
_GRADES = (0, 1, 2, 3)
_FAILED = "the answer could not be read (result_status 0)"
_IDS = {"query": ("qid", "text"), "passage": ("docid", "segment")}
_MADE = ("prompt", "prediction")  # what the model was asked and said


def sniff(head: bytes, name: str) -> str | None:
    """The first line is an object with query, passage and judgment."""
    line = head.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    if line.startswith(b"{") and set(_NEEDED) <= keys(line):
        return "the first line is an object with query, passage and judgment"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings of the model, and judgments where no pair has several grades.

    ``result_status`` 0 says that the answer could not be parsed and that the 0 in ``judgment``
    was put in its place: it is not a grade. Texts are ids where ``qid`` and ``docid`` are missing.
    """
    found = GrowingRatings(source.label)
    queries: dict[str, str | None] = {}
    documents: dict[str, str | None] = {}
    made: list[dict[str, str | None]] = []
    failed: list[str] = []
    for line, value in objects(source):
        where = f"line {line}"
        query, text = _named(value, "query", source, line)
        document, passage = _named(value, "passage", source, line)
        model = a_text(value, "model", where, source.label) or _NAME
        lacks = not _succeeded(value, source, line) or value.get("judgment") is None
        grade, reason = (None, _FAILED) if lacks else (value["judgment"], None)
        comment = a_text(value, "reasoning", where, source.label)
        at = f"the judgment of {where}"
        found.add((query, document), model, grade, at, reason=reason, comment=comment)
        failed += [f"line {line}"] if lacks else []
        queries.setdefault(query, text)
        documents.setdefault(document, passage)
        values = {name: a_text(value, name, where, source.label) for name in _MADE}
        made.append({"query_id": query, "doc_id": document, "rater": model, **values})
    scale = Scale(float(min(_GRADES)), float(max(_GRADES)))
    ratings = found.ratings(source.stem, scale)
    if ratings is None:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    return FileContents(
        qrels=found.qrels(source.stem, scale),
        ratings=ratings,
        queries=_table("query_id", queries),
        documents=_table("doc_id", documents),
        extra={_NAME: {"answers": made}},
        notes=Note.of("answers that could not be read, left unrated and not 0", failed),
    )


def _succeeded(value: dict[str, Any], source: InputFile, line: int) -> bool:
    """Whether the answer could be parsed; the status may have become a string on its way."""
    status = value.get("result_status", 1)
    known = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
    found = known.get(str(status).strip().lower())
    if found is None:
        shown = "null" if status is None else repr(status)[:40]
        problem = (
            f"result_status {shown} is neither 0 (the answer could not be read, so there is no "
            "judgment) nor 1; write 0 or 1."
        )
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return found


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """An object a rating; one without a grade has status 0. Judgments are of the model rankgate."""
    content = contents.ratings
    rows = (
        content.table
        if content
        else contents.judgments("").table.with_columns(
            rater=pl.lit("rankgate"), comment=pl.lit(None, pl.String)
        )
    )
    odd = rows.filter(~pl.col("grade").is_in([float(grade) for grade in _GRADES]))
    if len(odd):
        problem = f"grade {odd['grade'][0]:g}, where UMBRELA has 0, 1, 2 and 3; scale the grades."
        raise InputError(problem, code="grade-outside-scale")
    text, fields = texts(contents), known(contents.documents, "doc_id")
    answers = own(contents, _NAME).get("answers") or []
    made = {(each["query_id"], each["doc_id"], each["rater"]): each for each in answers}
    for row in rows.select("query_id", "doc_id", "rater", "grade", "comment").iter_rows(named=True):
        query, document = row["query_id"], row["doc_id"]
        passage = fields.get(document, {}).get("text", document)
        said = made.get((query, document, row["rater"]), {})
        value = {"model": row["rater"], "query": text.get(query, query), "passage": passage}
        value |= {"qid": query} if value["query"] != query else {}
        value |= {"docid": document} if passage != document else {}
        value |= {name: said.get(name) for name in _MADE}
        graded = row["grade"] is not None
        value |= {"judgment": whole(row["grade"]) if graded else 0, "result_status": int(graded)}
        value |= {} if row["comment"] is None else {"reasoning": row["comment"]}
        out.write(dumped(value).encode() + b"\n")
    return _losses(contents)


def _losses(contents: FileContents) -> tuple[Loss, ...]:
    kept = ("ratings",) if contents.ratings else ("qrels",)
    both = ("queries", "documents", *kept, *(("qrels", "scale") if contents.ratings else ()))
    found = list(lost(contents, _NAME, *both))
    found += lost_columns("queries", contents.queries, ("query_id", "text"))
    found += lost_columns("documents", contents.documents, ("query_id", "doc_id", "text"))
    if contents.ratings:
        table = contents.ratings.table
        names = [name for name in ("at", "seconds", "guideline") if table[name].count()]
        found += Loss.of("fields of ratings", names)
        reasons = table.filter(pl.col("reason").is_not_null() & (pl.col("reason") != _FAILED))
        found += Loss.of("reasons why there is no grade", reasons["reason"].to_list())
    return tuple(found)


def _named(row: dict[str, Any], what: str, source: InputFile, line: int) -> tuple[str, str | None]:
    """The id of a query or passage, and its text; the text is the id where there is no other."""
    id_, key = _IDS[what]
    value: Any = row.get(what)
    given = row.get(id_)
    if isinstance(value, dict):
        value, given = value.get(key), value.get(id_, given)
    if not isinstance(value, str) or not value:
        problem = f"no text of the {what}; each line needs one."
        raise InputError(problem, source=source.label, line=line, code="missing-text")
    if given is None:
        return value, None
    return identifier(given, f"the id of the {what}", source.label, line), value


def _table(id_: str, found: dict[str, str | None]) -> pl.DataFrame | None:
    """Ids with their texts; None where the texts are the ids."""
    rows = [(name, text) for name, text in found.items() if text is not None]
    schema = {id_: pl.String, "text": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row") if rows else None


FORMAT = Format(
    name=_NAME,
    title="UMBRELA's judgments",
    suffixes=(".jsonl",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels", "ratings", "queries", "documents"),
    loses="runs; times, guidelines, grades other than 0 to 3",
    detail=(
        "An object a line with model, query, passage, judgment and result_status. A result_status "
        "of 0 says that the model's answer could not be parsed and that the judgment 0 is in "
        "for it: it is read as no grade, with that reason. The texts are the ids, unless qid and "
        "docid are there too. The model is the rater; prompt and prediction come back."
    ),
)
