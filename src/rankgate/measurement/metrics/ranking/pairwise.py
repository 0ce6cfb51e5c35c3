"""Accuracy: the share of pairs that are in the right order."""

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, ratio
from rankgate.measurement.metrics.steps import Steps, cutoff_weight, relevance_gain


def pairwise_accuracy(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """Share of the pairs retrieved whose relevant document is above the other.

        Accuracy@k = 1/H · Σ_{relevant at rank i ≤ k} (others below it, up to k) / (n − H)

    with H relevant documents among the first n = min(k, length of the list).

    Returns:
        ``(T,)``; NaN where there is no such pair: nothing relevant there, or nothing else.

    >>> from rankgate.measurement.metrics.judged import block
    >>> pairwise_accuracy(block([[1, None, 1]]))  # one of two pairs
    array([0.5])
    """
    return pairwise_accuracy_steps(judged, cutoff=cutoff, rel=rel).value


def pairwise_accuracy_steps(
    judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1
) -> Steps:
    """Relevant documents, each weighed by the share of the others that are below it."""
    hits = judged.hits(rel) & (cutoff_weight(judged, cutoff) > 0)
    hit_counts = np.cumsum(hits, axis=-1)
    shown_count = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    other_count = shown_count - hit_counts[:, -1]
    others_above = judged.rank - hit_counts
    below = np.where(hits, other_count[:, None] - others_above, 0).astype(np.float64)
    share = ratio(below, np.broadcast_to(other_count[:, None], below.shape))
    norm = np.where(other_count > 0, hit_counts[:, -1], 0).astype(np.float64)
    return Steps(
        relevance_gain(judged, rel),
        np.nan_to_num(share),
        norm,
        weighed="others below",
        divisor="relevant",
    )


Accuracy = Metric(
    "Accuracy",
    pairwise_accuracy,
    title="The share of pairs retrieved whose relevant document is above the other.",
    formula="Accuracy@k = |pairs (relevant above other)| / |pairs (relevant, other)|",
    aliases=("pairwise_accuracy",),
    steps=pairwise_accuracy_steps,
    source="ir_measures",
    sees="the order of relevant documents and others, each pair as much as any",
    blind_to="relevant documents that were not retrieved, grades above rel, and whether the "
    "pairs are at the top or far below",
    prefix_only=True,
)
