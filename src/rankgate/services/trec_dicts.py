"""Evaluate rankings that are dictionaries, without making a table of them.

Only judged documents have to be placed, and a document's place is the number of scores above
its own. So the names of the other documents, by far the most, are never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data import read_qrels
from rankgate.scoring import CONVENTIONS
from rankgate.scoring.align import Aligned, condensed
from rankgate.scoring.blocks import blocks
from rankgate.scoring.index import Index
from rankgate.scoring.mean import filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.services.trec_columns import Column

_FEW = 8  # for up to so many documents, comparing with all scores is faster than sorting them


@dataclass(frozen=True)
class DictEvaluator:
    """Judgments ready to evaluate rankings, as trec_eval 9 does.

    Attributes:
        judgments: ``{query_id: {doc_id: grade}}``, at least one query, no query without grades.
        columns: what to compute.
        judged_only: documents without a judgment leave the rankings.
        index: the judgments as scoring wants them.
    """

    judgments: Mapping[str, Mapping[str, int]]
    columns: tuple[Column, ...]
    judged_only: bool
    index: Index

    @classmethod
    def of(
        cls,
        judgments: Mapping[str, Mapping[str, int]],
        columns: Sequence[Column],
        *,
        judged_only: bool = False,
    ) -> DictEvaluator:
        """Lay out judgments; raises InputError as `read_qrels` does."""
        index = Index.of(read_qrels(judgments))
        return cls(judgments, tuple(columns), judged_only, index)

    def evaluate(
        self, run: Mapping[str, Mapping[str, float]]
    ) -> tuple[list[str], list[NDArray[np.float64] | None]]:
        """The values of a run.

        Returns:
            The judged queries of the run, in its order, and for each column its values,
            ``(T,)``, or None where it has no numbers.
        """
        how = CONVENTIONS["pytrec_eval"]
        queries = [query for query in run if query in self.judgments]
        if not queries:
            return [], [None] * len(self.columns)
        aligned = self._aligned(queries, run)
        if self.judged_only:
            aligned = condensed(aligned)
        plain = [column.metrics if column.kind != "relstring" else () for column in self.columns]
        found = iter(_computed(aligned, self.index, [m for some in plain for m in some], how))
        means = [np.mean([next(found) for _ in some], axis=0) if some else None for some in plain]
        return queries, means

    def _aligned(self, queries: list[str], run: Mapping[str, Mapping[str, float]]) -> Aligned:
        """The judged documents of the rankings, by query and rank."""
        found = [_placed(run[query], self.judgments[query]) for query in queries]
        counts = [places.shape[1] for places in found]
        owner = np.repeat(np.arange(len(queries)), counts)
        above, within, equal, grade = np.concatenate(found, axis=1)
        rank = above + within + 1
        by = np.lexsort((rank, owner))
        lengths = np.fromiter((len(run[query]) for query in queries), np.int64, len(queries))
        return Aligned(
            codes=self.index.codes(pl.Series("query_id", queries)),
            present=np.ones(len(queries), bool),
            retrieved=lengths,
            owner=owner,
            rank=rank[by],
            first=above[by] + 1,
            last=above[by] + equal[by],
            grade=grade[by].astype(np.float64),
            row=by,
        )


def _placed(ranking: Mapping[str, float], judged: Mapping[str, int]) -> NDArray[np.int64]:
    """Where the judged documents of a ranking stand.

    Returns:
        ``(4, m)``: scores above, documents with the same score that go before, documents with
        the same score, grade.
    """
    documents = [document for document in judged if document in ranking]
    if not documents:
        return np.zeros((4, 0), np.int64)
    scores = _single(ranking.values(), len(ranking))
    own = _single((ranking[document] for document in documents), len(documents))
    if len(own) <= _FEW:
        above = np.count_nonzero(scores > own[:, None], axis=1)
        equal = np.count_nonzero(scores == own[:, None], axis=1)
    else:
        ordered = np.sort(scores)
        end = np.searchsorted(ordered, own, side="right")
        above, equal = len(ordered) - end, end - np.searchsorted(ordered, own)
    within = np.zeros(len(own), np.int64)
    for score in np.unique(own[equal > 1]):
        names = list(ranking)
        same = sorted((names[i] for i in np.flatnonzero(scores == score)), reverse=True)
        places = {document: place for place, document in enumerate(same)}
        tied = np.flatnonzero(own == score)
        within[tied] = [places[documents[i]] for i in tied]
    return np.array([above, within, equal, [judged[document] for document in documents]])


def _single(scores: Iterable[float], count: int) -> NDArray[np.float32]:
    """Scores as 32-bit floats; beyond their range they are infinite, and tied."""
    with np.errstate(over="ignore"):
        return np.fromiter(scores, np.float64, count).astype(np.float32)


def _computed(
    aligned: Aligned, index: Index, metrics: Sequence[Metric], how: Convention
) -> list[NDArray[np.float64]]:
    """The values of each metric, in the order of the queries."""
    T = len(aligned.codes)
    place = np.zeros(len(index.query_ids), np.int64)
    place[aligned.codes] = np.arange(T)
    values = [np.full(T, np.nan) for _ in metrics]
    for codes, block in blocks(aligned, index):
        for value, metric in zip(values, metrics, strict=True):
            level = dict(metric.given).get("rel", 1)
            value[place[codes]] = metric.compute(block.at_level(level), how.defaults(metric))
    present, retrieved = aligned.present, aligned.retrieved
    return [
        filled(value, present=present, retrieved=retrieved, metric=metric, how=how)[0]
        for value, metric in zip(values, metrics, strict=True)
    ]
