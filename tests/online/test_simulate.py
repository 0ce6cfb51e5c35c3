"""Simulated clicks have the rates that their users are declared to have."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from support.wording import raises

QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "d": 0}}
NEW = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 2, "d": 1}}
OLD = {"q1": {"c": 3, "b": 2, "a": 1}, "q2": {"d": 2, "a": 1}}


@pytest.fixture(scope="module")
def simulated():
    return online.simulate(QRELS, [OLD, NEW], searches=20_000)


def test_rates_are_those_of_the_user(simulated):
    # navigational, by hand: the document at rank 1 is clicked with 0.05 + 0.9 grade / 2
    top = {"run1": (0.05 + 0.05) / 2, "run2": (0.95 + 0.5) / 2}
    clicks = simulated.events.filter(pl.col("kind") == "click", pl.col("rank") == 1)
    for name, chance in top.items():
        searches = simulated.variants.filter(variant=name)["searches"].item()
        rate = len(clicks.filter(variant=name)) / searches
        assert rate == pytest.approx(chance, abs=4 * np.sqrt(chance / searches))
    for row in simulated.variants.to_dicts():
        error = 4 / np.sqrt(row["searches"])
        assert row["clicks_per_search"] == pytest.approx(row["expected"], abs=error)


def test_a_perfect_user_clicks_on_what_is_relevant():
    simulation = online.simulate(
        {"q": {"a": 1, "b": 0}}, [{"q": {"b": 2, "a": 1}}], user="perfect", searches=50
    )
    clicks = simulation.events.filter(kind="click")
    assert clicks.select("doc_id", "rank").unique().rows() == [("a", 2)]
    assert len(clicks) == 50


def test_the_same_seed_gives_the_same_clicks(simulated):
    repeated = online.simulate(QRELS, [OLD, NEW], searches=20_000)
    assert repeated.events.equals(simulated.events)
    assert repeated.to_dict() == simulated.to_dict()
    assert online.simulate(QRELS, [OLD, NEW], searches=20_000, seed=1).to_dict() != repeated.to_dict()


def test_simulated_events_are_a_log_without_faults():
    simulated = online.simulate(QRELS, [OLD, NEW], searches=1_000)
    assert online.doctor(simulated.events).findings == ()
    ctr = online.kpi(simulated.events, ("clicks_per_search",), by=("variant",))
    by_variant = ctr.values.filter(by="variant").sort("slice")["value"].to_list()
    assert by_variant == pytest.approx(simulated.variants["clicks_per_search"].to_list())


def test_a_learned_simulator_is_checked(simulated):
    simulation = online.simulate(learned_from=simulated.events, model="dbn", searches=2_000)
    assert simulation.reliability["ranks"] == 0
    assert simulation.reliability["agreement"] == 1.0
    assert simulation.trusted is False  # two pairs of lists are too few
    assert [notice.code for notice in simulation.notices] == ["unreliable-simulator"]
    wrong = online.simulate(learned_from=simulated.events, model="gctr", searches=2_000)
    assert wrong.reliability["ranks"] > 0


def test_words_that_name_nothing():
    with raises("missing-argument", UsageError):
        online.simulate()
    with raises("unknown-user", UsageError):
        online.simulate(QRELS, [NEW], user="nobody")
    with raises("no-common-queries", InputError):
        online.simulate({"q9": {"a": 1}}, [NEW])
    with raises("same-name", UsageError):
        run = pl.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "score": [1.0]})
        online.simulate(QRELS, [online_run(run), online_run(run)])


def online_run(table):
    from rankgate import read_run

    return read_run(table, "same")


def test_the_command_writes_events(tmp_path):
    (tmp_path / "q.txt").write_text("q1 0 a 1\nq1 0 b 0\n")
    (tmp_path / "a.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\n")
    arguments = [
        "online",
        "simulate",
        str(tmp_path / "q.txt"),
        str(tmp_path / "a.run"),
        "--searches",
        "30",
        "-o",
        str(tmp_path / "e.parquet"),
    ]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output
    assert pl.read_parquet(tmp_path / "e.parquet").filter(kind="search").height == 30
