"""Why a number about lists as a whole is another one elsewhere."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.core.errors import UsageError
from rankgate.data.collection import Collection, Items
from rankgate.measurement.explanation.commands import reconcile_command
from rankgate.measurement.explanation.reconcile import bridge, find_reported, reconcile_metrics
from support.wording import raises

# the lists [1, 2, 3], [1, 2, 4], [1, 5, 6] and a catalogue of ten
RUN = {
    f"u{n}": {str(item): -float(rank) for rank, item in enumerate(row)}
    for n, row in enumerate(([1, 2, 3], [1, 2, 4], [1, 5, 6]))
}
QRELS = {user: {"1": 1} for user in RUN}
SHOP = Collection(QRELS, items=Items(pl.DataFrame({"item_id": [str(n) for n in range(1, 11)]})))


def test_who_gives_which_gini():
    result = reconcile_metrics(SHOP, RUN, "Gini@3")
    values = {name: group.value for group in result.groups for name in group.conventions}
    assert values == {
        **dict.fromkeys(("trec", "recbole", "lenskit"), pytest.approx(0.5444444, abs=1e-7)),
        "evidently": pytest.approx(0.2888889, abs=1e-7),
    }
    steps = {axis for step in result.groups[1].steps for axis in step.axes}
    assert steps == {"Gini.over", "Gini.divisor"}
    assert all(step.moved is None for step in result.groups[1].steps)


def test_the_way_from_one_to_the_other_adds_up():
    result = bridge(SHOP, RUN, "Gini@3", "recbole", "evidently")
    effects = [step.effect for step in result.steps]
    assert result.before + sum(effects) == pytest.approx(result.after)
    with raises("missing-input", UsageError):
        bridge(SHOP, RUN, "Coverage@3", "recbole", "evidently")


def test_a_reported_number_is_found():
    result = find_reported(SHOP, RUN, "Gini@3", "0.289")
    assert {fit.conventions for fit in result.fits} == {("evidently",)}
    assert result.conventions == 4


def test_what_cannot_be_had_is_a_refusal():
    result = reconcile_metrics(SHOP, RUN, "Coverage@3")
    assert {refusal.convention for refusal in result.refusals} == {"recommenders", "evidently"}
    assert all("items in training" in refusal.reason for refusal in result.refusals)


def test_values_of_single_lists_move():
    train = pl.DataFrame({"user": ["u0", "u1"], "item": ["1", "2"]})
    collection = replace(SHOP, training=train)
    result = bridge(collection, RUN, "Popularity@3", "evidently", "recbole")
    (step,) = [moving_step for moving_step in result.steps if moving_step.moves]
    assert (step.axes, step.moved) == (("Popularity.unknown",), 3)
    # of three items two were seen once each, then one, one
    assert (result.before, result.after) == (1.0, pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3))


def test_in_python():
    result = rankgate.reconcile(SHOP, RUN, "Gini@3", value="0.289")
    assert result.fits[0].conventions == ("evidently",)
    with pytest.raises(TypeError):
        Collection(QRELS, item=SHOP.items)


def test_the_command(tmp_path):
    qrels, ranking = tmp_path / "q.csv", tmp_path / "r.run"
    qrels.write_text("query_id,doc_id,grade\nu,a,1\nv,b,1\n")
    ranking.write_text("u Q0 a 1 2 r\nu Q0 b 2 1 r\nv Q0 a 1 2 r\nv Q0 c 2 1 r\n")
    (tmp_path / "items.csv").write_text("item_id\n" + "".join(f"{i}\n" for i in "abcdef"))
    arguments = [str(qrels), str(ranking), "-m", "Gini@2", "--items", str(tmp_path / "items.csv")]
    result = CliRunner().invoke(reconcile_command, arguments, catch_exceptions=False).output
    assert "2 numbers under 4 conventions" in result
    assert "Gini.over: catalogue → shown" in result
    result = CliRunner().invoke(reconcile_command, [*arguments, "--from", "trec", "--to", "evidently"]).output
    assert "Gini.divisor: n → n-1\n" in result
    assert "moves" not in result
