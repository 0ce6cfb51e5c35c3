"""Corrections of several p-values that are looked at together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

Correction = Literal["holm", "bonferroni", "hochberg", "bh", "by", "none"]

CORRECTIONS: dict[str, str] = {
    "holm": "Holm 1979; holds the chance of any false alarm",
    "bonferroni": "Bonferroni; as Holm, with less power",
    "hochberg": "Hochberg 1988; as Holm, for tests that are not negatively dependent",
    "bh": "Benjamini and Hochberg 1995; holds the expected share of false alarms",
    "by": "Benjamini and Yekutieli 2001; as bh, under any dependence",
    "none": "each p-value as it is",
}
"""The guarantee of each correction."""


def correct(p_value: Floats, method: Correction = "holm") -> Floats:
    """Adjusted p-values: reject where they are at most alpha.

    Bonferroni m·p; Holm max over smaller p of (m−i+1)·p₍ᵢ₎; Hochberg min over larger p of the
    same; BH min over larger p of m·p₍ᵢ₎/i; BY the same times Σ 1/i. All at most 1. NaN stay NaN
    and do not count.

    Args:
        p_value: any shape.
        method: one of `CORRECTIONS`.

    Raises:
        UsageError: no such correction.
    """
    if method not in CORRECTIONS:
        raise UsageError(
            f"no correction is called {method!r}; there are {', '.join(CORRECTIONS)}.",
            code="unknown-choice",
        )
    p_values = np.asarray(p_value, dtype=np.float64)
    is_defined = ~np.isnan(p_values)
    adjusted = p_values.copy()
    if is_defined.any():
        adjusted[is_defined] = corrected_rows(p_values[is_defined], method)
    return adjusted


def corrected_rows(p_value: Floats, method: Correction) -> Floats:
    """Adjusted p-values, each row of the last axis its own family; none is NaN.

    Args:
        p_value: (…, m).
        method: one of `CORRECTIONS`.
    """
    m = p_value.shape[-1]
    if method == "none":
        return p_value
    if method == "bonferroni":
        return np.asarray(np.minimum(1.0, p_value * m), np.float64)
    order = np.argsort(p_value, axis=-1, kind="stable")
    ranked, rank = np.take_along_axis(p_value, order, axis=-1), np.arange(1, m + 1)
    if method == "holm":
        adjusted = np.maximum.accumulate((m - rank + 1) * ranked, axis=-1)
    else:
        steps = (m - rank + 1.0) if method == "hochberg" else m / rank
        scale = (1 / rank).sum() if method == "by" else 1.0
        upwards = (steps * scale * ranked)[..., ::-1]
        adjusted = np.minimum.accumulate(upwards, axis=-1)[..., ::-1]
    in_input_order = np.empty_like(adjusted)
    np.put_along_axis(in_input_order, order, adjusted, axis=-1)
    return np.asarray(np.minimum(1.0, in_input_order), np.float64)
