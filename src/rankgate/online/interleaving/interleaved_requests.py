"""Logged assignments and their clicks, and credits of requests from their clicks.

Assignments and clicks come from JSON lines and from events. Credits are centred if random clicks
would prefer a system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import open_source
from rankgate.data.text.json_text import read_json_objects
from rankgate.online.interleaving.interleaving_method import Assignment
from rankgate.online.interleaving.interleaving_methods import METHODS

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.online.events.events import EventsLike


Unit = Literal["request", "session", "user", "query"]
"""The unit of observation of clicks."""

Shown = tuple[Assignment, Sequence[int]]
"""An assignment with the clicked slots, from 1."""

AssignmentsLike: TypeAlias = "str | Path | Iterable[Assignment | Shown | Mapping[str, Any]]"
"""A file of logged assignments; or assignments, pairs of one and its clicked slots from 1, or objects
as the file has them."""


@dataclass(frozen=True, slots=True)
class InterleavedRequest:
    """A request with its list, its clicks, and its unit.

    Attributes:
        assignment: the list that was shown.
        clicked: the clicked slots from 0, without duplicates, in order.
        unit: the id of the unit of these clicks: a request, session, user or query.
    """

    assignment: Assignment
    clicked: tuple[int, ...]
    unit: str


def read_requests(assignments: AssignmentsLike, unit: Unit = "request") -> list[InterleavedRequest]:
    """Read the requests of a log, without duplicates.

    Args:
        assignments: a file of JSON lines as ``Assignment.to_dict`` makes them, with ``clicks``
            (slots from 1), ``session``, ``user`` where they are known; or assignments.
        unit: the unit of observation of clicks.

    Raises:
        InputError: a line that is not an assignment, a request with two lists, clicks on slots that
            were not shown, several methods or systems in one log.
    """
    requests_by_id: dict[str, InterleavedRequest] = {}
    label = str(assignments) if isinstance(assignments, str | Path) else ""
    for assignment, clicks, find_unit, line in _read_assignments(assignments):
        request = InterleavedRequest(assignment, _clicked_slots(assignment, clicks, label, line), "")
        key = {"request": assignment.request, "query": assignment.query}.get(unit) or find_unit(unit)
        if not key:
            problem = f"no {unit} in the line of the request {assignment.request!r}; add it, or "
            raise InputError(f"{problem}take another unit.", source=label, line=line, code="missing-unit")
        earlier = requests_by_id.get(assignment.request)
        if earlier is not None and earlier.assignment != assignment:
            problem = f"the request {assignment.request!r} is logged with two lists."
            raise InputError(problem, source=label, line=line, code="duplicate-request")
        clicked = request.clicked if earlier is None else (*earlier.clicked, *request.clicked)
        requests_by_id[assignment.request] = replace(request, clicked=tuple(sorted(set(clicked))), unit=key)
        first = next(iter(requests_by_id.values())).assignment
        for name in ("method", "systems"):
            first_value, second_value = getattr(first, name), getattr(assignment, name)
            if first_value != second_value:
                problem = f"{name} {second_value} after {first_value}; score each experiment separately."
                raise InputError(problem, source=label, line=line, code="mixed-assignments")
    if not requests_by_id:
        raise InputError("no assignments.", source=label, code="no-assignments")
    return list(requests_by_id.values())


def _clicked_slots(
    assignment: Assignment, clicks: Sequence[int], label: str, line: int | None
) -> tuple[int, ...]:
    for slot in clicks:
        if not isinstance(slot, int) or not 1 <= slot <= len(assignment.docs):
            problem = (
                f"a click on slot {slot}, where {count_noun(len(assignment.docs), 'slot')} from 1 are shown."
            )
            raise InputError(problem, source=label, line=line, code="click-outside-list")
    return tuple(sorted({slot - 1 for slot in clicks}))


def _read_assignments(
    assignments: AssignmentsLike,
) -> Iterator[tuple[Assignment, Sequence[int], Any, int | None]]:
    """Yield assignments, clicked slots from 1, functions that find the unit, and lines."""
    if isinstance(assignments, str | Path):
        log = open_source(assignments)
        for line, values in read_json_objects(log):
            yield _read_object(values, log.label, line)
        return
    for number, logged in enumerate(assignments, 1):
        if isinstance(logged, Mapping):
            yield _read_object(logged, "assignments", number)
            continue
        assignment, clicks = (logged, ()) if isinstance(logged, Assignment) else logged
        yield assignment, clicks, lambda _: "", None


def _read_object(
    values: Mapping[str, Any], label: str, line: int
) -> tuple[Assignment, Sequence[int], Any, int]:
    """The assignment of an object of JSON, its clicks, the function that finds the unit, and the line."""
    assignment = Assignment.from_dict(values, label, line)
    return assignment, values.get("clicks") or (), lambda unit: str(values.get(unit) or ""), line


def add_clicks_of_events(
    requests: Sequence[InterleavedRequest], events: EventsLike, unit: Unit = "request"
) -> list[InterleavedRequest]:
    """Add the clicks of events to requests, by the search's id and document.

    Raises:
        InputError: events that cannot be read, or that do not belong to the requests.
    """
    clicks, units = _read_clicks(events, unit)
    if not clicks.keys() & {request.assignment.request for request in requests} and clicks:
        problem = "no click belongs to a request of the log; query_event_id must be its request."
        raise InputError(problem, code="no-common-requests")
    with_clicks = []
    for request in requests:
        clicked_docs = clicks.get(request.assignment.request, frozenset())
        slots = {slot for slot, doc in enumerate(request.assignment.docs) if doc in clicked_docs}
        with_clicks.append(
            replace(
                request,
                clicked=tuple(sorted(slots | set(request.clicked))),
                unit=units.get(request.assignment.request) or request.unit,
            )
        )
    return with_clicks


def _read_clicks(events: EventsLike, unit: Unit) -> tuple[Mapping[str, frozenset[str]], Mapping[str, str]]:
    """Clicked documents and the unit of each search."""
    from rankgate.online.events.events import Events
    from rankgate.online.log_database import quote_identifier

    with Events.of(events).open() as log:
        rows = log.base.rows(
            "SELECT query_event_id, list(DISTINCT doc_id) AS docs FROM events WHERE kind = 'click' AND "
            "query_event_id IS NOT NULL AND doc_id IS NOT NULL GROUP BY 1"
        )
        clicks = {name: frozenset(docs) for name, docs in rows.iter_rows()}
        if unit == "request":
            return clicks, {}
        unit_rows = log.base.rows(
            f"SELECT query_event_id, max({quote_identifier(unit)}) FROM events WHERE query_event_id IS NOT "
            "NULL GROUP BY 1"
        )
        return clicks, dict(unit_rows.iter_rows())


def credits_of_requests(assignments: Sequence[Assignment], clicked: Sequence[Sequence[int]]) -> Floats:
    """(n, systems) the credit of each system in each request.

    Centred credits are credits less the mean credit of the same clicked slots in all requests of
    the same query. If users click at random, the slots do not depend on the shown list, so that the
    mean of centred credits is 0. A query with a single request has 0.

    Args:
        assignments: (n,) mixed lists of one method.
        clicked: (n,) the clicked slots of each, from 0.
    """
    method = METHODS.find(assignments[0].method)
    width = len(assignments[0].systems)
    credit = np.array(
        [
            method.score(assignment, slots) if slots else (0.0,) * width
            for assignment, slots in zip(assignments, clicked, strict=True)
        ]
    )
    if not method.centred:
        return credit
    of_query: dict[str, list[int]] = defaultdict(list)
    for row, assignment in enumerate(assignments):
        of_query[assignment.query].append(row)
    for rows in of_query.values():
        variants = Counter(assignments[row].ranks for row in rows)
        examples = {assignments[row].ranks: assignments[row] for row in rows}
        means: dict[tuple[int, ...], Floats] = {}
        for row in rows:
            if slots := tuple(clicked[row]):
                if slots not in means:
                    means[slots] = _mean_credit(variants, examples, slots)
                credit[row] -= means[slots]
    return np.round(credit, _DIGITS)


_DIGITS = 12  # makes equal credits less their mean exactly 0


def _mean_credit(
    variants: Counter[tuple[tuple[int | None, ...], ...]],
    examples: dict[tuple[tuple[int | None, ...], ...], Assignment],
    slots: tuple[int, ...],
) -> Floats:
    """The mean credit of clicks on the slots, over all lists with these slots."""
    total, count = np.zeros(0), 0
    for ranks, times in variants.items():
        if max(slots) < len(ranks):
            assignment = examples[ranks]
            score = METHODS.find(assignment.method).score(assignment, slots)
            total = times * np.array(score) + (total if count else 0.0)
            count += times
    return total / count
