"""Replays agree with the truth of a position-based world, and are refused without support."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.online.clicks.packed_searches import PackedSearches
from support.wording import raises

LOOKS = np.array([1.0, 0.6, 0.4, 0.25])
ATTRACTIVE = {
    "q1": {"a": 0.5, "b": 0.3, "c": 0.2, "d": 0.05},
    "q2": {"e": 0.4, "f": 0.35, "g": 0.1, "h": 0.02},
}
LOGGED = {"q1": ["cabd", "bcda", "acdb"], "q2": ["hgef", "efgh", "gehf"]}
"""Lists of three logged rankers."""

BEST = {query: dict(docs) for query, docs in ATTRACTIVE.items()}
"""A candidate that ranks by attractiveness."""

TRUTH = np.mean([sorted(docs.values(), reverse=True) @ LOOKS for docs in ATTRACTIVE.values()])


def logged(searches, seed=0):
    """Packed searches of all rankers with clicks by the position-based model."""
    random = np.random.default_rng(seed)
    lists = [(query, ranking) for query, rankings in LOGGED.items() for ranking in rankings]
    rows = []
    for number, list_index in enumerate(random.integers(len(lists), size=searches)):
        query, docs = lists[list_index]
        rates = LOOKS * [ATTRACTIVE[query][doc] for doc in docs]
        hits = random.random(4) < rates
        rows += [
            (number, query, doc, rank, bool(hit))
            for rank, (doc, hit) in enumerate(zip(docs, hits, strict=True), 1)
        ]
    schema = ["search", "query_id", "doc_id", "rank", "clicked"]
    return PackedSearches.pack(pl.DataFrame(rows, schema=schema, orient="row"))


def measured(found, measure="clicks"):
    return found.measures.row(by_predicate=pl.col("measure") == measure, named=True)


def test_the_truth_is_within_the_interval():
    covered, naive = 0, 0
    for seed in range(25):
        result = online.replay(BEST, logged(3000, seed), k=4, resamples=60, model="pbm_harvest")
        row = measured(result)
        covered += row["low"] <= TRUTH <= row["high"]
        naive += row["logged"] >= TRUTH
        assert row["delta_low"] > 0
    assert covered >= 20  # of 25, for 95 %
    assert naive == 0  # clicks as they were logged are of other lists


def test_intervals_reach_over_models_that_may_be_as_good():
    searches = logged(400, 3)
    result = online.replay(BEST, searches, k=4, resamples=4)
    assert len(result.models) > 1  # 80 searches do not tell which model is right
    assert result.models[0] == result.model
    ends = [measured(online.replay(BEST, searches, k=4, resamples=4, model=model)) for model in result.models]
    row = measured(result)
    assert row["candidate"] == ends[0]["candidate"]
    assert row["low"] == min(end["low"] for end in ends)
    assert row["delta_high"] == max(end["delta_high"] for end in ends)
    assert online.replay(BEST, searches, k=4, resamples=2, model="dbn").models == ("dbn",)


def test_sessions_are_resampled():
    # every session has the same search ten times: a tenth of the searches is known
    random = np.random.default_rng(2)
    rows = [
        (session * 10 + search, session, "q1", doc, rank, bool(hit))
        for session in range(60)
        for hits in [random.random(3) < [0.5, 0.3, 0.2]]
        for search in range(10)
        for rank, (doc, hit) in enumerate(zip("abc" if session % 2 else "bca", hits, strict=True), 1)
    ]
    schema = ["search", "session", "query_id", "doc_id", "rank", "clicked"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    run = {"q1": {"a": 3, "b": 2, "c": 1}}
    widths = []
    for log in (table, table.drop("session")):
        packed = PackedSearches.pack(log)
        row = measured(online.replay(run, packed, k=3, resamples=40, model="pbm_harvest"))
        widths.append(row["high"] - row["low"])
    assert widths[0] > 1.5 * widths[1]


def test_the_logged_lists_are_worth_what_was_clicked():
    searches = logged(4000)
    result = online.replay(BEST, searches, k=4, resamples=10)
    clicks = float((searches.weights * searches.clicked).sum()) / searches.searches
    assert measured(result)["logged"] == pytest.approx(clicks)
    assert result.by_rank["examination"].to_list() == pytest.approx(LOOKS.tolist(), abs=0.12)
    # at rank 1 the candidate's best documents: their own rates
    row = measured(result, "first")
    assert row["candidate"] == pytest.approx(0.45, abs=0.05)


@pytest.mark.parametrize("model", ["dbn", "ubm"])
def test_documents_that_were_seldom_shown_are_not_taken_for_good(model):
    random = np.random.default_rng(4)
    worth = np.where(np.arange(24) < 4, 0.15, 0.03)  # four good documents of each query
    rows = []
    for search in range(3000):
        order = np.arange(8) if random.random() < 0.6 else random.permutation(24)[:8]
        hits = random.random(8) < worth[order]
        rows += [
            (search, f"q{search % 20}", f"d{doc}", rank, bool(hit))
            for rank, (doc, hit) in enumerate(zip(order, hits, strict=True), 1)
        ]
    schema = ["search", "query_id", "doc_id", "rank", "clicked"]
    log = PackedSearches.pack(pl.DataFrame(rows, schema=schema, orient="row"))
    seldom = {f"q{n}": {f"d{doc}": -doc for doc in range(10, 18)} for n in range(20)}
    row = measured(online.replay(seldom, log, k=8, resamples=5, model=model), "dcg")
    assert row["candidate"] < 0.6 * row["logged"]


def test_an_examination_that_is_known_is_taken():
    result = online.replay(BEST, logged(4000), k=4, resamples=10, examination=LOOKS.tolist())
    assert result.examination_given
    assert result.by_rank["examination"].to_list() == LOOKS.tolist()
    assert measured(result)["candidate"] == pytest.approx(TRUTH, abs=0.05)


def test_documents_that_were_never_shown_are_bounded_and_refused():
    unseen_run = {"q1": {"a": 4, "x": 3, "b": 2, "c": 1}, "q2": BEST["q2"]}
    searches = logged(3000)
    result = online.replay(unseen_run, searches, k=4, resamples=20, min_support=0.8)
    assert result.support == pytest.approx(7 / 8, abs=0.02)
    row = measured(result)
    assert row["candidate"] < row["most"]
    unsupported = online.replay({"q1": {"x": 2, "y": 1}}, searches, k=4)
    assert unsupported.status == 3
    assert unsupported.measures.is_empty()
    assert unsupported.checks.filter(outcome="blocks")["check"].to_list() == ["support"]


def test_without_documents_at_several_ranks_nothing_is_estimated():
    rows = [
        (number, "q1", doc, rank, rank == 1 + number % 3)
        for number in range(300)
        for rank, doc in enumerate("abcd", 1)
    ]
    schema = ["search", "query_id", "doc_id", "rank", "clicked"]
    searches = PackedSearches.pack(pl.DataFrame(rows, schema=schema, orient="row"))
    result = online.replay(BEST, searches, k=4)
    assert result.verdict == "inconclusive"
    assert result.checks.filter(outcome="blocks")["check"].to_list() == ["examination"]
    assert online.replay(BEST, searches, k=4, examination=LOOKS.tolist(), resamples=5).status == 0


def test_words_that_do_not_fit():
    with raises("no-common-queries", InputError):
        online.replay({"q9": {"a": 1}}, logged(50))
    with raises("invalid-examination", UsageError):
        online.replay(BEST, logged(50), examination=[1.0, 0.0])


QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "d": 0, "e": 1}}
SHOWN = [
    {"q1": {"b": 3, "c": 2, "a": 1}, "q2": {"d": 3, "a": 2, "e": 1}},
    {"q1": {"c": 3, "b": 2, "a": 1}, "q2": {"e": 3, "d": 2, "a": 1}},
]
NEW = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 3, "e": 2, "d": 1}}


def test_users_who_stop_after_a_click_need_another_model():
    simulation = online.simulate(QRELS, SHOWN, searches=8000, user="informational")
    truth = online.simulate(QRELS, [NEW], searches=10, user="informational").variants["expected"]
    result = online.replay(NEW, simulation.events, k=3, resamples=20)
    assert result.model == "dbn"
    row = measured(result)
    assert row["low"] - 0.01 <= truth.item() <= row["high"] + 0.01
    assert row["delta"] < 0  # who is satisfied sooner clicks less
    wrong = online.replay(NEW, simulation.events, k=3, resamples=5, model="pbm_harvest")
    assert measured(wrong)["candidate"] > truth.item() + 0.1


def test_the_command_and_one_page_with_the_gate(tmp_path):
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "d": 0}}
    runs = [
        {"q1": {"c": 3, "b": 2, "a": 1}, "q2": {"d": 2, "a": 1}},
        {"q1": {"b": 3, "a": 2, "c": 1}, "q2": {"a": 2, "d": 1}},
    ]
    online.simulate(qrels, runs, searches=2000, output=tmp_path / "events.parquet")
    (tmp_path / "new.run").write_text(
        "q1 Q0 a 1 3 new\nq1 Q0 b 2 2 new\nq1 Q0 c 3 1 new\nq2 Q0 a 1 2 new\nq2 Q0 d 2 1 new\n"
    )
    args = [
        "online",
        "replay",
        str(tmp_path / "new.run"),
        str(tmp_path / "events.parquet"),
        "-k",
        "3",
        "--resamples",
        "20",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(program, args)
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["support"] == 1.0
    (tmp_path / "replay.json").write_text(result.output)
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 a 1\nq2 0 d 0\n")
    (tmp_path / "old.run").write_text("q1 Q0 c 1 3 old\nq1 Q0 a 2 2 old\nq2 Q0 d 1 1 old\n")
    gate = [
        "gate",
        str(tmp_path / "qrels.txt"),
        str(tmp_path / "old.run"),
        str(tmp_path / "new.run"),
        "-o",
        str(tmp_path / "verdict.json"),
    ]
    CliRunner().invoke(program, gate)
    page = tmp_path / "page.html"
    report_arguments = [
        "report",
        str(tmp_path / "verdict.json"),
        str(tmp_path / "replay.json"),
        "-o",
        str(page),
    ]
    result = CliRunner().invoke(program, report_arguments)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert text.index("INCONCLUSIVE".lower()) < text.index("Replay on logged clicks")
