"""Scorecards: the figures are those of the metrics, intervals hold, domination is named."""

from __future__ import annotations

import json
from math import log2

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write_results import render_result as render
from rankgate.data.collection import Collection, Items
from rankgate.data.logs.splits import sample
from rankgate.interface.cli import rankgate as program
from rankgate.measurement.metrics.lists import NONE
from rankgate.measurement.metrics.lists.coverage_evenness import Coverage
from rankgate.measurement.scoring.item_catalogue import (
    Catalogue,
    find_positions,
    group_codes,
    label_shares,
    number_columns,
)
from rankgate.metrics import P
from support.wording import assert_warned, assert_wording, raises

QRELS = {"u": {"a": 1, "b": 1}, "v": {"c": 1}, "w": {"a": 1}, "x": {"d": 1}}
TRAIN = pl.DataFrame({"user": ["u", "u", "v", "w", "x", "y"], "item": ["c", "d", "a", "c", "c", "c"]})
ITEMS = pl.DataFrame(
    {
        "item": list("abcde"),
        "kind": ["A", "A|B", "B", "B", None],
        "size": [1.0, 2, 3, 4, 5],
        "maker": ["m", "n", "m", "n", None],
    }
)
GOOD = {
    "u": {"a": 3.0, "b": 2.0},
    "v": {"c": 3.0, "b": 2.0},
    "w": {"a": 3.0, "b": 1.0},
    "x": {"d": 2.0, "a": 1.0},
}
SAME = {user: {"c": 2.0, "d": 1.0} for user in QRELS}


def value(result, system, metric):
    row = result.figures.filter((pl.col("system") == system) & (pl.col("metric") == metric))
    return row["value"][0]


def test_figures_are_those_of_the_metrics():
    metrics = ["P@1", "Coverage@2", "Personalization@2", "Novelty@2", "ILD@2", "TailShare@1"]
    result = rankgate.scorecard(
        Collection(QRELS, training=TRAIN, items=Items(ITEMS, category="kind")),
        {"same": SAME, "good": GOOD},
        metrics,
    )
    assert result.catalogue == 5
    assert value(result, "good", "P@1") == 1
    assert value(result, "same", "P@1") == 1 / 4
    assert value(result, "good", "Coverage@2") == 4 / 5
    assert value(result, "same", "Coverage@2") == 2 / 5
    assert value(result, "same", "Personalization@2") == pytest.approx(0)
    # 5 people: c known to 4, d and a to 1, b to nobody
    assert value(result, "same", "Novelty@2") == pytest.approx((log2(5 / 4) + log2(5)) / 2)
    assert value(result, "same", "TailShare@1") == 0  # c alone is the head
    assert value(result, "same", "ILD@2") == pytest.approx(0)  # both are B
    cosine = 1 / np.sqrt(2)
    assert value(result, "good", "ILD@2") == pytest.approx(np.mean([1 - cosine, 1 - cosine, 1 - cosine, 1]))
    assert result.dominated == (("same", "good"),)
    assert result.users == 4


def test_accuracy_is_that_of_evaluate():
    runs = {"good": GOOD, "same": SAME}
    card = rankgate.scorecard(QRELS, runs, ["nDCG@10", "RR", "AP"], "trec")
    plain = rankgate.evaluate(QRELS, runs, ["nDCG@10", "RR", "AP"]).means
    for system, *means in plain.iter_rows():
        assert [value(card, system, m) for m in ("nDCG@10", "RR", "AP")] == means
    assert card.dominated == (("same", "good"),)
    assert "same is dominated: good is as good" in str(card)


