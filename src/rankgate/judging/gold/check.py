"""Check gold labels by the grades of raters who have not seen them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError
from rankgate.core.present.codec import Named
from rankgate.data import Qrels, read_qrels
from rankgate.data.read_ratings import read_ratings
from rankgate.judging.admission.bias import share_over_queries
from rankgate.judging.gold.gold_check import AMBIGUOUS, CONFIRMED, OPEN, WRONG, GoldCheck
from rankgate.judging.standing import PAIR
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RatingsLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_MANY = 50  # pairs, of which some would be graded otherwise by anybody who has not seen the gold
_ORDER = (WRONG, AMBIGUOUS, CONFIRMED, OPEN)


def check_gold(
    gold: QrelsLike,
    ratings: RatingsLike,
    runs: Sequence[Any] = (),
    metrics: str | Metric | Sequence[str | Metric] = ("nDCG@10",),
    convention: str | Convention = "trec",
    *,
    majority: Annotated[float, Range(0.5, 1)] = 0.75,
    fewest: Count = 2,
) -> GoldCheck:
    """Check gold labels by the grades of raters who have not seen them.

    A label is wrong where raters agree on another grade, and ambiguous where they do not agree:
    the first is to be corrected, the second says that the guideline leaves it open. With an error
    rate e of each rater, spread over the K - 1 other grades, two raters agree with chance
    (1 - e)² + e² / (K - 1); e is read off how often they do, and says how many right labels would
    look wrong by chance.

    Args:
        gold: the labels.
        ratings: by two raters or more, blind; a rater's last grade of a pair counts.
        runs: systems whose means are computed with the wrong labels replaced, too.
        metrics: of these means.
        convention: by which they are computed.
        majority: The share of a pair's raters that must give the same grade, more than half.
        fewest: Ratings that a pair needs to be decided.

    Raises:
        InputError: files that cannot be read; no pair with a gold label and a rating.
        UsageError: unknown names.
    """
    judged, given = read_qrels(gold), read_ratings(ratings)
    both = _both(judged, given.table)
    if both.is_empty():
        problem = f"no pair has a label in {judged.name}; draw pairs by rankgate gold draw."
        raise InputError(problem, source=given.place.label, code="no-common-pairs")
    labels = _labels(both, majority, fewest)
    decided = labels.filter(pl.col("status") != OPEN)
    scale = judged.table.filter(pl.col("grade") >= 0)["grade"].n_unique()
    error = _error(both, scale)
    chance = None if error is None else _by_chance(decided["ratings"], error, scale, majority)
    systems, rules = _systems(judged, labels, runs, metrics, convention)
    return GoldCheck(
        gold=Named(judged.name, judged.sha256),
        ratings=given.name,
        raters=both["rater"].n_unique(),
        majority=majority,
        fewest=fewest,
        labels=labels,
        shares=_shares(decided),
        grades=_grades(both, decided),
        error=error,
        by_chance=chance,
        systems=systems,
        convention=rules,
        cautions=_cautions(both, decided),
    )


def _both(judged: Qrels, ratings: pl.DataFrame) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``rater``, ``grade``, ``gold``: last grades of labelled pairs."""
    gold = judged.table.filter(pl.col("grade") >= 0).select(*PAIR, pl.col("grade").alias("gold"))
    last = ratings.unique([*PAIR, "rater"], keep="last", maintain_order=True)
    graded = last.filter(pl.col("grade").is_not_null()).select(*PAIR, "rater", "grade")
    return graded.join(gold, on=PAIR, maintain_order="left")


def _labels(both: pl.DataFrame, majority: float, fewest: int) -> pl.DataFrame:
    counts = both.group_by(*PAIR, "gold", "grade", maintain_order=True).agg(pl.len().alias("agree"))
    best = counts.sort("agree", "grade", descending=[True, False], maintain_order=True)
    most = best.group_by(*PAIR, "gold", maintain_order=True).agg(
        pl.col("grade").first(),
        pl.col("agree").first().cast(pl.Int64),
        pl.col("agree").sum().cast(pl.Int64).alias("ratings"),
    )
    agreed = pl.col("agree") >= majority * pl.col("ratings") - 1e-9
    alone = pl.col("agree") * 2 > pl.col("ratings")
    status = (
        pl.when(pl.col("ratings") < fewest)
        .then(pl.lit(OPEN))
        .when(~(agreed & alone))
        .then(pl.lit(AMBIGUOUS))
        .when(pl.col("grade") == pl.col("gold"))
        .then(pl.lit(CONFIRMED))
        .otherwise(pl.lit(WRONG))
    )
    found = most.with_columns(status.alias("status"))
    rank = found["status"].replace_strict(_ORDER, range(len(_ORDER)), return_dtype=pl.Int64)
    return found.sort(rank, "query_id", "doc_id", maintain_order=True)


