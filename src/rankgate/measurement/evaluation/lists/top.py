"""The first items of every user's list, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.lists import NONE
from rankgate.measurement.scoring.catalogue import find_positions, pad_by_row, rows_at

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.listed import Codes
    from rankgate.measurement.scoring.lists import ItemCodes


@dataclass(frozen=True)
class TopLists:
    """The first items of every user's list.

    Attributes:
        users: ``(T,)``, the users of the lists; as read, the judged ones come first.
        names: items, each once.
        codes: ``(T, K)``, their places, padded behind; whole numbers of any size.
        every: True if the names are all items that exist, not only those that are shown.
    """

    users: pl.Series
    names: pl.Series
    codes: ItemCodes
    every: bool = False

    @classmethod
    def of_rows(cls, users: pl.Series, rows: pl.DataFrame) -> TopLists:
        """Make lists from rows of ``query_id`` and ``doc_id``, the best of each list first."""
        names = rows["doc_id"].unique().sort()
        owner, item = find_positions(rows["query_id"], users), find_positions(rows["doc_id"], names)
        row_order = np.argsort(owner, kind="stable")
        return cls(users, names, pad_by_row(owner[row_order], item[row_order], len(users)))

    @property
    def shown(self) -> pl.Series:
        """The items of these lists, or all items if known."""
        if self.every:
            return self.names
        is_shown = np.zeros(len(self.names) + 1, bool)  # the last is where NONE points
        is_shown[self.codes.ravel()] = True
        return self.names.filter(pl.Series(is_shown[:-1]))

    def among(self, items: pl.Series) -> Codes:
        """The items of the lists by their places in a catalogue; `NONE` for those outside of it."""
        new_code = np.append(find_positions(self.names, items), NONE)  # so that NONE stays NONE
        codes: Codes = new_code[self.codes]
        return codes

    def of_users(self, users: pl.Series) -> TopLists:
        """The lists of these users; an empty list for a user without one."""
        if len(users) == len(self.users) and (users == self.users).all():
            return self
        codes = rows_at(self.codes, find_positions(users, self.users))
        return TopLists(users, self.names, codes, self.every)
