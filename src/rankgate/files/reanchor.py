"""The verb ``reanchor``: judgments of old documents for new versions of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.qrels import Qrels
from rankgate.data.read import contents_of, read_qrels
from rankgate.errors import InputError
from rankgate.files.anchors import NEAR, Anchor, anchors, covered
from rankgate.files.convert import convert
from rankgate.files.reanchored import DECISIONS, JUDGMENTS, Reanchored
from rankgate.files.text_overlap import Texts

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike

    Documents = str | Path | pl.DataFrame | Mapping[str, str]


def reanchor(
    qrels: QrelsLike,
    old_documents: Documents,
    new_documents: Documents,
    *,
    judgments: str | Path | None = None,
) -> Reanchored:
    """Carry judgments over to documents that were cut, joined, edited or numbered anew.

    Texts decide, not ids. A new document with the text of an old one has its grade. One that holds
    a relevant document and more has the highest grade that it holds, which is a lower bound. One
    all of whose text was judged irrelevant is irrelevant. Whatever else has part of a relevant
    document is unjudged, as nobody knows which part was relevant; so is what is lost. What is
    unjudged has no grade in the result: ``total_error`` and ``holes`` say what it could change.

    Args:
        qrels: judgments of the old documents.
        old_documents: a file with the texts of the old documents, or texts by id.
        new_documents: a file with the texts of the new documents, or texts by id.
        judgments: the file that the judgments of the new documents are written to.

    Raises:
        InputError: files that cannot be read, or without texts; a document with two texts; no
            judged document has a text.
        UsageError: a file of judgments that cannot be written.
        MissingExtraError: rapidfuzz is not installed.
    """
    read = read_qrels(qrels).by_document()
    old, new = _texts(old_documents, "old documents"), _texts(new_documents, "new documents")
    graded = read.table.filter(pl.col("grade") >= 0)
    if not set(graded["doc_id"]) & set(old.words):
        problem = "no judged document is among the old documents; compare their ids."
        raise InputError(problem, source=read.place.label, code="no-judged-texts")
    found = anchors(old, new, graded["doc_id"].unique().sort().to_list())
    carried, rows = [], []
    for (query,), part in graded.group_by("query_id", maintain_order=True):
        grades = dict(part.select("doc_id", "grade").iter_rows())
        own = _carried(grades, found)
        carried += [(query, doc, grade) for doc, grade in own.items()]
        rows += _decisions(str(query), grades, found, own)
    table = pl.DataFrame(carried, schema=JUDGMENTS, orient="row")
    if judgments is not None and len(table):
        convert(FileContents(qrels=Qrels(table, read.name)), judgments)
    return Reanchored(read.name, pl.DataFrame(rows, schema=DECISIONS, orient="row"), table,
                      len(read.table) - len(graded))  # fmt: skip


def _texts(documents: Documents, name: str) -> Texts:
    """Documents by id; a file's fields are joined in their order."""
    if isinstance(documents, Mapping):
        return Texts.of(documents)
    table = documents if isinstance(documents, pl.DataFrame) else _table(documents)
    source = name if isinstance(documents, pl.DataFrame) else str(documents)
    if table is None or "doc_id" not in table.columns or len(table.columns) < 2:
        problem = "no texts of documents in it: doc_id and a text; see rankgate describe."
        raise InputError(problem, source=source, code="no-texts")
    fields = [each for each in table.columns if each not in ("doc_id", "query_id")]
    joined = pl.concat_str([pl.col(each).cast(pl.String) for each in fields], separator="\n",
                           ignore_nulls=True)  # fmt: skip
    rows = table.select("doc_id", joined.alias("text")).unique(maintain_order=True)
    if len(twice := rows.filter(pl.col("doc_id").is_duplicated())):
        problem = f"document {twice['doc_id'][0]!r} has two texts; keep one of them."
        raise InputError(problem, source=source, code="duplicate-document")
    return Texts.of(dict(rows.iter_rows()))


def _table(path: str | Path) -> pl.DataFrame | None:
    """Documents of a file; lines of an id and a text alone look like queries, and are not here."""
    found = contents_of(path)
    if found.documents is None and found.queries is not None:
        return found.queries.rename({"query_id": "doc_id"})
    return found.documents


def _carried(grades: Mapping[str, float], found: Mapping[str, Anchor]) -> dict[str, float]:
    """The grades of new documents for a query."""
    same: dict[str, list[float]] = defaultdict(list)
    within: dict[str, list[str]] = defaultdict(list)
    for doc, grade in grades.items():
        for name in found[doc].same:
            same[name].append(grade)
        for name in found[doc].parts:
            within[name].append(doc)
    kept = {name: max(values) for name, values in same.items()}
    for name in within.keys() - kept.keys():
        known = _of_parts(name, within[name], grades, found)
        if known is not None:
            kept[name] = known
    return dict(sorted(kept.items()))


def _of_parts(
    name: str, docs: list[str], grades: Mapping[str, float], found: Mapping[str, Anchor]
) -> float | None:
    """The grade of a new document that has text of some judged ones; None where it is unknown."""
    whole = max((grades[doc] for doc in docs if name in found[doc].holders), default=0.0)
    partly = max((grades[doc] for doc in docs if name not in found[doc].holders), default=0.0)
    if whole > 0 and partly <= whole:
        return whole
    if max(whole, partly) > 0:
        return None
    known = covered([found[doc].parts[name].second for doc in docs])
    return 0.0 if known >= NEAR else None


def _decisions(
    query: str,
    grades: Mapping[str, float],
    found: Mapping[str, Anchor],
    carried: Mapping[str, float],
) -> list[tuple[object, ...]]:
    """What became of each judgment of a query: a row for each new document, or one without."""
    rows: list[tuple[object, ...]] = []
    for doc, grade in grades.items():
        anchor = found[doc]
        names = [*anchor.same, *anchor.parts]
        for name in names:
            part = anchor.parts.get(name)
            rows.append((
                query, doc, grade, anchor.status, name, carried.get(name),
                1.0 if part is None else part.of_first, 1.0 if part is None else part.of_second,
                "" if name in carried else _unjudged(part is not None and grade > 0),
            ))  # fmt: skip
        if not names:
            rows.append((query, doc, grade, anchor.status, None, None, None, None, anchor.why))
    return rows


def _unjudged(relevant: bool) -> str:  # noqa: FBT001 - of one caller
    if relevant:
        return "it has part of a relevant document"
    return "other text of it was not judged, or is of a relevant document"