def _shares(decided: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for status in _ORDER[:-1]:
        of_it = pl.col("status") == status
        pairs = decided.filter(of_it).height
        share = pairs / decided.height if decided.height else None
        rows.append((status, pairs, share, *share_over_queries(decided, of_it)))
    return pl.DataFrame(rows, schema=GoldCheck.SCHEMAS["shares"], orient="row")


def _grades(both: pl.DataFrame, decided: pl.DataFrame) -> pl.DataFrame:
    means = both.group_by("gold").agg(pl.col("grade").mean().alias("mean"))
    counts = decided.group_by("gold").agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        (pl.col("status") == WRONG).sum().cast(pl.Int64).alias("wrong"),
        (pl.col("status") == AMBIGUOUS).sum().cast(pl.Int64).alias("ambiguous"),
    )
    return counts.join(means, on="gold").sort("gold")


def _error(both: pl.DataFrame, scale: int) -> float | None:
    """The share of a rater's grades that err, by the agreement of two raters; None without two."""
    counts = both.group_by(*PAIR, "grade").agg(pl.len().alias("n"))
    same = float((counts["n"] * (counts["n"] - 1)).sum())
    pairs = both.group_by(PAIR).agg(pl.len().alias("n"))
    every = float((pairs["n"] * (pairs["n"] - 1)).sum())
    if not every or scale < 2:
        return None
    others, agreement = scale - 1, same / every
    # (1 - e)² + e²/(K-1) = agreement: the smaller root; below the least that is possible, the least
    inside = max(0.0, 1 - (1 + 1 / others) * (1 - agreement))
    return float((1 - np.sqrt(inside)) / (1 + 1 / others))


def _by_chance(ratings: pl.Series, error: float, scale: int, majority: float) -> float:
    """How many right labels would look wrong: Σ (K-1) P(enough raters give one wrong grade)."""
    from scipy.stats import binom

    n = ratings.to_numpy()
    needed = np.maximum(np.ceil(majority * n - 1e-9), np.floor(n / 2) + 1)
    return float(((scale - 1) * binom.sf(needed - 1, n, error / (scale - 1))).sum())


def _systems(
    judged: Qrels,
    labels: pl.DataFrame,
    runs: Sequence[Any],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
) -> tuple[pl.DataFrame, Mapping[str, Any] | None]:
    """Means by the labels as they are, and with the wrong ones replaced; the convention."""
    if not runs:
        return pl.DataFrame(schema=GoldCheck.SCHEMAS["systems"]), None
    right = labels.filter(pl.col("status") == WRONG).select(*PAIR, pl.col("grade").alias("right"))
    table = judged.table.join(right, on=PAIR, how="left", maintain_order="left")
    corrected = table.with_columns(pl.coalesce("right", "grade").alias("grade")).drop("right")
    before = evaluate(judged, list(runs), metrics, convention)
    after = evaluate(Qrels(corrected, judged.name), list(runs), metrics, convention)
    rows = [
        (metric, system, old, new, new - old)
        for metric in before.metrics
        for system, old, new in zip(
            before.means["run"], before.means[metric], after.means[metric], strict=True
        )
    ]
    found = pl.DataFrame(rows, schema=GoldCheck.SCHEMAS["systems"], orient="row")
    return found, before.convention


def _cautions(both: pl.DataFrame, decided: pl.DataFrame) -> tuple[str, ...]:
    found = []
    if both["rater"].n_unique() < 2:
        found.append("one rater decides nothing: two or more tell a wrong label from a hard one.")
    elif decided.is_empty():
        found.append("no pair has enough ratings; have the same pairs rated by more people.")
    if len(both) >= _MANY and bool((both["grade"] == both["gold"]).all()):
        found.append("every rating equals the gold label: raters have probably seen it.")
    return tuple(found)
