"""Rules that combine several ratings into one grade."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Declared, Parameter, Range, Registry, parameters_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.standing import PAIR
from rankgate.measurement.stats.agreement.dawid_skene import dawid_skene

Smoothing = Annotated[float, Range(0)]

TIE = "tie"
"""The reason of an unresolved pair: as many raters for one grade as for another."""
NO_GRADE = "no grade"
"""The reason of an unresolved pair: nobody could tell."""
NOT_ADJUDICATED = "not adjudicated"
"""The reason of an unresolved pair: no grade by the adjudicator or by the other rule."""
DIFFER = "raters differ"
"""The reason of an unresolved pair: raters gave different grades."""


@dataclass(frozen=True)
class ResolveRule(Declared):
    """A rule that makes one grade of several ratings.

    Attributes:
        name: how it is called.
        title: what it does, in a sentence.
        source: where it comes from.
        resolve: from the last ratings with a grade (``query_id``, ``doc_id``, ``rater``, ``grade``,
            ``at``, ``row``, in the order given) to one row a pair: ``grade``, null where it stays
            unresolved, and ``why``, null where it is resolved. Its keyword-only arguments are the
            parameters of the rule.
    """

    resolve: Callable[..., pl.DataFrame]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The keyword-only arguments of its function, by name."""
        return parameters_of(self.resolve)


def _aggregate(table: pl.DataFrame, grade: pl.Expr) -> pl.DataFrame:
    return table.group_by(PAIR, maintain_order=True).agg(
        grade.alias("grade"), pl.lit(None, dtype=pl.String).alias("why")
    )


def _majority(table: pl.DataFrame) -> pl.DataFrame:
    votes = table.group_by(*PAIR, "grade").len()
    top_votes = votes.filter(pl.col("len") == pl.col("len").max().over(PAIR))
    winners = top_votes.group_by(PAIR).agg(
        pl.when(pl.len() == 1).then(pl.col("grade").first()).alias("grade"),
        pl.when(pl.len() > 1).then(pl.lit(TIE)).alias("why"),
    )
    return (
        table.select(PAIR)
        .unique(maintain_order=True)
        .join(winners, on=PAIR, how="left", maintain_order="left")
    )


def _mean(table: pl.DataFrame) -> pl.DataFrame:
    return _aggregate(table, pl.col("grade").mean())


def _median(table: pl.DataFrame) -> pl.DataFrame:
    return _aggregate(table, pl.col("grade").median())


def _top_three(table: pl.DataFrame, *, rounded: bool = False) -> pl.DataFrame:
    """The mean of one or two grades; of three or more the lowest of the three highest.

    Args:
        table: the ratings.
        rounded: to whole grades, halves up, as Quepid does in books of people
    """
    three = 3
    grade = (
        pl.when(pl.len() < three)
        .then(pl.col("grade").mean())
        .otherwise(pl.col("grade").top_k(three).min())
    )
    # halves go up, as Ruby rounds
    return _aggregate(table, (grade + 0.5).floor() if rounded else grade)


def _unanimous(table: pl.DataFrame) -> pl.DataFrame:
    is_unanimous = pl.col("grade").n_unique() == 1
    return table.group_by(PAIR, maintain_order=True).agg(
        pl.when(is_unanimous).then(pl.col("grade").first()).alias("grade"),
        pl.when(~is_unanimous).then(pl.lit(DIFFER)).alias("why"),
    )


def _latest(table: pl.DataFrame, *, order: Literal["time", "file"] = "time") -> pl.DataFrame:
    """The grade with the latest time, from any rater.

    Args:
        table: the ratings.
        order: file takes the last row of each pair; time needs the time of each rating
    """
    if order == "file":
        return _aggregate(table.sort("row"), pl.col("grade").last())
    _refuse_unordered(table)
    return _aggregate(table, pl.col("grade").last())


def _refuse_unordered(table: pl.DataFrame) -> None:
    """Refuse last grades without times: the order of rows changes when files are joined."""
    times = pl.col("at")
    unclear = (  # rows that may be the last, with more than one grade
        table.filter((times.is_null().any() | (times == times.max())).over(PAIR))
        .group_by(PAIR, maintain_order=True)
        .agg(pl.col("grade").n_unique().alias("grades"))
        .filter(pl.col("grades") > 1)
    )
    if len(unclear):
        query, document, _ = unclear.row(0)
        raise UsageError(
            f"latest: {len(unclear)} pairs have different grades and no times that say which is "
            f"the last, such as '{document}' of query '{query}'; add the times, take another rule, "
            "or set order=file to use the last row.",
            code="missing-input",
        )


