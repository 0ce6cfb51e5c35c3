"""Check gold labels with grades of raters who have not seen the labels.

The result of ``gold check`` lists wrong and ambiguous labels. For a blind check, labelled pairs are
drawn in random order, without their grades. The document of the check has shares, wrong labels, and
their effect on systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.codec import InputHash
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, METRIC, QUERY_ID, SYSTEM
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.core.value_types import JsonObject
from rankgate.data import Qrels, read_qrels
from rankgate.data.adapters import read_rankings
from rankgate.data.read import read_ratings
from rankgate.data.table_rows import in_row_order
from rankgate.judging.admission.judged_pairs import share_over_queries
from rankgate.judging.counting_ratings import PAIR
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RatingsLike, RunLike
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


CONFIRMED, WRONG, AMBIGUOUS, OPEN = "confirmed", "wrong", "ambiguous", "open"
"""Status of a label: raters agree with it, agree on another grade, do not agree; too few."""


LABELS = Columns(
    "One row per gold label, wrong ones first.",
    QUERY_ID,
    DOC_ID,
    Column("gold", pl.Float64, "the gold label", "grade"),
    Column("grade", pl.Float64, "the grade of most raters; null where no majority agrees", "grade"),
    Column("agree", pl.Int64, "raters that gave this grade", unit="raters"),
    Column("ratings", pl.Int64, "ratings of the pair"),
    Column("status", pl.String, "confirmed, wrong, ambiguous or open (too few ratings)"),
)


SHARES = Columns(
    "One row per status.",
    Column("status", pl.String, "the status of labels", header="label"),
    Column("pairs", pl.Int64, "labels with it"),
    Column("share", pl.Float64, "their share of the labels that raters decided or could not decide", ".3f"),
    Column("low", pl.Float64, "the low end of its 95 % interval over queries", "+.3f", header="95% interval"),
    Column("high", pl.Float64, "the high end of its 95 % interval over queries", "+.3f"),
)


GRADES = Columns(
    "One row per gold label.",
    Column("gold", pl.Float64, "the gold label", "grade"),
    Column("pairs", pl.Int64, "pairs with it"),
    Column("wrong", pl.Int64, "pairs of these with a wrong label", unit="pairs"),
    Column("ambiguous", pl.Int64, "pairs of these that raters could not decide", unit="pairs"),
    Column("mean", pl.Float64, "the mean grade of raters", ".2f", header="raters' mean"),
)


SYSTEMS = Columns(
    "One row per metric and system; no rows without runs.",
    METRIC,
    SYSTEM,
    Column("gold", pl.Float64, "the mean by the gold labels"),
    Column("corrected", pl.Float64, "the mean with the wrong labels replaced"),
    Column("delta", pl.Float64, "corrected − gold", "signed"),
)


_LABELS = View(
    "labels",
    cells=("query_id", "doc_id", "gold", "grade", ("agree", " of ", "ratings")),
    headers={"grade": "raters"},
    keys=2,
    first=30,
)


@dataclass(frozen=True)
class GoldCheck(Result):
    """Gold labels compared with the grades of raters who have not seen them.

    Attributes:
        gold: name and hash.
        ratings: the name of the ratings.
        raters: the number of raters.
        majority: the share of a pair's raters that must give the same grade.
        fewest: the number of ratings that a pair needs.
        labels: the columns of `LABELS`.
        shares: the columns of `SHARES`.
        grades: the columns of `GRADES`.
        error: the error rate of a rater, estimated from the agreement of two raters if all err
            equally.
        by_chance: the expected number of labels that such errors would make look wrong if all
            labels were right.
        systems: the columns of `SYSTEMS`.
        convention: by which systems were scored; None without runs.
        cautions: remarks to read before labels are changed.
    """

    kind = "gold_check"
    label = "Are the gold labels right?"
    SCHEMAS: ClassVar = {"labels": LABELS, "shares": SHARES, "grades": GRADES, "systems": SYSTEMS}
    headline_text = "{gold.name}: {wrong} of {decided:n label is/labels are} wrong"
    layout = (
        NOTICES,
        View("shares", "labels", ("status", "pairs", "share", ("low", "high"))),
        _LABELS._replace(heading="wrong labels", row_filter=pl.col("status") == WRONG),
        _LABELS._replace(heading="ambiguous labels", row_filter=pl.col("status") == AMBIGUOUS),
        View("grades", "by gold grade"),
        View("systems", "systems with the wrong labels replaced", keys=2),
        Sentence(
            "Wrong: {majority:.0%} of a pair's raters or more agree on another grade; ambiguous: they do not"
            " agree."
        ),
        Sentence(
            "Estimated from the agreement of two raters, one rater errs in {error:.1%} of the pairs; "
            "{by_chance:.1f} right labels would look wrong by that alone.",
            "by_chance",
        ),
        Sentence("{undecided:n pair has/pairs have} fewer than {fewest:n rating}.", "undecided"),
    )
    notice_texts = (NoticeText("gold-check", "{row}", source="cautions", subject="{gold[0]}"),)

    gold: InputHash
    ratings: str
    raters: int
    majority: float
    fewest: int
    labels: pl.DataFrame
    shares: pl.DataFrame
    grades: pl.DataFrame
    error: float | None
    by_chance: float | None
    systems: pl.DataFrame
    convention: JsonObject | None
    cautions: tuple[str, ...] = ()

    @property
    def wrong(self) -> int:
        """The number of wrong labels."""
        return self.labels.filter(status=WRONG).height

    @property
    def undecided(self) -> int:
        """The number of labels with too few ratings."""
        return self.labels.filter(status=OPEN).height

    @property
    def decided(self) -> int:
        """The number of the other labels."""
        return len(self.labels) - self.undecided


def draw_gold(gold: QrelsLike, pairs: Count = 200, *, seed: int = 0) -> pl.DataFrame:
    """Draw pairs of gold labels for raters; each pair is equally likely.

    Args:
        gold: the judgments.
        pairs: The number of drawn pairs; all if there are fewer.
        seed: the seed of the draw.

    Returns:
        ``query_id`` and ``doc_id`` in random order: a pool.

    Raises:
        InputError: judgments that cannot be read.
        UsageError: judgments without a grade of 0 or more.
    """
    gold_qrels = read_qrels(gold)
    labelled_pairs = gold_qrels.table.filter(gold_qrels.table["grade"] >= 0).select(PAIR)
    if labelled_pairs.is_empty():
        raise UsageError(f"{gold_qrels.name} has no grades to check.", code="nothing-judged")
    order = np.random.default_rng(seed).permutation(len(labelled_pairs))[:pairs]
    return labelled_pairs[order]


_MANY_PAIRS = 50  # pairs; among so many, raters who have not seen the gold grade some differently
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
    the first is to be corrected, the second means that the guideline is not clear. With an error
    rate e of each rater, spread over the K - 1 other grades, two raters agree with chance
    (1 - e)² + e² / (K - 1); e is estimated from that agreement, and gives the number of right
    labels that would look wrong by chance.

    Args:
        gold: the labels.
        ratings: ratings by two raters or more, blind; a rater's last grade of a pair counts.
        runs: systems; their means are also computed with the wrong labels replaced.
        metrics: the metrics of these means.
        convention: the convention of the metrics.
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
    gold = gold_qrels.table.filter(pl.col("grade") >= 0).select(*PAIR, pl.col("grade").alias("gold"))
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
    rank = labels["status"].replace_strict(_STATUS_ORDER, range(len(_STATUS_ORDER)), return_dtype=pl.Int64)
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
    means = labelled_ratings.group_by("gold").agg(in_row_order(pl.col("grade")).mean().alias("mean"))
    counts = decided.group_by("gold").agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        (pl.col("status") == WRONG).sum().cast(pl.Int64).alias("wrong"),
        (pl.col("status") == AMBIGUOUS).sum().cast(pl.Int64).alias("ambiguous"),
    )
    return counts.join(means, on="gold").sort("gold")


def _error_rate(labelled_ratings: pl.DataFrame, scale: int) -> float | None:
    """A rater's error rate, estimated from the agreement of two raters; None without two raters."""
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
    """Expected right labels that look wrong: Σ (K-1) P(enough raters give the same wrong grade)."""
    from scipy.stats import binom

    n = ratings.to_numpy()
    needed = np.maximum(np.ceil(majority * n - 1e-9), np.floor(n / 2) + 1)
    return float(((scale - 1) * binom.sf(needed - 1, n, error / (scale - 1))).sum())


