"""The verb ``reanchor``: apply judgments of old documents to new versions of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.data.file_contents import FileContents
from rankgate.data.files.conversion import convert
from rankgate.data.files.document_anchors import (
    NEAR_SHARE,
    NO_TEXT,
    STATUSES,
    Anchor,
    Texts,
    covered_share,
    find_anchors,
)
from rankgate.data.qrels import Qrels
from rankgate.data.read import contents_of, read_qrels

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike

    Documents = str | Path | pl.DataFrame | Mapping[str, str]


DECISIONS = Columns(
    "One row per judgment and new document that shares text with its document.",
    QUERY_ID,
    Column("old_doc", pl.String, "the id of the judged document"),
    Column("grade", pl.Float64, "its grade", "grade"),
    Column(
        "status", pl.String, "what became of the judgment: valid, moved, split, merged, ambiguous or lost"
    ),
    Column("new_doc", pl.String, "the id of the new document; null where none shares text with the old one"),
    Column("new_grade", pl.Float64, "the grade that the new document has now; null: unjudged", "grade"),
    Column(
        "share_of_old", pl.Float64, "the share of the old document's words that are in the new one", ".0%"
    ),
    Column(
        "share_of_new", pl.Float64, "the share of the new document's words that are in the old one", ".0%"
    ),
    Column(
        "reached",
        pl.Boolean,
        "true if the new grade reflects this judgment; false if it is that of other judgments alone",
    ),
    Column("why", pl.String, "why the new document is unjudged"),
)
JUDGMENTS = Columns(
    "One row per judgment of a new document.",
    QUERY_ID,
    DOC_ID,
    Column("grade", pl.Float64, "its grade", "grade"),
)


MIN_COMPARABLE_SHARE = 0.9
"""The share of relevant judgments below which the new judgments measure something else."""


@dataclass(frozen=True)
class Reanchored(Result):
    """The outcome of each judgment, and the judgments of the new documents.

    Attributes:
        name: of the judgments.
        decisions: the columns of `DECISIONS`.
        judgments: the columns of `JUDGMENTS`.
        negative: judgments with a negative grade, which are left out: they mean unjudged.
    """

    kind = "reanchored"
    label = "Judgments of new documents"
    order = 92
    SCHEMAS: ClassVar = {"decisions": DECISIONS, "judgments": JUDGMENTS}
    layout = (
        View("outcomes", "what became of judged documents"),
        View(
            "unjudged",
            "unjudged now, the highest grades first",
            ("query_id", "old_doc", "grade", "status"),
            DECISIONS,
            {"old_doc": "document"},
            keys=2,
            first=20,
        ),
        NOTICES,
        Sentence(
            "The new judgments are {judgments:n grade}. They do not contain unjudged documents. Every "
            "decision is in the CSV and JSON of this result."
        ),
    )
    notice_texts = (
        NoticeText(
            "relevant-unjudged",
            "{unjudged_now[documents]:n relevant document} of {unjudged_now[queries]:n query} unjudged now: "
            "eval and compare count unjudged documents as irrelevant; rankgate total-error gives a wider "
            "interval that includes this uncertainty, rankgate eval --bounds the least and greatest "
            "values{consequence}",
            "unjudged_now[documents]",
        ),
        NoticeText(
            "missing-texts",
            "{textless:n judged document} without a text in the old documents: lost",
            "textless",
        ),
        NoticeText("negative-grades", "{negative:n negative grade} left out: unjudged", "negative"),
    )
    headline_text = (
        Sentence("no judgment is relevant", lambda result: not result.relevant[0]),
        Sentence(
            "{relevant[1]:,} of {relevant[0]:n relevant judgment} ({relevant_share:.1%}) reached a new "
            "document",
            "relevant[0]",
        ),
        "; {totals[1]:,} of {totals[0]:n judgment} in all",
        Sentence(" reached a new document", lambda result: not result.relevant[0]),
    )

    name: str
    decisions: pl.DataFrame
    judgments: pl.DataFrame
    negative: int = 0

    @property
    def labels(self) -> pl.DataFrame:
        """One row for each judgment: ``kept`` where its grade reached a new document."""
        return self.decisions.group_by("query_id", "old_doc", maintain_order=True).agg(
            pl.col("grade", "status").first(), kept=pl.col("reached").any()
        )

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Judgments by status, and the number of them that are kept."""
        rows = self.labels.group_by("status").agg(pl.len(), pl.col("kept").sum()).iter_rows()
        counts_by_status = {status: (count, kept_count) for status, count, kept_count in rows}
        return {status: counts_by_status.get(status, (0, 0)) for status in STATUSES}

    @property
    def totals(self) -> tuple[int, ...]:
        """The number of judgments, and of those that reached a new document."""
        return tuple(map(sum, zip(*self.counts.values(), strict=True)))

    @property
    def relevant_share(self) -> float:
        """The share of relevant judgments that reached a new document."""
        return self.relevant[1] / self.relevant[0]

    @property
    def outcomes(self) -> pl.DataFrame:
        """The counts with the meaning of each status."""
        counts = self.counts
        rows = [(status, *counts[status], meaning) for status, meaning in STATUSES.items()]
        return pl.DataFrame(rows, ["status", "judgments", "kept", "meaning"], orient="row")

    @property
    def unjudged(self) -> pl.DataFrame:
        """The judgments that did not reach a new document, the highest grades first."""
        return self.labels.filter(~pl.col("kept")).sort("grade", descending=True, maintain_order=True)

    @property
    def relevant(self) -> tuple[int, int]:
        """The number of relevant judgments, and of those that reached a new document."""
        relevant = self.labels.filter(pl.col("grade") > 0)
        return len(relevant), int(relevant["kept"].sum())

    @property
    def unjudged_now(self) -> Mapping[str, int]:
        """The number of relevant documents that are unjudged now, and of their queries."""
        labels = self.labels.filter(pl.col("grade") > 0, ~pl.col("kept"))
        return {"documents": len(labels), "queries": labels["query_id"].n_unique()}

    @property
    def consequence(self) -> str:
        """What follows for values where few relevant documents are judged now."""
        relevant, reached = self.relevant
        if reached >= MIN_COMPARABLE_SHARE * relevant:
            return ""
        return (
            "; values by the new judgments are not comparable with those by the old ones: judge the new "
            "documents, or give pieces the grades of the documents they were cut from (--pieces inherit)"
        )

    @property
    def textless(self) -> int:
        """The number of judged documents without a text in the old documents."""
        return self.decisions.filter(pl.col("why") == NO_TEXT)["old_doc"].n_unique()


