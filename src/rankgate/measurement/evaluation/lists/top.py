"""The first items of every user's list, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.lists import NONE
from rankgate.measurement.scoring.catalogue import by_row, places, rows_at

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.listed import Codes
    from rankgate.measurement.scoring.lists import Places


@dataclass(frozen=True)
class TopLists:
    """The first items of every user's list.

    Attributes:
        users: ``(T,)``, whose lists they are; as read, the judged ones come first.
        names: items, each once.
        codes: ``(T, K)``, their places, padded behind; whole numbers of any size.
        every: whether the names are all items there are, and not only those that are shown.
    """

    users: pl.Series
    names: pl.Series
    codes: Places
    every: bool = False

    @classmethod
    def of_rows(cls, users: pl.Series, rows: pl.DataFrame) -> TopLists:
        """From rows of ``query_id`` and ``doc_id``, the best of each list first."""
        names = rows["doc_id"].unique().sort()
        owner, item = places(rows["query_id"], users), places(rows["doc_id"], names)
        by = np.argsort(owner, kind="stable")
        return cls(users, names, by_row(owner[by], item[by], len(users)))

    @property
    def shown(self) -> pl.Series:
        """The items there are, as far as these lists say."""
        if self.every:
            return self.names
        there = np.zeros(len(self.names) + 1, bool)  # the last is where NONE points
        there[self.codes.ravel()] = True
        return self.names.filter(pl.Series(there[:-1]))

    def among(self, items: pl.Series) -> Codes:
        """The same by the places of items in a catalogue; `NONE` for those that are not in it."""
        place = np.append(places(self.names, items), NONE)  # so that NONE stays what it is
        found: Codes = place[self.codes]
        return found

    def of_users(self, users: pl.Series) -> TopLists:
        """The lists of these users; of one without a list an empty one."""
        if len(users) == len(self.users) and (users == self.users).all():
            return self
        codes = rows_at(self.codes, places(users, self.users))
        return TopLists(users, self.names, codes, self.every)
