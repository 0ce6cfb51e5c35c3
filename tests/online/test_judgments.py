"""Judgments from clicks, from the log to judgments that everything else reads."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from online.logs import event, search, written
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.online.clicks.click_model import Settings, fitness
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.packed_searches import PackedSearches
from support.wording import raises

CHANCE = {"good": 0.6, "fair": 0.25, "poor": 0.02}
LOOKS = (1.0, 0.6, 0.4)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Three documents in all orders for two queries; ranks are looked at less and less."""
    random = np.random.default_rng(3)
    rows = []
    for number in range(900):
        query_text = f"words {number % 2}"
        rows.append(search(number, number * 60, user_query=query_text))
        for rank, doc in enumerate(random.permutation(list(CHANCE))):
            rows.append(event("impression", number, number * 60, rank, doc))
            if random.random() < CHANCE[doc] * LOOKS[rank]:
                rows.append(event("click", number, number * 60 + 5, rank, doc))
    return written(tmp_path_factory.mktemp("log") / "log.ndjson", rows)


@pytest.fixture(scope="module")
def judged(log):
    return online.judgments(log, human={"words 0": {"good": 2, "fair": 1, "poor": 0}})


def test_the_best_model_grades_documents(judged):
    assert judged.model in {"pbm", "pbm_harvest", "ubm"}
    assert judged.models["log_likelihood"].is_sorted(descending=True)
    grades = {row["doc_id"]: row["grade"] for row in judged.judged.to_dicts()}
    assert grades["good"] == 3
    assert grades["fair"] in {1, 2}
    assert grades["poor"] == 0
    assert judged.agreement == {"pairs": 3.0, "spearman": 1.0, "kendall": pytest.approx(1.0)}


def test_intervals_hold_the_truth(judged):
    rows = judged.judged.to_dicts()
    assert {row["doc_id"] for row in rows} == set(CHANCE)
    for row in rows:
        assert row["low"] <= row["value"] <= row["high"]
        assert row["low"] - 0.03 <= CHANCE[row["doc_id"]] <= row["high"] + 0.03


def test_they_are_judgments_for_everything_else(judged, tmp_path):
    path = judged.write(tmp_path / "qrels.csv")
    run = {query: {"good": 3, "fair": 2, "poor": 1} for query in ("words 0", "words 1")}
    assert rankgate.evaluate(str(path), run, ["nDCG@3"]).means["nDCG@3"].item() == 1
    assert rankgate.evaluate(judged.qrels, run, ["nDCG@3"]).means["nDCG@3"].item() == 1
    assert judged.qrels.made_by["rule"] == "relative"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"grades": "cuts", "cuts": (0.1, 0.5)}, {"good": 2, "fair": 1, "poor": 0}),
        ({"grades": "quantiles", "cuts": (0.4, 0.7)}, {"good": 2, "fair": 1, "poor": 0}),
    ],
)
def test_other_rules(log, options, expected):
    result = online.judgments(log, model="pbm", grading=online.Grading(**options))
    assert {row["doc_id"]: row["grade"] for row in result.judged.to_dicts()} == expected


def test_the_value_itself_is_a_grade(log):
    result = online.judgments(log, model="dctr", grading=online.Grading(grades="value"))
    rows = result.judged.to_dicts()
    assert rows
    for row in rows:
        assert row["grade"] == row["clicks"] / row["impressions"]


def test_a_stream_of_batches_is_read_once(log, tmp_path):
    online.ingest(log, tmp_path / "events")
    events = pl.read_parquet(tmp_path / "events" / "*.parquet")
    expected = online.judgments(events, model="dctr").judged
    assert online.judgments(events.to_arrow().to_reader(), model="dctr").judged.equals(expected)


def test_pairs_with_little_evidence_have_no_judgment(log):
    result = online.judgments(log, model="dctr", grading=online.Grading(min_examined=1e6))
    assert {notice.code for notice in result.notices} == {"too-little-evidence", "ranks-not-separated"}
    with raises("no-judgments", InputError):
        _ = result.qrels


def test_words_that_name_nothing(log):
    with raises("unknown-click-model", UsageError):
        online.judgments(log, model="bdn")
    with raises("invalid-cuts", UsageError):
        online.judgments(log, grading=online.Grading(cuts=(0.5, 0.2)))
    with raises("no-model", UsageError):
        online.judgments(log, models=("gctr", "rctr"))
    with raises("no-impressions", InputError):
        online.judgments(pl.DataFrame({"kind": ["click"], "doc_id": ["a"]}))


