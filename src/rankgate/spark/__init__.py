"""The same verbs on Apache Spark: ``pip install rankgate[spark]``.

    rankgate.spark.evaluate("judgments.parquet", "run.parquet", ["nDCG@10"])

Each task gets whole queries, whose rows it reads where they are in files, or which are moved by a
hash of the query, and scores them by the same plan as on one machine
(`rankgate.measurement.scoring`). Only sums reach the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.spark.clicks import click_counts as click_counts
    from rankgate.spark.comparison import compare as compare
    from rankgate.spark.evaluation import evaluate as evaluate
    from rankgate.spark.indicators import kpi as kpi
    from rankgate.spark.scorecards import scorecard as scorecard
    from rankgate.spark.sessions import session as session
    from rankgate.spark.splitting.verb import split as split

_HOMES = {
    "click_counts": "rankgate.spark.clicks",
    "compare": "rankgate.spark.comparison",
    "evaluate": "rankgate.spark.evaluation",
    "kpi": "rankgate.spark.indicators",
    "scorecard": "rankgate.spark.scorecards",
    "session": "rankgate.spark.sessions",
    "split": "rankgate.spark.splitting.verb",
}
__all__ = ["click_counts", "compare", "evaluate", "kpi", "scorecard", "session", "split"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a verb
    """Import a verb when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
