"""The field's nouns as tables, and one file for each format they come in."""

from rankgate.data.contents import Contents
from rankgate.data.qrels import Qrels
from rankgate.data.read import contents_of, read_qrels, read_run
from rankgate.data.run import Run
from rankgate.data.scores import Counts, Scores

__all__ = ["Contents", "Counts", "Qrels", "Run", "Scores", "contents_of", "read_qrels", "read_run"]
