"""Sums over units that are drawn again and again, for many draws at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_BLOCK = 1 << 22  # numbers of a block of weights


def draws(units: int, samples: int, seed: int = 0) -> Iterator[Floats]:
    """How often each unit is drawn, with replacement, block by block, ``(units, block)``.

    Args:
        units: how many there are, and how many a draw takes.
        samples: draws.
        seed: of the drawing; the same draws whatever the blocks.
    """
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // max(1, units))
    for begin in range(0, samples, step):
        block = [
            np.bincount(rng.integers(0, units, units), minlength=units)
            for _ in range(min(step, samples - begin))
        ]
        yield np.stack(block, axis=1).astype(np.float64)


def added(cells: Places, owner: Places, worth: Floats, weights: Floats, size: int) -> Floats:
    """What falls into each cell under many weightings of the owners, ``(size, B)``.

    Args:
        cells: ``(n,)``, the cell of each row.
        owner: ``(n,)``, whose row it is.
        worth: ``(n,)``, what it is worth.
        weights: ``(T, B)``, how much each owner counts in each weighting.
        size: how many cells there are.

    >>> cells, owner = np.array([0, 1, 1]), np.array([0, 0, 1])
    >>> added(cells, owner, np.ones(3), np.array([[1.0, 2.0], [1.0, 0.0]]), 2)
    array([[1., 2.],
           [2., 2.]])
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded only where it is needed

    shape = (size, len(weights))
    return np.asarray(csr_matrix((worth, (cells, owner)), shape) @ weights, np.float64)
