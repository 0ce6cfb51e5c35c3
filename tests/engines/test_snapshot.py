"""Snapshots: saved answers, resuming, refusals."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.data import read_run
from rankgate.data.answers.engine_answers import break_ties
from rankgate.engines.configuration import Pace
from rankgate.engines.snapshots.snapshot import Snapshot
from rankgate.engines.snapshots.snapshot_verb import FunctionEngine, configuration_of, snapshot
from support.wording import raises

from .conftest import DOCS, QUERIES, listed


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def queries_file(folder):
    """Queries as a file without a header."""
    file = folder / "queries.tsv"
    file.write_text("".join(f"{query_id}\t{text}\n" for query_id, text in QUERIES.items()))
    return file


def test_the_run_is_what_the_engine_returns(engine, tmp_path):
    result = snapshot(engine, QUERIES, tmp_path / "new.run")
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        for query_id, text in QUERIES.items():
            expression = " OR ".join(f'"{word}"' for word in text.split())
            sql = "SELECT doc_id, -bm25(docs, 0, 1.0) AS s FROM docs WHERE docs MATCH ? ORDER BY s DESC, rowid LIMIT 10"  # noqa: E501
            expected_rows = shop.execute(sql, (expression,)).fetchall()
            run_rows = result.run.table.filter(pl.col("query_id") == query_id)
            served = [(doc_id, pytest.approx(score, rel=1e-5)) for doc_id, score in expected_rows]
            assert list(zip(run_rows["doc_id"], run_rows["score"], strict=True)) == served
    assert result.finished
    assert result.states == {"ok": 40, "zero": 0, "failed": 0, "not_run": 0}
    written = read_run(tmp_path / "new.run")
    assert written.table.equals(result.run.table)
    assert written.queries["query_id"].to_list() == list(QUERIES)
    assert written.queries["latency_ms"].min() > 0
    listed_once = rows(tmp_path / "new.run.docs.jsonl")
    doc_texts = {row["doc_id"]: row["text"] for row in listed_once}
    assert len(doc_texts) == len(listed_once)
    assert doc_texts == {doc_id: DOCS[doc_id] for doc_id in set(result.run.table["doc_id"])}
    snapshot_json = json.loads((tmp_path / "new.run.snapshot.json").read_text())
    assert Snapshot.from_dict(snapshot_json).to_dict() == result.to_dict()
    assert not (tmp_path / "new.run.partial.jsonl").exists()


def test_parameters_and_depth_change_the_request(engine):
    first, second = snapshot(engine, QUERIES), snapshot(engine, QUERIES, parameters=["weight=2"])
    assert (second.run.table["score"] != first.run.table["score"]).all()
    assert snapshot(engine, QUERIES, depth=3).lists.documents <= 3 * len(QUERIES)
    assert first.configuration != second.configuration
    with raises("unknown-parameter"):
        snapshot(engine, QUERIES, parameters={"wieght": 2})


def test_a_query_without_results_is_not_a_failure(engine):
    result = snapshot(engine, {"a": "shoe", "b": "nothing", "c": "!!!"})
    assert result.queries["state"].to_list() == ["ok", "zero", "zero"]


MANY = {f"q{i}": f"red shoe number{i % 60}" for i in range(600)}  # too many to get to the end
PROGRAM = """
import json, os, pathlib, random, signal, sys, time
from rankgate.data.files.conversion import choose_format
from rankgate.engines.configuration import read_engine
from rankgate.engines.kinds import database_engines
from rankgate.engines.snapshots.snapshot_verb import FunctionEngine, configuration_of, snapshot

asked = database_engines._Database.ask

def slowly(self, *given):
    time.sleep(0.1)
    return asked(self, *given)

