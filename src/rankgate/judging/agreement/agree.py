"""How far raters agree, what looks wrong, and what their agreement means for a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.data.read_ratings import read_ratings
from rankgate.judging.agreement.alarms import alarms
from rankgate.judging.agreement.figures import Agreements, agreements
from rankgate.judging.agreement.rated_pairs import rated_pairs
from rankgate.judging.scales import scale_of

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.agreement.alarm import Alarm
    from rankgate.judging.agreement.rater_resampling import Rerated

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Agreed:
    """The agreement of raters.

    Attributes:
        found: every figure.
        alarms: what looks wrong, the gravest first.
        resamples: replicates of each interval.
        seed: of the replicates.
        effect: what raters do to a comparison; None where no runs were given.
    """

    found: Agreements
    alarms: tuple[Alarm, ...]
    resamples: int
    seed: int
    effect: Rerated | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = self.found
        return {
            "schema_version": SCHEMA_VERSION,
            "ratings": found.name,
            "counts": dict(found.counts),
            "alarms": [
                {"kind": each.kind, "who": each.who, "what": each.what} for each in self.alarms
            ],
            "coefficients": {
                name: {"value": told.value, "low": told.low, "high": told.high, "level": told.level}
                for name, told in found.coefficients.items()
            },
            "resamples": self.resamples,
            "seed": self.seed,
            **{name: _rows(getattr(found, name)) for name in _TABLES},
            "effect": self.effect.to_dict() if self.effect else None,
        }


_TABLES = ("grades", "raters", "pairs", "confusion", "queries", "periods")


def agree(
    ratings: Any,  # noqa: ANN401 - a path, a frame, ratings
    *,
    scale: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    from_: str | None = None,
) -> Agreed:
    """Measure how far raters agree.

    Args:
        ratings: a path (``-`` is standard input), a frame, or ratings.
        scale: the grades that were possible: a name, a range or a list, as ``scale_of`` reads it.
        resamples: replicates of the bootstrap over queries.
        seed: of the bootstrap.
        from_: the name of the file's format.

    Raises:
        InputError: ratings that cannot be read, with file and line; none has a grade.
        UsageError: no such scale or format.
    """
    said = read_ratings(ratings, from_=from_)
    grades = scale_of(scale) if scale else None
    pairs = rated_pairs(said, grades)
    found = agreements(pairs, samples=resamples, seed=seed)
    return Agreed(found, alarms(found, pairs), resamples, seed)


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.to_dicts()
