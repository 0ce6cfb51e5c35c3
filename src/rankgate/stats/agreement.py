"""An interval for any coefficient of agreement: a bootstrap over items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.stats.ratings import Floats

_BLOCK = 1 << 23  # items times replicates held at once, 64 MB


@dataclass(frozen=True)
class Agreement:
    """A coefficient and where it may lie.

    Attributes:
        value: of the items at hand; NaN where it is undefined.
        low, high: percentile interval over resampled items; NaN where too few can be resampled.
        level: of the interval.
        undefined: share of the replicates in which the coefficient is undefined; they are left out.
    """

    value: float
    low: float
    high: float
    level: float
    undefined: float


def with_interval(
    coefficient: Callable[[Floats | None], Floats],
    items: int,
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """The coefficient with its percentile interval over items (Efron 1979).

    Args:
        coefficient: takes how often each item counts, (B, items), or None for once each; gives
            (B,) values.
        items: how many there are.
        level: of the interval.
        samples: replicates.
        seed: of the resampling.
    """
    value = float(coefficient(None)[0])
    if not np.isfinite(value) or items < 2:  # noqa: PLR2004 - one item has no spread
        return Agreement(value, float("nan"), float("nan"), level, 1.0)
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // items)
    even = np.full(items, 1.0 / items)
    parts = [
        coefficient(rng.multinomial(items, even, size=min(step, samples - begin)).astype(float))
        for begin in range(0, samples, step)
    ]
    drawn = np.concatenate(parts)
    fine = drawn[np.isfinite(drawn)]
    undefined = 1 - fine.size / samples
    if fine.size < samples / 2:
        return Agreement(value, float("nan"), float("nan"), level, undefined)
    low, high = np.quantile(fine, [(1 - level) / 2, (1 + level) / 2])
    return Agreement(value, float(low), float(high), level, undefined)
