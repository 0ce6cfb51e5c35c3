"""Agreement of two orderings: Kendall, Spearman, Pearson, and rank-biased overlap.

Values that differ by at most `PRECISION` of the largest are equal: means over the same queries that
are equal on paper differ in their last bits after computation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

    Counts = NDArray[np.int64]


TauTies = Literal["a", "b"]

PRECISION = 1e-10
"""Relative to the largest absolute value: smaller steps between neighbouring values are ties."""


def tau(first: Floats, second: Floats, ties: TauTies = "b") -> float:
    """Kendall's tau: pairs in the same order minus pairs in opposite order.

    ``a``: over all pairs; ``b``: over the geometric mean of the pairs that either orders (Kendall
    1945). 1 is the same order, −1 the reverse; NaN for fewer than two things, and under ``b``
    where one of them ties everything.
    """
    first_levels, second_levels = _levels_of_both(first, second)
    if np.isnan(first_levels).any() or np.isnan(second_levels).any():
        return float("nan")
    n = len(first)
    count_above, larger, at_least = _counts_above(first_levels, second_levels)
    order_balance = float((larger + at_least - count_above).sum())
    norm = n * (n - 1) / 2
    if ties == "b":
        tie_sizes = np.unique(second_levels, return_counts=True)[1]
        tied_pairs = int((tie_sizes * (tie_sizes - 1) // 2).sum())
        norm = float(np.sqrt(int(count_above.sum()) * (n * (n - 1) // 2 - tied_pairs)))
    return order_balance / norm if norm else float("nan")


def tau_of_rows(first: Floats, second: Floats) -> Floats:
    """(m,) `tau` b of each row of (m, n) values, for many rows of few items."""
    products = order_products(np.stack([tie_levels(first), tie_levels(second)], axis=1))
    norm = np.sqrt(products[:, 0, 0] * products[:, 1, 1])
    with np.errstate(invalid="ignore"):  # 0 / 0 if all values of a row are tied
        return np.asarray(products[:, 0, 1] / norm, np.float64)


_ORDER_CELLS = 1 << 17  # signs at one time, which fit the cache


def order_products(values: Floats) -> Floats:
    """(m, k, k) Σ sign(aᵢ − aⱼ) · sign(bᵢ − bⱼ) over pairs of n items, for each two of k orders.

    Args:
        values: (m, k, n) ranks or levels: whole or half numbers, for which the sums are exact.
    """
    short_values = values.astype(np.float32)
    count, orders, n = values.shape
    products = np.zeros((count, orders, orders))
    step = max(1, _ORDER_CELLS // max(orders * n, 1))
    for begin in range(0, count, step):
        block = short_values[begin : begin + step]
        for item in range(n - 1):
            signs = np.sign(block[:, :, item + 1 :] - block[:, :, [item]])
            products[begin : begin + step] += signs @ signs.transpose(0, 2, 1)
    return products


def _counts_above(estimate: Floats, reference: Floats) -> tuple[Counts, Counts, Counts]:
    """Count the items that the estimate ranks above each item, for values without NaN.

    Returns:
        (n,) three counts: all of these; those with a larger reference; those with at least as large
        a one.
    """
    order = np.lexsort((reference, -estimate))  # ties by rising reference
    rank = np.empty_like(order)
    rank[np.lexsort((estimate, reference))] = np.arange(order.size)  # ties by the estimate
    level = np.unique(reference, return_inverse=True)[1]
    larger, at_least = np.empty_like(order), np.empty_like(order)
    larger[order], at_least[order] = _larger_before(level[order]), _larger_before(rank[order])
    return order.size - np.searchsorted(np.sort(estimate), estimate, "right"), larger, at_least


def _larger_before(values: Counts) -> Counts:
    """(n,) the number of earlier values that are larger, for integers from 0.

    Two values differ first in one bit: bit by bit, from the highest, the values that are equal in
    all higher bits are together, in their order; a 1 before a 0 is a larger value.
    """
    counts = np.zeros_like(values)
    order = np.arange(values.size)
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        prefix = values[order] >> bit
        is_set = prefix & 1
        set_before = np.cumsum(is_set) - is_set
        group_begin = np.searchsorted(prefix >> 1, prefix >> 1)
        counts[order] += (1 - is_set) * (set_before - set_before[group_begin])
        order = order[np.argsort(prefix, kind="stable")]
    return counts


def tau_ap(estimate: Floats, reference: Floats, ties: TauTies = "a") -> float:
    """τ_AP: as tau, but the top of the list weighs more (Yilmaz, Aslam and Robertson 2008).

    τ_AP = 2/(n−1) Σ_{i=2..n} C(i)/(i−1) − 1, things by the estimate's order, C(i) those before
    the i-th that the reference puts before it too. It is not symmetric.

    With ties (Urbano and Marrero, ICTIR 2017): ``a`` is the mean over all orders that break the
    estimate's ties; a tie in the reference is half right. ``b`` leaves pairs that either ties out
    and is symmetric: the mean of both directions over the things that have a pair.

    Args:
        estimate: (n,) values, larger is better.
        reference: (n,) values of the same things.
        ties: the treatment.
    """
    estimate_levels, reference_levels = _levels_of_both(estimate, reference)
    is_undefined = np.isnan(estimate_levels).any() or np.isnan(reference_levels).any()
    if is_undefined or len(estimate_levels) < 2:  # no pair has an order
        return float("nan")
    if ties == "a":
        return _tau_ap_a(estimate_levels, reference_levels)
    return (_tau_ap_b(estimate_levels, reference_levels) + _tau_ap_b(reference_levels, estimate_levels)) / 2


def _tau_ap_a(estimate: Floats, reference: Floats) -> float:
    """An item in a tie of g items at positions p..p+g−1 is equally likely at each position."""
    n = len(estimate)
    count_above, larger, at_least = _counts_above(estimate, reference)
    agreeing_above = (larger + at_least) / 2
    agreement = agreeing_above / np.maximum(count_above, 1)
    tie_sizes = np.unique(estimate, return_counts=True)[1]
    by_level = np.argsort(estimate, kind="stable")
    begins = np.cumsum(tie_sizes) - tie_sizes
    for begin, size in zip(begins[tie_sizes > 1], tie_sizes[tie_sizes > 1], strict=True):
        ties = by_level[begin : begin + size]
        ranked = np.sort(reference[ties])
        low, high = (np.searchsorted(ranked, reference[ties], side) for side in ("left", "right"))
        share = (size - high + (high - low - 1) / 2) / (size - 1)
        peers = np.arange(size)
        places = count_above[ties[0]] + peers  # the number of items before it
        first = int(places[0] == 0)
        agreeing = agreeing_above[ties, None] + peers * share[:, None]
        agreement[ties] = (agreeing[:, first:] / places[first:]).sum(axis=1) / size
    return float(2 * np.cumsum(agreement)[-1] / (n - 1) - 1)


def _tau_ap_b(estimate: Floats, reference: Floats) -> float:
    count_above, larger, at_least = _counts_above(estimate, reference)
    is_used = count_above > 0
    if not is_used.any():
        return float("nan")
    return float(((larger + at_least - count_above)[is_used] / count_above[is_used]).mean())


def tie_levels(values: Floats) -> NDArray[np.float64]:
    """(…, n) in each row 0 for the smallest values, 1 for the next larger ones, and so on.

    Sorted values share a level where each is within `PRECISION` of the largest absolute value of
    the one before it. NaN stays NaN.

    >>> tie_levels(np.array([0.3, 0.1 + 0.2, 0.1])).tolist()
    [1.0, 1.0, 0.0]
    """
    table = np.asarray(values, np.float64)
    order = np.argsort(table, axis=-1, kind="stable")
    ranked = np.take_along_axis(table, order, axis=-1)
    finite = np.where(np.isfinite(ranked), np.abs(ranked), 0.0)
    with np.errstate(invalid="ignore"):  # inf - inf
        step = np.diff(ranked) > PRECISION * finite.max(axis=-1, keepdims=True, initial=0.0)
    ranked_levels = np.zeros_like(table)
    np.cumsum(step, axis=-1, out=ranked_levels[..., 1:])
    level_index = np.empty_like(table)
    np.put_along_axis(level_index, order, ranked_levels, axis=-1)
    level_index[np.isnan(table)] = np.nan
    return level_index


def _levels_of_both(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    if len(first) != len(second):
        raise ValueError(
            f"{count_noun(len(first), 'value')} against {len(second)}: both must order the same things."
        )
    return tie_levels(first), tie_levels(second)


@dataclass(frozen=True)
class Correlation:
    """A coefficient of n pairs.

    Attributes:
        value: −1 to 1; NaN if a list has no spread, or there are fewer than 2 pairs.
        low, high: its interval; NaN if there are too few pairs for an interval.
        p_value: the p-value of H₀: no association.
        n: the number of pairs.
    """

    value: float
    low: float
    high: float
    p_value: float
    n: int


def spearman(first: Floats, second: Floats, level: float = 0.95) -> Correlation:
    """Pearson's r of the ranks, ties at their mean rank (Spearman 1904).

    The interval is by Fisher's z = atanh ρ (1915) with the variance (1 + ρ²/2)/(n − 3) of Bonett and
    Wright (Psychometrika 65, 2000); p is exact for up to 9 pairs without ties, else by Student's t.
    """
    value, n = rank_correlation(first, second), len(first)
    low = high = value if n > 3 and abs(value) == 1 else float("nan")
    if n > 3 and abs(value) < 1:
        from rankgate.measurement.stats.special_functions import ndtri

        half_width = float(ndtri((1 + level) / 2)) * np.sqrt((1 + value**2 / 2) / (n - 3))
        low, high = (float(np.tanh(np.arctanh(value) + side * half_width)) for side in (-1, 1))
    return Correlation(value, low, high, _spearman_p(first, second, value), n)


def product_moment(first: Floats, second: Floats) -> float:
    """Pearson's r without an interval; NaN if a list has no spread."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    x, y = first - first.mean(), second - second.mean()
    r = float((x @ y) / np.sqrt((x @ x) * (y @ y)))
    return min(1.0, max(-1.0, r))


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's rho without an interval; values that differ only by rounding are tied."""
    return product_moment(mean_ranks(tie_levels(first)), mean_ranks(tie_levels(second)))


