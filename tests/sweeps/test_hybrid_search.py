"""Hybrid search as one sweep: lists taken once, held-out queries, predicted weights, a race."""

import importlib
import json
import random
import re
import sys

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.decisions.sweeps.fusion_target import rerank
from rankgate.decisions.sweeps.query_predictor import fit_prediction, query_features
from rankgate.decisions.sweeps.query_split import split_queries
from rankgate.decisions.sweeps.race import plan_rounds
from rankgate.decisions.sweeps.sweep import Sweep
from rankgate.measurement.fusion.fuse import fuse
from support.wording import raises

QUERIES, DOCUMENTS = 120, 40
SEARCH = '''
"""Two searches and their fusion, which count what they are asked."""
import json
from collections import Counter
from functools import cache
from pathlib import Path
from rankgate.measurement.fusion.fuse import fuse

SCORES = json.loads((Path(__file__).parent / "scores.json").read_text())
ASKED = Counter()


def top(scores, depth):
    return dict(sorted(sorted(scores.items(), reverse=True), key=lambda pair: -pair[1])[:depth])


def words(text, depth, boost=1.0):
    ASKED["words", text, boost] += 1
    scores = SCORES["words"][text].items()
    return top({doc: score * (boost if doc < "d20" else 1.0) for doc, score in scores}, depth)


def vectors(text, depth):
    ASKED["vectors", text] += 1
    return top(SCORES["vectors"][text], depth)


def hybrid(text, depth, normalization="min_max", combination="arithmetic_mean", weights=(0.5, 0.5)):
    ASKED["hybrid", text, tuple(weights), normalization] += 1
    return top(fuse_all(normalization, combination, tuple(weights))[text], depth)


@cache
def fuse_all(normalization, combination, weights):
    """The scores of all queries in one pass; one pass a query takes forty times as long."""
    lists = {name: {text: top(scores, 20) for text, scores in SCORES[name].items()} for name in SCORES}
    fused = fuse(lists, f"opensearch-{combination}", weights=weights, norm=f"opensearch-{normalization}")
    by_query = {text: {} for text in SCORES["words"]}
    for text, doc, score in fused.run.table.select("query_id", "doc_id", "score").iter_rows():
        by_query[text][doc] = score
    return by_query


def other(text, depth, normalization="min_max", combination="arithmetic_mean", weights=(0.5, 0.5)):
    return words(text, depth)
'''
ENGINE = '[engine]\nkind = "python"\nfunction = "hybrid_searches:{}"\ndepth = 20\n{}'


@pytest.fixture
def searches(tmp_path, monkeypatch):
    """A folder with two searches, one good for queries with a number, the other for those of words."""
    chance = random.Random(5)
    texts, qrels, scores = [], [], {"words": {}, "vectors": {}}
    for number in range(QUERIES):
        is_code = number % 2 == 0
        text = f"AB-{number:03d}" if is_code else f"what is {chr(97 + number % 26)}{number // 26 * 'x'} like"
        texts.append(f"q{number}\t{text}\n")
        grades = {f"d{n}": chance.choice([0, 0, 0, 1, 2]) for n in range(DOCUMENTS)}
        good = {doc: grade + chance.gauss(0, 0.7) + 3 for doc, grade in grades.items()}
        bad = dict(zip(grades, chance.sample([*good.values()], len(good)), strict=True))  # the same scores
        scores["words"][text], scores["vectors"][text] = (good, bad) if is_code else (bad, good)
        qrels += [f"q{number} 0 {doc} {grade}\n" for doc, grade in grades.items() if chance.random() < 0.9]
    (tmp_path / "queries.tsv").write_text("".join(texts))
    (tmp_path / "qrels.txt").write_text("".join(qrels))
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    (tmp_path / "hybrid_searches.py").write_text(SEARCH)
    for name, parameters in {
        "words": "boost = 1.0\n",
        "vectors": "",
        "hybrid": 'normalization = "min_max"\ncombination = "arithmetic_mean"\nweights = [0.9, 0.1]\n',
    }.items():
        text = f"[engine.parameters]\n{parameters}" if parameters else ""
        (tmp_path / f"{name}.toml").write_text(ENGINE.format(name, text))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("hybrid_searches", None)


def asked():
    """The calls of each search."""
    calls = sys.modules["hybrid_searches"].ASKED
    return {
        name: sum(n for key, n in calls.items() if key[0] == name) for name in ("words", "vectors", "hybrid")
    }


