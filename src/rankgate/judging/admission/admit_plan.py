"""Plan the pairs that people judge to measure a judge's agreement to a given width.

The module has figures of agreement as functions of a table of shares, their derivatives, and the
verb ``admit-plan``, whose result is the pairs that people must judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.codec import InputHash
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import Sentence, View
from rankgate.core.present.number_formats import finite_or_none
from rankgate.data import read_qrels
from rankgate.data.qrels import MOST_GRADES, on_scale, parse_scale, possible_grades
from rankgate.judging.admission.judged_pairs import JUDGE, PEOPLE, JudgeGrades, judged_pairs
from rankgate.judging.counting_ratings import PAIR
from rankgate.measurement.stats.sampling_design import neyman_allocation, stratified_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import QrelsLike
    from rankgate.data.qrels import Qrels, Scale
    from rankgate.judging.admission.judged_pairs import JudgeGradesLike

    Counts = NDArray[np.int64]


AgreementFigure = Literal["equal", "bias", "alpha"]
"""The share of pairs with equal grades, the judge's mean difference, and ordinal alpha."""

_STEP = 1e-5


def _equal(table: Floats, _grades: Floats) -> float:
    return float(np.trace(table) / table.sum())


def _bias(table: Floats, grades: Floats) -> float:
    return float((table * (grades[None, :] - grades[:, None])).sum() / table.sum())


def _alpha(table: Floats, _grades: Floats) -> float:
    """Krippendorff's ordinal α of two raters in the limit of many pairs."""
    symmetric = (table + table.T) / (2 * table.sum())
    grade_shares = symmetric.sum(axis=0)
    middle = np.cumsum(grade_shares) - grade_shares / 2
    distances = (middle[:, None] - middle[None, :]) ** 2
    expected = float(grade_shares @ distances @ grade_shares)
    return 1 - float((symmetric * distances).sum()) / expected if expected > 0 else float("nan")


FIGURES: Mapping[AgreementFigure, Callable[[Floats, Floats], float]] = {
    "equal": _equal,
    "bias": _bias,
    "alpha": _alpha,
}
"""Each figure of a (K, K) table of shares, people's grades in rows, and of its K grades."""


def influence(figure: AgreementFigure, table: Floats, grades: Floats) -> Floats:
    """(K, K) derivatives of a figure by the share of each pair of grades.

    They linearise a figure that is not a mean, so that its variance under a stratified sample is
    Σ W_g² S_g² / n_g, where S_g is the standard deviation of the derivatives of column g over
    people's grades (delta method; Särndal, Swensson and Wretman 1992, section 5.5).

    Args:
        figure: the name of the figure.
        table: (K, K) shares of people's grades (rows) and the judge's (columns).
        grades: (K,) the possible grades of people and judge.
    """
    derivatives = np.zeros_like(table)
    for cell in np.ndindex(*table.shape):
        table_above, table_below = table.copy(), table.copy()
        table_above[cell] += _STEP
        table_below[cell] -= _STEP
        rise = FIGURES[figure](table_above, grades) - FIGURES[figure](table_below, grades)
        derivatives[cell] = rise / (2 * _STEP)
    return derivatives


FIGURE_LABELS: Mapping[str, str] = {"equal": "equal grades", "bias": "bias", "alpha": "alpha, ordinal"}
"""The names of figures for people."""

PLAN_FIGURES = Columns(
    "One row per figure of the admission check.",
    Column("figure", pl.String, "the name of the figure", FIGURE_LABELS.__getitem__),
    Column(
        "value",
        pl.Float64,
        "its value by the pilot; null where a stratum has too few pairs of it",
        "z.3f",
        header="by the pilot",
    ),
    Column(
        "half_width",
        pl.Float64,
        "its half-width by the pilot; null where a stratum has too few pairs of it",
        ".3f",
        header="±",
    ),
    Column(
        "pairs",
        pl.Int64,
        "pairs that reach the width, if they are allocated for this figure",
        unit="pairs",
        header="pairs needed\nfor it",
    ),
    Column("planned", pl.Float64, "the half-width with this sample", ".3f", header="± with this\nsample"),
)


def _format_deviation(is_assumed: bool, deviation: float) -> str:  # noqa: FBT001 - called by its column
    return f"{deviation:.3f}{' (worst case)' if is_assumed else ''}"


