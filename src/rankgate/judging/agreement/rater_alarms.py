"""Detect raters with an inverted scale, random grades or unusual grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.judging.agreement.alarm import ENOUGH, Alarm
from rankgate.judging.agreement.rater_checks import FALSE_ALARMS, rater_checks

if TYPE_CHECKING:
    from rankgate.judging.agreement.rated_pairs import RatedPairs
    from rankgate.judging.agreement.rater_checks import RaterCheck

_PAIR, _LITTLE = 2, 0.2


def rater_alarms(pairs: RatedPairs) -> list[Alarm]:
    """Alarms about raters against the others, the worst first.

    A rater with an alarm makes the others look less alike, so that a second bad one is not seen.
    So the rater with the lowest kappa among those with an alarm is left out, and the rest are
    compared again, as long as three are left.
    """
    level = 1 - FALSE_ALARMS / max(len(pairs.raters), 1)
    found: dict[str, Alarm] = {}
    while True:
        checks = rater_checks(pairs, level)
        new = {each.who: each for each in against_others(checks)}
        found |= {who: each for who, each in new.items() if who not in found}
        bad = [check for check in checks if check.rater in new]
        if not bad or len(pairs.raters) <= _PAIR + 1:
            return list(found.values())
        pairs = pairs.without(min(bad, key=lambda check: check.kappa.value).rater)


def against_others(checks: Sequence[RaterCheck]) -> list[Alarm]:
    """Reversed, random and against-all; among two raters the pair is named, as neither is known.

    Reversed: kappa is below 0, further than that of random grades (a permutation test, exact for
    few queries too). Random: it holds 0, and the rater agrees less
    than half as well with the others as they do with each other. Against all: only the latter.
    """
    seen = [check for check in checks if check.overlap >= ENOUGH]
    level = FALSE_ALARMS / max(len(checks), 1)
    if len(checks) == _PAIR:
        return _of_two([check.rater for check in checks], seen, level)
    alarms = []
    for check in seen:
        apart = check.behind < 0
        if check.kappa.value < 0 and check.reversal <= level:
            kind, words = "reversed", "opposite grades: was the scale read the wrong way round?"
        elif apart and check.kappa.low <= 0:
            kind, words = "random", "no agreement with the others beyond chance."
        elif apart:
            kind, words = (
                "against-all",
                (
                    "less than half of the others' agreement with each other. Either this rater "
                    "misreads the guideline, or the others share an error."
                ),
            )
        else:
            continue
        others = (
            ""
            if check.others != check.others
            else (f", the others {check.others:.2f} among each other")
        )
        alarms.append(Alarm(kind, check.rater, f"{_shown(check)}{others}: {words}"))
    return alarms


def _of_two(names: list[str], seen: Sequence[RaterCheck], level: float) -> list[Alarm]:
    if not seen:
        return []
    check, both = seen[0], ", ".join(names)
    kappa = check.kappa
    figures = f"{names[0]} and {names[1]} agree with kappa {_interval(check)}"
    if kappa.value < 0 and check.reversal <= level:
        words = "opposite grades; one of them read the scale the wrong way round."
        return [Alarm("reversed", both, f"{figures}: {words}")]
    if kappa.low <= 0 and kappa.high < _LITTLE:
        words = "no better than chance; at least one of them grades at random."
        return [Alarm("random", both, f"{figures}: {words}")]
    return []


def _shown(check: RaterCheck) -> str:
    return f"{check.rater} agrees with the others with kappa {_interval(check)}"


def _interval(check: RaterCheck) -> str:
    kappa = check.kappa
    return (
        f"{kappa.value:+.2f} [{kappa.low:+.2f}, {min(kappa.high, 1):+.2f}] (linear weights, "
        f"{check.overlap} pairs)"
    )
