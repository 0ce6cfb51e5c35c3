"""Fusion methods that learn the worth of ranks, and the catalogues of methods and normalisations.

The trained methods learn the worth of each run's ranks from judgments. The catalogues have every
fusion method and every normalisation by name.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from rankgate.core.declare import Range, Registry
from rankgate.measurement.fusion import untrained_methods
from rankgate.measurement.fusion.candidate_blocks import PLAIN_NORMALISATIONS, Candidates, Normalisation
from rankgate.measurement.fusion.engine_fusions import ENGINE_METHODS, ENGINE_NORMALISATIONS
from rankgate.measurement.fusion.fusion_method import Hits, Method, TrainedValues, TrainingData

_LILLIS = "Lillis et al., SIGIR 2010"

_BAYES_ENDS = np.array([5, 10, 15, 20, 30, 100, 200, 500, 1000])
_UNSEEN_PROBABILITY = 0.001  # probability for unseen events, as in ranx
_ABSENT_LOG_ODDS = np.log(_UNSEEN_PROBABILITY / (1 - _UNSEEN_PROBABILITY))
_SEGMENT_ENDS = 10 * 2 ** np.arange(10) - 5  # 5, 15, 35, ..., 5115

Fused = NDArray[np.float64]


def _map_train(training: TrainingData) -> TrainedValues:
    """The mean average precision of each run, ``(R, 1)``."""
    return np.array([[_average_precision(hits, training)] for hits in training.hits])


def _average_precision(hits: Hits, training: TrainingData) -> float:
    """The mean over the training queries."""
    first = np.searchsorted(hits.query, hits.query)
    hits_so_far = np.arange(len(hits.query)) - first + 1
    precisions = hits_so_far / hits.rank / training.relevant[hits.query]
    return float(precisions.sum() / training.queries)


def _map_fuse(candidates: Candidates, *, trained: TrainedValues) -> Fused:
    ranks = np.where(candidates.present, candidates.ranks, np.inf)
    return (trained / ranks).sum(axis=0)


def _share_by_segment(training: TrainingData, ends: NDArray[np.int64]) -> TrainedValues:
    """The mean share of relevant documents in segments of ranks, ``(R, segments)``."""
    sizes = np.diff(ends, prepend=0)
    counts = [
        np.bincount(np.searchsorted(ends, hits.rank), minlength=len(ends) + 1)[: len(ends)]
        for hits in training.hits
    ]
    return np.array(counts) / sizes / training.queries


def _bayes_train(training: TrainingData) -> TrainedValues:
    """The logarithm of the odds of relevance by segment of ranks, ``(R, 9)``."""
    share = _share_by_segment(training, _BAYES_ENDS)
    share = np.where(share == 0, _UNSEEN_PROBABILITY, share)
    return np.log(share / np.where(share == 1, _UNSEEN_PROBABILITY, 1 - share))


def _bayes_fuse(candidates: Candidates, *, trained: TrainedValues) -> Fused:
    return _value_of_segment(candidates, trained, _BAYES_ENDS, _ABSENT_LOG_ODDS).sum(axis=0)


def _segment_train(training: TrainingData) -> TrainedValues:
    """The share of relevant documents in segments that double, ``(R, 10)``."""
    return _share_by_segment(training, _SEGMENT_ENDS)


def _segment_fuse(candidates: Candidates, *, trained: TrainedValues) -> Fused:
    share = _value_of_segment(candidates, trained, _SEGMENT_ENDS, 0.0)
    return (share * (candidates.scores + 1)).sum(axis=0)


def _value_of_segment(
    candidates: Candidates, trained: TrainedValues, ends: NDArray[np.int64], default: float
) -> NDArray[np.float64]:
    """The learned value of each document's segment, ``(R, n)``; ``default`` outside of segments."""
    table = np.column_stack([trained, np.full(len(trained), default)])
    segment = np.searchsorted(ends, candidates.ranks)
    segment[~candidates.present] = len(ends)
    return np.take_along_axis(table, segment, axis=1)


def _position_train(training: TrainingData) -> TrainedValues:
    """The share of relevant documents at each rank, among the lists that reach it, ``(R, K)``."""
    K = int(training.lengths.max(initial=0))
    hit_counts = np.array([np.bincount(hits.rank - 1, minlength=K) for hits in training.hits])
    ends = [np.bincount(lengths[training.chosen], minlength=K + 1)[1:] for lengths in training.lengths]
    reached = np.cumsum(np.array(ends)[:, ::-1], axis=1)[:, ::-1]
    return np.divide(hit_counts, reached, out=np.zeros(hit_counts.shape), where=reached > 0)


