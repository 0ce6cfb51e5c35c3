"""The number of relevant documents for a recall that needs a fraction of a document."""

import pytest

import rankgate

QRELS = {"q": {"a": 1, "b": 1, "c": 1}}
RUN = {"q": {"a": 9.0, "x": 8.0, "y": 7.0, "b": 6.0}}


@pytest.mark.parametrize(
    ("recall", "value"),
    [
        (0.4, 1 / 1),  # 1.2 documents: one, at rank 1
        (0.5, 2 / 4),  # 1.5 documents: two, as halves are rounded up
        (0.6, 2 / 4),  # 1.8 documents: two
        (0.9, 0.0),  # 2.7 documents: three, and one is missed
    ],
)
def test_halves_of_a_document_are_rounded_up(recall, value):
    row = rankgate.evaluate(QRELS, RUN, [f"IPrec@{recall}"]).means.row(0)
    assert row[-1] == value
