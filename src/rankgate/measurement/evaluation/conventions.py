"""The named conventions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.measurement.evaluation.convention import ConventionDetails
from rankgate.measurement.scoring import CONVENTIONS, Convention, convention
from rankgate.measurement.scoring.presets import of_plugins


@dataclass(frozen=True)
class Conventions(Result):
    """Every named convention; one of them by its name.

    Attributes:
        conventions: the details of each.
    """

    kind: ClassVar[str] = "conventions"
    document_from: ClassVar[str] = (
        "rankgate.measurement.evaluation.documents.conventions:conventions_document"
    )

    conventions: tuple[ConventionDetails, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the list."""
        return tuple(details.name for details in self.conventions)

    def __len__(self) -> int:
        """The number of conventions."""
        return len(self.conventions)

    def __iter__(self) -> Iterator[Convention]:
        """Each convention as a value that ``evaluate`` takes."""
        return map(convention, self.names)

    def __getitem__(self, name: str) -> Convention:
        """One by its name.

        Raises:
            UsageError: an unknown name; the nearest is in the message.
        """
        return convention(name)

    def _table(self) -> pl.DataFrame:
        """One row a convention: ``name``, ``title``, ``source``, ``hash``."""
        rows = [
            (details.name, details.title, details.source, details.hash)
            for details in self.conventions
        ]
        return pl.DataFrame(rows, ["name", "title", "source", "hash"], orient="row")


def conventions() -> Conventions:
    """Every named convention, those of plug-ins at the end.

    >>> every = conventions()
    >>> every.names[:2], every["trec"].ties
    (('trec', 'trec9'), 'doc_id_desc')
    """
    all_conventions = (*CONVENTIONS.values(), *of_plugins().by_name.values())
    return Conventions(tuple(map(ConventionDetails.of, all_conventions)))
