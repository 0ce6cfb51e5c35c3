"""The result of ``collect``: ratings from filled sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import decode, encode, frame
from rankgate.core.present.result import Notice, Result
from rankgate.data.formats.pool_file import read_sheet
from rankgate.data.notes import Note
from rankgate.data.ratings import SCHEMA, Ratings
from rankgate.data.scales import parse_scale
from rankgate.data.streams.journal import Journal
from rankgate.judging.rating.pool_tasks import pool_table
from rankgate.judging.sheets.rows import read_filled_sheets

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.rating.pool_tasks import PoolLike


@dataclass(frozen=True)
class CollectedRatings(Result):
    """Ratings from sheets that came back.

    Attributes:
        ratings: query_id, doc_id, rater, grade, reason, comment, guideline; a row a filled row.
        notes: what was left empty.
    """

    kind: ClassVar[str] = "collected"
    label: ClassVar[str] = "Ratings in sheets"
    document_from: ClassVar[str] = "rankgate.judging.sheets.document:document"

    ratings: Ratings
    notes: tuple[Note, ...]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was left empty, for programs."""
        return tuple(Notice("left-empty", f"{n.what}: {n.count}") for n in self.notes)

    def _table(self) -> pl.DataFrame:
        return self.table

    @property
    def table(self) -> pl.DataFrame:
        """The ratings."""
        return self.ratings.table

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The ratings as plain values; a sheet tells no times."""
        return self.table.drop("at", "seconds").to_dicts()

    def add_to(self, path: str | Path) -> int:
        """Add the ratings to a file of ratings; those that sheets said last are there already.

        Returns:
            how many were added.

        Raises:
            InputError: the file holds something else.
            UsageError: it cannot be written.
        """
        with Journal.open(path) as journal:
            saved_rows = {_pair(row): row for row in journal.rows if row.get("at") is None}
            new_rows = [row for row in self.rows if saved_rows.get(_pair(row)) != row]
            for row in new_rows:
                journal.add(row)
        return len(new_rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.head(), "ratings": self.rows, "notes": encode(self.notes)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on."""
        schema = {name: dtype for name, dtype in SCHEMA.items() if name not in {"at", "seconds"}}
        notes = (Note(**decode(Note, n)) for n in values["notes"])
        return cls(Ratings(frame(values["ratings"], schema), "ratings"), tuple(notes))


def collect(
    sheets: Sequence[str | Path],
    *,
    pool: PoolLike | None = None,
    scale: str | None = None,
    rater: str | None = None,
) -> CollectedRatings:
    """Read sheets that came back; find all that came back wrong.

    Args:
        sheets: CSV or XLSX files, or tables of any other format.
        pool: the pool that was given out: other documents are refused, missing ones are reported.
        scale: the rating scale, if it differs from that of the sheets: a name, a range such as
            0..4, or a list such as 0,1,10,100.
        rater: the rater, if the sheets do not name one.

    Raises:
        InputError: everything wrong in the sheets, with file and line.
        DuplicateError: one rater rates a document twice.
        UsageError: no sheet, or no such scale.
    """
    if not sheets:
        raise UsageError("no sheet to read; name at least one.", code="missing-input")
    ratings, notes = read_filled_sheets(
        [read_sheet(path) for path in sheets],
        scale=parse_scale(scale) if scale else None,
        rater=rater,
        pool=None if pool is None else pool_table(pool),
    )
    return CollectedRatings(ratings, notes)


def _pair(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("query_id"), row.get("doc_id"), row.get("rater")
