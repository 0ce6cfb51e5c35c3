"""Checks of grades: negative, huge, off the scale, unevenly spaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, count_noun, first_few
from rankgate.data.scales import on_scale

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels

_HIGHEST_USUAL_GRADE = (
    10  # above the highest grade of any scale in use; 2^10 is a thousand times the gain of 1
)
_MAX_EXPONENT = 1023  # 2^1024 is not a number any more
_ESCI = frozenset({0.0, 1.0, 10.0, 100.0})
_UNEVEN_FACTOR = 3  # times the smallest step
_RARE_SHARE = 0.001
_MIN_GRADES = 3


@check("without-positive", "warning", "qrels", "Queries have no document of a positive grade.")
def _find_without_positive(qrels: RawQrels) -> Iterator[Found]:
    highest_grades = qrels.graded.group_by("query_id", maintain_order=True).agg(
        pl.col("grade").max()
    )
    queries = highest_grades.filter(pl.col("grade") <= 0)["query_id"]
    if len(queries):
        yield Found(
            f"{count_noun(len(queries), 'query', 'queries')} of {len(highest_grades):,} without a "
            "document of "
            "a positive grade: what they count as differs from tool to tool",
            len(queries),
            "judge more documents of them, or see without_relevant in rankgate conventions axes",
            f"query {queries[0]}",
            row=_first_row(qrels, pl.col("query_id") == queries[0]),
        )


@check("negative-grade", "note", "qrels", "Grades are negative.")
def _find_negative_grades(qrels: RawQrels) -> Iterator[Found]:
    grades = qrels.grades.filter(pl.col("grade") < 0)
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{count_noun(count, 'negative grade')} ({_format_grades(grades['grade'])}): in the "
            "pool, never "
            "relevant; tools differ over whether such a document is judged",
            count,
            "see to it that they mean spam or unjudged, and are not part of the scale",
            row=_first_row(qrels, pl.col("grade") < 0),
        )


@check(
    "huge-grade",
    "warning",
    "qrels",
    "Grades are so large that exponential gain lets nothing else count.",
)
def _find_huge_grades(qrels: RawQrels) -> Iterator[Found]:
    grades = qrels.grades.filter(pl.col("grade") > _HIGHEST_USUAL_GRADE)
    if len(grades):
        count, highest = int(grades["len"].sum()), float(grades["grade"][-1])
        gain = (
            f"2^{highest:g} = {2.0**highest:.2g}"
            if highest <= _MAX_EXPONENT
            else f"2^{highest:g}, no number"
        )
        yield Found(
            f"{count_noun(count, 'grade')} above {_HIGHEST_USUAL_GRADE}, up to {highest:g}: "
            "under exponential gain "
            f"the highest weighs {gain}, and nothing else counts",
            count,
            "map them to small grades (rankgate resolve --transform), or score with "
            "nDCG.gain=linear",
            row=_first_row(qrels, pl.col("grade") == highest),
        )


@check("fraction", "note", "qrels", "Grades are not whole.")
def _find_fractions(qrels: RawQrels) -> Iterator[Found]:
    grades = qrels.grades.filter(pl.col("grade") != pl.col("grade").round())
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{count_noun(count, 'grade')} with a fraction ({_format_grades(grades['grade'])}): "
            "trec_eval and "
            "its like cut fractions off",
            count,
            "nothing needs to be done here; round them for tools that read whole grades",
            row=_first_row(qrels, pl.col("grade") != pl.col("grade").round()),
        )


@check("outside-scale", "error", "qrels", "Grades are not on the scale.")
def _find_off_scale(qrels: RawQrels) -> Iterator[Found]:
    scale = qrels.scale
    if scale is None:
        return
    is_off_scale = ~on_scale(pl.col("grade"), scale)
    grades = qrels.grades.filter(is_off_scale)
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{count_noun(count, 'grade')} ({_format_grades(grades['grade'])}) not on the scale "
            f"from {scale.lowest:g} to {scale.highest:g}",
            count,
            "fix the grades, or the scale that is said of them",
            row=_first_row(qrels, is_off_scale),
        )


@check("uneven-scale", "warning", "qrels", "Grades are unevenly spaced, as gains are.")
def _find_uneven_scale(qrels: RawQrels) -> Iterator[Found]:
    """Whole grades whose steps differ widely are gains; fractions are of no scale of steps."""
    grades = qrels.grades.filter(pl.col("grade") >= 0)["grade"]
    steps = grades.diff().drop_nulls()
    if len(grades) < _MIN_GRADES or (grades != grades.round()).any():
        return
    if float(steps.max()) < _UNEVEN_FACTOR * float(steps.min()):  # type: ignore[arg-type]
        return
    esci_note = " (ESCI's: exact, substitute, complement, irrelevant)" if {*grades} <= _ESCI else ""
    yield Found(
        f"the grades {_format_grades(grades)} are unevenly spaced{esci_note}: they look like "
        "gains, not "
        "like steps of a scale",
        int(qrels.grades["len"].sum()),
        "score with nDCG.gain=linear, which takes them as gains, or map them to 0, 1, 2, 3",
        row=_first_row(qrels, pl.col("grade") == grades[-1]),
    )


@check(
    "reversed-scale",
    "note",
    "qrels",
    "No grade is 0 and the lowest is the rarest, as where 1 is best.",
)
def _find_reversed_scale(qrels: RawQrels) -> Iterator[Found]:
    """Without 0, and with 1 the rarest: perhaps 1 was the best."""
    table = qrels.grades.filter(pl.col("grade") > 0)
    is_without_zero = qrels.grades.filter(pl.col("grade") == 0).is_empty()
    if len(table) < _MIN_GRADES or not is_without_zero or table["len"].arg_min() != 0:
        return
    grades = table["grade"]
    yield Found(
        f"no grade is 0, and of the grades {_format_grades(grades)} the lowest is the rarest: "
        f"perhaps {grades[0]:g} means best, as a school mark does",
        int(table["len"][0]),
        "read how the grades are defined; if 1 is best, turn them round",
        row=_first_row(qrels, pl.col("grade") == grades[0]),
    )


@check("one-grade", "note", "qrels", "All judgments have the same positive grade.")
def _find_single_grade(qrels: RawQrels) -> Iterator[Found]:
    if len(qrels.grades) == 1 and qrels.grades["len"][0] > 1 and qrels.grades["grade"][0] > 0:
        count, grade = int(qrels.grades["len"][0]), qrels.grades["grade"][0]
        yield Found(
            f"all {count_noun(count, 'judgment')} have grade {grade:g}: nothing is known to be "
            "irrelevant, so that what is unjudged decides",
            count,
            "nothing needs to be done; read metrics over judged documents only, such as bpref, "
            "with care",
        )


@check(
    "stray-grade",
    "warning",
    "qrels",
    "The highest grade hardly occurs, and the one below it not at all.",
)
def _find_stray_grade(qrels: RawQrels) -> Iterator[Found]:
    table = qrels.grades
    steps = table["grade"].diff().drop_nulls()
    if len(table) < _MIN_GRADES:
        return
    highest, count, total = table["grade"][-1], int(table["len"][-1]), int(table["len"].sum())
    if (
        count > max(1, _RARE_SHARE * total)
        or total < 1 / _RARE_SHARE / 10
        or steps[-1] <= steps[:-1].max()
    ):
        return
    yield Found(
        f"grade {highest:g} is at {count:,} of {total:,} judgments, and the next below it is "
        f"{table['grade'][-2]:g}: perhaps a slip",
        count,
        "look at the line; one stray grade moves the ideal ranking of its query",
        row=_first_row(qrels, pl.col("grade") == highest),
    )


def _first_row(qrels: RawQrels, condition: pl.Expr) -> int | None:
    rows = qrels.graded.filter(condition)["row"]
    return int(rows[0]) if len(rows) else None


def _format_grades(grades: pl.Series) -> str:
    return first_few((f"{grade:g}" for grade in grades), 8)
