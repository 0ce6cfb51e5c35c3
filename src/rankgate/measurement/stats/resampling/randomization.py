"""Fisher's randomization test of paired differences, all columns under the same flips of signs.

Under H₀ the two systems of a query are exchangeable: every difference may have had the other
sign (Fisher 1935; Smucker, Allan and Carterette, CIKM 2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import as_columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

_BLOCK = 1 << 23  # flips in memory at once as float64: 64 MB
_CLOSE = 1e-12  # of the sum of sizes: sums in another order may differ so much


@dataclass(frozen=True)
class RandomizationTest:
    """The test of each column.

    Attributes:
        p_value: (M,) exact share, or (c + 1)/(samples + 1), which is never 0.
        mc_error: (M,) standard error of p that the drawing leaves; 0 where exact.
        p_max: (M,) corrected over the columns by the largest standardised statistic of each
            flip (Westfall and Young 1993), which heeds how columns hang together.
        exact: whether every flip was looked at.
        samples: flips looked at.
    """

    p_value: Floats
    mc_error: Floats
    p_max: Floats
    exact: bool
    samples: int


def randomization(delta: Floats, *, samples: int = 100_000, seed: int = 0) -> RandomizationTest:
    """The share of flips of signs whose mean is at least as far from 0 as the one observed.

    All 2ⁿ flips are looked at where they are no more than `samples`; else as many are drawn.
    Memory is bounded; the result does not depend on how the work is cut into blocks.

    Args:
        delta: (n, M) finite differences.
        samples: flips to draw.
        seed: of the drawing.
    """
    table = as_columns(delta)
    n, column_count = table.shape
    if not n:
        empty = np.full(column_count, np.nan)
        return RandomizationTest(empty, empty, empty, exact=True, samples=0)
    exact = 2**n <= samples  # of whole numbers: floats end at 2.0**1023
    total = table.sum(axis=0)
    tolerance = _CLOSE * np.abs(table).sum(axis=0)
    size = np.sqrt((table**2).sum(axis=0))
    size = np.where(size > 0, size, 1.0)
    observed = np.abs(total)
    bound, top = (observed - tolerance), (observed - tolerance) / size
    exceed_count, max_exceed_count, count = np.zeros(column_count), np.zeros(column_count), 0
    for flips in _all_flips(n) if exact else _drawn_flips(n, samples, seed):
        distance = np.abs(total - 2 * (flips @ table))
        exceed_count += (distance >= bound).sum(axis=0)
        highest = np.sort((distance / size).max(axis=1))
        max_exceed_count += len(highest) - np.searchsorted(highest, top, side="left")
        count += len(flips)
    if exact:
        return RandomizationTest(
            exceed_count / count,
            np.zeros(column_count),
            max_exceed_count / count,
            exact=True,
            samples=count,
        )
    p = (exceed_count + 1) / (count + 1)
    error = np.sqrt(p * (1 - p) / count)
    return RandomizationTest(
        p, error, (max_exceed_count + 1) / (count + 1), exact=False, samples=count
    )


def _all_flips(n: int) -> Iterator[Floats]:
    """All flips of n signs as rows of 0 and 1."""
    step = max(1, _BLOCK // n)
    places = np.arange(n)
    for begin in range(0, 2**n, step):
        codes = np.arange(begin, min(begin + step, 2**n))
        yield ((codes[:, None] >> places) & 1).astype(np.float64)


def _drawn_flips(n: int, samples: int, seed: int) -> Iterator[Floats]:
    """Draw flips; a row takes whole words of 32 bits, so that blocks do not change them."""
    rng = np.random.default_rng(seed)
    width = 4 * -(-n // 32)
    step = max(1, _BLOCK // n)
    for begin in range(0, samples, step):
        rows = min(step, samples - begin)
        random_bytes = np.frombuffer(rng.bytes(rows * width), np.uint8).reshape(rows, width)
        yield np.unpackbits(random_bytes, axis=1, count=n).astype(np.float64)
