"""Create rating sheets from a pool, and collect the ratings of filled sheets.

Documents are assigned to raters in random orders, with a stated overlap. The sheet of an
adjudicator has other raters' grades and comments. The result of ``collect`` has the ratings from
filled sheets, and is written as JSONL, CSV and a summary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Share
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import find_form, has_known_suffix, new_folder, replace_file
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.codec import frame
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import Lines, View, plain_rows
from rankgate.data.file_contents import Note
from rankgate.data.formats.pool_file import read_sheet
from rankgate.data.qrels import RATINGS_SCHEMA, Ratings, parse_scale
from rankgate.data.read import read_ratings
from rankgate.data.streams.journal import Journal
from rankgate.data.text import spreadsheet_cells
from rankgate.judging.counting_ratings import PAIR, counting_ratings
from rankgate.judging.pooling.pool import shuffle_batches
from rankgate.judging.rating_session import grades_of
from rankgate.judging.rating_tasks import pool_table, read_tasks
from rankgate.judging.sheet_rows import make_sheet, read_filled_sheets

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import RatingsLike
    from rankgate.judging.rating_tasks import PoolLike


def other_ratings_by_pair(ratings: Ratings, rater: str) -> dict[tuple[str, str], tuple[str, str]]:
    """All other raters' grades and comments by pair, lowest grade first, without names.

    A rating without a grade is shown as ``cannot tell``; its reason counts as a comment.
    """
    label = pl.col("grade").map_elements(lambda grade: f"{grade:g}", pl.String)
    table = (
        counting_ratings(ratings)
        .table.filter(pl.col("rater") != rater)
        .sort("grade", nulls_last=True)
        .with_columns(
            label.fill_null("cannot tell").alias("label"), pl.coalesce("comment", "reason").alias("words")
        )
    )
    comment = pl.format("{}: {}", "label", "words").drop_nulls()
    rows_by_pair = table.group_by(PAIR, maintain_order=True).agg("label", comment.alias("said"))
    return {
        (query, document): (", ".join(labels), "; ".join(comments))
        for query, document, labels, comments in rows_by_pair.iter_rows()
    }


def assign_documents(
    pool: pl.DataFrame, raters: Sequence[str], *, per_document: int = 1, overlap: float = 0.0, seed: int = 0
) -> dict[str, pl.DataFrame]:
    """Assign parts of a pool to raters.

    Documents go in random order to the rater with the fewest documents, so that numbers of
    documents differ by at most one and any two raters share documents.

    Args:
        pool: ``query_id``, ``doc_id``, ``batch``.
        raters: the names of the raters.
        per_document: the number of raters of each document.
        overlap: the share of documents that one more rater gets, to measure agreement.
        seed: the seed of the assignment and of each rater's order.

    Raises:
        UsageError: a rater is named twice; there are too few raters.
    """
    names = list(raters)
    if not names or len({*names}) < len(names) or "" in names:
        raise UsageError("raters need names that differ; name each once.", code="duplicate-name")
    if not 0 <= overlap <= 1:
        raise UsageError(f"overlap={overlap:g}: a share lies between 0 and 1.", code="out-of-range")
    max_ratings = per_document + (overlap > 0)
    if per_document < 1 or max_ratings > len(names):
        raise UsageError(
            f"{max_ratings} ratings of a document need as many raters, and there are {len(names)}.",
            code="out-of-range",
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pool))
    overlap_count = round(overlap * len(pool))
    load = np.zeros(len(names), np.int64)
    rows_of_rater: list[list[int]] = [[] for _ in names]
    for turn, row in enumerate(order.tolist()):
        count = per_document + (turn < overlap_count)
        least_loaded = np.lexsort((rng.random(len(names)), load))[:count]
        load[least_loaded] += 1
        for rater in least_loaded.tolist():
            rows_of_rater[rater].append(row)
    return {
        name: shuffle_batches(pool[sorted(rows)] if rows else pool.clear(), seed + 1 + i)
        for i, (name, rows) in enumerate(zip(names, rows_of_rater, strict=True))
    }


def count_doubled(parts: dict[str, pl.DataFrame]) -> int:
    """Count the documents assigned to two or more raters."""
    pairs = pl.concat([rater_pool.select("query_id", "doc_id") for rater_pool in parts.values()])
    return int((pairs.group_by("query_id", "doc_id").len()["len"] > 1).sum())


Form = Literal["csv", "xlsx"]
SHEET_FORMS = ("csv", "xlsx")
"""The file formats of sheets."""


@dataclass(frozen=True)
class Sheets(Result):
    """Sheets that were made.

    Attributes:
        tables: the header and the rows of each rater's table.
        scale: the possible grades, in words.
        doubled: the number of documents of two or more raters.
        seed: the seed of the assignment and its order.
    """

    kind = "sheets"
    main_table = "documents_by_rater"
    label = "Rating sheets"
    headline_text = "{tables:n rating sheet}, scale {scale}, seed {seed:d}"
    layout = (View(), "documents that two raters or more have: {doubled:,}")

    tables: Mapping[str, tuple[list[str], list[list[str]]]]
    scale: str
    doubled: int
    seed: int

    def write(self, target: str | Path, form: Form = "csv") -> tuple[Path, ...]:
        """Write one file a rater.

        Args:
            target: a file for one rater, or a folder with a file for each rater, which is created
                if it does not exist.
            form: csv or xlsx.

        Returns:
            the files.

        Raises:
            UsageError: a place where nothing can be written, a name that no file can have.
        """
        target_path = Path(target)
        folder: AbstractContextManager[object] = nullcontext()
        if len(self.tables) == 1 and has_known_suffix(target_path) and not target_path.is_dir():
            paths, form = ([target_path], "xlsx" if find_form(target_path, SHEET_FORMS) == "xlsx" else "csv")
        else:
            paths = [target_path / f"{_check_file_name(name)}.{form}" for name in self.tables]
            folder = new_folder(target_path)
        grades = _grade_choices(self.scale)
        with folder:
            for path, (header, rows) in zip(paths, self.tables.values(), strict=True):
                with replace_file(path) as out:
                    if form == "xlsx":
                        choices = {"grade": grades} if grades else {}
                        spreadsheet_cells.write_xlsx(header, rows, out, choices=choices)
                    else:
                        spreadsheet_cells.write_csv(header, rows, out)
        return tuple(paths)

    def __len__(self) -> int:
        """The number of raters."""
        return len(self.tables)

    def csv_rows(self) -> PlainRows:
        """Every row of every sheet."""
        rows = [
            (name, row[header.index("query")], row[header.index("document")])
            for name, (header, sheet_rows) in self.tables.items()
            for row in sheet_rows
        ]
        return PlainRows(("rater", "query_id", "doc_id"), rows)

    @property
    def documents_by_rater(self) -> pl.DataFrame:
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
        pool: the pairs to judge.
        raters: their names.
        scale: the rating scale: binary, graded (0 to 3), detail (1 to 10), a range such as 0..4, or
            a list such as 0,1,10,100.
        per_document: the number of raters of each document.
        overlap: the share of documents with one more rater, to measure agreement.
        queries: texts of the queries: query_id and text, in any format.
        documents: fields of the documents: doc_id, title and others, in any format.
        guideline: the version of the guideline that raters follow; kept with each rating.
        seed: the seed of the assignment and its order.
        show: ratings of other raters; the sheets show their grades and comments to an adjudicator.
            Without it sheets are blind.

    Raises:
        InputError: files that cannot be read, a document without text.
        UsageError: raters, shares or a scale that cannot be.
    """
    parse_scale(scale)
    other_ratings = None if show is None else read_ratings(show)
    parts = assign_documents(pool_table(pool), raters, per_document=per_document, overlap=overlap, seed=seed)
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
            f"rater {name!r}: no file can have this name; use letters and digits.", code="invalid-name"
        )
    return name