def test_without_metrics_those_are_reported_for_which_all_is_there():
    bare = rankgate.scorecard(QRELS, {"good": GOOD})
    assert [m.partition("@")[0] for m in bare.metrics] == [
        "nDCG",
        "R",
        "RR",
        "Coverage",
        "Gini",
        "Personalization",
    ]
    items = Items(ITEMS, category="kind", group="maker")
    collection = Collection(QRELS, training=TRAIN, reference=SAME, items=items)
    full = rankgate.scorecard(collection, rankgate.read_run(GOOD, "good", earlier=SAME))
    assert {"Novelty@10", "Miscalibration@10", "Serendipity@10", "AWRF@10", "TemporalDiversity@10"} <= set(
        full.metrics
    )
    with raises("missing-input", UsageError):
        rankgate.scorecard(QRELS, {"good": GOOD}, ["Novelty@5"])
    with raises("unknown-metric", UsageError):
        rankgate.scorecard(QRELS, {"good": GOOD}, ["Novelt@5"])


def test_differences_are_paired_and_corrected():
    rng = np.random.default_rng(3)
    items = [f"i{k}" for k in range(30)]
    qrels = {f"u{k}": {items[k % 30]: 1} for k in range(60)}
    random_run = {
        user: {item: float(s) for item, s in zip(items, rng.random(30), strict=True)} for user in qrels
    }
    popular = {user: {item: -float(k) for k, item in enumerate(items)} for user in qrels}
    result = rankgate.scorecard(
        qrels, {"popular": popular, "drawn": random_run}, ["P@5", "Coverage@5", "Gini@5"], resamples=400
    )
    rows = {row["metric"]: row for row in result.differences.iter_rows(named=True)}
    assert rows["Coverage@5"]["delta"] == pytest.approx(1 - 5 / 30)
    assert rows["Coverage@5"]["better"]
    assert rows["Gini@5"]["delta"] < 0
    assert rows["Gini@5"]["better"]  # fewer is better there
    assert rows["Gini@5"]["p_value"] <= 3 / 401 + 1e-12
    assert rows["P@5"]["p_value"] > 0.05
    assert (result.differences["p_value"] >= result.differences["p_raw"]).all()
    repeated = rankgate.scorecard(
        qrels, {"popular": popular, "drawn": random_run}, ["P@5", "Coverage@5", "Gini@5"], resamples=400
    )
    assert repeated.to_dict() == result.to_dict()


def test_sampled_candidates_mark_every_figure(tmp_path):
    qrels = rankgate.read_qrels(QRELS)
    log = TRAIN.rename({"user": "query_id", "item": "doc_id"})
    log = pl.concat([log, ITEMS.select(pl.lit("z").alias("query_id"), pl.col("item").alias("doc_id"))])
    sampled = sample(qrels.table, log, 1, 4)
    path = tmp_path / "candidates.csv"
    sampled.table.with_columns(pl.lit(sampled.mark).alias("candidates")).write_csv(path)
    result = rankgate.scorecard(
        Collection(QRELS, candidates=str(path)), {"same": SAME}, ["P@1", "Coverage@1"]
    )
    assert result.metrics == ("P@1 sampled(1)", "Coverage@1 sampled(1)")
    assert_warned(result)
    sampled_qrels = rankgate.read_qrels(QRELS, "test.sampled-1.qrels")  # as split calls its file
    result = rankgate.scorecard(sampled_qrels, {"same": SAME}, ["P@1"])
    assert (result.metrics, result.candidates) == (("P@1 sampled(1)",), "sampled(1)")
    assert_warned(result)
    message = "sampled(1) candidates: never compare these figures with exact ones"
    result = [rankgate.evaluate(judgments, {"same": SAME}, ["P@1"]) for judgments in (sampled_qrels, QRELS)]
    for form in ("text", "markdown", "latex"):
        assert [message in render(evaluation, form).replace("\\", "") for evaluation in result] == [
            True,
            False,
        ]
    assert [message in evaluation._repr_html_() for evaluation in result] == [True, False]
    result = [
        rankgate.compare(judgments, GOOD, SAME, ["P@1"]).warnings for judgments in (sampled_qrels, QRELS)
    ]
    assert len(result[0]) == len(result[1]) + 1
    assert_wording(*(set(result[0]) - set(result[1])))
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("user,item,candidates\nu,a,sampled(1)\nu,b,sampled(2)\n")
    with raises("mixed-kinds", InputError, line=3):
        rankgate.scorecard(Collection(QRELS, candidates=str(mixed)), {"same": SAME})


