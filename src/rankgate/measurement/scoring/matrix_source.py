"""Score matrices and lists of numbers without building ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.arrays import run_frames
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

    A matrix is read as deep as the plan needs; ties that are deeper are not counted.

    Attributes:
        matrix: the rankings.
        judgments: what they are measured against.
        seen: the items that are removed from the rankings.
    """

    matrix: MatrixInput
    judgments: JudgmentIndex
    seen: SeenItems | None = None
    tag: str | None = None
    duplicates: Duplicates | None = "error"

    @property
    def name(self) -> str:
        """The name of the matrix."""
        return self.matrix.name

    @property
    def label(self) -> str:
        """The name of the matrix, for errors."""
        return self.matrix.name

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        return pl.Series([], dtype=pl.String)

    @property
    def cautions(self) -> Mapping[str, str]:
        """No cautions: the form of a matrix cannot be mistaken."""
        return {}

    def first_rows(self) -> pl.DataFrame:
        """The first rows by ids."""
        return next(run_frames(self.matrix), pl.DataFrame(schema=SCHEMA))

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """Yield the judged items of row ranges, in every ranking mode of the plan.

        Raises:
            InputError: a score is infinite.
            DuplicateError: an item appears twice in a list.
        """
        for mode in plan.ways:
            alignment = mode.alignment
            depth = plan.depth(mode)
            for aligned in aligned_blocks(self.matrix, self.judgments, alignment, depth, self.seen):
                yield Block(mode, aligned, self.judgments)
