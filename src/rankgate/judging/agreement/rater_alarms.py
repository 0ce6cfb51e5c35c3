"""Detect raters with an inverted scale, random grades or unusual grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.judging.agreement.alarm import MIN_RATINGS, Alarm
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
    alarm_of_rater: dict[str, Alarm] = {}
    while True:
        checks = rater_checks(pairs, level)
        new = {alarm.who: alarm for alarm in alarms_against_others(checks)}
        alarm_of_rater |= {
            rater: alarm for rater, alarm in new.items() if rater not in alarm_of_rater
        }
        suspect_checks = [check for check in checks if check.rater in new]
        if not suspect_checks or len(pairs.raters) <= _PAIR + 1:
            return list(alarm_of_rater.values())
        pairs = pairs.without(min(suspect_checks, key=lambda check: check.kappa.value).rater)


def alarms_against_others(checks: Sequence[RaterCheck]) -> list[Alarm]:
    """Alarms of kind reversed, random and against-all; of two raters the pair is named.

    Reversed: kappa is below 0, further than that of random grades (a permutation test, exact for
    few queries too). Random: it holds 0, and the rater agrees less
    than half as well with the others as they do with each other. Against all: only the latter.
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
                    "less than half of the others' agreement with each other. Either this rater "
                    "misreads the guideline, or the others share an error."
                ),
            )
        else:
            continue
        others_text = (
            ""
            if check.others != check.others
            else (f", the others {check.others:.2f} among each other")
        )
        alarms.append(Alarm(kind, check.rater, f"{_rater_sentence(check)}{others_text}: {message}"))
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


def _rater_sentence(check: RaterCheck) -> str:
    return f"{check.rater} agrees with the others with kappa {_kappa_text(check)}"


def _kappa_text(check: RaterCheck) -> str:
    kappa = check.kappa
    return (
        f"{kappa.value:+.2f} [{kappa.low:+.2f}, {min(kappa.high, 1):+.2f}] (linear weights, "
        f"{check.overlap} pairs)"
    )