def test_seen_items_are_reported_or_taken_out():
    result = rankgate.scorecard(Collection(QRELS, training=TRAIN), {"same": SAME}, ["Coverage@2"])
    assert_warned(result)
    dropped = rankgate.scorecard(
        Collection(QRELS, training=TRAIN, drop_seen=True), {"same": SAME}, ["Coverage@2"]
    )
    assert_warned(dropped)  # not of training, but of u, who had both and gets no item
    with raises("missing-input", UsageError):
        rankgate.scorecard(Collection(QRELS, drop_seen=True), {"same": SAME})


def test_new_items_and_missing_earlier_lists_are_reported():
    result = rankgate.scorecard(Collection(QRELS, training=TRAIN), {"good": GOOD}, ["Coverage@2"])
    assert_warned(result)
    with raises("missing-input", UsageError):
        rankgate.scorecard(QRELS, {"good": GOOD}, ["TemporalDiversity@2"])


def test_a_system_that_draws_its_rankings_is_reported_by_all_of_them(tmp_path):
    qrels = {"u": {"a": 1, "b": 1}}
    first_run, second_run = {"u": {"a": 2.0, "b": 1.0}}, {"u": {"b": 2.0, "a": 1.0}}
    metrics = ["EEL@5", "EED@5", "P@2"]
    fixed = rankgate.evaluate(qrels, {"s": first_run}, metrics).means.row(0)
    assert fixed == ("s", pytest.approx(2 * 0.25**2), pytest.approx(1 + 0.5**2), 1.0)
    expected = ("s", pytest.approx(0, abs=1e-15), pytest.approx(2 * 0.75**2), 1.0)
    stochastic_run = rankgate.read_run(first_run, "s", repeats=[second_run])
    assert rankgate.evaluate(qrels, {"s": stochastic_run}, metrics).means.row(0) == expected
    card = rankgate.scorecard(qrels, {"s": stochastic_run, "t": first_run}, metrics)
    assert [value(card, "s", metric) for metric in metrics] == list(expected[1:])
    assert value(card, "t", "EEL@5") == fixed[1]
    frame = pl.DataFrame({"user": ["u", "u"], "item": ["b", "a"], "mine": [2.0, 1.0]})
    stochastic_run = rankgate.read_run(first_run, "s", repeats=[frame])
    collection = Collection(qrels, columns={"score": "mine"})
    assert rankgate.evaluate(collection, stochastic_run, metrics).means.row(0) == expected
    for name, text in (
        ("q", "u 0 a 1\nu 0 b 1\n"),
        ("s.run", "u Q0 a 1 2 s\nu Q0 b 2 1 s\n"),
        ("s2.run", "u Q0 b 1 2 s\nu Q0 a 2 1 s\n"),
    ):
        (tmp_path / name).write_text(text)
    arguments = [
        "scorecard",
        str(tmp_path / "q"),
        str(tmp_path / "s.run"),
        "-m",
        "EED@5",
        "--format",
        "json",
        "--repeat",
        f"s={tmp_path / 's2.run'}",
    ]
    result = CliRunner().invoke(program, arguments)
    assert json.loads(result.output)["figures"][0]["value"] == pytest.approx(2 * 0.75**2)
    shared_result = CliRunner().invoke(
        program, [*arguments[:-1], str(tmp_path / "s2.run")]
    )  # of every system
    assert json.loads(shared_result.output)["figures"][0]["value"] == pytest.approx(2 * 0.75**2)
    second_path = str(tmp_path / "s2.run")
    twice = CliRunner().invoke(program, [*arguments[:-1], second_path, "--repeat", second_path])
    assert twice.exit_code == 0
    with raises("invalid-syntax", UsageError):  # two earlier runs of one system
        earlier = [*arguments[:-2], "--earlier", second_path, "--earlier", second_path]
        CliRunner().invoke(program, earlier, catch_exceptions=False)
    with raises("unknown-choice", UsageError):
        CliRunner().invoke(program, [*arguments[:-1], "z=s2.run"], catch_exceptions=False)
    for flag in ("--repeat", "--earlier"):
        clash = [*arguments[:-2], flag, arguments[-1], "-o", str(tmp_path / "s2.run")]
        with raises("output-is-input", UsageError):
            CliRunner().invoke(program, clash, catch_exceptions=False)


