"""Metrics of sessions, and of variations of a topic.

A session is several queries for one need, each with a ranking, discounted by query and by
rank. Variations of a topic show how good the worst and the best of its queries are, and how
they vary.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.judged_block import ratio
from rankgate.measurement.metrics.sequences.sequence import NOTHING, SequenceMetric, Sequences, total

Probability = Annotated[float, Range(0, 1)]
Base = Annotated[float, Range(1.000001)]
Gain = Literal["exp", "linear", "binary"]
Discount = Literal["shifted", "added", "none"]


def session_dcg(
    sequences: Sequences,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "exp",
    base: Base = 2,
    query_base: Base = 4,
    discount: Discount = "shifted",
) -> Floats:
    """The DCG of the queries of a session, later queries discounted.

        sDCG = Σ_q 1 / log_bq(q + bq − 1) · Σ_r gain / log_b(r + b − 1)

    Args:
        sequences: the sessions.
        cutoff: documents of each query that count.
        gain: 2^grade − 1, the grade, or 1 for a grade of 1 or more.
        base: b, of the discount by rank; the greater, the more patient.
        query_base: bq, of the discount by query.
        discount: the discount by query: ``shifted`` as above (Kanoulas et al.), ``added`` 1 / (1 +
            log_bq q) (Järvelin et al.), or none.

    Returns:
        ``(G,)``; NaN for a session without a relevant document.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> session = sequences([[[("a", 1), ("b", 0)], [("c", 0), ("d", 2)]]])
    >>> session_dcg(session).round(4)  # 1 + 3 / log2(3) / log4(5)
    array([2.6304])
    >>> session_dcg(session, discount="added").round(4)  # 1 + 3 / log2(3) / (1 + log4(2))
    array([2.2619])
    """
    value = _dcg(sequences, cutoff, gain, base, query_base, discount)
    return np.where(sequences.relevant(1) > 0, value, np.nan)


def normalised_session_dcg(
    sequences: Sequences,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "exp",
    base: Base = 2,
    query_base: Base = 4,
    discount: Discount = "shifted",
) -> Floats:
    """The `sDCG` of a session as a share of that of a session with only ideal lists.

    Arguments and what has no value as of `sDCG`. The ideal list is the same for every query: all
    judged documents, the best first.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> normalised_session_dcg(sequences([[[("a", 2)], [("a", 2)]]]))
    array([1.])
    """
    ideal = np.where(np.arange(sequences.ideal.shape[1]) < sequences.judged[:, None], sequences.ideal, np.nan)
    ideal_dcg = _discounted_sums(_gains(ideal[:, None, :], gain), cutoff, base)[:, 0]
    is_query = np.arange(sequences.doc.shape[1]) < sequences.calls[:, None]
    weights = total(np.where(is_query, _query_weights(sequences, query_base, discount), 0))
    return ratio(_dcg(sequences, cutoff, gain, base, query_base, discount), ideal_dcg * weights)


def session_rbp(
    sequences: Sequences,
    *,
    p: Annotated[float, Range(0.000001, 0.999999)] = 0.8,
    b: Probability = 0.5,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    max_grade: Annotated[float, Range(0.000001)] | None = None,
) -> Floats:
    """Rank-biased precision of a session: a user goes on to the next document or the next query.

        sRBP = (1 − p) · Σ_q ((p − bp) / (1 − bp))^(q−1) · Σ_r (bp)^(r−1) · g

    Args:
        sequences: the sessions.
        p: persistence: how probably the user goes on at all.
        b: balance: with 1 only down the list of the first query, which is RBP; with 0 only to the
            next query.
        cutoff: documents of each query that count.
        rel: the smallest grade that counts as relevant, with a gain of 1.
        max_grade: the gain is the grade divided by it, at most 1, where it is given.

    Returns:
        ``(G,)``; NaN for a session without a relevant document.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> session = sequences([[[("a", 1), ("b", 0)], [("c", 0), ("d", 1)]]])
    >>> session_rbp(session, p=0.5, b=0.5).round(4)  # 1/2 · (1 + 1/3 · 1/4)
    array([0.5417])
    """
    within = sequences.within(cutoff)
    if max_grade is None:
        gain = sequences.hits(rel).astype(float)
    else:
        gain = np.clip(np.nan_to_num(sequences.grade) / max_grade, 0, 1)
    onward = ((p - b * p) / (1 - b * p)) ** np.arange(within.shape[1])
    down = (b * p) ** np.arange(within.shape[2])
    value = (1 - p) * total(np.where(within, gain, 0) * onward[:, None] * down)
    return np.where(sequences.relevant(rel) > 0, value, np.nan)


def expected_session_ndcg(
    sequences: Sequences,
    *,
    down: Probability = 0.8,
    reformulate: Probability = 0.5,
    cutoff: Cutoff | None = None,
    gain: Gain = "exp",
) -> Floats:
    """The nDCG of the documents that a user reads in a session, over all ways to read it.

    A user reads the first document of a query, each further one with the probability `down`, then
    asks the next query with the probability `reformulate`. The documents read form one list. Its
    DCG is divided by that of an ideal list of the same length.

        esNDCG = Σ_paths P(path) · DCG(path) / IDCG(|path|)

    It is computed as it is, not by drawing paths.

    Args:
        sequences: the sessions.
        down: the probability to read on.
        reformulate: the probability to ask the next query, as long as there is one.
        cutoff: documents of each query that are read at most.
        gain: 2^grade − 1, the grade, or 1 for a grade of 1 or more.

    Returns:
        ``(G,)``; NaN for a session without a relevant document.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> expected_session_ndcg(sequences([[[("a", 1)], [("b", 1)]]], [[1, 1]]))
    array([1.])
    """
    gains = np.where(sequences.within(cutoff), _gains(sequences.grade, gain), 0)
    lengths = np.count_nonzero(sequences.within(cutoff), axis=-1)
    ideal = _gains(np.where(sequences.ideal > 0, sequences.ideal, np.nan), gain)
    values = [
        _expected(session_gains[:calls], sizes[:calls], best_gains, down, reformulate)
        for session_gains, sizes, best_gains, calls in zip(
            gains, lengths, ideal, sequences.calls, strict=True
        )
    ]
    return np.where(sequences.relevant(1) > 0, np.array(values), np.nan)


def _expected(gains: Floats, lengths: Floats, ideal: Floats, down: float, reformulate: float) -> float:
    """The expectation for one session.

    For each number of documents read so far it holds the probability to be there, and the DCG
    expected there times that probability.
    """
    document_count = int(lengths.sum())
    discount = 1 / np.log2(np.arange(document_count) + 2)
    best_gains = np.zeros(document_count)
    best_gains[: min(document_count, len(ideal))] = ideal[:document_count]
    ideals = np.cumsum(best_gains * discount)
    chance, expected_dcg = np.zeros(document_count + 1), np.zeros(document_count + 1)
    chance[0] = 1.0
    value = 0.0
    for query_index, (query_gains, size) in enumerate(zip(gains, lengths, strict=True)):
        if size:
            chance, expected_dcg = _read_list(chance, expected_dcg, query_gains[: int(size)], discount, down)
        stops = 1.0 if query_index == len(gains) - 1 else 1 - reformulate
        has_ideal = ideals > 0
        value += stops * float(np.sum(expected_dcg[1:][has_ideal] / ideals[has_ideal]))
        chance, expected_dcg = chance * (1 - stops), expected_dcg * (1 - stops)
    return value


def _read_list(
    chance: Floats, expected_dcg: Floats, gains: Floats, discount: Floats, down: float
) -> tuple[Floats, Floats]:
    """Probabilities and expected DCG after a list was read, by how many documents were read."""
    size = len(gains)
    ends = down ** np.arange(size) * np.append(np.full(size - 1, 1 - down), 1.0)
    new_chance, new_dcg = np.zeros_like(chance), np.zeros_like(expected_dcg)
    for offset in np.flatnonzero(chance):
        gain_sums = np.cumsum(gains * discount[offset : offset + size])
        read_slice = slice(offset + 1, offset + size + 1)
        new_chance[read_slice] += chance[offset] * ends
        new_dcg[read_slice] += (expected_dcg[offset] + chance[offset] * gain_sums) * ends
    return new_chance, new_dcg


def _gains(grade: Floats, gain: str) -> Floats:
    """Gains of grades; 0 for no judgment and for grades below 0."""
    gains: Floats = np.maximum(np.nan_to_num(grade), 0)
    if gain == "binary":
        return (gains >= 1).astype(float)
    if gain == "exp":
        gains = np.exp2(gains) - 1
    return gains


def _discounted_sums(gains: Floats, cutoff: int | None, base: float) -> Floats:
    """Gains discounted by rank and added, ``(G, Q, K) -> (G, Q)``."""
    rank = np.arange(1, gains.shape[-1] + 1)
    discounted_gains = gains * np.log(base) / np.log(rank + base - 1)
    if cutoff is not None:
        discounted_gains = np.where(rank <= cutoff, discounted_gains, 0)
    return np.cumsum(discounted_gains, axis=-1)[..., -1]


def _query_weights(sequences: Sequences, base: float, discount: str) -> Floats:
    """The weight of each query of a session, ``(Q,)``."""
    query_number = np.arange(1, sequences.doc.shape[1] + 1)
    if discount == "none":
        return np.ones(len(query_number))
    weight: Floats = np.log(base) / np.log(query_number + base - 1)
    if discount == "added":
        weight = 1 / (1 + np.log(query_number) / np.log(base))
    return weight


def _dcg(
    sequences: Sequences, cutoff: int | None, gain: str, base: float, query_base: float, discount: str
) -> Floats:
    gains = np.where(sequences.doc != NOTHING, _gains(sequences.grade, gain), 0)
    return total(_discounted_sums(gains, cutoff, base) * _query_weights(sequences, query_base, discount))


_KANOULAS = "Kanoulas et al., SIGIR 2011, doi:10.1145/2009916.2010056"

SessionDCG = SequenceMetric(
    "sessionDCG",
    session_dcg,
    title="The DCG of all queries of a session, later queries discounted.",
    formula="sDCG = Σ_q 1 / log_bq(q + bq − 1) · Σ_r (2^grade − 1) / log_b(r + b − 1)",
    high=None,
    source=f"Järvelin et al., ECIR 2008, doi:10.1007/978-3-540-78646-7_4; {_KANOULAS}",
    sees="the documents that the queries of a session find, and their ranks",
    blind_to="documents that were seen in an earlier query; the number of relevant documents",
)
NSessionDCG = SequenceMetric(
    "nsessionDCG",
    normalised_session_dcg,
    title="The DCG of a session as a share of that of ideal lists for every query.",
    formula="nsDCG = sDCG / sDCG of the ideal list, repeated for every query",
    aliases=("nsDCG",),
    source=_KANOULAS,
    sees="the share of relevant documents that the queries of a session find",
    blind_to="documents that were seen in an earlier query",
)
SessionRBP = SequenceMetric(
    "sRBP",
    session_rbp,
    title="Rank-biased precision of a session in which the user reads on or sends another query.",
    formula="sRBP = (1−p) · Σ_q ((p−bp)/(1−bp))^(q−1) · Σ_r (bp)^(r−1) · g",
    source="Lipani et al., ICTIR 2019, doi:10.1145/3341981.3344216",
    sees="relevance weighted by the probability that a user gets that far in a session",
    blind_to="documents that were seen in an earlier query; the number of relevant documents",
)
ExpectedSessionNDCG = SequenceMetric(
    "esNDCG",
    expected_session_ndcg,
    title="The expected nDCG of the documents that a user reads in a session.",
    formula="esNDCG = Σ_paths P(path) · DCG(path) / IDCG(|path|)",
    source=f"{_KANOULAS}; Jiang & Allan, CHIIR 2016, doi:10.1145/2854946.2854957",
    sees="the documents read on the way through a session, in a row",
    blind_to="documents that were read before",
)


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
    return np.fmin.reduce(sequences.values[of], axis=1)


def best(sequences: Sequences, *, of: str = "nDCG@10") -> Floats:
    """The highest value that a metric has for any query of a topic.

    Arguments and what has no value as of `Worst`.
    """
    return np.fmax.reduce(sequences.values[of], axis=1)


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
    sees="the result for a user with the worst wording",
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
    sees="the result for a user with the best wording",
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
    sees="the effect of the wording of a query",
    blind_to="the quality of the answers",
    high=None,
    undefined=True,
)
