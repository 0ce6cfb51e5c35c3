"""Every pair with what each rater said, page by page, by filters; and asking somebody again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rankgate.store.people import raters
from rankgate.store.rating import batches, pairs
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.replies import Done, Page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import Asked

_MOST = 50
STATES = ("open", "done", "disputed")


def page(asked: Asked) -> Page:
    """Pairs after a number, in a constant order, so that ratings of others move no page."""
    given = asked.values
    project = asked.project.id
    with asked.store.read() as connection:
        people = raters.of_project(connection, project)
        chosen = _filter(connection, asked, people)
        found = pairs.listed(connection, project, chosen, after=given["after"] or 0, most=_MOST)
        named = [each.name for each in batches.listed(connection, project)]
    data = {
        "project": asked.project.name,
        "pairs": [asdict(each) for each in found],
        "after": found[-1].task if len(found) == _MOST else None,
        "chosen": {name: given[name] for name in ("query", "batch", "state", "rater")},
        "batches": named,
        "raters": sorted(people),
    }
    return Page("pairs.html", data)


def _filter(connection: Connection, asked: Asked, people: dict[str, int]) -> pairs.Filter:
    given = asked.values
    batch = None
    if given["batch"]:
        batch = batches.named(connection, asked.project.id, given["batch"]).id
    if given["rater"] and given["rater"] not in people:
        raise wrong("rater", "nobody of this name has rated here")
    rater = people[given["rater"]] if given["rater"] else None
    return pairs.Filter(batch, given["state"], given["query"], rater)


def reset(asked: Asked) -> Done:
    """Take a rater's answers back, so that the pairs are asked again; the ratings stay as facts."""
    given = asked.values
    project = asked.project.id
    with asked.store.write() as connection:
        chosen = _filter(connection, asked, raters.of_project(connection, project))
        assert chosen.rater is not None
        count = pairs.take_back(connection, project, chosen.rater, chosen)
        words = {name: given[name] for name in ("batch", "query", "state") if given[name]}
        asked.record(connection, "ratings.reset", given["rater"], count=count, **words)
    return Done(asked.at("pairs"), {"taken_back": count})
