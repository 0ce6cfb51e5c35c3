"""Coefficients of agreement: overall, by rater, query, grade and month."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.result_frames import make_frame
from rankgate.judging.agreement import agreement_tables
from rankgate.judging.agreement.agreement_columns import CONFUSION, GRADES, PAIRS, PERIODS, QUERIES, RATERS
from rankgate.judging.agreement.rated_pairs import rater_checks
from rankgate.judging.counting_ratings import PAIR
from rankgate.measurement.stats.rater_agreement import (
    Agreement,
    agreement,
    alpha,
    brennan_prediger,
    conger,
    fleiss,
    gwet,
    intervals,
)

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.judging.agreement.rated_pairs import RatedPairs


_LEVEL = 0.95

COEFFICIENTS: tuple[tuple[str, str, Callable[..., Floats], str], ...] = (
    ("raw agreement", "share of pairs of ratings that are equal", agreement, "identity"),
    ("alpha, ordinal", "Krippendorff; the usual choice for grades", alpha, "ordinal"),
    ("alpha, nominal", "Krippendorff; all disagreements count the same", alpha, "nominal"),
    ("alpha, interval", "Krippendorff; squared differences", alpha, "interval"),
    ("alpha, ratio", "Krippendorff; differences relative to size", alpha, "ratio"),
    ("Fleiss' kappa", "chance from all raters' grades", fleiss, "identity"),
    ("Conger's kappa", "chance from each rater's own grades", conger, "identity"),
    ("Conger's kappa, linear", "weighted; of two raters: Cohen's", conger, "linear"),
    ("Conger's kappa, quadratic", "as above", conger, "quadratic"),
    ("Conger's kappa, linear by places", "as scikit-learn and irr", conger, "linear by places"),
    ("Conger's kappa, quadratic by places", "as above", conger, "quadratic by places"),
    ("Gwet's AC1", "stays high where one grade prevails", gwet, "identity"),
    ("Gwet's AC2, linear", "AC1 with partial agreement", gwet, "linear"),
    ("Gwet's AC2, quadratic", "as above", gwet, "quadratic"),
    ("Brennan-Prediger", "chance as if all grades were equally likely", brennan_prediger, "identity"),
)
"""The name, description, function of the tallies, and weights or level of measurement of each."""


COEFFICIENT_VALUES = Columns(
    "One row per coefficient.",
    Column("coefficient", pl.String, "the name of the coefficient"),
    Column("value", pl.Float64, "its value", "z.3f"),
    Column("low", pl.Float64, "the low end of its 95 % interval", "z.3f", header="95% interval"),
    Column("high", pl.Float64, "the high end of its 95 % interval", "z.3f"),
)


def coefficient_table(coefficients: Mapping[str, Agreement]) -> pl.DataFrame:
    """Coefficients by name as a frame with the columns of `COEFFICIENT_VALUES`."""
    rows = [(name, figure.value, figure.low, figure.high) for name, figure in coefficients.items()]
    return make_frame(rows, COEFFICIENT_VALUES)


@dataclass(frozen=True)
class Agreements:
    """The agreement of raters, computed from each rater's last ratings.

    Attributes:
        name: the name of the ratings.
        counts: ratings, raters, pairs, overlap (pairs with two grades or more), cannot_tell,
            corrected, ties (pairs of the overlap without a majority), queries (with such a pair),
            outside (ratings that the scale does not have, in none of the figures).
        grades: the columns of `GRADES`.
        coefficients: by name, over the pairs that two raters or more graded; kappas and Gwet's
            take the probability of agreement from all grades, as their authors do. Intervals leave out
            one query at a time, because grades of one query are not independent; with fewer than 15
            queries there is no interval.
        raters: the columns of `RATERS`.
        pairs: the columns of `PAIRS`.
        confusion: the columns of `CONFUSION`.
        queries: the columns of `QUERIES`.
        periods: the columns of `PERIODS`.
    """

    KEYS: ClassVar[Mapping[str, str]] = {"name": "ratings"}
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "grades": GRADES,
        "raters": RATERS,
        "pairs": PAIRS,
        "confusion": CONFUSION,
        "queries": QUERIES,
        "periods": PERIODS,
    }

    name: str
    counts: Mapping[str, int]
    grades: pl.DataFrame
    coefficients: Mapping[str, Agreement]
    raters: pl.DataFrame
    pairs: pl.DataFrame
    confusion: pl.DataFrame
    queries: pl.DataFrame
    periods: pl.DataFrame


def agreements(pairs: RatedPairs) -> Agreements:
    """Compute all fields of ``Agreements``.

    Args:
        pairs: the ratings, from ``rated_pairs``.
    """
    shared_ratings, sheet = agreement_tables.with_others_grades(pairs.given), pairs.sheet
    raters_per_pair = sheet.counts.sum(axis=1)
    sorted_counts = np.sort(sheet.counts[raters_per_pair > 1], axis=1)
    tie_count = int((sorted_counts[:, -1] == sorted_counts[:, -2]).sum()) if sheet.grades.size > 1 else 0
    counts = {
        "ratings": len(pairs.given),
        "raters": len(pairs.raters),
        "pairs": pairs.last.select(PAIR).n_unique(),
        "overlap": len(sorted_counts),
        "cannot_tell": len(pairs.last) - len(pairs.given),
        "corrected": pairs.corrected,
        "ties": tie_count,
        "queries": int((pairs.tallies.paired > 0).sum()),
        "outside": int(pairs.outside["ratings"].sum()),
    }
    is_equidistant = bool(np.allclose(np.diff(sheet.grades, 2), 0))  # "by places" is then equal
    coefficients = {
        name: (lambda tallies, coefficient=coefficient, kind=kind: coefficient(tallies, kind))
        for name, _, coefficient, kind in COEFFICIENTS
        if not (is_equidistant and kind.endswith("by places"))
    }
    return Agreements(
        pairs.name,
        counts,
        agreement_tables.grade_table(sheet),
        intervals(coefficients, pairs.tallies),
        agreement_tables.rater_table(pairs.last, shared_ratings, rater_checks(pairs, _LEVEL)),
        agreement_tables.pair_table(pairs),
        agreement_tables.consensus_table(pairs),
        agreement_tables.query_table(shared_ratings),
        agreement_tables.period_table(shared_ratings),
    )
