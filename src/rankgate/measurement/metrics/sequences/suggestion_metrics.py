"""Suggestions while a query is typed, and corrections of what was typed."""

from typing import Annotated

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.sequences.sequence import SequenceMetric, Sequences

Letters = Annotated[int, Range(0)]


def prefix_rr(sequences: Sequences, *, length: Letters, cutoff: Cutoff | None = None) -> Floats:
    """One over the rank of the query that a user means, after so many letters.

        PrefixRR@n = 1 / rank of the intended query after n letters, 0 if it is not shown

    Args:
        sequences: the intended queries; the lists of each are those after so many letters.
        length: n.
        cutoff: suggestions shown at most.

    Returns:
        ``(G,)``; NaN for a query without a list after n letters.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> typed = sequences(
    ...     [[[("cat", None), ("car", 1)], [("car", 1)]]], letters=np.array([3]),
    ...     position=np.array([[1.0, 2.0]]),
    ... )
    >>> prefix_rr(typed, length=1), prefix_rr(typed, length=2), prefix_rr(typed, length=3)
    (array([0.5]), array([1.]), array([nan]))
    """
    rank = _ranks(sequences, cutoff)
    has_list = (sequences.position == length) & _has_ranking(sequences)
    value = np.where(has_list, 1 / rank, 0).max(axis=1)
    return np.where(has_list.any(axis=1), value, np.nan)


def keystrokes_saved(sequences: Sequences, *, cutoff: Cutoff | None = None) -> Floats:
    """The share of a query's letters that need not be typed until it is suggested.

        KeystrokesSaved@k = 1 − letters typed until the query is in the first k / its letters

    Arguments as of `PrefixRR`. 0 for a query that is never suggested.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> typed = sequences(
    ...     [[[("cart", None), ("cars", 1)], [("cars", 1)]]], letters=np.array([4]),
    ...     position=np.array([[1.0, 2.0]]),
    ... )
    >>> keystrokes_saved(typed), keystrokes_saved(typed, cutoff=1)
    (array([0.75]), array([0.5]))
    """
    letters = _letters(sequences)
    is_suggested = np.isfinite(_ranks(sequences, cutoff))
    typed_letters = np.where(is_suggested, sequences.position, letters[:, None]).min(axis=1)
    return np.clip(1 - typed_letters / np.maximum(letters, 1), 0, None)


def minimum_keystrokes(sequences: Sequences, *, cutoff: Cutoff | None = None) -> Floats:
    """The fewest keys that bring a user to the query: letters, then one key for each rank.

        MinKeystrokes = min( letters, min over prefixes of letters typed + rank )

    Arguments as of `PrefixRR`.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> typed = sequences(
    ...     [[[("cart", None), ("cars", 1)], [("cars", 1)]]], letters=np.array([4]),
    ...     position=np.array([[1.0, 2.0]]),
    ... )
    >>> minimum_keystrokes(typed)  # c, down, down; or c, a, down
    array([3.])
    """
    keys = np.where(_has_ranking(sequences), sequences.position + _ranks(sequences, cutoff), np.inf)
    return np.minimum(keys.min(axis=1), _letters(sequences))


def correction_accuracy(sequences: Sequences) -> Floats:
    """1 for a query that is right after its correction; a query without one stays as it was.

    Args:
        sequences: the queries; the documents of a query are the corrections shown, the judged ones
            are right texts, and a document with the id of the query is the query as it was.

    Returns:
        ``(G,)``, 1 or 0.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> queries = sequences(  # one corrected, one not, and a right one that was changed
    ...     [[[("cat", 1)]], [[]], [[("bet", None)]]], [[1], [1], [1]],
    ...     right=np.array([False, False, True]), same=np.zeros((3, 1, 1), bool),
    ... )
    >>> correction_accuracy(queries)
    array([1., 0., 0.])
    >>> correction_precision(queries), correction_recall(queries), false_alarms(queries)
    (array([ 1., nan,  0.]), array([ 1.,  0., nan]), array([nan, nan,  1.]))
    """
    is_changed, is_right = _correction_flags(sequences)
    return np.where(is_changed, is_right, _is_right(sequences)).astype(float)


def correction_precision(sequences: Sequences) -> Floats:
    """The share of the corrections that are right; NaN for a query that was left alone.

    Arguments as of `CorrectionAccuracy`.
    """
    is_changed, is_right = _correction_flags(sequences)
    return np.where(is_changed, is_right.astype(float), np.nan)


def correction_recall(sequences: Sequences) -> Floats:
    """The share of the wrong queries that were corrected; NaN for a query that was right.

    Arguments as of `CorrectionAccuracy`.
    """
    is_changed, is_right = _correction_flags(sequences)
    return np.where(_is_right(sequences), np.nan, (is_changed & is_right).astype(float))


