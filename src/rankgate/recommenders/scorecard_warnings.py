"""Warnings of a scorecard: omissions, leakage, missing data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.data.logs.candidates import WARNING
from rankgate.measurement.evaluation.lists.catalogue import catalogue_notice, zero_grades_notice
from rankgate.measurement.evaluation.lists.unusual import count_with_verb, list_warnings
from rankgate.measurement.metrics.lists.declare import split_list_metrics
from rankgate.measurement.metrics.lists.listed import count_shared

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.logs.items import DescribedTable
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.recommenders.scorecard_systems import ScorecardSystems


def warnings_of(systems: ScorecardSystems, metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """The warnings of a scorecard, a sentence each, with counts."""
    warnings = [WARNING] if systems.mark else []
    if systems.zeros:
        warnings.append(f"{zero_grades_notice(systems.zeros, systems.how.name)}.")
    warnings += _of_judgments(systems)
    warnings += _of_items(systems, metrics)
    for run, item_lists, unjudged in zip(
        systems.runs, systems.lists, systems.unjudged, strict=True
    ):
        if len(unjudged):
            warnings.append(
                f"{run.name}: {count_with_verb(len(unjudged), 'user')} {_unjudged(systems)}"
            )
        warnings += [
            f"{run.name}: {warning}" for warning in list_warnings(systems.catalogue, item_lists)
        ]
        if not systems.index.judges(run.pieces):
            text = "no item of its lists is judged for its user; check that both use the same ids"
            warnings.append(f"{run.name}: {text}.")
    return tuple(warnings)


def _of_judgments(systems: ScorecardSystems) -> Iterator[str]:
    relevant, history = systems.catalogue.relevant, systems.catalogue.history
    assert relevant is not None
    without = int((relevant.lengths[systems.judged] == 0).sum())
    if without:
        yield (
            f"{count_with_verb(without, 'user')} without a relevant item: accuracy counts them "
            "as the "
            "convention says, metrics of lists as any other user."
        )
    repeated_count = 0 if history is None else count_shared(relevant, history)
    if repeated_count:
        yield (
            f"{count_with_verb(repeated_count, 'relevant item')} in their user's training too: "
            "the split leaks "
            "and rewards systems that repeat training; split the log again (rankgate split)."
        )


def _of_items(systems: ScorecardSystems, metrics: Mapping[str, Metric]) -> Iterator[str]:
    catalogue = systems.catalogue
    table = systems.builder.tables.items
    yield from catalogue_warnings(catalogue.items, systems.catalogue_facts, table, metrics)
    if systems.builder.tables.users is not None:
        missing_count = len(catalogue.queries) - int(
            catalogue.queries.is_in(systems.builder.tables.users.ids.implode()).sum()
        )
        if missing_count:
            users = count_with_verb(missing_count, "user")
            yield f"{users} not in the table of users, and in the part (none)."


def catalogue_warnings(
    item_ids: pl.Series,
    facts: Mapping[str, Any],
    table: DescribedTable | None,
    metrics: Mapping[str, Metric],
) -> Iterator[str]:
    """Unusual facts about the items, a sentence each.

    Args:
        item_ids: the catalogue.
        facts: as of `catalogue_facts`.
        table: of items, if there is one.
        metrics: the metrics of the card, by label.
    """
    size = len(item_ids)
    _, lists = split_list_metrics(metrics)
    if lists:
        yield from (f"{notice}." for notice in catalogue_notice(facts))
    long = [label for label, metric in lists.items() if (metric.cutoff or 0) > size]
    if long:
        yield f"{', '.join(long)}: lists cannot be so long, as there are only {size:,} items."
    missing_count = 0 if table is None else size - int(item_ids.is_in(table.ids.implode()).sum())
    if missing_count:
        yield (
            f"{count_with_verb(missing_count, 'item')} not in the table of items: without "
            "category and group, "
            "with features of 0."
        )


def _unjudged(systems: ScorecardSystems) -> str:
    """The treatment of users without judgments, as the end of a sentence."""
    if systems.catalogue.judged is None:
        return "without judgments, and left out."
    return "without judgments: metrics of lists count them, accuracy leaves them out."
