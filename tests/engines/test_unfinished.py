"""The gate decides nothing about a system that was not asked all."""

import json
import sqlite3
from contextlib import closing

import pytest

import rankgate
from rankgate.core.present.write_results import render_result
from rankgate.data.formats.run_companions import unfinished_reason
from rankgate.decisions.gating.saved import saved_baselines
from rankgate.engines.engine_checks import check_engine
from rankgate.engines.snapshots.snapshot_verb import snapshot
from support.wording import raises

from .conftest import QUERIES

QRELS = {query: {"d1": 1} for query in QUERIES}
LENIENT = '[gate]\nunequal = "drop"\n[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.5\n'


def good(_, **__):
    return ["d1"]


@pytest.fixture
def files(tmp_path):
    """The baseline's run, the candidate's run, and a policy that takes queries as they come."""
    snapshot(good, QUERIES, tmp_path / "old.run")
    (tmp_path / "lenient.toml").write_text(LENIENT)
    return tmp_path / "old.run", tmp_path / "new.run", tmp_path / "lenient.toml"


def broken_after(count):
    calls = []

    def search(text, **_):
        calls.append(text)
        return ["d1"] if len(calls) <= count else 1 / 0

    return search


def test_a_snapshot_that_is_interrupted_is_no_arm(files, monkeypatch):
    old, new, lenient = files
    snapshot(good, QUERIES, new)
    assert rankgate.gate(QRELS, old, new).passed

    from rankgate.engines.requests import workers

    def waits(_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_wait_for", waits)
    with pytest.raises(KeyboardInterrupt):
        snapshot(good, QUERIES, new, force=True, rate=1)
    assert new.exists()  # the run of the earlier snapshot, with all its companions
    assert unfinished_reason(new)
    for policy in (None, lenient):
        with raises("unfinished-snapshot"):
            rankgate.gate(QRELS, old, new, policy)
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, new, old)
    copy = old.with_name("copy.run")
    copy.write_bytes(old.read_bytes())
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, rankgate.read_run(old, noise=[new]), copy)


def test_queries_that_were_not_asked_are_refused_unless_the_policy_says_what_they_are(files):
    old, new, lenient = files
    result = snapshot(broken_after(5), QUERIES, new, concurrency=1)
    assert not result.finished
    assert not unfinished_reason(new)  # its states are known
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, old, new)
    assert {row["state"] for row in rankgate.gate(QRELS, old, new, lenient).states} >= {"not_run"}
    new.with_name("new.run.meta.jsonl").unlink()
    new.with_name("new.run.partial.jsonl").unlink()
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, old, new, lenient)  # which they are is not known any more


def test_a_system_that_never_answered_is_no_arm(files, tmp_path):
    old, new, lenient = files
    result = snapshot(broken_after(0), dict(list(QUERIES.items())[:8]), new)
    assert result.states["failed"] == 8
    rows = tmp_path / "new.run"
    rows.write_text("q0 Q0 d1 1 1.0 x\n")  # a run that its states contradict
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, old, new, lenient)


def test_a_failed_query_leaves_a_journal_and_is_no_reason_to_refuse(files):
    old, new, lenient = files
    result = snapshot(broken_after(39), QUERIES, new, concurrency=1)
    assert result.states["failed"] == 1
    assert new.with_name("new.run.partial.jsonl").exists()
    assert rankgate.gate(QRELS, old, new, lenient).verdict == "pass"


def test_a_baseline_is_not_saved_from_an_unfinished_snapshot(files, tmp_path):
    _, new, _ = files
    snapshot(broken_after(5), QUERIES, new, concurrency=1)
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    with raises("unfinished-snapshot"):
        saved_baselines.save("main", str(qrels), str(new), folder=tmp_path)
    assert not (tmp_path / "main.json").exists()