PLAN = """[sweep]
queries = "queries.tsv"
qrels = "qrels.txt"
metrics = ["nDCG@10"]
held_out = 0.4
{settings}
[fuse]
runs = ["words.toml", "vectors.toml"]
method = "opensearch-{{{{combination}}}}"
norm = "opensearch-{{{{normalization}}}}"
{fuse}
[dials]
normalization = ["min_max", "l2"]
combination = ["arithmetic_mean", "geometric_mean", "harmonic_mean"]
weights = {weights}
{dials}
[baseline]
weights = [0.9, 0.1]
combination = "arithmetic_mean"
normalization = "min_max"
"""
WEIGHTS = [[n / 10, (10 - n) / 10] for n in range(11)]


FEW = WEIGHTS[1::4]
"""For what does not depend on the number of points; the weights of the baseline are among them."""


def write_plan(folder, settings="", fuse_keys="", dials="", weights=WEIGHTS):
    file = folder / "sweep.toml"
    file.write_text(PLAN.format(settings=settings, fuse=fuse_keys, dials=dials, weights=weights))
    return file


def test_the_grid_of_66_takes_each_list_once_and_the_engine_confirms_the_choice(searches, run):
    file = write_plan(searches, fuse_keys='confirm = "hybrid.toml"')
    printed = run("sweep", file, "--format", "json")
    assert printed.code == 0, printed.err
    result = Sweep.from_dict(json.loads(printed.out))
    assert len(result.points) == 66
    assert asked() == {"words": QUERIES, "vectors": QUERIES, "hybrid": 50}
    # both lists of the training and of the held-out queries, and 50 to confirm
    assert result.requests == 2 * QUERIES + 50
    assert (
        f"at most {result.requests} requests; each of 66 settings at each query would take 7,920"
        in printed.err
    )
    assert result.confirmation.same_order == result.confirmation.queries == 50
    assert result.confirmation.live == pytest.approx(result.confirmation.computed)
    rankgate.sweep(file)
    assert asked() == {"words": QUERIES, "vectors": QUERIES, "hybrid": 50}  # all lists are kept


def test_an_engine_that_fuses_in_another_way_is_noticed(searches):
    (searches / "hybrid.toml").write_text((searches / "hybrid.toml").read_text().replace(":hybrid", ":other"))
    result = rankgate.sweep(write_plan(searches, fuse_keys='confirm = "hybrid.toml"'))
    assert result.confirmation.same_documents < 10
    assert "it fuses other lists" in str(result.document().lead)


def test_dials_of_a_part_ask_that_part_alone(searches):
    rankgate.sweep(write_plan(searches, dials="boost = [1.0, 2.0, 4.0]", weights=FEW))
    calls = asked()
    held_out = QUERIES * 2 // 5
    assert calls["vectors"] == QUERIES
    assert 3 * (QUERIES - held_out) < calls["words"] <= 3 * (QUERIES - held_out) + 2 * held_out


def test_held_out_queries_judge_what_training_queries_choose(searches):
    result = rankgate.sweep(write_plan(searches))
    assert (result.held_out.training, result.held_out.queries) == (72, 48)
    assert result.queries == 72
    lists = {}
    module = sys.modules["hybrid_searches"]
    texts = dict(line.split("\t") for line in (searches / "queries.tsv").read_text().splitlines())
    for name in ("words", "vectors"):
        lists[name] = {query: module.top(module.SCORES[name][text], 20) for query, text in texts.items()}
    values = []
    for point in (result.baseline.parameters, result.chosen.parameters):
        fused = fuse(
            lists,
            f"opensearch-{point['combination']}",
            weights=point["weights"],
            norm=f"opensearch-{point['normalization']}",
        )
        values.append(rankgate.evaluate("qrels.txt", fused.run, ["nDCG@10"]).runs[0].per_query("nDCG@10"))
    split = split_queries(list(texts), {}, 0.4, 0)
    gains = [values[1][query] - values[0][query] for query in split.held_out]
    assert result.held_out.chosen.gain.mean == pytest.approx(np.mean(gains))
    gains = [values[1][query] - values[0][query] for query in split.training]
    assert result.choice.same_queries.mean == pytest.approx(np.mean(gains))
    pairs = {(line.split()[0], line.split()[2]) for line in (searches / "qrels.txt").read_text().splitlines()}
    first = fused.run.table.group_by("query_id", maintain_order=True).head(10)
    rows = first.filter(pl.col("query_id").is_in(split.training)).select("query_id", "doc_id").iter_rows()
    assert result.chosen.unjudged == pytest.approx(np.mean([row not in pairs for row in rows]))
    assert "unjudged" in result.to_polars().columns


