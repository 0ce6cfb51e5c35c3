"""The result of ``agree``: inter-annotator agreement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import decoded, encoded, frame
from rankgate.core.present.result import Notice, Result
from rankgate.judging.agreement.alarm import Alarm
from rankgate.judging.agreement.figures import Agreements
from rankgate.judging.agreement.rater_resampling import RaterResampling
from rankgate.measurement.stats.agreement.intervals import Agreement

_F, _I, _S = pl.Float64, pl.Int64, pl.String
_TABLES: Mapping[str, Mapping[str, type[pl.DataType]]] = {
    "grades": {"grade": _F, "ratings": _I, "share": _F, "agreement": _F},
    "raters": {
        "rater": _S, "ratings": _I, "cannot_tell": _I, "mean": _F, "overlap": _I, "bias": _F,
        "agreement": _F, "top_share": _F, "median_seconds": _F, "lowest": _F, "highest": _F,
        "bias_low": _F, "bias_high": _F, "kappa_linear": _F, "kappa_low": _F, "kappa_high": _F,
    },
    "pairs": {
        "first": _S, "second": _S, "overlap": _I, "agreement": _F, "kappa": _F,
        "kappa_linear": _F, "bias": _F, "kappa_low": _F, "kappa_high": _F, "mae": _F,
        "pearson": _F, "spearman": _F, "spearman_low": _F, "spearman_high": _F, "kendall": _F,
        "kendall_low": _F, "kendall_high": _F,
    },
    "confusion": {"rater": _S, "consensus": _F, "grade": _F, "count": _I},
    "queries": {"query_id": _S, "overlap": _I, "agreement": _F, "spread": _F, "mae": _F},
    "periods": {"period": _S, "overlap": _I, "agreement": _F, "mean": _F},
}  # fmt: skip


@dataclass(frozen=True)
class RaterAgreement(Result):
    """How far raters agree, and what looks wrong.

    Attributes:
        found: every figure.
        alarms: what looks wrong, the gravest first.
        resamples: replicates of each interval.
        seed: of the replicates.
        effect: what raters do to a comparison; None where no runs were given.
    """

    kind: ClassVar[str] = "agreement"
    label: ClassVar[str] = "Agreement of raters"
    document_from: ClassVar[str] = "rankgate.judging.agreement.document:document"
    report_from: ClassVar[str] = "rankgate.judging.agreement.report:document"
    charts: ClassVar[Mapping[str, str]] = {
        "agreement": "rankgate.judging.agreement.chart:draw",
        "coefficients": "rankgate.judging.agreement.chart:coefficients",
    }

    found: Agreements
    alarms: tuple[Alarm, ...]
    resamples: int
    seed: int
    effect: RaterResampling | None = None

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The cautions of runs, and the alarms, for programs."""
        alarms = tuple(Notice(each.kind, each.what, each.who) for each in self.alarms)
        return (*(self.effect.notices if self.effect else ()), *alarms)

    def _table(self) -> pl.DataFrame:
        return self.found.raters

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = self.found
        return {
            **self.head(),
            "ratings": found.name,
            "counts": dict(found.counts),
            "alarms": [encoded(each) for each in self.alarms],
            "coefficients": {
                name: encoded(
                    {"value": one.value, "low": one.low, "high": one.high, "level": one.level}
                )
                for name, one in found.coefficients.items()
            },
            "resamples": self.resamples,
            "seed": self.seed,
            **{name: encoded(getattr(found, name)) for name in _TABLES},
            "effect": encoded(self.effect),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on."""
        coefficients = {
            name: Agreement.from_dict(each) for name, each in values["coefficients"].items()
        }
        tables = {name: frame(values[name], schema) for name, schema in _TABLES.items()}
        effect = values["effect"]
        return cls(
            Agreements(values["ratings"], values["counts"], coefficients=coefficients, **tables),
            tuple(Alarm(**each) for each in values["alarms"]),
            values["resamples"],
            values["seed"],
            RaterResampling(**decoded(RaterResampling, effect)) if effect else None,
        )
