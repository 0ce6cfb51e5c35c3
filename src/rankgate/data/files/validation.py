"""The result of ``validate``: files and findings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode_fields
from rankgate.core.present.result import Result
from rankgate.data.files.checks import SEVERITIES, Severity

_COLUMNS = {
    "check": pl.String,
    "severity": pl.String,
    "file": pl.String,
    "line": pl.Int64,
    "what": pl.String,
    "count": pl.Int64,
    "example": pl.String,
    "mend": pl.String,
}


@dataclass(frozen=True)
class Problem:
    """One problem of a file.

    Attributes:
        check: the name of the check; `checks` has them all.
        severity: ``error``, ``warning`` or ``note``.
        file: where.
        line: of the first place; None where there is no such line.
        what: what it is, in a sentence with the figures.
        count: how many rows, queries or ids it is about.
        example: one of them.
        mend: what to do about it.
    """

    check: str
    severity: Severity
    file: str
    line: int | None
    what: str
    count: int
    example: str
    mend: str


@dataclass(frozen=True)
class CheckedFile:
    """A file that was checked.

    Attributes:
        file: its name.
        format: what it was read as; ``?`` if that is unknown.
        reason: why.
        judgments: how many rows of judgments it has.
        ranked: how many rows of runs.
    """

    file: str
    format: str
    reason: str
    judgments: int
    ranked: int


@dataclass(frozen=True)
class Validation(Result):
    """What was found in some files.

    Attributes:
        files: those that were looked at, the judgments that they were compared with last.
        problems: what was found, file by file, errors first.
    """

    kind: ClassVar[str] = "validation"
    label: ClassVar[str] = "What is wrong with files"
    document_from: ClassVar[str] = "rankgate.data.files.documents.validation:document"

    files: tuple[CheckedFile, ...]
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        """The number of problems."""
        return len(self.problems)

    def __bool__(self) -> bool:
        """Always true, also without problems."""
        return True

    @property
    def valid(self) -> bool:
        """True if there is no error."""
        return not self.counts["error"]

    @property
    def counts(self) -> dict[Severity, int]:
        """The number of problems of each severity."""
        severities = [problem.severity for problem in self.problems]
        return {severity: severities.count(severity) for severity in SEVERITIES}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.head(), "valid": self.valid, "counts": self.counts, **encode_fields(self)}

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([asdict(problem) for problem in self.problems], schema=_COLUMNS)
