"""Users and items known from judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.memory.growing import GrowingArray
from rankgate.data.memory.ids import present
from rankgate.data.memory.matrices import MatrixInput, Padded
from rankgate.measurement.metrics.lists.ragged import Ragged
from rankgate.measurement.scoring.catalogue import places

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.lists.top import TopLists
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

_PIECE = 1 << 22  # judgments whose items are looked up together


def everyone(judged: JudgmentIndex, tops: Sequence[TopLists]) -> pl.Series:
    """The judged users and all others who have a list, in byte order."""
    known = judged.query_ids
    others = pl.concat([top.users.slice(len(known)) for top in tops]).unique()
    return pl.concat([known, others]).sort() if len(others) else known


def judged_items(judged: JudgmentIndex) -> pl.Series:
    """The items that judgments name; of a matrix all of its columns."""
    if not isinstance(judged.given, MatrixInput):
        return judged.qrels.table["doc_id"].unique()
    if names_all_items(judged.given):
        return judged.given.items.names
    return judged.numbers.ids.names.gather(present(judged.numbers.items))


def names_all_items(source: MatrixInput) -> bool:
    """Whether a source names all items there are, and not only those that are in it."""
    if not isinstance(source, Padded):
        return True
    return source.items.given is not None and source.vocabulary is None


def relevant(judged: JudgmentIndex, items: pl.Series) -> Ragged:
    """The places in a catalogue of what has a grade of 1 or more, a row for each query."""
    matrix = isinstance(judged.given, MatrixInput)
    names = places(judged.numbers.ids.names, items) if matrix else None
    codes = GrowingArray(np.int32)
    for begin in range(0, len(judged.grades), _PIECE):
        which = begin + np.flatnonzero(judged.grades[begin : begin + _PIECE] >= 1)
        if names is None:
            codes.add(places(judged.documents(which), items))
        else:
            codes.add(names[judged.numbers.items[which]])
    before = np.append(0, np.cumsum(judged.grades >= 1))
    return Ragged.of(codes.values, before[judged.offsets])
