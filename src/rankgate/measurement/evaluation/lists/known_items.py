"""Users and items known from judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.memory.growing import GrowingArray
from rankgate.data.memory.ids import unique_codes
from rankgate.data.memory.matrices import MatrixInput, Padded
from rankgate.measurement.metrics.lists.ragged import Ragged
from rankgate.measurement.scoring.catalogue import find_positions

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.lists.top import TopLists
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

_PIECE = 1 << 22  # judgments whose items are looked up together


def all_users(judged: JudgmentIndex, tops: Sequence[TopLists]) -> pl.Series:
    """The judged users and all others who have a list, in byte order."""
    judged_users = judged.query_ids
    other_users = pl.concat([top.users.slice(len(judged_users)) for top in tops]).unique()
    return pl.concat([judged_users, other_users]).sort() if len(other_users) else judged_users


def judged_items(judged: JudgmentIndex) -> pl.Series:
    """The items that judgments name; of a matrix all of its columns."""
    if not isinstance(judged.given, MatrixInput):
        return judged.qrels.table["doc_id"].unique()
    if names_all_items(judged.given):
        return judged.given.items.names
    return judged.numbers.ids.names.gather(unique_codes(judged.numbers.items))


def names_all_items(source: MatrixInput) -> bool:
    """True if a source names all items that exist, not only those in it."""
    if not isinstance(source, Padded):
        return True
    return source.items.given is not None and source.vocabulary is None


def relevant_codes(judged: JudgmentIndex, items: pl.Series) -> Ragged:
    """The catalogue codes of items with a grade of 1 or more, a row for each query."""
    matrix = isinstance(judged.given, MatrixInput)
    names = find_positions(judged.numbers.ids.names, items) if matrix else None
    codes = GrowingArray(np.int32)
    for begin in range(0, len(judged.grades), _PIECE):
        rows = begin + np.flatnonzero(judged.grades[begin : begin + _PIECE] >= 1)
        if names is None:
            codes.add(find_positions(judged.documents(rows), items))
        else:
            codes.add(names[judged.numbers.items[rows]])
    before = np.append(0, np.cumsum(judged.grades >= 1))
    return Ragged.of(codes.values, before[judged.offsets])
