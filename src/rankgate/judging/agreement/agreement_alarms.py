"""Alarms about grades and raters, and limits for the coefficients of agreement.

An alarm is a problem to check before ratings are trusted. Some alarms report grades outside the
scale or far from all other grades; some report raters with an inverted scale, random grades or
unusual grades. The module also has warnings about ratings, with limits for the coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.judging.agreement.rated_pairs import FALSE_ALARMS, rater_checks
from rankgate.measurement.stats.rater_agreement import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from rankgate.judging.agreement.agreement_coefficients import Agreements
    from rankgate.judging.agreement.rated_pairs import RatedPairs, RaterCheck


MIN_RATINGS = 20
"""The smallest number of ratings for a statement about a rater or a pair of raters."""


@dataclass(frozen=True)
class Alarm:
    """A problem to check before the ratings are trusted.

    Attributes:
        kind: outside, stray, overlap, queries, few-differences, reversed, random, against-all,
            copied, scale, one-grade, speeder or prevalence.
        who: the rater or raters; empty if the alarm is about all raters.
        what: the message with the figures.
    """

    kind: str
    who: str
    what: str


_RARE_SHARE = 0.01
_MIN_DIFFERENT = 5
_MAX_EXAMPLES = 5


def outside_alarms(pairs: RatedPairs) -> list[Alarm]:
    """Alarms about grades outside the stated scale; these grades are left out of all figures."""
    if pairs.outside.is_empty():
        return []
    rows = list(pairs.outside.head(_MAX_EXAMPLES).iter_rows())
    examples = ", ".join(f"{grade:g} by {rater} ({times})" for rater, grade, times in rows)
    more = ", …" if len(pairs.outside) > _MAX_EXAMPLES else ""
    count = int(pairs.outside["ratings"].sum())
    message = (
        f"{count_noun(count, 'rating has', 'ratings have')} a grade outside the scale, left out of all "
        f"figures: {examples}{more}."
    )
    return [Alarm("outside", "", message)]


def few_difference_alarms(figures: Agreements) -> list[Alarm]:
    """Intervals of raters who differ in so few queries that a single query decides the width."""
    queries = figures.counts["queries"]
    different = figures.queries.filter(pl.col("agreement") < 1).height
    if queries < FEWEST_CLUSTERS or not 0 < different < _MIN_DIFFERENT:
        return []
    message = (
        f"grades differ in {different} of {count_noun(queries, 'query')}: intervals cover less often than "
        "stated. In simulated samples of 15 queries 95 % intervals held the truth in 78 to 86 % with about 2 "
        "such queries, in 92 to 93 % with about 4; have more pairs rated twice."
    )
    return [Alarm("few-differences", "", message)]


def stray_alarms(figures: Agreements) -> list[Alarm]:
    """A rare grade at either end, farther from its neighbour than any other two neighbours are.

    The alarm needs a grade on the scale, or ratings without a stated scale: one typing error
    changes the range of the grades, and so every weighted coefficient.
    """
    grades = figures.grades.filter(pl.col("ratings") > 0).select("grade", "share", "ratings")
    alarms = []
    for table in (grades.sort("grade"), grades.sort("grade", descending=True)):
        values, grade_shares = table["grade"].to_list(), table["share"].to_list()
        gaps = [abs(b - a) for a, b in pairwise(values)]
        if len(gaps) > 1 and grade_shares[0] <= _RARE_SHARE and gaps[0] > max(gaps[1:]):
            message = (
                f"grade {values[0]:g} was given {count_noun(table['ratings'][0], 'time')}, and no other "
                f"grade is nearer than {values[1]:g}: a typing error? This grade changes every weighted "
                "coefficient; state the scale with --scale to leave it out."
            )
            alarms.append(Alarm("stray", "", message))
    return alarms


_PAIR, _LITTLE = 2, 0.2


def rater_alarms(pairs: RatedPairs) -> list[Alarm]:
    """Alarms about raters who differ from the other raters, the worst first.

    A bad rater lowers the agreement of all other raters, so that a second bad rater may stay
    hidden. Therefore the rater with the lowest kappa among the raters with an alarm is left out,
    and the remaining raters are compared again, as long as at least three remain.
    """
    level = 1 - FALSE_ALARMS / max(len(pairs.raters), 1)
    alarm_of_rater: dict[str, Alarm] = {}
    while True:
        checks = rater_checks(pairs, level)
        new = {alarm.who: alarm for alarm in alarms_against_others(checks)}
        alarm_of_rater |= {rater: alarm for rater, alarm in new.items() if rater not in alarm_of_rater}
        suspect_checks = [check for check in checks if check.rater in new]
        if not suspect_checks or len(pairs.raters) <= _PAIR + 1:
            return list(alarm_of_rater.values())
        pairs = pairs.without(min(suspect_checks, key=lambda check: check.kappa.value).rater)


def alarms_against_others(checks: Sequence[RaterCheck]) -> list[Alarm]:
    """Alarms of kind reversed, random and against-all; with two raters, both are named.

    Reversed: kappa is further below 0 than the kappa of random grades (a permutation test, also
    exact for few queries). Random: its interval contains 0, and the rater agrees less than half as
    well with the others as the others agree with each other. Against all: only the second condition
    holds.
    """
    reliable_checks = [check for check in checks if check.overlap >= MIN_RATINGS]
    level = FALSE_ALARMS / max(len(checks), 1)
    if len(checks) == _PAIR:
        return _pair_alarms([check.rater for check in checks], reliable_checks, level)
    alarms = []
    for check in reliable_checks:
        agrees_less = check.behind < 0
        if check.kappa.value < 0 and check.reversal <= level:
            kind, message = "reversed", "opposite grades: was the scale read the wrong way round?"
        elif agrees_less and check.kappa.low <= 0:
            kind, message = "random", "no agreement with the others beyond chance."
        elif agrees_less:
            kind, message = (
                "against-all",
                (
                    "less than half of the others' agreement with each other. Either this rater misreads the "
                    "guideline, or the others share an error."
                ),
            )
        else:
            continue
        others_text = (
            "" if check.others != check.others else (f", the others {check.others:.2f} among each other")
        )
        agreement = f"{check.rater} agrees with the others with kappa {_kappa_text(check)}"
        alarms.append(Alarm(kind, check.rater, f"{agreement}{others_text}: {message}"))
    return alarms


def _pair_alarms(names: list[str], checks: Sequence[RaterCheck], level: float) -> list[Alarm]:
    if not checks:
        return []
    check, names_text = checks[0], ", ".join(names)
    kappa = check.kappa
    figures = f"{names[0]} and {names[1]} agree with kappa {_kappa_text(check)}"
    if kappa.value < 0 and check.reversal <= level:
        message = "opposite grades; one of them read the scale the wrong way round."
        return [Alarm("reversed", names_text, f"{figures}: {message}")]
    if kappa.low <= 0 and kappa.high < _LITTLE:
        message = "no better than chance; at least one of them grades at random."
        return [Alarm("random", names_text, f"{figures}: {message}")]
    return []


def _kappa_text(check: RaterCheck) -> str:
    kappa = check.kappa
    return (
        f"{kappa.value:+.2f} [{kappa.low:+.2f}, {min(kappa.high, 1):+.2f}] (linear weights, "
        f"{count_noun(check.overlap, 'pair')})"
    )


_SAME, _FAST = 0.95, 1 / 3
_OTHER_SCALE, _ABOVE = 3, 0.2
_HIGH, _LOW, _PREVAILS = 0.8, 0.4, 0.8


def alarms(figures: Agreements, pairs: RatedPairs) -> tuple[Alarm, ...]:
    """All alarms, the most serious first."""
    paradox = _paradox_alarms(figures)
    # if one grade prevails, kappa is near 0 even for raters who agree
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
    message = (
        f"the pairs with two grades or more are of {count_noun(queries, 'query')}: intervals need "
        f"{FEWEST_CLUSTERS} or more, as grades of one query resemble each other; have pairs of more queries "
        "rated twice."
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
            f"{overlap} of {count_noun(pairs, 'pair')} {'has' if overlap == 1 else 'have'} two grades or "
            f"more: at least {MIN_RATINGS} are needed to measure agreement; have more pairs rated twice.",
        )
    ]


def _copied_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about pairs of raters with equal grades, which may have been copied."""
    overlap, raw_agreement = figures.counts["overlap"], figures.coefficients["raw agreement"].value
    if overlap >= MIN_RATINGS and raw_agreement == 1.0:
        return [
            Alarm(
                "copied",
                "",
                f"all {overlap} pairs with two grades or more agree perfectly; people never do; the grades "
                "look copied, and the agreement proves nothing.",
            )
        ]
    rows = figures.pairs.filter((pl.col("overlap") >= MIN_RATINGS) & (pl.col("agreement") == 1.0))
    return [
        Alarm(
            "copied",
            f"{row['first']}, {row['second']}",
            f"{row['first']} and {row['second']} gave {count_noun(row['overlap'], 'pair')} the same grades; "
            "were they copied?",
        )
        for row in rows.iter_rows(named=True)
    ]


