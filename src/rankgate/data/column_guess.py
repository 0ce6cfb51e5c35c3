"""Guess which columns of a table hold queries, documents and grades, if names are unusual.

A guess is never used automatically: it is printed as an option to copy, and for ``rankgate.toml``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.column_names import NAME_SEPARATOR, match_columns
from rankgate.data.guessed_column_names import (
    guess_grades,
    log_mapping,
    name_fit,
    names_measure,
    refuse_click_log,
)
from rankgate.data.unfold import LIST_COLUMN, RANKED, RELEVANT, flatten_structs, parse_lists

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.streams.source import InputFile, InputKind

UNKNOWN = "?"
"""The placeholder for a column that nothing fits, for the user to replace."""

_LOG_CODE = "log-not-judgments"
_MAX_ROWS = 10_000  # rows to read
_MAX_LABELS = 12  # limits: different labels, and characters of a label
_MAX_LABEL_LENGTH = 40
_MAX_GRADES = 101  # different grades at most, enough for percentages
_USUAL_NAME_FIT = 4  # the fit of a usual name; the names of `column_names` fit up to 3
_SHORT = {"query_id": "query", "doc_id": "doc"}
_NUMBERS: Mapping[str | None, tuple[str, ...]] = {
    "qrels": ("grade",),
    "run": ("score", "rank"),
    None: ("grade", "score", "rank"),
}
COLUMN_ERRORS = frozenset(
    {"missing-column", "unknown-format", "not-a-number", "ambiguous-column", "invalid-id"}
)
"""Errors of files that another choice of columns could fix."""


@dataclass(frozen=True)
class ColumnGuess:
    """A guess which columns of a table are ours.

    Attributes:
        columns: ours -> the table's; bars separate several names of one column.
        grades: the grade of each label, if grades are labels; None for an unknown label.
        alternatives: ours -> all columns that fit equally well, if there are several.
        examples: the first values of each column of the table, where one of ours is unknown.
    """

    columns: Mapping[str, str]
    grades: Mapping[str, int | None] = field(default_factory=dict)
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[str, ...]:
        """The option line to copy, one for each choice, and the line for ``rankgate.toml``."""
        lines = [
            f"--columns {shlex.quote(_format_columns(columns))}{self._labels}" for columns in self._choices()
        ]
        toml_lines = [f"columns = {json.dumps(_format_columns(self.columns), ensure_ascii=False)}"]
        if self.grades:
            pairs = (f"{_toml_key(label)} = {_format_grade(grade)}" for label, grade in self.grades.items())
            toml_lines.append(f"grades = {{ {', '.join(pairs)} }}")
        option_lines = [line for option in lines for line in ("or", option)][1:]
        return (*option_lines, "or in rankgate.toml", "[collection]", *toml_lines)

    @property
    def lines_of_python(self) -> tuple[str, ...]:
        """The `Collection` call that names the columns, one for each choice."""
        calls = []
        for columns in self._choices():
            renamed_columns = {
                column: table_column for column, table_column in columns.items() if column != table_column
            }
            options = []
            if renamed_columns:
                options.append(f"columns={json.dumps(_format_columns(renamed_columns), ensure_ascii=False)}")
            if self.grades:
                pairs = (
                    f"{json.dumps(label, ensure_ascii=False)}: {_format_grade(grade)}"
                    for label, grade in self.grades.items()
                )
                options.append(f"grades={{{', '.join(pairs)}}}")
            calls.append(f"rankgate.Collection(judgments, {', '.join(options)})")
        return tuple([line for call in calls for line in ("or", call)][1:])

    @property
    def _labels(self) -> str:
        if not self.grades:
            return ""
        pairs = (f"{label}={_format_grade(grade)}" for label, grade in self.grades.items())
        return f" --grades {shlex.quote(','.join(pairs))}"

    def _choices(self) -> list[Mapping[str, str]]:
        """The columns, with each alternative in turn."""
        choices: list[Mapping[str, str]] = [self.columns]
        for column, names in self.alternatives.items():
            choices += [{**self.columns, column: name} for name in names[1:]]
        return choices

    @property
    def _has_unknown(self) -> bool:
        return any(UNKNOWN in column.split(NAME_SEPARATOR) for column in self.columns.values())

    @property
    def is_complete(self) -> bool:
        """True if every column and every grade is known."""
        return not self._has_unknown and None not in self.grades.values()

    def problem(self, files: Sequence[str] = ()) -> str:
        """The advice that precedes the lines to copy."""
        if self.alternatives:
            column, names = next(iter(self.alternatives.items()))
            return f"{' and '.join(names)} could both be {_SHORT.get(column, column)}; add one of:"
        unknown = self._has_unknown or None in self.grades.values()
        hint = f", with the right value in place of {UNKNOWN}" if unknown else ""
        file_list = f" for {', '.join(files)}" if len(files) > 1 else ""
        examples = ", ".join(f"{name} ({', '.join(texts)})" for name, texts in self.examples.items())
        return f"{f'they begin {examples}; ' * bool(examples)}if this guess is right{file_list}, add{hint}:"

    def with_stated(self, stated: Mapping[str, str]) -> ColumnGuess:
        """The same guess with the columns that the user named, which already have our names."""
        columns = {
            column: stated.get(table_column, table_column) for column, table_column in self.columns.items()
        }
        return replace(self, columns={**stated, **columns})

    def joined(self, other_guess: ColumnGuess) -> ColumnGuess:
        """One guess for two tables; a column with a different name in each has both names."""
        columns = dict(self.columns)
        for column, table_column in other_guess.columns.items():
            names = [*columns.get(column, "").split(NAME_SEPARATOR), *table_column.split(NAME_SEPARATOR)]
            known_names = dict.fromkeys(name for name in names if name not in {"", UNKNOWN})
            columns[column] = NAME_SEPARATOR.join([*known_names, *[UNKNOWN] * (UNKNOWN in names)])
        return ColumnGuess(
            columns,
            {**self.grades, **other_guess.grades},
            {**self.alternatives, **other_guess.alternatives},
            {**self.examples, **other_guess.examples},
        )


def _format_columns(columns: Mapping[str, str]) -> str:
    return ",".join(
        f"{_SHORT.get(column, column)}={table_column}" for column, table_column in columns.items()
    )


def _toml_key(label: str) -> str:
    """A label as a key of TOML."""
    return label if re.fullmatch(r"[A-Za-z0-9_-]+", label) else json.dumps(label)


def _format_grade(grade: int | None) -> str:
    return UNKNOWN if grade is None else str(grade)


def guess_columns(rows: pl.LazyFrame, input_kind: InputKind | None) -> ColumnGuess | None:
    """Guess the columns of a table that could be judgments or a run; None if nothing fits.

    Args:
        rows: the table with its own column names.
        input_kind: the kind of input to read the table as; None for either kind.
    """
    rows = flatten_structs(rows)
    sample = rows.head(_MAX_ROWS).collect().select(pl.all().cast(pl.String, strict=False))
    if len(sample.columns) < 2 or sample.is_empty():
        return None
    nested = {name for name, dtype in rows.collect_schema().items() if dtype.is_nested()}
    facts = {name: _ColumnFacts.from_column(sample[name]) for name in sample.columns if name not in nested}
    if not facts:
        return None
    numbers = _NUMBERS[input_kind]
    chosen_columns: dict[str, str] = {}
    alternatives: dict[str, tuple[str, ...]] = {}
    fits = {
        column: {name: _column_fit(name, column, facts[name], sample.columns) for name in facts}
        for column in ("query_id", "doc_id", *numbers)
    }
    number = max(numbers, key=lambda column: max(fits[column].values()))
    roles = ["query_id", "doc_id", number]
    # columns with the clearest names first, so that none of them is used for another purpose
    for column in sorted(roles, key=lambda column: -max(fits[column].values())):
        free_fits = {name: fit for name, fit in fits[column].items() if name not in chosen_columns.values()}
        best_names = [name for name, fit in free_fits.items() if fit == max(free_fits.values()) and fit > 0]
        chosen_columns[column] = best_names[0] if best_names else UNKNOWN
        if len(best_names) > 1 and free_fits[best_names[0]] < _USUAL_NAME_FIT:
            alternatives[column] = tuple(best_names)
    if chosen_columns["doc_id"] == UNKNOWN and (documents := _only_list(rows, sample, input_kind)):
        return ColumnGuess({"query_id": chosen_columns["query_id"], LIST_COLUMN: documents})
    guessed_columns = [column for column in roles if chosen_columns[column] != UNKNOWN]
    labels = _find_labels(rows, chosen_columns["grade"]) if chosen_columns.get("grade") in facts else []
    if labels:  # numbers in another column would be a second grade
        alternatives.pop("grade", None)
    grades = dict(guess_grades(labels)) if labels else {}
    if not grades and all(
        fits[column][chosen_columns[column]] == _USUAL_NAME_FIT for column in guessed_columns
    ):
        return None  # the usual names are read without a guess, so the error has another cause
    taken_names = {name for column, name in chosen_columns.items() if column not in alternatives}
    alternatives = {
        column: remaining_names
        for column, names in alternatives.items()
        if len(
            remaining_names := tuple(
                name for name in names if name == chosen_columns[column] or name not in taken_names
            )
        )
        > 1
    }
    columns = {column: chosen_columns[column] for column in roles}
    return ColumnGuess(
        columns, grades, alternatives, _first_values(sample) if UNKNOWN in columns.values() else {}
    )


def _first_values(sample: pl.DataFrame) -> dict[str, list[str]]:
    """Two values of each of the first columns, shortened."""
    return {
        column.name: [
            text if len(text) <= _EXAMPLE_LENGTH else f"{text[: _EXAMPLE_LENGTH - 1]}…"
            for text in map(str, column.drop_nulls().unique(maintain_order=True).head(2))
        ]
        for column in sample.iter_columns()
        if column.name in sample.columns[:_EXAMPLES]
    }


_EXAMPLES, _EXAMPLE_LENGTH = 8, 20  # columns in an error, and characters of one of their values


def _only_list(rows: pl.LazyFrame, sample: pl.DataFrame, input_kind: InputKind | None) -> str | None:
    """The only column of lists that could be the documents; None if there are none, or several."""
    other_kind = {"qrels": RANKED, "run": RELEVANT}.get(input_kind or "")
    lists = [
        name
        for name, dtype in rows.collect_schema().items()
        if isinstance(dtype, pl.List) or (dtype == pl.String and parse_lists(sample[name]) is not None)
    ]
    lists = [name for name in lists if other_kind is None or not other_kind.search(name)]
    return lists[0] if len(lists) == 1 else None


def _find_labels(rows: pl.LazyFrame, column: str) -> list[str]:
    """The different labels of a column; empty for a column of numbers."""
    texts = rows.select(pl.col(column).cast(pl.String).str.strip_chars()).collect()[column]
    different_values = texts.replace("", None).drop_nulls().unique()
    if different_values.cast(pl.Float64, strict=False).is_not_null().any():
        return []
    return sorted(different_values.to_list())


@dataclass(frozen=True)
class _ColumnFacts:
    """Facts about the values of a column.

    Attributes:
        numeric: True if all values are numbers.
        whole: True if all values are whole numbers.
        lowest: the lowest number.
        different: the number of different values.
        rows: the number of cells that are not empty.
        ids: True if the values are short and have no blanks.
        longest: the length of the longest value.
        falls: True if the numbers do not rise for many rows, like scores of a ranking.
        counts: True if the numbers count 1, 2, 3 … and start again.
        labels: True if one of the values is a usual label.
        lists: True if the values are lists.
    """

    numeric: bool
    whole: bool
    lowest: float
    different: int
    rows: int
    ids: bool
    longest: int
    falls: bool
    counts: bool
    labels: bool
    lists: bool

    @classmethod
    def from_column(cls, column: pl.Series) -> _ColumnFacts:
        texts = column.str.strip_chars().replace("", None).drop_nulls()
        numbers = texts.cast(pl.Float64, strict=False)
        is_numeric = len(texts) > 0 and not numbers.null_count() and bool(numbers.is_finite().all())
        is_whole = is_numeric and bool((numbers == numbers.floor()).all())
        few_values = texts.unique(maintain_order=True).head(_MAX_LABELS).to_list()
        steps = numbers.diff().drop_nulls() if is_numeric else pl.Series([], dtype=pl.Float64)
        counts_up = (
            is_whole and numbers[0] in {0, 1} and bool(((steps == 1) | (numbers[1:] == numbers[0])).all())
        )
        return cls(
            is_numeric,
            is_whole,
            float(numbers.min() or 0) if is_numeric else 0.0,  # type: ignore[arg-type]
            texts.n_unique(),
            len(texts),
            not bool(texts.str.contains(r"\s").any()),
            max(texts.str.len_chars().to_list(), default=0),
            is_numeric and not is_whole and int((steps <= 0).sum()) > len(steps) / 2,
            counts_up and numbers.n_unique() > 1,
            not is_numeric and any(grade is not None for grade in guess_grades(few_values).values()),
            bool(texts.str.starts_with("[").all()) and len(texts) > 0,
        )


def _column_fit(name: str, column: str, facts: _ColumnFacts, names: Sequence[str]) -> float:
    """The fit of a column; 0 if its values are not possible."""
    is_measure = column != "rank" and names_measure(name)
    if not facts.rows or facts.lists or is_measure or not _is_possible(column, facts):
        return 0.0
    if match_columns(names, (column,)).get(column) == name:
        return float(_USUAL_NAME_FIT)
    key = name.rpartition(".")[2]
    is_usual_key = key != name and bool(match_columns([key], (column,)))
    fit = float(_USUAL_NAME_FIT - 1 if is_usual_key else name_fit(name, column))
    if column == "doc_id" and not facts.ids:
        fit /= 2  # a title or a text
    return fit or _fit_of_values(column, facts) / 2


def _is_possible(column: str, facts: _ColumnFacts) -> bool:
    if column in {"query_id", "doc_id"}:
        return not facts.numeric or facts.whole
    if column == "grade":
        has_few_labels = facts.different <= _MAX_LABELS and facts.longest <= _MAX_LABEL_LENGTH
        has_few_labels = has_few_labels and (facts.labels or facts.different < facts.rows)
        return facts.different <= _MAX_GRADES if facts.numeric else has_few_labels
    if column == "rank":  # distances have fractions
        return facts.numeric and facts.lowest >= 0
    return facts.numeric


def _fit_of_values(column: str, facts: _ColumnFacts) -> float:
    """The fit of a column by its values alone, below 1, because names count more."""
    repeats = facts.different < facts.rows
    if column == "query_id":
        return 0.5 * (repeats and not facts.numeric and facts.different > 1)
    if column == "doc_id":
        return 0.6 * (facts.ids and facts.different > _MAX_LABELS / 2 and not facts.counts)
    if column == "grade":
        has_few_numbers = facts.whole and facts.lowest >= 0 and facts.different <= _MAX_LABELS
        return 0.4 * (repeats and (has_few_numbers or facts.labels) and not facts.counts)
    return 0.9 * (facts.counts if column == "rank" else facts.falls)


def guessed_error(error: InputError, input_file: InputFile, format_: Format) -> InputError:
    """The error for a table with unusual column names, with a guess to copy.

    Other errors are returned unchanged.

    Args:
        error: the reader's error.
        input_file: the file.
        format_: the format of the file.
    """
    try:
        guess = guess_file_columns(error, input_file, format_)
    except InputError as log_error:
        return log_error
    return error if guess is None else error_with_guess(error, guess)


def guessed_frame_error(error: InputError, frame: pl.LazyFrame, input_kind: InputKind) -> InputError:
    """The error for a table in memory with unusual column names, with lines of Python to copy.

    Args:
        error: the reader's error.
        frame: the table with its own column names, or with ours for the columns the user named.
        input_kind: the kind of input to read the table as.
    """
    if error.code != _LOG_CODE and (error.code not in COLUMN_ERRORS or error.suggestions):
        return error
    names = frame.collect_schema().names()
    if mapping := log_mapping(names):
        problem = (
            f"a log of shown results with clicks ({', '.join(names[:8])}), from which judgments are learned; "
            "if this guess is right, save it as log.toml:"
        )
        call = 'rankgate.online.judgments(rankgate.online.Events(log, mapping="log.toml"))'
        lines = (*mapping, "and call", call)
        return InputError(problem, source=error.source, code=_LOG_CODE, suggestions=lines)
    try:
        guess = guess_columns(frame, input_kind)
    except pl.exceptions.PolarsError:
        return error
    if guess is None or (error.code == "not-a-number" and not guess.grades):
        return error
    message = f"{error.problem.split('; ')[0].rstrip('.')}; {guess.problem()}"
    return InputError(message, source=error.source, code=error.code, suggestions=guess.lines_of_python)


def guess_file_columns(error: InputError, input_file: InputFile, format_: Format) -> ColumnGuess | None:
    """The guess for a file that a reader rejected; None if the columns are not the cause.

    Raises:
        InputError: the file is a log with clicks.
    """
    if error.code not in COLUMN_ERRORS or format_.table is None or error.suggestions:
        return None
    try:
        table = format_.table(input_file)
        guess = guess_columns(table.frame(), input_file.read_as)
    except (InputError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None  # the reader's own error is more precise
    refuse_click_log(table.names, input_file.label, table.header_line)
    if guess is None or (error.code == "not-a-number" and not guess.grades):
        return None
    return guess.with_stated(input_file.renamed) if input_file.renamed else guess


def error_with_guess(error: InputError, guess: ColumnGuess, *files: str) -> GuessError:
    """An error with a guess in place of the reader's list of expected names.

    Args:
        error: the reader's error.
        guess: the guess of the columns.
        files: the files that the guess is for, if there are several.
    """
    problem = error.problem.split("; ")[0].rstrip(".")
    return GuessError(f"{problem}; {guess.problem(files)}", error, guess)


class GuessError(InputError):
    """The error for a table with unusual column names; it holds the guess."""

    def __init__(self, problem: str, error: InputError, guess: ColumnGuess) -> None:
        super().__init__(
            problem, code=error.code, source=error.source, line=error.line, suggestions=guess.lines
        )
        self.error, self.guess = error, guess


def merge_errors(errors: Iterable[GuessError]) -> GuessError:
    """One error for several files of a command, with one line to copy."""
    first, *other_errors = errors
    guess = first.guess
    for other_error in other_errors:
        guess = guess.joined(other_error.guess)
    return error_with_guess(
        first.error, guess, *dict.fromkeys(error.source for error in (first, *other_errors))
    )
