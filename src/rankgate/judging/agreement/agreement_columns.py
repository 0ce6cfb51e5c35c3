"""The columns of the tables of agreement."""

from __future__ import annotations

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID
from rankgate.core.present.document_model import SOFT

_RATER = Column("rater", pl.String, "the name of the rater")
_AGREEMENT = Column("agreement", pl.Float64, "the share of equal grades", ".2f", header=f"agree{SOFT}\nment")
_PAIR_OVERLAP = Column("overlap", pl.Int64, "pairs with two grades or more", unit="pairs", header="pairs")

GRADES = Columns(
    "One row per grade.",
    Column("grade", pl.Float64, "the grade", "grade"),
    Column("ratings", pl.Int64, "ratings with the grade", header="grades\ngiven"),
    Column("share", pl.Float64, "their share of all ratings (prevalence)", ".3f"),
    Column(
        "agreement",
        pl.Float64,
        "the share of pairs of ratings with this grade on both sides, among those with it on at least one "
        "side: specific agreement (Fleiss 1981)",
        ".3f",
        header="both raters,\nif one",
    ),
)

KAPPAS = Columns(
    "One row per rater: the agreement with all others.",
    _RATER,
    Column("kappa_linear", pl.Float64, "kappa with linear weights against all others"),
    Column(
        "kappa_low",
        pl.Float64,
        "the low end of the interval of kappa_linear",
        "+.2f",
        header="kappa with\nothers, 95%",
    ),
    Column("kappa_high", pl.Float64, "the high end of the interval of kappa_linear", "+.2f"),
)

BIASES = Columns(
    "One row per rater: the interval of the bias.",
    _RATER,
    Column("bias_low", pl.Float64, "the low end of the interval of bias"),
    Column("bias_high", pl.Float64, "the high end of the interval of bias"),
)

RATERS = Columns(
    "One row per rater; intervals leave out one query at a time.",
    _RATER,
    Column("ratings", pl.Int64, "ratings with a grade", header="grades"),
    Column("cannot_tell", pl.Int64, "ratings without a grade", unit="ratings", header="can't\ntell"),
    Column("mean", pl.Float64, "the mean grade", "z.2f"),
    Column(
        "overlap",
        pl.Int64,
        "ratings of pairs that others graded too",
        unit="ratings",
        header="also graded\nby others",
    ),
    Column("bias", pl.Float64, "the mean of the grade minus the mean of the others' grades", "+z.2f"),
    Column(
        "agreement",
        pl.Float64,
        "the share of the other ratings of the same pair that are equal",
        ".2f",
        header=f"agree{SOFT}\nment",
    ),
    Column(
        "top_share", pl.Float64, "the share of the rater's most frequent grade", ".2f", header="top\ngrade"
    ),
    Column("median_seconds", pl.Float64, "the median time of a rating", ".1f", "s", "seconds"),
    Column("lowest", pl.Float64, "the lowest grade"),
    Column("highest", pl.Float64, "the highest grade"),
    BIASES.drop("rater"),
    KAPPAS.drop("rater"),
)

PAIRS = Columns(
    "One row per pair of raters; intervals leave out one query at a time.",
    Column("first", pl.String, "the first rater"),
    Column("second", pl.String, "the second rater"),
    Column("overlap", pl.Int64, "pairs of query and document that both graded", unit="pairs", header="pairs"),
    _AGREEMENT,
    Column("kappa", pl.Float64, "Cohen's kappa", "z.3f", header="Cohen's\nkappa"),
    Column("kappa_linear", pl.Float64, "Cohen's kappa with linear weights", "z.3f", header="linear"),
    Column("bias", pl.Float64, "the first rater's mean grade minus the second rater's mean grade", "+z.2f"),
    Column("kappa_low", pl.Float64, "the low end of the interval of kappa"),
    Column("kappa_high", pl.Float64, "the high end of the interval of kappa"),
    Column(
        "mae", pl.Float64, "the mean absolute difference of the grades", ".2f", header="mean abs.\ndifference"
    ),
    Column("pearson", pl.Float64, "Pearson's correlation", "z.2f", header="Pearson's\nr"),
    Column("spearman", pl.Float64, "Spearman's correlation", "z.2f", header="Spearman's rho"),
    Column("spearman_low", pl.Float64, "the low end of the interval of spearman", "+z.2f"),
    Column("spearman_high", pl.Float64, "the high end of the interval of spearman", "+z.2f"),
    Column("kendall", pl.Float64, "Kendall's tau b", "z.2f", header="Kendall's tau"),
    Column("kendall_low", pl.Float64, "the low end of the interval of kendall", "+z.2f"),
    Column("kendall_high", pl.Float64, "the high end of the interval of kendall", "+z.2f"),
)

CONFUSION = Columns(
    "One row per rater and pair of grades; pairs with a tie among the other raters are left out.",
    _RATER,
    Column("consensus", pl.Float64, "the grade that most others gave"),
    Column("grade", pl.Float64, "the grade that the rater gave"),
    Column("count", pl.Int64, "how often both occur together", unit="pairs"),
)

QUERIES = Columns(
    "One row per query with a pair of two grades, least agreement first.",
    QUERY_ID,
    _PAIR_OVERLAP,
    _AGREEMENT,
    Column("spread", pl.Float64, "the mean standard deviation of the grades of a pair", ".2f"),
    Column(
        "mae",
        pl.Float64,
        "the mean absolute difference of two ratings of a pair",
        ".2f",
        header="mean abs.\ndifference",
    ),
)

PERIODS = Columns(
    "One row per month; no rows where times are not known.",
    Column("period", pl.String, "the month", header="month"),
    _PAIR_OVERLAP,
    _AGREEMENT,
    Column("mean", pl.Float64, "the mean grade", "z.2f"),
)
