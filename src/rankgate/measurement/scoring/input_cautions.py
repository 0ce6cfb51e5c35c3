"""Judgments and runs that do not fit each other: without shared ids, grades below relevance.

A caution is one sentence under a code; every result that was scored carries those of its run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.data.scores import RunScores
    from rankgate.measurement.scoring.alignment.block import BlockSource
    from rankgate.measurement.scoring.facts import Facts
    from rankgate.measurement.scoring.job import Job

NO_SHARED_DOCUMENT = "no-shared-document"
"""The code of the caution that no document of a run is judged for its query."""

_SAMPLE_SIZE = 1 << 16  # judgments


def input_cautions(source: BlockSource, facts: Facts, jobs: Sequence[Job]) -> dict[str, str]:
    """The cautions about the judgments and the run, by code."""
    return dict(_cautions(source, facts, jobs))


def _cautions(source: BlockSource, facts: Facts, jobs: Sequence[Job]) -> Iterator[tuple[str, str]]:
    yield from source.cautions.items()
    if facts.retrieved.any() and not facts.judged_documents:
        yield NO_SHARED_DOCUMENT, _no_shared_document(source)
    lowest = source.judgments.lowest_positive
    names = [job.label for job in jobs if _counts_from(job, above=lowest)]
    if names and lowest < 1:
        text = (
            f"judgments have grades below 1, such as {lowest:g}: only grades of 1 and more count "
            f"as relevant in {', '.join(names)}; set rel, such as rel={lowest:g}, if these do too"
        )
        yield "grades-below-relevant", text


def _counts_from(job: Job, *, above: float) -> bool:
    """True if a metric counts relevant documents by a default level above a grade."""
    user_level = "rel" in dict(job.metric.given)
    return "rel" in job.metric.parameters and not user_level and job.level > above


def _no_shared_document(source: BlockSource) -> str:
    rows = source.first_rows()
    query = source.judgments.codes(rows["query_id"]) >= 0
    doc_ids = rows.filter(pl.Series(query))["doc_id"]
    return _no_shared_document_text(doc_ids, source.judgments.documents(slice(0, _SAMPLE_SIZE)))


def _no_shared_document_text(ranked: pl.Series, judged: pl.Series) -> str:
    return (
        f"no document of the run is judged for its query: it has {_quoted(ranked)}, the judgments "
        f"{_quoted(judged)}; check that both use the same ids"
    )


def _quoted(ids: pl.Series) -> str:
    return ", ".join(f"'{id_}'" for id_ in ids.unique(maintain_order=True).head(3))


@dataclass(frozen=True)
class BatchCautions:
    """The cautions of batches of whole queries, which add up in any order.

    Attributes:
        texts: by code, the first text in byte order.
        judged_documents: how many judged documents all batches retrieved.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    judged_documents: int = 0

    @classmethod
    def of(cls, scores: RunScores) -> BatchCautions:
        """The cautions of scores that were made with ``exact``."""
        return cls(dict(scores.counts.cautions), scores.parts.judged_documents)

    def __add__(self, other: BatchCautions) -> BatchCautions:
        """Combine the cautions of two sets of batches."""
        texts = dict(self.texts)
        for code, text in other.texts.items():
            texts[code] = min(text, texts.get(code, text))
        return BatchCautions(texts, self.judged_documents + other.judged_documents)

    @property
    def of_run(self) -> dict[str, str]:
        """The cautions of all batches: one judged document is enough for a run."""
        dropped = {NO_SHARED_DOCUMENT} if self.judged_documents else set()
        return {code: self.texts[code] for code in sorted(self.texts.keys() - dropped)}

    def to_dict(self) -> dict[str, Any]:
        """The cautions as plain values."""
        return {"texts": dict(self.texts), "judged_documents": self.judged_documents}


def refuse_no_shared_document(name: str, cautions: Mapping[str, str]) -> None:
    """Check that a run has a judged document, where values of 0 would decide or be a cause.

    Args:
        name: the name of the run.
        cautions: of its scores.

    Raises:
        InputError: it has none.
    """
    if text := cautions.get(NO_SHARED_DOCUMENT):
        raise InputError(f"{text}.", source=name, code="documents-differ")


def refuse_strange_documents(name: str, rows: pl.DataFrame, judged: pl.DataFrame) -> None:
    """Check that a run has a judged document, where nothing is scored.

    Args:
        name: the name of the run.
        rows: its ``query_id`` and ``doc_id``, of judged queries.
        judged: ``query_id`` and ``doc_id``.

    Raises:
        InputError: it has none.
    """
    shared = rows.join(judged, on=["query_id", "doc_id"], how="semi")
    if len(rows) and shared.is_empty():
        cautions = {NO_SHARED_DOCUMENT: _no_shared_document_text(rows["doc_id"], judged["doc_id"])}
        refuse_no_shared_document(name, cautions)


def first_cautions(scores: Iterable[RunScores]) -> dict[str, str]:
    """The cautions of one run under several conventions: the first text of each code."""
    cautions: dict[str, str] = {}
    for result in scores:
        cautions = {**result.counts.cautions, **cautions}
    return cautions


def with_run_name(name: str, cautions: Mapping[str, str]) -> list[str]:
    """The sentences of a run's cautions."""
    return [f"{name}: {text}." for text in cautions.values()]
