"""Transformers that map grades from one scale to another."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.qrels import SCALES, on_scale

if TYPE_CHECKING:
    from rankgate.data.qrels import Ratings, Scale

_MAX_EXAMPLES = 5
_LINES = re.compile(r"\s*-?[\d.]+\s*:[^;\n]*([;\n][^;\n]*)*")


@dataclass(frozen=True)
class Transformer:
    """A mapping from the grades of one scale to those of another.

    Attributes:
        steps: the new value of every grade.
        name: the name of the transformer.
        scale: the scale of the new grades, if known.
    """

    steps: tuple[tuple[float, float], ...]
    name: str = "transformer"
    scale: Scale | None = field(default=None, compare=False)

    def __call__(self, ratings: Ratings) -> Ratings:
        """Map ratings to the other scale; a rating without a grade keeps none.

        Raises:
            InputError: the transformer has no value for a grade; the error has the line.
        """
        table = ratings.table
        source_grades = pl.Series([begin for begin, _ in self.steps], dtype=pl.Float64)
        unmapped = (table["grade"].is_not_null() & ~table["grade"].is_in(source_grades.implode())).arg_true()
        if len(unmapped):
            row = int(unmapped[0])
            others_text = (
                f" (and {count_noun(len(unmapped) - 1, 'more rating')})" if len(unmapped) > 1 else ""
            )
            problem = (
                f"grade {table['grade'][row]:g} by {table['rater'][row]}{others_text} is not among those "
                f"that {self.name} maps: {self._known_ids()}; add a line for it, or fix it."
            )
            raise ratings.place.error(problem, row, "grade-outside-scale")
        mapped = table.with_columns(pl.col("grade").replace(dict(self.steps)))
        return type(ratings)(mapped, ratings.name, self.scale, ratings.place)

    @property
    def text(self) -> str:
        """One ``from: to`` per line, in the form of SearchTweak."""
        return "\n".join(f"{begin:g}: {end:g}" for begin, end in self.steps)

    def _known_ids(self) -> str:
        return ", ".join(f"{begin:g}" for begin, _ in self.steps)

    @classmethod
    def parse(cls, text: str, name: str = "transformer") -> Transformer:
        """Read one ``from: to`` a line; blank lines do not count.

        Raises:
            InputError: a line of another form, a grade that is mapped twice, no line at all.
        """
        steps: dict[float, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            begin, colon, end = line.partition(":")
            try:
                grade, becomes = float(begin), float(end)
            except ValueError:
                colon, grade, becomes = "", 0.0, 0.0
            if not colon:
                problem = f"{line.strip()!r} where 'from: to' is needed, as in 3: 1."
                raise InputError(problem, source=name, line=number, code="invalid-syntax")
            if grade in steps:
                problem = f"grade {grade:g} is mapped twice; keep one of the lines."
                raise InputError(problem, source=name, line=number, code="duplicate-grade")
            steps[grade] = becomes
        if not steps:
            raise InputError("it maps no grade; write lines such as 3: 1.", source=name, code="empty-file")
        return cls(tuple(steps.items()), name)


def _default_transformer(begin: str, end: str, *steps: tuple[float, float]) -> tuple[str, Transformer]:
    name = f"{begin}-to-{end}"
    return name, Transformer(steps, name, SCALES[end])


TRANSFORMERS = dict(
    (
        _default_transformer("binary", "graded", (0, 0), (1, 3)),
        _default_transformer("binary", "detail", (0, 1), (1, 10)),
        _default_transformer("graded", "binary", (0, 0), (1, 1), (2, 1), (3, 1)),
        _default_transformer("graded", "detail", (0, 1), (1, 4), (2, 7), (3, 10)),
        _default_transformer("detail", "binary", (1, 0), *((grade, 1) for grade in range(2, 11))),
        _default_transformer(
            "detail",
            "graded",
            *(
                (grade, 0 if grade < 2 else 1 if grade < 5 else 2 if grade < 8 else 3)
                for grade in range(1, 11)
            ),
        ),
    )
)
"""SearchTweak's defaults between its three scales (app/Services/Transformers)."""


def find_transformer(transformer: str | Path | Transformer | None) -> Transformer | None:
    """Create a transformer from a name, a file or lines of ``from: to``, or return it unchanged.

    Lines may also be separated by semicolons: ``1: 0; 2: 1``.

    Raises:
        UsageError: the name or file does not exist.
        InputError: the file is not text, or a line has another form.
    """
    if transformer is None or isinstance(transformer, Transformer):
        return transformer
    name = str(transformer)
    if name in TRANSFORMERS:
        return TRANSFORMERS[name]
    if _LINES.fullmatch(name):
        return Transformer.parse(name.replace(";", "\n"), "the mapping")
    path = Path(transformer)
    if not path.is_file():
        names = ", ".join(TRANSFORMERS)
        raise UsageError(
            f"{transformer} is neither a file nor one of the transformers {names}.", code="unknown-choice"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as text: {error}.", source=name, code="invalid-syntax") from None
    return Transformer.parse(text, name)


def refuse_outside(ratings: Ratings, scale: Scale) -> None:
    """Check that every grade is on a scale and has a label, if the scale has labels.

    Raises:
        InputError: a grade is outside the scale; the error has its line and the number of such
            grades.
    """
    grade = ratings.table["grade"]
    is_outside = ratings.table.select(~on_scale(pl.col("grade"), scale)).to_series()
    rows = is_outside.fill_null(value=False).arg_true()
    if len(rows):
        row = int(rows[0])
        values = sorted(set(grade.gather(rows).to_list()))[:_MAX_EXAMPLES]
        examples = ", ".join(f"{value:g}" for value in values)
        problem = (
            f"grade {grade[row]:g} by {ratings.table['rater'][row]} is not on the scale from "
            f"{scale.lowest:g} to {scale.highest:g} ({count_noun(len(rows), 'such rating')}: {examples}); "
            f"fix them, or map them with a transformer."
        )
        raise ratings.place.error(problem, row, "grade-outside-scale")
