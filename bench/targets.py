"""What we promise about speed, and whether it was met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import contestants as who

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rows import Row

_PYTREC = who.PYTREC_EVAL.name
_EVAL = who.OURS.name


@dataclass(frozen=True)
class Target:
    """A quotient of two numbers, or one number, that must not be above a bound.

    Attributes:
        title: the promise.
        bound: the greatest value that holds.
        ours: workload and contestant of the first number.
        other: those of the second; None compares the first with the bound itself.
        field: ``best`` or ``memory``.
    """

    title: str
    bound: float
    ours: tuple[str, str]
    other: tuple[str, str] | None
    field: str = "best"


@dataclass(frozen=True)
class Outcome:
    """A target with what was measured; ``measured`` is None where a number is missing."""

    title: str
    bound: float
    measured: float | None

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where it was not measured."""
        return None if self.measured is None else self.measured <= self.bound


_PASSAGES, _SHUFFLED, _SMALL, _HUGE = "passages", "passages-shuffled", "small", "huge"
_USERS = "users"
_GIGABYTE = 1e9

TARGETS = (
    Target(
        "6,980 x 1,000: wall time over pytrec_eval-terrier's", 1 / 7, (_PASSAGES, _EVAL), (_PASSAGES, _PYTREC)
    ),
    Target(
        "6,980 x 1,000: anonymous memory over pytrec_eval-terrier's",
        1 / 2,
        (_PASSAGES, _EVAL),
        (_PASSAGES, _PYTREC),
        "memory",
    ),
    Target(
        "6,980 x 1,000: wall time over a bare Polars scan's",
        1.6,
        (_PASSAGES, _EVAL),
        (_PASSAGES, who.SCAN.name),
    ),
    Target("6,980 x 1,000: wall time shuffled over sorted", 2, (_SHUFFLED, _EVAL), (_PASSAGES, _EVAL)),
    Target(
        "6,980 x 1,000: anonymous memory shuffled over sorted",
        2,
        (_SHUFFLED, _EVAL),
        (_PASSAGES, _EVAL),
        "memory",
    ),
    Target("50 x 1,000: wall time over a bare interpreter's", 1.5, (_SMALL, _EVAL), (_SMALL, who.BARE.name)),
    Target("50 x 1,000: wall time over ir_measures'", 1.6, (_SMALL, _EVAL), (_SMALL, who.IR_MEASURES.name)),
    Target("1,000,000 x 100: anonymous memory in GB", 3, (_HUGE, _EVAL), None, "memory"),
    Target(
        "1,000,000 x 100: wall time over a bare Polars scan's", 2.5, (_HUGE, _EVAL), (_HUGE, who.SCAN.name)
    ),
    Target(
        "1,000,000 x 100: wall time over a bare Polars scan's in batches",
        2,
        (_HUGE, _EVAL),
        (_HUGE, who.BATCHES.name),
    ),
    Target(
        "50,000 x 100: wall time from dicts over pytrec_eval-terrier's",
        1,
        (_USERS, who.OUR_DICTS.name),
        (_USERS, who.THEIR_DICTS.name),
    ),
    Target(
        "6,980 x 1,000: wall time from dicts over pytrec_eval-terrier's",
        1 / 4,
        (_PASSAGES, who.OUR_DICTS.name),
        (_PASSAGES, who.THEIR_DICTS.name),
    ),
    Target(
        "6,980 x 1,000: wall time from frames over pytrec_eval-terrier's from dicts",
        1 / 4,
        (_PASSAGES, who.OUR_FRAMES.name),
        (_PASSAGES, who.THEIR_DICTS.name),
    ),
)
"""All targets; each is for two cores and five metrics, all checks included."""


def needed() -> dict[str, set[str]]:
    """The contestants of each workload that targets compare."""
    contestants: dict[str, set[str]] = {}
    for target in TARGETS:
        for workload, contestant in filter(None, (target.ours, target.other)):
            contestants.setdefault(workload, set()).add(contestant)
    return contestants


def outcomes(rows: Sequence[Row]) -> list[Outcome]:
    """Every target with what the rows say."""
    return [_outcome(target, rows) for target in TARGETS]


def _outcome(target: Target, rows: Sequence[Row]) -> Outcome:
    first = _number(target.ours, target.field, rows)
    second = _number(target.other, target.field, rows) if target.other else _GIGABYTE
    measured = None if first is None or second is None else first / second
    return Outcome(target.title, target.bound, measured)


def _number(wanted: tuple[str, str], field: str, rows: Sequence[Row]) -> float | None:
    matches = [row for row in rows if (row.workload, row.contestant) == wanted]
    return getattr(matches[0], field) if matches else None


def markdown(result: Sequence[Outcome]) -> str:
    """The list of targets."""
    lines = ["| target | at most | measured | |", "| --- | ---: | ---: | --- |"]
    labels = {None: "not measured", True: "met", False: "not met"}
    for outcome in result:
        measured = "" if outcome.measured is None else f"{outcome.measured:.3f}"
        lines.append(f"| {outcome.title} | {outcome.bound:.3f} | {measured} | {labels[outcome.met]} |")
    return "\n".join(lines) + "\n"