def test_weights_are_predicted_for_each_query_and_the_gain_is_on_held_out_queries(searches):
    result = rankgate.sweep(write_plan(searches, 'predict = "weights"'))
    held_out = result.held_out
    assert held_out.predicted.is_shown
    assert held_out.predicted.gain.low > 0.1
    assert asked() == {"words": QUERIES, "vectors": QUERIES, "hybrid": 0}
    assert set(held_out.prediction.features) >= {"words", "digits", "vectors lead", "words and vectors"}
    assert Sweep.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert "predicted for each query" in str(result.document().lead)


def test_a_predictor_without_a_relation_says_so(searches):
    lines = [line.split("\t") for line in (searches / "queries.tsv").read_text().splitlines()]
    scores = json.loads((searches / "scores.json").read_text())
    chance = random.Random(1)
    for _, text in lines:
        if chance.random() < 0.5:
            scores["words"][text], scores["vectors"][text] = scores["vectors"][text], scores["words"][text]
    (searches / "scores.json").write_text(json.dumps(scores))
    result = rankgate.sweep(write_plan(searches, 'predict = "weights"'))
    assert not result.held_out.predicted.is_shown
    assert "no gain is shown, so keep the fixed value" in str(result.document().lead)


def test_an_account_withholds_the_figures_of_held_out_queries_and_charges_one_test(searches):
    rankgate.open_account(tests=100)
    file = write_plan(searches, weights=FEW)
    first = rankgate.sweep(file)
    assert first.held_out.chosen.gain is None
    assert first.account.state == "open"
    assert first.account.test == 1
    assert "withheld" in first.notices[0].text
    assert re.search(r"held-out queries it is (not shown that it is )?better", str(first.document().lead))
    again = rankgate.sweep(file)
    assert again.account.test == 1  # the same test is charged once
    predicted = rankgate.sweep(write_plan(searches, 'predict = "weights"', weights=FEW))
    assert predicted.account.test == 2
    assert predicted.held_out.predicted.is_shown
    other = rankgate.sweep(write_plan(searches, "seed = 3", weights=FEW))
    assert other.account.state == "worn"  # its held-out queries were shown as training queries
    assert other.held_out.chosen.is_shown is None


def test_a_race_asks_fewer_queries_and_finds_a_point_of_the_front(searches):
    (searches / "race.toml").write_text(
        '[sweep]\nengine = "hybrid.toml"\nqueries = "queries.tsv"\nqrels = "qrels.txt"\nsearch = "race"\n'
        f'[dials]\nnormalization = ["min_max", "l2"]\nweights = {WEIGHTS}\n'
        'combination = ["arithmetic_mean", "geometric_mean", "harmonic_mean"]\n'
    )
    result = rankgate.sweep(searches / "race.toml")
    assert result.finished
    assert {point.state for point in result.points} == {"ok", "dropped"}
    assert sum(point.state == "ok" for point in result.points) == 8
    assert "of 66 settings" in result.document().lead[0]
    assert result.points[0].state == "ok"
    training = result.held_out.training
    rounds = list(plan_rounds(66, training))
    expected = sum(part.requests for part in rounds) + 8 * training + 2 * result.held_out.queries
    assert asked()["hybrid"] == result.requests == expected
    assert expected < 66 * QUERIES / 2
    assert (
        result.choice.place == 0
        or result.chosen.metrics["nDCG@10"].mean > result.baseline.metrics["nDCG@10"].mean
    )


def test_rounds_double_the_queries_and_halve_the_points():
    rounds = list(plan_rounds(66, 200))
    assert [(part.points, part.start, part.stop) for part in rounds] == [
        (66, 0, 13),
        (33, 13, 25),
        (17, 25, 50),
        (9, 50, 100),
        (8, 100, 200),
    ]
    assert [(part.points, part.stop) for part in plan_rounds(5, 30)] == [(5, 30)]
    assert [part.stop for part in plan_rounds(40, 12)] == [10, 12]


def test_clusters_stay_together():
    clusters = {f"q{n}": f"c{n // 3}" for n in range(30)}
    split = split_queries([f"q{n}" for n in range(60)], clusters, 0.5, 1)
    assert len(split.training) + len(split.held_out) == 60
    assert not {clusters.get(q, q) for q in split.training} & {clusters.get(q, q) for q in split.held_out}
    assert abs(len(split.held_out) - 30) <= 2
    assert split == split_queries([f"q{n}" for n in reversed(range(60))], clusters, 0.5, 1)


def test_the_reranker_orders_the_first_documents_alone():
    first = rankgate.read_run({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}})
    scores = rankgate.read_run({"q": {"c": 9.0, "a": 1.0, "d": 99.0}})
    for depth, order in ((0, "abcd"), (2, "abcd"), (3, "cabd"), (4, "dcab")):
        table = rerank(first, scores, depth).table.sort("score", descending=True)
        assert "".join(table["doc_id"]) == order