STRATA = Columns(
    "One row per grade of the judge.",
    Column("stratum", pl.String, "the name of the stratum"),
    Column("grade", pl.Float64, "the judge's grade", "grade", header="judge's grade"),
    Column("pool", pl.Int64, "pairs of the judge", unit="pairs", header="pairs"),
    Column(
        "pilot", pl.Int64, "pairs that people judged in the pilot", unit="pairs", header="judged by\npeople"
    ),
    Column(
        "deviation",
        pl.Float64,
        "the standard deviation of what a pair adds to the figure",
        _format_deviation,
        header="standard deviation",
        arguments=("assumed",),
    ),
    Column("assumed", pl.Boolean, "true if the deviation is the largest possible"),
    Column("pairs", pl.Int64, "pairs of the sample in all", unit="pairs", header="needed"),
    Column("to_judge", pl.Int64, "pairs to judge, without the pilot", unit="pairs", header="to judge"),
    Column("inclusion", pl.Float64, "the probability that a pair is in the sample", ".3f"),
)


PLAN_SAMPLE = Columns(
    "One row per pair to judge, in random order: a pool.",
    QUERY_ID,
    DOC_ID,
    Column("stratum", pl.String, "the name of the stratum"),
    Column("inclusion", pl.Float64, "the probability that the pair is in the sample"),
)


@dataclass(frozen=True)
class AdmissionPlan(Result):
    """A stratified sample of the pairs that a judge graded, for people to judge.

    Attributes:
        judge: name and hash of its grades.
        people: of the pilot; None without one.
        figure: the figure that the width is for.
        width: the half-width of its 95 % interval.
        reached: the half-width that the whole sample is expected to give; 0 where all pairs are
            judged.
        figures: the columns of `PLAN_FIGURES`.
        strata: the columns of `STRATA`.
        sample: the columns of `PLAN_SAMPLE`.
        cost: the price of the pairs to judge; None without a price.
        minutes: the time that people need; None where not known for one pair.
        seed: the seed of the draw.
        wider: the probability that the interval of the sample is wider than asked, because deviations
            are estimated from the pilot; None without one.
        reached_high: the half-width that it stays below in 95 % of cases; None without a pilot.
    """

    kind = "admission_plan"
    main_table = "strata"
    label = "Which human judgments are needed to admit the judge?"
    SCHEMAS: ClassVar = {"figures": PLAN_FIGURES, "strata": STRATA, "sample": PLAN_SAMPLE}
    headline_text = (
        "{judge.name}: ",
        Sentence("{sample:n pair} for people to judge; {figure_label} will then be", "sample"),
        Sentence("nothing more to judge; {figure_label} is", "is_complete"),
        " known to ±{reached:.4f} (±{width:g} asked)",
        Sentence(
            "; wider than asked in {wider:.0%} of cases, in 95% at most ±{reached_high:.4f}", "may_be_wider"
        ),
        Sentence("; cost {cost:,.2f}", "cost"),
        Sentence("; {hours:,.1f} hours", "hours"),
    )
    layout = (
        View(
            "strata",
            "the judge's grades",
            ("grade", "pool", "pilot", "deviation", "pairs", "to_judge", "inclusion"),
        ),
        View("figures", "figures, and pairs for ±{width:g}"),
        Sentence(
            "The interval is for the pairs that the judge graded, with each pair weighed by 1/inclusion. The"
            " interval of admit is for other queries and weighs all pairs equally, so it is wider where "
            "pairs of a query are similar."
        ),
    )

    judge: InputHash
    people: InputHash | None
    figure: AgreementFigure
    width: float
    reached: float
    figures: pl.DataFrame
    strata: pl.DataFrame
    sample: pl.DataFrame
    cost: float | None
    minutes: float | None
    seed: int
    wider: float | None = None
    reached_high: float | None = None

    @property
    def is_complete(self) -> bool:
        """True if there is nothing more to judge."""
        return self.sample.is_empty()

    @property
    def may_be_wider(self) -> bool:
        """True if there are pairs to judge, and a pilot that tells how wide the interval may be."""
        return not self.is_complete and None not in {self.wider, self.reached_high}

    @property
    def figure_label(self) -> str:
        """The name of the figure for people."""
        return FIGURE_LABELS[self.figure]

    @property
    def hours(self) -> float | None:
        """The time that people need."""
        return None if self.minutes is None else self.minutes / 60

    def csv_rows(self) -> PlainRows:
        """The sample."""
        return PlainRows(("query", "document", "stratum", "inclusion"), self.sample.rows())


