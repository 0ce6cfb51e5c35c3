"""Write and read the rows of rating sheets, and detect damage."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.csv_form import guard_cell, unguard_cell
from rankgate.data.file_contents import Note
from rankgate.data.qrels import RATINGS_SCHEMA, Ratings, parse_scale
from rankgate.data.table_rows import RowLocation
from rankgate.judging.rating_tasks import check_word

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale
    from rankgate.data.text.spreadsheet_cells import Cell, Cells, CsvRow
    from rankgate.judging.rating_tasks import Task


_REQUIRED_COLUMNS = ("query", "document", "grade")
_FIRST_COLUMNS = ("check", "query", "document")
_LAST_COLUMNS = ("grade", "cannot tell", "comment", "rater", "scale", "guideline")

_OTHER_COLUMNS = ("others' grades", "others' comments")

_DATE = re.compile(r"^\d{1,4}[-/.]\w{1,9}([-/.]\d{2,4})?( \d\d:\d\d(:\d\d)?)?$")
_POWER = re.compile(r"^\d([.,]\d+)?E[+-]?\d+$", re.IGNORECASE)
_DIGITS = re.compile(r"^\d+$")


def make_sheet(
    tasks: Sequence[Task],
    rater: str,
    scale: str,
    guideline: str = "",
    other_ratings: Mapping[tuple[str, str], tuple[str, str]] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """The header and rows of one rater's sheet, without cells that spreadsheets read as formulas.

    The sheet has no systems and ranks. The column ``check`` detects ids that a spreadsheet program
    changed. `other_ratings` has the grades and comments of other raters by pair, for an
    adjudicator; without `other_ratings` the sheet is blind.
    """
    query_names = _field_names(task.query for task in tasks)
    document_names = _field_names(task.document for task in tasks)
    titles = [name if name != "text" else "query text" for name in query_names]
    fields = [
        f"{name} of document" if name in {*_LAST_COLUMNS, *_FIRST_COLUMNS, *_OTHER_COLUMNS, *titles} else name
        for name in document_names
    ]
    other_columns = [] if other_ratings is None else list(_OTHER_COLUMNS)
    header = [*_FIRST_COLUMNS, *titles, *fields, *other_columns, *_LAST_COLUMNS]
    rows = [
        [
            check_word(*task.pair),
            guard_cell(task.query_id),
            guard_cell(task.doc_id),
            *(guard_cell(task.query.get(name, "")) for name in query_names),
            *(guard_cell(task.document.get(name, "")) for name in document_names),
            *(
                guard_cell(text)
                for text in (other_ratings or {}).get(task.pair, ("", ""))[: len(other_columns)]
            ),
            "",
            "",
            "",
            guard_cell(rater),
            scale,
            guard_cell(guideline),
        ]
        for task in tasks
    ]
    return header, rows


def _field_names(result: Iterable[object]) -> list[str]:
    names: dict[str, None] = {}
    for fields in result:
        names.update(dict.fromkeys(fields))  # type: ignore[call-overload]
    return list(names)


def read_filled_sheets(
    sheets: Sequence[Cells],
    *,
    scale: Scale | None = None,
    rater: str | None = None,
    pool: pl.DataFrame | None = None,
) -> tuple[Ratings, tuple[Note, ...]]:
    """Read the ratings and the empty cells of filled sheets; damaged cells are errors.

    Args:
        sheets: the cells of each sheet.
        scale: the possible grades; by default the scale named in the sheets.
        rater: the rater, if the sheets name no rater.
        pool: the pairs to rate; other pairs are errors.

    Raises:
        InputError: a missing column, ids that a program changed, a document that is not in the
            pool, a grade that is not a number or not on the scale, both a grade and a reason, no
            rater, several scales; with file and line.
        DuplicateError: one rater rates a document twice.
    """
    grades = scale or _scale(sheets)
    pair_of_check = (
        {check_word(q, d): (q, d) for q, d in pool.select("query_id", "doc_id").iter_rows()}
        if (pool is not None)
        else None
    )
    rows, places, empty_rows = list[dict[str, object]](), list[tuple[str, int]](), list[str]()
    first_location: dict[tuple[str, str, str], str] = {}
    for sheet_cells in sheets:
        _refuse_columns(sheet_cells)
        for row in sheet_cells.rows:
            reader = _Reader(sheet_cells, row)
            pair = reader.pair(pair_of_check)
            grade, reason = reader.grade(grades), reader.text("cannot tell")
            location = f"{sheet_cells.label}:{row.line}"
            if grade is None and not reason:
                empty_rows.append(location)
                continue
            reader.refuse_both(grade, reason)
            rater_name = reader.rater(rater)
            if (other_location := first_location.setdefault((*pair, rater_name), location)) != location:
                problem = (
                    f"{rater_name} rates '{pair[1]}' of query '{pair[0]}' here and in {other_location}; keep "
                    f"one."
                )
                raise DuplicateError(problem, source=sheet_cells.label, line=row.line)
            places.append((sheet_cells.label, row.line))
            rows.append(
                {
                    "query_id": pair[0],
                    "doc_id": pair[1],
                    "rater": rater_name,
                    "grade": grade,
                    "reason": reason or None,
                    "comment": reader.text("comment") or None,
                    "guideline": reader.text("guideline") or None,
                }
            )
    label = sheets[0].label if len(sheets) == 1 else f"{len(sheets)} sheets"
    source = RowLocation(label, lambda i: places[i][1] if len(sheets) == 1 else None)
    table = pl.DataFrame(rows, schema={name: RATINGS_SCHEMA[name] for name in _RATING_COLUMNS})
    result = Ratings(table, "ratings", grades, source)
    return result, _notes(empty_rows, sheets, pair_of_check, table)


_RATING_COLUMNS = ("query_id", "doc_id", "rater", "grade", "reason", "comment", "guideline")


def _notes(
    empty_rows: list[str],
    sheets: Sequence[Cells],
    pair_of_check: dict[str, tuple[str, str]] | None,
    table: pl.DataFrame,
) -> tuple[Note, ...]:
    unchecked_sheets = [sheet_cells.label for sheet_cells in sheets if "check" not in sheet_cells.names]
    rated_checks = {check_word(q, d) for q, d in table.select("query_id", "doc_id").iter_rows()}
    unrated_pairs = [
        " ".join(pair) for check, pair in (pair_of_check or {}).items() if check not in rated_checks
    ]
    return (
        *Note.of("rows without a grade, left unrated", empty_rows),
        *Note.of("sheets without a column check: their ids cannot be verified", unchecked_sheets),
        *Note.of("documents of the pool without a rating", unrated_pairs),
    )


def _refuse_columns(sheet: Cells) -> None:
    missing = [name for name in _REQUIRED_COLUMNS if name not in sheet.names]
    if missing:
        problem = (
            f"no column {missing[0]} among {', '.join(filter(None, sheet.names))[:200]}; keep the sheet's "
            "first line as it was."
        )
        raise InputError(problem, source=sheet.label, line=1, code="missing-column")


def _scale(sheets: Sequence[Cells]) -> Scale | None:
    """The scale named in all sheets, which must be the same."""
    first: tuple[str, str] | None = None
    for sheet_cells in sheets:
        for row in sheet_cells.rows:
            scale_text = str(row.cells.get("scale") or "").strip()
            if scale_text and first is None:
                first = (scale_text, f"{sheet_cells.label}:{row.line}")
            elif scale_text and first and scale_text != first[0]:
                problem = (
                    f"scale {scale_text}, and {first[0]} in {first[1]}; grades of two scales cannot be "
                    "combined: fix the line, or read the sheets one by one."
                )
                raise InputError(problem, source=sheet_cells.label, line=row.line, code="mixed-scales")
    return parse_scale(first[0]) if first else None


@dataclass(frozen=True)
class _Reader:
    """A reader of one row, cell by cell."""

    sheet: Cells
    row: CsvRow

    def error(self, problem: str) -> InputError:
        return InputError(problem, source=self.sheet.label, line=self.row.line, code="invalid-sheet")

    def text(self, name: str) -> str:
        cell = self.row.cells.get(name)
        return "" if cell is None else unguard_cell(str(cell)).strip()

    def pair(self, pair_of_check: dict[str, tuple[str, str]] | None) -> tuple[str, str]:
        check = self.text("check")
        query, document = (
            self._id("query", check, pair_of_check),
            self._id("document", check, pair_of_check),
        )
        expected_check = check_word(query, document)
        if check and check != expected_check:
            raise self.error(
                f"query '{query}', document '{document}': the ids are not those that were given out"
                f"{self._ought(check, pair_of_check)}; {_damage_hint(query, document)}"
            )
        if pair_of_check is not None and expected_check not in pair_of_check:
            raise self.error(f"document '{document}' of query '{query}' is not in the pool; was a row added?")
        return query, document

    def _id(self, name: str, check: str, pair_of_check: dict[str, tuple[str, str]] | None) -> str:
        cell = self.row.cells.get(name)
        if cell is None or cell == "":
            raise self.error(f"{name} is empty{self._ought(check, pair_of_check)}; fill it in again.")
        if not isinstance(cell, str):
            raise self.error(
                f"{name} holds {cell}, a {_cell_kind(cell)} that a spreadsheet program made of an id"
                f"{self._ought(check, pair_of_check)}; format the column as text and enter the id again."
            )
        return unguard_cell(cell)

    def _ought(self, check: str, pair_of_check: dict[str, tuple[str, str]] | None) -> str:
        if pair_of_check is None or check not in pair_of_check:
            return ""
        query, document = pair_of_check[check]
        return f" (the pool has query '{query}', document '{document}')"

    def grade(self, scale: Scale | None) -> float | None:
        cell = self.row.cells.get("grade")
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        grade = _number(cell)
        if grade is None:
            raise self.error(
                f"grade {str(cell)[:40]!r} is not a number; write one, with a point, or leave the cell empty "
                "and give the reason under 'cannot tell'."
            )
        allowed_grades = [allowed_grade for allowed_grade, _ in scale.labels] if scale else []
        if scale and (
            not scale.lowest <= grade <= scale.highest or (allowed_grades and grade not in allowed_grades)
        ):
            grades_text = ", ".join(f"{allowed_grade:g}" for allowed_grade in allowed_grades)
            scale_text = grades_text or f"{scale.lowest:g} to {scale.highest:g}"
            raise self.error(f"grade {grade:g} is not on the scale ({scale_text}); fix it.")
        return grade

    def refuse_both(self, grade: float | None, reason: str) -> None:
        if grade is not None and reason:
            raise self.error(f"grade {grade:g}, and cannot tell ({reason[:40]}); empty one of the two cells.")

    def rater(self, default_rater: str | None) -> str:
        stated_rater = self.text("rater")
        if default_rater and stated_rater and stated_rater != default_rater:
            raise self.error(
                f"the row names rater {stated_rater}, and {default_rater} was given; leave one of them out."
            )
        if not (stated_rater or default_rater):
            raise self.error("the rater is missing; fill in rater, or add --rater NAME.")
        return stated_rater or str(default_rater)


def _number(cell: Cell) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _cell_kind(cell: Cell) -> str:
    return "number" if isinstance(cell, int | float) else "date"


def _damage_hint(query: str, document: str) -> str:
    """Explain how a spreadsheet program may have damaged an id."""
    for identifier in (query, document):
        if _POWER.match(identifier):
            return f"{identifier} looks like a number that a spreadsheet program shortened."
        if _DATE.match(identifier) and not _DIGITS.match(identifier):
            return f"{identifier} looks like a date that a spreadsheet program made."
    for identifier in (query, document):
        if _DIGITS.match(identifier):
            return f"{identifier} may have lost zeros to a spreadsheet program."
    return "restore the row as it was."