def test_tables_of_items_are_checked(tmp_path):
    def card(text, **columns):
        path = tmp_path / "items.csv"
        path.write_text(text)
        collection = Collection(QRELS, items=Items(str(path), **columns))
        return rankgate.scorecard(collection, {"good": GOOD})

    with raises("missing-column", InputError, line=1):
        card("name,size\na,1\n")
    with raises("duplicate-id", InputError, line=3):
        card("item,size\na,1\na,2\n")
    with raises("not-a-number", InputError, line=2):
        card("item,size\na,big\n", features=["size"])
    with raises("missing-column", UsageError):
        card("item,size\na,1\n", features=["weight"])
    with raises("missing-input", UsageError):
        rankgate.scorecard(Collection(QRELS, items=Items(category="kind")), {"good": GOOD})
    result = card("item,size\na,1\nb,\n", features=["size"])
    assert "ILD@10" in result.metrics


def test_a_world_is_coded():
    world = Catalogue(pl.Series(["a", "b", "c"]), pl.Series(["u", "v"]))
    pairs = pl.DataFrame({"query_id": ["v", "u", "v", "z"], "doc_id": ["c", "a", "x", "a"]})
    assert world.matrix(pairs).tolist() == [[0, NONE], [2, NONE]]
    shares, names = label_shares(world.items, pl.Series(["c", "a"]), pl.Series(["X| Y", None]))
    assert (shares.tolist(), names) == ([[0, 0], [0, 0], [0.5, 0.5]], ["X", "Y"])
    codes, groups = group_codes(world.items, pl.Series(["c", "a"]), pl.Series(["n", "m"]))
    assert (codes.tolist(), groups) == ([0, NONE, 1], ["m", "n"])
    sizes = {"size": pl.Series([3.0, None])}
    assert number_columns(world.items, pl.Series(["b", "a"]), sizes).tolist() == [[0], [3], [0]]
    assert find_positions(pl.Series(["c", "q"]), world.items).tolist() == [2, NONE]


def test_the_command(tmp_path):
    for name, run in (("good", GOOD), ("same", SAME)):
        rows = [(u, d, s) for u, row in run.items() for d, s in row.items()]
        pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(tmp_path / f"{name}.csv")
    rows = [(u, d, g) for u, row in QRELS.items() for d, g in row.items()]
    pl.DataFrame(rows, schema=["user", "item", "grade"], orient="row").write_csv(tmp_path / "q.csv")
    TRAIN.write_csv(tmp_path / "train.csv")
    ITEMS.write_csv(tmp_path / "items.csv")
    arguments = [
        "scorecard",
        *(str(tmp_path / f"{n}.csv") for n in ("q", "same", "good")),
        "--train",
        str(tmp_path / "train.csv"),
        "--items",
        str(tmp_path / "items.csv"),
        "--category",
        "kind",
        "--group",
        "maker",
    ]
    text = CliRunner().invoke(program, arguments)
    assert text.exit_code == 0, text.output
    assert max(map(len, text.output.splitlines())) <= 80
    assert "4 users of q, 5 items, convention trec" in text.output
    result = json.loads(CliRunner().invoke(program, [*arguments, "--format", "json"]).stdout)
    assert result["schema_version"] == 1
    assert result["systems"] == ["same", "good"]
    for form in ("csv", "markdown", "html"):
        assert "Miscalibration@10" in CliRunner().invoke(program, [*arguments, "--format", form]).stdout


def test_it_shows_itself_and_takes_metrics_as_objects():
    result = rankgate.scorecard(QRELS, {"good": GOOD}, [Coverage @ 1, P @ 1])
    assert result.metrics == ("Coverage@1", "P@1")
    assert "<table>" in result._repr_html_()