PositiveNumber = Annotated[float, Range(0, exclusive=True)]

MIN_PILOT_PAIRS = 10
"""The fewest pilot pairs of a stratum; with fewer, the variance is the largest possible."""

_QUANTILE = 1.959963984540054
_DRAWS, _HIGH = 100, 0.95
_EQUAL_SHARES = np.linspace(0.0, 0.9, 10)  # shares of equal grades if there is no pilot


@dataclass(frozen=True)
class _Strata:
    """The judge's pairs by its grade, with people's grades in the pilot.

    Attributes:
        grades: (K,) the possible grades of people and judge.
        places: (H,) the index of each stratum's grade in ``grades``.
        sizes: (H,) the number of the judge's pairs.
        tallies: (K, H) people's grades in the pilot.
    """

    grades: Floats
    places: Counts
    sizes: Counts
    tallies: Floats

    @property
    def pilot(self) -> Counts:
        return np.asarray(self.tallies.sum(axis=0), np.int64)

    def table(self, columns: Floats) -> Floats:
        """(K, K) shares of pairs, from (K, H) shares of people's grades in each stratum."""
        table = np.zeros((len(self.grades), len(self.grades)))
        table[:, self.places] = columns * (self.sizes / self.sizes.sum())
        return table


def admit_plan(
    judge: JudgeGradesLike,
    people: QrelsLike | None = None,
    *,
    width: Annotated[float, Range(0, 1, exclusive=True)] = 0.05,
    figure: AgreementFigure = "equal",
    price: PositiveNumber | None = None,
    minutes: PositiveNumber | None = None,
    scale: str | None = None,
    seed: int = 0,
) -> AdmissionPlan:
    """Plan which pairs people judge so that a judge's agreement is known to a given width.

    The strata are the judge's grades, g. The plan draws n_g of the N_g pairs of a stratum, so that
    the 95 % interval of the figure over all pairs of the judge is at most ± width:
    1.96² Σ W_g² S_g² (1/n_g − 1/N_g) ≤ width², with W_g = N_g / N and n_g in proportion to W_g S_g
    (Neyman 1934). S_g is the standard deviation of a pair's contribution to the figure. The share
    is estimated from the pilot, plus one pair divided among all grades so that every grade counts.
    A stratum with fewer than 10 pairs of the pilot gets the largest possible value, half the range
    (Popoviciu 1935). The contributions to alpha are its derivatives; without a pilot, the largest
    S_g over judges with 0 to 90 % equal grades is taken.

    The pilot counts as a random sample of each stratum, so that only the missing pairs are judged.
    At least 10 pairs of each stratum are judged, or all, so that the final variance is estimated
    and not assumed.

    S_g is an estimate, in the pilot and in the sample. The probability that the sample's interval
    is wider than requested comes from 100 draws: people's grades in a stratum are Dirichlet by the
    pilot plus one pair, and the missing pairs are multinomial.

    Args:
        judge: its grades of all pairs, or `JudgeGrades`; if these name the requested
            pairs, pairs are drawn from that pool.
        people: grades of some of these pairs by people: a pilot, or an earlier sample.
        width: The half-width of the interval.
        figure: The figure with this interval: equal (share of equal grades), bias, or alpha
            (Krippendorff's, ordinal).
        price: The price of a pair that people judge.
        minutes: The minutes that a pair takes.
        scale: the grades that were possible, such as ``"graded"`` or ``"0..4"``.
        seed: the seed of the draw.

    Raises:
        InputError: data that cannot be read; no pair that both judged; a grade outside the scale.
        UsageError: the judge has no grades, or more than ten different grades; the figure is
            undefined because all grades are the same.

    >>> judge = {f"q{i}": {"a": i % 2, "b": 1} for i in range(1000)}
    >>> plan = admit_plan(judge, width=0.05)
    >>> plan.strata["to_judge"].to_list(), round(plan.reached, 4)
    ([81, 242], 0.0499)
    """
    grades = JudgeGrades.of(judge)
    judge_qrels = grades.qrels()
    people_qrels = None if people is None else read_qrels(people)
    graded_on = parse_scale(scale) if scale else (people_qrels or judge_qrels).scale
    pool = _pool(judge_qrels, graded_on, grades.pool())
    common_pairs = None if people_qrels is None else judged_pairs(people_qrels, judge_qrels, graded_on)[0]
    strata = _strata(pool, common_pairs, graded_on)
    deviations = {name: _deviations(strata, name) for name in FIGURES}
    if not np.isfinite(deviations[figure]).all():
        problem = f"{figure} is undefined, as all grades are the same; choose another figure."
        raise UsageError(problem, code="undefined-value")
    error = width / _QUANTILE
    fewest_counts = np.maximum(strata.pilot, np.minimum(strata.sizes, MIN_PILOT_PAIRS))
    counts = neyman_allocation(strata.sizes, deviations[figure], error, fewest_counts)
    widths = None if common_pairs is None else _possible_widths(strata, figure, counts, seed)
    table = _strata_table(strata, deviations[figure], counts)
    sample = _draw_pairs(pool, common_pairs, table, seed)
    return AdmissionPlan(
        judge=InputHash(judge_qrels.name, judge_qrels.sha256),
        people=None if people_qrels is None else InputHash(people_qrels.name, people_qrels.sha256),
        figure=figure,
        width=width,
        reached=_QUANTILE * stratified_error(strata.sizes, deviations[figure], counts),
        figures=_figures(strata, deviations, error, counts),
        strata=table,
        sample=sample,
        cost=None if price is None else price * len(sample),
        minutes=None if minutes is None else minutes * len(sample),
        seed=seed,
        wider=None if widths is None else float((widths > width).mean()),
        reached_high=None if widths is None else float(np.quantile(widths, _HIGH)),
    )


