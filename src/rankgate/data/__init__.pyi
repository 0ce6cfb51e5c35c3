# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.data.file_contents import FileContents as FileContents
from rankgate.data.qrels import Qrels as Qrels
from rankgate.data.read import contents_of as contents_of
from rankgate.data.read import read_qrels as read_qrels
from rankgate.data.read import read_run as read_run
from rankgate.data.run import Run as Run
from rankgate.data.run_scores import Counts as Counts
from rankgate.data.run_scores import RunScores as RunScores

__all__ = [
    "Counts",
    "FileContents",
    "Qrels",
    "Run",
    "RunScores",
    "contents_of",
    "read_qrels",
    "read_run",
]
