"""Alignment of dictionaries: only judged documents are looked up.

The rank of a document is the number of higher scores plus one, so the names of unjudged documents,
which are most documents, are never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.table_rows import sort_ranges
from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks, apply_depth
from rankgate.measurement.scoring.alignment.row_order import TieRanks, sort_keys, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Rankings
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment, Ties


def align_mapping(rankings: Rankings, index: JudgmentIndex, how: Alignment) -> JudgedRanks:
    """Rank the judged documents of some queries by score, above the bound if there is one."""
    query_ids = pl.Series("query_id", rankings.query_ids, dtype=pl.String)
    query_codes = index.codes(query_ids)
    is_judged = query_codes >= 0
    codes, lengths, scores = query_codes[is_judged], rankings.lengths[is_judged], rankings.scores
    if not is_judged.all():
        scores = scores[np.repeat(is_judged, rankings.lengths)]
    if how.precision == "float32":
        with np.errstate(over="ignore"):  # as in C, too large values become infinite
            scores = scores.astype(np.float32)
    rows = [
        row for row, has_judgments in zip(rankings.rows, is_judged.tolist(), strict=True) if has_judgments
    ]
    # Python's own dictionaries find documents faster than a join that hashes their names again
    owner, document_scores, judgment = _find_judged(rows, codes, index)
    query_of_score = np.repeat(np.arange(len(codes)), lengths)
    starts = np.cumsum(lengths) - lengths
    sorted_keys = sort_keys(query_of_score, scores, len(codes))
    sort_ranges(sorted_keys, starts)
    has_ties = bool((sorted_keys[1:] == sorted_keys[:-1]).any())
    with np.errstate(over="ignore"):
        document_keys = sort_keys(owner, document_scores.astype(scores.dtype), len(codes))
    # sorted keys begin with the query: keys on the left with the same query are the higher scores
    scores_above = np.searchsorted(sorted_keys, document_keys) - starts[owner]
    tie_ranks = TieRanks(scores_above + 1, scores_above + 1, scores_above + 1)
    if has_ties:
        tie_ranks.last[:] = np.searchsorted(sorted_keys, document_keys, side="right") - starts[owner]
        names = index.strings(judgment)
        _rank_ties(tie_ranks, _TieGroups(rows, starts, scores, how.ties), owner, document_scores, names)
    # kernels add gains by rank; a sum in another order could differ in its last bit
    row_order = np.argsort(owner * (len(scores) + 1) + tie_ranks.rank, kind="stable")
    aligned = JudgedRanks(
        codes=codes,
        present=np.ones(len(codes), bool),
        retrieved=lengths,
        owner=owner[row_order],
        rank=tie_ranks.rank[row_order],
        first=tie_ranks.first[row_order],
        last=tie_ranks.last[row_order],
        grade=index.grades[judgment][row_order],
        row=row_order,
        judgment=judgment[row_order],
        ties=sort_rows(query_of_score, scores, len(codes)).ties if has_ties else 0,
        unknown=query_ids.filter(pl.Series(~is_judged)),
    )
    return apply_depth(aligned, how)


def _find_judged(
    rows: list[Mapping[str, float]], codes: NDArray[np.int64], index: JudgmentIndex
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The judged documents that were retrieved, with query, score and position in the index."""
    owner, judgment = index.rows(codes)
    names = index.strings(judgment)
    ends = np.cumsum(np.bincount(owner, minlength=len(rows))).tolist()
    scores: list[float] = []
    unknown = repeat(np.nan)  # no score is NaN
    begin = 0
    for row, end in zip(rows, ends, strict=True):
        scores.extend(map(row.get, names[begin:end], unknown))
        begin = end
    document_scores = np.fromiter(scores, np.float64, len(scores))
    is_retrieved = ~np.isnan(document_scores)
    return owner[is_retrieved], document_scores[is_retrieved], judgment[is_retrieved]


class _TieGroups:
    """Groups of equal scores, which are sorted at first use.

    A run may have many groups without a judged document; these groups are never sorted.
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
        """A score in the precision of comparisons."""
        with np.errstate(over="ignore"):
            return float(self._scores.dtype.type(score))

    def group(self, query: int, score: float) -> tuple[int, dict[str, int]]:
        """The number of higher scores, and the position of each document of the group, from 0."""
        if (query, score) not in self._groups:
            names = list(self._rows[query])
            begin = self._starts[query]
            scores = self._scores[begin : begin + len(names)]
            tied_names = [names[i] for i in np.flatnonzero(scores == score)]
            if self._ties != "file_order":
                tied_names.sort(key=str.encode, reverse=self._ties == "doc_id_desc")
            scores_above = int(np.count_nonzero(scores > score))
            self._groups[query, score] = (scores_above, {name: i for i, name in enumerate(tied_names)})
        return self._groups[query, score]


def _rank_ties(
    tie_ranks: TieRanks,
    tied: _TieGroups,
    owner: NDArray[np.int64],
    document_scores: NDArray[np.float64],
    names: list[str],
) -> None:
    """Order documents with equal keys in place, so that each is at its rank."""
    for i in np.flatnonzero(tie_ranks.last > tie_ranks.first).tolist():
        score = document_scores[i]
        scores_above, places = tied.group(int(owner[i]), tied.precise(score))
        tie_ranks.first[i], tie_ranks.last[i] = scores_above + 1, scores_above + len(places)
        tie_ranks.rank[i] = scores_above + 1 + places[names[i]]