_WORD_PATTERN = r"\p{L}{2}[^\s\p{L}]*\s[^\s\p{L}]*\p{L}{2}|[^\x00-\u{24F}\s\p{P}]"
"""Two words in a row, or a letter outside Latin, in a script that may have no spaces."""


def reanchor(
    qrels: QrelsLike,
    old_documents: Documents,
    new_documents: Documents,
    *,
    pieces: Literal["unjudged", "inherit"] = "unjudged",
    judgments: str | Path | None = None,
) -> Reanchored:
    """Carry judgments over to documents that were cut, joined, edited or renumbered.

    Texts decide, not ids: normalised ones, whatever their form of Unicode, case and punctuation. A
    new document with the text of an old one has its grade. One that holds a relevant document and
    more has the highest grade that it holds, which is a lower bound. A document is irrelevant if
    all of its text was judged irrelevant. Any other document with part of a relevant document is
    unjudged, because the relevant part is unknown; lost parts are also unjudged. Unjudged documents
    have no grade in
    the result: ``total_error`` and ``holes`` say what it could change.

    Args:
        qrels: judgments of the old documents.
        old_documents: a file with the texts of the old documents, or texts by id.
        new_documents: a file with the texts of the new documents, or texts by id.
        pieces: the grade of pieces of a relevant document, if documents were cut finer or coarser.
            unjudged: none. inherit: a new document that consists of relevant ones up to half, or
            contains half of one, gets the highest of their grades, which is an upper bound.
        judgments: the file that the judgments of the new documents are written to.

    Raises:
        InputError: files that cannot be read, or without texts; a document with two texts; no
            judged document has a text.
        UsageError: a file of judgments that cannot be written.
    """
    read = read_qrels(qrels).by_document()
    old, new = (_read_texts(old_documents, "old documents"), _read_texts(new_documents, "new documents"))
    graded = read.table.filter(pl.col("grade") >= 0)
    if not set(graded["doc_id"]) & set(old.words):
        problem = "no judged document is among the old documents; compare their ids."
        raise InputError(problem, source=read.place.label, code="no-judged-texts")
    anchor_of_doc = find_anchors(old, new, graded["doc_id"].unique().sort().to_list())
    inherit = pieces == "inherit"
    graded_rows: list[tuple[object, ...]] = []
    decisions: list[tuple[object, ...]] = []
    for (query,), judged in graded.group_by("query_id", maintain_order=True):
        grades = dict(judged.select("doc_id", "grade").iter_rows())
        new_grades = _grade_new_documents(grades, anchor_of_doc, inherit=inherit)
        graded_rows += [(query, doc, grade) for doc, grade in new_grades.items()]
        decisions += _list_decisions(str(query), grades, anchor_of_doc, new_grades, inherit=inherit)
    table = pl.DataFrame(graded_rows, schema=JUDGMENTS, orient="row")
    if judgments is not None and len(table):
        convert(FileContents(qrels=Qrels(table, read.name)), judgments)
    return Reanchored(
        read.name,
        pl.DataFrame(decisions, schema=DECISIONS, orient="row"),
        table,
        len(read.table) - len(graded),
    )


