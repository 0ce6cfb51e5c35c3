"""Judgments completed for the documents that a batch shows, without reading anything again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.align import align
from rankgate.measurement.scoring.alignment.first import first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.alignment.met import Met
    from rankgate.measurement.scoring.convention import Alignment

_OPEN = np.inf  # represents the grade that is to be given


@dataclass(frozen=True)
class Completed:
    """Rankings of a batch in which every document down to a cutoff has a grade.

    Attributes:
        aligned: the documents with a judgment, and those that get one, whose grade is open.
        met: the batch.
        added: ``(n,)``, the query of each document that gets a judgment, its code in the index.
        replaced: judgments below 0 that it takes the place of, by their place in the index.
    """

    aligned: Aligned
    met: Met
    added: NDArray[np.int64]
    replaced: NDArray[np.int64]

    @classmethod
    def of(cls, met: Met, seen: Alignment, way: Alignment, cutoff: int | None) -> Completed:
        """Find what has no grade of 0 or more.

        Args:
            met: a batch and judgments brought together.
            seen: how the rankings are formed in which one looks.
            way: how those are formed that are to be scored.
            cutoff: how deep one looks; None is through the whole list.
        """
        shown = first(met, seen, cutoff).row
        grades = np.full(len(met.scores), np.nan)
        grades[met.row] = met.grade
        fresh = shown[~(grades[shown] >= 0)]
        old = ~np.isin(met.row, fresh) if (met.grade < 0).any() else np.ones(len(met.row), bool)
        rows = np.concatenate([met.row[old], fresh])
        given = np.concatenate([met.grade[old], np.full(len(fresh), _OPEN)])
        judgment = np.concatenate([met.judgment[old], np.full(len(fresh), -1)])
        by = np.argsort(rows, kind="stable")
        rows, given, judgment = rows[by], given[by], judgment[by]
        aligned = align(replace(met, row=rows, grade=given, judgment=judgment), way)
        return cls(aligned, met, met.codes[met.owner[fresh]], met.judgment[~old])

    def graded(self, grade: float) -> Aligned:
        """The rankings with one grade for all that was open."""
        grades = np.where(np.isinf(self.aligned.grade), grade, self.aligned.grade)
        return replace(self.aligned, grade=grades)

    def index(self, index: JudgmentIndex, grade: float) -> JudgmentIndex:
        """The completed judgments of the batch's queries; those of others are left out."""
        T = len(index.query_ids)
        owner, kept = index.rows(self.met.codes)
        old = ~np.isin(kept, self.replaced) if len(self.replaced) else np.ones(len(kept), bool)
        whose, grades = self.met.codes[owner[old]], index.grades[kept[old]]
        own, new = np.bincount(whose, minlength=T), np.bincount(self.added, minlength=T)
        offsets = np.append(0, np.cumsum(own + new))
        # judgments of a query are sorted by falling grade: the new ones are between the others
        inside = np.arange(len(whose)) - _begins(whose, self.met.codes, own)
        places = offsets[whose] + inside + np.where(grades >= grade, 0, new[whose])
        every = np.full(offsets[-1], grade)
        every[places] = grades
        return replace(index, offsets=offsets, grades=every)


def _begins(
    whose: NDArray[np.int64], codes: NDArray[np.int64], own: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each judgment where those of its query begin, the queries being in the batch's order."""
    lengths = own[codes]
    first = np.zeros(len(own), np.int64)
    first[codes] = np.cumsum(lengths) - lengths
    return first[whose]
