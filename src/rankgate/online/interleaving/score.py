"""Score interleaved lists by their clicks."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.measurement.stats.corrections import correct
from rankgate.online.interleaving.catalogue import METHODS
from rankgate.online.interleaving.credits import credits_of_requests
from rankgate.online.interleaving.logged import (
    AssignmentsLike,
    Request,
    Unit,
    read_requests,
    with_events,
)
from rankgate.online.interleaving.pair_test import (
    PairTest,
    needed_credits,
    needed_units,
    pair_test,
)
from rankgate.online.interleaving.preference import PAIRS, SLOTS, Preference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.online.events.events import EventsLike
    from rankgate.online.interleaving.method import Interleaving


def preference(
    assignments: AssignmentsLike,
    events: EventsLike | None = None,
    *,
    unit: Unit = "request",
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
) -> Preference:
    """Say which system users prefer, from clicks on interleaved lists.

    Args:
        assignments: a file of logged assignments, one in a line of JSON, or assignments; clicks
            are in its key clicks (slots from 1), or in events.
        events: what users did: a folder of events, a table of them, files of logs, or ``Events``;
            query_event_id is the request.
        unit: whose clicks are one observation; the unit must be independent of others, so that
            users are safest where they come back.
        level: of intervals and tests.

    Raises:
        InputError: a log that cannot be read, or that mixes experiments.
        UsageError: a method that there is not.
    """
    requests = read_requests(assignments, "request" if events is not None else unit)
    if events is not None:
        requests = with_events(requests, events, unit)
    first = requests[0].assignment
    method = METHODS.named(first.method)
    credits_of = _credits(requests)
    places = list(combinations(range(len(first.systems)), 2))
    found = [pair_test(credits_of[:, b] - credits_of[:, a], level, method.test) for a, b in places]
    slots = _slots(requests) if method.teams else pl.DataFrame(schema=SLOTS)
    p_teams = _p_teams(slots, first.systems) if method.teams else None
    balanced = p_teams is None or p_teams >= Preference.UNBALANCED
    return Preference(
        first.method,
        first.systems,
        unit,
        len(requests),
        len({each.unit for each in requests}),
        len(credits_of),
        sum(len(each.clicked) for each in requests),
        _competitive(requests),
        _pairs(first.systems, places, found, level, method, balanced=balanced),
        slots,
        p_teams,
        level,
        test=method.test,
        bias=method.bias,
    )


def _credits(requests: Sequence[Request]) -> NDArray[np.float64]:
    """(n, systems) the credit of each system in each unit with a click."""
    units: dict[str, NDArray[np.float64]] = {}
    rows = credits_of_requests([each.assignment for each in requests],
                               [sorted(each.clicked) for each in requests])  # fmt: skip
    for each, credit in zip(requests, rows, strict=True):
        if each.clicked:
            units[each.unit] = units[each.unit] + credit if each.unit in units else credit
    width = len(requests[0].assignment.systems)
    return np.array(list(units.values()), dtype=np.float64).reshape(-1, width)


def _pairs(
    systems: tuple[str, ...],
    places: Sequence[tuple[int, int]],
    found: Sequence[PairTest],
    level: float,
    method: Interleaving,
    *,
    balanced: bool,
) -> pl.DataFrame:
    signs = method.test == "sign"
    p_value = correct(np.array([each.p_sign if signs else each.p_t for each in found]), "holm")
    rows = []
    for (one, other), test, p in zip(places, found, p_value.tolist(), strict=True):
        decisive = test.wins_one + test.wins_other
        if signs:
            needed = needed_units(test.wins_other / decisive, level) if decisive else None
        else:
            needed = needed_credits(test.credit, test.spread, level)
        more = test.preference if signs else test.credit
        winner = systems[other] if more > 0 else systems[one]
        values = {key: value for key, value in vars(test).items() if key != "spread"}
        rows.append(
            {"one": systems[one], "other": systems[other], **values, "p_value": p,
             "needed": needed, "preferred": winner if balanced and p < 1 - level else None}
        )  # fmt: skip
    return pl.DataFrame(rows, schema=PAIRS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _slots(requests: Sequence[Request]) -> pl.DataFrame:
    shown: Counter[tuple[int, str]] = Counter()
    clicks: Counter[tuple[int, str]] = Counter()
    for each in requests:
        systems = each.assignment.systems
        for slot, team in enumerate(each.assignment.teams):
            if team is not None:
                shown[slot + 1, systems[team]] += 1
                clicks[slot + 1, systems[team]] += slot in each.clicked
    rows = [(*key, shown[key], clicks[key]) for key in sorted(shown)]
    return pl.DataFrame(rows, schema=SLOTS, orient="row")


def _p_teams(slots: pl.DataFrame, systems: tuple[str, ...]) -> float | None:
    """The smallest p of equal shares at a slot, by Bonferroni over slots; None without teams."""
    from scipy.special import chdtrc

    found = []
    for _, part in slots.group_by("slot"):
        known = dict(zip(part["system"], part["shown"], strict=True))
        counts = np.array([known.get(name, 0) for name in systems], dtype=np.float64)
        expected = counts.sum() / len(systems)
        statistic = float(((counts - expected) ** 2 / expected).sum())
        found.append(float(chdtrc(len(systems) - 1, statistic)))
    return min(1.0, min(found) * len(found)) if found else None


def _competitive(requests: Sequence[Request]) -> float:
    """The share of shown slots whose document the systems rank differently."""
    slots = [ranks for each in requests for ranks in each.assignment.ranks]
    return sum(len(set(ranks)) > 1 for ranks in slots) / max(len(slots), 1)
