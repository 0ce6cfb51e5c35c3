"""The grades of a judge that is to be admitted, and how it was asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.frozen import ByContent, dataclass
from rankgate.data.collection import Collection
from rankgate.data.repeated import RepeatedJudgments
from rankgate.judging.rating.pool_tasks import pool_table

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.inputs import QrelsLike, RatingsLike
    from rankgate.data.qrels import Qrels
    from rankgate.judging.rating.pool_tasks import PoolLike


@dataclass(frozen=True)
class JudgeGrades(ByContent):
    """Grades by a judge, a language model or clicks, and how it was asked for them.

    Attributes:
        judgments: its grades, or a `Collection` of them.
        asked: the pool that the judge was asked about, drawn before it answered, such as that of
            admit-plan; without it, every pair that people graded. Where it leaves out pairs that
            people graded, the result says how many: a judge whose pairs were named after it
            answered is measured where it is right.
        attacked: ratings by the judge of the same pairs under attack, as rate --attack writes.
        repeated: the judge's grades by what was varied, as ``model:A,prompt:1=FILE``; every level
            goes with every level of the others. Shows what each adds to the variance of grades.

    Raises:
        UsageError: repetitions that are not crossed.
    """

    judgments: Collection | QrelsLike
    asked: PoolLike | None = None
    attacked: Sequence[RatingsLike] = ()
    repeated: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if self.repeated:
            RepeatedJudgments.of(list(self.repeated))  # labels that do not fit are an error now

    @classmethod
    def of(cls, judge: JudgeGradesLike) -> JudgeGrades:
        """Return grades as they are, or those of judgments alone."""
        return judge if isinstance(judge, JudgeGrades) else cls(judge)

    def qrels(self) -> Qrels:
        """The grades.

        Raises:
            InputError: judgments that cannot be read.
        """
        return Collection.of(self.judgments).qrels()

    def pool(self) -> pl.DataFrame | None:
        """``query_id`` and ``doc_id`` of the pairs that the judge was asked about; None if unknown.

        Raises:
            InputError: a file that is not a pool, with its line; an empty one.
        """
        return None if self.asked is None else pool_table(self.asked)


JudgeGradesLike: TypeAlias = "JudgeGrades | Collection | QrelsLike"
"""A judge's grades with how it was asked, or the grades alone."""
