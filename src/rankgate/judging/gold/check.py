"""Check gold labels by the grades of raters who have not seen them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError
from rankgate.core.present.codec import InputHash
from rankgate.data import Qrels, read_qrels
from rankgate.data.objects import read_rankings
from rankgate.data.read_ratings import read_ratings
from rankgate.judging.admission.bias import share_over_queries
from rankgate.judging.gold.gold_check import AMBIGUOUS, CONFIRMED, OPEN, WRONG, GoldCheck
from rankgate.judging.standing import PAIR
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RatingsLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_MANY_PAIRS = 50  # pairs; raters who have not seen the gold grade some of so many differently
_STATUS_ORDER = (WRONG, AMBIGUOUS, CONFIRMED, OPEN)


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
    gold_qrels, all_ratings = read_qrels(gold), read_ratings(ratings)
    labelled_ratings = _labelled_ratings(gold_qrels, all_ratings.table)
    if labelled_ratings.is_empty():
        problem = f"no pair has a label in {gold_qrels.name}; draw pairs by rankgate gold draw."
        raise InputError(problem, source=all_ratings.place.label, code="no-common-pairs")
    labels = _labels(labelled_ratings, majority, fewest)
    decided = labels.filter(pl.col("status") != OPEN)
    scale = gold_qrels.table.filter(pl.col("grade") >= 0)["grade"].n_unique()
    error = _error_rate(labelled_ratings, scale)
    chance = None if error is None else _expected_wrong(decided["ratings"], error, scale, majority)
    systems, rules = _systems(gold_qrels, labels, runs, metrics, convention)
    return GoldCheck(
        gold=InputHash(gold_qrels.name, gold_qrels.sha256),
        ratings=all_ratings.name,
        raters=labelled_ratings["rater"].n_unique(),
        majority=majority,
        fewest=fewest,
        labels=labels,
        shares=_shares(decided),
        grades=_grades(labelled_ratings, decided),
        error=error,
        by_chance=chance,
        systems=systems,
        convention=rules,
        cautions=_cautions(labelled_ratings, decided),
    )


def _labelled_ratings(gold_qrels: Qrels, ratings: pl.DataFrame) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``rater``, ``grade``, ``gold``: last grades of labelled pairs."""
    gold = gold_qrels.table.filter(pl.col("grade") >= 0).select(
        *PAIR, pl.col("grade").alias("gold")
    )
    last = ratings.unique([*PAIR, "rater"], keep="last", maintain_order=True)
    graded_ratings = last.filter(pl.col("grade").is_not_null()).select(*PAIR, "rater", "grade")
    return graded_ratings.join(gold, on=PAIR, maintain_order="left")


def _labels(labelled_ratings: pl.DataFrame, majority: float, min_ratings: int) -> pl.DataFrame:
    counts = labelled_ratings.group_by(*PAIR, "gold", "grade", maintain_order=True).agg(
        pl.len().alias("agree")
    )
    best = counts.sort("agree", "grade", descending=[True, False], maintain_order=True)
    top_grades = best.group_by(*PAIR, "gold", maintain_order=True).agg(
        pl.col("grade").first(),
        pl.col("agree").first().cast(pl.Int64),
        pl.col("agree").sum().cast(pl.Int64).alias("ratings"),
    )
    has_share = pl.col("agree") >= majority * pl.col("ratings") - 1e-9
    is_majority = pl.col("agree") * 2 > pl.col("ratings")
    status = (
        pl.when(pl.col("ratings") < min_ratings)
        .then(pl.lit(OPEN))
        .when(~(has_share & is_majority))
        .then(pl.lit(AMBIGUOUS))
        .when(pl.col("grade") == pl.col("gold"))
        .then(pl.lit(CONFIRMED))
        .otherwise(pl.lit(WRONG))
    )
    labels = top_grades.with_columns(status.alias("status"))
    rank = labels["status"].replace_strict(
        _STATUS_ORDER, range(len(_STATUS_ORDER)), return_dtype=pl.Int64
    )
    return labels.sort(rank, "query_id", "doc_id", maintain_order=True)


