"""What must hold before another policy is evaluated on a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.online.off_policy.bandit_log import BanditLog, effective_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OFF = 4.0
"""Standard errors by which a mean weight may differ from what it must be."""

_THIN = 0.1  # effective size as a share of all decisions
_HEAVY = 0.05  # share of one decision in all weights
_FEW = 20  # decisions with a reward


def checks(log: BanditLog, min_ess: float, max_unsupported: float) -> list[dict[str, Any]]:
    """``check``, ``value``, ``limit``, ``outcome`` (ok, warns, blocks) and ``words`` of each."""
    weight = log.whole
    ess, total = effective_size(weight), float(weight.sum())
    share = float(weight.max()) / total if total else 1.0
    rewarded = int(((log.total != 0) & (weight > 0)).sum())
    thin = "warns" if ess < _THIN * log.units else "ok"
    return [
        _row("support", log.unsupported, max_unsupported,
             "blocks" if log.unsupported > max_unsupported else
             "warns" if log.unsupported > 0 else "ok",
             f"{log.unsupported:.2%} of the target's probability is on actions that the log never "
             "shows; their rewards are unknown"),
        _row("effective-size", ess, min_ess, "blocks" if ess < min_ess else thin,
             f"the weighted log is worth {ess:,.1f} of its {log.units:,} decisions "
             f"({ess / log.units:.2%})"),
        _mean_weight(log),
        _row("largest-weight", share, _HEAVY, "warns" if share > _HEAVY else "ok",
             f"one decision has {share:.1%} of all weight (weight {weight.max():,.1f})"),
        _row("rewards", rewarded, _FEW, "warns" if rewarded < _FEW else "ok",
             f"{rewarded:,} decisions that the target could take have a reward"),
    ]  # fmt: skip


def _row(
    check: str, value: float, limit: float, outcome: str, words: str
) -> dict[str, str | float]:
    return {
        "check": check, "value": float(value), "limit": float(limit), "outcome": outcome,
        "words": words,
    }  # fmt: skip


def _mean_weight(log: BanditLog) -> dict[str, Any]:
    """The mean weight must be the target's supported probability, in both halves of the log."""
    supported = (1 - log.unsupported) ** log.depth
    parts = {"the log": log.whole}
    if log.units > 1:
        half = log.units // 2
        parts |= {"its first half": log.whole[:half], "its second half": log.whole[half:]}
    errors = {name: _off(values, supported) for name, values in parts.items()}
    worst = max(errors, key=lambda name: errors[name])
    mean = float(parts[worst].mean())
    outcome = "blocks" if errors[worst] > OFF else "warns" if errors[worst] > OFF / 2 else "ok"
    return _row(
        "mean-weight", mean, supported, outcome,
        f"the mean weight of {worst} is {mean:.4f} and must be {supported:.4f}; it differs by "
        f"{errors[worst]:.1f} standard errors",
    )  # fmt: skip


def _off(weight: Floats, expected: float) -> float:
    """By how many standard errors the mean differs; equal weights have no spread."""
    difference = abs(float(weight.mean()) - expected)
    if difference < 1e-6:
        return 0.0
    error = float(weight.std(ddof=1)) / np.sqrt(len(weight)) if len(weight) > 1 else 0.0
    return difference / error if error > 0 else float("inf")
