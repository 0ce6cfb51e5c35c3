"""Training data by ids or numbers: seen items and their counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.logs.user_items import Meetings, packed, read_meetings
from rankgate.data.memory.matrices import MatrixInput, is_source, pairs_of, source_of
from rankgate.measurement.scoring.alignment.sheets import SeenItems

if TYPE_CHECKING:
    from rankgate.data import Run

_PAIR = ["query_id", "doc_id"]


@dataclass
class Train:
    """Training: what systems learned from, by ids or by numbers.

    Attributes:
        given: a path, a frame, or a matrix in which what is not 0 was met.
    """

    given: Any

    @cached_property
    def source(self) -> MatrixInput | None:
        """The matrix, if it is one."""
        return source_of(self.given, "train") if is_source(self.given) else None

    @cached_property
    def met(self) -> Meetings:
        """Who met which item.

        Raises:
            InputError: a log that cannot be read.
        """
        if self.source is None:
            return read_meetings(self.given)
        owner, item = pairs_of(self.source)
        users, items = self.source.users.names, self.source.items.names
        return Meetings.of(users, items, packed(owner, item))

    def read(self) -> None:
        """Read it now, so that errors in it are reported before anything is computed.

        Raises:
            InputError: as `met`.
        """
        if self.source is None:
            self.met  # noqa: B018 - kept from here on

    def seen(self, run: MatrixInput) -> SeenItems:
        """The same by the numbers of a run."""
        return SeenItems.of(self.source or self.met, run)

    def without(self, run: Run) -> Run:
        """A run by ids without it."""
        return restrict_run(run, self.met, inside=False)


def restrict_run(run: Run, pairs: pl.DataFrame | Meetings | None, *, inside: bool) -> Run:
    """A run with only some pairs, or without them; as it is for None."""
    if pairs is None:
        return run
    some = pairs.select(_PAIR).unique() if isinstance(pairs, pl.DataFrame) else None

    def pieces() -> Iterator[pl.DataFrame]:
        for frame in run.pieces():
            if isinstance(pairs, Meetings):
                met = pairs.has(frame["query_id"], frame["doc_id"])
                yield frame.filter(pl.Series(met == inside))
                continue
            assert some is not None
            way = "semi" if inside else "anti"
            yield frame.join(some, on=_PAIR, how=way, maintain_order="left")  # type: ignore[arg-type]

    return replace(run, pieces=pieces, rankings=None)
