"""Two engines asked in turn: order, pairs, latencies, and going on."""

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
        return [(each["id"], each["score"]) for each in listed(text)[:depth]]

    return search


def test_each_query_is_asked_of_both_in_an_order_that_is_drawn(monkeypatch):
    asked = []
    old, new = recorder("old", asked), recorder("new", asked)
    taken = {"old": 0.001, "new": 0.005}
    clock = SimpleNamespace(perf_counter=lambda: sum(taken[name] for name, _ in asked))
    monkeypatch.setattr(query_sender, "time", clock)
    result = rankgate.compare_engines(old, new, QUERIES, concurrency=1, seed=3)
    pairs = [asked[i : i + 2] for i in range(0, len(asked), 2)]
    assert all(one[1] == two[1] and one[0] != two[0] for one, two in pairs)
    first = ["baseline" if pair[0][0] == "old" else "candidate" for pair in pairs]
    assert result.queries["first"].to_list() == first
    assert 8 <= first.count("baseline") <= 32
    assert result.pairs == len(QUERIES)
    assert result.baseline.run.table.equals(result.candidate.run.table)
    median = result.latency.row(1, named=True)
    assert [median[each] for each in ("baseline", "candidate")] == pytest.approx([1, 5])
    assert [median[each] for each in ("delta", "low", "high")] == pytest.approx([4, 4, 4])
    assert EngineComparison.from_dict(result.to_dict()).to_dict() == result.to_dict()
    again = rankgate.compare_engines(old, new, QUERIES, seed=3).queries["first"]
    assert again.to_list() == first


def test_a_quantile_difference_is_that_of_resampled_pairs():
    rng = np.random.default_rng(1)
    one = rng.exponential(10, 300)
    two = one + rng.normal(1, 0.1, 300)
    found = quantile_differences(one, two, [0.5, 0.95], samples=500)
    differences = [two.mean() - one.mean()]
    differences += [np.quantile(two, share) - np.quantile(one, share) for share in (0.5, 0.95)]
    assert (found.two - found.one).tolist() == pytest.approx(differences)
    assert found.high[0] - found.low[0] < 0.05  # pairs share the spread of 10
    draws = np.random.default_rng(0).integers(0, 300, (500, 300))
    means = two[draws].mean(axis=1) - one[draws].mean(axis=1)
    assert [found.low[0], found.high[0]] == pytest.approx(np.quantile(means, [0.025, 0.975]))
    assert np.isnan(quantile_differences(one[:1], two[:1], [0.5]).low).all()
    assert np.isnan(quantile_differences(one[:0], two[:0], [0.5]).one).all()


def test_a_failing_engine_ends_both_and_both_go_on(tmp_path):
    asked, broken = [], [True]
    old = recorder("old", asked)

    def new(text, depth):
        if broken and len(asked) > 10:
            raise OSError
        return recorder("new", asked)(text, depth)

    files = tmp_path / "old.run", tmp_path / "new.run"
    ended = rankgate.compare_engines(old, new, QUERIES, files, concurrency=1)
    assert not ended.finished
    assert ended.candidate.problem
    assert ended.baseline.problem == f"new: {ended.candidate.problem}"
    assert ended.candidate.states["failed"] == 10
    assert {notice.code for notice in ended.notices} >= {"unfinished-snapshot", "unpaired-queries"}
    with raises("other-snapshot"):
        rankgate.snapshot(new, QUERIES, files[1])  # alone it is under another load
    with raises("other-snapshot"):
        rankgate.compare_engines(old, new, QUERIES, files, seed=5)
    broken.clear()
    asked.clear()
    whole = rankgate.compare_engines(old, new, QUERIES, files, again=True)
    assert whole.finished
    assert whole.pairs == len(QUERIES)
    assert len(asked) == len(set(asked)) < 2 * len(QUERIES)  # what was answered is kept
    assert whole.baseline.run.table.equals(whole.candidate.run.table)
    assert not list(tmp_path.glob("*.partial.jsonl"))


def test_outputs_are_two_files(tmp_path):
    def old(_, **__):
        return ["a"]

    for files in [(tmp_path / "a",), (tmp_path / "a", tmp_path / "a"), (tmp_path / "a",) * 3]:
        with raises("missing-output"):
            rankgate.compare_engines(old, old, QUERIES, files)


def test_the_command_writes_two_runs(run, engine, tmp_path):
    other = engine.with_name("other.toml")
    other.write_text(engine.read_text().replace("weight = 1.0", "weight = 2.0"))
    files = [str(tmp_path / name) for name in ("new.run", "old.run")]
    words = ["--compare", str(engine), str(other), str(queries_file(tmp_path)), "-o", files[0]]
    assert run("snapshot", *words).code == 2
    assert run("snapshot", *words[2:], "--baseline-output", files[1]).code == 2
    done = run("snapshot", *words, "--baseline-output", files[1], "--format", "json")
    assert done.code == 0
    result = json.loads(done.out)
    assert (result["kind"], result["pairs"]) == ("engine_comparison", 40)
    for file, weight in zip(files, (2.0, 1.0), strict=True):
        alone = rankgate.snapshot(engine, QUERIES, parameters={"weight": weight})
        assert rankgate.read_run(file).table.equals(alone.run.table)
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
    assert "with 1 queries" in warning
    assert "with 4" in warning
    snapshot(engine, QUERIES, tmp_path / "again.csv", concurrency=1)
    same = rankgate.compare(qrels, tmp_path / "1.csv", tmp_path / "again.csv")
    assert not [text for text in same.warnings if "at the same time" in text]
