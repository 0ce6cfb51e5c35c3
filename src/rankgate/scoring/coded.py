"""Judgments whose items are numbers, for rankings that are matrices or lists of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.memory.arrays import graded
from rankgate.data.memory.ids import NOWHERE, Ids, places
from rankgate.scoring.index import Laid
from rankgate.scoring.order import keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.memory.matrices import Source
    from rankgate.scoring.index import Index

    Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Coded(Laid):
    """Judgments by query, documents by codes.

    Attributes:
        items: ``(n,)``, the code of each grade's item.
        ids: what the codes are called.
        by_row: ``(U,)``, the query of each row of the judgments' own matrix, `NOWHERE` where it
            has none; None where users go by names.
    """

    items: Codes
    ids: Ids
    by_row: Codes | None

    @classmethod
    def of_index(cls, index: Index) -> Coded:
        """The same judgments with codes for their documents."""
        names = index.doc_ids.unique()
        ids, codes = Ids(len(names), names), places(index.doc_ids, names)
        return cls(index.query_ids, index.offsets, index.grades, codes, ids, None)

    @classmethod
    def of(cls, source: Source) -> Coded:
        """Lay out a matrix or lists; users without judgments are not among the queries.

        Raises:
            InputError, DuplicateError: as `graded`.
        """
        owner, items, grades = graded(source)
        counts = np.bincount(owner, minlength=source.users.size)
        judged = np.flatnonzero(counts)
        names = source.users.names.gather(judged)
        rows = judged[names.arg_sort().to_numpy()]
        by_row = np.full(source.users.size, NOWHERE)
        by_row[rows] = np.arange(len(rows))
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts[rows], out=offsets[1:])
        by = _best_first(by_row[owner], grades, len(rows))
        own = by_row if source.users.given is None else None
        query_ids = source.users.names.gather(rows).alias("query_id")
        return cls(query_ids, offsets, grades[by], items[by], source.items, own)

    def places_of(self, users: Ids) -> Codes:
        """The query of each user, `NOWHERE` where a user has no judgments."""
        if self.by_row is None or users.given is not None:
            return places(users.names, self.query_ids)
        out = np.full(users.size, NOWHERE)
        shared = min(users.size, len(self.by_row))
        out[:shared] = self.by_row[:shared]
        return out


def _best_first(owner: Codes, grades: NDArray[np.float64], T: int) -> Codes:
    """Rows by query, the best grade first."""
    by = np.argsort(keys(owner, grades, T), kind="stable")
    found, best = owner[by], grades[by]
    wrong = (found[1:] == found[:-1]) & (best[1:] > best[:-1])
    if wrong.any():  # grades that differ in their last bits
        return np.lexsort((-grades, owner))
    return by
