"""The judged pairs of an admission: grades of a judge, bias, attacks and repetitions.

The module defines the judge's grades and the prompt, matches the requested pairs with the answers,
and computes:

- the bias of a judge, and its confusion matrix with people,
- changes of a judge's grades after changes of documents that must not matter,
- variance components of a judge's grades by prompt, model, temperature and repetition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.number_formats import count_noun, finite_or_none
from rankgate.data import read_qrels
from rankgate.data.collection import Collection
from rankgate.data.qrels import Ratings, RepeatedJudgments, on_scale
from rankgate.data.read import read_ratings
from rankgate.data.table_rows import in_row_order
from rankgate.judging.counting_ratings import PAIR
from rankgate.judging.rating_tasks import pool_table
from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.rater_agreement import FEWEST_CLUSTERS, jackknife
from rankgate.measurement.stats.variance_components import facets

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import QrelsLike, RatingsLike
    from rankgate.data.qrels import Qrels, Scale
    from rankgate.judging.rating_tasks import PoolLike


@dataclass(frozen=True)
class JudgeGrades(ByContent):
    """Grades by a judge, a language model or clicks, and the way it was prompted.

    Attributes:
        judgments: its grades, or a `Collection` of them.
        asked: the pool sent to the judge, drawn before it answered, such as that of admit-plan; by
            default every pair that people graded. If it leaves out pairs that people graded, the
            result states their number: if the pairs are chosen after the answers, the sample may
            hold only correct answers.
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
            RepeatedJudgments.from_judgments(
                list(self.repeated)
            )  # labels that do not fit raise an error before the work

    @classmethod
    def of(cls, judge: JudgeGradesLike) -> JudgeGrades:
        """Return grades unchanged, or the grades of judgments."""
        return judge if isinstance(judge, JudgeGrades) else cls(judge)

    def qrels(self) -> Qrels:
        """The grades.

        Raises:
            InputError: judgments that cannot be read.
        """
        return Collection.of(self.judgments).qrels()

    def pool(self) -> pl.DataFrame | None:
        """``query_id`` and ``doc_id`` of the pairs sent to the judge; None if unknown.

        Raises:
            InputError: a file that is not a pool, with its line; an empty one.
        """
        return None if self.asked is None else pool_table(self.asked)


JudgeGradesLike: TypeAlias = "JudgeGrades | Collection | QrelsLike"
"""A judge's grades, with or without the prompt."""


PEOPLE, JUDGE = "people", "judge"
"""The names of the two raters in the agreement."""


ANSWERS = Columns(
    "One row per grade of people.",
    Column("grade", pl.Float64, "the grade that people gave", "grade", header="people"),
    Column("asked", pl.Int64, "pairs that people gave this grade", unit="pairs"),
    Column("answered", pl.Int64, "pairs of these that the judge graded too", unit="pairs"),
    Column("share", pl.Float64, "answered / asked", ".0%"),
)


@dataclass(frozen=True)
class AnsweredShare:
    """The share of the requested pairs that a judge answered.

    Attributes:
        asked: pairs that people graded; if there is a pool, only pairs from the pool.
        answered: the number of these that the judge graded with a grade on the scale.
        outside: pairs with a grade of the judge that is not on the scale.
        silent_queries: queries without an answer of the judge.
        grades: the columns of `ANSWERS`.
    """

    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"grades": ANSWERS}

    asked: int
    answered: int
    outside: int
    silent_queries: int
    grades: pl.DataFrame

    @property
    def share(self) -> float:
        """The share of the requested pairs that the judge answered."""
        return self.answered / self.asked


