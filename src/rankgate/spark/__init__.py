"""Apache Spark: sessions, and tables that verbs measure there: ``pip install rankgate[spark]``.

    from rankgate.spark import table
    rankgate.evaluate(table("judgments.parquet"), table("run.parquet"), ["nDCG@10"])

Spark is a property of the source: `rankgate.evaluate`, ``compare``, ``scorecard``, ``split`` and
``rankgate.online.kpi`` measure a table on Spark there, and give the results that they give anyway.
Each task gets whole queries, whose rows it reads where they are in files, or which are moved by a
hash of the query, and scores them by the same plan as on one machine
(`rankgate.measurement.scoring`). Only sums reach the driver.
"""

from __future__ import annotations

from rankgate.core.present.lazy_names import lazy_names

_HOMES = {
    "rankgate.data.spark_tables": ["SparkTable", "SparkTable as table"],
    "rankgate.spark.spark_events": ["click_counts"],
    "rankgate.spark.sessions": ["session"],
}
"""Names by their modules; `tests/typing/make.py` writes them for type checkers."""

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