def _grade_choices(scale: str) -> list[str]:
    """The grades in the drop-down list of a cell; empty if there are too many."""
    try:
        return [f"{grade:g}" for grade in grades_of(parse_scale(scale))]
    except UsageError:
        return []


def _read_sheet_ratings(values: Mapping[str, Any]) -> Ratings:
    """The ratings of a saved result."""
    schema = {name: dtype for name, dtype in RATINGS_SCHEMA.items() if name not in {"at", "seconds"}}
    return Ratings(frame(values["ratings"], schema), "ratings")


@dataclass(frozen=True)
class CollectedRatings(Result):
    """Ratings from sheets that came back.

    Attributes:
        ratings: query_id, doc_id, rater, grade, reason, comment, guideline; a row a filled row.
        notes: the cells that were left empty.
    """

    kind = "collected"
    main_table = "table"
    label = "Ratings in sheets"
    layout = (Lines("empty_rows"),)
    WRITTEN: ClassVar[tuple[str, ...]] = ("rows", "notes")
    KEYS: ClassVar[Mapping[str, str]] = {"rows": "ratings"}
    READ: ClassVar[Mapping[str, Any]] = {"ratings": _read_sheet_ratings}
    notice_texts = (NoticeText("left-empty", "{row.what}: {row.count}", source="notes"),)
    headline_text = "{graded:n grade} by {raters:n rater}; {ungraded:,} could not be graded"

    ratings: Ratings
    notes: tuple[Note, ...]

    @property
    def raters(self) -> list[str]:
        """The raters."""
        return self.table["rater"].unique().to_list()

    @property
    def graded(self) -> int:
        """The number of grades."""
        return self.table["grade"].count()

    @property
    def ungraded(self) -> int:
        """The number of pairs that could not be graded."""
        return self.table["grade"].null_count()

    @property
    def empty_rows(self) -> tuple[str, ...]:
        """The numbers of rows that were left empty, with examples."""
        return tuple(
            f"{note.what}: {note.count:,} ({', '.join(note.examples)}"
            f"{', …' if note.count > len(note.examples) else ''})"
            for note in self.notes
        )

    def csv_rows(self) -> PlainRows:
        """The ratings, for a file that is read again."""
        return replace(plain_rows(self.table.drop("at", "seconds")), data=True)

    @property
    def table(self) -> pl.DataFrame:
        """The ratings."""
        return self.ratings.table

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The ratings as plain values; a sheet has no times."""
        return self.table.drop("at", "seconds").to_dicts()

    def add_to(self, path: str | Path) -> int:
        """Add the ratings to a file of ratings, except those that the file already has.

        Returns:
            how many were added.

        Raises:
            InputError: the file holds something else.
            UsageError: it cannot be written.
        """
        with Journal.open(path) as journal:
            saved_rows = {_pair(row): row for row in journal.rows if row.get("at") is None}
            new_rows = [row for row in self.rows if saved_rows.get(_pair(row)) != row]
            journal.extend(new_rows)
        return len(new_rows)


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
        pool: the pool that the sheets were made from: other documents are refused, missing
            documents are reported.
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


def _pair(row: JsonObject) -> tuple[object, ...]:
    return row.get("query_id"), row.get("doc_id"), row.get("rater")


def lines_of_json(result: CollectedRatings) -> str:
    """The ratings as JSON lines, one object per line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in result.rows)
