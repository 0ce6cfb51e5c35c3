"""From ratings to judgments, by a rule that is recorded in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data.place import RowLocation
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.judging.resolution.resolution import ResolvedJudgments
from rankgate.judging.resolution.rules import NO_GRADE, RULES
from rankgate.judging.standing import PAIR, counting_ratings
from rankgate.judging.transformers import refuse_outside

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale
    from rankgate.data.ratings import Ratings
    from rankgate.judging.transformers import Transformer


def resolve_ratings(
    ratings: Ratings,
    rule: str = "majority",
    parameters: Mapping[str, Any] | None = None,
    *,
    transformer: Transformer | None = None,
    scale: Scale | None = None,
    slots: int | None = None,
) -> ResolvedJudgments:
    """Resolve ratings to at most one grade per query and document, by a named rule.

    Grades are checked against the scale, carried over by the transformer, one by one, and only
    then aggregated (the order is SearchTweak's).

    Args:
        ratings: single raters' grades.
        rule: its name in ``RULES``.
        parameters: of the rule.
        transformer: what grades become before they are aggregated.
        scale: grades outside it are refused; without it, that of the ratings, if they have one,
            where no transformer says what becomes of every grade.
        slots: how many grades a pair takes, the first ones.

    Raises:
        UsageError: an unknown rule or parameter, no slots.
        InputError: a grade that is not on the scale, or that the transformer does not map.
    """
    resolution_rule = RULES.named(rule)
    named_values = (parameters or {}).items()
    options = {name: resolution_rule.read(name, value, words=True) for name, value in named_values}
    if slots is not None and slots < 1:
        raise UsageError(f"slots={slots}: a pair takes one grade or more.", code="out-of-range")
    bounds = scale or (None if transformer else ratings.scale)
    if bounds is not None:
        refuse_outside(ratings, bounds)
    transformed = transformer(ratings) if transformer else ratings
    last_ratings = counting_ratings(transformed, slots)
    graded_ratings = last_ratings.table.filter(pl.col("grade").is_not_null())
    result = resolution_rule.resolve(graded_ratings, **options)
    pairs = last_ratings.table.select(PAIR).unique(maintain_order=True)
    all_pairs = pairs.join(result, on=PAIR, how="left", maintain_order="left")
    made_by = {
        "rule": resolution_rule.name,
        **({"parameters": options} if options else {}),
        **({"transformer": transformer.name, "maps": transformer.text} if transformer else {}),
        **({"slots": slots} if slots else {}),
        "judges": _judges(graded_ratings),
    }
    target = (transformer.scale if transformer else None) or (None if transformer else bounds)
    resolved_pairs = all_pairs.filter(pl.col("grade").is_not_null()).select(*SCHEMA)
    source = RowLocation(ratings.place.label)
    qrels = None
    if len(resolved_pairs):
        qrels = Qrels(resolved_pairs, ratings.name, target, (), made_by, source)
    counts = _counts(ratings, last_ratings, all_pairs)
    if slots:
        late = pl.col("at").is_null().any() & (pl.len() > slots)
        pairs_late = transformed.table.group_by(PAIR).agg(late.alias("late"))
        counts["unordered"] = int(pairs_late["late"].sum())
    if "adjudicator" in options:
        adjudicator_ratings = graded_ratings.filter(pl.col("rater") == options["adjudicator"])
        counts["adjudicated"] = adjudicator_ratings.select(PAIR).n_unique()
    return ResolvedJudgments(
        ratings.name, qrels, _unresolved(all_pairs, graded_ratings), made_by, counts
    )


def _judges(graded_ratings: pl.DataFrame) -> list[str]:
    """Raters with their guideline, which for a model is the name and hash of its prompt."""
    rows = (
        graded_ratings.select("rater", "guideline").unique().sort("rater", "guideline").iter_rows()
    )
    return [f"{rater} ({guideline})" if guideline else str(rater) for rater, guideline in rows]


def _unresolved(all_pairs: pl.DataFrame, graded_ratings: pl.DataFrame) -> pl.DataFrame:
    pair_grades = graded_ratings.group_by(PAIR).agg(pl.col("grade").alias("grades"))
    unresolved = all_pairs.filter(pl.col("grade").is_null()).select(
        *PAIR, pl.col("why").fill_null(NO_GRADE)
    )
    return unresolved.join(pair_grades, on=PAIR, how="left", maintain_order="left")


def _counts(ratings: Ratings, last_ratings: Any, all_pairs: pl.DataFrame) -> dict[str, int]:  # noqa: ANN401
    return {
        "ratings": len(ratings.table),
        "corrected": last_ratings.corrected,
        "cannot_tell": last_ratings.table["grade"].null_count(),
        "beyond_slots": last_ratings.beyond,
        "raters": last_ratings.table["rater"].n_unique(),
        "pairs": len(all_pairs),
        "resolved": len(all_pairs) - all_pairs["grade"].null_count(),
        "ties": all_pairs.filter(pl.col("why") == "tie").height,
    }