def false_alarms(sequences: Sequences) -> Floats:
    """The share of the right queries that were changed; NaN for a query that was wrong.

    Arguments as of `CorrectionAccuracy`.
    """
    is_changed, _ = _correction_flags(sequences)
    return np.where(_is_right(sequences), is_changed.astype(float), np.nan)


def _has_ranking(sequences: Sequences) -> Flags:
    """True for rankings that exist, ``(G, Q)``."""
    return np.arange(sequences.doc.shape[1]) < sequences.calls[:, None]


def _letters(sequences: Sequences) -> Floats:
    """The letters of each query."""
    if sequences.letters is None:
        return sequences.calls.astype(float)
    return sequences.letters.astype(float)


def _ranks(sequences: Sequences, cutoff: int | None) -> Floats:
    """The rank of the first relevant document of each ranking, infinite for none, ``(G, Q)``."""
    hits = sequences.within(cutoff) & sequences.hits(1)
    return np.where(hits.any(axis=-1), hits.argmax(axis=-1) + 1.0, np.inf)


def _correction_flags(sequences: Sequences) -> tuple[Flags, Flags]:
    """Flags of changed queries, and of queries with a right first correction, ``(G,)`` each."""
    first = sequences.is_filled[:, 0, 0]
    is_changed: Flags = first & ~sequences.same[:, 0, 0]
    is_right: Flags = first & sequences.hits(1)[:, 0, 0]
    return is_changed, is_right


def _is_right(sequences: Sequences) -> Flags:
    """True for queries that were right as typed, ``(G,)``."""
    if sequences.right is None:
        return np.zeros(len(sequences.calls), bool)
    return sequences.right


_SUGGESTED = "Kharitonov et al., SIGIR 2013, doi:10.1145/2484028.2484041"
_SPELLING = "Kukich, ACM Computing Surveys 24(4), 1992, doi:10.1145/146370.146380"

PrefixRR = SequenceMetric(
    "PrefixRR",
    prefix_rr,
    title="One over the rank of the intended query after so many letters.",
    formula="PrefixRR@n = 1 / rank after n letters, 0 if it is not shown",
    at="length",
    source="MRR of completions, Bar-Yossef & Kraus, WWW 2011, doi:10.1145/1963405.1963424",
    sees="the rank of the intended query after n letters",
    blind_to="all other lengths of the prefix",
    undefined=True,
)
KeystrokesSaved = SequenceMetric(
    "KeystrokesSaved",
    keystrokes_saved,
    title="The share of a query's letters that need not be typed until it is suggested.",
    formula="KeystrokesSaved@k = 1 − letters typed until it is in the first k / letters",
    source=f"pSaved and eSaved of a user who takes it at once, {_SUGGESTED}",
    sees="the number of letters until the intended query is shown",
    blind_to="its rank among the first k",
)
MinKeystrokes = SequenceMetric(
    "MinKeystrokes",
    minimum_keystrokes,
    title="The fewest keys to a query: letters typed, then one key for each rank.",
    formula="MinKeystrokes = min(letters, min over prefixes of letters typed + rank)",
    low=0.0,
    high=None,
    higher_is_better=False,
    source="minimum keystrokes, Duan & Hsu, WWW 2011, doi:10.1145/1963405.1963425",
    sees="the letters and the rank at which the intended query is shown",
    blind_to="the attention of users to suggestions",
    undefined=True,
)
CorrectionAccuracy = SequenceMetric(
    "CorrectionAccuracy",
    correction_accuracy,
    title="The share of queries that are right after correction.",
    formula="CorrectionAccuracy = queries right after correction / queries",
    at=None,
    source=_SPELLING,
    sees="wrong queries left alone, and right ones changed",
    blind_to="the kind of error; suggestions below the first",
)
CorrectionP = SequenceMetric(
    "CorrectionP",
    correction_precision,
    title="The share of corrections that are right.",
    formula="CorrectionP = right corrections / corrections",
    at=None,
    source=_SPELLING,
    sees="corrections that are wrong, or were not needed",
    blind_to="wrong queries left alone; suggestions below the first",
    undefined=True,
)
CorrectionR = SequenceMetric(
    "CorrectionR",
    correction_recall,
    title="The share of wrong queries that were corrected.",
    formula="CorrectionR = right corrections of wrong queries / wrong queries",
    at=None,
    source=_SPELLING,
    sees="wrong queries left alone, or changed into other wrong ones",
    blind_to="right queries that were changed; suggestions below the first",
    undefined=True,
)
FalseAlarm = SequenceMetric(
    "FalseAlarm",
    false_alarms,
    title="The share of right queries that were changed.",
    formula="FalseAlarm = right queries that were changed / right queries",
    at=None,
    higher_is_better=False,
    source=_SPELLING,
    sees="corrections of queries that needed none",
    blind_to="wrong queries",
    undefined=True,
)
