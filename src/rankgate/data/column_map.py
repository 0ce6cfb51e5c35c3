"""Columns that a user names: our columns mapped to those of a file or frame.

``query=search_term,doc=sku,grade=final_rating`` reads a sheet without changes to it. Several
columns of grades hold the ratings of one rater each: ``grade=ann+bob``, or ``grade=rater_*`` with a
pattern. Several columns of qualities give one grade: ``aspects=relevance:0.7+trust:0.3``,
``aspects=relevance&trust``. If files name a column differently, bars separate the names:
``query=search_term|q``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.column_names import ALIASES, NAME_SEPARATOR
from rankgate.data.foreign_frames import is_frame, is_header, lazy_frame, rename_columns
from rankgate.data.formats import registry
from rankgate.data.formats.tables.csv_tables import CsvTable
from rankgate.data.formats.tables.mapped_tables import RenamedTable
from rankgate.data.formats.tables.parquet_arrow import FrameTable
from rankgate.data.formats.tables.table_contents import form_of_table
from rankgate.data.grades_from_columns import Aspects, grade_labels, melt_raters
from rankgate.data.streams.input_parts import is_folder, list_part_files
from rankgate.data.streams.source import InputFile, limit_judgments, open_source
from rankgate.data.text.text_values import BOM
from rankgate.data.text.western_text import decode_western
from rankgate.data.unfold import LIST_COLUMN, RELEVANT_COLUMN, unfold

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.formats.table import Table
    from rankgate.data.input_types import ColumnsLike

Kind = Literal["qrels", "run", "ratings", "any"]

_SHORT = {"query": "query_id", "doc": "doc_id", "document": "doc_id"}
_ID_COLUMNS = ("query_id", "doc_id")
_PATH_COLUMNS = (*_ID_COLUMNS, LIST_COLUMN, RELEVANT_COLUMN, "grade", "score", "rank")
_JUDGMENT_COLUMNS = (
    "grade",
    "aspects",
    "rater",
    "subtopic",
    "subtopic_weight",
    "inclusion",
    "stratum",
    "at",
    "seconds",
    "comment",
    "reason",
)
_RANKING_COLUMNS = ("score", "rank")
_TEXTS = ("text", "information_need", "field", "image", "url")
_ALL_COLUMNS = (*_ID_COLUMNS, LIST_COLUMN, RELEVANT_COLUMN, *_JUDGMENT_COLUMNS, *_RANKING_COLUMNS, *_TEXTS)
_FRAME = frozenset({*_ID_COLUMNS, "grade", *_RANKING_COLUMNS})
_MAX_SHOWN = 10


@dataclass(frozen=True)
class ColumnMap:
    """A map from our columns to theirs; for grades also columns or patterns, one for each rater."""

    theirs: Mapping[str, str]

    @classmethod
    def read(cls, columns: ColumnsLike | None) -> ColumnMap | None:
        """Read ``query=search_term,doc=sku``, several such texts, or a mapping.

        Raises:
            UsageError: a text is not ``name=column``, a name is not ours, or a name or column is
                repeated.
        """
        if not columns:
            return None
        column_of_name: dict[str, str] = {}
        for name, column in column_pairs(columns):
            our_name = _SHORT.get(name, name)
            if our_name not in _ALL_COLUMNS:
                name_list = "query, doc, " + ", ".join(_ALL_COLUMNS[2:])
                problem = f"columns: '{name}' is not a column of rankgate; there are {name_list}."
                raise UsageError(problem, code="missing-column")
            if our_name in column_of_name:
                raise UsageError(f"columns: {name} is named twice.", code="duplicate-name")
            column_of_name[our_name] = column
        if {"grade", "aspects"} <= set(column_of_name):
            problem = "columns: aspects make the grade; leave out grade."
            raise UsageError(problem, code="conflicting-options")
        all_columns = [name for column in cls(column_of_name).description for name in column]
        if repeated_names := [name for i, name in enumerate(all_columns) if name in all_columns[:i]]:
            raise UsageError(f"columns: '{repeated_names[0]}' is named twice.", code="duplicate-name")
        column_map = cls(column_of_name)
        if column_map.has_raters and "rater" in column_of_name:
            problem = "columns: several columns of grades already stand for raters; leave out rater."
            raise UsageError(problem, code="conflicting-options")
        return column_map

    @property
    def aspects(self) -> Aspects | None:
        """The rule by which several columns become one grade, if the map has one."""
        if "aspects" not in self.theirs:
            return None
        return Aspects.read(self.theirs["aspects"])

    @property
    def description(self) -> list[tuple[str, ...]]:
        """The columns or patterns of each name."""
        aspects = self.aspects
        return [
            aspects.columns
            if aspects is not None and name == "aspects"
            else tuple(
                name for alternative in column.split(NAME_SEPARATOR) for name in alternative.split("+")
            )
            for name, column in self.theirs.items()
        ]

    def resolved(self, names: Sequence[str]) -> ColumnMap:
        """The map for one table: of several names for a column, the first in the table is used."""
        if not any(NAME_SEPARATOR in column for column in self.theirs.values()):
            return self
        lower_names = {name.lower() for name in names}
        first_columns = {
            name: next(
                (
                    alternative
                    for alternative in column.split(NAME_SEPARATOR)
                    if alternative.lower() in lower_names
                ),
                column,
            )
            for name, column in self.theirs.items()
        }
        return ColumnMap(first_columns)

    def paths(self, names: Sequence[str], kind: Kind) -> dict[str, str]:
        """The map for a table with lists or nested columns; empty for one with a row per document.

        Args:
            names: the columns of the table.
            kind: the kind of the table.
        """
        paths = {name: path for name, path in self.theirs.items() if name in _PATH_COLUMNS}
        relevant = paths.pop(RELEVANT_COLUMN, None)
        if relevant and kind == "qrels":
            paths[LIST_COLUMN] = relevant
        missing = [path for path in paths.values() if set(path.split(NAME_SEPARATOR)).isdisjoint(names)]
        is_path = any("." in path for path in missing)
        is_listed = not set(paths.get(LIST_COLUMN, "").split(NAME_SEPARATOR)).isdisjoint(names)
        if not is_listed and (is_header(names) or not (is_path or LIST_COLUMN in paths)):
            return {}
        other_number = {"qrels": "score", "run": "grade"}.get(kind)
        return {name: path for name, path in paths.items() if name != other_number}

    def without_paths(self, names: Sequence[str]) -> ColumnMap:
        """The map without lists, and without paths that a table does not have as columns."""
        columns = {
            name: path
            for name, path in self.theirs.items()
            if name not in {LIST_COLUMN, RELEVANT_COLUMN} and ("." not in path or path in names)
        }
        return ColumnMap(columns) if {LIST_COLUMN, RELEVANT_COLUMN} & set(self.theirs) else self

    @property
    def has_raters(self) -> bool:
        """True if each rater has a column of grades."""
        return any(sign in self.theirs.get("grade", "") for sign in "+*")

    @property
    def rates(self) -> bool:
        """True if the map names the ratings of single raters."""
        return self.has_raters or "rater" in self.theirs

    @property
    def of_frames(self) -> dict[str, str]:
        """The part of the map that applies to frames of judgments and runs."""
        return {name: column for name, column in self.theirs.items() if name in _FRAME}

    def for_kind(self, kind: Kind, names: Sequence[str] = ()) -> dict[str, str]:
        """The part of the map that applies to a kind of file.

        Args:
            kind: the kind of the file.
            names: the columns of the file; they decide if it could be judgments or a run.
        """
        kind_columns = {"run": _RANKING_COLUMNS, "any": (*_JUDGMENT_COLUMNS, *_RANKING_COLUMNS, *_TEXTS)}.get(
            kind, _JUDGMENT_COLUMNS
        )
        kind_map = {
            name: column for name, column in self.theirs.items() if name in (*_ID_COLUMNS, *kind_columns)
        }
        if kind != "any":
            return kind_map
        lower_names = {name.lower() for name in names}
        missing_groups = [  # a map for two files names the columns of both files
            group
            for group in (_JUDGMENT_COLUMNS, _RANKING_COLUMNS)
            if not any(column.lower() in lower_names for name, column in kind_map.items() if name in group)
        ]
        if len(missing_groups) == 1 and set(missing_groups[0]) & set(kind_map):
            return {name: column for name, column in kind_map.items() if name not in missing_groups[0]}
        return kind_map

    def unused(self, path: str | Path) -> list[str]:
        """The columns that the map names and a file lacks."""
        input_file = open_source(registry.split_prefix(path)[1])
        names = _read_header(input_file, self.description)[1]
        patterns = [word.lower() for column_patterns in self.description for word in column_patterns]
        return [name for name in names if not any(fnmatchcase(name.lower(), word) for word in patterns)]


def map_columns(
    table: object, columns: ColumnsLike | None, kind: Kind = "any", grades: Mapping[str, float] | None = None
) -> Any:
    """A path or frame with our column names; also in lists and by name; other values unchanged.

    A file needs every column that is named for its kind: grades and raters of judgments, scores and
    ranks of runs. If only queries and documents are named, a run without these columns is read
    unchanged, as are runs and judgments of other formats that the map does not mention.

    Args:
        table: a path, a frame, or several.
        columns: the columns that the user named; None if there are none.
        kind: the kind of the table.
        grades: the grade of each label, if files hold labels.

    Raises:
        InputError: a column is missing or repeated, a grade is not a number, an id in a table of
            several raters is empty, or a label has no grade; the message has file and line.
        UsageError: the map is invalid.
    """
    column_map = ColumnMap.read(columns)
    if table is None or (column_map is None and not grades):
        return table
    if isinstance(table, list | tuple):
        return [map_columns(table_or_path, columns, kind, grades) for table_or_path in table]
    if isinstance(table, str | Path):
        return _map_file(table, column_map or ColumnMap({}), kind, grades)
    if column_map is not None and is_frame(table):
        return _map_frame(table, column_map, kind)
    if isinstance(table, Mapping):
        return {
            name: map_columns(table_or_path, columns, kind, grades)
            if is_frame(table_or_path) or isinstance(table_or_path, str | Path)
            else table_or_path
            for name, table_or_path in table.items()
        }
    return table


def source_label(source: object) -> str:
    """The name of a file, or of a table in memory, in progress and errors."""
    if isinstance(source, InputFile):
        return source.label
    return str(source) if isinstance(source, str | Path) else "a table"


def column_pairs(columns: ColumnsLike) -> list[tuple[str, str]]:
    """Split a text into our names of columns and those of a table.

    >>> column_pairs("query=search_term,doc=sku")
    [('query', 'search_term'), ('doc', 'sku')]

    Raises:
        UsageError: the text is not NAME=COLUMN.
    """
    if isinstance(columns, Mapping):
        return [(str(name), str(column)) for name, column in columns.items()]
    texts = [columns] if isinstance(columns, str) else columns
    return [_split_pair(pair) for text in texts for pair in text.split(",") if pair.strip()]


def _split_pair(pair: str) -> tuple[str, str]:
    name, equals, column = (side.strip() for side in pair.partition("="))
    if not (name and equals and column):
        problem = f"columns: '{pair}' is not NAME=COLUMN, as in query=search_term,doc=sku."
        raise UsageError(problem, code="invalid-syntax")
    return name, column


def _map_file(path: str | Path, how: ColumnMap, kind: Kind, grades: Mapping[str, float] | None = None) -> Any:
    name, plain_path = registry.split_prefix(path)
    input_file = decode_western(open_source(plain_path))
    input_files = list_part_files(input_file) if is_folder(input_file) else (input_file,)
    separator, names = _read_header(input_files[0], how.description)
    if (paths := how.paths(names, kind)) and (form := _nested_format(input_files[0], name)):
        return _read_kind(replace(input_file, paths=paths), kind, form.name, grades)
    how = how.without_paths(names)
    if not separator and kind in {"run", "any"} and (form := _path_format(input_file, name)):
        return _read_kind(replace(input_file, renamed=how.theirs), kind, form.name)
    how = how.resolved(names)
    kind_map = how.for_kind(kind, names)
    lower = {name.lower() for name in names}
    shared = [kind_map[name].lower() for name in _ID_COLUMNS if name in kind_map]
    other_names = [name for name in kind_map if name not in _ID_COLUMNS]
    is_needed = bool(other_names) or (kind != "run" and not set(how.theirs) & set(_RANKING_COLUMNS))
    if not kind_map or not (is_needed or any(column in lower for column in shared)):
        if input_file.content is None and not grades:
            return path
        return _read_kind(input_file, kind, name, grades)
    form = _table_format(input_files[0], name, separator)
    if form is None or form.table is None:
        problem = "columns can be named only in tables with a header; leave --columns out."
        raise InputError(problem, source=input_file.label, line=1, code="wrong-type")
    if input_files[0] is not input_file:
        problem = "columns can be named in one file, not in part files; rename them in the files."
        raise InputError(problem, source=input_file.label, code="is-a-folder")
    if kind == "qrels":
        input_file = limit_judgments(input_file)
    table = CsvTable(input_file, separator) if separator else form.table(input_file)
    mapped_form = form_of_table(form, _map_table(table, how, kind_map, kind))
    return _read_kind(replace(input_file, renamed=how.theirs, form=mapped_form), kind, None, grades)


def _nested_format(input_file: InputFile, name: str | None) -> Format | None:
    """The format of a table whose columns are paths; None for answers of engines and other files."""
    form = registry.find_format(name) if name else registry.detect_format(input_file)[0]
    return None if form.paths or form.table is None else form


def _table_format(input_file: InputFile, name: str | None, separator: str) -> Format | None:
    """The format of a table with columns that can be named; None for other files."""
    if name in {None, "csv", "tsv"} and separator:
        return registry.find_format("tsv" if separator == "\t" else "csv")
    form = registry.find_format(name) if name else _binary_table_format(input_file)
    return form if form is not None and form.table is not None and not separator else None


def _map_table(table: Table, how: ColumnMap, kind_map: Mapping[str, str], kind: Kind) -> Table:
    """The table with our names of columns; its aspects are one grade, each of its raters has rows.

    Raises:
        InputError: a column is missing or repeated, a grade is not a number, or judgments have grades
            of several raters.
    """
    aspects = how.aspects
    if aspects is not None and "aspects" in kind_map:
        columns = [
            table.names[i] for word in aspects.columns for i in _find_columns(word, table, several=False)
        ]
        table = aspects.table(table, columns)
        kind_map = {name: column for name, column in kind_map.items() if name != "aspects"} | {
            "grade": "grade"
        }
    column_indexes = {
        name: _find_columns(column, table, several=name in {"grade", "field"})
        for name, column in kind_map.items()
    }
    fields = column_indexes.pop("field", ())  # fields keep their names
    if not how.has_raters or "grade" not in column_indexes:
        return RenamedTable(table, _renamed_header(column_indexes, table.names, fields), {*column_indexes})
    if kind == "qrels":
        problem = (
            f"{how.theirs['grade']} are the ratings of several raters; resolve them into judgments first "
            "(rankgate resolve)."
        )
        raise InputError(
            problem, source=table.source.label, line=table.header_line, code="ratings-not-judgments"
        )
    raters = [table.names[i] for i in column_indexes.pop("grade")]
    return melt_raters(table, {name: table.names[i] for name, (i, *_) in column_indexes.items()}, raters)


def _read_kind(
    input_file: InputFile, kind: Kind, form: str | None = None, grades: Mapping[str, float] | None = None
) -> Any:
    """The contents of the file if its kind is known; labels are replaced by grades."""
    if grades and kind in {"qrels", "any"}:
        form_of_file = registry.open_input(input_file, form)[1] or registry.detect_format(input_file)[0]
        if form_of_file.table is None and ".csv" in form_of_file.suffixes:  # a product's sheet
            form_of_file = registry.find_format("csv")
        if form_of_file.table is not None:
            graded_table = grade_labels(form_of_file.table(input_file), grades)
            input_file = replace(input_file, form=form_of_table(form_of_file, graded_table))
    if kind == "any":
        return input_file
    from rankgate.data import read

    if kind == "qrels":
        return read.read_qrels(input_file, from_=form, subtopics=True)
    if kind == "run":
        return read.read_run(input_file, from_=form)
    return read.read_ratings(input_file, from_=form)


def _path_format(input_file: InputFile, name: str | None) -> Format | None:
    """The format of an engine's answers, whose columns are paths; None for other files."""
    if name is None and not is_folder(input_file) and input_file.head(_LOOKED_AT).lstrip()[:1] not in _JSON:
        return None
    form = registry.find_format(name) if name else registry.detect_format(input_file)[0]
    return form if form.paths else None


