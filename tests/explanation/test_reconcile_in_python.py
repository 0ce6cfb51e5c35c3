"""``rankgate.reconcile`` in its three forms."""

from __future__ import annotations

from math import log2

import pytest

import rankgate
from support.wording import raises

QRELS = {"<q>": {"a": 3, "b": 1}, "r": {"c": 2, "d": 1}}
RUN = {"<q>": {"b": 2.0, "a": 1.0}, "r": {"c": 2.0, "d": 1.0}}
LINEAR = (1 + 3 / log2(3)) / (3 + 1 / log2(3))
STEEP = (1 + 7 / log2(3)) / (7 + 1 / log2(3))


def test_conventions_stand_by_their_number():
    result = rankgate.reconcile(QRELS, RUN, "nDCG@10")
    by_name = {name: group.value for group in result.groups for name in group.conventions}
    assert by_name["trec"] == pytest.approx((LINEAR + 1) / 2)
    assert by_name["esci"] == pytest.approx((STEEP + 1) / 2)
    assert "esci" in result._repr_html_()
    assert "nDCG.gain: linear → exp" in result._repr_html_()
    assert "nDCG@10" in str(result)


def test_some_conventions_only():
    result = rankgate.reconcile(QRELS, RUN, "nDCG@10", conventions=["trec", "trec9"])
    assert {name for group in result.groups for name in group.conventions} == {"trec", "trec9"}


def test_the_way_from_one_to_another_adds_up():
    result = rankgate.reconcile(QRELS, RUN, "nDCG@10", from_="trec", to="esci")
    assert result.before == pytest.approx((LINEAR + 1) / 2)
    assert result.after == pytest.approx((STEEP + 1) / 2)
    effects = [step.effect for step in result.steps if step.moves]
    assert sum(effects) == pytest.approx(result.after - result.before, abs=1e-15)
    html = result._repr_html_()
    assert "&lt;q&gt;" in html
    assert "<q>" not in html
    assert "trec" in str(result)


def test_conventions_of_one_s_own_can_be_the_ends():
    custom_convention = rankgate.convention("trec", {"nDCG.gain": "exp"})
    result = rankgate.reconcile(QRELS, RUN, "nDCG@10", from_="trec", to=custom_convention)
    assert [step.axes for step in result.steps] == [("nDCG.gain",)]


def test_a_number_finds_who_gives_it():
    result = rankgate.reconcile(QRELS, RUN, "nDCG@10", value=f"{(STEEP + 1) / 2:.4f}")
    assert result.metric == "nDCG@10"
    assert any("esci" in fit.conventions for fit in result.fits if fit.metric == "nDCG@10")
    assert not any("trec" in fit.conventions for fit in result.fits if fit.metric == "nDCG@10")
    assert "esci" in result._repr_html_()


def test_a_number_that_nobody_gives_has_neighbours():
    result = rankgate.reconcile(QRELS, RUN, "nDCG@10", value="0.1234")
    assert not result.fits
    assert "none of the conventions tried gives it" in result._repr_html_()
    assert result.nearest[0].metric in result._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"from_": "trec"}, "missing-input"),
        ({"to": "trec"}, "missing-input"),
        ({"from_": "trec", "to": "esci", "value": 0.5}, "conflicting-options"),
        ({"from_": "trec", "to": "esci", "conventions": ["trec"]}, "conflicting-options"),
    ],
)
def test_forms_do_not_mix(wrong, code):
    with raises(code, rankgate.UsageError):
        rankgate.reconcile(QRELS, RUN, "nDCG@10", **wrong)