def judged_pairs(
    people: Qrels, judge: Qrels, scale: Scale | None = None, pool: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, AnsweredShare]:
    """The pairs that people and the judge graded, and the share of answered pairs.

    Args:
        people: judgments by people.
        judge: judgments by the judge.
        scale: the possible grades; another grade of the judge is not an answer.
        pool: ``query_id`` and ``doc_id`` of the pairs sent to the judge; without it, every pair
            that people graded.

    Returns:
        ``query_id``, ``doc_id``, ``people``, ``judge`` of the pairs that both graded; the share of
        answered pairs.

    Raises:
        InputError: a grade of people is not on the scale; there is no pair that both graded.
    """
    people_grades = people.table.filter(pl.col("grade") >= 0).select(*PAIR, pl.col("grade").alias(PEOPLE))
    if pool is not None:
        people_grades = people_grades.join(pool.select(PAIR), on=PAIR, how="semi", maintain_order="left")
    if scale is not None:
        _refuse_outside(people_grades, people, scale)
    judge_grades = judge.table.filter(pl.col("grade") >= 0).select(*PAIR, pl.col("grade").alias(JUDGE))
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
    """A caution if the judge received only some of the pairs that people graded."""
    graded_count = people.table.filter(pl.col("grade") >= 0).height
    if answers.asked >= graded_count:
        return []
    text = (
        f"the judge received {answers.asked:,} of the {count_noun(graded_count, 'pair')} that people graded, "
        "by --asked; rankgate cannot check how they were selected. If they were selected after the judge "
        "answered, only its correct answers may be measured: draw them before (rankgate admit-plan, or "
        "pool), or leave --asked out"
    )
    return [text]


def as_ratings(pairs: pl.DataFrame) -> Ratings:
    """The pairs that people and the judge graded, as ratings of two raters."""
    return Ratings(pairs.unpivot([PEOPLE, JUDGE], index=PAIR, variable_name="rater", value_name="grade"))


def _refuse_outside(people_grades: pl.DataFrame, people: Qrels, scale: Scale) -> None:
    outside_rows = people_grades.filter(~on_scale(pl.col(PEOPLE), scale))
    if len(outside_rows):
        query, document, grade = outside_rows.row(0)
        problem = (
            f"grade {grade:g} of '{document}' for query '{query}' is not on the scale from {scale.lowest:g} "
            f"to {scale.highest:g} "
            f"({count_noun(len(outside_rows), 'such grade')}); correct them, or name another scale."
        )
        raise InputError(problem, source=people.place.label, code="grade-outside-scale")


BIAS_BY_GRADE = Columns(
    "One row per grade of people.",
    Column("grade", pl.Float64, "the grade that people gave", "grade", header="people"),
    Column("pairs", pl.Int64, "pairs that people gave this grade"),
    Column("mean", pl.Float64, "the judge's mean grade of these pairs", ".2f", header="judge's mean"),
    Column("bias", pl.Float64, "the judge's mean grade less people's grade", "signed"),
    Column("equal", pl.Float64, "the share of these pairs that the judge gave the same grade", ".0%"),
    Column(
        "low",
        pl.Float64,
        "the low end of the 95 % interval of bias, which leaves out one query at a time",
        "+.2f",
        header="95% interval",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of the 95 % interval of bias, which leaves out one query at a time",
        "+.2f",
    ),
)


CONFUSION = Columns(
    "One row per grade of people and of the judge.",
    Column("people", pl.Float64, "people's grade", "grade"),
    Column("judge", pl.Float64, "the judge's grade", "grade"),
    Column("pairs", pl.Int64, "pairs with both grades"),
    Column("share", pl.Float64, "their share of the pairs that people gave this grade", ".0%"),
    Column(
        "low",
        pl.Float64,
        "the low end of the 95 % interval of share, which leaves out one query at a time",
        ".0%",
        header="95% interval",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of the 95 % interval of share, which leaves out one query at a time",
        ".0%",
    ),
)


@dataclass(frozen=True)
class Bias:
    """Differences between the judge's grades and people's.

    Attributes:
        mean, low, high: the mean difference over pairs with a 95 % interval; pairs of a query
            count as one observation, and fewer than 15 queries have no interval.
        grades: the columns of `BIAS_BY_GRADE`; low and high are of the bias.
        confusion: the columns of `CONFUSION`; low and high are of the share.
    """

    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"grades": BIAS_BY_GRADE, "confusion": CONFUSION}

    mean: float | None
    low: float | None
    high: float | None
    grades: pl.DataFrame
    confusion: pl.DataFrame


