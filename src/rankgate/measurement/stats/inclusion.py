"""Inclusion probabilities proportional to size, and samples that grow by permanent numbers."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STEPS = 100


def inclusion_probabilities(sizes: Floats, expected: float) -> Floats:
    """Probabilities π = min(1, c · size) that add up to the expected number of members.

    They give a total Σ y/π the least variance where |y| is proportional to size (Hansen and
    Hurwitz 1943); all are 1 where as many are expected as there are.

    Args:
        sizes: (N,) above 0.
        expected: how many members the sample has on average.

    >>> import numpy as np
    >>> inclusion_probabilities(np.array([1.0, 1, 2, 8]), 2).round(2)
    array([0.25, 0.25, 0.5 , 1.  ])
    """
    if expected >= len(sizes):
        return np.ones(len(sizes))
    chance = np.zeros(len(sizes))
    is_certain = np.zeros(len(sizes), np.bool_)
    for _ in range(_STEPS):
        remaining = expected - int(is_certain.sum())
        chance = np.where(is_certain, 1.0, remaining * sizes / sizes[~is_certain].sum())
        if not (exceeds := (chance >= 1) & ~is_certain).any():
            break
        is_certain |= exceeds
    return np.asarray(np.minimum(chance, 1.0), np.float64)


def permanent_numbers(members: Iterable[tuple[str, ...]], seed: int) -> Floats:
    """A number from 0 to 1 for each member, always the same for the same ids and seed.

    A member is in the sample where its number is below its probability, independently of the
    others. A sample with larger probabilities then holds the smaller one (permanent random
    numbers: Brewer, Early and Joyce 1972; Ohlsson 1995).
    """
    texts = ("\t".join((str(seed), *member)).encode() for member in members)
    hashes = [int.from_bytes(blake2b(text, digest_size=8).digest(), "big") for text in texts]
    return np.array(hashes, np.float64) / 2.0**64
