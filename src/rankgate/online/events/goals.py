"""What means that a session reached its goal: declared events, with values and together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, or_
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import ibis.expr.types as ir

_SIGNS = {">=": ge, "<=": le, ">": gt, "<": lt, "=": eq}
_RULE = re.compile(r"([^<>=]+?)\s*(?:(>=|<=|>|<|=)\s*(-?\d+(?:\.\d+)?))?")
_TOGETHER = re.compile(r"\s+and\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """An event that a goal needs.

    Attributes:
        name: its action or kind, in lower case.
        sign: how its value is compared; empty where any value will do.
        value: what it is compared with.
    """

    name: str
    sign: str = ""
    value: float = 0.0

    def of(self, rows: ir.Table) -> Any:  # noqa: ANN401 - a column of Ibis
        """Whether each event is one."""
        found = (rows.action.lower() == self.name) | (rows.kind == self.name)
        if not self.sign:
            return found
        return found & _SIGNS[self.sign](rows.value, self.value).fill_null(False)  # noqa: FBT003


DEFAULT = ((Part("add_to_cart"),), (Part("purchase"),))
"""Something is put into the cart, or bought."""


def goals(words: Sequence[str]) -> tuple[tuple[Part, ...], ...]:
    """Read rules such as ``purchase``, ``dwell>=30`` or ``click and survey>=4``: any will do.

    >>> goals(["Order >= 20 and click"])
    ((Part(name='order', sign='>=', value=20.0), Part(name='click', sign='', value=0.0)),)

    Raises:
        UsageError: a rule that cannot be read.
    """
    return tuple(tuple(map(_part, _TOGETHER.split(each))) for each in words) or DEFAULT


def _part(words: str) -> Part:
    found = _RULE.fullmatch(words.strip())
    if not found:
        problem = f"{words!r} is no goal; write an action, as in purchase, dwell>=30, or a and b."
        raise UsageError(problem, code="invalid-goal")
    name, sign, value = found.groups()
    return Part(name.strip().lower(), sign or "", float(value or 0))


def first_times(rows: ir.Table, asked: Sequence[Sequence[Part]]) -> dict[str, Any]:
    """By column of a session when each part of each goal was first reached."""
    return {
        f"goal_{place}_{part}": rows.at.min(where=each.of(rows))
        for place, parts in enumerate(asked)
        for part, each in enumerate(parts)
    }


def reached(sessions: ir.Table, asked: Sequence[Sequence[Part]]) -> ir.Table:
    """Sessions with ``done`` and ``done_at``, without the columns of `first_times`."""
    import ibis

    done, times = [], []
    for place, parts in enumerate(asked):
        firsts = [sessions[f"goal_{place}_{part}"] for part in range(len(parts))]
        every = reduce(and_, [each.notnull() for each in firsts])
        last = firsts[0] if len(firsts) == 1 else ibis.greatest(*firsts)
        done.append(every)
        times.append(ibis.cases((every, last), else_=None))
    late = ibis.timestamp("9999-01-01", timezone="UTC")
    first = times[0] if len(times) == 1 else ibis.least(*(each.fill_null(late) for each in times))
    found = sessions.mutate(done=reduce(or_, done), done_at=first)
    return found.drop(*(each for each in sessions.columns if each.startswith("goal_")))
