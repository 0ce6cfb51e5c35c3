"""Create rating sheets from a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from rankgate.core.declare import Count, Share
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.core.present.suffixes import find_form, has_known_suffix
from rankgate.core.target import replace_file
from rankgate.data.read_ratings import read_ratings
from rankgate.data.scales import parse_scale
from rankgate.data.text import cells
from rankgate.judging.rating.pool_tasks import pool_table, read_tasks
from rankgate.judging.rating.session import grades_of
from rankgate.judging.sheets.assignment import assign_documents, count_doubled
from rankgate.judging.sheets.others import other_ratings_by_pair
from rankgate.judging.sheets.rows import make_sheet

if TYPE_CHECKING:
    from rankgate.data.inputs import RatingsLike
    from rankgate.judging.rating.pool_tasks import PoolLike


Form = Literal["csv", "xlsx"]
FORMS = ("csv", "xlsx")
"""File formats of sheets."""


@dataclass(frozen=True)
class Sheets(Result):
    """Sheets that were made.

    Attributes:
        tables: of each rater, the head and the rows.
        scale: the grades that are possible, in words.
        doubled: documents that two raters or more have.
        seed: of who has what, in which order.
    """

    kind: ClassVar[str] = "sheets"
    label: ClassVar[str] = "Rating sheets"
    document_from: ClassVar[str] = "rankgate.judging.sheets.sheets_document:document"

    tables: Mapping[str, tuple[list[str], list[list[str]]]]
    scale: str
    doubled: int
    seed: int

    def write(self, target: str | Path, form: Form = "csv") -> tuple[Path, ...]:
        """Write one file a rater.

        Args:
            target: a file, if there is one rater; a folder, which is made if need be, in which
                each rater gets a file of their name.
            form: csv or xlsx.

        Returns:
            the files.

        Raises:
            UsageError: a place where nothing can be written, a name that no file can have.
        """
        target_path = Path(target)
        if len(self.tables) == 1 and has_known_suffix(target_path) and not target_path.is_dir():
            paths, form = (
                [target_path],
                "xlsx" if find_form(target_path, FORMS) == "xlsx" else "csv",
            )
        else:
            paths = [target_path / f"{_check_file_name(name)}.{form}" for name in self.tables]
            _make_folder(target_path)
        grades = _grade_choices(self.scale)
        for path, (header, rows) in zip(paths, self.tables.values(), strict=True):
            with replace_file(path) as out:
                if form == "xlsx":
                    choices = {"grade": grades} if grades else {}
                    cells.write_xlsx(header, rows, out, choices=choices)
                else:
                    cells.write_csv(header, rows, out)
        return tuple(paths)

    def __len__(self) -> int:
        """The number of raters."""
        return len(self.tables)

    def _table(self) -> pl.DataFrame:
        """A row for each rater: ``rater``, ``documents``."""
        rows = [(name, len(rows)) for name, (_, rows) in self.tables.items()]
        return pl.DataFrame(rows, ["rater", "documents"], orient="row")


def sheets(
    pool: PoolLike,
    raters: Sequence[str],
    *,
    scale: str = "graded",
    per_document: Count = 1,
    overlap: Share = 0.0,
    queries: str | Path | pl.DataFrame | None = None,
    documents: str | Path | pl.DataFrame | None = None,
    guideline: str = "",
    seed: int = 0,
    show: RatingsLike | None = None,
) -> Sheets:
    """Create rating sheets from a pool: one for each rater, blind, each in its own random order.

    Args:
        pool: what to judge.
        raters: their names.
        scale: the rating scale: binary, graded (0 to 3), detail (1 to 10), a range such as 0..4, or
            a list such as 0,1,10,100.
        per_document: how many raters each document gets.
        overlap: the share of documents with one more rater, to measure agreement.
        queries: texts of the queries: query_id and text, in any format.
        documents: fields of the documents: doc_id, title and others, in any format.
        guideline: the version of the guideline that raters follow; kept with each rating.
        seed: of who gets what, in which order.
        show: ratings of others, whose grades and comments the sheets show; for an adjudicator.
            Without it sheets are blind.

    Raises:
        InputError: files that cannot be read, a document without text.
        UsageError: raters, shares or a scale that cannot be.
    """
    parse_scale(scale)
    other_ratings = None if show is None else read_ratings(show)
    parts = assign_documents(
        pool_table(pool), raters, per_document=per_document, overlap=overlap, seed=seed
    )
    tables = {
        name: make_sheet(
            read_tasks(rater_pool, queries, documents),
            name,
            scale,
            guideline,
            None if other_ratings is None else other_ratings_by_pair(other_ratings, name),
        )
        for name, rater_pool in parts.items()
    }
    return Sheets(tables, scale, count_doubled(parts), seed)


def _check_file_name(name: str) -> str:
    if name in {".", ".."} or any(sign in name for sign in '/\\:*?"<>|\0'):
        raise UsageError(
            f"rater {name!r}: no file can have this name; use letters and digits.",
            code="invalid-name",
        )
    return name


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: sheets of several raters need a folder: {error.strerror}.",
            code="cannot-write",
        ) from None


def _grade_choices(scale: str) -> list[str]:
    """The grades that a cell can be chosen from; none where they are too many."""
    try:
        return [f"{grade:g}" for grade in grades_of(parse_scale(scale))]
    except UsageError:
        return []
