"""Agreement of raters: the result, and the verb that computes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_style import SIGNED
from rankgate.core.present.charts.chart_views import Axis, ChartView, HeatMap, Mark, Panel, interval
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_map import map_columns
from rankgate.data.qrels import parse_scale
from rankgate.data.read import read_ratings
from rankgate.judging.agreement.agreement_alarms import Alarm, alarms
from rankgate.judging.agreement.agreement_coefficients import (
    COEFFICIENT_VALUES,
    Agreements,
    agreements,
    coefficient_table,
)
from rankgate.judging.agreement.rated_pairs import rated_pairs
from rankgate.judging.agreement.rater_resampling import COMPONENT_SHARES, EFFECTS, RaterResampling

if TYPE_CHECKING:
    from rankgate.core.value_types import Schema
    from rankgate.data.input_types import ColumnsLike, RatingsLike


_MAX_ROWS = 15
_MAIN_COEFFICIENT = "alpha, ordinal"
_F, _I, _S = pl.Float64, pl.Int64, pl.String
_TABLES: Mapping[str, Schema] = {
    "grades": {"grade": _F, "ratings": _I, "share": _F, "agreement": _F},
    "raters": {
        "rater": _S,
        "ratings": _I,
        "cannot_tell": _I,
        "mean": _F,
        "overlap": _I,
        "bias": _F,
        "agreement": _F,
        "top_share": _F,
        "median_seconds": _F,
        "lowest": _F,
        "highest": _F,
        "bias_low": _F,
        "bias_high": _F,
        "kappa_linear": _F,
        "kappa_low": _F,
        "kappa_high": _F,
    },
    "pairs": {
        "first": _S,
        "second": _S,
        "overlap": _I,
        "agreement": _F,
        "kappa": _F,
        "kappa_linear": _F,
        "bias": _F,
        "kappa_low": _F,
        "kappa_high": _F,
        "mae": _F,
        "pearson": _F,
        "spearman": _F,
        "spearman_low": _F,
        "spearman_high": _F,
        "kendall": _F,
        "kendall_low": _F,
        "kendall_high": _F,
    },
    "confusion": {"rater": _S, "consensus": _F, "grade": _F, "count": _I},
    "queries": {"query_id": _S, "overlap": _I, "agreement": _F, "spread": _F, "mae": _F},
    "periods": {"period": _S, "overlap": _I, "agreement": _F, "mean": _F},
}


def _rater_pairs(result: RaterAgreement) -> pl.DataFrame:
    """Cohen's kappa in both halves of the matrix of raters."""
    pairs = result.found.pairs.select("first", "second", "kappa", "overlap")
    if pairs.is_empty():
        raise UsageError(
            "the raters have no pair in common, so there is no agreement to draw.", code="no-common-pairs"
        )
    both = pl.concat([pairs, pairs.rename({"first": "second", "second": "first"}).select(pairs.columns)])
    raters = both.select(pl.col("first").unique().sort())
    matrix = raters.join(raters.rename({"first": "second"}), how="cross")
    cells = matrix.join(both, on=("first", "second"), how="left", maintain_order="left")
    return cells.rename({"first": "row", "second": "column", "kappa": "value"})


def _lowest(row: Mapping[str, float | None]) -> float:
    low, value = row["low"], row["value"]
    assert value is not None
    return low or value


