"""Numbers with their nouns: a message about one row does not say "1 rows"."""

from types import SimpleNamespace

import pytest

from rankgate.core.present.number_formats import count_noun, count_plural
from rankgate.decisions.gating.rule import Drift
from rankgate.engines.snapshots.snapshot import INCOMPLETE_LISTS, Lists
from rankgate.measurement.evaluation.lists.list_inputs import unjudged_users_notice, zero_grades_notice


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("query", "queries"),
        ("row", "rows"),
        ("search", "searches"),
        ("day", "days"),
        ("rating task", "rating tasks"),
        ("judge", "judges"),
    ],
)
def test_a_noun_is_singular_after_one_only(singular, plural):
    assert count_noun(1, singular) == count_plural(1, plural) == f"1 {singular}"
    for count, digits in ((0, "0"), (2, "2"), (1_000, "1,000")):
        assert count_noun(count, singular) == count_plural(count, plural) == f"{digits} {plural}"


def test_a_verb_agrees_with_its_noun():
    assert count_noun(1, "row has", "rows have") == "1 row has"
    assert count_noun(3, "row has", "rows have") == "3 rows have"


def _snapshot_texts(count):
    lists = Lists(repeated=count, unusable=count, unusable_example="''", partial=count)
    result = SimpleNamespace(lists=lists, depth=10, plain_secrets=())
    return [notice.text for entry in INCOMPLETE_LISTS for notice in entry.notices(result)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            _snapshot_texts(1),
            [
                "1 answer may lack documents ()",
                "1 document appears again in one answer; the first position counts",
                "1 document was left out, as it has no id that a file can hold (such as '')",
            ],
        ),
        (
            _snapshot_texts(2),
            [
                "2 answers may lack documents ()",
                "2 documents appear again in one answer; the first position counts",
                "2 documents were left out, as they have no id that a file can hold (such as '')",
            ],
        ),
        (
            Drift(then=1, gone=("a",), new=("b",), regraded=1).description.split(", "),
            [
                "1 of its 1 query was removed",
                "1 query was added",
                "1 of the documents shown has another grade",
            ],
        ),
        (
            [unjudged_users_notice(1).split(";")[0]],
            ["metrics of lists count 1 served user without judgments"],
        ),
        ([zero_grades_notice(1, "ranx").split(" as ")[0]], ["1 judgment of grade 0 counts"]),
    ],
)
def test_messages_about_one_are_in_the_singular(texts, expected):
    assert texts == expected
