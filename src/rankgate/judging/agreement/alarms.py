"""Warnings about ratings, and limits of the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.judging.agreement.alarm import MIN_RATINGS, Alarm
from rankgate.judging.agreement.grade_alarms import (
    few_difference_alarms,
    outside_alarms,
    stray_alarms,
)
from rankgate.judging.agreement.rater_alarms import rater_alarms
from rankgate.measurement.stats.agreement.intervals import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from rankgate.judging.agreement.figures import Agreements
    from rankgate.judging.agreement.rated_pairs import RatedPairs

_SAME, _FAST = 0.95, 1 / 3
_OTHER_SCALE, _ABOVE = 3, 0.2
_HIGH, _LOW, _PREVAILS = 0.8, 0.4, 0.8


def alarms(figures: Agreements, pairs: RatedPairs) -> tuple[Alarm, ...]:
    """Everything that looks wrong, the gravest first."""
    paradox = _paradox_alarms(figures)
    # where one grade prevails kappa is near 0 for raters who agree, too
    alarms_of_raters = [] if paradox else rater_alarms(pairs)
    return (
        *outside_alarms(pairs),
        *stray_alarms(figures),
        *_overlap_alarms(figures),
        *_query_alarms(figures),
        *few_difference_alarms(figures),
        *alarms_of_raters,
        *_copied_alarms(figures),
        *_scale_alarms(figures),
        *_one_grade_alarms(figures),
        *_speeder_alarms(figures),
        *paradox,
    )


def _query_alarms(figures: Agreements) -> list[Alarm]:
    queries, overlap = figures.counts["queries"], figures.counts["overlap"]
    if queries >= FEWEST_CLUSTERS or overlap < MIN_RATINGS:
        return []
    few = f"{queries} {'query' if queries == 1 else 'queries'}"
    message = (
        f"the pairs with two grades or more are of {few}: "
        f"intervals need {FEWEST_CLUSTERS} or more, as grades of one query resemble each other; "
        "have pairs of more queries rated twice."
    )
    return [Alarm("queries", "", message)]


def _overlap_alarms(figures: Agreements) -> list[Alarm]:
    overlap, pairs = figures.counts["overlap"], figures.counts["pairs"]
    if overlap >= MIN_RATINGS:
        return []
    return [
        Alarm(
            "overlap",
            "",
            f"{overlap} of {pairs} pairs have two grades or more: at least {MIN_RATINGS} are "
            "needed to "
            "measure agreement; have more pairs rated twice.",
        )
    ]


def _copied_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters whose grades are all equal: they may be copied."""
    overlap, raw_agreement = figures.counts["overlap"], figures.coefficients["raw agreement"].value
    if overlap >= MIN_RATINGS and raw_agreement == 1.0:
        return [
            Alarm(
                "copied",
                "",
                f"all {overlap} pairs with two grades or more agree perfectly; people never do: "
                "the grades look copied, and the agreement says nothing.",
            )
        ]
    rows = figures.pairs.filter((pl.col("overlap") >= MIN_RATINGS) & (pl.col("agreement") == 1.0))
    return [
        Alarm(
            "copied",
            f"{row['first']}, {row['second']}",
            f"{row['first']} and {row['second']} gave {row['overlap']} pairs the same grades; "
            "were they copied?",
        )
        for row in rows.iter_rows(named=True)
    ]


def _scale_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters whose highest grade is at most a third of the others' highest."""
    scale_alarms = []
    total, highest_grade = figures.grades["ratings"].sum(), figures.grades["grade"].to_list()[-1]
    for row in figures.raters.filter(pl.col("ratings") >= MIN_RATINGS).iter_rows(named=True):
        other_ratings = total - row["ratings"]
        ratings_above = figures.grades.filter(pl.col("grade") > row["highest"])["ratings"].sum()
        is_other_scale = 0 < row["highest"] * _OTHER_SCALE <= highest_grade
        if (
            is_other_scale
            and row["lowest"] < row["highest"]
            and ratings_above >= _ABOVE * max(other_ratings, 1)
        ):
            message = (
                f"{row['rater']} gave {row['lowest']:g} to {row['highest']:g} in {row['ratings']} "
                f"ratings, the others up to {highest_grade:g}, "
                f"{ratings_above / other_ratings:.0%} of theirs above "
                f"{row['highest']:g}: are these grades of two scales? Resolve them apart, with "
                "--transform."
            )
            scale_alarms.append(Alarm("scale", row["rater"], message))
    return scale_alarms


def _one_grade_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters who almost always give one grade while the others do not."""
    top_share = figures.grades["share"].max()
    if not isinstance(top_share, float) or top_share >= _SAME:
        return []
    rows = figures.raters.filter(
        (pl.col("ratings") >= MIN_RATINGS) & (pl.col("top_share") >= _SAME)
    )
    return [
        Alarm(
            "one-grade",
            row["rater"],
            f"{row['rater']} gave one grade in {row['top_share']:.0%} of {row['ratings']} ratings; "
            f"of all ratings the most frequent grade has {top_share:.0%}.",
        )
        for row in rows.iter_rows(named=True)
    ]


def _speeder_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters whose median time is under a third of the raters' median time."""
    timed_raters = figures.raters.filter(pl.col("median_seconds").is_not_null())
    median_seconds = timed_raters["median_seconds"].median()
    if (
        not isinstance(median_seconds, float) or len(timed_raters) < 2
    ):  # one rater has no comparison
        return []
    rows = timed_raters.filter(
        (pl.col("ratings") >= MIN_RATINGS) & (pl.col("median_seconds") < _FAST * median_seconds)
    )
    return [
        Alarm(
            "speeder",
            row["rater"],
            f"{row['rater']} takes {row['median_seconds']:.1f} s a rating (median); half of the "
            f"raters take {median_seconds:.1f} s or more.",
        )
        for row in rows.iter_rows(named=True)
    ]


def _paradox_alarms(figures: Agreements) -> list[Alarm]:
    """Raw agreement is high and kappa low, as one grade prevails (Feinstein, Cicchetti 1990)."""
    raw_agreement = figures.coefficients["raw agreement"].value
    kappa = figures.coefficients["Fleiss' kappa"].value
    prevails = figures.grades["share"].max()
    if not (
        raw_agreement >= _HIGH
        and kappa < _LOW
        and isinstance(prevails, float)
        and prevails > _PREVAILS
    ):
        return []
    ac1 = figures.coefficients["Gwet's AC1"].value
    return [
        Alarm(
            "prevalence",
            "",
            f"raw agreement is {raw_agreement:.2f} and Fleiss' kappa {kappa:.2f}: one grade has "
            f"{prevails:.0%} of all ratings, so that chance alone agrees often and kappa falls "
            f"(the kappa paradox); Gwet's AC1 is {ac1:.2f}. Report both.",
        )
    ]
