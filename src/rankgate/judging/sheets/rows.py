"""Write and read the rows of rating sheets; detect every kind of damage."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.formulas import guarded, unguarded
from rankgate.core.frozen import dataclass
from rankgate.data.notes import Note
from rankgate.data.place import Place
from rankgate.data.ratings import SCHEMA, Ratings
from rankgate.data.scales import scale_of
from rankgate.judging.rating.tasks import check_of

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale
    from rankgate.data.text.cells import Cell, Cells, CsvRow
    from rankgate.judging.rating.tasks import Task

_NEEDED = ("query", "document", "grade")
_FIRST = ("check", "query", "document")
_LAST = ("grade", "cannot tell", "comment", "rater", "scale", "guideline")

_OTHERS = ("others' grades", "others' comments")

_DATE = re.compile(r"^\d{1,4}[-/.]\w{1,9}([-/.]\d{2,4})?( \d\d:\d\d(:\d\d)?)?$")
_POWER = re.compile(r"^\d([.,]\d+)?E[+-]?\d+$", re.IGNORECASE)
_DIGITS = re.compile(r"^\d+$")


def sheet(
    tasks: Sequence[Task],
    rater: str,
    scale: str,
    guideline: str = "",
    given: Mapping[tuple[str, str], tuple[str, str]] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of one rater's sheet; no cell is taken for a formula.

    What systems and ranks a document had is not in it. ``check`` fits the ids of its row, so
    that ids which a spreadsheet program changed are noticed. `given` are the grades and comments
    of other raters by pair, for an adjudicator; without it the sheet is blind.
    """
    asked = _names(task.query for task in tasks)
    shown = _names(task.document for task in tasks)
    titles = [name if name != "text" else "query text" for name in asked]
    fields = [
        f"{name} of document" if name in {*_LAST, *_FIRST, *_OTHERS, *titles} else name
        for name in shown
    ]
    others = [] if given is None else list(_OTHERS)
    head = [*_FIRST, *titles, *fields, *others, *_LAST]
    rows = [
        [
            check_of(*task.pair),
            guarded(task.query_id),
            guarded(task.doc_id),
            *(guarded(task.query.get(name, "")) for name in asked),
            *(guarded(task.document.get(name, "")) for name in shown),
            *(guarded(words) for words in (given or {}).get(task.pair, ("", ""))[: len(others)]),
            "",
            "",
            "",
            guarded(rater),
            scale,
            guarded(guideline),
        ]
        for task in tasks
    ]
    return head, rows


def _names(result: Iterable[object]) -> list[str]:
    names: dict[str, None] = {}
    for each in result:
        names.update(dict.fromkeys(each))  # type: ignore[call-overload]
    return list(names)


def filled(
    sheets: Sequence[Cells],
    *,
    scale: Scale | None = None,
    rater: str | None = None,
    pool: pl.DataFrame | None = None,
) -> tuple[Ratings, tuple[Note, ...]]:
    """The ratings in sheets that came back, and what was left empty; nothing is guessed.

    Args:
        sheets: their cells.
        scale: the grades that are possible; without it, the one that the sheets name.
        rater: who filled them, where they do not say so.
        pool: what was to be rated; other pairs are refused.

    Raises:
        InputError: a missing column, ids that a program changed, a document that is not in the
            pool, a grade that is not a number or not on the scale, both a grade and a reason, no
            rater, several scales; with file and line.
        DuplicateError: one rater rates a document twice.
    """
    grades = scale or _scale(sheets)
    known = (
        {check_of(q, d): (q, d) for q, d in pool.select("query_id", "doc_id").iter_rows()}
        if (pool is not None)
        else None
    )
    rows, places, empty = list[dict[str, object]](), list[tuple[str, int]](), list[str]()
    seen: dict[tuple[str, str, str], str] = {}
    for each in sheets:
        _refuse_columns(each)
        for row in each.rows:
            reader = _Reader(each, row)
            pair = reader.pair(known)
            grade, reason = reader.grade(grades), reader.text("cannot tell")
            where = f"{each.label}:{row.line}"
            if grade is None and not reason:
                empty.append(where)
                continue
            reader.refuse_both(grade, reason)
            who = reader.rater(rater)
            if (other := seen.setdefault((*pair, who), where)) != where:
                problem = (
                    f"{who} rates '{pair[1]}' of query '{pair[0]}' here and in {other}; keep one."
                )
                raise DuplicateError(problem, source=each.label, line=row.line)
            places.append((each.label, row.line))
            rows.append(
                {
                    "query_id": pair[0],
                    "doc_id": pair[1],
                    "rater": who,
                    "grade": grade,
                    "reason": reason or None,
                    "comment": reader.text("comment") or None,
                    "guideline": reader.text("guideline") or None,
                }
            )
    label = sheets[0].label if len(sheets) == 1 else f"{len(sheets)} sheets"
    place = Place(label, lambda i: places[i][1] if len(sheets) == 1 else None)
    table = pl.DataFrame(rows, schema={name: SCHEMA[name] for name in _KEPT})
    result = Ratings(table, "ratings", grades, place)
    return result, _notes(empty, sheets, known, table)


_KEPT = ("query_id", "doc_id", "rater", "grade", "reason", "comment", "guideline")


