"""Warnings about ratings, and limits of the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.judging.agreement.alarm import ENOUGH, Alarm
from rankgate.judging.agreement.grade_alarms import outside, stray
from rankgate.judging.agreement.rater_alarms import rater_alarms
from rankgate.measurement.stats.agreement.intervals import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from rankgate.judging.agreement.figures import Agreements
    from rankgate.judging.agreement.rated_pairs import RatedPairs

_SAME, _FAST = 0.95, 1 / 3
_OTHER_SCALE, _ABOVE = 3, 0.2
_HIGH, _LOW, _PREVAILS = 0.8, 0.4, 0.8


def alarms(found: Agreements, pairs: RatedPairs) -> tuple[Alarm, ...]:
    """Everything that looks wrong, the gravest first."""
    paradox = _paradox(found)
    # where one grade prevails kappa is near 0 for raters who agree, too
    against = [] if paradox else rater_alarms(pairs)
    return (*outside(pairs), *stray(found), *_overlap(found), *_queries(found), *against,
            *_copied(found), *_scales(found), *_one_grade(found), *_speeders(found),
            *paradox)  # fmt: skip


def _queries(found: Agreements) -> list[Alarm]:
    queries, overlap = found.counts["queries"], found.counts["overlap"]
    if queries >= FEWEST_CLUSTERS or overlap < ENOUGH:
        return []
    few = f"{queries} {'query' if queries == 1 else 'queries'}"
    what = (
        f"the pairs with two grades or more are of {few}: "
        f"intervals need {FEWEST_CLUSTERS} or more, as grades of one query resemble each other; "
        "have pairs of more queries rated twice."
    )
    return [Alarm("queries", "", what)]


def _overlap(found: Agreements) -> list[Alarm]:
    overlap, pairs = found.counts["overlap"], found.counts["pairs"]
    if overlap >= ENOUGH:
        return []
    return [
        Alarm(
            "overlap",
            "",
            f"{overlap} of {pairs} pairs have two grades or more: at least {ENOUGH} are needed to "
            "measure agreement; have more pairs rated twice.",
        )
    ]


def _copied(found: Agreements) -> list[Alarm]:
    """People who never differ were hardly asked separately."""
    overlap, result = found.counts["overlap"], found.coefficients["raw agreement"].value
    if overlap >= ENOUGH and result == 1.0:
        return [
            Alarm(
                "copied",
                "",
                f"all {overlap} pairs with two grades or more agree perfectly; people never do: "
                "the grades look copied, and the agreement says nothing.",
            )
        ]
    rows = found.pairs.filter((pl.col("overlap") >= ENOUGH) & (pl.col("agreement") == 1.0))
    return [
        Alarm(
            "copied",
            f"{row['first']}, {row['second']}",
            f"{row['first']} and {row['second']} gave {row['overlap']} pairs the same grades; "
            "were they copied?",
        )
        for row in rows.iter_rows(named=True)
    ]


def _scales(found: Agreements) -> list[Alarm]:
    """A rater whose highest grade is a third of what the others often give, or less."""
    items = []
    total, most = found.grades["ratings"].sum(), found.grades["grade"].to_list()[-1]
    for row in found.raters.filter(pl.col("ratings") >= ENOUGH).iter_rows(named=True):
        others = total - row["ratings"]
        above = found.grades.filter(pl.col("grade") > row["highest"])["ratings"].sum()
        small = 0 < row["highest"] * _OTHER_SCALE <= most
        if small and row["lowest"] < row["highest"] and above >= _ABOVE * max(others, 1):
            what = (
                f"{row['rater']} gave {row['lowest']:g} to {row['highest']:g} in {row['ratings']} "
                f"ratings, the others up to {most:g}, {above / others:.0%} of theirs above "
                f"{row['highest']:g}: are these grades of two scales? Resolve them apart, with "
                "--transform."
            )
            items.append(Alarm("scale", row["rater"], what))
    return items


def _one_grade(found: Agreements) -> list[Alarm]:
    """A rater who always says the same where the others do not."""
    usual = found.grades["share"].max()
    if not isinstance(usual, float) or usual >= _SAME:
        return []
    rows = found.raters.filter((pl.col("ratings") >= ENOUGH) & (pl.col("top_share") >= _SAME))
    return [
        Alarm(
            "one-grade",
            row["rater"],
            f"{row['rater']} gave one grade in {row['top_share']:.0%} of {row['ratings']} ratings; "
            f"of all ratings the most frequent grade has {usual:.0%}.",
        )
        for row in rows.iter_rows(named=True)
    ]


def _speeders(found: Agreements) -> list[Alarm]:
    """A rater whose usual time is under a third of the raters' usual time."""
    timed = found.raters.filter(pl.col("median_seconds").is_not_null())
    usual = timed["median_seconds"].median()
    if not isinstance(usual, float) or len(timed) < 2:  # one is nobody's yardstick
        return []
    rows = timed.filter((pl.col("ratings") >= ENOUGH) & (pl.col("median_seconds") < _FAST * usual))
    return [
        Alarm(
            "speeder",
            row["rater"],
            f"{row['rater']} takes {row['median_seconds']:.1f} s a rating (median); half of the "
            f"raters take {usual:.1f} s or more.",
        )
        for row in rows.iter_rows(named=True)
    ]


def _paradox(found: Agreements) -> list[Alarm]:
    """Raw agreement is high and kappa low, as one grade prevails (Feinstein, Cicchetti 1990)."""
    raw = found.coefficients["raw agreement"].value
    kappa = found.coefficients["Fleiss' kappa"].value
    prevails = found.grades["share"].max()
    if not (raw >= _HIGH and kappa < _LOW and isinstance(prevails, float) and prevails > _PREVAILS):
        return []
    ac1 = found.coefficients["Gwet's AC1"].value
    return [
        Alarm(
            "prevalence",
            "",
            f"raw agreement is {raw:.2f} and Fleiss' kappa {kappa:.2f}: one grade has "
            f"{prevails:.0%} of all ratings, so that chance alone agrees often and kappa falls "
            f"(the kappa paradox); Gwet's AC1 is {ac1:.2f}. Report both.",
        )
    ]