def _read_texts(documents: Documents, name: str) -> Texts:
    """Documents by id; the fields of a file are joined in order."""
    if isinstance(documents, Mapping):
        return Texts.from_texts(documents)
    table = documents if isinstance(documents, pl.DataFrame) else _read_documents(documents)
    source = name if isinstance(documents, pl.DataFrame) else str(documents)
    if table is None or "doc_id" not in table.columns or len(table.columns) < 2:
        problem = "no texts of documents in it: doc_id and a text; see rankgate describe."
        raise InputError(problem, source=source, code="no-texts")
    joined = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in _text_fields(table)], separator="\n", ignore_nulls=True
    )
    rows = table.select("doc_id", joined.alias("text")).unique(maintain_order=True)
    if len(repeated := rows.filter(pl.col("doc_id").is_duplicated())):
        problem = f"document {repeated['doc_id'][0]!r} has two texts; keep one of them."
        raise InputError(problem, source=source, code="duplicate-document")
    return Texts.from_texts(dict(rows.iter_rows()))


def _text_fields(table: pl.DataFrame) -> list[str]:
    """The fields with text: some value has two words in a row, or letters of another script.

    URLs, paths, numbers and dates are not text: they can change when the document does not. If no
    field has text, all fields are used.
    """
    fields = [name for name in table.columns if name not in ("doc_id", "query_id")]
    texts = [name for name in fields if table[name].cast(pl.String).str.contains(_WORD_PATTERN).any()]
    return texts or fields


def _read_documents(path: str | Path) -> pl.DataFrame | None:
    """The documents of a file; queries with texts, which look the same, count as documents."""
    contents = contents_of(path)
    if contents.documents is None and contents.queries is not None:
        return contents.queries.rename({"query_id": "doc_id"})
    return contents.documents


def _grade_new_documents(
    grades: Mapping[str, float], anchor_of_doc: Mapping[str, Anchor], *, inherit: bool
) -> dict[str, float]:
    """The grades of new documents for a query."""
    grades_of_equal: dict[str, list[float]] = defaultdict(list)
    old_docs_within: dict[str, list[str]] = defaultdict(list)
    for doc, grade in grades.items():
        for name in anchor_of_doc[doc].same:
            grades_of_equal[name].append(grade)
        for name in anchor_of_doc[doc].parts:
            old_docs_within[name].append(doc)
    graded = {name: max(equal_grades) for name, equal_grades in grades_of_equal.items()}
    for name in old_docs_within.keys() - graded.keys():
        grade_of_parts = _grade_from_parts(
            name, old_docs_within[name], grades, anchor_of_doc, inherit=inherit
        )
        if grade_of_parts is not None:
            graded[name] = grade_of_parts
    return dict(sorted(graded.items()))


def _grade_from_parts(
    name: str,
    docs: list[str],
    grades: Mapping[str, float],
    anchor_of_doc: Mapping[str, Anchor],
    *,
    inherit: bool,
) -> float | None:
    """The grade of a new document with text of judged documents; None if it is unknown."""
    reaching_docs = {doc for doc in docs if anchor_of_doc[doc].reaches(name, inherit=inherit)}
    highest = max((grades[doc] for doc in reaching_docs), default=0.0)
    highest_of_pieces = max((grades[doc] for doc in docs if doc not in reaching_docs), default=0.0)
    if highest > 0 and (inherit or highest_of_pieces <= highest):
        return highest
    if max(highest, highest_of_pieces) > 0:
        return None
    return (
        0.0 if covered_share([anchor_of_doc[doc].parts[name].second for doc in docs]) >= NEAR_SHARE else None
    )


def _list_decisions(
    query: str,
    grades: Mapping[str, float],
    anchor_of_doc: Mapping[str, Anchor],
    new_grades: Mapping[str, float],
    *,
    inherit: bool,
) -> Iterator[tuple[object, ...]]:
    """The result for each judgment of a query: a row per new document, or one row without one."""
    for doc, grade in grades.items():
        anchor = anchor_of_doc[doc]
        names = [*anchor.same, *anchor.parts]
        for name in names:
            shared = anchor.parts.get(name)
            new_grade = new_grades.get(name)
            if new_grade is None:
                is_reached, reason = False, "other text of it was not judged, or is of a relevant document"
                if shared is not None and grade > 0:
                    reason = "it has part of a relevant document"
            else:
                is_reached, reason = (_is_reached(anchor, name, grade, new_grade, inherit=inherit), "")
            overlap_shares = (1.0, 1.0) if shared is None else (shared.of_first, shared.of_second)
            yield (query, doc, grade, anchor.status, name, new_grade, *overlap_shares, is_reached, reason)
        if not names:
            yield query, doc, grade, anchor.status, None, None, None, None, False, anchor.why


def _is_reached(anchor: Anchor, name: str, grade: float, new_grade: float, *, inherit: bool) -> bool:
    """True if the grade of a new document comes from this judgment, and not only from another."""
    if name in anchor.same:
        return True
    if grade > 0:
        return new_grade >= grade and anchor.reaches(name, inherit=inherit)
    return new_grade == 0 and anchor.status in {"split", "merged"}