def bias_of(pairs: pl.DataFrame) -> Bias:
    """The judge's mean grade minus people's, overall and for each grade of people."""
    gap = pl.col(JUDGE) - pl.col(PEOPLE)
    by_query = pairs.group_by("query_id", maintain_order=True).agg(
        in_row_order(gap).mean().alias("gap"), pl.len()
    )
    weights = by_query["len"].to_numpy().astype(float)
    estimate = t_interval(by_query["gap"].to_numpy(), weights=weights)
    mean, low, high = (
        finite_or_none(float(figure[0])) for figure in (estimate.mean, estimate.low, estimate.high)
    )
    if len(by_query) < FEWEST_CLUSTERS:
        low = high = None
    rows = [
        (
            people,
            grade,
            grade_pairs.filter(pl.col(JUDGE) == grade).height,
            float((grade_pairs[JUDGE] == grade).mean() or 0.0),
            *share_over_queries(grade_pairs, pl.col(JUDGE) == grade),
        )
        for (people,), grade_pairs in pairs.group_by(PEOPLE)
        for grade in grade_pairs[JUDGE].unique().to_list()
    ]
    table = pl.DataFrame(rows, schema=Bias.SCHEMAS["confusion"], orient="row")
    return Bias(mean, low, high, _grades(pairs.with_columns(gap.alias("gap"))), table.sort(PEOPLE, JUDGE))


def _grades(pairs: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("gap")
    grades = pairs.group_by(pl.col(PEOPLE).alias("grade")).agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        in_row_order(pl.col(JUDGE)).mean().alias("mean"),
        in_row_order(gap).mean().alias("bias"),
        (gap == 0).mean().alias("equal"),
    )
    intervals = [
        (grade, *share_over_queries(grade_pairs, gap)) for (grade,), grade_pairs in pairs.group_by(PEOPLE)
    ]
    schema = {name: BIAS_BY_GRADE[name] for name in ("grade", "low", "high")}
    joined = grades.join(pl.DataFrame(intervals, schema=schema, orient="row"), on="grade")
    return joined.sort("grade")


