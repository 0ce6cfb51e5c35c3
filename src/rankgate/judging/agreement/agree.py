"""Agreement of raters: the result, and the verb that computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.codec import decode, encode, frame
from rankgate.data.column_map import map_columns
from rankgate.data.qrels import parse_scale
from rankgate.data.read import read_ratings
from rankgate.judging.agreement.agreement_alarms import Alarm, alarms
from rankgate.judging.agreement.agreement_coefficients import Agreements, agreements
from rankgate.judging.agreement.rated_pairs import rated_pairs
from rankgate.judging.agreement.rater_resampling import RaterResampling
from rankgate.measurement.stats.rater_agreement import Agreement

if TYPE_CHECKING:
    from rankgate.core.value_types import Schema
    from rankgate.data.input_types import ColumnsLike, RatingsLike


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


@dataclass(frozen=True)
class RaterAgreement(Result):
    """The agreement of raters, and alarms.

    Attributes:
        found: every figure.
        alarms: the problems, the most severe first.
        effect: the effect of raters on a comparison; None without runs.
    """

    kind: ClassVar[str] = "agreement"
    label: ClassVar[str] = "Agreement of raters"
    document_from: ClassVar[str] = "rankgate.judging.agreement.agreement_document:agreement_document"
    report_from: ClassVar[str] = "rankgate.judging.agreement.agreement_document:agreement_report_document"
    charts: ClassVar[Mapping[str, str]] = {
        "agreement": "rankgate.judging.agreement.agreement_chart:draw_agreement",
        "coefficients": "rankgate.judging.agreement.agreement_chart:coefficients",
    }

    found: Agreements
    alarms: tuple[Alarm, ...]
    effect: RaterResampling | None = None

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The cautions of runs, and the alarms, for programs."""
        alarms = tuple(Notice(alarm.kind, alarm.what, alarm.who) for alarm in self.alarms)
        return (*(self.effect.notices if self.effect else ()), *alarms)

    def _table(self) -> pl.DataFrame:
        return self.found.raters

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        figures = self.found
        return {
            **self.head(),
            "ratings": figures.name,
            "counts": dict(figures.counts),
            "alarms": [encode(alarm) for alarm in self.alarms],
            "coefficients": {
                name: encode(
                    {
                        "value": coefficient.value,
                        "low": coefficient.low,
                        "high": coefficient.high,
                        "level": coefficient.level,
                    }
                )
                for name, coefficient in figures.coefficients.items()
            },
            **{name: encode(getattr(figures, name)) for name in _TABLES},
            "effect": encode(self.effect),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on."""
        coefficients = {name: Agreement.from_dict(fields) for name, fields in values["coefficients"].items()}
        tables = {name: frame(values[name], schema) for name, schema in _TABLES.items()}
        effect = values["effect"]
        return cls(
            Agreements(values["ratings"], values["counts"], coefficients=coefficients, **tables),
            tuple(Alarm(**fields) for fields in values["alarms"]),
            RaterResampling(**decode(RaterResampling, effect)) if effect else None,
        )


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
