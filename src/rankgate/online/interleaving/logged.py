"""Logged assignments and their clicks, from JSON lines and from events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.source import source
from rankgate.online.interleaving.assignment import Assignment

if TYPE_CHECKING:
    from rankgate.online.events.events import EventsLike

Unit = Literal["request", "session", "user", "query"]
"""Whose clicks are one observation."""

Shown = tuple[Assignment, Sequence[int]]
"""An assignment with the clicked slots, from 1."""

AssignmentsLike: TypeAlias = "str | Path | Iterable[Assignment] | Iterable[Shown]"
"""A file of logged assignments, assignments, or pairs of one and its clicked slots from 1."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: what was shown, what was clicked, whose it is.

    Attributes:
        assignment: what was shown.
        clicked: slots from 0, each once, in order.
        unit: whose clicks these are: a request, session, user or query.
    """

    assignment: Assignment
    clicked: tuple[int, ...]
    unit: str


def read_requests(assignments: AssignmentsLike, unit: Unit = "request") -> list[Request]:
    """The requests of a log, each once.

    Args:
        assignments: a file of JSON lines as ``Assignment.to_dict`` makes them, with ``clicks``
            (slots from 1), ``session``, ``user`` where they are known; or assignments.
        unit: whose clicks are one observation.

    Raises:
        InputError: a line that is no assignment, a request with two lists, clicks on slots that
            were not shown, several methods or systems in one log.
    """
    found: dict[str, Request] = {}
    label = str(assignments) if isinstance(assignments, str | Path) else ""
    for assignment, clicks, whose, line in _rows(assignments):
        one = Request(assignment, _slots(assignment, clicks, label, line), "")
        key = {"request": assignment.request, "query": assignment.query}.get(unit) or whose(unit)
        if not key:
            problem = f"no {unit} in the line of the request {assignment.request!r}; add it, or "
            raise InputError(f"{problem}take another unit.", source=label, line=line,
                             code="missing-unit")  # fmt: skip
        known = found.get(assignment.request)
        if known is not None and known.assignment != assignment:
            problem = f"the request {assignment.request!r} is logged with two lists."
            raise InputError(problem, source=label, line=line, code="duplicate-request")
        clicked = one.clicked if known is None else (*known.clicked, *one.clicked)
        found[assignment.request] = replace(one, clicked=tuple(sorted(set(clicked))), unit=key)
        _refuse_mixed(next(iter(found.values())).assignment, assignment, label, line)
    if not found:
        raise InputError("no assignments.", source=label, code="no-assignments")
    return list(found.values())


def _slots(
    assignment: Assignment, clicks: Sequence[int], label: str, line: int | None
) -> tuple[int, ...]:
    for each in clicks:
        if not isinstance(each, int) or not 1 <= each <= len(assignment.docs):
            problem = (
                f"a click on slot {each}, where {len(assignment.docs)} slots from 1 are shown."
            )
            raise InputError(problem, source=label, line=line, code="click-outside-list")
    return tuple(sorted({each - 1 for each in clicks}))


def _refuse_mixed(first: Assignment, other: Assignment, label: str, line: int | None) -> None:
    for name in ("method", "systems"):
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            problem = f"{name} {two} after {one}; score each experiment for itself."
            raise InputError(problem, source=label, line=line, code="mixed-assignments")


def _rows(
    assignments: AssignmentsLike,
) -> Iterator[tuple[Assignment, Sequence[int], Any, int | None]]:
    """Assignment, clicked slots from 1, what finds its unit, and the line."""
    if isinstance(assignments, str | Path):
        yield from _lines(assignments)
        return
    for each in assignments:
        assignment, clicks = (each, ()) if isinstance(each, Assignment) else each
        yield assignment, clicks, lambda _: "", None


def _lines(path: str | Path) -> Iterator[tuple[Assignment, Sequence[int], Any, int | None]]:
    place = source(path)
    with place.open() as stream:
        for line, raw in enumerate(stream, 1):
            if not raw.strip():
                continue
            try:
                values = json.loads(raw)
            except ValueError:
                values = None
            if not isinstance(values, dict):
                problem = "not a JSON object; each line is one assignment."
                raise InputError(problem, source=place.label, line=line, code="invalid-json")
            clicks = values.get("clicks") or ()
            found = Assignment.from_dict(values, place.label, line)
            yield found, clicks, lambda unit, values=values: str(values.get(unit) or ""), line


def with_events(
    requests: Sequence[Request],
    events: EventsLike,
    unit: Unit = "request",
) -> list[Request]:
    """Requests with the clicks that events hold for them, by the search's id and document.

    Raises:
        InputError: events that cannot be read, or that belong to none of the requests.
    """
    clicks, units = _of_events(events, unit)
    if not clicks.keys() & {each.assignment.request for each in requests} and clicks:
        problem = "no click belongs to a request of the log; query_event_id must be its request."
        raise InputError(problem, code="no-common-requests")
    merged = []
    for each in requests:
        hits = clicks.get(each.assignment.request, frozenset())
        slots = {at for at, doc in enumerate(each.assignment.docs) if doc in hits}
        merged.append(
            replace(
                each,
                clicked=tuple(sorted(slots | set(each.clicked))),
                unit=units.get(each.assignment.request) or each.unit,
            )
        )
    return merged


def _of_events(
    events: EventsLike, unit: Unit
) -> tuple[Mapping[str, frozenset[str]], Mapping[str, str]]:
    """Clicked documents and the unit of each search."""
    from rankgate.online.database import named
    from rankgate.online.events.events import Events

    with Events.of(events).open() as log:
        rows = log.base.rows(
            "SELECT query_event_id, list(DISTINCT doc_id) AS docs FROM events WHERE kind = 'click' "
            "AND query_event_id IS NOT NULL AND doc_id IS NOT NULL GROUP BY 1"
        )
        clicks = {name: frozenset(docs) for name, docs in rows.iter_rows()}
        if unit == "request":
            return clicks, {}
        whose = log.base.rows(
            f"SELECT query_event_id, max({named(unit)}) FROM events WHERE query_event_id IS NOT "
            "NULL GROUP BY 1"
        )
        return clicks, dict(whose.iter_rows())
