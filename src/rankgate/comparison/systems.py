"""Statistics for three systems or more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.present.codec import fields_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Many:
    """What can only be said of several systems.

    Attributes:
        systems: their names, the baseline first.
        means: ``metric``, ``system``, ``mean``, ``n``, best first; over the queries on which all
            have a value.
        anova: ``metric``, ``f``, ``p_value``, ``ms_system``, ``ms_query``, ``ms_residual``.
        pairs: ``metric``, ``first``, ``second``, ``delta`` (first − second), ``gain``
            (above 0 where the first is better), ``low``, ``high``,
            ``p_tukey``, ``p_randomised``: corrected for all pairs of the metric.
        orderings: ``first``, ``second`` (metrics), ``tau``, ``tau_ap``, ``rbo`` (p = .9): how
            alike they order the systems.
        reliability: ``metric``, the components of variance, Eρ² and Φ with intervals, queries
            needed for .95 of each, and the tau and tau-AP to expect of another set of queries.
        level: of the intervals.
        resamples: of the randomised Tukey test.
        seed: of the drawing.
    """

    systems: tuple[str, ...]
    means: pl.DataFrame
    anova: pl.DataFrame
    pairs: pl.DataFrame
    orderings: pl.DataFrame
    reliability: pl.DataFrame
    level: float
    resamples: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return fields_of(self)


TABLES = ("means", "anova", "pairs", "orderings", "reliability")
