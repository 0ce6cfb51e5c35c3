"""Fusion as OpenSearch and Elasticsearch compute it, to the bit: scores, weights and means are 32-bit floats.

A fusion of the lists of an engine's parts then has the scores of its hybrid query, if the index has
one shard; of more shards an engine normalises longer lists. Documents with equal scores may come in another
order: engines order them by the internal number of a document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankgate.measurement.fusion.candidate_blocks import Candidates, Normalisation, ScoredLists
from rankgate.measurement.fusion.fusion_method import Method

if TYPE_CHECKING:
    from collections.abc import Callable

Floats32: TypeAlias = NDArray[np.float32]
Floats64: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]

_ONE = np.float32(1)
_LEAST = np.float32(0.001)  # OpenSearch's score of the last document of a list
_SMALLEST = np.float32(1.4e-45)  # Java's Float.MIN_VALUE, which maxima begin with
_EPSILON = np.float32(1e-6)  # Elasticsearch's smallest range and norm


def _divide(
    above: Floats, below: Floats, is_defined: NDArray[np.bool_], otherwise: Floats | float
) -> Floats64:
    """The ratio, rounded to 32 bits; another value where it is not defined."""
    ratio = np.where(is_defined, above / np.where(is_defined, below, _ONE), otherwise)
    return ratio.astype(np.float32).astype(np.float64)


def _spread(lists: ScoredLists) -> tuple[Floats32, Floats32, Floats32]:
    """The scores less the lowest of their list, the range of the list, and the lowest score."""
    lowest, highest = (lists.repeat(ends).astype(np.float32) for ends in (lists.lowest, lists.highest))
    return lists.scores.astype(np.float32) - lowest, np.maximum(highest, _SMALLEST) - lowest, lowest


def _opensearch_min_max(lists: ScoredLists) -> Floats64:
    above, spread, _ = _spread(lists)
    normalised = _divide(above, spread, spread != 0, 1.0)
    return np.where(normalised == 0, _LEAST, normalised)


def _elasticsearch_min_max(lists: ScoredLists) -> Floats64:
    above, spread, lowest = _spread(lists)
    return _divide(above, spread, np.abs(spread) >= _EPSILON, lowest)


def _opensearch_l2(lists: ScoredLists) -> Floats64:
    norms = _norms(lists, np.float32).astype(np.float32)
    return _divide(lists.scores.astype(np.float32), norms, norms != 0, 0.0)


def _elasticsearch_l2(lists: ScoredLists) -> Floats64:
    norms, scores = _norms(lists, np.float64), lists.scores.astype(np.float32)
    return _divide(scores, norms, norms >= _EPSILON, scores)


def _norms(lists: ScoredLists, sum_type: type[Any]) -> Floats64:
    """The root of the sum of squares of the list of each score, added in the order of the list."""
    squares = np.zeros((len(lists.counts), int(lists.counts.max())), np.float32)
    squares[np.repeat(np.arange(len(lists.counts)), lists.counts), lists.places] = (
        lists.scores.astype(np.float32) ** 2
    )
    return lists.repeat(np.sqrt(np.cumsum(squares, axis=1, dtype=sum_type)[:, -1].astype(np.float64)))


ENGINE_NORMALISATIONS = (
    Normalisation(
        "opensearch-min-max",
        _opensearch_min_max,
        aliases=("opensearch-min_max",),
        title="min-max as OpenSearch: 0.001 for the last document of a list, 1 if all scores are equal",
        source="OpenSearch",
    ),
    Normalisation(
        "opensearch-l2", _opensearch_l2, title="l2 as OpenSearch, in 32-bit floats", source="OpenSearch"
    ),
    Normalisation(
        "elasticsearch-minmax",
        _elasticsearch_min_max,
        title="min-max as Elasticsearch: the score itself if all scores are equal",
        source="Elasticsearch",
    ),
    Normalisation(
        "elasticsearch-l2_norm",
        _elasticsearch_l2,
        title="l2 as Elasticsearch, in 32-bit floats",
        source="Elasticsearch",
    ),
)
"""Normalisations of engines."""


def _sums(
    candidates: Candidates, weights: Floats64 | None, term: Callable[[Any, Any], Floats], *, least: float
) -> tuple[Floats32, Floats32]:
    """The sums over the runs, in their order, of a term and of the weights.

    Args:
        candidates: the candidates to fuse.
        weights: the weights of the runs; all 1 by default.
        term: the term of a weight and the scores of a run.
        least: the lowest score that counts.
    """
    scores = candidates.scores.astype(np.float32)
    sums, weight_sums = np.zeros((2, scores.shape[1]), np.float32)
    for run_scores, weight in zip(scores, np.ones(len(scores)) if weights is None else weights, strict=True):
        counts, w = run_scores >= least, np.float32(weight)
        terms = term(w, np.where(counts, run_scores, _ONE))
        sums = np.where(counts, (sums + terms).astype(np.float32), sums)
        weight_sums = np.where(counts, weight_sums + w, weight_sums)
    return sums, weight_sums


def _arithmetic(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    sums, weight_sums = _sums(candidates, weights, np.multiply, least=0)
    return _divide(sums, weight_sums, weight_sums > 0, 0.0)


def _harmonic(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    sums, weight_sums = _sums(candidates, weights, np.divide, least=float(_SMALLEST))
    return _divide(weight_sums, sums, sums > 0, 0.0)


def _geometric(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    sums, weight_sums = _sums(
        candidates,
        weights,
        lambda weight, s: float(weight) * np.log(s.astype(np.float64)),
        least=float(_SMALLEST),
    )
    means = np.exp(_divide(sums, weight_sums, weight_sums > 0, -np.inf))
    return means.astype(np.float32).astype(np.float64)


def _linear(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    return _sums(candidates, weights, np.multiply, least=0)[0].astype(np.float64)


ENGINE_METHODS = (
    Method(
        "opensearch-arithmetic-mean",
        _arithmetic,
        "scores",
        aliases=("opensearch-arithmetic_mean",),
        source="OpenSearch",
        title="the weighted mean of the scores, 0 for a run without the document",
        formula="sum of w s / sum of w",
    ),
    Method(
        "opensearch-geometric-mean",
        _geometric,
        "scores",
        aliases=("opensearch-geometric_mean",),
        source="OpenSearch",
        title="the weighted geometric mean of the runs that have the document",
        formula="exp(sum of w ln s / sum of w)",
    ),
    Method(
        "opensearch-harmonic-mean",
        _harmonic,
        "scores",
        aliases=("opensearch-harmonic_mean",),
        source="OpenSearch",
        title="the weighted harmonic mean of the runs that have the document",
        formula="sum of w / sum of (w / s)",
    ),
    Method(
        "elasticsearch-linear",
        _linear,
        "scores",
        source="Elasticsearch",
        title="the weighted sum of the scores, in 32-bit floats",
        formula="sum of w s",
    ),
)
"""Methods of engines."""