def _shares(decided: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for status in _STATUS_ORDER[:-1]:
        has_status = pl.col("status") == status
        pairs = decided.filter(has_status).height
        share = pairs / decided.height if decided.height else None
        rows.append((status, pairs, share, *share_over_queries(decided, has_status)))
    return pl.DataFrame(rows, schema=GoldCheck.SCHEMAS["shares"], orient="row")


def _grades(labelled_ratings: pl.DataFrame, decided: pl.DataFrame) -> pl.DataFrame:
    means = labelled_ratings.group_by("gold").agg(pl.col("grade").mean().alias("mean"))
    counts = decided.group_by("gold").agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        (pl.col("status") == WRONG).sum().cast(pl.Int64).alias("wrong"),
        (pl.col("status") == AMBIGUOUS).sum().cast(pl.Int64).alias("ambiguous"),
    )
    return counts.join(means, on="gold").sort("gold")


def _error_rate(labelled_ratings: pl.DataFrame, scale: int) -> float | None:
    """The share of a rater's grades that err, by the agreement of two raters; None without two."""
    counts = labelled_ratings.group_by(*PAIR, "grade").agg(pl.len().alias("n"))
    equal_pairs = float((counts["n"] * (counts["n"] - 1)).sum())
    pairs = labelled_ratings.group_by(PAIR).agg(pl.len().alias("n"))
    rating_pairs = float((pairs["n"] * (pairs["n"] - 1)).sum())
    if not rating_pairs or scale < 2:
        return None
    other_grades, agreement = scale - 1, equal_pairs / rating_pairs
    # (1 - e)² + e²/(K-1) = agreement: the smaller root; agreement is at least its minimum
    discriminant = max(0.0, 1 - (1 + 1 / other_grades) * (1 - agreement))
    return float((1 - np.sqrt(discriminant)) / (1 + 1 / other_grades))


def _expected_wrong(ratings: pl.Series, error: float, scale: int, majority: float) -> float:
    """Expected right labels that look wrong: Σ (K-1) P(enough raters give one wrong grade)."""
    from scipy.stats import binom

    n = ratings.to_numpy()
    needed = np.maximum(np.ceil(majority * n - 1e-9), np.floor(n / 2) + 1)
    return float(((scale - 1) * binom.sf(needed - 1, n, error / (scale - 1))).sum())


def _systems(
    gold_qrels: Qrels,
    labels: pl.DataFrame,
    runs: Sequence[Any],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
) -> tuple[pl.DataFrame, Mapping[str, Any] | None]:
    """Means by the labels as they are, and with the wrong ones replaced; the convention."""
    if not runs:
        return pl.DataFrame(schema=GoldCheck.SCHEMAS["systems"]), None
    right = labels.filter(pl.col("status") == WRONG).select(*PAIR, pl.col("grade").alias("right"))
    table = gold_qrels.table.join(right, on=PAIR, how="left", maintain_order="left")
    corrected = table.with_columns(pl.coalesce("right", "grade").alias("grade")).drop("right")
    tables = read_rankings(list(runs), "run")  # scored twice
    gold_scores = evaluate(gold_qrels, tables, metrics, convention)
    corrected_scores = evaluate(Qrels(corrected, gold_qrels.name), tables, metrics, convention)
    rows = [
        (metric, system, old, new, new - old)
        for metric in gold_scores.metrics
        for system, old, new in zip(
            gold_scores.means["run"],
            gold_scores.means[metric],
            corrected_scores.means[metric],
            strict=True,
        )
    ]
    means = pl.DataFrame(rows, schema=GoldCheck.SCHEMAS["systems"], orient="row")
    return means, gold_scores.convention


def _cautions(labelled_ratings: pl.DataFrame, decided: pl.DataFrame) -> tuple[str, ...]:
    messages = []
    if labelled_ratings["rater"].n_unique() < 2:
        messages.append(
            "one rater decides nothing: two or more tell a wrong label from a hard one."
        )
    elif decided.is_empty():
        messages.append("no pair has enough ratings; have the same pairs rated by more people.")
    if len(labelled_ratings) >= _MANY_PAIRS and bool(
        (labelled_ratings["grade"] == labelled_ratings["gold"]).all()
    ):
        messages.append("every rating equals the gold label: raters have probably seen it.")
    return tuple(messages)
