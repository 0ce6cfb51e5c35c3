"""The input of kernels: the judged documents of a block of queries, by rank.

A block contains only judged documents; unjudged documents matter only through the ranks they
occupy. So the cost of a kernel depends on the number of judgments, not on the length of lists.

After the block come the steps that decompose a value into contributions of documents and the
normaliser, and exact sums of floats, independent of order and batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankgate.core.arrays import Flags, Floats
from rankgate.core.frozen import dataclass

Ranks = NDArray[np.int32]
Counts = NDArray[np.int64]

Places = Literal["cutoff", "returned", "judged"]
"""All places down to the cutoff, those of documents returned, or those of judged documents."""

PAD = 2**31 - 1
"""The rank of a padded cell: behind every document."""
_MANY_ROWS = 1024  # with more rows, adding by column is faster


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One block of T whole queries; J judged and retrieved, I judged, both at least 1.

    Arrays are read-only.

    Attributes:
        rank: ``(T, J)`` ranks, 1-based and ascending, padded with `PAD`.
        grade: ``(T, J)`` grades at those ranks, padded with 0. A negative grade
            is raw here and means: in the pool, but unjudged.
        known: ``(T, J)`` whether the grade is a judgment; False where the grade was
            imputed, and in the padding.
        first: ``(T, J)`` first rank of the document's group of equal scores.
        last: ``(T, J)`` last rank of that group.
        ideal: ``(T, I)`` grades of all judged documents, highest first, padded with 0.
        below: ``(T, N)`` negative grades of the pool, lowest first, padded with 0.
        retrieved: ``(T,)`` documents in the list.
        judged: ``(T,)`` judged documents, those with a grade of 0 or more.
        pooled: ``(T,)`` those, and the documents with a negative grade.
        relevant: ``(T,)`` judged documents with a grade of `level` or more.
        relevant_retrieved: ``(T,)`` those of them in the list.
        level: the grade from which `relevant` and `relevant_retrieved` count.
    """

    rank: Ranks
    grade: Floats
    known: Flags
    first: Ranks
    last: Ranks
    ideal: Floats
    below: Floats
    retrieved: Counts
    judged: Counts
    pooled: Counts
    relevant: Counts
    relevant_retrieved: Counts
    level: float = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "level":  # kernels share the block, so none may change it
                getattr(self, field.name).setflags(write=False)

    @property
    def documents(self) -> Counts:
        """Count documents that are judged, also below 0, or retrieved, ``(T,)``."""
        missed_count = self.judged - count(self.hits(0))
        low = np.maximum(count(self.below < 0) - count(self.grade < 0), 0)
        return self.retrieved + missed_count + low

    def hits(self, rel: float, cutoff: int | None = None) -> Flags:
        """True for rows that are relevant and, with a cutoff, among the first ranks.

        Ranks ascend, so ranks up to k are in the first k columns: with a
        cutoff the answer is ``(T, min(J, k))``, without one ``(T, J)``.
        """
        level = max(rel, 0)
        is_hit: Flags = self.grade[:, :cutoff] >= level
        if cutoff is not None:
            is_hit &= self.rank[:, :cutoff] <= cutoff
        if level == 0:  # only in this case the padding, with grade 0, reaches the level
            is_hit &= self.rank[:, :cutoff] < PAD
        return is_hit

    def within(self, cutoff: int | None) -> Flags:
        """True for documents up to the cutoff, ``(T, J)``."""
        return self.rank <= (PAD - 1 if cutoff is None else cutoff)

    def places(self, cutoff: int | None, denominator: Places) -> Counts:
        """Count the places of each list that a mean over its first documents is divided by, ``(T,)``."""
        if denominator == "judged":
            return count(self.hits(0) & self.known & self.within(cutoff))
        if cutoff is None:
            return self.retrieved
        is_full = denominator == "cutoff"
        return np.full_like(self.retrieved, cutoff) if is_full else np.minimum(self.retrieved, cutoff)

    def at_level(self, rel: float) -> Judged:
        """The same block with `relevant` and `relevant_retrieved` counted from ``rel``."""
        if rel == self.level:
            return self
        # The zeros that pad `ideal` are not documents: for a level of 0 or less, all judged are
        # relevant.
        relevant = self.judged if rel <= 0 else count(self.ideal >= rel)
        relevant_retrieved = count(self.hits(rel))
        return replace(self, relevant=relevant, relevant_retrieved=relevant_retrieved, level=rel)

    def down_to(self, depth: int | None) -> Judged:
        """The same block without the documents behind a rank; groups of equal scores stay whole."""
        if depth is None or depth >= self.rank.shape[1]:
            return self
        width = max(1, np.count_nonzero((self.first <= depth).any(axis=0)))
        names = ("rank", "grade", "known", "first", "last")
        return replace(self, **{name: getattr(self, name)[:, :width] for name in names})

    def from_grade(self, least: float, instead: float = 0) -> Judged:
        """The same block where grades from 0 up to ``least`` are another one."""
        if least <= 0:
            return self
        grade, ideal = (
            np.where((grades >= 0) & (grades < least), instead, grades) for grades in (self.grade, self.ideal)
        )
        return replace(self, grade=grade, ideal=ideal)


