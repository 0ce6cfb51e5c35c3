"""Blocks of whole queries, as kernels see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.views import RANKING, SAMPLED_POOLS, SUBTOPICS
from rankgate.measurement.scoring.alignment.blocks import blocks

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data.run import Duplicates
    from rankgate.measurement.metrics.views import View
    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment


@dataclass(frozen=True)
class Way:
    """How rankings are formed: what a document ranked twice is, and the alignment."""

    duplicates: Duplicates
    alignment: Alignment


@dataclass(frozen=True, eq=False)
class Block:
    """Whole queries, whose rankings are formed in one way.

    Attributes:
        way: how they are formed.
        aligned: their judged documents, with ranks and grades.
        judgments: what they are measured against.
    """

    way: Way
    aligned: Aligned
    judgments: JudgmentIndex

    def seen_as(self, view: View) -> Iterable[tuple[NDArray[np.int64], Any]]:
        """What kernels of a view see: places among the queries of the block, and the input."""
        if view == RANKING:
            return blocks(self.aligned, self.judgments)
        if view == SUBTOPICS:
            from rankgate.measurement.scoring.alignment.subtopics import subtopic_blocks

            return subtopic_blocks(self.aligned, self.judgments)
        if view == SAMPLED_POOLS:
            from rankgate.measurement.scoring.alignment.strata import pools

            return pools(self)
        assert view.build is not None
        return view.build(self)


class Origin(Protocol):
    """Where blocks come from, for results and errors."""

    @property
    def name(self) -> str:
        """What results call the run."""

    @property
    def tag(self) -> str | None:
        """The name in the run's file."""

    @property
    def label(self) -> str:
        """Where it comes from, for errors."""

    @property
    def judgments(self) -> JudgmentIndex:
        """What it is measured against."""

    @property
    def cautions(self) -> Mapping[str, str]:
        """What was noticed when the rankings were read, by code."""

    def first_rows(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of some rows, for messages where none of them is judged."""