def _position_fuse(candidates: Candidates, *, trained: TrainedValues) -> Fused:
    table = np.column_stack([np.zeros(len(trained)), trained])  # rank 0 means an absent document
    ranks = np.where(candidates.ranks < table.shape[1], candidates.ranks, 0)
    return np.take_along_axis(table, ranks, axis=1).sum(axis=0)


def _slide_fuse(
    candidates: Candidates, *, trained: TrainedValues, width: Annotated[int, Range(1)] = 5
) -> Fused:
    """SlideFuse.

    Args:
        candidates: the candidates to fuse.
        trained: the share of relevant documents at each rank.
        width: the number of ranks on each side in an average.
    """
    K = trained.shape[1]
    sums = np.column_stack([np.zeros(len(trained)), np.cumsum(trained, axis=1)])
    position = candidates.ranks - 1
    low = np.maximum(position - width, 0)
    high = np.minimum(position + width, candidates.lengths[:, candidates.owner] - 1) + 1
    total = np.take_along_axis(sums, np.minimum(high, K), 1) - np.take_along_axis(sums, np.minimum(low, K), 1)
    mean = np.divide(total, high - low, out=np.zeros(total.shape), where=candidates.present)
    return mean.sum(axis=0)


def _prob_train(training: TrainingData, *, segments: Annotated[int, Range(1)] = 25) -> TrainedValues:
    """The share of relevant documents in each of the segments that a list is cut into.

    Args:
        training: the data to learn from.
        segments: the number of segments of equal length in a list.
    """
    learned = np.zeros((len(training.hits), segments))
    for r, hits in enumerate(training.hits):
        lengths = training.lengths[r][hits.query]
        size = -(-lengths // segments)
        segment = (hits.rank - 1) // size
        full = np.minimum(size, lengths - segment * size)  # the last segment may be shorter
        learned[r] = np.bincount(segment, 1 / full, segments)
    return learned / training.queries


def _prob_fuse(candidates: Candidates, *, trained: TrainedValues) -> Fused:
    count = trained.shape[1]
    size = np.maximum(-(-candidates.lengths // count), 1)[:, candidates.owner]
    segment = np.maximum(candidates.ranks - 1, 0) // size
    segment_values = np.take_along_axis(trained, segment, axis=1) / (segment + 1)
    return np.where(candidates.present, segment_values, 0.0).sum(axis=0)


TRAINED_METHODS = (
    Method(
        "mapfuse",
        _map_fuse,
        "ranks",
        _map_train,
        source=_LILLIS,
        title="the mean average precision of each run, by rank",
        formula="sum of MAP / rank",
    ),
    Method(
        "bayesfuse",
        _bayes_fuse,
        "ranks",
        _bayes_train,
        source="Aslam and Montague, SIGIR 2001",
        title="the odds of relevance by segment of ranks, as independent evidence",
        formula="sum of log(p / (1 - p)) of the segment",
    ),
    Method(
        "posfuse",
        _position_fuse,
        "ranks",
        _position_train,
        source=_LILLIS,
        title="the share of relevant documents at the rank",
        formula="sum of p(rank)",
    ),
    Method(
        "slidefuse",
        _slide_fuse,
        "ranks",
        _position_train,
        source="Lillis et al., ECIR 2008",
        title="the share of relevant documents at neighbouring ranks",
        formula="sum of the mean of p over rank - width to rank + width",
        grid={"width": (1, 2, 3, 5, 8, 12, 20)},
    ),
    Method(
        "probfuse",
        _prob_fuse,
        "ranks",
        _prob_train,
        source="Lillis et al., SIGIR 2006",
        title="the share of relevant documents in the list's segment, by the segment's number",
        formula="sum of p(segment) / segment",
        grid={"segments": (5, 10, 20, 25, 50, 100)},
    ),
    Method(
        "segfuse",
        _segment_fuse,
        "scores",
        _segment_train,
        source="Shokouhi, ECIR 2007",
        title="the share of relevant documents in segments that double in length, and the score",
        formula="sum of p(segment) x (s + 1)",
    ),
)


METHODS = Registry(
    Method,
    "fusion method",
    (
        *untrained_methods.RANK_METHODS,
        *untrained_methods.SCORE_METHODS,
        *untrained_methods.VOTE_METHODS,
        *ENGINE_METHODS,
        *TRAINED_METHODS,
    ),
    group="rankgate.fusion",
)
"""The methods: by ranks, by scores, by votes, of engines, trained."""

NORMALISATIONS = Registry(Normalisation, "normalisation", (*PLAIN_NORMALISATIONS, *ENGINE_NORMALISATIONS))
"""The normalisations, by name."""
