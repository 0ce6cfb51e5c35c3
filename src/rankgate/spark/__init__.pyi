# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.spark.clicks import click_counts as click_counts
from rankgate.spark.comparison import compare as compare
from rankgate.spark.evaluation import evaluate as evaluate
from rankgate.spark.indicators import kpi as kpi
from rankgate.spark.scorecards import scorecard as scorecard
from rankgate.spark.sessions import session as session
from rankgate.spark.splitting.verb import split as split

__all__ = [
    "click_counts",
    "compare",
    "evaluate",
    "kpi",
    "scorecard",
    "session",
    "split",
]
