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
    InterleavedRequest,
    Unit,
    add_clicks_of_events,
    read_requests,
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
        requests = add_clicks_of_events(requests, events, unit)
    first_assignment = requests[0].assignment
    method = METHODS.named(first_assignment.method)
    credits_of = _credits(requests)
    pair_indices = list(combinations(range(len(first_assignment.systems)), 2))
    tests = [
        pair_test(credits_of[:, b] - credits_of[:, a], level, method.test) for a, b in pair_indices
    ]
    slots = _slots(requests) if method.teams else pl.DataFrame(schema=SLOTS)
    p_teams = _p_teams(slots, first_assignment.systems) if method.teams else None
    balanced = p_teams is None or p_teams >= Preference.UNBALANCED
    return Preference(
        first_assignment.method,
        first_assignment.systems,
        unit,
        len(requests),
        len({request.unit for request in requests}),
        len(credits_of),
        sum(len(request.clicked) for request in requests),
        _competitive_share(requests),
        _pairs(first_assignment.systems, pair_indices, tests, level, method, balanced=balanced),
        slots,
        p_teams,
        level,
        test=method.test,
        bias=method.bias,
    )


def _credits(requests: Sequence[InterleavedRequest]) -> NDArray[np.float64]:
    """(n, systems) the credit of each system in each unit with a click."""
    units: dict[str, NDArray[np.float64]] = {}
    rows = credits_of_requests(
        [request.assignment for request in requests],
        [sorted(request.clicked) for request in requests],
    )
    for request, credit in zip(requests, rows, strict=True):
        if request.clicked:
            units[request.unit] = units[request.unit] + credit if request.unit in units else credit
    width = len(requests[0].assignment.systems)
    return np.array(list(units.values()), dtype=np.float64).reshape(-1, width)


def _pairs(
    systems: tuple[str, ...],
    pair_indices: Sequence[tuple[int, int]],
    tests: Sequence[PairTest],
    level: float,
    method: Interleaving,
    *,
    balanced: bool,
) -> pl.DataFrame:
    signs = method.test == "sign"
    p_value = correct(np.array([test.p_sign if signs else test.p_t for test in tests]), "holm")
    rows = []
    for (first, second), test, p in zip(pair_indices, tests, p_value.tolist(), strict=True):
        decisive = test.wins_one + test.wins_other
        if signs:
            needed = needed_units(test.wins_other / decisive, level) if decisive else None
        else:
            needed = needed_credits(test.credit, test.spread, level)
        estimate = test.preference if signs else test.credit
        winner = systems[second] if estimate > 0 else systems[first]
        values = {key: value for key, value in vars(test).items() if key != "spread"}
        rows.append(
            {
                "one": systems[first],
                "other": systems[second],
                **values,
                "p_value": p,
                "needed": needed,
                "preferred": winner if balanced and p < 1 - level else None,
            }
        )
    return pl.DataFrame(rows, schema=PAIRS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _slots(requests: Sequence[InterleavedRequest]) -> pl.DataFrame:
    impressions: Counter[tuple[int, str]] = Counter()
    clicks: Counter[tuple[int, str]] = Counter()
    for request in requests:
        systems = request.assignment.systems
        for slot, team in enumerate(request.assignment.teams):
            if team is not None:
                impressions[slot + 1, systems[team]] += 1
                clicks[slot + 1, systems[team]] += slot in request.clicked
    rows = [(*key, impressions[key], clicks[key]) for key in sorted(impressions)]
    return pl.DataFrame(rows, schema=SLOTS, orient="row")


def _p_teams(slots: pl.DataFrame, systems: tuple[str, ...]) -> float | None:
    """The smallest p of equal shares at a slot, by Bonferroni over slots; None without teams."""
    from scipy.special import chdtrc

    p_values = []
    for _, slot_rows in slots.group_by("slot"):
        shown_by_system = dict(zip(slot_rows["system"], slot_rows["shown"], strict=True))
        counts = np.array([shown_by_system.get(name, 0) for name in systems], dtype=np.float64)
        expected = counts.sum() / len(systems)
        statistic = float(((counts - expected) ** 2 / expected).sum())
        p_values.append(float(chdtrc(len(systems) - 1, statistic)))
    return min(1.0, min(p_values) * len(p_values)) if p_values else None


def _competitive_share(requests: Sequence[InterleavedRequest]) -> float:
    """The share of shown slots whose document the systems rank differently."""
    slots = [ranks for request in requests for ranks in request.assignment.ranks]
    return sum(len(set(ranks)) > 1 for ranks in slots) / max(len(slots), 1)
