"""Checks of grades: negative, huge, off the scale, unevenly spaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, counted, some
from rankgate.data.scales import on_scale

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels

_HUGE = 10  # above the highest grade of any scale in use; 2^10 is a thousand times the gain of 1
_OVERFLOW = 1023  # 2^1024 is not a number any more
_ESCI = frozenset({0.0, 1.0, 10.0, 100.0})
_APART = 3  # times the smallest step
_RARE = 0.001
_FEW = 3


@check("without-positive", "warning", "qrels", "Queries have no document of a positive grade.")
def _without(found: RawQrels) -> Iterator[Found]:
    best = found.graded.group_by("query_id", maintain_order=True).agg(pl.col("grade").max())
    queries = best.filter(pl.col("grade") <= 0)["query_id"]
    if len(queries):
        yield Found(
            f"{counted(len(queries), 'query', 'queries')} of {len(best):,} without a document of "
            "a positive grade: what they count as differs from tool to tool",
            len(queries),
            "judge more documents of them, or see without_relevant in rankgate conventions axes",
            f"query {queries[0]}",
            row=_first(found, pl.col("query_id") == queries[0]),
        )


@check("negative-grade", "note", "qrels", "Grades are negative.")
def _negative(found: RawQrels) -> Iterator[Found]:
    grades = found.grades.filter(pl.col("grade") < 0)
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{counted(count, 'negative grade')} ({_list(grades['grade'])}): in the pool, never "
            "relevant; tools differ over whether such a document is judged",
            count,
            "see to it that they mean spam or unjudged, and are not part of the scale",
            row=_first(found, pl.col("grade") < 0),
        )


@check(
    "huge-grade",
    "warning",
    "qrels",
    "Grades are so large that exponential gain lets nothing else count.",
)
def _huge(found: RawQrels) -> Iterator[Found]:
    grades = found.grades.filter(pl.col("grade") > _HUGE)
    if len(grades):
        count, top = int(grades["len"].sum()), float(grades["grade"][-1])
        gain = f"2^{top:g} = {2.0**top:.2g}" if top <= _OVERFLOW else f"2^{top:g}, no number"
        yield Found(
            f"{counted(count, 'grade')} above {_HUGE}, up to {top:g}: under exponential gain the "
            f"highest weighs {gain}, and nothing else counts",
            count,
            "map them to small grades (rankgate resolve --transform), or score with "
            "nDCG.gain=linear",
            row=_first(found, pl.col("grade") == top),
        )


@check("fraction", "note", "qrels", "Grades are not whole.")
def _fractions(found: RawQrels) -> Iterator[Found]:
    grades = found.grades.filter(pl.col("grade") != pl.col("grade").round())
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{counted(count, 'grade')} with a fraction ({_list(grades['grade'])}): trec_eval and "
            "its like cut fractions off",
            count,
            "nothing needs to be done here; round them for tools that read whole grades",
            row=_first(found, pl.col("grade") != pl.col("grade").round()),
        )


@check("outside-scale", "error", "qrels", "Grades are not on the scale.")
def _outside(found: RawQrels) -> Iterator[Found]:
    scale = found.scale
    if scale is None:
        return
    wrong = ~on_scale(pl.col("grade"), scale)
    grades = found.grades.filter(wrong)
    if len(grades):
        count = int(grades["len"].sum())
        yield Found(
            f"{counted(count, 'grade')} ({_list(grades['grade'])}) not on the scale from "
            f"{scale.lowest:g} to {scale.highest:g}",
            count,
            "fix the grades, or the scale that is said of them",
            row=_first(found, wrong),
        )


@check("uneven-scale", "warning", "qrels", "Grades are unevenly spaced, as gains are.")
def _uneven(found: RawQrels) -> Iterator[Found]:
    """Whole grades whose steps differ widely are gains; fractions are of no scale of steps."""
    grades = found.grades.filter(pl.col("grade") >= 0)["grade"]
    steps = grades.diff().drop_nulls()
    if len(grades) < _FEW or (grades != grades.round()).any():
        return
    if float(steps.max()) < _APART * float(steps.min()):  # type: ignore[arg-type]
        return
    words = " (ESCI's: exact, substitute, complement, irrelevant)" if {*grades} <= _ESCI else ""
    yield Found(
        f"the grades {_list(grades)} are unevenly spaced{words}: they look like gains, not like "
        "steps of a scale",
        int(found.grades["len"].sum()),
        "score with nDCG.gain=linear, which takes them as gains, or map them to 0, 1, 2, 3",
        row=_first(found, pl.col("grade") == grades[-1]),
    )


@check(
    "reversed-scale",
    "note",
    "qrels",
    "No grade is 0 and the lowest is the rarest, as where 1 is best.",
)
def _reversed(found: RawQrels) -> Iterator[Found]:
    """Without 0, and with 1 the rarest: perhaps 1 was the best."""
    table = found.grades.filter(pl.col("grade") > 0)
    none = found.grades.filter(pl.col("grade") == 0).is_empty()
    if len(table) < _FEW or not none or table["len"].arg_min() != 0:
        return
    grades = table["grade"]
    yield Found(
        f"no grade is 0, and of the grades {_list(grades)} the lowest is the rarest: perhaps "
        f"{grades[0]:g} means best, as a school mark does",
        int(table["len"][0]),
        "read how the grades are defined; if 1 is best, turn them round",
        row=_first(found, pl.col("grade") == grades[0]),
    )


@check("one-grade", "note", "qrels", "All judgments have the same positive grade.")
def _one(found: RawQrels) -> Iterator[Found]:
    if len(found.grades) == 1 and found.grades["len"][0] > 1 and found.grades["grade"][0] > 0:
        count, grade = int(found.grades["len"][0]), found.grades["grade"][0]
        yield Found(
            f"all {counted(count, 'judgment')} have grade {grade:g}: nothing is known to be "
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
def _stray(found: RawQrels) -> Iterator[Found]:
    table = found.grades
    steps = table["grade"].diff().drop_nulls()
    if len(table) < _FEW:
        return
    top, count, total = table["grade"][-1], int(table["len"][-1]), int(table["len"].sum())
    if count > max(1, _RARE * total) or total < 1 / _RARE / 10 or steps[-1] <= steps[:-1].max():
        return
    yield Found(
        f"grade {top:g} is at {count:,} of {total:,} judgments, and the next below it is "
        f"{table['grade'][-2]:g}: perhaps a slip",
        count,
        "look at the line; one stray grade moves the ideal ranking of its query",
        row=_first(found, pl.col("grade") == top),
    )


def _first(found: RawQrels, which: pl.Expr) -> int | None:
    rows = found.graded.filter(which)["row"]
    return int(rows[0]) if len(rows) else None


def _list(grades: pl.Series) -> str:
    return some((f"{grade:g}" for grade in grades), 8)