def share_over_queries(pairs: pl.DataFrame, value: pl.Expr) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean over pairs, leaving out one query at a time; None for few."""
    by_query = pairs.group_by("query_id", maintain_order=True).agg(
        in_row_order(value.cast(pl.Float64)).sum().alias("sum"), pl.len()
    )
    total, n = by_query["sum"].to_numpy(), by_query["len"].to_numpy().astype(np.float64)
    if len(n) < FEWEST_CLUSTERS:
        return None, None
    interval = jackknife(float(total.sum() / n.sum()), (total.sum() - total) / (n.sum() - n))
    return (interval.low, interval.high) if np.isfinite(interval.low) else (None, None)


ATTACKS = Columns(
    "One row per attack; no rows without ratings under attack.",
    Column("attack", pl.String, "the name of the attack"),
    Column("pairs", pl.Int64, "pairs that were attacked"),
    Column("queries", pl.Int64, "their queries"),
    Column("raised", pl.Float64, "the share of pairs whose grade rises", ".3f"),
    Column("low", pl.Float64, "the low end of the 95 % interval of raised", "+.3f", header="95% interval"),
    Column("high", pl.Float64, "the high end of the 95 % interval of raised", "+.3f"),
    Column("lowered", pl.Float64, "the share of pairs whose grade falls", ".3f"),
    Column("shift", pl.Float64, "the mean difference of grades", "signed", header="mean shift"),
)

_ATTACKED_GRADE = "attacked"


def attacks_on(judge: Qrels, attacked: Sequence[RatingsLike]) -> pl.DataFrame:
    """Compare a judge's grades with its grades of changed documents, one attack per rater.

    Args:
        judge: the judge's grades of unchanged documents.
        attacked: ratings of the same pairs under attack, as written by ``rate --attack``.

    Raises:
        InputError: ratings cannot be read; the judge has graded none of these pairs.
    """
    plain = judge.table.filter(pl.col("grade") >= 0).select(*PAIR, pl.col("grade").alias(JUDGE))
    rows = []
    for file in attacked:
        ratings = read_ratings(file)
        graded_ratings = ratings.table.filter(pl.col("grade").is_not_null())
        last = graded_ratings.unique([*PAIR, "rater"], keep="last", maintain_order=True)
        common_pairs = last.select(*PAIR, "rater", pl.col("grade").alias(_ATTACKED_GRADE)).join(
            plain, on=PAIR
        )
        if common_pairs.is_empty():
            problem = f"no pair is graded in {judge.name} too; rate the same pool under attack."
            raise InputError(problem, source=ratings.name, code="no-common-pairs")
        rows += [
            _attack_row(str(rater), attack_pairs) for (rater,), attack_pairs in common_pairs.group_by("rater")
        ]
    return pl.DataFrame(rows, schema=ATTACKS, orient="row").sort("attack")


def _attack_row(attack: str, pairs: pl.DataFrame) -> tuple[object, ...]:
    is_raised = pl.col(_ATTACKED_GRADE) > pl.col(JUDGE)
    is_lowered = pl.col(_ATTACKED_GRADE) < pl.col(JUDGE)
    means = pairs.select(
        is_raised.mean().alias("raised"),
        is_lowered.mean().alias("lowered"),
        (pl.col(_ATTACKED_GRADE) - pl.col(JUDGE)).mean().alias("shift"),
    ).row(0)
    raised, lowered, shift = means
    bounds = share_over_queries(pairs, is_raised)
    return attack, len(pairs), pairs["query_id"].n_unique(), raised, *bounds, lowered, shift


PAIRS = "pairs"
"""The facet of queries and documents that a judge should distinguish."""

COMPONENTS = Columns(
    "One row per source of the variance of a grade of the judge; no rows without repetitions.",
    Column("source", pl.String, "the repeated facet, or an interaction"),
    Column("levels", pl.Int64, "how often it was repeated", "queries"),
    Column("variance", pl.Float64, "the variance that it adds"),
    Column("share", pl.Float64, "its share of the variance", ".1%"),
)


def grade_components(repeated: Sequence[object]) -> pl.DataFrame:
    """The variance components of one grade, by the repeated facets.

    A grade is the mean plus an effect of the pair, of each facet and of their interactions, all at
    random; the variances come from the analysis of variance of a crossed design
    (`stats.facets`). Only pairs that all sets graded count.

    Args:
        repeated: grades by label, as ``model:A,prompt:1=FILE``; every level of a facet goes with
            every level of the others. Empty gives an empty table.

    Returns:
        ``source`` (pairs, a facet, or several that interact), ``levels`` (of one facet),
        ``variance`` (of one grade, not below 0), ``share`` (of all of them); the largest first.

    Raises:
        InputError: data cannot be read; fewer than two pairs were graded in all sets.
        UsageError: labels name different facets; a combination is missing; nothing is repeated.
    """
    if not repeated:
        return pl.DataFrame(schema=COMPONENTS)
    repetitions = RepeatedJudgments.from_judgments(list(repeated))
    sizes = {name: len(levels) for name, levels in repetitions.facets.items() if len(levels) > 1}
    if not sizes:
        problem = "one set of grades is not a repetition; give two or more, each with its label."
        raise UsageError(problem, code="invalid-design")
    values = _crossed_grades(repetitions, tuple(sizes.values()))
    components = facets(values)
    names = (PAIRS, *sizes)
    # shares are of the variance of the mean: one level of each facet has as much times its levels
    variances = [
        float(share) * float(np.prod([components.sizes[axis] for axis in effect]))
        for effect, share in zip(components.effects, components.shares, strict=True)
    ]
    total = sum(variances)
    rows = [
        (
            " × ".join(names[axis] for axis in effect),
            components.sizes[effect[0]] if len(effect) == 1 else None,
            variance,
            variance / total if total else 0.0,
        )
        for effect, variance in zip(components.effects, variances, strict=True)
    ]
    rows.sort(key=lambda row: -row[2])
    return pl.DataFrame(rows, schema=COMPONENTS, orient="row")


def _crossed_grades(repetitions: RepeatedJudgments, sizes: tuple[int, ...]) -> Floats:
    """(pairs, levels of each facet) the grades of the pairs that all sets graded."""
    combinations = sorted(
        repetitions.qrels,
        key=lambda combination: [
            levels.index(level)
            for levels, level in zip(repetitions.facets.values(), combination, strict=True)
        ],
    )
    table = pl.DataFrame()
    for number, combination in enumerate(combinations):
        qrels = read_qrels(repetitions.qrels[combination])
        grades = qrels.table.filter(pl.col("grade") >= 0)
        set_grades = grades.select(*PAIR, pl.col("grade").alias(str(number)))
        table = table.join(set_grades, on=PAIR, maintain_order="left") if number else set_grades
        if len(table) < 2:
            problem = "fewer than two pairs are graded in all repetitions; grade the same pairs."
            raise InputError(problem, source=qrels.place.label, code="no-common-pairs")
    return table.drop(PAIR).to_numpy().astype(np.float64).reshape(len(table), *sizes)
