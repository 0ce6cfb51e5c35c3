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


def beyond(gain: Floats, baseline: Floats, share: float) -> Floats:
    """What each query gains beyond the loss that a share of its baseline allows.

    Its mean is above 0 where the mean loss is below the share of the mean; so the interval knows
    that the margin is an estimate too.
    """
    sign = np.where(baseline.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(gain + share * sign * baseline, np.float64)


def allowed(gained: Contrast, share: float, *, turned: bool = False) -> Contrast:
    """`beyond` of the values of both systems; with ``turned`` of what the baseline gains."""
    sign = -1.0 if turned else 1.0

    def contrast(baseline: Floats, candidate: Floats) -> Floats:
        return beyond(sign * gained(baseline, candidate), baseline, share)

    return contrast


def shifted_range(rule: Rule, evidence: Evidence) -> tuple[float, float] | None:
    """The range of these gains; None where the metric has none."""
    known = evidence.inputs.ranges.get(rule["metric"])
    if known is None:
        return None
    most = rule["relative"] * max(map(abs, known))
    reach = known[1] - known[0]
    return (-reach - most, reach + most) if known[0] < 0 else (-reach, reach + most)