def _possible_widths(strata: _Strata, figure: AgreementFigure, counts: Counts, seed: int) -> Floats:
    """Simulate half-widths of the sample, with people's grades drawn from the pilot."""
    rng = np.random.default_rng([seed, _DRAWS])
    missing = np.maximum(counts - strata.pilot, 0)
    if not missing.any():
        error = stratified_error(strata.sizes, _deviations(strata, figure), counts)
        return np.array([_QUANTILE * error])
    widths = np.zeros(_DRAWS)
    for draw in range(_DRAWS):
        tallies = strata.tallies.copy()
        for stratum, pairs in enumerate(missing):
            grade_shares = rng.dirichlet(strata.tallies[:, stratum] + 1 / len(strata.grades))
            tallies[:, stratum] += rng.multinomial(pairs, grade_shares)
        simulated_strata = _Strata(strata.grades, strata.places, strata.sizes, tallies)
        error = stratified_error(strata.sizes, _deviations(simulated_strata, figure), counts)
        widths[draw] = _QUANTILE * error
    return widths


def _pool(judge: Qrels, scale: Scale | None, asked_pairs: pl.DataFrame | None) -> pl.DataFrame:
    """The requested pairs to which the judge gave a grade of the scale.

    Raises:
        UsageError: there are no such pairs, or more than ten different grades.
    """
    is_on_scale = on_scale(pl.col("grade"), scale) if scale else pl.col("grade") >= 0
    pool = judge.table.filter((pl.col("grade") >= 0) & is_on_scale)
    if asked_pairs is not None:
        pool = pool.join(asked_pairs.select(PAIR), on=PAIR, how="semi")
    if pool.is_empty():
        raise UsageError(f"{judge.name} has no grades to check.", code="nothing-judged")
    kinds = pool["grade"].n_unique()
    if kinds > MOST_GRADES:
        problem = (
            f"{judge.name} has {kinds} different grades, and each is a stratum; round them to {MOST_GRADES} "
            f"or fewer."
        )
        raise UsageError(problem, code="out-of-range")
    return pool.select(*PAIR, pl.col("grade").alias(JUDGE)).sort(PAIR)


def _strata(pool: pl.DataFrame, common_pairs: pl.DataFrame | None, scale: Scale | None) -> _Strata:
    judge_grades = pool[JUDGE].unique().sort().to_numpy()
    pilot = np.empty((0, 2)) if common_pairs is None else common_pairs.select(PEOPLE, JUDGE).to_numpy()
    possible = possible_grades(scale) if scale else ()
    grades = np.unique(np.concatenate([judge_grades, pilot[:, 0], np.array(possible, np.float64)]))
    tallies = np.zeros((len(grades), len(judge_grades)))
    np.add.at(tallies, (np.searchsorted(grades, pilot[:, 0]), np.searchsorted(judge_grades, pilot[:, 1])), 1)
    sizes = pool.group_by(JUDGE).len().sort(JUDGE)["len"].to_numpy().astype(np.int64)
    return _Strata(grades, np.searchsorted(grades, judge_grades), sizes, tallies)


