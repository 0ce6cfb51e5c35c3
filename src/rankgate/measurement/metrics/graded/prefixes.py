"""Means of nDCG over prefixes of the ranking."""

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.graded.gains import Gain, Levels, ideal_gains, retrieved_gains
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, count, ratio, total


def ndcg_at_relevant(judged: Judged, *, gain: Gain = "linear", levels: Levels = "exact") -> Floats:
    """Mean of nDCG@i over the ranks i of all documents with a gain.

        nDCGRel = 1/M · ( Σ_{retrieved with gain, at rank i} nDCG@i + missing · nDCG@n )

    with M judged documents of positive gain; those that are missing count at the
    end of the list, n, against the whole ideal.

    Returns:
        ``(T,)``; NaN where no judged document has a gain.

    >>> from rankgate.measurement.metrics.judged import block
    >>> ndcg_at_relevant(block([[1, 0, 1]])).round(4)  # (1 + (1 + 1/2) / (1 + 1/log₂3)) / 2
    array([0.9599])
    """
    gains = retrieved_gains(judged, gain)
    best_gains = ideal_gains(judged, gain, levels=levels)
    gain_sums, ideal = (
        np.cumsum(gains / np.log2(judged.rank + 1.0), axis=-1),
        _cumulated_dcg(best_gains),
    )
    has_gain = gains > 0
    prefix = np.take_along_axis(ideal, np.minimum(judged.rank, best_gains.shape[-1]) - 1, axis=-1)
    at_ranks = np.divide(
        gain_sums, prefix, out=np.zeros(gain_sums.shape), where=has_gain & (prefix > 0)
    )
    gain_count = count(best_gains > 0)
    missing_sum = (gain_count - count(has_gain)) * ratio(gain_sums[:, -1], ideal[:, -1])
    return ratio(total(at_ranks) + missing_sum, gain_count)


def ndcg_at_levels(
    judged: Judged, *, gain: Gain = "linear", levels: Levels = "exact", rel: float = 1
) -> Floats:
    """Mean of nDCG at the ranks where a perfect ranking steps down a level of gain.

        RnDCG = mean of nDCG@m over m = |judged with gain ≥ l|, for each gain l > 0,
                and over the length of the list where it is longer by two or more

    With one level of gain it is the counterpart of Rprec.

    Returns:
        ``(T,)``; NaN for a query without a relevant document or without a gain.

    >>> from rankgate.measurement.metrics.judged import block
    >>> ndcg_at_levels(block([[1, 0]], ideal=[[1, 1, 0]])).round(4)  # 1 / (1 + 1/log₂3)
    array([0.6131])
    """
    best_gains = ideal_gains(judged, gain, levels=levels)
    ideal = _cumulated_dcg(best_gains)
    terms = retrieved_gains(judged, gain) / np.log2(judged.rank + 1.0)
    value, points = np.zeros(len(best_gains)), np.zeros(len(best_gains), dtype=np.int64)
    for level in np.unique(best_gains[best_gains > 0])[::-1]:
        has_level = (best_gains == level).any(axis=-1)
        value += np.where(has_level, _ndcg_at(judged, terms, ideal, count(best_gains >= level)), 0)
        points += has_level
    longer = judged.retrieved > count(best_gains > 0) + 1
    value += np.where(longer, _ndcg_at(judged, terms, ideal, judged.retrieved), 0)
    undefined = (judged.at_level(rel).relevant == 0) | (ideal[:, -1] <= 0)
    return np.where(undefined, np.nan, ratio(value, points + longer))


def _cumulated_dcg(best_gains: Floats) -> Floats:
    """The discounted gain of each prefix of the ideal ranking, ``(T, I)``."""
    cumulated: Floats = np.cumsum(
        best_gains / np.log2(np.arange(2.0, best_gains.shape[-1] + 2)), axis=-1
    )
    return cumulated


def _ndcg_at(judged: Judged, terms: Floats, ideal: Floats, cutoffs: Counts) -> Floats:
    """The normalised discounted gain at a cutoff of each query's own, ``(T,)``."""
    gain_sum = total(np.where(judged.rank <= cutoffs[:, None], terms, 0))
    column = np.clip(cutoffs, 1, ideal.shape[-1])[:, None] - 1
    return ratio(gain_sum, np.take_along_axis(ideal, column, axis=-1)[:, 0])


_SOURCE = "trec_eval; after Järvelin & Kekäläinen, 2002, doi:10.1145/582415.582418"

nDCGRel = Metric(  # noqa: N816 after nDCG
    "nDCGRel",
    ndcg_at_relevant,
    title="The mean of nDCG at the ranks of all documents that have a gain.",
    formula="nDCGRel = 1/M · ( Σ_{with gain, at rank i} nDCG@i + missing · nDCG@n )",
    trec=("ndcg_rel",),
    at=None,
    source=_SOURCE,
    sees="grades and ranks of all judged documents, as AP sees ranks",
    blind_to="unjudged documents, which count as not relevant; rel has no effect on it",
)
RnDCG = Metric(
    "RnDCG",
    ndcg_at_levels,
    title="The mean of nDCG at the ranks where a perfect ranking steps down a grade.",
    formula="RnDCG = mean of nDCG@m over m = |judged with gain ≥ l|, for each gain l > 0",
    trec=("Rndcg",),
    at=None,
    source=_SOURCE,
    sees="whether each grade fills the places that are its own",
    blind_to="the order within those places; one more judgment moves the ranks it looks at",
)
