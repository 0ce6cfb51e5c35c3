"""Click counts of logs on Spark, from which click models are fitted on one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare import Count
from rankgate.online.clicks import click_counts as counting
from rankgate.online.clicks.packed import DEFAULT_RANKS
from rankgate.online.events.events import Events
from rankgate.online.indicators import tables
from rankgate.spark.failures import translate_errors
from rankgate.spark.logs import events_label, open_events, refuse_preparation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def click_counts(
    events: Any,  # noqa: ANN401 - Events, or their table
    *,
    ranks: Count = DEFAULT_RANKS,
    min_searches: Count = 1,
) -> DataFrame:
    """Count the searches that had the same words, list and clicks.

    The counts are sums, and all that ``rankgate.online.judgments`` and its click models need: it
    takes them as ``counts.toArrow()``, or as the Parquet files that ``counts.write`` makes. A
    document gets a judgment from so many looks (``min_examined``) that a query with fewer searches
    has none; ``min_searches`` leaves such queries out, which are most of the rows.

    Args:
        events: a table on Spark with the columns of events (a DataFrame, ``rankgate.spark.table``
            of Parquet, Delta, CSV, TSV or JSON files or of ``table:NAME``); the folder that
            ``rankgate online ingest`` made; or ``Events`` of one of these.
        ranks: how many ranks of each list count.
        min_searches: how many searches a query must have.

    Returns:
        ``query_id`` (the words), ``list`` (an array of ``rank``, ``doc_id``, ``clicked``) and
        ``searches``, one row for each combination.

    Raises:
        InputError: no such file or table; a table without the columns of events.
        UsageError: an unknown format; a mapping, or another fact of how a log is read.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    events = Events.of(events)
    refuse_preparation(events, success=False)
    log = events.log
    with translate_errors(events_label(log)):
        base = open_events(log)
        expression = counting.click_counts(tables.events(), ranks, min_searches)
        return base.spark.sql(base.text(expression))


def collect_click_counts(events: Events, ranks: int) -> pl.DataFrame:
    """Click counts of events on Spark, which judgments are learned from on one machine."""
    counts = click_counts(events, ranks=ranks)
    with translate_errors(events_label(events.log)):
        return pl.DataFrame(pl.from_arrow(counts.toArrow()))