_LOOKED_AT, _JSON = 64, (b"{", b"[")
_BINARY_BEGINNINGS = (b"{", b"[", b"PAR1", b"ARROW1", b"PK", b"SQLite")
"""The beginnings of tables that are not text."""


def _binary_table_format(input_file: InputFile) -> Format | None:
    """The format of a table that is not text; None for other files."""
    first_bytes = input_file.head().removeprefix(BOM).lstrip()
    if not first_bytes.startswith(_BINARY_BEGINNINGS) and b"\x00" not in first_bytes[:4096]:
        return None
    form = registry.detect_format(input_file)[0]
    return form if form.table is not None else None


def _read_header(
    input_file: InputFile, column_patterns: Sequence[Sequence[str]]
) -> tuple[str, tuple[str, ...]]:
    """The separator that finds the most columns, and their names.

    Tables that are not text have names but no separator.
    """
    if form := _binary_table_format(input_file):
        assert form.table is not None
        return "", tuple(form.table(input_file).names)
    first_bytes = input_file.head().removeprefix(BOM)
    if first_bytes.lstrip()[:1] in (b"{", b"[") or b"\x00" in first_bytes[:4096]:
        return "", ()
    from rankgate.data.text.delimited_records import (  # import here, because it is slow
        SEPARATORS,
        first_fields,
    )

    wanted_names = {name.lower() for column in column_patterns for name in column}
    best_header: tuple[str, tuple[str, ...]] = ("", ())
    highest_count = -1
    for separator in SEPARATORS:
        names = first_fields(first_bytes, separator)
        match_count = sum(name.lower() in wanted_names for name in names) + is_header(names)
        if len(names) > 1 and match_count > highest_count:
            best_header, highest_count = (separator, names), match_count
    return best_header


