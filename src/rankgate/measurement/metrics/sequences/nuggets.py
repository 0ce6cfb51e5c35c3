"""Metrics of answers: recall of nuggets, and support by citations."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged import Floats, ratio
from rankgate.measurement.metrics.sequences.declare import SequenceMetric
from rankgate.measurement.metrics.sequences.sequence import Sequences, count, total

VITAL, OKAY = 2, 1
"""The grades of nuggets."""
FULL = 2
"""The grade of a citation that supports a sentence fully; 1 is partly."""


def nugget_recall(
    sequences: Sequences,
    *,
    okay: Annotated[float, Range(0, 1)] = 0,
    strict: bool = False,
) -> Floats:
    """The share of the nuggets that an answer says.

        NuggetR = Σ wₙ · support(n) / Σ wₙ,  w = 1 for vital nuggets, `okay` for the others

    The documents of a query are its nuggets, graded 2 (vital) or 1 (okay); the score of a nugget
    in the run is how far the answer supports it: 1, 0.5 (in part) or 0.

    Args:
        sequences: the tasks.
        okay: the weight of nuggets that are okay: 0 is the score of vital nuggets (V), 1 of all
            (A), 0.5 the weighted one (W) of the TREC RAG track.
        strict: whether support in part counts nothing.

    Returns:
        ``(G,)``; NaN for a task without nuggets of a weight.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> answer = sequences(
    ...     [[[("a", 2), ("b", 2), ("c", 1)]]], score=np.array([[[1, 0.5, 1]]])
    ... )
    >>> nugget_recall(answer), nugget_recall(answer, strict=True)  # (1 + 0.5) / 2, 1 / 2
    (array([0.75]), array([0.5]))
    >>> nugget_recall(answer, okay=0.5)  # (1 + 0.5 + 0.5) / 2.5
    array([0.8])
    """
    support = np.where(sequences.score >= 1, 1.0, 0.0 if strict else sequences.score.clip(0))
    weight = np.where(sequences.grade >= VITAL, 1.0, np.where(sequences.grade >= OKAY, okay, 0.0))
    pool = np.where(sequences.ideal >= VITAL, 1.0, np.where(sequences.ideal >= OKAY, okay, 0.0))
    return ratio(total(weight * support), total(pool))


def support_precision(
    sequences: Sequences, *, first: bool = True, partial: Annotated[float, Range(0, 1)] = 0.5
) -> Floats:
    """The share of the citations of an answer that support their sentences.

        SupportP = Σ support(citation) / citations

    Each sentence of an answer is a ranking, its citations are the documents, graded 2 (full
    support), 1 (partial) or 0 (none); a citation without a judgment supports nothing.

    Args:
        sequences: the answers.
        first: whether only the first citation of each sentence counts, as in the TREC RAG track.
        partial: what partial support counts.

    Returns:
        ``(G,)``; NaN for an answer without citations.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> answer = sequences([[[("a", 2), ("b", 0)], [("a", 1)], []]])
    >>> support_precision(answer), support_recall(answer)  # (1 + 0.5) / 2, (1 + 0.5) / 3
    (array([0.75]), array([0.5]))
    """
    is_used = sequences.within(1 if first else None)
    return ratio(total(np.where(is_used, _support(sequences, partial), 0)), count(is_used))


def support_recall(
    sequences: Sequences, *, first: bool = True, partial: Annotated[float, Range(0, 1)] = 0.5
) -> Floats:
    """The share of the sentences of an answer that their citations support.

        SupportR = Σ support(sentence) / sentences,  by the best citation that counts

    Args:
        sequences: the answers, as of `SupportP`.
        first: whether only the first citation of each sentence counts, as in the TREC RAG track.
        partial: what partial support counts.

    Returns:
        ``(G,)``; NaN for an answer without sentences.
    """
    is_used = sequences.within(1 if first else None)
    best_support = np.where(is_used, _support(sequences, partial), 0).max(axis=-1)
    return ratio(total(best_support), sequences.calls)


def _support(sequences: Sequences, partial: float) -> Floats:
    """The support of each citation, ``(G, Q, K)``."""
    partial_support = np.where(sequences.grade > 0, partial, 0.0)
    return np.where(sequences.grade >= FULL, 1.0, partial_support)


NuggetR = SequenceMetric(
    "NuggetR",
    nugget_recall,
    title="The share of the nuggets that an answer says.",
    formula="NuggetR(okay=w) = Σ w·support / Σ w; vital nuggets weigh 1",
    at=None,
    source="Pradeep et al., The Great Nugget Recall, SIGIR 2025, arXiv 2504.15068",
    sees="which facts an answer has, wholly or in part",
    blind_to="what else it says, whether it is true, and how long it is",
)
SupportP = SequenceMetric(
    "SupportP",
    support_precision,
    title="The share of the citations of an answer that support their sentences.",
    formula="SupportP = Σ support / citations; full support is 1, partial 0.5",
    at=None,
    source="Thakur et al., Support Evaluation for the TREC 2024 RAG Track, arXiv 2504.15205",
    sees="citations that do not say what the sentence says",
    blind_to="sentences without a citation",
    undefined=True,
)
SupportR = SequenceMetric(
    "SupportR",
    support_recall,
    title="The share of the sentences of an answer that their citations support.",
    formula="SupportR = Σ support / sentences; full support is 1, partial 0.5",
    at=None,
    source="Thakur et al., Support Evaluation for the TREC 2024 RAG Track, arXiv 2504.15205",
    sees="sentences that nothing supports",
    blind_to="citations too many, where another supports the sentence",
)
