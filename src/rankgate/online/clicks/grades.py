"""Rates as grades: the rule that turns what a click model learned into judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import polars as pl

from rankgate.core.declare import Range, check_fields
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

GradeRule = Literal["relative", "cuts", "quantiles", "value"]
"""The rule for grades: ``relative`` to the highest of the query, by fixed ``cuts`` of the
value, by ``quantiles`` of the query's documents, or the value itself."""

CUTS = (0.25, 0.5, 0.75)
"""The lowest values of grades 1, 2, and so on."""


@dataclass(frozen=True)
class Grading:
    """How what a click model learned becomes grades; judgments keep it in ``made_by``.

    Attributes:
        grades: How values become grades: relative to the highest of the query, by fixed cuts of
            the value, by quantiles of the query's documents, or the value itself.
        cuts: Where grades begin: the first gives grade 1, the second grade 2, and so on.
        min_examined: How many impressions of a document must have been looked at, as the model
            expects, for a judgment.

    Raises:
        UsageError: No such rule; cuts that do not rise; a number below 0.
    """

    grades: GradeRule = "relative"
    cuts: Sequence[float] = CUTS
    min_examined: Annotated[float, Range(0)] = 10.0

    def __post_init__(self) -> None:
        check_fields(self, "grades", "min_examined")
        if not self.cuts or list(self.cuts) != sorted(set(self.cuts)):
            problem = f"cuts must rise, as in 0.25,0.5,0.75, not {', '.join(map(str, self.cuts))}."
            raise UsageError(problem, code="invalid-cuts")

    def to_dict(self) -> dict[str, Any]:
        """The rule of the grades, as judgments keep it in ``made_by``."""
        cuts = {} if self.grades == "value" else {"cuts": list(self.cuts)}
        return {"rule": self.grades, **cuts, "min_examined": self.min_examined}


def add_grades(table: pl.DataFrame, grading: Grading) -> pl.DataFrame:
    """Add ``grade`` to pairs with enough evidence; leave others out.

    Args:
        table: ``query_id``, ``value``, ``examined``.
        grading: how values become grades.
    """
    rule, cuts = grading.grades, grading.cuts
    with_evidence = table.filter(
        pl.col("examined") >= grading.min_examined, pl.col("value").is_not_nan()
    )
    measure = pl.col("value")
    if rule == "relative":
        highest_value = pl.col("value").max().over("query_id")
        measure = pl.when(highest_value > 0).then(pl.col("value") / highest_value).otherwise(0.0)
    elif rule == "quantiles":
        # the share of the query's documents below, ties in the middle; of one document a half
        rank, count = pl.col("value").rank("average").over("query_id"), pl.len().over("query_id")
        measure = (rank - 0.5) / count
    if rule == "value":
        return with_evidence.with_columns(grade=measure)
    steps = [(measure >= cut).cast(pl.Float64) for cut in cuts]
    return with_evidence.with_columns(grade=pl.sum_horizontal(steps))