def test_the_depth_of_the_reranker_is_a_dial(searches):
    runs = {}
    for name in ("words", "vectors"):
        runs[name] = rankgate.snapshot(searches / f"{name}.toml", searches / "queries.tsv").run
        rankgate.convert(runs[name], searches / f"{name}.run")
    rows = [line.split() for line in (searches / "qrels.txt").read_text().splitlines()]
    (searches / "oracle.run").write_text("".join(f"{q} Q0 {d} 0 {g} oracle\n" for q, _, d, g in rows))
    result = rankgate.sweep(
        {
            "sweep": {"qrels": "qrels.txt", "held_out": 0.4},
            "fuse": {"runs": ["words.run", "{{second}}.run"], "rerank": "oracle.run"},
            "dials": {"second": ["vectors"], "rerank_depth": [0, 5, 20]},
            "baseline": {"second": "vectors", "rerank_depth": 0},
        }
    )
    means = [point.metrics["nDCG@10"].mean for point in result.points]
    assert means == sorted(means)
    assert means[2] > means[0] + 0.2
    assert result.chosen.parameters["rerank_depth"] == 20
    assert result.requests == 0


def test_features_are_of_the_text_and_of_the_lists():
    lists = {
        "a": rankgate.read_run({"q": {"x": 5.0, "y": 3.0, "z": 1.0}, "r": {"x": 1.0}}),
        "b": rankgate.read_run({"q": {"y": 2.0, "w": 1.0}}),
    }
    texts = {"q": 'the "AB-12" cable', "r": "hat"}
    names, values = query_features(["r", "q"], texts, lists)
    row = dict(zip(names, values[1], strict=True))
    assert (row["words"], row["digits"], row["quotes"], row["signs"], row["capitals"]) == (3, 2, 2, 1, 1)
    spread = np.std([5, 3, 1])
    assert (row["a length"], row["a first"], row["b length"]) == (3, 5, 2)
    assert row["a lead"] == pytest.approx(2 / spread)
    assert row["a height"] == pytest.approx((5 - 3) / spread)
    assert row["a and b"] == 1
    row = dict(zip(names, values[0], strict=True))
    assert (row["words"], row["a length"], row["b length"], row["a and b"]) == (1, 1, 0, 0)


def test_the_fit_is_ridge_regression_and_its_gain_leaves_each_query_out():
    random_numbers = np.random.default_rng(2)
    features = random_numbers.normal(size=(40, 3))
    table = np.column_stack(
        [np.zeros(40), features[:, 0] + random_numbers.normal(size=40), features[:, 1] - 0.5]
    )
    prediction = fit_prediction("w", ["a", "b", "c"], ["f", "g", "h"], features, table)
    gains = table - table[:, [prediction.fixed]]

    def fit(rows):
        standard = (features - features.mean(axis=0)) / features.std(axis=0)
        design = np.column_stack([np.ones(40), standard])
        ridge = np.diag([1e-9, *[prediction.penalty] * 3])
        return design, np.linalg.solve(design[rows].T @ design[rows] + ridge, design[rows].T @ gains[rows])

    _, coefficients = fit(np.arange(40))
    assert np.array(prediction.coefficients) == pytest.approx(coefficients)
    left_out = []
    for row in range(40):
        design, coefficients = fit(np.delete(np.arange(40), row))
        left_out.append(gains[row, (design[row] @ coefficients).argmax()])
    assert prediction.training_gain == pytest.approx(np.mean(left_out))


@pytest.mark.parametrize(
    ("settings", "fuse_keys", "dials", "line", "code"),
    [
        ('search = "race"', "", "", 6, "conflicting-options"),
        ('predict = "depth_of_all"', "", "", 6, "unknown-dial"),
        ("", 'confirm = "vectors.toml"', "", 11, "unknown-dial"),
    ],
)
def test_what_cannot_work_is_one_error(searches, settings, fuse_keys, dials, line, code):
    file = write_plan(searches, settings, fuse_keys, dials)
    with raises(code, line=line):
        rankgate.sweep(file)


def test_a_predictor_needs_held_out_queries(searches):
    file = write_plan(searches, 'predict = "weights"')
    file.write_text(file.read_text().replace("held_out = 0.4", "held_out = 0.0"))
    with raises("conflicting-options", line=6):
        rankgate.sweep(file)


def test_too_few_queries_cannot_be_cut(searches):
    qrels = (searches / "qrels.txt").read_text().splitlines(keepends=True)
    (searches / "qrels.txt").write_text("".join(line for line in qrels if re.match(r"q\d ", line)))
    with raises("few-queries"):
        rankgate.sweep(write_plan(searches))