database_engines._Database.ask = slowly
engine, queries, output = read_engine(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
choose_format(output)  # what is imported here is not imported twenty times
chance, killed = random.Random(3), 0
kept = pathlib.Path(output + ".partial.jsonl")

def lines():
    return kept.read_bytes().count(b"\\n") if kept.exists() else 0

for _ in range(20):
    wanted, end = lines() + chance.randint(0, 3), time.monotonic() + 20
    child = os.fork()
    if not child:
        snapshot(engine, queries, output)
        os._exit(0)
    while lines() < wanted and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(chance.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    killed += os.waitpid(child, 0)[1] == signal.SIGKILL
print(killed)
"""


@pytest.mark.slow
def test_a_snapshot_that_is_killed_goes_on_and_equals_a_whole_one(engine, tmp_path):
    output = tmp_path / "killed.run"
    complete = snapshot(engine, MANY, tmp_path / "whole.run")
    command = [sys.executable, "-c", PROGRAM, str(engine), json.dumps(MANY), str(output)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(process.stdout) == 20
    partial_rows = [json.loads(line) for line in partial(output).read_bytes().split(b"\n")[:-1]]
    answered = [row["query_id"] for row in partial_rows if "query_id" in row]
    assert len(answered) == len(set(answered))  # none was asked twice
    assert answered
    resumed = snapshot(engine, MANY, output)
    assert resumed.asked == len(MANY) - len(answered)
    assert output.read_bytes() == (tmp_path / "whole.run").read_bytes()
    assert resumed.run.table.equals(complete.run.table)


def partial(output):
    return output.with_name(output.name + ".partial.jsonl")


def test_an_output_is_not_replaced_silently(engine, tmp_path):
    snapshot(engine, QUERIES, tmp_path / "new.run")
    with raises("output-exists"):
        snapshot(engine, QUERIES, tmp_path / "new.run")
    assert snapshot(engine, QUERIES, tmp_path / "new.run", force=True).asked == len(QUERIES)
    original_bytes = (tmp_path / "new.run").read_bytes()
    with raises("missing-secret"):
        snapshot(_without_a_secret(engine), QUERIES, tmp_path / "new.run", force=True)
    assert (tmp_path / "new.run").read_bytes() == original_bytes


def _without_a_secret(engine):
    file = engine.with_name("closed.toml")
    file.write_text(
        '[engine]\nkind = "http"\nurl = "http://127.0.0.1/${NOT_SET_HERE}"\nhits = "a"\nid = "b"\n'
        '[engine.params]\nq = "{{query}}"\n'
    )
    return file


def test_a_snapshot_under_way_is_not_mixed_with_another(engine, tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        _interrupted(engine, tmp_path / "new.run", monkeypatch)
    assert (tmp_path / "new.run.partial.jsonl").exists()
    with raises("other-snapshot"):
        snapshot(engine, QUERIES, tmp_path / "new.run", parameters={"weight": 3})
    with raises("other-snapshot"):
        snapshot(engine, {"other": "shoe"}, tmp_path / "new.run")
    assert snapshot(engine, QUERIES, tmp_path / "new.run").finished


def _interrupted(engine, output, monkeypatch):
    """Interrupt a snapshot after its first answers."""
    from rankgate.engines.requests import workers

    with monkeypatch.context() as patch:

        def waits(ended):
            if not patch_done:
                patch_done.append(1)
                time.sleep(0.05)
                raise KeyboardInterrupt
            for end in ended:
                end.wait()

        patch_done = []
        patch.setattr(workers, "_wait_for", waits)
        snapshot(engine, QUERIES, output)


def test_a_function_is_an_engine():
    def search(text, depth):
        return {hit["id"]: hit["score"] for hit in listed(text)[:depth]}

    result = snapshot(search, QUERIES, depth=3)
    assert result.engine == "search"
    assert result.run.table["doc_id"].head(3).to_list() == [hit["id"] for hit in listed(QUERIES["q0"])[:3]]


@pytest.mark.parametrize(
    ("answer", "state", "word"),
    [
        (["a", "b"], "ok", ""),
        ([("a", 2.0), ("b", 1)], "ok", ""),
        ([{"id": 7, "score": 1}], "ok", ""),
        ([(np.int64(7), np.float32(1.5))], "ok", ""),
        ([(UUID(int=5), Decimal("1.5"))], "ok", ""),
        (["a\ud800"], "failed", "no document has a usable id"),
        (["a\nb"], "failed", "no document has a usable id"),
        ([], "zero", ""),
        ([("a", float("nan"))], "failed", "is not a number"),
        ([{"score": 1}], "failed", "no document has a usable id"),
        ([True], "failed", "no document has a usable id"),
        ([("a", 1.0), {"id": "b"}], "failed", "has a score"),
        (3, "failed", "TypeError"),
    ],
)
def test_what_a_function_gives(answer, state, word):
    result = snapshot(lambda _, **__: answer, {"q": "x"})
    assert result.queries["state"].to_list() == [state]
    assert word in (result.queries["error"][0] or "")


def test_scores_that_contradict_the_order_are_named():
    result = snapshot(lambda _, **__: [("a", 1.0), ("b", 2.0), ("c", 2.0)], {"q": "x"})
    assert {notice.code for notice in result.notices} == {"scores-not-in-order", "tied-scores"}
    unscored = snapshot(lambda _, **__: ["b", "a"], {"q": "x"})
    assert unscored.lists.by_rank
    assert unscored.run.table["doc_id"].to_list() == ["b", "a"]
    assert unscored.run.table["score"].to_list() == [2.0, 1.0]


TIED = [("b", 3.0), ("c", 2.0), ("d", 2.0), ("a", 2.0), ("e", 1.0)]


@pytest.mark.parametrize("convention", ["trec", "trec9", "ir_measures", "ranx"])
def test_ties_of_a_live_engine_are_scored_in_served_order(convention, tmp_path):
    snapshot(lambda _, **__: TIED, {"q": "x"}, tmp_path / "new.run")
    for rank, (doc_id, score) in enumerate(TIED, 1):
        means = rankgate.evaluate({"q": {doc_id: 1}}, tmp_path / "new.run", ["RR"], convention)
        assert means.means["RR"].item() == pytest.approx(1 / rank)
        table = read_run(tmp_path / "new.run").table
        assert table["score"][rank - 1] == pytest.approx(score, rel=1e-6)


def test_ties_are_as_the_engine_has_them_where_its_file_says_so():
    configuration = configuration_of(lambda _, **__: TIED)
    result = snapshot(replace(configuration, pace=Pace(scores="engine")), {"q": "x"})
    assert result.run.table["score"].to_list() == [score for _, score in TIED]
    assert rankgate.evaluate({"q": {"a": 1}}, result.run, ["RR"]).means["RR"].item() == 1 / 4
    assert rankgate.evaluate({"q": {"d": 1}}, result.run, ["RR"]).means["RR"].item() == 1 / 2
    assert "tools order these by id" in result.notices[0].text


@given(st.lists(st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 1.0, 1e39]), max_size=30))
def test_untied_scores_keep_their_order_and_are_all_different(scores):
    lowered = break_ties(np.array(scores, float))
    order = np.argsort(-np.array(scores, float), kind="stable")
    assert (np.diff(lowered[order]) < 0).all()


def test_a_document_that_comes_again_counts_once():
    result = snapshot(lambda _, **__: ["a", "b", "a"], {"q": "x"})
    assert result.run.table["doc_id"].to_list() == ["a", "b"]
    assert [notice.code for notice in result.notices] == ["repeated-documents"]


@pytest.mark.parametrize(
    ("queries", "code"),
    [
        ({}, "no-queries"),
        ({"q": " "}, "no-such-content"),
        (pl.DataFrame({"query_id": ["a", "a"], "text": ["x", "y"]}), "duplicate-query"),
        (pl.DataFrame({"query_id": ["a"]}), "no-such-content"),
    ],
)
def test_queries_are_checked(queries, code):
    with raises(code):
        snapshot(lambda _, **__: [], queries)


def test_many_queries_take_one_sync_for_several(engine, tmp_path, monkeypatch):
    """Answers of threads that wait for the disk together are written together."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), time.sleep(0.02)))
    snapshot(engine, QUERIES, tmp_path / "new.run", concurrency=16)
    assert len(synced) < len(QUERIES)


def test_fields_of_any_type_are_kept_as_json(tmp_path):
    document_fields = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "price": Decimal("1.50"),
        "raw": b"a\xff",
        "list": (1, float("nan")),
        "text": "a\ud800",
        "none": None,
    }

    engine = FunctionEngine(
        function=lambda _, **__: [{"id": "a", **document_fields}], fields={k: k for k in document_fields}
    )
    snapshot(engine, {"q": "x"}, tmp_path / "new.run")
    (row,) = rows(tmp_path / "new.run.docs.jsonl")
    assert row["at"].startswith("2026-01-02")
    assert (row["price"], row["raw"], row["list"], row["text"]) == ("1.50", "a\ufffd", [1, None], "a?")


def test_what_the_format_cannot_hold_is_named(tmp_path):
    def search(_, **__):
        return ["a b"]

    with raises("invalid-id"):
        snapshot(search, {"q": "x"}, tmp_path / "new.run")
    result = snapshot(search, {"q": "x"}, tmp_path / "new.csv")
    assert not result.lost
    assert read_run(tmp_path / "new.csv").table["doc_id"].to_list() == ["a b"]


def test_the_first_id_that_the_format_cannot_hold_ends_it_and_nothing_is_lost(tmp_path):
    sent_queries = []

    def search(text, **_):
        sent_queries.append(text)
        return ["a b", "a_b"] if text == "x2" else ["a"]

    queries = {f"q{i}": f"x{i}" for i in range(20)}
    for _ in range(2):  # a second call asks nothing
        with raises("invalid-id"):
            snapshot(search, queries, tmp_path / "new.run", concurrency=1, rate=20)
        assert len(sent_queries) < 20
    result = snapshot(search, queries, tmp_path / "new.run", concurrency=1, to="jsonl")
    assert sorted(sent_queries) == sorted(queries.values())  # each once
    ids = read_run(tmp_path / "new.run").table.filter(query_id="q2")["doc_id"]
    assert ids.to_list() == ["a b", "a_b"]
    assert result.notices == ()


def test_an_id_of_a_query_that_the_format_cannot_hold_is_refused_before_anything(tmp_path):
    with raises("invalid-id"):
        snapshot(lambda _, **__: 1 / 0, {"q 1": "x"}, tmp_path / "new.run")
    assert not list(tmp_path.iterdir())


def test_an_id_that_no_format_can_hold_costs_its_own_place(tmp_path):
    documents = ["a", 1.5, "", "a\tb", "a\u00a0b", None, "a\ud800", "c"]
    result = snapshot(lambda _, **__: documents, {"q": "x"}, tmp_path / "new.csv")
    assert result.run.table["doc_id"].to_list() == ["a", "a\tb", "a\u00a0b", "c"]
    assert read_run(tmp_path / "new.csv").table["doc_id"].to_list() == ["a", "a\tb", "a\u00a0b", "c"]
    (notice,) = result.notices
    assert notice.code == "unusable-ids"
    assert "4 documents" in notice.text
    assert "1.5" in notice.text


def test_files_of_queries_are_read_by_one_rule(tmp_path):
    file = tmp_path / "queries.tsv"
    file.write_bytes("q1\tcafé\nq2\ttitle\n".encode("latin-1"))
    with raises("not-utf8", line=1):
        snapshot(lambda _, **__: ["a"], file)
    sent_queries = []
    for first in ("query", "title", "Topic", "user"):
        file.write_bytes(f"\ufeffq1\t{first}\r\nq2\tcafé\r\n".encode())
        snapshot(lambda text, **_: sent_queries.append(text) or ["a"], file, concurrency=1)
        assert sent_queries[-2:] == [first, "café"]
    for header in ("query_id\ttext", "qid\tquery_text", "text\tqid"):
        cells = "x1\tq1" if header.startswith("text") else "q1\tx1"
        file.write_text(f"{header}\n{cells}\n")
        snapshot(lambda text, **_: sent_queries.append(text) or ["a"], file)
        assert sent_queries[-1] == "x1"
