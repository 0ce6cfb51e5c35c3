"""Two engines queried in turn: order, pairs, latencies and resuming."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import rankgate
from rankgate.core.present.write_results import render_result
from rankgate.engines.snapshots import query_sender
from rankgate.engines.snapshots.snapshot import EngineComparison
from rankgate.engines.snapshots.snapshot_verb import snapshot
from rankgate.measurement.stats.resampling_tests import quantile_differences
from support.wording import raises

from .conftest import QUERIES, listed
from .test_engines_command import queries_file


def recorder(name, asked):
    def search(text, depth):
        asked.append((name, text))
        return [(document["id"], document["score"]) for document in listed(text)[:depth]]

    return search


def test_each_query_is_asked_of_both_in_an_order_that_is_drawn(monkeypatch):
    calls = []
    old, new = recorder("old", calls), recorder("new", calls)
    seconds = {"old": 0.001, "new": 0.005}
    clock = SimpleNamespace(perf_counter=lambda: sum(seconds[name] for name, _ in calls))
    monkeypatch.setattr(query_sender, "time", clock)
    result = rankgate.compare_engines(old, new, QUERIES, concurrency=1, seed=3)
    pairs = [calls[i : i + 2] for i in range(0, len(calls), 2)]
    assert all(
        first_call[1] == second_call[1] and first_call[0] != second_call[0]
        for first_call, second_call in pairs
    )
    first = ["baseline" if pair[0][0] == "old" else "candidate" for pair in pairs]
    assert result.queries["first"].to_list() == first
    assert 8 <= first.count("baseline") <= 32
    assert result.pairs == len(QUERIES)
    assert result.baseline.run.table.equals(result.candidate.run.table)
    median = result.latency.row(1, named=True)
    assert [median[column] for column in ("baseline", "candidate")] == pytest.approx([1, 5])
    assert [median[column] for column in ("delta", "low", "high")] == pytest.approx([4, 4, 4])
    assert EngineComparison.from_dict(result.to_dict()).to_dict() == result.to_dict()
    repeated = rankgate.compare_engines(old, new, QUERIES, seed=3).queries["first"]
    assert repeated.to_list() == first


def test_a_quantile_difference_is_that_of_resampled_pairs():
    rng = np.random.default_rng(1)
    baseline = rng.exponential(10, 300)
    candidate = baseline + rng.normal(1, 0.1, 300)
    estimate = quantile_differences(baseline, candidate, [0.5, 0.95], samples=500)
    differences = [candidate.mean() - baseline.mean()]
    differences += [np.quantile(candidate, share) - np.quantile(baseline, share) for share in (0.5, 0.95)]
    assert (estimate.two - estimate.one).tolist() == pytest.approx(differences)
    assert estimate.high[0] - estimate.low[0] < 0.05  # pairs share the spread of 10
    draws = np.random.default_rng(0).integers(0, 300, (500, 300))
    means = candidate[draws].mean(axis=1) - baseline[draws].mean(axis=1)
    assert [estimate.low[0], estimate.high[0]] == pytest.approx(np.quantile(means, [0.025, 0.975]))
    assert np.isnan(quantile_differences(baseline[:1], candidate[:1], [0.5]).low).all()
    assert np.isnan(quantile_differences(baseline[:0], candidate[:0], [0.5]).one).all()


def test_a_failing_engine_ends_both_and_both_go_on(tmp_path):
    all_calls, broken = [], [True]
    old = recorder("old", all_calls)

    def new(text, depth):
        if broken and len(all_calls) > 10:
            raise OSError
        return recorder("new", all_calls)(text, depth)

    files = tmp_path / "old.run", tmp_path / "new.run"
    interrupted = rankgate.compare_engines(old, new, QUERIES, files, concurrency=1)
    assert not interrupted.finished
    assert interrupted.candidate.problem
    assert interrupted.baseline.problem == f"new: {interrupted.candidate.problem}"
    assert interrupted.candidate.states["failed"] == 10
    assert {notice.code for notice in interrupted.notices} >= {"unfinished-snapshot", "unpaired-queries"}
    with raises("other-snapshot"):
        rankgate.snapshot(new, QUERIES, files[1])  # alone it is under another load
    with raises("other-snapshot"):
        rankgate.compare_engines(old, new, QUERIES, files, seed=5)
    broken.clear()
    all_calls.clear()
    complete = rankgate.compare_engines(old, new, QUERIES, files, again=True)
    assert complete.finished
    assert complete.pairs == len(QUERIES)
    assert len(all_calls) == len(set(all_calls)) < 2 * len(QUERIES)  # what was answered is kept
    assert complete.baseline.run.table.equals(complete.candidate.run.table)
    assert not list(tmp_path.glob("*.partial.jsonl"))


def test_outputs_are_two_files(tmp_path):
    def old(_, **__):
        return ["a"]

    for files in [(tmp_path / "a",), (tmp_path / "a", tmp_path / "a"), (tmp_path / "a",) * 3]:
        with raises("missing-output"):
            rankgate.compare_engines(old, old, QUERIES, files)


def test_the_command_writes_two_runs(run, engine, tmp_path):
    other_engine = engine.with_name("other.toml")
    other_engine.write_text(engine.read_text().replace("weight = 1.0", "weight = 2.0"))
    files = [str(tmp_path / name) for name in ("new.run", "old.run")]
    arguments = ["--compare", str(engine), str(other_engine), str(queries_file(tmp_path)), "-o", files[0]]
    assert run("snapshot", *arguments).code == 2
    assert run("snapshot", *arguments[2:], "--baseline-output", files[1]).code == 2
    outcome = run("snapshot", *arguments, "--baseline-output", files[1], "--format", "json")
    assert outcome.code == 0
    result = json.loads(outcome.out)
    assert (result["kind"], result["pairs"]) == ("engine_comparison", 40)
    for file, weight in zip(files, (2.0, 1.0), strict=True):
        single = rankgate.snapshot(engine, QUERIES, parameters={"weight": weight})
        assert rankgate.read_run(file).table.equals(single.run.table)
        assert json.loads((tmp_path / f"{file}.snapshot.json").read_text())["finished"]


def test_latencies_under_different_loads_are_not_compared_silently(engine, tmp_path):
    hashes = set()
    for count in (1, 4):
        result = snapshot(engine, QUERIES, tmp_path / f"{count}.csv", concurrency=count)
        assert set(result.queries["concurrency"]) == {count}
        assert f"concurrency {count}" in " ".join(render_result(result, "text").split())
        hashes.add(result.configuration)
    assert len(hashes) == 2
    qrels = {query: {"d1": 1} for query in QUERIES}
    result = rankgate.compare(qrels, tmp_path / "1.csv", tmp_path / "4.csv")
    (warning,) = [text for text in result.warnings if "at the same time" in text]
    assert "from the first send, with 1 at the same time" in warning
    assert "from the first send, with 4 at the same time" in warning
    snapshot(engine, QUERIES, tmp_path / "again.csv", concurrency=1)
    same_load = rankgate.compare(qrels, tmp_path / "1.csv", tmp_path / "again.csv")
    assert not [text for text in same_load.warnings if "at the same time" in text]
