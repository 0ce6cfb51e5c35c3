"""Every pair with what each rater said, page by page, by filters; and asking somebody again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rankgate.store.people import raters
from rankgate.store.rating import batches, pairs
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.replies import ActionReply, PageReply

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import WebRequest

_MAX_PAIRS = 50
STATES = ("open", "done", "disputed")


def pairs_page(request: WebRequest) -> PageReply:
    """Pairs after a number, in a constant order, so that ratings of others move no page."""
    fields = request.values
    project = request.project.id
    with request.store.read() as connection:
        people = raters.raters_of_project(connection, project)
        pair_filter = _make_filter(connection, request, people)
        page_pairs = pairs.list_pairs(
            connection, project, pair_filter, after=fields["after"] or 0, most=_MAX_PAIRS
        )
        batch_names = [batch.name for batch in batches.list_batches(connection, project)]
    data = {
        "project": request.project.name,
        "pairs": [asdict(pair) for pair in page_pairs],
        "after": page_pairs[-1].task if len(page_pairs) == _MAX_PAIRS else None,
        "chosen": {name: fields[name] for name in ("query", "batch", "state", "rater")},
        "batches": batch_names,
        "raters": sorted(people),
    }
    return PageReply("pairs.html", data)


def _make_filter(
    connection: Connection, request: WebRequest, people: dict[str, int]
) -> pairs.TaskFilter:
    fields = request.values
    batch = None
    if fields["batch"]:
        batch = batches.get_by_name(connection, request.project.id, fields["batch"]).id
    if fields["rater"] and fields["rater"] not in people:
        raise invalid_value("rater", "nobody of this name has rated here")
    rater = people[fields["rater"]] if fields["rater"] else None
    return pairs.TaskFilter(batch, fields["state"], fields["query"], rater)


def reset_answers(request: WebRequest) -> ActionReply:
    """Take a rater's answers back, so that the pairs are asked again; the ratings stay as facts."""
    fields = request.values
    project = request.project.id
    with request.store.write() as connection:
        pair_filter = _make_filter(
            connection, request, raters.raters_of_project(connection, project)
        )
        assert pair_filter.rater is not None
        count = pairs.withdraw_answers(connection, project, pair_filter.rater, pair_filter)
        filters = {name: fields[name] for name in ("batch", "query", "state") if fields[name]}
        request.record(connection, "ratings.reset", fields["rater"], count=count, **filters)
    return ActionReply(request.at("pairs"), {"taken_back": count})
