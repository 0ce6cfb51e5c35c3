"""Ratings: the grades that single raters gave, before anything is resolved."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.data.place import RowLocation

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "rater": pl.String,
    "grade": pl.Float64,
    "reason": pl.String,
    "at": pl.Datetime("us", "UTC"),
    "seconds": pl.Float64,
    "comment": pl.String,
    "guideline": pl.String,
}
"""The columns of ratings; all but the first three may be null."""

_REQUIRED = ("query_id", "doc_id", "rater")


@dataclass(frozen=True)
class Ratings(ByContent):
    """What raters said, one row a rating; a correction is a later row.

    Attributes:
        table: the columns of ``SCHEMA``; those that are missing are added as null. A null
            grade says that the rater gave none, with the ``reason`` where there is one.
        name: what to call the set.
        scale: the grades that were possible, where the source says so.
        place: where the rows come from.

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
            for name, dtype in SCHEMA.items()
        ]
        object.__setattr__(self, "table", self.table.select(columns))
        self._refuse_holes()

    def _refuse_holes(self) -> None:
        for name in _REQUIRED:
            is_empty = self.table[name].fill_null("") == ""
            if is_empty.any():
                row = int(is_empty.arg_max() or 0)
                line = self.place.line(row)
                raise InputError(
                    f"{name} is empty.", source=self.place.label, line=line, code="empty-value"
                )
        is_wrong = ~self.table["grade"].is_finite().fill_null(value=True)
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            grade, line = self.table["grade"][row], self.place.line(row)
            problem = f"grade {grade} is not a finite number."
            raise InputError(problem, source=self.place.label, line=line, code="not-a-number")
