"""Judgments of new versions of documents: the result of ``reanchor``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.data.files.anchors import NO_TEXT, STATUSES
from rankgate.data.files.checks.declare import count_noun

DECISIONS = {
    "query_id": pl.String,
    "old_doc": pl.String,
    "grade": pl.Float64,
    "status": pl.String,
    "new_doc": pl.String,
    "new_grade": pl.Float64,
    "share_of_old": pl.Float64,
    "share_of_new": pl.Float64,
    "reached": pl.Boolean,
    "why": pl.String,
}
JUDGMENTS = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


MIN_COMPARABLE_SHARE = 0.9
"""The share of relevant judgments below which the new judgments measure something else."""


@dataclass(frozen=True)
class Reanchored(Result):
    """What became of each judgment, and the judgments of the new documents.

    Attributes:
        name: of the judgments.
        decisions: for each judgment (``query_id``, ``old_doc``, ``grade``) its ``status`` (valid,
            moved, split, merged, ambiguous or lost), and for each new document that shares text
            with it ``new_doc``, the grade that it has now (``new_grade``, null: unjudged), what
            share of the words of each is in the other, whether that grade tells this judgment
            (``reached``; it may be that of other judgments alone), and ``why`` it is unjudged.
        judgments: ``query_id``, ``doc_id`` and ``grade`` of the new documents.
        negative: judgments with a negative grade, which are left out: they mean unjudged.
    """

    kind: ClassVar[str] = "reanchored"
    label: ClassVar[str] = "Judgments of new documents"
    document_from: ClassVar[str] = "rankgate.data.files.documents.reanchored:document"
    order: ClassVar[int] = 92
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "decisions": DECISIONS,
        "judgments": JUDGMENTS,
    }

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
    def relevant(self) -> tuple[int, int]:
        """The number of relevant judgments, and of those that reached a new document."""
        relevant = self.labels.filter(pl.col("grade") > 0)
        return len(relevant), int(relevant["kept"].sum())

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Relevant documents that are unjudged now, documents without a text, negative grades."""
        messages = []
        relevant, reached = self.relevant
        if reached < relevant:
            unjudged_labels = self.labels.filter(pl.col("grade") > 0, ~pl.col("kept"))
            queries = count_noun(unjudged_labels["query_id"].n_unique(), "query", "queries")
            consequence = (
                "; values by the new judgments are not comparable with those by the old ones: "
                "judge the new documents, or give pieces the grades of what they were cut from "
                "(--pieces inherit)"
            )
            messages.append(
                Notice(
                    "relevant-unjudged",
                    f"{count_noun(len(unjudged_labels), 'relevant document')} of {queries} "
                    "unjudged now: "
                    "eval and compare count what is unjudged as irrelevant; rankgate total-error "
                    "gives an interval that is wider by what is not known, rankgate eval --bounds "
                    "the least and greatest values"
                    f"{consequence if reached < MIN_COMPARABLE_SHARE * relevant else ''}",
                )
            )
        textless = self.decisions.filter(pl.col("why") == NO_TEXT)["old_doc"].n_unique()
        if textless:
            message = (
                f"{count_noun(textless, 'judged document')} without a text in the old documents"
            )
            messages.append(Notice("missing-texts", f"{message}: lost"))
        if self.negative:
            message = f"{count_noun(self.negative, 'negative grade')} left out: unjudged"
            messages.append(Notice("negative-grades", message))
        return tuple(messages)

    def _table(self) -> pl.DataFrame:
        return self.decisions
