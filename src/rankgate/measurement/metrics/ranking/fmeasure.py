"""The F measure at a cutoff: precision and recall in one number."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, count
from rankgate.measurement.metrics.steps import Steps, cutoff_weight, relevance_gain


def f_measure(
    judged: Judged, *, cutoff: Cutoff, beta: Annotated[float, Range(0)] = 1.0, rel: float = 1
) -> Floats:
    """Weighted harmonic mean of P@k and R@k; recall weighs beta times as much.

        F@k = (1 + β²)·P·R / (β²·P + R) = (1 + β²)·|relevant at ranks ≤ k| / (β²·R + k)

    where the second R is the number of relevant documents.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> f_measure(block([[1, 0, None, 1]]), cutoff=4)  # P = 1/2, R = 1
    array([0.66666667])
    """
    judged = judged.at_level(rel)
    hits = count(judged.hits(rel, cutoff))
    weight = beta * beta
    value: Floats = (1 + weight) * hits / (weight * judged.relevant + cutoff)
    return np.where(judged.relevant > 0, value, np.nan)


def f_measure_steps(
    judged: Judged, *, cutoff: Cutoff, beta: Annotated[float, Range(0)] = 1.0, rel: float = 1
) -> Steps:
    """The F measure as weighted hits over what they are counted against."""
    relevant, weight = judged.at_level(rel).relevant, beta * beta
    return Steps(
        relevance_gain(judged, rel),
        (1 + weight) * cutoff_weight(judged, cutoff),
        np.where(relevant > 0, weight * relevant + cutoff, 0),
        weighed="1 + β²",
        divisor="β²·R + k",
    )


F = Metric(
    "F",
    f_measure,
    title="The weighted harmonic mean of precision and recall at k.",
    formula="F@k = (1 + β²)·P@k·R@k / (β²·P@k + R@k)",
    aliases=("F1", "f_measure", "f1_score"),
    steps=f_measure_steps,
    source="van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7",
    sees="how many of the first k are relevant, against both k and the number of relevant",
    blind_to="the order within the first k and the grades above rel",
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="safe",
)
