"""What systems learned from, by ids or by numbers: it leaves lists, and says what was known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.ids import present, rising
from rankgate.data.matrices import Source, is_source, pairs_of, source_of
from rankgate.metrics.lists import NONE
from rankgate.scoring.sheets import Seen
from rankgate.scoring.world import World, by_row, places
from rankgate.services.card_inputs import kept, pairs_in

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.metrics.lists.listed import Codes


@dataclass
class Train:
    """Training: what systems learned from, by ids or by numbers.

    Attributes:
        given: a path, a frame, or a matrix in which what is not 0 was met.
    """

    given: Any

    @cached_property
    def source(self) -> Source | None:
        """The matrix, if it is one."""
        return source_of(self.given, "train") if is_source(self.given) else None

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of every interaction."""
        return pairs_in(self.given).select("query_id", "doc_id")

    @cached_property
    def met(self) -> tuple[Codes, Codes]:
        """Of a matrix the row and the item of every interaction, each pair once."""
        assert self.source is not None  # noqa: S101 - the caller looked
        owner, item = pairs_of(self.source)
        keys = rising(owner * self.source.items.size + item)
        return np.divmod(keys, max(1, self.source.items.size))

    def seen(self, run: Source) -> Seen:
        """The same by the numbers of a run."""
        return Seen.of(self.source or self.pairs, run)

    def without(self, run: Run) -> Run:
        """A run by ids without it."""
        return kept(run, self.pairs, inside=False)

    @property
    def items(self) -> pl.Series:
        """The items of a matrix that were met; none of anything else."""
        if self.source is None:
            return pl.Series([], dtype=pl.String)
        return self.source.items.names.gather(present(self.met[1]))

    def learned(self, world: World, *, history: bool) -> World:
        """A world with what a matrix says; as it is for anything else, of which tables know."""
        if self.source is None:
            return world
        owner, item = self.met
        place = places(self.source.items.names, world.items)[item]
        if history:
            row = places(self.source.users.names, world.queries)[owner]
            held = row != NONE
            by = np.argsort(row[held], kind="stable")
            told = by_row(row[held][by], place[held][by], len(world.queries))
            return replace(world, history=told)
        seen = np.bincount(place, minlength=len(world.items))
        return replace(world, seen=seen, people=len(present(owner)))