Otherwise = Literal["majority", "mean", "median", "top-three", "unanimous", "dawid-skene"]


def _adjudicated(
    table: pl.DataFrame, *, adjudicator: str = "", otherwise: Otherwise = "majority"
) -> pl.DataFrame:
    """The adjudicator's grade; if there is none, that of another rule.

    Args:
        table: the ratings.
        adjudicator: the rater who decides
        otherwise: the rule for pairs that the adjudicator did not grade
    """
    if not adjudicator:
        raise UsageError(
            "adjudicated needs to know who decides; set adjudicator=NAME.",
            code="missing-input",
        )
    if adjudicator not in table["rater"]:
        raise UsageError(
            f"adjudicator={adjudicator}: no rating of this rater; see the raters' names.",
            code="unknown-choice",
        )
    own_grades = table.filter(pl.col("rater") == adjudicator).select(
        *PAIR, pl.col("grade").alias("own")
    )
    other_grades = RULES[otherwise].resolve(table)
    return (
        other_grades.join(own_grades, on=PAIR, how="left", maintain_order="left")
        .with_columns(pl.coalesce("own", "grade").alias("grade"))
        .with_columns(pl.when(pl.col("grade").is_null()).then(pl.lit(NOT_ADJUDICATED)).alias("why"))
        .drop("own")
    )


def _dawid_skene(
    table: pl.DataFrame, *, expected: bool = False, smoothing: Smoothing = 0.01
) -> pl.DataFrame:
    """The most probable true grade, raters weighed by the errors they make.

    Args:
        table: the ratings.
        expected: the mean of the true grade's distribution, instead of its peak
        smoothing: added to every cell of a rater's table of errors; 0 is the paper's
    """
    if table.is_empty():
        return _aggregate(table, pl.col("grade").first())
    pairs = table.select(PAIR).unique(maintain_order=True).with_row_index("item")
    numbered_ratings = table.join(pairs, on=PAIR, maintain_order="left")
    grades, grade_index = np.unique(numbered_ratings["grade"].to_numpy(), return_inverse=True)
    _, rater = np.unique(numbered_ratings["rater"].to_numpy(), return_inverse=True)
    pair_index = numbered_ratings["item"].to_numpy().astype(np.int64)
    belief = dawid_skene(pair_index, rater, grade_index, smoothing=smoothing).belief
    result = belief @ grades if expected else grades[belief.argmax(axis=1)]
    return pairs.drop("item").with_columns(
        pl.Series("grade", result), pl.lit(None, dtype=pl.String).alias("why")
    )


RULES = Registry(
    ResolveRule,
    "rule",
    (
        ResolveRule(
            "majority",
            _majority,
            title="the grade that most raters gave; none where two grades tie",
            source="SearchTweak, binary scale",
        ),
        ResolveRule(
            "mean",
            _mean,
            title="the arithmetic mean; it may lie between grades",
            source="SearchTweak, graded and detail scales",
        ),
        ResolveRule(
            "median",
            _median,
            title="the middle grade; the mean of the two in the middle of an even number",
            source="the usual definition",
        ),
        ResolveRule(
            "top-three",
            _top_three,
            title="the mean of one or two grades; of three or more the lowest of the three highest",
            source="Quepid, app/services/ratings_manager.rb",
        ),
        ResolveRule(
            "unanimous",
            _unanimous,
            title="the grade where all raters agree; none where they differ",
            source="usual practice at TREC, before adjudication",
        ),
        ResolveRule(
            "latest",
            _latest,
            title="the grade with the latest time, from any rater",
            source="usual practice",
        ),
        ResolveRule(
            "adjudicated",
            _adjudicated,
            title="the adjudicator's grade; without one, that of another rule",
            source="usual practice at TREC",
        ),
        ResolveRule(
            "dawid-skene",
            _dawid_skene,
            title="the most probable true grade, raters weighed by the errors they make",
            source="Dawid and Skene 1979",
        ),
    ),
    group="rankgate.resolve_rules",
)
"""Every rule, by name."""
