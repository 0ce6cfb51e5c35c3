"""Score matrices and lists of numbers without building ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.memory.arrays import pieces_of
from rankgate.data.run import SCHEMA
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.alignment.sheets import aligned_blocks

if TYPE_CHECKING:
    from rankgate.data.memory.matrices import MatrixInput
    from rankgate.data.run import Duplicates
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.alignment.sheets import SeenItems
    from rankgate.measurement.scoring.plan import Plan


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """Rankings that are a matrix or lists.

    A matrix is looked at as deep as the plan looks; ties that are deeper are not counted.

    Attributes:
        matrix: the rankings.
        judgments: what they are measured against.
        seen: what leaves the rankings.
    """

    matrix: MatrixInput
    judgments: JudgmentIndex
    seen: SeenItems | None = None
    tag: str | None = None
    duplicates: Duplicates | None = "error"

    @property
    def name(self) -> str:
        """What the matrix is called."""
        return self.matrix.name

    @property
    def label(self) -> str:
        """The same, for errors."""
        return self.matrix.name

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        return pl.Series([], dtype=pl.String)

    @property
    def cautions(self) -> Mapping[str, str]:
        """None: a matrix has no form that could be mistaken."""
        return {}

    def first_rows(self) -> pl.DataFrame:
        """The first rows by ids."""
        return next(pieces_of(self.matrix), pl.DataFrame(schema=SCHEMA))

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """The judged items of stretches of rows, in every way of the plan.

        Raises:
            InputError: a score is infinite.
            DuplicateError: an item appears twice in a list.
        """
        for way in plan.ways:
            how = way.alignment
            depth = plan.depth(way)
            for aligned in aligned_blocks(self.matrix, self.judgments, how, depth, self.seen):
                yield Block(way, aligned, self.judgments)
