"""Judgments (grades of documents for queries), with their scales, ratings and repetitions.

Judgments come first, then scales of grades (named scales, and the notation of other tools). Ratings
are the grades of single raters, before they are resolved. Repeated judgments come from several
raters, judges and prompts, each combination once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.data.id_match import IdRules
from rankgate.data.table_rows import (
    RowLocation,
    blank_ids,
    hash_pairs,
    no_rows_error,
    refuse_duplicates,
    unique_range_starts,
)

QRELS_SCHEMA = Columns(
    "One row per judgment.",
    QUERY_ID,
    DOC_ID,
    Column(
        "grade",
        pl.Float64,
        "the grade; a negative grade means that the document was in the pool and was not judged",
        "grade",
    ),
)

OPTIONAL = Columns(
    "Optional columns of judgments.",
    Column("subtopic", pl.String, "the subtopic of the query that the grade is about"),
    Column("subtopic_weight", pl.Float64, "the weight of the subtopic among those of the query"),
    Column("inclusion", pl.Float64, "the probability that the document was sampled for judging"),
    Column("stratum", pl.String, "the stratum that it was sampled from"),
)


@dataclass(frozen=True)
class Scale:
    """The grades that raters could give: the lowest, the highest, and their names."""

    lowest: float
    highest: float
    labels: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Qrels(ByContent):
    """A set of judgments, at most one grade per query and document, or per subtopic of a query.

    Attributes:
        table: ``query_id``, ``doc_id`` (strings) and ``grade`` (Float64; a negative grade means
            that the document was in the pool and was not judged); and of the columns in
            ``OPTIONAL`` those that are known.
        name: the name of the set.
        scale: the grades that were possible, where the source gives them.
        unjudged: requested queries that have no judgments at all.
        made_by: rule and parameters, where the grades were resolved from ratings.
        place: the location of the rows.
        ids: how ids of runs that nearly fit are made to meet.
        cautions: warnings about the reading of the rows, by code.

    Raises:
        InputError: no rows, a missing id or grade, a grade that is not finite, a probability
            that is not between 0 and 1, a subtopic without one weight.
        DuplicateError: a document judged twice for one query, or for one subtopic of it.
    """

    table: pl.DataFrame
    name: str = "qrels"
    scale: Scale | None = None
    unjudged: tuple[str, ...] = ()
    made_by: Mapping[str, Any] | None = None
    place: RowLocation = field(default=RowLocation("qrels"))
    ids: IdRules = field(default=IdRules(), compare=False, repr=False)
    cautions: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.table.is_empty() and not self.unjudged:
            raise no_rows_error("grade", self.place.label)
        check_rows(self.table, "grade", self.place)
        keyed_rows = _subtopic_keys(self.table) if self.by_subtopic else self.table
        starts = unique_range_starts(keyed_rows["query_id"])
        pairs = hash_pairs(keyed_rows, starts)
        refuse_duplicates(keyed_rows, pairs, word="judged", place=self.place, starts=starts)
        if "inclusion" in self.table.columns:
            column = self.table["inclusion"]
            is_wrong = ~((column > 0) & (column <= 1)).fill_null(value=True)
            if is_wrong.any():
                row = int(is_wrong.arg_max() or 0)
                problem = f"probability {column[row]} of being drawn is not above 0 and at most 1."
                raise self.place.error(problem, row, "not-a-number")
        if "subtopic_weight" in self.table.columns:
            _check_weights(self.table, self.place)

    @property
    def by_subtopic(self) -> bool:
        """True if a document may have several grades for one query, one for each subtopic."""
        return "subtopic" in self.table.columns

    def by_document(self) -> Qrels:
        """The same judgments with one grade for each document: the highest of its subtopics."""
        if not self.by_subtopic:
            return self
        pair = ["query_id", "doc_id"]
        table = self.table.group_by(pair, maintain_order=True).agg(pl.col("grade").max())
        return replace(self, table=table, place=RowLocation(self.place.label))

    @cached_property
    def documents(self) -> list[str]:
        """The documents as Python strings, for lookups in dictionaries."""
        return self.table["doc_id"].to_list()

    @cached_property
    def sha256(self) -> str:
        """A hash of the canonical table: the same for the same judgments in any file."""
        optional_columns = [name for name in OPTIONAL if name in self.table.columns]
        subtopic = [name for name in optional_columns if name == "subtopic"]
        from rankgate.data.table_rows import hash_table

        return hash_table(
            self.table.select(*QRELS_SCHEMA, *optional_columns).sort("query_id", "doc_id", *subtopic)
        )


def drop_empty(table: pl.DataFrame) -> pl.DataFrame:
    """The same table without empty columns of ``OPTIONAL``."""
    empty_columns = [name for name in OPTIONAL if name in table.columns and table[name].is_null().all()]
    return table.drop(empty_columns)


def _subtopic_keys(table: pl.DataFrame) -> pl.DataFrame:
    """Query ids combined with their subtopics, to check for duplicates in each subtopic."""
    query = pl.format("{} (subtopic {})", "query_id", pl.col("subtopic").fill_null("none"))
    return table.select(query.alias("query_id"), "doc_id")


def _check_weights(table: pl.DataFrame, location: RowLocation) -> None:
    """Check that every subtopic has one weight, a number of 0 or more."""
    weight = table["subtopic_weight"]
    is_wrong = ~((weight >= 0) & weight.is_finite()).fill_null(value=False)
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        problem = f"subtopic_weight {weight[row]} is not a number from 0 on; every row needs one."
        raise location.error(problem, row, "not-a-number")
    if "subtopic" not in table.columns:
        problem = "there are weights of subtopics, but no column of subtopics; add one, or drop the weights."
        raise InputError(problem, source=location.label, code="no-subtopics")
    is_first_weight = pl.col("subtopic_weight") == pl.col("subtopic_weight").first().over(
        "query_id", "subtopic"
    )
    is_different = table.select(~is_first_weight).to_series()
    if is_different.any():
        row = int(is_different.arg_max() or 0)
        query, subtopic = table["query_id"][row], table["subtopic"][row]
        raise location.error(
            f"subtopic '{subtopic}' of query '{query}' has two weights; give it one.",
            row,
            "contradicting-weights",
        )


def rated_rows(
    rows: pl.DataFrame, location: RowLocation
) -> tuple[pl.DataFrame, tuple[str, ...], RowLocation]:
    """The rows with a grade, the queries without any such row, and the location of the rows.

    A null grade is unrated, which is not a grade of 0.
    """
    if not rows["grade"].null_count():
        return rows, (), location
    is_graded = rows["grade"].is_not_null()
    graded_rows = rows.filter(is_graded)
    query_ids = rows["query_id"].unique(maintain_order=True).drop_nulls()
    unrated_queries = query_ids.filter(~query_ids.is_in(graded_rows["query_id"].unique().implode()))
    return graded_rows, tuple(unrated_queries.to_list()), location.select(is_graded.arg_true().to_list())


def check_rows(table: pl.DataFrame, number: str, location: RowLocation, first_row: int = 0) -> None:
    """Check that ids are present and numbers are finite.

    Raises:
        InputError: an id is missing or a number is not finite; the message has the line if known.
    """
    for column in ("query_id", "doc_id"):
        is_blank = blank_ids(table[column])
        if is_blank.any():
            row = first_row + int(is_blank.arg_max() or 0)
            problem = f"{column} is empty{location.row_text(row)}."
            raise location.error(problem, row, "empty-value")
    numbers = table[number]
    if numbers.null_count():
        numbers = numbers.fill_null(float("nan"))
    is_finite = np.isfinite(numbers.to_numpy())
    if not is_finite.all():
        index = int(np.argmin(is_finite))
        value, row = table[number][index], first_row + index
        number_text = "null" if value is None else value
        problem = f"{number} {number_text}{location.row_text(row)} is not a finite number."
        raise location.error(problem, row, "not-a-number")


BINARY = Scale(0, 1, ((0, "irrelevant"), (1, "relevant")))
GRADED = Scale(0, 3, ((0, "poor"), (1, "fair"), (2, "good"), (3, "perfect")))
DETAIL = Scale(1, 10, tuple((grade, str(grade)) for grade in range(1, 11)))

SCALES = {"binary": BINARY, "graded": GRADED, "detail": DETAIL}
"""The named scales."""

MOST_GRADES = 10
"""The most grades of a listed scale: a scale with more is a range, not a list."""


def on_scale(grade: pl.Expr, scale: Scale) -> pl.Expr:
    """True if a grade is on a scale; with labels, if it has a label. Null stays null."""
    is_on_scale = grade.is_between(scale.lowest, scale.highest)
    if scale.labels:
        label_grades = pl.Series([grade for grade, _ in scale.labels], dtype=pl.Float64)
        is_on_scale &= grade.is_in(label_grades.implode())
    return is_on_scale


def possible_grades(scale: Scale) -> tuple[float, ...]:
    """All grades of a scale: those with labels, or the whole numbers of a short range.

    The result is empty if the grades cannot be listed.
    """
    grades = tuple(float(grade) for grade, _ in scale.labels)
    is_whole = float(scale.lowest).is_integer() and float(scale.highest).is_integer()
    if not grades and is_whole and scale.highest - scale.lowest < MOST_GRADES:
        grades = tuple(float(grade) for grade in range(int(scale.lowest), int(scale.highest) + 1))
    return grades


def parse_scale(scale_text: str) -> Scale:
    """A scale from a name, ``lowest..highest``, or its grades: ``0,1,10,100``.

    Raises:
        UsageError: the text is not a scale.

    >>> parse_scale("0..3")
    Scale(lowest=0.0, highest=3.0, labels=())
    """
    if scale_text in SCALES:
        return SCALES[scale_text]
    try:
        if ".." in scale_text:
            lowest, highest = (float(bound) for bound in scale_text.split(".."))
            grades: list[float] = []
        else:
            grades = sorted(float(grade) for grade in scale_text.split(","))
            lowest, highest = grades[0], grades[-1]
    except ValueError:
        lowest, highest, grades = 1.0, 0.0, []
    if not lowest < highest:
        raise UsageError(
            f"{scale_text!r} is not a scale; use {', '.join(SCALES)}, a range such as 0..3, or its grades, "
            "as in 0,1,10,100.",
            code="unknown-scale",
        )
    return Scale(lowest, highest, tuple((grade, f"{grade:g}") for grade in grades))


RATINGS_SCHEMA = Columns(
    "One row per rating; a correction is a later row. All but the first three columns may be null.",
    QUERY_ID,
    DOC_ID,
    Column("rater", pl.String, "the name of the rater"),
    Column("grade", pl.Float64, "the grade; null where the rater gave none", "grade"),
    Column("reason", pl.String, "the reason why the rater gave no grade"),
    Column("at", pl.Datetime("us", "UTC"), "when it was given"),
    Column("seconds", pl.Float64, "how long the rater took", unit="s"),
    Column("comment", pl.String, "the rater's comment"),
    Column("guideline", pl.String, "the guideline that it was given by"),
)

_REQUIRED = ("query_id", "doc_id", "rater")


@dataclass(frozen=True)
class Ratings(ByContent):
    """The ratings of raters, one row a rating; a correction is a later row.

    Attributes:
        table: the columns of ``SCHEMA``; those that are missing are added as null. A null
            grade means that the rater gave none, with the ``reason`` where there is one.
        name: the name of the set.
        scale: the grades that were possible, where the source gives them.
        place: the location of the rows.

    Raises:
        InputError: a missing id or rater, a grade that is not finite.
    """

    table: pl.DataFrame
    name: str = "ratings"
    scale: Scale | None = None
    place: RowLocation = field(default=RowLocation("ratings"))

    def __post_init__(self) -> None:
        missing = [name for name in _REQUIRED if name not in self.table.columns]
        if missing:
            problem = f"no column {missing[0]}; ratings need {', '.join(_REQUIRED)}."
            raise InputError(problem, source=self.place.label, code="missing-column")
        columns = [
            (pl.col(name) if name in self.table.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in RATINGS_SCHEMA.items()
        ]
        object.__setattr__(self, "table", self.table.select(columns))
        for name in _REQUIRED:
            is_empty = self.table[name].fill_null("") == ""
            if is_empty.any():
                row = int(is_empty.arg_max() or 0)
                line = self.place.line(row)
                raise InputError(f"{name} is empty.", source=self.place.label, line=line, code="empty-value")
        is_wrong = ~self.table["grade"].is_finite().fill_null(value=True)
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            grade, line = self.table["grade"][row], self.place.line(row)
            problem = f"grade {grade} is not a finite number."
            raise InputError(problem, source=self.place.label, line=line, code="not-a-number")


JUDGMENTS = "judgments"
"""The facet of judgments without a facet."""


@dataclass(frozen=True)
class RepeatedJudgments:
    """Judgments by the levels of their facets.

    Attributes:
        facets: the levels of each facet by its name, in the order given.
        qrels: the judgments by the level of each facet, in order.
    """

    facets: Mapping[str, tuple[str, ...]]
    qrels: Mapping[tuple[str, ...], Any]

    @classmethod
    def from_judgments(cls, source: object) -> RepeatedJudgments:
        """Read one set of judgments, several, or several by label, such as judge:A,prompt:1.

        Raises:
            UsageError: labels have different facets, a label is repeated, or a combination is
                missing.
        """
        if isinstance(source, Mapping) and source and all(map(_is_label, source)):
            labelled_sets = [(_parse_levels(str(label)), qrels) for label, qrels in source.items()]
        else:
            judgment_sets = list(source) if isinstance(source, list | tuple) else [source]
            labelled_sets = [
                _split_label(judgments, number) for number, judgments in enumerate(judgment_sets, 1)
            ]
        names = tuple(labelled_sets[0][0])
        for levels, _ in labelled_sets:
            if tuple(levels) != names:
                raise UsageError(
                    f"judgments are of the facets {', '.join(names)} and {', '.join(levels)}; give all of "
                    "them the same facets in the same order.",
                    code="invalid-design",
                )
        qrels_by_levels: dict[tuple[str, ...], Any] = {}
        for levels, qrels in labelled_sets:
            level_names = tuple(levels.values())
            if level_names in qrels_by_levels:
                raise UsageError(
                    f"two sets of judgments are {_format_levels(names, level_names)}; give each its own "
                    "level.",
                    code="invalid-design",
                )
            qrels_by_levels[level_names] = qrels
        facets = {
            name: tuple(dict.fromkeys(level_names[i] for level_names in qrels_by_levels))
            for i, name in enumerate(names)
        }
        for level_names in product(*facets.values()):
            if level_names not in qrels_by_levels:
                raise UsageError(
                    f"no judgments are {_format_levels(names, level_names)}: every level goes with every "
                    "level of the other facets; add them, or make one facet of both.",
                    code="invalid-design",
                )
        return cls(facets, qrels_by_levels)


def _format_levels(names: Sequence[str], level_names: Sequence[str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in zip(names, level_names, strict=True))


def _is_label(label: object) -> bool:
    return isinstance(label, str) and ":" in label


def _split_label(source: object, number: int) -> tuple[dict[str, str], Any]:
    """Read ``judge:A,prompt:1=FILE``, or any source of `read_qrels`."""
    if isinstance(source, str) and not Path(source).exists():
        label, equals, path = source.partition("=")
        if equals and _is_label(label):
            return _parse_levels(label), path
    name = str(source) if isinstance(source, str | Path) else str(number)
    return {JUDGMENTS: name}, source


def _parse_levels(label: str) -> dict[str, str]:
    """The levels by facet.

    Raises:
        UsageError: the label is not of the form FACET:LEVEL,...

    >>> _parse_levels("judge:A,prompt:1")
    {'judge': 'A', 'prompt': '1'}
    """
    levels: dict[str, str] = {}
    for word in label.split(","):
        facet, colon, level = word.strip().partition(":")
        if not (facet and colon and level) or facet in levels:
            raise UsageError(
                f"{label!r}: write FACET:LEVEL, several separated by commas, as in judge:A,prompt:1.",
                code="invalid-syntax",
            )
        levels[facet] = level
    return levels
