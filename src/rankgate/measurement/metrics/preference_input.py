"""The input of metrics of preferences: the preferred documents in each judgment group.

The documents of a query are in one order: retrieved documents by rank, then all others. So a
preference for i over j is fulfilled if i < j and i is retrieved. Shapes: n judged documents of a
query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.metric_declaration import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Flags, Floats
    from rankgate.measurement.metrics.judged_block import Counts


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The preferences of one judge or one need; they do not contradict each other.

    Attributes:
        prefers: ``(n, n)``, True if the document of the row is preferred to that of the column.
        level: ``(n,)``, judged levels: 0 is not relevant; NaN without a judgment of the group.
        classes: True if preferences are those between classes of equal level.
    """

    prefers: Flags
    level: Floats
    classes: bool = True

    @classmethod
    def from_subgroups(cls, subgroups: Sequence[Floats]) -> Group:
        """Collect the preferences within each subgroup, and the preferences that follow from them.

        Args:
            subgroups: for each subgroup ``(n,)`` levels, NaN without a judgment.

        Raises:
            InputError: preferences are cyclic, or a document is both relevant and not relevant.
        """
        level = subgroups[0].copy()
        prefers = np.zeros((len(level), len(level)), bool)
        for levels in subgroups:
            prefers |= levels[:, None] > levels[None, :]
            is_in_both = ~np.isnan(levels) & ~np.isnan(level)
            if (is_in_both & ((levels > 0) != (level > 0))).any():
                raise InputError(
                    "a document has level 0 and a level above 0 in one judgment group; give it one of them.",
                    code="contradicting-preferences",
                )
            level = np.where(np.isnan(levels), level, levels)
        if len(subgroups) == 1:
            return cls(prefers, level)
        while (extended := prefers | (prefers.astype(np.float32) @ prefers > 0)).sum() > prefers.sum():
            prefers = extended
        if (prefers & prefers.T).any():
            raise InputError(
                "preferences of one judgment group go in a circle; put contradicting preferences into "
                "different groups.",
                code="preference-cycle",
            )
        return cls(prefers, level, classes=False)


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One query: documents with a judgment, those retrieved, and the judgment groups.

    Attributes:
        retrieved: m, how many of the documents with a judgment are retrieved.
        groups: the judgment groups.
        rank: ``(m,)``, the rank of each, among those without a judgment too.
        length: documents retrieved, with a judgment or not.
    """

    retrieved: int
    groups: tuple[Group, ...]
    rank: Counts
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Preferred:
    """The preferences of several queries."""

    queries: tuple[Query, ...]

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.queries)


def block(subgroups: Sequence[Floats], retrieved: int | None = None) -> Preferred:
    """Make a block of one query and one judgment group, with documents by rank.

    Args:
        subgroups: for each subgroup ``(n,)`` levels, NaN without a judgment.
        retrieved: the number of retrieved documents; by default all.
    """
    m = len(subgroups[0]) if retrieved is None else retrieved
    return Preferred((Query(m, (Group.from_subgroups(subgroups),), np.arange(1, m + 1), m),))


def of_grades(block: Any) -> Iterator[tuple[NDArray[np.int64], Preferred]]:  # noqa: ANN401
    """Convert grades to preferences: a document is preferred to all with a lower grade.

    Args:
        block: whole queries, a ``scoring.alignment.block.Block``.
    """
    aligned, index = block.aligned, block.judgments
    ends = np.searchsorted(aligned.owner, np.arange(len(aligned.codes) + 1))
    for t, code in enumerate(aligned.codes):
        rows = slice(ends[t], ends[t + 1])
        retrieved_grades = aligned.grade[rows]
        begin, end = index.offsets[code], index.offsets[code + 1]
        is_unretrieved = np.ones(end - begin, bool)
        places = aligned.judgment[rows]
        is_unretrieved[places[places >= 0] - begin] = False
        other_grades = index.grades[begin:end][is_unretrieved]
        grades = np.concatenate([retrieved_grades[retrieved_grades >= 0], other_grades[other_grades >= 0]])
        groups = (Group.from_subgroups([grades]),) if len(grades) else ()
        rank, length = aligned.rank[rows][retrieved_grades >= 0], int(aligned.retrieved[t])
        yield np.array([t]), Preferred((Query(len(rank), groups, rank, length),))


PREFERENCES = View("preferences", of_grades)
"""A `Preferred` block; of judgments with grades, a higher grade is preferred to a lower one."""
