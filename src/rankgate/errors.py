"""The deliberate errors of rankgate, one tree.

    RankgateError
    ├── InputError        a file or table that cannot be read as what it should be
    │   └── DuplicateError    one (query, document) pair stands twice
    ├── UsageError        the words of a call: an unknown metric, a parameter out of range
    │   └── FunctionError     a user's own function failed or gave no number
    └── MissingExtraError an optional dependency is not installed

Each message is one sentence: what is wrong, where, and how to mend it. The
command line prints it after ``rankgate:`` and exits with status 2.
"""

from __future__ import annotations


class RankgateError(Exception):
    """Everything rankgate raises on purpose."""


class InputError(RankgateError):
    r"""Data that cannot be read; names the file and, where there is one, the line.

    Ends of lines in what is quoted from the data are shown as ``\n``, so that it is one line.
    """

    def __init__(self, problem: str, *, source: str = "", line: int | None = None) -> None:
        problem = problem.replace("\n", "\\n").replace("\r", "\\r")
        self.problem = problem
        self.source = source
        self.line = line
        where = f"{source}:{line}: " if line else f"{source}: " if source else ""
        super().__init__(f"{where}{problem}")


class DuplicateError(InputError):
    """A document that is ranked, or judged, twice for one query."""


class UsageError(RankgateError, ValueError):
    """Words that name nothing, or do not fit together."""


class FunctionError(UsageError):
    """A user's own function that failed, or gave no number; names the metric."""

    def __init__(self, problem: str, row: int | None = None) -> None:
        self.problem = problem
        self.row = row  # the query's place in its block; None where the function saw all of it
        super().__init__(f"{problem}; mend the function.")


class MissingExtraError(RankgateError, ImportError):
    """A feature whose optional dependency is not installed; names the extra."""
