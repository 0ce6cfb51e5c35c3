"""Metrics of a language model's context and of its answers: nuggets and citations.

Metrics of the context are precision, recall, redundancy and positions. Metrics of answers are
recall of nuggets, and support by citations.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.judged_block import ratio
from rankgate.measurement.metrics.sequences.sequence import SequenceMetric, Sequences, Tokens, count, total

Unit = Literal["documents", "tokens"]


def context_precision(
    sequences: Sequences,
    *,
    cutoff: Cutoff | None = None,
    tokens: Tokens | None = None,
    rel: float = 1,
    unit: Unit = "documents",
) -> Floats:
    """The share of a context that is relevant.

        ContextP = relevant documents in the context / documents in the context

    Args:
        sequences: the tasks; the contexts of all their rankings count together.
        cutoff: documents in the context at most.
        tokens: tokens in the context at most: the first document that does not fit ends it.
        rel: the smallest grade that counts as relevant.
        unit: ``tokens`` weighs documents by their lengths.

    Returns:
        ``(G,)``; NaN for a task without a relevant document; 0 for an empty context.

    Raises:
        UsageError: tokens, and no table has the lengths of documents.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> lengths = {"a": 300, "b": 500, "c": 400}
    >>> tasks = sequences([[[("a", 1), ("b", 0), ("c", 1)]]], tokens=lengths)
    >>> context_precision(tasks, tokens=1000)  # a and b fit
    array([0.5])
    >>> context_precision(tasks, tokens=1000, unit="tokens")  # 300 / 800
    array([0.375])
    """
    is_used = sequences.within(cutoff, tokens if unit == "documents" else tokens or _ENDLESS)
    hits = is_used & sequences.hits(rel)
    if unit == "tokens" and sequences.tokens is not None:
        relevant_sum, total_sum = (total(np.where(mask, sequences.tokens, 0)) for mask in (hits, is_used))
    else:
        relevant_sum, total_sum = count(hits).astype(float), count(is_used).astype(float)
    value = np.nan_to_num(ratio(relevant_sum, total_sum))
    return np.where(sequences.relevant(rel) > 0, value, np.nan)


def context_recall(
    sequences: Sequences, *, cutoff: Cutoff | None = None, tokens: Tokens | None = None, rel: float = 1
) -> Floats:
    """The share of the relevant documents that a context holds.

        ContextR = relevant documents in the context, each once / relevant documents

    Args:
        sequences: the tasks; the contexts of all their rankings count together.
        cutoff: documents in the context at most.
        tokens: tokens in the context at most: the first document that does not fit ends it.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(G,)``; NaN for a task without a relevant document.

    Raises:
        UsageError: tokens, and no table has the lengths of documents.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> lengths = {"a": 300, "b": 500, "c": 400}
    >>> tasks = sequences([[[("a", 1), ("b", 0), ("c", 1)]]], tokens=lengths)
    >>> context_recall(tasks, tokens=1000), context_recall(tasks, tokens=1200)
    (array([0.5]), array([1.]))
    """
    is_used = sequences.within(cutoff, tokens) & sequences.hits(rel)
    return ratio(count(sequences.new(is_used, of="source")), sequences.relevant(rel))


def redundancy(
    sequences: Sequences,
    *,
    cutoff: Cutoff | None = None,
    tokens: Tokens | None = None,
    by: Literal["documents", "passages"] = "passages",
) -> Floats:
    """The share of what a task shows that it has shown before.

        Redundancy = 1 − different documents / documents shown, over all rankings of a task

    Args:
        sequences: the tasks.
        cutoff: documents of each ranking at most.
        tokens: tokens of each ranking at most.
        by: ``passages`` are the same by their id; with ``documents`` two passages of one document
            are the same, too.

    Returns:
        ``(G,)``; NaN if no document is shown.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> redundancy(sequences([[[("a", 1), ("b", 0)], [("a", 1), ("c", 0)]]]))  # a twice
    array([0.25])
    """
    is_used = sequences.within(cutoff, tokens)
    field = "source" if by == "documents" else "doc"
    return 1 - ratio(count(sequences.new(is_used, of=field)), count(is_used))


def position_gain(
    sequences: Sequences,
    *,
    cutoff: Cutoff | None = None,
    tokens: Tokens | None = None,
    rel: float = 1,
    dip: Annotated[float, Range(0, 1)] = 0.5,
) -> Floats:
    """The share of a context that is relevant, where its middle counts less than its ends.

        PositionP = Σᵢ wᵢ · [gradeᵢ ≥ rel] / Σᵢ wᵢ,  wᵢ = 1 − 4 · dip · xᵢ · (1 − xᵢ),
        xᵢ = (i − 1) / (n − 1) from 0 at the beginning to 1 at the end; 0 if n = 1

    Args:
        sequences: the tasks.
        cutoff: documents in the context at most.
        tokens: tokens in the context at most.
        rel: the smallest grade that counts as relevant.
        dip: the loss of weight in the middle: 0 is `ContextP`, with 1 the very middle has weight 0.

    Returns:
        ``(G,)``; NaN for a task without a relevant document; 0 for an empty context.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> middle = sequences([[[("a", 0), ("b", 1), ("c", 0)]]])
    >>> position_gain(middle, dip=0.5)  # 0.5 / (1 + 0.5 + 1)
    array([0.2])
    """
    is_used = sequences.within(cutoff, tokens)
    size = np.count_nonzero(is_used, axis=-1)[..., None]
    position = np.arange(is_used.shape[-1]) / np.maximum(size - 1, 1)
    weight = np.where(is_used, 1 - 4 * dip * position * (1 - position), 0)
    value = np.nan_to_num(ratio(total(weight * (is_used & sequences.hits(rel))), total(weight)))
    return np.where(sequences.relevant(rel) > 0, value, np.nan)


def utility(
    sequences: Sequences,
    *,
    cutoff: Cutoff | None = None,
    tokens: Tokens | None = None,
    distraction: Annotated[float, Range(0)] = 1 / 3,
    discount: Literal["none", "log2"] = "none",
    form: Literal["sigmoid", "plain"] = "sigmoid",
) -> Floats:
    """The utility of a context for a language model, less the cost of distractors.

        UDCG = σ( 1/n · Σᵢ dᵢ · (max(gᵢ, 0) + γ · min(gᵢ, 0)) ),  σ(x) = 1 / (1 + e⁻ˣ)

    A grade g is the utility of a document: above 0 what it helps, below 0 what it distracts. The
    paper has ± (1 − the probability that the model abstains on the document alone), + if it is
    relevant.

    Args:
        sequences: the tasks.
        cutoff: documents in the context at most.
        tokens: tokens in the context at most.
        distraction: γ, the weight of grades below 0.
        discount: dᵢ: none, or 1 / log2(i + 1).
        form: ``plain`` is the sum itself, without σ and 1/n.

    Returns:
        ``(G,)``; of an empty context, also where nothing fits, σ(0) = 1/2, or 0 if ``plain``.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> context = sequences([[[("a", 0.9), ("b", -0.6), ("c", None)]]])
    >>> utility(context, form="plain").round(4)  # 0.9 − 0.6 / 3
    array([0.7])
    >>> utility(context).round(4)  # 1 / (1 + exp(−0.7 / 3))
    array([0.5581])
    """
    is_used = sequences.within(cutoff, tokens)
    grade = np.where(is_used, np.nan_to_num(sequences.grade), 0)
    utilities = np.maximum(grade, 0) + distraction * np.minimum(grade, 0)
    if discount == "log2":
        utilities = utilities / np.log2(np.arange(is_used.shape[-1]) + 2)
    value = total(utilities)
    if form == "plain":
        return value
    exponent = np.minimum(-value / np.maximum(count(is_used), 1), _LEAST)
    return 1 / (1 + np.exp(exponent))


_LEAST = 700.0  # a sigmoid is below 1e-304 from there on, and e to it is still a number
_ENDLESS = 2**53
"""A budget that everything fits: documents are weighed by lengths, and these must be known."""

ContextP = SequenceMetric(
    "ContextP",
    context_precision,
    title="The share of a context that is relevant, by a budget of documents or tokens.",
    formula="ContextP(tokens=B) = relevant documents in the first B tokens / documents there",
    source="precision, Kent et al., American Documentation 6(2), 1955, doi:10.1002/asi.5090060209, of the "
    "passages that fit a model's context",
    sees="the share of relevant text in the text that a model reads",
    blind_to="the order inside the context",
)
ContextR = SequenceMetric(
    "ContextR",
    context_recall,
    title="The share of the relevant documents that a context holds, by a budget.",
    formula="ContextR(tokens=B) = relevant documents in the first B tokens / relevant documents",
    source="recall, Kent et al., American Documentation 6(2), 1955, doi:10.1002/asi.5090060209, of the "
    "passages that fit a model's context",
    sees="the facts for an answer in the model's input",
    blind_to="the other content of the context, and the order inside it",
)
Redundancy = SequenceMetric(
    "Redundancy",
    redundancy,
    title="The share of the documents that were shown before, in the same task.",
    formula="Redundancy = 1 − different documents / documents shown; no value if no document is shown",
    source="Clarke et al., SIGIR 2008, doi:10.1145/1390334.1390446: a document seen again adds nothing",
    higher_is_better=False,
    sees="the same document again, in one ranking or in several",
    blind_to="relevance; two texts with the same content under different ids",
    undefined=True,
)
PositionP = SequenceMetric(
    "PositionP",
    position_gain,
    title="The share of a context that is relevant, where its middle counts less.",
    formula="PositionP = Σ w·rel / Σ w, w = 1 − 4·dip·x·(1−x), x from 0 (begin) to 1 (end)",
    source="the effect: Liu et al., TACL 12, 2024, doi:10.1162/tacl_a_00638; the weights are ours",
    sees="the position of relevant documents: at the beginning or the end of the context",
    blind_to="the strength of the effect for a given model; set dip to it",
)
UDCG = SequenceMetric(
    "UDCG",
    utility,
    title="Utility of a context less the distraction by documents with negative grades.",
    formula="UDCG = σ(1/n · Σ (max(g, 0) + γ·min(g, 0))), γ = 1/3; 1/2 for an empty context",
    source="Trappolini et al., arXiv 2510.21440, 2025",
    low=-np.inf,
    high=None,
    sees="grades above 0 as help, and grades below 0 as harm",
    blind_to="the effect of one document on the value of another",
)


VITAL, OKAY = 2, 1
"""The grades of nuggets."""
FULL = 2
"""The grade of a citation that supports a sentence fully; 1 is partly."""


def nugget_recall(
    sequences: Sequences, *, okay: Annotated[float, Range(0, 1)] = 0, strict: bool = False
) -> Floats:
    """The share of the nuggets that an answer contains.

        NuggetR = Σ wₙ · support(n) / Σ wₙ,  w = 1 for vital nuggets, `okay` for the others

    The documents of a query are its nuggets, graded 2 (vital) or 1 (okay); the score of a nugget
    in the run is how far the answer supports it: 1, 0.5 (in part) or 0.

    Args:
        sequences: the tasks.
        okay: the weight of nuggets that are okay: 0 is the score of vital nuggets (V), 1 of all
            (A), 0.5 the weighted one (W) of the TREC RAG track.
        strict: True if support in part counts nothing.

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
        first: True if only the first citation of each sentence counts, as in the TREC RAG track.
        partial: the value of partial support.

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
        first: True if only the first citation of each sentence counts, as in the TREC RAG track.
        partial: the value of partial support.

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
    title="The share of the nuggets that an answer contains.",
    formula="NuggetR(okay=w) = Σ w·support / Σ w; vital nuggets weigh 1",
    at=None,
    source="Pradeep et al., The Great Nugget Recall, SIGIR 2025, arXiv 2504.15068",
    sees="the facts in an answer, wholly or in part",
    blind_to="its other content, its truth, and its length",
)
SupportP = SequenceMetric(
    "SupportP",
    support_precision,
    title="The share of the citations of an answer that support their sentences.",
    formula="SupportP = Σ support / citations; full support is 1, partial 0.5",
    at=None,
    source="Thakur et al., Support Evaluation for the TREC 2024 RAG Track, arXiv 2504.15205",
    sees="citations that do not support the claim of the sentence",
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
    blind_to="superfluous citations, where another one supports the sentence",
)
