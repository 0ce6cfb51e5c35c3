"""Margins that are a share of the baseline's mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.comparison.design import Contrast
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

    Floats = NDArray[np.float64]


def gain_beyond_share(gain: Floats, baseline: Floats, share: float) -> Floats:
    """The gain of each query beyond the loss that a share of its baseline allows.

    Its mean is above 0 where the mean loss is below the share of the mean; so the interval knows
    that the margin is an estimate too.
    """
    sign = np.where(baseline.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(gain + share * sign * baseline, np.float64)


def relative_contrast(gained: Contrast, share: float, *, turned: bool = False) -> Contrast:
    """`gain_beyond_share` of both systems' values; with ``turned`` of the baseline's gains."""
    sign = -1.0 if turned else 1.0

    def contrast(baseline: Floats, candidate: Floats) -> Floats:
        return gain_beyond_share(sign * gained(baseline, candidate), baseline, share)

    return contrast


def shifted_range(rule: Rule, evidence: Evidence) -> tuple[float, float] | None:
    """The range of these gains; None where the metric has none."""
    value_range = evidence.inputs.ranges.get(rule["metric"])
    if value_range is None:
        return None
    largest_allowance = rule["relative"] * max(map(abs, value_range))
    width = value_range[1] - value_range[0]
    return (
        (-width - largest_allowance, width + largest_allowance)
        if value_range[0] < 0
        else (-width, width + largest_allowance)
    )