@dataclass(frozen=True)
class RaterAgreement(Result):
    """The agreement of raters, and alarms.

    Attributes:
        found: every figure.
        alarms: the problems, the most severe first.
        effect: the effect of raters on a comparison; None without runs.
    """

    kind = "agreement"
    KEYS: ClassVar[Mapping[str, str]] = {"found": ""}
    csv_table = "coefficient_table"
    main_table = "found.raters"
    label = "Agreement of raters"
    charts: ClassVar = {
        "agreement": ChartView(
            "Agreement of {drawn[row]:n rater} in {found.name:short}",
            "Cohen's kappa of each pair of raters on the documents that both graded: 1 is perfect agreement, "
            "0 is agreement by chance; empty: nothing in common.",
            "{found.counts[overlap]:n pair} graded twice or more",
            (HeatMap(_rater_pairs, domain=(-1, 1), shades=SIGNED, longest=18),),
            fluid=False,
        ),
        "coefficients": ChartView(
            "Coefficients of agreement in {found.name:short}",
            (
                Sentence("Each with its {interval_level:.0%} interval.", "interval_level"),
                Sentence("Too few queries for intervals.", "lacks_intervals"),
                Sentence(
                    "1 is perfect agreement; 0 is agreement by chance, except for the raw agreement, which "
                    "has no correction for chance."
                ),
            ),
            "{found.counts[queries]:n query}",
            (
                Panel(
                    "coefficient_table",
                    lambda _result, rows: Axis(
                        "value", "coefficient", domain=(min(0.0, *map(_lowest, rows)), 1)
                    ),
                    Axis("name", scale="names"),
                    (
                        *interval("value"),
                        Mark("words", ("{value:z.3f}  [{low:z.3f}, {high:z.3f}]", "{value:z.3f}")),
                    ),
                    (
                        pl.col("coefficient").alias("name"),
                        "value",
                        *(pl.when(pl.col(end).is_finite()).then(end).alias(end) for end in ("low", "high")),
                    ),
                    row_filter=pl.col("value").is_finite(),
                    width=360,
                    height=22,
                ),
            ),
            empty="no coefficient has a value.",
        ),
    }
    headline_text = (
        "agreement in {found.name}: {found.counts[ratings]:n grade} by {found.counts[raters]:n rater} of ",
        "{found.counts[pairs]:n pair}; {found.counts[overlap]:n pair has/pairs have} two grades or more, ",
        "{found.counts[ties]:,} of them without a majority",
        Sentence("; {found.counts[cannot_tell]:,} could not be graded", "found.counts[cannot_tell]"),
        Sentence("; {found.counts[corrected]:,} were corrected", "found.counts[corrected]"),
        Sentence("; {found.counts[outside]:,} are outside the scale", "found.counts[outside]"),
    )
    lead = ("{summary}",)
    layout = (
        NOTICES,
        ShownChart("coefficients"),
        ShownChart("agreement", "found.pairs"),
        View(
            "coefficient_table",
            "over the {found.counts[overlap]:n pair} with two grades or more",
            ("coefficient", "value", ("low", "high")),
            COEFFICIENT_VALUES,
        ),
        View(
            "found.raters",
            "raters",
            (
                *("rater", "ratings", "cannot_tell", "mean", "overlap", "bias", "agreement"),
                ("kappa_low", "kappa_high"),
                *("top_share", "median_seconds"),
            ),
            first=_MAX_ROWS,
            optional=("median_seconds",),
        ),
        View("found.grades", "grades"),
        View(
            "found.pairs",
            "pairs of raters",
            ("first", "second", "overlap", "agreement", "kappa", "kappa_linear", "bias"),
            keys=2,
            first=_MAX_ROWS,
        ),
        View(
            "found.pairs",
            "differences and correlations of raters",
            (
                *("first", "second", "mae", "pearson"),
                ("spearman", " ", ("spearman_low", "spearman_high")),
                ("kendall", " ", ("kendall_low", "kendall_high")),
            ),
            keys=2,
            first=_MAX_ROWS,
        ),
        View("found.queries", "queries, least agreement first", first=_MAX_ROWS),
        View("found.periods", "by month"),
        View(
            "effect.effects",
            "{effect.candidate} against {effect.baseline} by other raters, drawn {effect.draws:n time} "
            "(seed {effect.seed:d}, {effect.rule})",
            ("metric", "delta", ("low", "high"), "reversed"),
            EFFECTS,
        ),
        CrossView(
            "effect.component_shares",
            "values by each judge's own grades (system × query × judge, crossed random effects; shares of "
            "the variance of one value)",
            ("metric", "queries", "judges", "delta", ("low", "high"), "p_value"),
            column_key="effect",
            value="share",
            columns=COMPONENT_SHARES,
        ),
        Sentence(
            "Kappas and alpha compare with the agreement that chance would give with these shares of grades:"
            " where one grade prevails they fall though raters agree (the kappa paradox); Gwet's "
            "coefficients and the raw agreement do not. Numbers of different coefficients, or of different "
            "sets of pairs, cannot be compared. Intervals are over queries, because grades of one query "
            "resemble each other. They are not over raters and do not apply to other raters."
        ),
    )
    notice_texts = (
        "effect.notices",
        NoticeText("{row.kind}", "{row.what}", source="alarms", subject="{row.who}"),
    )

    found: Agreements
    alarms: tuple[Alarm, ...]
    effect: RaterResampling | None = None

    @property
    def summary(self) -> str:
        """Krippendorff's alpha and the number of alarms, as a sentence."""
        coefficient = self.found.coefficients[_MAIN_COEFFICIENT]
        count = len(self.alarms)
        alarms = count_noun(count, "warning") if count else "no warnings"
        if not math.isfinite(coefficient.value):
            return f"Krippendorff's alpha (ordinal) has no value; {alarms}."
        interval = (
            f" (95% interval [{coefficient.low:z.3f}, {coefficient.high:z.3f}])"
            if math.isfinite(coefficient.low)
            else " (too few queries for an interval)"
        )
        return f"Krippendorff's alpha (ordinal) is {coefficient.value:z.3f}{interval}; {alarms}."

    @property
    def interval_level(self) -> float | None:
        """The level of the coefficients' intervals; None without one."""
        coefficients = self.found.coefficients.values()
        return next((figure.level for figure in coefficients if math.isfinite(figure.low)), None)

    @property
    def lacks_intervals(self) -> bool:
        """True if no coefficient has an interval."""
        return self.interval_level is None

    @property
    def coefficient_table(self) -> pl.DataFrame:
        """The coefficients: the columns of `COEFFICIENT_VALUES`."""
        return coefficient_table(self.found.coefficients)


def agree(
    ratings: RatingsLike,
    *,
    scale: str | None = None,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
) -> RaterAgreement:
    """Measure the agreement of raters, and report alarms.

    Intervals leave out one query at a time; with fewer than 15 queries there are no intervals.

    Args:
        ratings: a path (``-`` is standard input), a frame, or ratings.
        scale: the rating scale: a name, a range or a list. Grades outside of it are left out of all
            figures, counted and reported.
        from_: the name of the file's format.
        columns: the columns of a CSV or TSV file or a frame that have no usual name, as in
            query=search_term,doc=sku,rater=who,grade=stars; grades of several raters side by side
            are grade=ann+bob or grade=rater_*.

    Raises:
        InputError: ratings that cannot be read, with file and line; none has a grade.
        UsageError: no such scale or format.
    """
    all_ratings = read_ratings(map_columns(ratings, columns, "ratings"), from_=from_)
    grades = parse_scale(scale) if scale else None
    pairs = rated_pairs(all_ratings, grades)
    figures = agreements(pairs)
    return RaterAgreement(figures, alarms(figures, pairs))
