"""Random judgments and rankings over them: ties, holes, missing and unknown queries."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

QUERIES = ["q1", "q10", "q2", "é", "Q2"]
DOCUMENTS = ["a", "B", "b", "b1", "ä", "z9", "10", "9"]

pairs = st.tuples(st.sampled_from(QUERIES), st.sampled_from(DOCUMENTS))
grades = st.dictionaries(pairs, st.integers(-1, 3), min_size=1)
scores = st.dictionaries(pairs, st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.0000000001, -3.0, 1e300]))


def fewer_examples(count):
    """Settings with this number of examples, but not in ``make explore``."""
    return settings.default if settings.default.max_examples > 100 else settings(max_examples=count)


def nested(flat):
    """``{(query, doc): number}`` as ``{query: {doc: number}}``, in the same order."""
    table = {}
    for (query, document), number in flat.items():
        table.setdefault(query, {})[document] = float(number)
    return table


@st.composite
def collections(draw):
    """``(qrels, run)`` as dicts of dicts with at least one query in common."""
    judged = draw(grades)
    ranked = draw(scores)
    (query, document), _ = next(iter(judged.items()))
    ranked.setdefault((query, document), 0.25)
    order = draw(st.permutations(list(ranked)))
    return nested(judged), nested({pair: ranked[pair] for pair in order})