def test_the_command_writes_judgments(log, tmp_path):
    (tmp_path / "q.csv").write_text("judgments of yesterday\n")
    result = CliRunner().invoke(
        program,
        [
            "online",
            "judgments",
            str(log),
            "--model",
            "sdbn",
            "-o",
            str(tmp_path / "q.csv"),
            "--format",
            "json",
        ],
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["model"] == "sdbn"
    assert (tmp_path / "q.csv").read_text().startswith("query_id,doc_id,grade\n")


def twice(clicked):
    """Lists A, B, A of 100 searches; 40 of them have the click."""
    rows = []
    for number in range(100):
        rows.append(search(number, number * 60, user_query="q"))
        rows += [event("impression", number, number * 60 + 1, rank, doc) for rank, doc in enumerate("ABA", 1)]
        if number < 40:
            rows.append(event("click", number, number * 60 + 9, *clicked))
    return rows


@pytest.mark.parametrize(
    ("clicked", "rates", "of_a", "of_b"),
    [
        ((3, "A"), [0, 0, 0.4], 40 / 80, 0),  # 40 searches were read down to the third rank
        ((1, "A"), [0.4, 0, 0], 1, None),  # and here to the first
        ((None, "A"), [0.4, 0, 0], 1, None),  # a click without a rank, or with a wrong one
        ((7, "A"), [0.4, 0, 0], 1, None),
    ],
)
def test_of_a_document_shown_twice_the_logged_rank_is_clicked(tmp_path, clicked, rates, of_a, of_b):
    log = written(tmp_path / "log.ndjson", twice(clicked))
    options = {"grading": online.Grading(min_examined=0), "resamples": 0, "held_out": 0}
    by_rank = online.judgments(log, model="rctr", **options).curves
    assert by_rank["value"].to_list() == rates
    judged = online.judgments(log, model="sdbn", **options).judged
    values = dict(judged.select("doc_id", "value").iter_rows())
    assert values["A"] == pytest.approx(of_a)
    assert values.get("B") == of_b


def packed(searches, swaps, seed=0, *, clicks=True):
    """Searches of a user of a position-based model; lists of one ranker with some exchanges."""
    random = np.random.default_rng(seed)
    attractive = random.beta(1.5, 3, (10, 10))
    query = random.integers(10, size=searches)
    order = np.argsort(-attractive, axis=1)[query].copy()
    for first in range(9):
        exchanged = random.random(searches) < swaps
        order[exchanged, first : first + 2] = order[exchanged, first : first + 2][:, ::-1]
    chance = attractive[query[:, None], order] / np.arange(1, 11) ** 0.8
    rows = pl.DataFrame(
        {
            "search": np.repeat(np.arange(searches), 10),
            "query_id": np.repeat(query, 10).astype(str),
            "doc_id": order.ravel().astype(str),
            "rank": np.tile(np.arange(1, 11), searches),
            "clicked": (random.random(order.shape) < chance).ravel() & clicks,
        }
    )
    return PackedSearches.pack(rows), attractive


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_auto_takes_a_model_that_separates_ranks_where_it_is_tied_with_the_best(seed):
    searches, attractive = packed(4000, 0.2, seed)
    result = online.judgments(searches, resamples=0, seed=seed)
    assert MODELS[result.model].separates
    best, selected = (
        result.models.row(by_predicate=pl.col("model") == name, named=True)
        for name in (result.models["model"][0], result.model)
    )
    assert best["log_likelihood"] - selected["log_likelihood"] <= 2 * selected["error"]
    rows = result.judged.select(pl.col("query_id", "doc_id").cast(pl.Int64), "value").to_numpy()
    truth = attractive[rows[:, 0].astype(int), rows[:, 1].astype(int)]
    assert np.abs(rows[:, 2] - truth).mean() < 0.1
    assert "ranks-not-separated" not in {notice.code for notice in result.notices}


def test_the_error_of_a_model_is_that_of_its_distance_from_the_best():
    searches, _ = packed(500, 0.2)
    result = online.judgments(searches, models=["dctr", "pbm"], held_out=0, resamples=0)
    logs = {
        name: fitness(MODELS[name], MODELS[name].fit(searches, Settings()), searches).by_search
        for name in ("dctr", "pbm")
    }
    best, last = result.models["model"]
    distance = np.repeat(logs[best] - logs[last], searches.weight.astype(int))
    assert result.models["error"].to_list() == pytest.approx([0, distance.std(ddof=1) / len(distance) ** 0.5])


def test_a_log_without_clicks_or_with_every_document_once_gives_no_judgments(tmp_path):
    without_clicks, _ = packed(500, 0.2, clicks=False)
    once = pl.DataFrame(
        {
            "search": np.repeat(np.arange(50), 2),
            "query_id": np.repeat(np.arange(50), 2).astype(str),
            "doc_id": np.tile(["a", "b"], 50),
            "rank": np.tile([1, 2], 50),
            "clicked": np.arange(100) % 3 == 0,
        }
    )
    for searches in (without_clicks, PackedSearches.pack(once)):
        result = online.judgments(searches, grading=online.Grading(min_examined=0), resamples=0)
        assert result.status == 3
        assert result.judged.is_empty()
        assert result.model in result.refused
        with pytest.raises(InputError) as caught:
            result.write(tmp_path / "judgments.qrels")
        assert caught.value.code == "no-judgments"
    assert not list(tmp_path.iterdir())
