"""The choices on which two conventions differ."""

from rankgate.measurement.scoring.presets import convention, differing_choices


def test_equal_conventions_differ_in_nothing():
    assert differing_choices(convention("trec").axes, convention("trec").axes) == {}


def test_choices_have_both_values():
    first = {"ties": "id", "gain": "linear", "parameters": {"nDCG": {"log": 2}}}
    second = {"ties": "order", "gain": "linear", "parameters": {"nDCG": {"log": 3}, "AP": {"depth": 9}}}
    assert differing_choices(first, second) == {
        "ties": ("id", "order"),
        "nDCG.log": ("2", "3"),
        "AP.depth": ("as usual", "9"),
    }
