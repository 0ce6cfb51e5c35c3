"""The same verbs on Apache Spark: ``pip install rankgate[spark]``.

    rankgate.spark.evaluate("judgments.parquet", "run.parquet", ["nDCG@10"])

Each task gets whole queries, whose rows it reads where they are in files, or which are moved by a
hash of the query, and scores them by the same plan as on one machine
(`rankgate.measurement.scoring`). Only sums reach the driver.
"""

from __future__ import annotations

from rankgate.core.present.resolve import lazy_names

_HOMES = {
    "rankgate.spark.clicks": ["click_counts"],
    "rankgate.spark.comparison": ["compare"],
    "rankgate.spark.evaluation": ["evaluate"],
    "rankgate.spark.indicators": ["kpi"],
    "rankgate.spark.scorecards": ["scorecard"],
    "rankgate.spark.sessions": ["session"],
    "rankgate.spark.splitting.verb": ["split"],
}
"""Names by their modules; `tests/typing/make.py` writes them for type checkers."""

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
