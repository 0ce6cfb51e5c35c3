"""The field's nouns as tables, and one file for each format they come in."""

from rankgate.data.formats import FORMATS, read_qrels, read_run
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.scores import Counts, Scores

__all__ = ["FORMATS", "Counts", "Qrels", "Run", "Scores", "read_qrels", "read_run"]
