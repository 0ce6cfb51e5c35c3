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
    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment


@dataclass(frozen=True)
class RankingMode:
    """The rules that form rankings: the rule for duplicates and the alignment."""

    duplicates: Duplicates
    alignment: Alignment


@dataclass(frozen=True, eq=False)
class Block:
    """Whole queries, ranked in one mode.

    Attributes:
        way: how they are formed.
        aligned: their judged documents, with ranks and grades.
        judgments: what they are measured against.
    """

    way: RankingMode
    aligned: JudgedRanks
    judgments: JudgmentIndex

    def seen_as(self, view: View) -> Iterable[tuple[NDArray[np.int64], Any]]:
        """The input of kernels of a view, with places among the queries of the block."""
        if view == RANKING:
            return blocks(self.aligned, self.judgments)
        if view == SUBTOPICS:
            from rankgate.measurement.scoring.alignment.subtopics import subtopic_blocks

            return subtopic_blocks(self.aligned, self.judgments)
        if view == SAMPLED_POOLS:
            from rankgate.measurement.scoring.alignment.strata import sampled_pools

            return sampled_pools(self)
        assert view.build is not None
        return view.build(self)


class BlockSource(Protocol):
    """The source of blocks, for results and errors."""

    @property
    def name(self) -> str:
        """The run's name in results."""

    @property
    def tag(self) -> str | None:
        """The name in the run's file."""

    @property
    def label(self) -> str:
        """The source in errors."""

    @property
    def judgments(self) -> JudgmentIndex:
        """The judgments that the run is measured against."""

    @property
    def cautions(self) -> Mapping[str, str]:
        """Cautions from reading the rankings, by code."""

    def first_rows(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of some rows, for messages where none of them is judged."""
