"""Click counts of logs on Spark, from which click models are fitted on one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Count
from rankgate.online.clicks import click_counts as counting
from rankgate.online.clicks.packed import RANKS
from rankgate.online.indicators import tables
from rankgate.spark.failures import translated
from rankgate.spark.logs import events_label, on_spark, open_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def click_counts(
    events: Any,  # noqa: ANN401 - a DataFrame, a table or paths
    *,
    ranks: Count = RANKS,
    min_searches: Count = 1,
    from_: str | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """Count the searches that had the same words, list and clicks.

    The counts are sums, and all that ``rankgate.online.judgments`` and its click models need: it
    takes them as ``counts.toArrow()``, or as the Parquet files that ``counts.write`` makes. A
    document gets a judgment from so many looks (``min_examined``) that a query with fewer searches
    has none; ``min_searches`` leaves such queries out, which are most of the rows.

    Args:
        events: a DataFrame with the columns of events; ``table:NAME``; Parquet, Delta, CSV, TSV or
            JSON files with them; or the folder that ``rankgate online ingest`` made.
        ranks: how many ranks of each list count.
        min_searches: how many searches a query must have.
        from_: the format of files; by their names if not given.
        spark: the session; the active one, or a new one on this machine, if not given.

    Returns:
        ``query_id`` (the words), ``list`` (an array of ``rank``, ``doc_id``, ``clicked``) and
        ``searches``, one row for each combination.

    Raises:
        InputError: no such file or table; a table without the columns of events.
        UsageError: an unknown format.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    log = on_spark(events, success=False).log
    with translated(events_label(log)):
        base = open_events(log, from_, spark)
        counted = counting.click_counts(tables.events(), ranks, min_searches)
        return base.spark.sql(base.text(counted))