def _notes(
    empty: list[str],
    sheets: Sequence[Cells],
    known: dict[str, tuple[str, str]] | None,
    table: pl.DataFrame,
) -> tuple[Note, ...]:
    unchecked = [each.label for each in sheets if "check" not in each.names]
    rated = {check_of(q, d) for q, d in table.select("query_id", "doc_id").iter_rows()}
    left = [" ".join(pair) for check, pair in (known or {}).items() if check not in rated]
    return (
        *Note.of("rows without a grade, left unrated", empty),
        *Note.of("sheets without a column check, whose ids cannot be verified", unchecked),
        *Note.of("documents of the pool that nobody rated", left),
    )


def _refuse_columns(sheet: Cells) -> None:
    missing = [name for name in _NEEDED if name not in sheet.names]
    if missing:
        problem = (
            f"no column {missing[0]} among {', '.join(filter(None, sheet.names))[:200]}; keep the "
            "sheet's first line as it was."
        )
        raise InputError(problem, source=sheet.label, line=1, code="missing-column")


def _scale(sheets: Sequence[Cells]) -> Scale | None:
    """The scale that the sheets name, all the same."""
    first: tuple[str, str] | None = None
    for each in sheets:
        for row in each.rows:
            words = str(row.cells.get("scale") or "").strip()
            if words and first is None:
                first = (words, f"{each.label}:{row.line}")
            elif words and first and words != first[0]:
                problem = (
                    f"scale {words}, and {first[0]} in {first[1]}; grades of two scales do not "
                    "go together: fix the line, or read the sheets one by one."
                )
                raise InputError(problem, source=each.label, line=row.line, code="mixed-scales")
    return scale_of(first[0]) if first else None


@dataclass(frozen=True)
class _Reader:
    """One row, read cell by cell."""

    sheet: Cells
    row: CsvRow

    def error(self, problem: str) -> InputError:
        return InputError(
            problem, source=self.sheet.label, line=self.row.line, code="invalid-sheet"
        )

    def text(self, name: str) -> str:
        cell = self.row.cells.get(name)
        return "" if cell is None else unguarded(str(cell)).strip()

    def pair(self, known: dict[str, tuple[str, str]] | None) -> tuple[str, str]:
        check = self.text("check")
        query, document = self._id("query", check, known), self._id("document", check, known)
        fits = check_of(query, document)
        if check and check != fits:
            raise self.error(
                f"query '{query}', document '{document}': the ids are not those that were given out"
                f"{self._ought(check, known)}; {_suspect(query, document)}"
            )
        if known is not None and fits not in known:
            raise self.error(
                f"document '{document}' of query '{query}' is not in the pool; was a row added?"
            )
        return query, document

    def _id(self, name: str, check: str, known: dict[str, tuple[str, str]] | None) -> str:
        cell = self.row.cells.get(name)
        if cell is None or cell == "":
            raise self.error(f"{name} is empty{self._ought(check, known)}; fill it in again.")
        if not isinstance(cell, str):
            raise self.error(
                f"{name} holds {cell}, a {_kind(cell)} that a spreadsheet program made of an id"
                f"{self._ought(check, known)}; format the column as text and enter the id again."
            )
        return unguarded(cell)

    def _ought(self, check: str, known: dict[str, tuple[str, str]] | None) -> str:
        if known is None or check not in known:
            return ""
        query, document = known[check]
        return f" (the pool says query '{query}', document '{document}')"

    def grade(self, scale: Scale | None) -> float | None:
        cell = self.row.cells.get("grade")
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        grade = _number(cell)
        if grade is None:
            raise self.error(
                f"grade {str(cell)[:40]!r} is not a number; write one, with a point, or leave the "
                "cell empty and say why under 'cannot tell'."
            )
        on = [each for each, _ in scale.labels] if scale else []
        if scale and (not scale.lowest <= grade <= scale.highest or (on and grade not in on)):
            listed = ", ".join(f"{each:g}" for each in on)
            most = listed or f"{scale.lowest:g} to {scale.highest:g}"
            raise self.error(f"grade {grade:g} is not on the scale ({most}); fix it.")
        return grade

    def refuse_both(self, grade: float | None, reason: str) -> None:
        if grade is not None and reason:
            raise self.error(
                f"grade {grade:g}, and cannot tell ({reason[:40]}); empty one of the two cells."
            )

    def rater(self, given: str | None) -> str:
        own = self.text("rater")
        if given and own and own != given:
            raise self.error(f"rater {own}, where {given} was said; leave one of them out.")
        if not (own or given):
            raise self.error("it does not say who rated; fill in rater, or add --rater NAME.")
        return own or str(given)


def _number(cell: Cell) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _kind(cell: Cell) -> str:
    return "number" if isinstance(cell, int | float) else "date"


def _suspect(query: str, document: str) -> str:
    """What a program may have done to an id."""
    for word in (query, document):
        if _POWER.match(word):
            return f"{word} looks like a number that a spreadsheet program shortened."
        if _DATE.match(word) and not _DIGITS.match(word):
            return f"{word} looks like a date that a spreadsheet program made."
    for word in (query, document):
        if _DIGITS.match(word):
            return f"{word} may have lost zeros to a spreadsheet program."
    return "restore the row as it was."
