"""From ratings to judgments, by a rule that is recorded in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.judging.resolution.resolution import ResolvedJudgments
from rankgate.judging.resolution.rules import NO_GRADE, RULES
from rankgate.judging.standing import PAIR, standing
from rankgate.judging.transformers import refuse_outside

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale
    from rankgate.data.ratings import Ratings
    from rankgate.judging.transformers import Transformer


def resolve(
    ratings: Ratings,
    rule: str = "majority",
    parameters: Mapping[str, Any] | None = None,
    *,
    transformer: Transformer | None = None,
    scale: Scale | None = None,
    slots: int | None = None,
) -> ResolvedJudgments:
    """At most one grade per query and document, by a named rule.

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
    chosen = RULES.named(rule)
    words = (parameters or {}).items()
    options = {name: chosen.read(name, value, words=True) for name, value in words}
    if slots is not None and slots < 1:
        raise UsageError(f"slots={slots}: a pair takes one grade or more.", code="out-of-range")
    bounds = scale or (None if transformer else ratings.scale)
    if bounds is not None:
        refuse_outside(ratings, bounds)
    carried = transformer(ratings) if transformer else ratings
    counted = standing(carried, slots)
    given = counted.table.filter(pl.col("grade").is_not_null())
    result = chosen.resolve(given, **options)
    pairs = counted.table.select(PAIR).unique(maintain_order=True)
    every = pairs.join(result, on=PAIR, how="left", maintain_order="left")
    made_by = {
        "rule": chosen.name,
        **({"parameters": options} if options else {}),
        **({"transformer": transformer.name, "maps": transformer.text} if transformer else {}),
        **({"slots": slots} if slots else {}),
        "judges": _judges(given),
    }
    target = (transformer.scale if transformer else None) or (None if transformer else bounds)
    judged = every.filter(pl.col("grade").is_not_null()).select(*SCHEMA)
    place = Place(ratings.place.label)
    qrels = None
    if len(judged):
        qrels = Qrels(judged, ratings.name, target, (), made_by, place)
    counts = _counts(ratings, counted, every)
    if slots:
        late = pl.col("at").is_null().any() & (pl.len() > slots)
        pairs_late = carried.table.group_by(PAIR).agg(late.alias("late"))
        counts["unordered"] = int(pairs_late["late"].sum())
    if "adjudicator" in options:
        own = given.filter(pl.col("rater") == options["adjudicator"])
        counts["adjudicated"] = own.select(PAIR).n_unique()
    return ResolvedJudgments(ratings.name, qrels, _unresolved(every, given), made_by, counts)


def _judges(given: pl.DataFrame) -> list[str]:
    """Raters with their guideline, which for a model is the name and hash of its prompt."""
    rows = given.select("rater", "guideline").unique().sort("rater", "guideline").iter_rows()
    return [f"{rater} ({guideline})" if guideline else str(rater) for rater, guideline in rows]


def _unresolved(every: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    said = given.group_by(PAIR).agg(pl.col("grade").alias("grades"))
    open_ = every.filter(pl.col("grade").is_null()).select(*PAIR, pl.col("why").fill_null(NO_GRADE))
    return open_.join(said, on=PAIR, how="left", maintain_order="left")


def _counts(ratings: Ratings, counted: Any, every: pl.DataFrame) -> dict[str, int]:  # noqa: ANN401
    return {
        "ratings": len(ratings.table),
        "corrected": counted.corrected,
        "cannot_tell": counted.table["grade"].null_count(),
        "beyond_slots": counted.beyond,
        "raters": counted.table["rater"].n_unique(),
        "pairs": len(every),
        "resolved": len(every) - every["grade"].null_count(),
        "ties": every.filter(pl.col("why") == "tie").height,
    }
