"""Judgments laid out for alignment: queries in byte order, grades in ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.duplicates import pairs_of
from rankgate.data.run import starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels


@dataclass(frozen=True)
class Laid:
    """Grades by query, whatever tells documents apart.

    Attributes:
        query_ids: ``(T,)``, every judged query once, in byte order.
        offsets: ``(T + 1,)``, where each query's judgments begin.
        grades: all grades, query after query, the best first.
    """

    query_ids: pl.Series
    offsets: NDArray[np.int64]
    grades: NDArray[np.float64]

    def rows(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The judgments of some queries: the place of each one's query in ``codes``, its row."""
        lengths = self.offsets[codes + 1] - self.offsets[codes]
        owner = np.repeat(np.arange(len(codes)), lengths)
        first = np.repeat(self.offsets[codes] - np.cumsum(lengths) + lengths, lengths)
        return owner, first + np.arange(len(owner))


@dataclass(frozen=True)
class Index(Laid):
    """Judgments by query, documents by their ids.

    Attributes:
        doc_ids: the document of each grade.
        pairs: a hash of the query and document of each.
    """

    doc_ids: pl.Series
    pairs: NDArray[np.uint64]
    _hashes: NDArray[np.uint64]
    _by_hash: NDArray[np.int64]

    @classmethod
    def of(cls, qrels: Qrels) -> Index:
        """Lay out a set of judgments."""
        table = qrels.table
        starts = starts_of(table["query_id"])
        heads = table["query_id"].gather(starts)
        unjudged = pl.Series(qrels.unjudged, dtype=pl.String)
        query_ids = pl.concat([heads, unjudged]).unique().sort()
        hashes = query_ids.hash().to_numpy()
        by_hash = np.argsort(hashes)
        codes = _find(heads, query_ids, hashes[by_hash], by_hash)
        owner = np.repeat(codes, np.diff(starts, append=len(table)))
        grades = table["grade"].to_numpy()
        order = np.lexsort((-grades, owner))
        offsets = np.zeros(len(query_ids) + 1, np.int64)
        np.cumsum(np.bincount(owner, minlength=len(query_ids)), out=offsets[1:])
        documents = table["doc_id"].gather(order)
        pairs = pairs_of(table)[order]
        return cls(query_ids, offsets, grades[order], documents, pairs, hashes[by_hash], by_hash)

    def codes(self, query_ids: pl.Series) -> NDArray[np.int64]:
        """The place of each query in ``query_ids``; -1 for one without judgments."""
        return _find(query_ids, self.query_ids, self._hashes, self._by_hash)


def _find(
    wanted: pl.Series,
    query_ids: pl.Series,
    hashes: NDArray[np.uint64],
    by_hash: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The place of each wanted id, by its hash, confirmed on the string."""
    own = wanted.hash().to_numpy()
    rising = np.argsort(own)  # neighbours look into neighbouring memory
    places = np.empty(len(own), np.int64)
    places[rising] = np.searchsorted(hashes, own[rising])
    found = by_hash[np.minimum(places, len(by_hash) - 1)]
    same = (query_ids.gather(found) == wanted).to_numpy()
    if same.all() or len(np.unique(hashes)) == len(hashes):
        return np.where(same, found, -1)
    slow = {query: place for place, query in enumerate(query_ids.to_list())}  # two hashes met
    return np.array([slow.get(query, -1) for query in wanted.to_list()], np.int64)
