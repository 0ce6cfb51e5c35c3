"""The result of evaluating a gate's rules on resampled queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class FlipRate:
    """The share of resampled sets of queries that would change the verdict.

    Attributes:
        share: of the resamples that end with another verdict.
        verdicts: the share of each verdict.
        rules: by id, the share of the resamples in which a rule ends otherwise.
        fixed: rules whose outcome was kept, as they do not look at values of queries.
        draws: resampled sets of queries.
        seed: of the resampling.
    """

    share: float
    verdicts: Mapping[str, float]
    rules: Mapping[str, float]
    fixed: tuple[str, ...]
    draws: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "share": self.share,
            "verdicts": dict(self.verdicts),
            "rules": dict(self.rules),
            "fixed": list(self.fixed),
            "draws": self.draws,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From ``to_dict``."""
        return cls(**{**values, "fixed": tuple(values["fixed"])})
