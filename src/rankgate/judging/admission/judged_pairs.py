"""Match the pairs that a judge was asked about with its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.ratings import Ratings
from rankgate.data.scales import on_scale
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels, Scale

PEOPLE, JUDGE = "people", "judge"
"""Names of the two raters in the agreement."""


@dataclass(frozen=True)
class AnsweredShare:
    """The share of the requested pairs that a judge answered.

    Attributes:
        asked: pairs that people graded, of the pool if one was named.
        answered: those that the judge graded too, with a grade of the scale.
        outside: those that the judge gave a grade which the scale does not have.
        silent_queries: queries in which the judge answered nothing.
        grades: ``grade`` (people's), ``asked``, ``answered``, ``share``.
    """

    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "grades": {
            "grade": pl.Float64,
            "asked": pl.Int64,
            "answered": pl.Int64,
            "share": pl.Float64,
        },
    }

    asked: int
    answered: int
    outside: int
    silent_queries: int
    grades: pl.DataFrame

    @property
    def share(self) -> float:
        """The share answered of the pairs that the judge was asked about."""
        return self.answered / self.asked


def judged_pairs(
    people: Qrels, judge: Qrels, scale: Scale | None = None, pool: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, AnsweredShare]:
    """The pairs that both graded, and how much the judge left out.

    Args:
        people: judgments by people.
        judge: judgments by the judge.
        scale: the grades that were possible; another grade of the judge is not an answer.
        pool: ``query_id`` and ``doc_id`` that the judge was asked about; without it, every pair
            that people graded.

    Returns:
        ``query_id``, ``doc_id``, ``people``, ``judge`` of the pairs that both graded; the answers.

    Raises:
        InputError: a grade of people that the scale does not have; no pair that both graded.
    """
    people_grades = people.table.filter(pl.col("grade") >= 0).select(
        *PAIR, pl.col("grade").alias(PEOPLE)
    )
    if pool is not None:
        people_grades = people_grades.join(
            pool.select(PAIR), on=PAIR, how="semi", maintain_order="left"
        )
    if scale is not None:
        _refuse_outside(people_grades, people, scale)
    judge_grades = judge.table.filter(pl.col("grade") >= 0).select(
        *PAIR, pl.col("grade").alias(JUDGE)
    )
    fits_scale = on_scale(pl.col(JUDGE), scale) if scale else pl.lit(value=True)
    all_pairs = people_grades.join(judge_grades, on=PAIR, how="left", maintain_order="left")
    common_pairs = all_pairs.filter(pl.col(JUDGE).is_not_null() & fits_scale)
    if common_pairs.is_empty():
        problem = f"no pair is judged in {people.name} too; judge some of the same pairs."
        raise InputError(problem, source=judge.place.label, code="no-common-pairs")
    is_answered = pl.col(JUDGE).is_not_null() & fits_scale
    grades = all_pairs.group_by(pl.col(PEOPLE).alias("grade")).agg(
        pl.len().cast(pl.Int64).alias("asked"),
        is_answered.sum().cast(pl.Int64).alias("answered"),
        is_answered.mean().alias("share"),
    )
    silent_queries = all_pairs["query_id"].n_unique() - common_pairs["query_id"].n_unique()
    outside_count = all_pairs.filter(pl.col(JUDGE).is_not_null() & ~fits_scale).height
    return common_pairs, AnsweredShare(
        len(all_pairs), len(common_pairs), outside_count, silent_queries, grades.sort("grade")
    )


def asked_pairs_caution(people: Qrels, answers: AnsweredShare) -> list[str]:
    """A caution where the judge was asked about a part of the pairs that people graded."""
    graded_count = people.table.filter(pl.col("grade") >= 0).height
    if answers.asked >= graded_count:
        return []
    text = (
        f"the judge was asked about {answers.asked:,} of the {graded_count:,} pairs that people "
        "graded, "
        "by --asked; rankgate does not know who named them. If they were named after the judge "
        "answered, it is measured only where it is right: draw them before (rankgate admit-plan, "
        "or pool), or leave --asked out"
    )
    return [text]


def as_ratings(pairs: pl.DataFrame) -> Ratings:
    """The pairs that both graded, as ratings of two raters."""
    return Ratings(
        pairs.unpivot([PEOPLE, JUDGE], index=PAIR, variable_name="rater", value_name="grade")
    )


def _refuse_outside(people_grades: pl.DataFrame, people: Qrels, scale: Scale) -> None:
    outside_rows = people_grades.filter(~on_scale(pl.col(PEOPLE), scale))
    if len(outside_rows):
        query, document, grade = outside_rows.row(0)
        problem = (
            f"grade {grade:g} of '{document}' for query '{query}' is not on the scale from "
            f"{scale.lowest:g} to {scale.highest:g} ({len(outside_rows)} such grades); correct "
            "them, or name another scale."
        )
        raise InputError(problem, source=people.place.label, code="grade-outside-scale")