def count(rows: Flags) -> Counts:
    """Count the True values along the last axis, ``(T, J) -> (T,)``."""
    return np.count_nonzero(rows, axis=-1)


def total(terms: Floats) -> Floats:
    """The sum along the last axis, ``(T, J) -> (T,)``, identical for any padding.

    Terms are added from left to right: `numpy.sum` groups them by the length of the row, so that
    trailing zeros would change the last bit.
    """
    if not terms.shape[-1]:
        return np.zeros(terms.shape[:-1])
    added: Floats
    if len(terms) < _MANY_ROWS or terms.dtype != np.float64:
        added = np.cumsum(terms, axis=-1)[..., -1]
        return added
    added = terms[..., 0].copy()  # in the same order, many rows at a time
    for column in range(1, terms.shape[-1]):
        added += terms[..., column]
    return added


def ratio(numerator: Floats | Counts, denominator: Floats | Counts) -> Floats:
    """``part / whole``; undefined (NaN) if the divisor is 0."""
    quotient: Floats = np.full(numerator.shape, np.nan)
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


def block(
    grades: Sequence[Sequence[float | None]],
    ideal: Sequence[Sequence[float]] | None = None,
    *,
    rel: float = 1,
) -> Judged:
    """Make a block from plain lists: the grades of each ranking, best rank first.

    Args:
        grades: for each query the grades in rank order; None is an unjudged document.
        ideal: for each query the grades of all judged documents, in any order; by default the
            grades in the ranking.
        rel: the smallest grade that counts as relevant.

    >>> block([[3, None, 0]]).rank
    array([[1, 3]], dtype=int32)
    """
    rows = [[(i, g) for i, g in enumerate(row, start=1) if g is not None] for row in grades]
    pools = [[g for _, g in row] for row in rows] if ideal is None else ideal
    sorted_grades = [sorted((g for g in pool if g >= 0), reverse=True) for pool in pools]
    rank = np.full((len(rows), max([1, *map(len, rows)])), PAD, dtype=np.int32)
    grade = np.zeros(rank.shape)
    ideals = np.zeros((len(rows), max([1, *map(len, sorted_grades)])))
    for t, (row, pool) in enumerate(zip(rows, sorted_grades, strict=True)):
        rank[t, : len(row)] = [i for i, _ in row]
        grade[t, : len(row)] = [g for _, g in row]
        ideals[t, : len(pool)] = pool
    negative_grades = [sorted(g for g in pool if g < 0) for pool in pools]
    below = np.zeros((len(rows), max([0, *map(len, negative_grades)])))
    for t, low in enumerate(negative_grades):
        below[t, : len(low)] = low
    zeros = np.zeros(len(rows), dtype=np.int64)
    judged = Judged(
        rank=rank,
        grade=grade,
        known=rank < PAD,
        first=rank,
        last=rank,
        ideal=ideals,
        below=below,
        retrieved=np.array([len(row) for row in grades], dtype=np.int64),
        judged=np.array([len(pool) for pool in sorted_grades], dtype=np.int64),
        pooled=np.array([len(pool) for pool in pools], dtype=np.int64),
        relevant=zeros,
        relevant_retrieved=zeros,
        level=np.nan,
    )
    return judged.at_level(rel)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The terms of a metric: a sum over documents, over a norm for each query.

        value = factor · Σ_j gainⱼ · weightⱼ / discountⱼ / norm

    A weight that is a fraction is stored as the discount, so that the value is rounded once.

    Attributes:
        gain: ``(T, J)``, the gain of each retrieved judged document: numbers, or flags of gain 1.
        weight: ``(T, J)``, multiplies the gain at its rank; 0 after a cutoff. None is 1.
        norm: ``(T,)``, the divisor of the sum; 0 if the metric has no value.
        discount: ``(T, J)``, divides the gain at its rank; infinite after a cutoff. None is 1.
        factor: multiplies the sum.
        digits: the decimals that each term is cut down to; None keeps all.
        weighed: the name of the weight.
        summed: the name of the sum.
        divisor: the name of the norm; empty if the norm is 1 and is not shown.
        ideal: the steps of the ideal ranking, if the norm is their sum.
    """

    gain: NDArray[Any]
    weight: NDArray[Any] | None = None
    norm: NDArray[Any] | float = 1.0
    discount: NDArray[Any] | None = None
    factor: float = 1.0
    digits: int | None = None
    weighed: str = "weight"
    summed: str = "sum"
    divisor: str = ""
    ideal: Steps | None = None

    @property
    def terms(self) -> NDArray[Any]:
        """What each document adds to the sum, ``(T, J)``, before the factor."""
        terms = self.gain if self.weight is None else self.gain * self.weight
        if self.discount is not None:
            with np.errstate(divide="ignore"):  # an infinite value raises an error with its query
                terms = terms / self.discount
        return terms if self.digits is None else np.floor(terms * 10.0**self.digits) / 10.0**self.digits

    @property
    def weights(self) -> Floats:
        """What each gain is multiplied by, ``(T, J)``."""
        weights = self.factor * replace(self, gain=np.ones(self.gain.shape), digits=None).terms
        if self.digits is None:
            return weights
        return np.divide(self.terms, self.gain, out=weights, where=self.gain != 0)

    @property
    def sum(self) -> Floats:
        """The sum over the documents of each query, ``(T,)``."""
        terms = self.terms
        sums = count(terms) if terms.dtype == np.bool_ else total(terms)
        return self.factor * sums.astype(np.float64)

    @property
    def value(self) -> Floats:
        """The value of each query, ``(T,)``; NaN if there is none."""
        quotient: Floats = np.full(len(self.gain), np.nan)
        return np.divide(self.sum, self.norm, out=quotient, where=np.not_equal(self.norm, 0))


def until_hit(rows: Flags) -> Flags:
    """True down to the first document of a set, ``(T, J)``."""
    hits_above: Counts = np.cumsum(rows, axis=-1) - rows
    return hits_above == 0


_UNIT = 1074 + 53  # every sum is a multiple of 2^-1127, the smallest step of floats
_HALF = 26
_LOW = (1 << _HALF) - 1


def exact_sum(values: NDArray[np.float64]) -> int:
    """The sum of finite values as a whole number of units; such sums can be added exactly.

    >>> one, two = (exact_sum(np.array(each)) for each in ([0.1, 0.2], [0.3]))
    >>> nearest_float(one + two) == nearest_float(two + one) == 0.6
    True
    """
    fraction, exponent = np.frexp(values)
    integers = np.ldexp(fraction, 53).astype(np.int64)  # value = whole · 2^(exponent − 53)
    total = 0
    for power in np.unique(exponent).tolist():
        same_exponent = integers[exponent == power]
        high, low = (
            int((same_exponent >> _HALF).sum()),
            int((same_exponent & _LOW).sum()),
        )  # neither can overflow
        total += ((high << _HALF) + low) << (power - 53 + _UNIT)
    return total


def nearest_float(total: int) -> float:
    """The float nearest to an exact sum.

    >>> nearest_float(exact_sum(np.array([1e16, 1.0, -1e16])))
    1.0
    """
    return total / (1 << _UNIT)


@dataclass(frozen=True)
class ExactMean:
    """A mean over values in batches; the result does not depend on the batches, to the last bit.

    Attributes:
        total: the weighted sum of the values, in units.
        weight: the sum of the weights, in units.
        undefined: the number of values that are not finite; they make the sum undefined.
    """

    total: int = 0
    weight: int = 0
    undefined: int = 0

    @classmethod
    def from_values(
        cls, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> ExactMean:
        """Compute the mean of values, with weights or equal weights.

        Args:
            values: ``(n,)``.
            weights: ``(n,)``.
        """
        is_finite = np.isfinite(values)
        all_weights = np.ones(len(values)) if weights is None else weights
        weighted_values = values if weights is None else values * weights
        undefined = len(values) - int(np.count_nonzero(is_finite))
        return cls(exact_sum(weighted_values[is_finite]), exact_sum(all_weights), undefined)

    def __add__(self, other: ExactMean) -> ExactMean:
        """Add the means of two sets of values."""
        return ExactMean(
            self.total + other.total, self.weight + other.weight, self.undefined + other.undefined
        )

    @property
    def sum(self) -> float:
        """The sum of the values; NaN if a value is not finite."""
        return float("nan") if self.undefined else nearest_float(self.total)

    @property
    def count(self) -> float:
        """The sum of the weights; with equal weights the number of values."""
        return nearest_float(self.weight)

    @property
    def value(self) -> float:
        """The mean; NaN without values."""
        return self.sum / self.count if self.weight else float("nan")
