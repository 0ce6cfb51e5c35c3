"""Preferences: values by hand, names, and judgments that contradict each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError, UsageError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.trec.trec_eval import trec_eval

RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}


def test_grades_are_preferences_for_higher_ones():
    qrels = {"q": {"a": 1, "b": 2, "c": 0, "d": 2}}
    names = ["prefs_simp", "prefs_simp_ret", "prefs_num_prefs_poss", "prefs_simp(over='implied')"]
    row = evaluate(qrels, RUN, names).means.row(0)[1:]
    # b > a, d > a, a > c, b > c, d > c; a > c and b > c are fulfilled
    assert row == pytest.approx((2 / 5, 2 / 3, 5, 2 / 5))


def values(tmp_path, text, *metrics, **options):
    path = tmp_path / "prefs.txt"
    path.write_text(text)
    return trec_eval(path, RUN, metrics, relevance="prefs", **options)


def test_preferences_follow_from_others_of_their_group(tmp_path):
    two = "q g 1 a 2\nq g 1 b 1\nq g 2 b 2\nq g 2 c 1\n"
    assert values(tmp_path, two, "prefs").mean("prefs_num_prefs_poss") == 3


def test_groups_may_contradict_each_other(tmp_path):
    text = "q g 1 a 2\nq g 1 b 1\nq h 1 b 2\nq h 1 a 1\nq h 1 c 1\n"
    scores = values(tmp_path, text, "all_prefs")
    assert scores.mean("prefs_simp") == pytest.approx(2 / 3)
    assert scores.mean("prefs_pair") == pytest.approx((1 / 2 + 1) / 2)
    assert scores.mean("prefs_avgjg") == pytest.approx((1 + 1 / 2) / 2)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("q g 1 a 2\nq g 1 b 1\nq g 2 b 2\nq g 2 a 1\n", "preference-cycle", None),
        ("q g 1 a 2\nq g 1 b 1\nq g 2 b 2\nq g 2 a 0\n", "contradicting-preferences", None),
        ("q g 1 a 2\nq g 1 a 1\n", "duplicate-document", 2),
        ("q g 1 a 2\nq g 1 b\n", "wrong-field-count", 2),
        ("q g 1 a 2\nq g 1 b high\n", "not-a-number", 2),
    ],
)
def test_preferences_that_cannot_be_used_are_refused(tmp_path, text, code, line):
    with pytest.raises(InputError) as error:
        values(tmp_path, text, "prefs")
    assert (error.value.code, error.value.line) == (code, line)


def test_a_metric_without_values_in_a_format_is_refused(tmp_path):
    with pytest.raises(UsageError) as error:
        values(tmp_path, "q g 1 a 2\n", "map")
    assert error.value.code == "unsupported-metric"


def test_compatibility_has_an_ideal_of_preferences(tmp_path):
    # by two judges c is preferred to a and a to b; by a third b to c: leads 1, 0, -1
    text = "".join(f"q {judge} 1 c 2\nq {judge} 1 a 1\nq {judge} 2 a 2\nq {judge} 2 b 1\n" for judge in "gh")
    text += "q i 1 b 2\nq i 1 c 1\n"
    half = 0.5
    # the closure of g and h has c above b too: c, a, b; the ranking is a, b, c
    shared = half * 1 / 2 + half**2 * 3 / 3
    assert values(tmp_path, text, "prefs_compat.p=0.5").mean("prefs_compat_p=0.5") == pytest.approx(
        shared / (1 + half + half**2)
    )


@given(
    st.lists(st.sampled_from([-1, 0, 0, 1, 2, 3]), min_size=1, max_size=9),
    st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4),
    st.integers(0, 3),
)
def test_compatibility_of_grades_is_that_of_compat(ranked, missed, unjudged):
    qrels = {f"d{i}": grade for i, grade in enumerate(ranked)}
    qrels |= {f"m{i}": grade for i, grade in enumerate(missed)}
    run = {f"u{i}": 99.5 - 2 * i for i in range(unjudged)}
    run |= {f"d{i}": 99.0 - i for i in range(len(ranked))}
    names = ["prefs_compat(p=0.8)", "Compat(p=0.8)"]
    prefs_value, compat_value = evaluate({"q": qrels}, {"q": run}, names).means.row(0)[1:]
    assert prefs_value == pytest.approx(compat_value)
