# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.data.spark_tables import SparkTable as SparkTable
from rankgate.data.spark_tables import SparkTable as table
from rankgate.spark.sessions import session as session
from rankgate.spark.spark_events import click_counts as click_counts

__all__ = [
    "SparkTable",
    "click_counts",
    "session",
    "table",
]