def _find_columns(column: str, table: Table, *, several: bool) -> tuple[int, ...]:
    """The indexes of the columns that a text names.

    Raises:
        InputError: there is no such column, or there are two.
    """
    names, label, line = table.names, table.source.label, table.header_line
    indexes: list[int] = []
    for word in column.split("+") if several else [column]:
        if several and "*" in word:
            matching_indexes = [i for i, name in enumerate(names) if fnmatchcase(name.lower(), word.lower())]
        else:
            matching_indexes = [i for i, name in enumerate(names) if name == word] or [
                i for i, name in enumerate(names) if name.lower() == word.lower()
            ]
            if len(matching_indexes) > 1:
                problem = f"two columns are called '{word}'; rename or remove one of them."
                raise InputError(problem, source=label, line=line, code="duplicate-column")
        if not matching_indexes:
            name_list = ", ".join(names[:_MAX_SHOWN]) + (", …" if len(names) > _MAX_SHOWN else "")
            hint = (
                f"; write COLUMN{NAME_SEPARATOR}{word} if the file holds answers of an engine"
                if "." in word
                else f"; if another file has it, name both: {word}{NAME_SEPARATOR}COLUMN"
            )
            problem = f"no column '{word}' among {name_list}{hint}."
            raise InputError(problem, source=label, line=line, code="missing-column")
        indexes += matching_indexes
    if len(set(indexes)) < len(indexes):
        problem = f"'{column}' names a column twice."
        raise InputError(problem, source=label, line=line, code="duplicate-column")
    return tuple(indexes)


