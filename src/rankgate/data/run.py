"""Rankings: which documents a system returned for which queries, with its scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.ahead import ahead
from rankgate.data.digest import digest
from rankgate.data.duplicates import refuse_duplicates
from rankgate.data.place import Place
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
"""The columns every run has."""


class ScatteredError(Exception):
    """A query's rows stand apart in the file; no message for a user: the whole is read instead."""


@dataclass(frozen=True)
class Batch:
    """Rows of whole queries.

    Attributes:
        frame: ``query_id``, ``doc_id``, ``score`` in file order.
        starts: ``(T,)``, where each query's rows begin, or None where they stand apart.
    """

    frame: pl.DataFrame
    starts: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Run:
    """One system's rankings; rows stay in their file until they are asked for.

    Attributes:
        name: the file's name without folder, compression suffix and last extension.
        pieces: the rows as frames of ``query_id``, ``doc_id``, ``score``, in file order, ids
            there and scores finite; can be called again.
        tag: the name that a TREC file gives the run.
        queries: what is known of each query: ``query_id``, ``state`` and more.
        place: where the rows come from.
    """

    name: str
    pieces: Callable[[], Iterator[pl.DataFrame]]
    tag: str | None = None
    queries: pl.DataFrame | None = None
    place: Place = field(default=Place("run"))

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows, checked.

        Raises:
            InputError: no rows, a missing id, a score that is not finite.
            DuplicateError: a document ranked twice for one query.
        """
        frame = pl.concat([pl.DataFrame(schema=SCHEMA), *ahead(self.pieces())], rechunk=False)
        self._check(frame, 0)
        self._refuse_nothing(len(frame))
        return frame

    @cached_property
    def sha256(self) -> str:
        """A hash of the canonical table: the same for the same rankings in any file."""
        order = ["query_id", "score", "doc_id"]
        return digest(self.table.sort(order, descending=[False, True, True]))

    def batches(self) -> Iterator[Batch]:
        """Rows in batches of whole queries, checked, for files whose queries stand together.

        Raises:
            ScatteredError: a query comes back after others; use ``whole`` instead.
            InputError, DuplicateError: as ``table``.
        """
        seen = np.zeros(0, np.uint64)
        rest, row = pl.DataFrame(schema=SCHEMA), 0
        for piece in self._with_end():
            last = piece is None
            frame = rest if piece is None else pl.concat([rest, piece], rechunk=False)
            starts = starts_of(frame["query_id"])
            end = len(frame) if last else int(starts[-1]) if len(starts) else 0
            rest = frame.slice(end)
            if not end:
                continue
            batch = frame.head(end)
            starts = starts[: np.searchsorted(starts, end)]
            seen = _new(batch["query_id"].gather(starts), seen)
            self._check(batch, row)
            yield Batch(batch, starts)
            row += end
        self._refuse_nothing(row)

    def whole(self) -> Batch:
        """All rows as one batch, wherever the rows of a query stand."""
        return Batch(self.table)

    def _with_end(self) -> Iterator[pl.DataFrame | None]:
        yield from ahead(self.pieces())
        yield None

    def _check(self, frame: pl.DataFrame, first_row: int) -> None:
        refuse_duplicates(frame, word="ranked", place=self.place, first_row=first_row)

    def _refuse_nothing(self, rows: int) -> None:
        if not rows and self.queries is None:
            raise InputError("there are no rankings in it.", source=self.place.label)


def starts_of(column: pl.Series) -> NDArray[np.int64]:
    """Where each stretch of equal values begins; ``(stretches,)``."""
    if column.is_empty():
        return np.zeros(0, np.int64)
    changed = (column != column.shift()).fill_null(value=True)
    return np.flatnonzero(changed.to_numpy())


def _new(heads: pl.Series, seen: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes of all queries so far, if none of the new ones was among them."""
    fresh = heads.hash().to_numpy()
    together = np.union1d(seen, fresh)
    if len(together) < len(seen) + len(fresh):
        raise ScatteredError
    return together