def _systems(
    gold_qrels: Qrels,
    labels: pl.DataFrame,
    runs: Sequence[RunLike],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
) -> tuple[pl.DataFrame, JsonObject | None]:
    """Means by the original labels and with wrong labels replaced, and the convention."""
    if not runs:
        return pl.DataFrame(schema=GoldCheck.SCHEMAS["systems"]), None
    right = labels.filter(pl.col("status") == WRONG).select(*PAIR, pl.col("grade").alias("right"))
    table = gold_qrels.table.join(right, on=PAIR, how="left", maintain_order="left")
    corrected = table.with_columns(pl.coalesce("right", "grade").alias("grade")).drop("right")
    tables = read_rankings(list(runs), "run")  # scored with both sets of labels
    gold_scores = evaluate(gold_qrels, tables, metrics, convention)
    corrected_scores = evaluate(Qrels(corrected, gold_qrels.name), tables, metrics, convention)
    rows = [
        (metric, system, old, new, new - old)
        for metric in gold_scores.metrics
        for system, old, new in zip(
            gold_scores.means["run"], gold_scores.means[metric], corrected_scores.means[metric], strict=True
        )
    ]
    means = pl.DataFrame(rows, schema=GoldCheck.SCHEMAS["systems"], orient="row")
    return means, gold_scores.convention


def _cautions(labelled_ratings: pl.DataFrame, decided: pl.DataFrame) -> tuple[str, ...]:
    messages = []
    if labelled_ratings["rater"].n_unique() < 2:
        messages.append(
            "one rater is not enough: two or more raters are needed to distinguish a wrong label from a hard "
            "pair."
        )
    elif decided.is_empty():
        messages.append("no pair has enough ratings; have the same pairs rated by more people.")
    if len(labelled_ratings) >= _MANY_PAIRS and bool(
        (labelled_ratings["grade"] == labelled_ratings["gold"]).all()
    ):
        messages.append("every rating equals the gold label: raters have probably seen it.")
    return tuple(messages)