def _scale_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters whose highest grade is at most a third of the others' highest grade."""
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
                f"{row['rater']} gave {row['lowest']:g} to {row['highest']:g} in "
                f"{count_noun(row['ratings'], 'rating')}, the others up to {highest_grade:g}, "
                f"{ratings_above / other_ratings:.0%} of theirs above {row['highest']:g}: are these grades "
                "of two scales? Resolve them apart, with --transform."
            )
            scale_alarms.append(Alarm("scale", row["rater"], message))
    return scale_alarms


def _one_grade_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters who almost always give one grade while other raters do not."""
    top_share = figures.grades["share"].max()
    if not isinstance(top_share, float) or top_share >= _SAME:
        return []
    rows = figures.raters.filter((pl.col("ratings") >= MIN_RATINGS) & (pl.col("top_share") >= _SAME))
    return [
        Alarm(
            "one-grade",
            row["rater"],
            f"{row['rater']} gave one grade in {row['top_share']:.0%} of "
            f"{count_noun(row['ratings'], 'rating')}; of all ratings the most frequent grade has "
            f"{top_share:.0%}.",
        )
        for row in rows.iter_rows(named=True)
    ]


def _speeder_alarms(figures: Agreements) -> list[Alarm]:
    """Alarms about raters with a median time under a third of the median of all raters."""
    timed_raters = figures.raters.filter(pl.col("median_seconds").is_not_null())
    median_seconds = timed_raters["median_seconds"].median()
    if not isinstance(median_seconds, float) or len(timed_raters) < 2:  # a single rater has no comparison
        return []
    rows = timed_raters.filter(
        (pl.col("ratings") >= MIN_RATINGS) & (pl.col("median_seconds") < _FAST * median_seconds)
    )
    return [
        Alarm(
            "speeder",
            row["rater"],
            f"{row['rater']} takes {row['median_seconds']:.1f} s a rating (median); half of the raters take "
            f"{median_seconds:.1f} s or more.",
        )
        for row in rows.iter_rows(named=True)
    ]


def _paradox_alarms(figures: Agreements) -> list[Alarm]:
    """An alarm for high raw agreement with a low kappa, as one grade prevails (Feinstein 1990)."""
    raw_agreement = figures.coefficients["raw agreement"].value
    kappa = figures.coefficients["Fleiss' kappa"].value
    prevails = figures.grades["share"].max()
    if not (raw_agreement >= _HIGH and kappa < _LOW and isinstance(prevails, float) and prevails > _PREVAILS):
        return []
    ac1 = figures.coefficients["Gwet's AC1"].value
    return [
        Alarm(
            "prevalence",
            "",
            f"raw agreement is {raw_agreement:.2f} and Fleiss' kappa {kappa:.2f}: one grade has "
            f"{prevails:.0%} of all ratings, so that chance alone agrees often and kappa falls (the kappa "
            f"paradox); Gwet's AC1 is {ac1:.2f}. Report both.",
        )
    ]