def _renamed_header(
    column_indexes: Mapping[str, tuple[int, ...]], names: Sequence[str], fields: Sequence[int] = ()
) -> list[str]:
    """The header with our names; other columns are renamed if they could be mistaken for ours."""
    name_of_index = {places[0]: name for name, places in column_indexes.items()}
    taken_names = {
        alias for name in column_indexes if name not in _TEXTS for alias in ALIASES.get(name, (name,))
    }
    if {"grade", *_RANKING_COLUMNS} & set(column_indexes):  # a sheet with judgments is not a ranking
        taken_names |= {alias for name in ("grade", *_RANKING_COLUMNS) for alias in ALIASES[name]}
    return [
        name_of_index.get(i)
        or (f"unused {name}" if name.lower() in taken_names and i not in fields else name)
        for i, name in enumerate(names)
    ]


def _map_frame(table: object, how: ColumnMap, kind: Kind) -> Any:
    """A frame with our column names, with one row per rating if there are several raters."""
    names = lazy_frame(table).collect_schema().names() if set(how.theirs) & set(_PATH_COLUMNS) else []
    if paths := how.paths(names, kind):
        from rankgate.data.formats.tables import memory_tables

        number = "grade" if kind == "qrels" else "score"
        unfolded = unfold(lazy_frame(table), number, "a table", paths)
        read = memory_tables.qrels_of_unfolded if kind == "qrels" else memory_tables.run_of_unfolded
        return read(unfolded, "qrels" if kind == "qrels" else "run")
    if any(NAME_SEPARATOR in column for column in how.theirs.values()):
        how = how.resolved(lazy_frame(table).collect_schema().names())
    aspects = how.aspects
    if aspects is not None and set(aspects.columns) & set(lazy_frame(table).collect_schema().names()):
        frame = _frame_table(table, "qrels")  # a run has no such columns
        for column in aspects.columns:
            _find_columns(column, frame, several=False)
        table = aspects.table(frame, aspects.columns).frame()
    if not how.has_raters:
        return rename_columns(table, how.of_frames)
    return _map_table(_frame_table(table, "ratings"), how, how.theirs, "ratings").frame().collect()


def _frame_table(frame: object, label: str) -> FrameTable:
    return FrameTable(InputFile.in_memory(label), lazy_frame(frame, label))
