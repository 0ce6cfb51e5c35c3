"""Metrics estimated from stratified samples of judgments: xinfAP, infNDCG, statAP.

Shapes: P documents of the pool of a query, judged or (negative grade) not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.metric_declaration import SAMPLED_POOLS, Metric

if TYPE_CHECKING:
    from rankgate.core.arrays import Flags
    from rankgate.measurement.metrics.judged_block import Counts


_MAX_DIFFERENCE = 0.02
"""The largest difference of a probability from the share of its stratum that was judged."""

EPSILON = 0.00001
"""Smooths the share of relevant documents above where little is judged."""


@dataclass(frozen=True, eq=False)
class SampledPool:
    """The pool of one query, with strata.

    Attributes:
        rank: ``(P,)`` ranks, infinite for documents that are not retrieved.
        grade: ``(P,)``; negative means in the pool but not drawn.
        stratum: ``(P,)``, the number of the stratum, from 0.
        given: ``(P,)`` probabilities of being drawn, from the judgments; NaN if they have none.
    """

    rank: Floats
    grade: Floats
    stratum: Counts
    given: Floats

    @cached_property
    def is_judged(self) -> Flags:
        """``(P,)``, True for judged documents."""
        return self.grade >= 0

    @cached_property
    def judged(self) -> Floats:
        """The number of judged documents in each stratum, ``(S,)``."""
        return np.bincount(self.stratum, self.is_judged).astype(np.float64)

    @cached_property
    def size(self) -> Floats:
        """Documents in each stratum, ``(S,)``; from probabilities if some are not listed."""
        sizes = np.bincount(self.stratum).astype(np.float64)
        for s in np.flatnonzero(sizes == self.judged):
            probabilities = self.given[(self.stratum == s) & ~np.isnan(self.given)]
            if len(probabilities) and probabilities.mean() > 0:
                sizes[s] = self.judged[s] / probabilities.mean()
        return sizes

    @cached_property
    def weight(self) -> Floats:
        """``(P,)``, the number of documents that each drawn document represents: size / judged."""
        rate = np.divide(self.size, self.judged, out=np.zeros_like(self.size), where=self.judged > 0)
        return np.where(self.is_judged, rate[self.stratum], 0)

    def refuse_unfit(self, name: str) -> None:
        """Check that each probability is the judged share of its stratum.

        Raises:
            InputError: a probability is different.
        """
        has_probability = self.is_judged & ~np.isnan(self.given)
        share = (self.judged / self.size)[self.stratum]
        wrong = has_probability & (np.abs(self.given - share) > _MAX_DIFFERENCE)
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"query '{name}': a document has probability {self.given[row]:g}, and {share[row]:.3g} of "
                f"its stratum is judged; list the documents that were not drawn with grade -1, or correct "
                "the strata.",
                code="unfit-probability",
            )


Pools = list[SampledPool]


def stratified_inferred_ap(pools: Pools, *, rel: float = 1) -> Floats:
    """Average precision expected from a sample of each stratum of the pool.

        xinfAP = 1/R · Σ_{relevant drawn at rank k} w_k · 1/k
                 · (1 + Σ_s c_s · (r_s + ε)/(r_s + n_s + 2ε))

    Above rank k, c_s documents of stratum s are in the pool, r_s of them drawn and relevant, n_s
    drawn and not. w is the size of the stratum over what was drawn of it, and R = Σ w over all
    relevant documents drawn; ε = 0.00001.

    Args:
        pools: the pools.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> pool = SampledPool(np.array([1.0, 2, 3]), np.array([1.0, -1, 1]), np.zeros(3, int),
    ...                    np.full(3, np.nan))
    >>> stratified_inferred_ap([pool]).round(4)  # (1 + 1/3 · (1 + 2 · 1)) / 2
    array([1.])
    """

    def value(pool: SampledPool) -> float:
        hits = pool.is_judged & (pool.grade >= rel)
        row_order = np.argsort(pool.rank, kind="stable")[: np.count_nonzero(np.isfinite(pool.rank))]
        in_stratum = pool.stratum[row_order, None] == np.arange(len(pool.size))  # (retrieved, S)
        inside_above, relevant_above, drawn_above = (
            (np.cumsum(mask, axis=0) - mask)[hits[row_order]]
            for mask in (
                in_stratum,
                in_stratum & hits[row_order, None],
                in_stratum & pool.is_judged[row_order, None],
            )
        )
        share = inside_above * (relevant_above + EPSILON) / (drawn_above + 2 * EPSILON)
        hit_rows = row_order[hits[row_order]]
        terms = pool.weight[hit_rows] / pool.rank[hit_rows] * (1 + share.sum(axis=1))
        term_sum = float(np.cumsum(terms)[-1]) if len(hit_rows) else 0.0
        return _ratio(term_sum, float(pool.weight[hits].sum()))

    return _pool_values(pools, value)


def inferred_ndcg(
    pools: Pools, *, cutoff: Cutoff | None = None, gain: Literal["linear", "exp"] = "linear"
) -> Floats:
    """Discounted gain estimated from a sample, over that of the ideal ranking estimated from it.

        infNDCG = Σ_{drawn at rank k} w_k · g(grade_k)/log₂(k + 1) / IDCG

    The ideal ranking has Σ w documents of each grade, rounded.

    Args:
        pools: the pools.
        cutoff: k; without it the whole list counts.
        gain: the grade (`linear`), or 2 to the grade less 1 (`exp`).

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> pool = SampledPool(np.array([1.0, 2]), np.array([1.0, 0]), np.zeros(2, int),
    ...                    np.full(2, np.nan))
    >>> inferred_ndcg([pool])
    array([1.])
    """
    end = np.inf if cutoff is None else cutoff

    def worth(grades: Floats) -> Floats:
        return np.exp2(grades) - 1 if gain == "exp" else grades

    def value(pool: SampledPool) -> float:
        is_counted = pool.is_judged & (pool.rank <= end)
        gains = pool.weight[is_counted] * worth(pool.grade[is_counted]) / np.log2(pool.rank[is_counted] + 1)
        ideal = []
        for grade in sorted(set(pool.grade[pool.grade > 0].tolist()), reverse=True):
            ideal += [grade] * round(float(pool.weight[pool.grade == grade].sum()))
        ideal_gains = worth(np.array(ideal[: None if cutoff is None else cutoff]))
        return _ratio(
            float(gains.sum()), float((ideal_gains / np.log2(np.arange(len(ideal_gains)) + 2)).sum())
        )

    return _pool_values(pools, value)


def statistical_ap(pools: Pools, *, rel: float = 1) -> Floats:
    """Average precision by weighing each document, and each pair, by how likely it was drawn.

        statAP = 1/R · Σ_{relevant drawn at rank k} 1/k · (1/π_k + Σ_{j above} 1/π_jk)

    π is the share of the stratum that was drawn; of two documents it is the product, and in one
    stratum n(n − 1)/(N(N − 1)). R = Σ 1/π over all relevant documents drawn.

    Args:
        pools: the pools.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> pool = SampledPool(np.array([1.0, 2]), np.array([0.0, 1]), np.zeros(2, int),
    ...                    np.full(2, np.nan))
    >>> statistical_ap([pool])
    array([0.5])
    """

    def value(pool: SampledPool) -> float:
        hits = np.flatnonzero(pool.is_judged & (pool.grade >= rel))
        pairs = pool.judged * (pool.judged - 1)
        pair_weight = np.divide(pool.size * (pool.size - 1), pairs, out=np.zeros_like(pairs), where=pairs > 0)
        term_sum = 0.0
        for row in hits[np.isfinite(pool.rank[hits])]:
            rows_above = hits[pool.rank[hits] < pool.rank[row]]
            same_stratum = pool.stratum[rows_above] == pool.stratum[row]
            joint_weights = np.where(
                same_stratum, pair_weight[pool.stratum[row]], pool.weight[rows_above] * pool.weight[row]
            )
            term_sum += (pool.weight[row] + float(joint_weights.sum())) / pool.rank[row]
        return _ratio(term_sum, float(pool.weight[hits].sum()))

    return _pool_values(pools, value)


def _pool_values(pools: Pools, value: Callable[[SampledPool], float]) -> Floats:
    return np.array([value(pool) for pool in pools], np.float64)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else np.nan


_SEES = "ranks of documents drawn, their strata, and which others were in the pool"
_BLIND = "documents outside the pool, which count as not relevant"

xinfAP = Metric(  # noqa: N816 the field's own name
    "xinfAP",
    stratified_inferred_ap,
    title="Average precision, estimated from a sample of each stratum of the pool.",
    formula="xinfAP = 1/R · Σ_{relevant drawn} w/k · (1 + Σ_s c_s·(r_s + ε)/(r_s + n_s + 2ε))",
    at=None,
    high=None,
    source="Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437",
    sees=_SEES,
    blind_to=_BLIND,
    view=SAMPLED_POOLS,
    scenarios=False,
)
infNDCG = Metric(  # noqa: N816 the field's own name
    "infNDCG",
    inferred_ndcg,
    title="nDCG, estimated from a sample of each stratum of the pool.",
    formula="infNDCG = Σ_{drawn} w·g(grade)/log₂(k + 1) / IDCG of Σ w documents of each grade",
    high=None,
    source="Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437",
    sees=_SEES,
    blind_to=_BLIND,
    view=SAMPLED_POOLS,
    scenarios=False,
)
StatAP = Metric(
    "statAP",
    statistical_ap,
    title="Average precision, each pair of documents weighted by its probability of being drawn.",
    formula="statAP = 1/R · Σ_{relevant drawn} 1/k · (1/π_k + Σ_{j above} 1/π_jk)",
    at=None,
    high=None,
    source="Aslam & Pavlu, technical report, Northeastern University, 2007",
    sees=_SEES,
    blind_to=_BLIND,
    view=SAMPLED_POOLS,
    scenarios=False,
)


__all__ = ["SAMPLE_METRICS"]

SAMPLE_METRICS = (xinfAP, infNDCG, StatAP)
"""Every such metric, in the order in which they are listed."""
