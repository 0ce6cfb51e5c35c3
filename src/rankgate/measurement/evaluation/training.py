"""Training data by ids or numbers: seen items and their counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.logs.user_items import UserItems, pack_pairs, read_user_items
from rankgate.data.memory.matrices import MatrixInput, is_source, make_source, nonzero_pairs
from rankgate.measurement.scoring.alignment.sheets import SeenItems

if TYPE_CHECKING:
    from rankgate.data import Run

_PAIR = ["query_id", "doc_id"]


@dataclass
class TrainingData:
    """Training data, by ids or by numbers.

    Attributes:
        given: a path, a frame, or a matrix in which every non-zero cell is an interaction.
    """

    given: Any

    @cached_property
    def source(self) -> MatrixInput | None:
        """The matrix, if it is one."""
        return make_source(self.given, "train") if is_source(self.given) else None

    @cached_property
    def met(self) -> UserItems:
        """The items of each user.

        Raises:
            InputError: a log that cannot be read.
        """
        if self.source is None:
            return read_user_items(self.given)
        owner, item = nonzero_pairs(self.source)
        users, items = self.source.users.names, self.source.items.names
        return UserItems.of(users, items, pack_pairs(owner, item))

    def read(self) -> None:
        """Read the data now, so that errors in them are reported before anything is computed.

        Raises:
            InputError: as `met`.
        """
        if self.source is None:
            self.met  # noqa: B018 - kept from here on

    def seen(self, run: MatrixInput) -> SeenItems:
        """The seen items by the numbers of a run."""
        return SeenItems.of(self.source or self.met, run)

    def without(self, run: Run) -> Run:
        """A run by ids without the items in training."""
        return restrict_run(run, self.met, inside=False)


def restrict_run(run: Run, pairs: pl.DataFrame | UserItems | None, *, inside: bool) -> Run:
    """Limit a run to some pairs, or remove them; unchanged for None."""
    if pairs is None:
        return run
    unique_pairs = pairs.select(_PAIR).unique() if isinstance(pairs, pl.DataFrame) else None

    def pieces() -> Iterator[pl.DataFrame]:
        for frame in run.pieces():
            if isinstance(pairs, UserItems):
                is_in_training = pairs.has(frame["query_id"], frame["doc_id"])
                yield frame.filter(pl.Series(is_in_training == inside))
                continue
            assert unique_pairs is not None
            join_type = "semi" if inside else "anti"
            yield frame.join(unique_pairs, on=_PAIR, how=join_type, maintain_order="left")  # type: ignore[arg-type]

    return replace(run, pieces=pieces, rankings=None)
