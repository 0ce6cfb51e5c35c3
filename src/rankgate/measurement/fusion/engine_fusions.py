"""Fusion as OpenSearch and Elasticsearch compute it, to the bit: scores, weights and means are 32-bit floats.

A fusion of the lists of an engine's parts then has the scores of its hybrid query, if the index has
one shard; of more shards an engine normalises longer lists. Documents with equal scores may come in another
order: engines order them by the internal number of a document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankgate.measurement.fusion.candidate_blocks import Candidates, Normalisation, ScoredLists
from rankgate.measurement.fusion.fusion_method import Method

if TYPE_CHECKING:
    from collections.abc import Callable

Floats32: TypeAlias = NDArray[np.float32]
Floats64: TypeAlias = NDArray[np.float64]

_LEAST = np.float32(0.001)  # OpenSearch's score of the last document of a list
_SMALLEST = np.float32(1.4e-45)  # Java's Float.MIN_VALUE, which maxima begin with
_EPSILON = np.float32(1e-6)  # Elasticsearch's smallest range and norm


def _ends(lists: ScoredLists) -> tuple[Floats32, Floats32, Floats32]:
    """The scores, and for each of them the lowest and the highest of its list."""
    lowest, highest = (lists.repeat(ends).astype(np.float32) for ends in (lists.lowest, lists.highest))
    return lists.scores.astype(np.float32), lowest, np.maximum(highest, _SMALLEST)


def _opensearch_min_max(lists: ScoredLists) -> Floats64:
    scores, lowest, highest = _ends(lists)
    spread = highest - lowest
    with np.errstate(divide="ignore", invalid="ignore"):
        normalised = np.where(spread == 0, np.float32(1), (scores - lowest) / spread)
    return np.where(normalised == 0, _LEAST, normalised).astype(np.float64)


def _elasticsearch_min_max(lists: ScoredLists) -> Floats64:
    scores, lowest, highest = _ends(lists)
    spread = highest - lowest
    with np.errstate(divide="ignore", invalid="ignore"):
        normalised = (scores - lowest) / spread
    return np.where(np.abs(spread) < _EPSILON, lowest, normalised).astype(np.float64)


def _opensearch_l2(lists: ScoredLists) -> Floats64:
    scores = lists.scores.astype(np.float32)
    norm = np.sqrt(_sums_of_squares(lists, np.float32).astype(np.float64)).astype(np.float32)
    norms = np.repeat(norm, lists.counts)
    return np.where(norms == 0, np.float32(0), scores / np.where(norms == 0, np.float32(1), norms)).astype(
        np.float64
    )


def _elasticsearch_l2(lists: ScoredLists) -> Floats64:
    scores = lists.scores.astype(np.float32)
    norms = np.repeat(np.sqrt(_sums_of_squares(lists, np.float64)), lists.counts)
    is_small = norms < _EPSILON
    return np.where(is_small, scores, (scores / np.where(is_small, 1, norms)).astype(np.float32)).astype(
        np.float64
    )


def _sums_of_squares(lists: ScoredLists, sum_type: type[np.floating]) -> NDArray[np.floating]:
    """The sum of squares of each list, added in the order of the list."""
    squares = np.zeros((len(lists.counts), int(lists.counts.max())), np.float32)
    scores = lists.scores.astype(np.float32)
    squares[np.repeat(np.arange(len(lists.counts)), lists.counts), lists.places] = scores * scores
    return np.cumsum(squares, axis=1, dtype=sum_type)[:, -1]


ENGINE_NORMALISATIONS = tuple(
    Normalisation(name, function, aliases=aliases, title=title, source=source)
    for name, function, aliases, title, source in (
        (
            "opensearch-min-max",
            _opensearch_min_max,
            ("opensearch-min_max",),
            "min-max as OpenSearch: 0.001 for the last document of a list, 1 if all scores are equal",
            "OpenSearch",
        ),
        ("opensearch-l2", _opensearch_l2, (), "l2 as OpenSearch, in 32-bit floats", "OpenSearch"),
        (
            "elasticsearch-minmax",
            _elasticsearch_min_max,
            (),
            "min-max as Elasticsearch: the score itself if all scores are equal",
            "Elasticsearch",
        ),
        (
            "elasticsearch-l2_norm",
            _elasticsearch_l2,
            (),
            "l2 as Elasticsearch, in 32-bit floats",
            "Elasticsearch",
        ),
    )
)
"""Normalisations of engines."""


def _terms(
    candidates: Candidates,
    weights: Floats64 | None,
    term: Callable[[np.float32, Floats32], NDArray[np.floating]],
    *,
    only_positive: bool,
) -> tuple[Floats32, Floats32]:
    """The sums over the runs, in their order, of a term and of the weights.

    Args:
        candidates: the candidates to fuse.
        weights: the weights of the runs; all 1 by default.
        term: the term of a weight and the scores of a run.
        only_positive: True to leave out scores that are not above 0.
    """
    scores = candidates.scores.astype(np.float32)
    sums, sums_of_weights = np.zeros((2, scores.shape[1]), np.float32)
    for run_scores, weight in zip(scores, np.ones(len(scores)) if weights is None else weights, strict=True):
        is_used = run_scores > 0 if only_positive else run_scores >= 0
        used_scores = np.where(is_used, run_scores, np.float32(1))
        added = (sums + term(np.float32(weight), used_scores)).astype(np.float32)
        sums = np.where(is_used, added, sums)
        sums_of_weights = np.where(is_used, sums_of_weights + np.float32(weight), sums_of_weights)
    return sums, sums_of_weights


def _ratio(above: Floats32, below: Floats32) -> Floats32:
    """The ratio, 0 where the divisor is not above 0."""
    return np.where(below > 0, above / np.where(below > 0, below, np.float32(1)), np.float32(0))


def _arithmetic(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    return _ratio(*_terms(candidates, weights, np.multiply, only_positive=False)).astype(np.float64)


def _harmonic(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    harmonics, weight_sums = _terms(candidates, weights, np.divide, only_positive=True)
    return _ratio(weight_sums, harmonics).astype(np.float64)


def _geometric(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    logarithms, weight_sums = _terms(
        candidates,
        weights,
        lambda weight, scores: np.float64(weight) * np.log(scores.astype(np.float64)),
        only_positive=True,
    )
    means = np.exp(_ratio(logarithms, weight_sums).astype(np.float64)).astype(np.float32)
    return np.where(weight_sums == 0, np.float32(0), means).astype(np.float64)


def _linear(candidates: Candidates, *, weights: Floats64 | None = None) -> Floats64:
    return _terms(candidates, weights, np.multiply, only_positive=False)[0].astype(np.float64)


ENGINE_METHODS = tuple(
    Method(
        name,
        function,
        "scores",
        aliases=aliases,
        source=source,
        title=f"{title}, as {source} computes it",
        formula=formula,
    )
    for name, function, aliases, source, title, formula in (
        (
            "opensearch-arithmetic-mean",
            _arithmetic,
            ("opensearch-arithmetic_mean",),
            "OpenSearch",
            "the weighted mean of the scores, 0 for a run without the document",
            "sum of w s / sum of w",
        ),
        (
            "opensearch-geometric-mean",
            _geometric,
            ("opensearch-geometric_mean",),
            "OpenSearch",
            "the weighted geometric mean of the runs that have the document",
            "exp(sum of w ln s / sum of w)",
        ),
        (
            "opensearch-harmonic-mean",
            _harmonic,
            ("opensearch-harmonic_mean",),
            "OpenSearch",
            "the weighted harmonic mean of the runs that have the document",
            "sum of w / sum of (w / s)",
        ),
        (
            "elasticsearch-linear",
            _linear,
            (),
            "Elasticsearch",
            "the weighted sum of the scores",
            "sum of w s",
        ),
    )
)
"""Methods of engines."""