def _deviations(strata: _Strata, figure: AgreementFigure) -> Floats:
    """(H,) the standard deviation of a pair's part in a figure, by stratum; see `admit_plan`."""
    size, pilot = len(strata.grades), strata.pilot
    smoothed = (strata.tallies + 1 / size) / (pilot + 1)
    equal = np.zeros_like(smoothed)
    equal[strata.places, np.arange(len(strata.places))] = 1.0
    few = pilot < np.minimum(strata.sizes, MIN_PILOT_PAIRS)
    agreed = float((strata.tallies * equal).sum() / max(pilot.sum(), 1))
    deviations = np.zeros(len(strata.places))
    for guess in _EQUAL_SHARES if few.all() else [agreed]:
        assumed = guess * equal + (1 - guess) / size
        columns = np.where(few, assumed, smoothed)
        influences = influence(figure, strata.table(columns), strata.grades)[:, strata.places]
        mean = (columns * influences).sum(axis=0)
        by_pilot = np.sqrt((columns * (influences - mean) ** 2).sum(axis=0))
        deviations = np.maximum(deviations, np.where(few, np.ptp(influences, axis=0) / 2, by_pilot))
    return deviations


def _strata_table(strata: _Strata, deviations: Floats, counts: Counts) -> pl.DataFrame:
    grades = strata.grades[strata.places]
    return pl.DataFrame(
        {
            "stratum": [f"judge {grade:g}" for grade in grades],
            "grade": grades,
            "pool": strata.sizes,
            "pilot": strata.pilot,
            "deviation": deviations,
            "assumed": strata.pilot < np.minimum(strata.sizes, MIN_PILOT_PAIRS),
            "pairs": counts,
            "to_judge": counts - strata.pilot,
            "inclusion": counts / strata.sizes,
        },
        schema=AdmissionPlan.SCHEMAS["strata"],
    )


def _figures(
    strata: _Strata, deviations: Mapping[AgreementFigure, Floats], error: float, planned: Counts
) -> pl.DataFrame:
    enough = bool((strata.pilot >= np.minimum(strata.sizes, MIN_PILOT_PAIRS)).all())
    table = strata.table(strata.tallies / np.maximum(strata.pilot, 1))
    rows = [
        (
            figure,
            finite_or_none(FIGURES[figure](table, strata.grades)) if enough else None,
            _reached_half_width(strata, deviations[figure], strata.pilot) if enough else None,
            _count_needed_pairs(strata, deviations[figure], error),
            _reached_half_width(strata, deviations[figure], planned),
        )
        for figure in FIGURES
    ]
    return pl.DataFrame(rows, schema=AdmissionPlan.SCHEMAS["figures"], orient="row")


def _count_needed_pairs(strata: _Strata, deviations: Floats, error: float) -> int | None:
    if not np.isfinite(deviations).all():
        return None
    return int(neyman_allocation(strata.sizes, deviations, error).sum())


def _reached_half_width(strata: _Strata, deviations: Floats, counts: Counts) -> float | None:
    return finite_or_none(_QUANTILE * stratified_error(strata.sizes, deviations, counts))


def _draw_pairs(
    pool: pl.DataFrame, common_pairs: pl.DataFrame | None, strata: pl.DataFrame, seed: int
) -> pl.DataFrame:
    """Draw the missing number of pairs of each stratum, in random order."""
    unjudged_pairs = (
        pool if common_pairs is None else pool.join(common_pairs, on=PAIR, how="anti", maintain_order="left")
    )
    order = np.random.default_rng(seed).permutation(len(unjudged_pairs))
    strata_columns = strata.select(pl.col("grade").alias(JUDGE), "stratum", "inclusion", "to_judge")
    stratified_pairs = unjudged_pairs[order].join(strata_columns, on=JUDGE, how="left", maintain_order="left")
    number = pl.int_range(pl.len()).over(JUDGE)
    return stratified_pairs.filter(number < pl.col("to_judge")).select(*PAIR, "stratum", "inclusion")
