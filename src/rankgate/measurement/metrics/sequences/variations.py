"""Variations of a topic: how good the worst and the best of its queries are, and how they vary."""

import numpy as np

from rankgate.measurement.metrics.judged import Floats
from rankgate.measurement.metrics.sequences.declare import SequenceMetric
from rankgate.measurement.metrics.sequences.sequence import Sequences


def worst(sequences: Sequences, *, of: str = "nDCG@10") -> Floats:
    """The lowest value that a metric has for any query of a topic.

    Args:
        sequences: the topics.
        of: a metric of rankings, by its name.

    Returns:
        ``(G,)``; NaN where no query has a value.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> topic = sequences(
    ...     [[[("a", 1)], [("b", 0)]]], [[1]], values={"RR": np.array([[1.0, 0.0]])}
    ... )
    >>> worst(topic, of="RR"), best(topic, of="RR"), variance(topic, of="RR")
    (array([0.]), array([1.]), array([0.5]))
    """
    lowest: Floats = np.fmin.reduce(sequences.values[of], axis=1)
    return lowest


def best(sequences: Sequences, *, of: str = "nDCG@10") -> Floats:
    """The highest value that a metric has for any query of a topic.

    Arguments and what has no value as of `Worst`.
    """
    highest: Floats = np.fmax.reduce(sequences.values[of], axis=1)
    return highest


def variance(sequences: Sequences, *, of: str = "nDCG@10") -> Floats:
    """The variance of a metric over the queries of a topic.

        Variance = 1 / (n − 1) · Σ (v − mean)²

    Arguments as of `Worst`; NaN for a topic with fewer than two queries that have a value.
    """
    values = sequences.values[of]
    is_defined = ~np.isnan(values)
    n = np.count_nonzero(is_defined, axis=1)
    mean = np.where(is_defined, values, 0).sum(axis=1) / np.maximum(n, 1)
    squares = np.where(is_defined, (values - mean[:, None]) ** 2, 0).sum(axis=1)
    return np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)


_SOURCE = "query variations: Bailey et al., SIGIR 2016, doi:10.1145/2911451.2914671"

Worst = SequenceMetric(
    "Worst",
    worst,
    title="The lowest value of a metric over the queries of a topic.",
    formula="Worst(of=M) = min over the queries of a topic of M",
    at=None,
    source=_SOURCE,
    sees="what a user gets who asks in the worst way",
    blind_to="all other queries",
    high=None,
)
Best = SequenceMetric(
    "Best",
    best,
    title="The highest value of a metric over the queries of a topic.",
    formula="Best(of=M) = max over the queries of a topic of M",
    at=None,
    source=_SOURCE,
    sees="what a user gets who asks in the best way",
    blind_to="all other queries",
    high=None,
)
Variance = SequenceMetric(
    "Variance",
    variance,
    title="The variance of a metric over the queries of a topic.",
    formula="Variance(of=M) = 1/(n − 1) · Σ (M − mean)² over the queries of a topic",
    at=None,
    source=_SOURCE,
    higher_is_better=False,
    sees="how much the way of asking matters",
    blind_to="how good the answers are",
    high=None,
    undefined=True,
)