def mean_ranks(values: Floats) -> Floats:
    """(…, n) ranks in each row from 1, ties at their mean rank; all NaN if a value is NaN.

    As ``scipy.stats.rankdata``, which takes as long as starting a command to import.

    >>> mean_ranks(np.array([0.2, 0.1, 0.2])).tolist()
    [2.5, 1.0, 2.5]
    """
    ranks = np.empty(values.shape)
    rows, ranks_of_rows = np.atleast_2d(values), np.atleast_2d(ranks)  # a view of the ranks
    step = max(1, _RANKED_VALUES * len(rows) // max(rows.size, 1))
    for begin in range(0, len(rows), step):
        block = rows[begin : begin + step]
        is_undefined = np.isnan(block).any(axis=-1, keepdims=True)
        ranks_of_rows[begin : begin + step] = np.where(is_undefined, np.nan, np.add(*tie_ends(block)) / 2)
    return ranks


_RANKED_VALUES = 1 << 17  # values whose ranks are computed at one time, which fit the cache


def tie_ends(values: Floats) -> tuple[Counts, Counts]:
    """(…, n) the first and the last rank of the values that equal each value, by row."""
    order = np.argsort(values, axis=-1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=-1)
    n = values.shape[-1]
    ranks = np.arange(1, n + 1)
    is_step = ranked[..., 1:] != ranked[..., :-1]
    low, high = np.ones(values.shape, np.int64), np.full(values.shape, n)
    low[..., 1:] = np.maximum.accumulate(np.where(is_step, ranks[1:], 1), axis=-1)
    high[..., :-1] = np.minimum.accumulate(np.where(is_step, ranks[:-1], n)[..., ::-1], axis=-1)[..., ::-1]
    for ends in (low, high):
        np.put_along_axis(ends, order, ends.copy(), axis=-1)
    return low, high


_EXACT = 9  # all orders of up to this number of pairs are counted: 362,880


def _spearman_p(first: Floats, second: Floats, value: float) -> float:
    n = len(first)
    first_ranks, second_ranks = (mean_ranks(tie_levels(values)) for values in (first, second))
    has_ties = len(np.unique(first_ranks)) < n or len(np.unique(second_ranks)) < n
    if n < 2 or np.isnan(value):
        return float("nan")
    if has_ties or n > _EXACT:
        if abs(value) == 1:
            return 0.0
        from rankgate.measurement.stats.special_functions import stdtr

        return float(2 * stdtr(n - 2, -abs(value) * np.sqrt((n - 2) / (1 - value**2))))
    from itertools import permutations

    orders = np.array(list(permutations(range(1, n + 1))), np.int8)
    gap = ((orders - np.arange(1, n + 1)) ** 2).sum(axis=1, dtype=np.int64)
    observed = int(np.rint(((first_ranks - second_ranks) ** 2).sum()))
    return float(min(1.0, 2 * min((gap <= observed).mean(), (gap >= observed).mean())))


RboTies = Literal["w", "a", "b"]


@dataclass(frozen=True)
class RankBiasedOverlap:
    """Rank-biased overlap of two lists of which only the first items are known.

    Attributes:
        value: extrapolated, with the same similarity below as above.
        low: the value if no item below is shared.
        high: the value if as many items below are shared as possible.
    """

    value: float
    low: float
    high: float

    @property
    def residual(self) -> float:
        """The uncertainty from unseen items: high − low."""
        return self.high - self.low


def rbo(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], p: float = 0.9, ties: RboTies = "a"
) -> RankBiasedOverlap:
    """RBO = (1 − p)/p · Σ_d p^d · A_d, with A_d the agreement of the first d items.

    An item counts at depth d by how far it is known to be among the first d: ``w`` wholly from
    the first rank of its tie on, agreement over the mean of both counts (ties are equality);
    ``a`` by the share of orders that put it there, over d (the mean over all ways to break ties);
    ``b`` the same over the root of the product of both sums of squares, so that a list with ties
    agrees wholly with itself. Webber, Moffat and Zobel, TOIS 2010; ties: Corsi and Urbano, SIGIR
    2024.

    Args:
        first: groups of tied items, best first; a group of one is not a tie.
        second: the other list, in the same form.
        p: in (0, 1); a larger p gives more weight to deep ranks.
        ties: the treatment.

    Raises:
        ValueError: p is outside (0, 1), a list is empty, or an item is repeated.
    """
    if not 0 < p < 1:
        raise ValueError(f"p = {p} is not between 0 and 1.")
    shorter, longer = sorted((list(map(list, first)), list(map(list, second))), key=_size)
    s, n = _size(shorter), _size(longer)
    if not s:
        raise ValueError("a list without items agrees with nothing.")
    position, long_position = (
        {item: i for i, item in enumerate(chain.from_iterable(groups))} for groups in (shorter, longer)
    )
    if len(position) < s or len(long_position) < n:
        raise ValueError("an item is listed twice.")
    short_ranks, long_ranks = (
        _TiedRanks.from_groups(groups, whole=ties == "w") for groups in (shorter, longer)
    )
    common_ranks = np.array(
        [(i, long_position[item]) for item, i in position.items() if item in long_position], np.int64
    ).reshape(-1, 2)
    overlap = _overlap(short_ranks, long_ranks, *common_ranks.T)
    depth = np.arange(1, n + 1)
    norm = _norm(short_ranks, long_ranks, ties)
    agreement = float(overlap[s - 1] / norm[s - 1])
    # items that may be below the end of the shorter list
    is_unseen = np.array([item not in position for item in long_position])
    unseen_above, unseen_tied = (
        np.append(0, np.cumsum(is_unseen))[ends] for ends in (long_ranks.top, long_ranks.bottom)
    )
    unseen_tied -= unseen_above
    beyond = np.maximum(depth - s, 0)
    highest = np.minimum(beyond, unseen_above) + long_ranks.share * np.clip(
        beyond - unseen_above, 0, unseen_tied
    )
    unseen = unseen_above + long_ranks.share * unseen_tied
    expected_overlap = beyond * agreement * unseen / np.maximum(unseen_above + unseen_tied, 1)
    weight = (1 - p) / p * p**depth
    last_overlap = float(overlap[-1])
    tails = _tail_low(last_overlap, n, p), _tail_high(last_overlap, s, n, p)
    tail = (last_overlap + (n - s) * agreement) / n * p**n
    return RankBiasedOverlap(
        float((weight * (overlap + expected_overlap) / norm).sum() + tail),
        float((weight * overlap / norm).sum() + tails[0]),
        float((weight * (overlap + highest) / norm).sum() + tails[1]),
    )


