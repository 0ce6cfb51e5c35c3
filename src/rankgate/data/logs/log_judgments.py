"""Make judgments from interactions, by rules that make an item relevant to a user."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode
from rankgate.data.qrels import Qrels
from rankgate.data.table_rows import in_row_order

if TYPE_CHECKING:
    from rankgate.data.logs.interactions import Interactions
    from rankgate.data.streams.source import InputFile


Repeats = Literal["max", "last", "first", "sum", "mean"]
"""The rules that combine several interactions of one user with one item."""

Grades = Literal["binary", "value"]
"""The kinds of grades: 1 from the threshold on and 0 below it, or the worth itself."""

_COMBINATIONS = {
    "max": pl.col("worth").max(),
    "last": pl.col("worth").last(),
    "first": pl.col("worth").first(),
    "sum": in_row_order(pl.col("worth")).sum(),
    "mean": in_row_order(pl.col("worth")).mean(),
}


@dataclass(frozen=True)
class Truth:
    """The rules by which interactions become grades.

        worth = weight(kind) · value;   grade = 1 if together(worths) ≥ threshold else 0

    Attributes:
        weights: The weight of a kind of interaction; kinds that are not named are ignored. A kind
            of weight 0 is a sign against the item: its grade is 0.
        threshold: Items with at least this value (rating or weight) are relevant.
        repeats: The way several interactions with one item are combined.
        grades: Write judgments as 1 or 0 (binary), or as the value itself (value), 0 where it is
            below the threshold.
        least: The lowest value at which an interaction of a kind counts, such as rating=4 or
            dwell=30; one below it is worth 0, and does not count for the item.

    Raises:
        UsageError: an unknown word, a number that is not finite.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    threshold: float = 0.0
    repeats: Repeats = "max"
    grades: Grades = "binary"
    least: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def tells_zero(self) -> bool:
        """True if an interaction may be worth 0, and so not count for its item."""
        return bool(self.weights or self.least)

    def __post_init__(self) -> None:
        if self.repeats not in _COMBINATIONS:
            raise UsageError(
                f"repeats='{self.repeats}'; choose {', '.join(_COMBINATIONS)}.", code="unknown-choice"
            )
        if self.grades not in {"binary", "value"}:
            raise UsageError(f"grades='{self.grades}'; choose binary or value.", code="unknown-choice")
        if not all(
            math.isfinite(number) for number in (*self.weights.values(), *self.least.values(), self.threshold)
        ):
            raise UsageError("weights and thresholds must be finite numbers.", code="not-a-number")


def truth(log: Interactions, rule: Truth | None = None, name: str = "") -> Qrels:
    """Judgments from a log, one per user and item, with a user's items in time order.

    The time is that of the first interaction with a worth; items without such an interaction, such
    as items that were only shown, come last.

    A pair below the threshold has grade 0; a pair that is not in the log is unjudged.

    Args:
        log: the interactions, in order of time for each user.
        rule: the rule that makes grades of interactions.
        name: the name of the judgments; the name of the log if not given.

    Raises:
        InputError: the log has no interaction of a kind that counts.
        UsageError: a weight names a kind that the log does not have.

    >>> from rankgate.data.logs.read_logs import read_interactions
    >>> log = read_interactions(pl.DataFrame(
    ...     {"user": ["u", "u", "u"], "item": ["a", "b", "a"], "rating": [2.0, 5.0, 4.0]}))
    >>> truth(log, Truth(threshold=4, repeats="last")).table.rows()
    [('u', 'a', 1.0), ('u', 'b', 1.0)]
    >>> truth(log, Truth(threshold=4, repeats="first")).table.rows()
    [('u', 'a', 0.0), ('u', 'b', 1.0)]
    """
    rule = rule or Truth()
    rows = _weigh_interactions(log, rule)
    combined_worth = _COMBINATIONS[rule.repeats].alias("worth")
    first_place = pl.col("place").filter(pl.col("worth") != 0).min()
    pairs = (
        rows.with_row_index("place")
        .group_by("query_id", "doc_id", maintain_order=True)
        .agg(combined_worth, first_place)
        .sort("query_id", "place", nulls_last=True, maintain_order=True)
    )
    is_relevant = pl.col("worth") >= rule.threshold
    if rule.tells_zero:
        is_relevant &= pl.col("worth") != 0
    worth = pl.lit(1.0) if rule.grades == "binary" else pl.col("worth")
    grade = pl.when(is_relevant).then(worth).otherwise(0.0).alias("grade")
    table = pairs.select("query_id", "doc_id", grade)
    return Qrels(table, name=name or log.name, made_by=encode(rule), place=log.place)


def judgments_of_log(source: InputFile, form: str) -> Qrels:
    """A log as judgments: a grade is the rating, or 1 without one; the highest of repeats counts.

    Args:
        source: the log.
        form: its format.

    Raises:
        InputError: the file cannot be read; the message has file and line.
    """
    from rankgate.data.logs.read_logs import read_interactions

    log = read_interactions(source, from_=form, timed=False)
    return truth(log, Truth(grades="value"), source.stem)


def _weigh_interactions(log: Interactions, rule: Truth) -> pl.DataFrame:
    """The interactions that count, with the worth of each."""
    value = pl.col("value")
    if rule.least:
        lowest_values = {kind: float(lowest) for kind, lowest in rule.least.items()}
        lowest_of_kind = pl.col("kind").replace_strict(
            lowest_values, default=-math.inf, return_dtype=pl.Float64
        )
        value = pl.when(value >= lowest_of_kind).then(value).otherwise(0.0)
    if not rule.weights:
        return log.table.with_columns(value.alias("worth"))
    kinds = log.table["kind"].unique().sort().to_list()
    for kind in rule.weights:
        if kind not in kinds:
            kind_names = ", ".join(kinds[:10])
            raise UsageError(
                f"no interaction is of the kind '{kind}'; there are {kind_names}.", code="unknown-choice"
            )
    rows = log.table.filter(pl.col("kind").is_in(list(rule.weights)))
    if rows.is_empty():
        raise InputError(
            "no interaction is of a kind that counts.", source=log.place.label, code="no-interactions"
        )
    weights = {kind: float(weight) for kind, weight in rule.weights.items()}
    weight = pl.col("kind").replace_strict(weights, return_dtype=pl.Float64)
    return rows.with_columns((value * weight).alias("worth"))