def test_files_that_are_no_snapshot_are_not_refused(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 1.0 x\n")
    assert not unfinished_reason(tmp_path / "a.run")
    (tmp_path / "a.run.snapshot.json").write_text("[]")
    assert not unfinished_reason(tmp_path / "a.run")
    (tmp_path / "a.run.partial.jsonl").write_text(json.dumps({"head": {}}) + "\n{")
    assert unfinished_reason(tmp_path / "a.run")


def test_every_command_refuses_a_run_whose_snapshot_is_under_way(files, run, tmp_path):
    old, new, _ = files
    snapshot(good, QUERIES, new)
    (tmp_path / "new.run.partial.jsonl").write_text('{"head": {}}\n')  # a new one was interrupted
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    qrels = tmp_path / "qrels.txt"
    for arguments in (("eval", qrels, new), ("compare", qrels, old, new), ("gate", qrels, old, new)):
        result = run(*arguments)
        assert result.code == 2
        assert "new.run.partial.jsonl" in result.err


@pytest.fixture
def cut(api, tmp_path):
    """The run of a snapshot from a server with fewer documents than requested and matching."""
    api.write_text(api.read_text().replace("depth = 5", "depth = 100"))
    result = snapshot(api, QUERIES, tmp_path / "cut.csv")
    return result, tmp_path / "cut.csv"


def test_lists_that_are_cut_off_are_named_wherever_they_are_used(cut, api):
    result, path = cut
    (notice,) = [entry for entry in result.notices if entry.code == "cut-lists"]
    assert "40 queries have 5 documents" in notice.text
    assert "cut-lists" in {entry.code for entry in check_engine(api, "red").notices}
    qrels = {query: {f"d{i}": 1 for i in range(60)} for query in QUERIES}
    assert notice.text in str(rankgate.evaluate(qrels, [path], ["R@100"]).notices)
    baseline = {query: {"d1": 1.0} for query in QUERIES}
    assert notice.text in str(rankgate.compare(qrels, baseline, path).warnings)
    policy = '[[rules]]\nkind = "noninferiority"\nmetric = "R@100"\nmargin = 0.9\n'
    path.with_name("policy.toml").write_text(policy)
    verdict = rankgate.gate(qrels, baseline, path, path.with_name("policy.toml"))
    assert notice.text in str(verdict.to_dict())
    assert notice.text in " ".join(render_result(verdict, "text").split())


def test_an_index_that_changed_under_way_is_named_wherever_it_is_used(engine, tmp_path):
    changed = []

    def change(query_id):
        if not changed:
            changed.append(query_id)
            with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop, shop:
                shop.execute("INSERT INTO docs VALUES ('new', 'red shoe')")

    with rankgate.progress(change):
        result = snapshot(engine, QUERIES, tmp_path / "new.csv")
    assert "index-changed" in {notice.code for notice in result.notices}
    scores = rankgate.evaluate(QRELS, tmp_path / "new.csv", ["R@10"])
    assert "changed during the snapshot" in str(scores.notices)


@pytest.mark.parametrize("name", ["new.run", "new.csv", "new.jsonl"])
def test_a_run_of_queries_without_results_is_worth_nothing(tmp_path, name):
    result = snapshot(lambda _, **__: [], QUERIES, tmp_path / name)
    assert result.states["zero"] == len(QUERIES)
    assert not result.failed
    scores = rankgate.evaluate(QRELS, tmp_path / name, ["RR"])
    assert scores.means["RR"].to_list() == [0.0]
    snapshot(lambda text, **_: [("d1" if len(text) % 3 else "d2", 1.0)], QUERIES, tmp_path / "old.run")
    assert not rankgate.gate(QRELS, tmp_path / "old.run", tmp_path / name).passed


def test_a_snapshot_without_an_answer_exits_with_3(api, server, run, tmp_path):
    server.plan = {"*": [(400, "no")]}
    (tmp_path / "queries.tsv").write_text("q1\tred\nq2\tblue\n")
    arguments = ("snapshot", api, tmp_path / "queries.tsv", "-o", tmp_path / "new.run")
    result = run(*arguments)
    assert result.code == 3
    assert "--again helps only after the cause is fixed" in " ".join(result.out.split())
    server.plan = {"red": [(400, "no")]}
    assert run(*arguments, "--again").code == 0


def test_queries_that_failed_are_no_results_of_0(files):
    old, new, _ = files
    snapshot(broken_after(len(QUERIES) - 1), QUERIES, new, concurrency=1)
    with raises("values-differ") as caught:
        rankgate.gate(QRELS, old, new)
    assert "zero" not in str(caught.value)
