"""Q-measure: average precision for grades."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.graded.gains import Gain, ideal_gains, retrieved_gains
from rankgate.measurement.metrics.judged import Flags, Floats, Judged
from rankgate.measurement.metrics.steps import Steps, cutoff_weight


def q_measure(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    beta: Annotated[float, Range(0)] = 1.0,
    gain: Gain = "linear",
) -> Floats:
    """Mean over the relevant documents of the blended ratio at the rank of each.

        Q@k = 1/min(k, R) · Σ_{relevant at rank i ≤ k} (Cᵢ + β·cgᵢ) / (i + β·cg*ᵢ)

    with Cᵢ relevant documents up to rank i, cgᵢ the gains up to there, cg*ᵢ those of the
    ideal ranking.

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.
        beta: how much grades matter; 0 is average precision.
        gain: what a grade is worth, as in nDCG.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> q_measure(block([[1, 3]]))  # ((1 + 1)/(1 + 3) + (2 + 4)/(2 + 4)) / 2
    array([0.75])
    """
    return q_measure_steps(judged, cutoff=cutoff, rel=rel, beta=beta, gain=gain).value


def blended_ratio(judged: Judged, hits: Flags, gain: Gain, beta: float) -> Floats:
    """The blended ratio at the rank of each row, ``(T, J)``: (C + β·cg) / (i + β·cg*)."""
    ideal_sums = np.cumsum(ideal_gains(judged, gain), axis=-1)
    ideal_column = np.minimum(judged.rank, ideal_sums.shape[-1]) - 1
    ideal = np.take_along_axis(ideal_sums, ideal_column, axis=-1)
    cumulated_gain = np.cumsum(retrieved_gains(judged, gain), axis=-1)
    ratio: Floats = (np.cumsum(hits, axis=-1) + beta * cumulated_gain) / (
        judged.rank + beta * ideal
    )
    return ratio


def q_measure_steps(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    beta: Annotated[float, Range(0)] = 1.0,
    gain: Gain = "linear",
) -> Steps:
    """Relevant documents, each weighed by the blended ratio at its rank."""
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    ratios = blended_ratio(judged, hits, gain, beta)
    relevant_count = judged.relevant if cutoff is None else np.minimum(judged.relevant, cutoff)
    return Steps(
        hits.astype(np.float64),
        cutoff_weight(judged, cutoff) * ratios,
        relevant_count.astype(np.float64),
        weighed="blended ratio",
        divisor="R" if cutoff is None else "min(k, R)",
    )


Q = Metric(
    "Q",
    q_measure,
    title="The mean, over all relevant documents, of the blended ratio at the rank of each.",
    formula="Q@k = 1/min(k, R) · Σ_{relevant at rank i ≤ k} (Cᵢ + β·cgᵢ) / (i + β·cg*ᵢ)",
    aliases=("QMeasure", "Q-measure"),
    steps=q_measure_steps,
    source="Sakai & Robertson, EVIA 2008; Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055",
    sees="the rank of every relevant document as AP does, and the grades",
    blind_to="unjudged documents, which count as not relevant",
    prefix_only=True,
    bounds="safe",
)
