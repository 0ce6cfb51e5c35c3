"""The relstring of trec_eval: the grades of the first documents, one sign each.

A kernel returns numbers, so the signs travel as the digits of numbers that a float holds
exactly, so many ranks in each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, total

_SIGNS = "-0123456789>."
"""The sign of each digit: not in the pool, grades 0 to 9, higher, in the pool and unjudged."""

_RANKS = 14  # in one number: 13 to the power of 14 is below 2 to the power of 53
_HIGHEST = 9


def relevance_digits(judged: Judged, *, start: int) -> Floats:
    """The grades at the ranks after ``start``, the first as the lowest digit to base 13.

    Returns:
        ``(T,)``, whole numbers.

    >>> from rankgate.measurement.metrics.judged import block
    >>> relevance_digits(block([[2, None, 0]]), start=0)  # 3 + 0 · 13 + 1 · 13²
    array([172.])
    """
    position = np.where(judged.rank > start, judged.rank - start - 1.0, _RANKS)
    digit = np.where(
        judged.grade < 0,
        len(_SIGNS) - 1,
        np.minimum(np.floor(judged.grade), _HIGHEST + 1) + 1,
    )
    place_value = float(len(_SIGNS)) ** np.minimum(position, _RANKS)
    return total(np.where(position < _RANKS, digit * place_value, 0))


_DIGITS = Metric("relstring", relevance_digits, at=None, high=None)


def relstring_metrics(length: int) -> tuple[Metric, ...]:
    """The metrics that are computed for strings of so many documents."""
    return tuple(_DIGITS(start=start) for start in range(0, length, _RANKS))


def relstrings(digits: Sequence[Floats], lengths: Sequence[int]) -> list[str]:
    """The relstring of each query.

    Args:
        digits: the values of the `relstring_metrics`, ``(T,)`` each.
        lengths: for each query how many documents to show.
    """
    texts = [""] * len(lengths)
    for number in digits:
        digits_left = number.astype(np.int64)
        for _ in range(_RANKS):
            digits_left, digit = np.divmod(digits_left, len(_SIGNS))
            texts = [text + _SIGNS[d] for text, d in zip(texts, digit.tolist(), strict=True)]
    return [text[:length] for text, length in zip(texts, lengths, strict=True)]
