"""Warnings of a scorecard: omissions, leakage, missing data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.data.logs.candidates import WARNING
from rankgate.measurement.evaluation.lists.catalogue import catalogue_notice, zero_grades_notice
from rankgate.measurement.evaluation.lists.unusual import are, odd_lists
from rankgate.measurement.metrics.lists.declare import lists_apart
from rankgate.measurement.metrics.lists.listed import shared

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.logs.items import Described
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.recommenders.scorecard_systems import Systems


def warnings_of(systems: Systems, metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """A sentence each, with its count."""
    items = [WARNING] if systems.mark else []
    if systems.zeros:
        items.append(f"{zero_grades_notice(systems.zeros, systems.how.name)}.")
    items += _of_judgments(systems)
    items += _of_items(systems, metrics)
    for run, listed, unjudged in zip(systems.runs, systems.lists, systems.unjudged, strict=True):
        if len(unjudged):
            items.append(f"{run.name}: {are(len(unjudged), 'user')} {_unjudged(systems)}")
        items += [f"{run.name}: {words}" for words in odd_lists(systems.catalogue, listed)]
        if not systems.index.judges(run.pieces):
            text = "no item of its lists is judged for its user; check that both use the same ids"
            items.append(f"{run.name}: {text}.")
    return tuple(items)


def _of_judgments(systems: Systems) -> Iterator[str]:
    relevant, history = systems.catalogue.relevant, systems.catalogue.history
    assert relevant is not None
    without = int((relevant.lengths[systems.judged] == 0).sum())
    if without:
        yield (
            f"{are(without, 'user')} without a relevant item: accuracy counts them as the "
            "convention says, metrics of lists as any other user."
        )
    again = 0 if history is None else shared(relevant, history)
    if again:
        yield (
            f"{are(again, 'relevant item')} in their user's training too: the split leaks and "
            "rewards systems that repeat training; split the log again (rankgate split)."
        )


def _of_items(systems: Systems, metrics: Mapping[str, Metric]) -> Iterator[str]:
    catalogue = systems.catalogue
    table = systems.builder.tables.items
    yield from catalogue_warnings(catalogue.items, systems.catalogue_facts, table, metrics)
    if systems.builder.tables.users is not None:
        lacking = len(catalogue.queries) - int(
            catalogue.queries.is_in(systems.builder.tables.users.ids.implode()).sum()
        )
        if lacking:
            yield f"{are(lacking, 'user')} not in the table of users, and in the part (none)."


def catalogue_warnings(
    items: pl.Series,
    facts: Mapping[str, Any],
    table: Described | None,
    metrics: Mapping[str, Metric],
) -> Iterator[str]:
    """What is unusual about the items there are, a sentence each.

    Args:
        items: the catalogue.
        facts: as of `catalogue_facts`.
        table: of items, if it is given.
        metrics: what is measured, by label.
    """
    size = len(items)
    _, lists = lists_apart(metrics)
    if lists:
        yield from (f"{notice}." for notice in catalogue_notice(facts))
    long = [label for label, metric in lists.items() if (metric.cutoff or 0) > size]
    if long:
        yield f"{', '.join(long)}: lists cannot be so long, as there are only {size:,} items."
    lacking = 0 if table is None else size - int(items.is_in(table.ids.implode()).sum())
    if lacking:
        yield (
            f"{are(lacking, 'item')} not in the table of items: without category and group, "
            "with features of 0."
        )


def _unjudged(systems: Systems) -> str:
    """How users without judgments are treated."""
    if systems.catalogue.judged is None:
        return "without judgments, and left out."
    return "without judgments: metrics of lists count them, accuracy leaves them out."
