"""The gate decides nothing about a system that was not asked all."""

import json

import pytest

import rankgate
from rankgate.engines.snapshots.take import snapshot
from rankgate.engines.snapshots.under_way import unfinished
from rankgate.gating.saved import baselines
from support.wording import raises

from .conftest import QUERIES

QRELS = {query: {"d1": 1} for query in QUERIES}
LENIENT = (
    '[gate]\nunequal = "drop"\n[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.5\n'
)


def good(_, **__):
    return ["d1"]


@pytest.fixture
def files(tmp_path):
    """The baseline's run, the candidate's run, and a policy that takes queries as they come."""
    snapshot(good, QUERIES, tmp_path / "old.run")
    (tmp_path / "lenient.toml").write_text(LENIENT)
    return tmp_path / "old.run", tmp_path / "new.run", tmp_path / "lenient.toml"


def broken_after(count):
    asked = []

    def search(text, **_):
        asked.append(text)
        return ["d1"] if len(asked) <= count else 1 / 0

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
    assert unfinished(new)
    for policy in (None, lenient):
        with raises("unfinished-snapshot"):
            rankgate.gate(QRELS, old, new, policy)
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, new, old)
    with raises("unfinished-snapshot"):
        rankgate.gate(QRELS, old, old.with_name("copy.run"), noise=[new])


def test_queries_that_were_not_asked_are_refused_unless_the_policy_says_what_they_are(files):
    old, new, lenient = files
    result = snapshot(broken_after(5), QUERIES, new, concurrency=1)
    assert not result.finished
    assert not unfinished(new)  # its states are known
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
        baselines.save("main", str(qrels), str(new), folder=tmp_path)
    assert not (tmp_path / "main.json").exists()


def test_files_that_are_no_snapshot_are_not_refused(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 1.0 x\n")
    assert not unfinished(tmp_path / "a.run")
    (tmp_path / "a.run.snapshot.json").write_text("[]")
    assert not unfinished(tmp_path / "a.run")
    (tmp_path / "a.run.partial.jsonl").write_text(json.dumps({"head": {}}) + "\n{")
    assert unfinished(tmp_path / "a.run")
