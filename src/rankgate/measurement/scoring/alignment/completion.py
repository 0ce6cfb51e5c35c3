"""Complete the judgments of the documents in a batch, without another reading."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.align import align
from rankgate.measurement.scoring.alignment.first import first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.alignment.met import AlignedRun
    from rankgate.measurement.scoring.convention import Alignment

_OPEN_GRADE = np.inf  # represents the grade that is to be given


@dataclass(frozen=True)
class CompletedRanks:
    """Rankings of a batch in which every document down to a cutoff has a grade.

    Attributes:
        aligned: the documents with a judgment, and those that get one, whose grade is open.
        met: the batch.
        added: ``(n,)``, the query of each document that gets a judgment, its code in the index.
        replaced: judgments below 0 that it replaces, by their place in the index.
    """

    aligned: JudgedRanks
    met: AlignedRun
    added: NDArray[np.int64]
    replaced: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        aligned_run: AlignedRun,
        search_alignment: Alignment,
        alignment: Alignment,
        cutoff: int | None,
    ) -> CompletedRanks:
        """Find the documents without a grade of 0 or more.

        Args:
            aligned_run: a batch aligned with judgments.
            search_alignment: the alignment of the rankings that are searched.
            alignment: the alignment of the rankings that are scored.
            cutoff: the depth of the search; None is the whole list.
        """
        top_rows = first(aligned_run, search_alignment, cutoff).row
        grades = np.full(len(aligned_run.scores), np.nan)
        grades[aligned_run.row] = aligned_run.grade
        ungraded_rows = top_rows[~(grades[top_rows] >= 0)]
        old = (
            ~np.isin(aligned_run.row, ungraded_rows)
            if (aligned_run.grade < 0).any()
            else np.ones(len(aligned_run.row), bool)
        )
        rows = np.concatenate([aligned_run.row[old], ungraded_rows])
        row_grades = np.concatenate(
            [aligned_run.grade[old], np.full(len(ungraded_rows), _OPEN_GRADE)]
        )
        judgment = np.concatenate([aligned_run.judgment[old], np.full(len(ungraded_rows), -1)])
        row_order = np.argsort(rows, kind="stable")
        rows, row_grades, judgment = rows[row_order], row_grades[row_order], judgment[row_order]
        aligned = align(
            replace(aligned_run, row=rows, grade=row_grades, judgment=judgment), alignment
        )
        return cls(
            aligned,
            aligned_run,
            aligned_run.codes[aligned_run.owner[ungraded_rows]],
            aligned_run.judgment[~old],
        )

    def graded(self, grade: float) -> JudgedRanks:
        """The rankings with one grade for all documents whose grade is open."""
        grades = np.where(np.isinf(self.aligned.grade), grade, self.aligned.grade)
        return replace(self.aligned, grade=grades)

    def index(self, index: JudgmentIndex, grade: float) -> JudgmentIndex:
        """The completed judgments of the batch's queries; those of others are left out."""
        T = len(index.query_ids)
        owner, judgment = index.rows(self.met.codes)
        old = (
            ~np.isin(judgment, self.replaced)
            if len(self.replaced)
            else np.ones(len(judgment), bool)
        )
        query_codes, grades = self.met.codes[owner[old]], index.grades[judgment[old]]
        old_counts, new = (
            np.bincount(query_codes, minlength=T),
            np.bincount(self.added, minlength=T),
        )
        offsets = np.append(0, np.cumsum(old_counts + new))
        # judgments of a query are sorted by falling grade: the new ones are between the others
        inside = np.arange(len(query_codes)) - _begins(query_codes, self.met.codes, old_counts)
        places = offsets[query_codes] + inside + np.where(grades >= grade, 0, new[query_codes])
        all_grades = np.full(offsets[-1], grade)
        all_grades[places] = grades
        return replace(index, offsets=offsets, grades=all_grades)


def _begins(
    query_codes: NDArray[np.int64], codes: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each judgment where those of its query begin, the queries being in the batch's order."""
    lengths = counts[codes]
    first = np.zeros(len(counts), np.int64)
    first[codes] = np.cumsum(lengths) - lengths
    return first[query_codes]