def group_ties(scores: Mapping[str, float]) -> list[list[str]]:
    """Items grouped by equal score (by `tie_levels`), the highest score first."""
    names = sorted(scores)
    level = dict(zip(names, tie_levels(np.array([scores[name] for name in names])), strict=True))
    groups: dict[float, list[str]] = {}
    for item in sorted(names, key=lambda name: (-level[name], name)):
        groups.setdefault(level[item], []).append(item)
    return list(groups.values())


def _size(groups: Sequence[Sequence[str]]) -> int:
    return sum(map(len, groups))


@dataclass(frozen=True)
class _TiedRanks:
    """The ties of a list's items by rank, counted from 0.

    Attributes:
        top, bottom: (n,) items above the tie of each rank, and items to its end.
        share: (n,) how far the items of the tie are known to be among the first at each rank.
        full: (n,) the rank from which on they wholly are.
    """

    top: Counts
    bottom: Counts
    share: Floats
    full: Counts

    @classmethod
    def from_groups(cls, groups: Sequence[Sequence[str]], *, whole: bool) -> _TiedRanks:
        """Make it from groups of ties; if ``whole``, all of a tie counts from its first rank."""
        sizes = np.array([len(group) for group in groups], np.int64)
        bottom = np.repeat(np.cumsum(sizes), sizes)
        top = bottom - np.repeat(sizes, sizes)
        if whole:
            return cls(top, bottom, np.ones(bottom.size), top)
        share = (np.arange(1, bottom.size + 1) - top) / (bottom - top)
        return cls(top, bottom, share, bottom - 1)

    def sums(self, power: int) -> Floats:
        """(n,) the sum over items of how far each is among the first, to a power."""
        return np.asarray(self.top + (self.bottom - self.top) * self.share**power, np.float64)


