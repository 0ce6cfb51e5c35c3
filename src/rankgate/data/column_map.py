"""Columns that a user names: which column of a CSV or TSV file, or of a frame, is which of ours.

``query=search_term,doc=sku,grade=final_rating`` reads a sheet as it is. Several columns of grades
are the ratings of one rater each: ``grade=ann+bob``, or ``grade=rater_*`` with a pattern; those of
several qualities are one grade: ``aspects=relevance:0.7+trust:0.3``, ``aspects=relevance&trust``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.columns import ALIASES, is_header, renamed
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.formats import registry
from rankgate.data.streams.part_files import is_folder, part_files
from rankgate.data.streams.source import InputFile, source
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.aspects import Aspects
    from rankgate.data.inputs import ColumnsLike

Kind = Literal["qrels", "run", "ratings", "any"]

_SHORT = {"query": "query_id", "doc": "doc_id", "document": "doc_id"}
_BOTH = ("query_id", "doc_id")
_JUDGED = (
    "grade", "aspects", "rater", "subtopic", "subtopic_weight", "inclusion", "stratum", "at",
    "seconds", "comment", "reason",
)  # fmt: skip
_RANKED = ("score", "rank")
_TEXTS = ("text", "information_need", "field", "image", "url")
_OURS = (*_BOTH, *_JUDGED, *_RANKED, *_TEXTS)
_FRAME = frozenset({*_BOTH, "grade", *_RANKED})
_SHOWN = 10


@dataclass(frozen=True)
class ColumnMap:
    """Ours -> theirs; of grades several columns or patterns, each the ratings of one rater."""

    theirs: Mapping[str, str]

    @classmethod
    def of(cls, columns: ColumnsLike | None) -> ColumnMap | None:
        """From ``query=search_term,doc=sku``, from several of these, or from a mapping.

        Raises:
            UsageError: no ``name=column``, a name that is not ours, a name or a column twice.
        """
        if not columns:
            return None
        theirs: dict[str, str] = {}
        for name, column in column_pairs(columns):
            ours = _SHORT.get(name, name)
            if ours not in _OURS:
                known = "query, doc, " + ", ".join(_OURS[2:])
                problem = f"columns: '{name}' is not a column of rankgate; there are {known}."
                raise UsageError(problem, code="missing-column")
            if ours in theirs:
                raise UsageError(f"columns: {name} is named twice.", code="duplicate-name")
            theirs[ours] = column
        if {"grade", "aspects"} <= set(theirs):
            problem = "columns: aspects make the grade; leave out grade."
            raise UsageError(problem, code="conflicting-options")
        every = [each for column in cls(theirs).words for each in column]
        if twins := [each for i, each in enumerate(every) if each in every[:i]]:
            raise UsageError(f"columns: '{twins[0]}' is named twice.", code="duplicate-name")
        found = cls(theirs)
        if found.several and "rater" in theirs:
            problem = "columns: several columns of grades are raters already; leave out rater."
            raise UsageError(problem, code="conflicting-options")
        return found

    @property
    def aspects(self) -> Aspects | None:
        """How several columns become one grade, where they do."""
        if "aspects" not in self.theirs:
            return None
        from rankgate.data.aspects import Aspects  # few sheets have several

        return Aspects.of(self.theirs["aspects"])

    @property
    def words(self) -> list[tuple[str, ...]]:
        """The columns or patterns that each name stands for."""
        own = self.aspects
        return [
            own.columns if own is not None and ours == "aspects" else tuple(column.split("+"))
            for ours, column in self.theirs.items()
        ]

    @property
    def several(self) -> bool:
        """Whether grades are in one column for each rater."""
        return any(sign in self.theirs.get("grade", "") for sign in "+*")

    @property
    def rates(self) -> bool:
        """Whether it names the ratings of single raters."""
        return self.several or "rater" in self.theirs

    @property
    def of_frames(self) -> dict[str, str]:
        """What it names of frames of judgments and runs."""
        return {ours: each for ours, each in self.theirs.items() if ours in _FRAME}

    def asked(self, kind: Kind) -> dict[str, str]:
        """What it names of a kind of file."""
        own = {"run": _RANKED, "any": (*_JUDGED, *_RANKED, *_TEXTS)}.get(kind, _JUDGED)
        return {ours: each for ours, each in self.theirs.items() if ours in (*_BOTH, *own)}

    def unused(self, path: str | Path) -> list[str]:
        """The columns of a file that it does not name."""
        place = source(registry.prefixed(path)[1])
        names = _header(place.head().removeprefix(BOM), self.words)[1]
        wanted = [word.lower() for each in self.words for word in each]
        return [each for each in names
                if not any(fnmatchcase(each.lower(), word) for word in wanted)]  # fmt: skip


def mapped(table: Any, columns: ColumnsLike | None, kind: Kind = "any") -> Any:
    """A path or a frame under our names; several, or by name, each; anything else as it is.

    A file needs every column that is named for its kind: grades and raters of judgments, scores
    and ranks of runs. Where only queries and documents are named, a run without any of these
    columns is read as it is; so are runs and judgments of other formats that the map says nothing
    about.

    Args:
        table: a path, a frame, or several.
        columns: the columns that are named; None for none.
        kind: what the table is.

    Raises:
        InputError: a column that is not there, or is there twice; a grade that is no number, an
            empty id, in a table of several raters; with file and line.
        UsageError: what is wrong with the map.
    """
    how = ColumnMap.of(columns)
    if how is None or table is None:
        return table
    if isinstance(table, list | tuple):
        return [mapped(each, columns, kind) for each in table]
    if isinstance(table, str | Path):
        return _file(table, how, kind)
    if is_frame(table):
        return _framed(table, how)
    if isinstance(table, Mapping):
        return {
            name: mapped(each, columns, kind) if is_frame(each) or isinstance(each, str | Path)
            else each for name, each in table.items()
        }  # fmt: skip
    return table


def label_of(given: object) -> str:
    """What progress and errors call a file, or a table in memory."""
    if isinstance(given, InputFile):
        return given.label
    return str(given) if isinstance(given, str | Path) else "a table"


def column_pairs(columns: ColumnsLike) -> list[tuple[str, str]]:
    """Our names of columns and those of a table.

    >>> column_pairs("query=search_term,doc=sku")
    [('query', 'search_term'), ('doc', 'sku')]

    Raises:
        UsageError: a text that is not NAME=COLUMN.
    """
    if isinstance(columns, Mapping):
        return [(str(ours), str(theirs)) for ours, theirs in columns.items()]
    texts = [columns] if isinstance(columns, str) else columns
    return [_pair(pair) for text in texts for pair in text.split(",") if pair.strip()]


def _pair(word: str) -> tuple[str, str]:
    name, equals, column = (each.strip() for each in word.partition("="))
    if not (name and equals and column):
        problem = f"columns: '{word}' is not NAME=COLUMN, as in query=search_term,doc=sku."
        raise UsageError(problem, code="invalid-syntax")
    return name, column


def _file(path: str | Path, how: ColumnMap, kind: Kind) -> Any:
    name, rest = registry.prefixed(path)
    asked = how.asked(kind)
    place = source(rest)
    parts = part_files(place) if is_folder(place) else (place,)
    head = parts[0].head().removeprefix(BOM)
    separator, names = _header(head, how.words)
    lower = {each.lower() for each in names}
    shared = [asked[ours].lower() for ours in _BOTH if ours in asked]
    own = [ours for ours in asked if ours not in _BOTH]
    needed = bool(own) or (kind != "run" and not set(how.theirs) & set(_RANKED))
    if not asked or not (needed or any(each in lower for each in shared)):
        return path if place.content is None else _read(place, kind, None)
    if name not in {None, "csv", "tsv"} or not separator:
        problem = "columns can be named of CSV and TSV files with a header; leave --columns out."
        raise InputError(problem, source=place.label, line=1, code="wrong-type")
    if parts[0] is not place:
        problem = "columns can be named of one file, not of part files; rename them there."
        raise InputError(problem, source=place.label, code="is-a-folder")
    data = place.everything().removeprefix(BOM)
    aspects = how.aspects
    if aspects is not None and "aspects" in asked:
        where = {
            ours: tuple(
                i for word in (aspects.columns if ours == "aspects" else (column,))
                for i in _found(word, names, place, several=False)
            )
            for ours, column in asked.items()
        }  # fmt: skip
        return _read(
            InputFile(place.path, aspects.table(data, where, names, separator, place)), kind
        )
    found = {
        ours: _found(column, names, place, several=ours in {"grade", "field"})
        for ours, column in asked.items()
    }
    fields = found.pop("field", ())  # they keep their names
    if how.several and "grade" in found:
        if kind == "qrels":
            problem = (
                f"{how.theirs['grade']} are the ratings of several raters; resolve them into "
                "judgments first (rankgate resolve)."
            )
            raise InputError(problem, source=place.label, line=1, code="ratings-not-judgments")
        return _read(InputFile(place.path, _melted(data, found, names, separator, place)), kind)
    return _read(InputFile(place.path, _under(data, found, names, separator, fields)), kind)


def _read(place: InputFile, kind: Kind, form: str | None = "csv") -> Any:
    """What the file holds, where its kind is known."""
    if kind == "any":
        return place
    from rankgate.data import read, read_ratings

    if kind == "qrels":
        return read.read_qrels(place, from_=form, subtopics=True)
    if kind == "run":
        return read.read_run(place, from_=form)
    return read_ratings.read_ratings(place, from_=form)


def _header(head: bytes, wanted: Sequence[Sequence[str]]) -> tuple[str, tuple[str, ...]]:
    """The separator under which most of the columns are there, and the names."""
    if head.lstrip()[:1] in (b"{", b"[") or b"\x00" in head[:4096]:
        return "", ()
    from rankgate.data.text.records import SEPARATORS, first_fields  # here only: a slow import

    plain = {each.lower() for column in wanted for each in column}
    best: tuple[str, tuple[str, ...]] = ("", ())
    most = -1
    for separator in SEPARATORS:
        names = first_fields(head, separator)
        there = sum(name.lower() in plain for name in names) + is_header(names)
        if len(names) > 1 and there > most:
            best, most = (separator, names), there
    return best


def _found(
    column: str, names: Sequence[str], place: InputFile, *, several: bool
) -> tuple[int, ...]:
    """Where the columns are that a word names.

    Raises:
        InputError: there is none, or two.
    """
    places: list[int] = []
    for word in column.split("+") if several else [column]:
        if several and "*" in word:
            own = [i for i, name in enumerate(names) if fnmatchcase(name.lower(), word.lower())]
        else:
            own = [i for i, name in enumerate(names) if name == word] or [
                i for i, name in enumerate(names) if name.lower() == word.lower()
            ]
            if len(own) > 1:
                problem = f"two columns are called '{word}'; rename or remove one of them."
                raise InputError(problem, source=place.label, line=1, code="duplicate-column")
        if not own:
            shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            problem = f"no column '{word}' among {shown}."
            raise InputError(problem, source=place.label, line=1, code="missing-column")
        places += own
    if len(set(places)) < len(places):
        problem = f"'{column}' names a column twice."
        raise InputError(problem, source=place.label, line=1, code="duplicate-column")
    return tuple(places)


def _under(
    data: bytes,
    found: Mapping[str, tuple[int, ...]],
    names: Sequence[str],
    separator: str,
    fields: Sequence[int] = (),
) -> bytes:
    """The same bytes under a header of our names; other columns cannot be taken for ours."""
    ours = {places[0]: name for name, places in found.items()}
    taken = {alias for name in found if name not in _TEXTS for alias in ALIASES.get(name, (name,))}
    if {"grade", *_RANKED} & set(found):  # a judgment is no ranking, whatever else is in the sheet
        taken |= {alias for name in ("grade", *_RANKED) for alias in ALIASES[name]}
    header = [
        ours.get(i) or (f"unused {name}" if name.lower() in taken and i not in fields else name)
        for i, name in enumerate(names)
    ]
    first, _, rest = data.partition(b"\n")
    end = b"\r\n" if first.endswith(b"\r") else b"\n"
    return _row(header, separator).rstrip("\n").encode() + end + rest


def _melted(
    data: bytes,
    found: Mapping[str, tuple[int, ...]],
    names: Sequence[str],
    separator: str,
    place: InputFile,
) -> bytes:
    """A row for each rating of a sheet that has a column for each rater; empty cells are none.

    Raises:
        InputError: as of `mapped`.
    """
    from rankgate.data.text.numbers import number_fault

    out = io.StringIO()
    single = [name for name in found if name != "grade"]
    out.write(_row([*single, "rater", "grade"], ","))
    reader = csv.reader(io.StringIO(decoded(data, place.label), newline=""), delimiter=separator)
    next(reader)
    at = reader.line_num + 1
    for fields in reader:
        line, at = at, reader.line_num + 1
        if not any(map(str.strip, fields)):
            continue
        if len(fields) != len(names):
            problem = f"{len(fields)} fields, expected {len(names)} as in the first line."
            raise InputError(problem, source=place.label, line=line, code="wrong-field-count")
        ids = [fields[found[name][0]] for name in single]
        for name, value in zip(single, ids, strict=True):
            if name in _BOTH and not value.strip():
                problem = f"{name} is empty."
                raise InputError(problem, source=place.label, line=line, code="empty-value")
        for i in found["grade"]:
            grade = fields[i].strip()
            if grade and (fault := number_fault(grade, names[i])):
                raise InputError(fault, source=place.label, line=line, code="not-a-number")
            if grade:
                out.write(_row([*ids, names[i], grade], ","))
    return out.getvalue().encode()


def _row(fields: Sequence[str], separator: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerow(fields)
    return out.getvalue()


def _framed(table: Any, how: ColumnMap) -> Any:
    """A frame under our names, with a row for each rating where it has several raters."""
    aspects = how.aspects
    if aspects is not None:
        frame = polars_frame(table, "qrels")
        if set(aspects.columns) & set(frame.columns):  # a run has none of them
            for each in aspects.columns:
                _found(each, frame.columns, InputFile(Path("qrels")), several=False)
            table = aspects.framed(frame)
    if not how.several:
        return renamed(table, how.of_frames)
    frame = polars_frame(table, "ratings")
    names, place = frame.columns, InputFile(Path("ratings"))
    found = {
        ours: _found(column, names, place, several=ours == "grade")
        for ours, column in how.theirs.items()
    }
    return _unpivoted(frame, found)


def _unpivoted(frame: pl.DataFrame, found: Mapping[str, tuple[int, ...]]) -> pl.DataFrame:
    import polars as pl

    names = frame.columns
    ids = {ours: names[places[0]] for ours, places in found.items() if ours != "grade"}
    graded = [names[i] for i in found["grade"]]
    long = frame.select(
        *(pl.col(theirs).cast(pl.String).alias(ours) for ours, theirs in ids.items()),
        *(pl.col(each).cast(pl.Float64) for each in graded),
    ).unpivot(graded, index=list(ids), variable_name="rater", value_name="grade")
    return long.drop_nulls("grade")
