"""What to know before trusting a scorecard: what was left out, what leaks, what is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.logs.candidates import WARNING
from rankgate.evaluation.catalogue import catalogue_notice
from rankgate.metrics.lists.declare import ListMetric
from rankgate.metrics.lists.listed import NONE, among

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.listed import Listed
    from rankgate.recommenders.scorecard_field import Field
    from rankgate.scoring.catalogue import Catalogue


def warnings_of(field: Field, metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """A sentence each, with its count."""
    items = [WARNING] if field.tables.mark else []
    items += _of_judgments(field)
    items += _of_items(field, metrics)
    for run, listed, unjudged in zip(field.runs, field.lists, field.unjudged, strict=True):
        if len(unjudged):
            items.append(f"{run.name}: {_are(len(unjudged), 'user')} {_unjudged(field)}")
        items += [f"{run.name}: {words}" for words in of_lists(field.world, listed)]
    return tuple(items)


def _of_judgments(field: Field) -> Iterator[str]:
    relevant, history = field.world.relevant, field.world.history
    assert relevant is not None
    without = int((relevant[field.judged] == NONE).all(axis=1).sum())
    if without:
        yield (
            f"{_are(without, 'user')} without a relevant item: accuracy counts them as the "
            "convention has it, lists as any other."
        )
    again = 0 if history is None else int(among(relevant, history).sum())
    if again:
        yield (
            f"{_are(again, 'relevant item')} in their user's training too: the parts leak, and "
            "who repeats training is rewarded; split anew (rankgate split)."
        )


def _of_items(field: Field, metrics: Mapping[str, Metric]) -> Iterator[str]:
    world, size = field.world, len(field.world.items)
    if any(isinstance(metric, ListMetric) for metric in metrics.values()):
        yield from (f"{notice}." for notice in catalogue_notice(field.catalogue))
    long = [
        label
        for label, metric in metrics.items()
        if isinstance(metric, ListMetric) and (metric.cutoff or 0) > size
    ]
    if long:
        yield f"{', '.join(long)}: lists cannot be so long, as there are only {size:,} items."
    if field.tables.items is not None:
        known = field.tables.items.ids
        lacking = size - int(world.items.is_in(known.implode()).sum())
        if lacking:
            yield (
                f"{_are(lacking, 'item')} not in the table of items: without category and group, "
                "with features of 0."
            )
    if field.tables.users is not None:
        lacking = len(world.queries) - int(
            world.queries.is_in(field.tables.users.ids.implode()).sum()
        )
        if lacking:
            yield f"{_are(lacking, 'user')} not in the table of users, and in the part (none)."


def of_lists(world: Catalogue, listed: Listed) -> Iterator[str]:
    """What is odd about one system's lists, a sentence each."""
    empty = int((listed.lengths == 0).sum())
    if empty:
        verb = "gets" if empty == 1 else "get"
        yield f"{empty:,} of {len(world.queries):,} users {verb} no item."
    if world.seen is not None:
        shown = np.unique(listed.items[listed.shown])
        fresh = int(np.count_nonzero(world.seen[shown] == 0))
        if fresh:
            yield f"{_are(fresh, 'item')} shown and not in training."
    if listed.history is not None:
        again = int(among(listed.items, listed.history).sum())
        if again:
            what = "1 place shows" if again == 1 else f"{again:,} places show"
            yield f"{what} what the user had in training."


def _unjudged(field: Field) -> str:
    """How users without judgments are treated."""
    if field.world.judged is None:
        return "without judgments, and left out."
    return "without judgments: metrics of lists count them, accuracy leaves them out."


def _are(count: int, one: str) -> str:
    """A number of something, and its verb.

    >>> _are(1, "user"), _are(2000, "item")
    ('1 user is', '2,000 items are')
    """
    return f"1 {one} is" if count == 1 else f"{count:,} {one}s are"