def _overlap(shorter: _TiedRanks, longer: _TiedRanks, short_rank: Counts, long_rank: Counts) -> Floats:
    """(n,) the overlap at each depth, from the ranks of the items that both lists have."""
    n = longer.top.size
    begin = np.maximum(shorter.top[short_rank], longer.top[long_rank])
    full = np.maximum(shorter.full[short_rank], longer.full[long_rank])
    # a tied item counts in part from the first rank of its tie until all of the tie is included
    lengths = full - begin
    item = np.repeat(np.arange(begin.size), lengths)
    depth = begin[item] + np.arange(item.size) - (np.cumsum(lengths) - lengths)[item]
    partial = np.ones(item.size)
    for ranks, rank in ((shorter, short_rank), (longer, long_rank)):
        share = ranks.share[np.minimum(depth, ranks.share.size - 1)]
        partial *= np.where(depth < ranks.full[rank[item]], share, 1.0)
    return np.asarray(np.cumsum(np.bincount(full, minlength=n)) + np.bincount(depth, partial, minlength=n))


def _norm(shorter: _TiedRanks, longer: _TiedRanks, ties: RboTies) -> Floats:
    """(n,) the divisor of the overlap at each depth; the shorter list is full below its end."""
    depth = np.arange(1, longer.top.size + 1, dtype=np.float64)
    if ties == "a":
        return depth
    power = 1 if ties == "w" else 2
    sums = shorter.sums(power), longer.sums(power)
    short_sums = np.append(sums[0], depth[sums[0].size :])
    return np.asarray((short_sums + sums[1]) / 2 if ties == "w" else np.sqrt(short_sums * sums[1]))


def _tail_low(last_overlap: float, n: int, p: float) -> float:
    """The sum if nothing is shared below both ends: Σ_{d>n} p^d · X/d, from −ln(1 − p)."""
    depth = np.arange(1, n + 1)
    return (1 - p) / p * last_overlap * float(np.log(1 / (1 - p)) - (p**depth / depth).sum())


def _tail_high(last_overlap: float, s: int, n: int, p: float) -> float:
    """The sum if everything is shared below both ends, until all documents are shared."""
    full_depth = int(np.floor(n + s - last_overlap + 1e-9))  # ties leave sums of shares
    depth = np.arange(n + 1, full_depth + 1)
    growing_part = ((2 * depth - n - s + last_overlap) / depth * p**depth).sum()
    return (1 - p) / p * float(growing_part + p ** (full_depth + 1) / (1 - p))
