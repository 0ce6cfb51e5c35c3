"""Alignment of dictionaries: only judged documents are looked up.

A document's rank is one more than the number of scores above its own, so the names of all other
documents, by far the most, are never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.stretches import sort_stretches
from rankgate.measurement.scoring.alignment.align import Aligned, limited
from rankgate.measurement.scoring.alignment.order import TieRanks, keys, order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.rankings import Rankings
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment, Ties


def align_mapping(rankings: Rankings, index: JudgmentIndex, how: Alignment) -> Aligned:
    """Give the judged documents of some queries their ranks, by score and above any bound."""
    found = index.codes(pl.Series("query_id", rankings.query_ids, dtype=pl.String))
    known = found >= 0
    codes, lengths, scores = found[known], rankings.lengths[known], rankings.scores
    if not known.all():
        scores = scores[np.repeat(known, rankings.lengths)]
    if how.precision == "float32":
        with np.errstate(over="ignore"):  # as in C, what is too great becomes infinite
            scores = scores.astype(np.float32)
    rows = [row for row, kept in zip(rankings.rows, known.tolist(), strict=True) if kept]
    # Python's own dictionaries find documents faster than any join would hash their names again
    owner, own, judgment = _looked_up(rows, codes, index)
    every = np.repeat(np.arange(len(codes)), lengths)
    starts = np.cumsum(lengths) - lengths
    ordered = keys(every, scores, len(codes))
    sort_stretches(ordered, starts)
    twice = bool((ordered[1:] == ordered[:-1]).any())
    with np.errstate(over="ignore"):
        wanted = keys(owner, own.astype(scores.dtype), len(codes))
    # sorted keys begin with the query, so what is left of a key in it are the scores above
    left = np.searchsorted(ordered, wanted) - starts[owner]
    counted = TieRanks(left + 1, left + 1, left + 1)
    if twice:
        counted.last[:] = np.searchsorted(ordered, wanted, side="right") - starts[owner]
        names = index.strings(judgment)
        _break(counted, _Tied(rows, starts, scores, how.ties), owner, own, names)
    # kernels add up gains by rank, and a sum in another order could differ in its last bit
    by = np.argsort(owner * (len(scores) + 1) + counted.rank, kind="stable")
    aligned = Aligned(
        codes=codes,
        present=np.ones(len(codes), bool),
        retrieved=lengths,
        owner=owner[by],
        rank=counted.rank[by],
        first=counted.first[by],
        last=counted.last[by],
        grade=index.grades[judgment][by],
        row=by,
        judgment=judgment[by],
        ties=order(every, scores, len(codes)).ties if twice else 0,
        unknown=int((~known).sum()),
    )
    return limited(aligned, how)


def _looked_up(
    rows: list[Mapping[str, float]], codes: NDArray[np.int64], index: JudgmentIndex
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The judged documents that were retrieved: their query, score and place in the index."""
    whose, which = index.rows(codes)
    names = index.strings(which)
    ends = np.cumsum(np.bincount(whose, minlength=len(rows))).tolist()
    scores: list[float] = []
    unknown = repeat(np.nan)  # which no score is
    begin = 0
    for row, end in zip(rows, ends, strict=True):
        scores.extend(map(row.get, names[begin:end], unknown))
        begin = end
    own = np.fromiter(scores, np.float64, len(scores))
    met = ~np.isnan(own)
    return whose[met], own[met], which[met]


class _Tied:
    """Groups of equal scores, ordered when they are asked for.

    A run may have many groups without a judged document; their names are never sorted.
    """

    def __init__(
        self,
        rows: list[Mapping[str, float]],
        starts: NDArray[np.int64],
        scores: NDArray[np.floating],
        ties: Ties,
    ) -> None:
        self._rows, self._starts, self._scores, self._ties = rows, starts, scores, ties
        self._groups: dict[tuple[int, float], tuple[int, dict[str, int]]] = {}

    def precise(self, score: float) -> float:
        """A score in the precision that scores are compared in."""
        with np.errstate(over="ignore"):
            return float(self._scores.dtype.type(score))

    def group(self, query: int, score: float) -> tuple[int, dict[str, int]]:
        """The scores above, and the place of each document of the group, from 0."""
        if (query, score) not in self._groups:
            names = list(self._rows[query])
            begin = self._starts[query]
            scores = self._scores[begin : begin + len(names)]
            same = [names[i] for i in np.flatnonzero(scores == score)]
            if self._ties != "file_order":
                same.sort(key=str.encode, reverse=self._ties == "doc_id_desc")
            above = int(np.count_nonzero(scores > score))
            self._groups[query, score] = above, {name: i for i, name in enumerate(same)}
        return self._groups[query, score]


def _break(
    counted: TieRanks,
    tied: _Tied,
    owner: NDArray[np.int64],
    own: NDArray[np.float64],
    names: list[str],
) -> None:
    """Put documents of equal keys at their ranks, in place."""
    for i in np.flatnonzero(counted.last > counted.first).tolist():
        score = own[i]
        above, places = tied.group(int(owner[i]), tied.precise(score))
        counted.first[i], counted.last[i] = above + 1, above + len(places)
        counted.rank[i] = above + 1 + places[names[i]]
