"""Sweeps over a real index: points, cache, interruptions, faults, set-up."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.decisions.sweeps.sweep import Sweep
from rankgate.interface.cli import rankgate as program
from support.waiting import until
from support.wording import raises

from .conftest import DIALS, HEAD, figures


def test_every_point_has_the_figures_of_its_own_snapshot(plan, shop):
    result = rankgate.sweep(plan())
    assert [point.state for point in result.points] == ["ok"] * 6
    assert result.queries == 24
    for point in result.points:
        weight, table = point.parameters["title"], point.parameters["table"]
        text = (shop / "engine.toml").read_text().replace('"plain"', f'"{table}"')
        (shop / "own.toml").write_text(text)
        run = rankgate.snapshot(shop / "own.toml", shop / "queries.tsv", parameters={"title": weight})
        means = rankgate.evaluate(shop / "qrels.txt", run.run, ["nDCG@10", "RR"]).runs[0].means
        for metric, mean in means.items():
            assert point.metrics[metric].mean == pytest.approx(mean)
            assert point.metrics[metric].low < mean < point.metrics[metric].high
        assert set(point.latency) >= {"p50", "p95"}
        saved_rows = rankgate.read_run(shop / "sweep.points" / point.run).table
        assert saved_rows.sort("query_id", "doc_id").equals(run.run.table.sort("query_id", "doc_id"))
    means = [point.metrics["nDCG@10"].mean for point in result.points]
    assert result.choice.place == int(np.argmax(means))
    gain = max(means) - means[0]
    assert result.choice.same_queries.mean == pytest.approx(gain)
    assert result.choice.held_out.mean <= gain + 1e-12


def test_the_gain_and_its_interval_are_those_of_compare(plan, shop):
    result = rankgate.sweep(plan("[dials]\ntitle = [0.1, 9]\n"))
    runs = [shop / "sweep.points" / point.run for point in (result.baseline, result.chosen)]
    row = rankgate.compare(shop / "qrels.txt", *runs, ["nDCG@10"]).metrics.row(0, named=True)
    assert result.choice.same_queries.mean == pytest.approx(row["delta"])
    assert result.choice.p_value == pytest.approx(row["p_raw"])
    assert result.choice.same_queries.low <= row["low"] + 1e-12  # the gate's ends are not inside
    assert result.choice.same_queries.high >= row["high"] - 1e-12


def test_what_was_measured_is_not_measured_again(plan, shop):
    progress_steps = []
    file = plan()
    with rankgate.progress(progress_steps.append):
        first = rankgate.sweep(file)
    assert len(progress_steps) == 7  # six points, and their latencies
    times = {path.name: path.stat().st_mtime_ns for path in (shop / "sweep.points").glob("*.run")}
    second = rankgate.sweep(file)
    assert second.to_dict() == first.to_dict()
    larger_sweep = rankgate.sweep(plan(DIALS.replace("[0.5, 1, 4]", "[0.5, 1, 4, 8]")))
    assert len(larger_sweep.points) == 8
    now = {path.name: path.stat().st_mtime_ns for path in (shop / "sweep.points").glob("*.run")}
    assert times.items() <= now.items()
    assert len(now) == 8
    with closing(sqlite3.connect(shop / "shop.sqlite")) as database, database:
        database.execute("INSERT INTO plain VALUES ('d99', 'red', 'red')")
    rankgate.sweep(plan())
    assert len([*(shop / "sweep.points").glob("*.run")]) == 14  # of another index


def test_parallel_points_give_the_same(plan, tmp_path):
    serial_sweep = rankgate.sweep(plan(), folder=tmp_path / "one")
    parallel_sweep = rankgate.sweep(plan(), folder=tmp_path / "four", workers=4)
    assert figures(serial_sweep) | {"folder": ""} == figures(parallel_sweep) | {"folder": ""}


def test_the_result_round_trips_and_reports(plan, shop, tmp_path):
    result = rankgate.sweep(plan())
    saved_result = json.loads((shop / "sweep.points" / "sweep.json").read_text())
    assert Sweep.from_dict(saved_result).to_dict() == result.to_dict()
    frame = result.to_polars()
    assert frame["title"].to_list() == [point.parameters["title"] for point in result.points]
    assert frame["nDCG@10.low"].dtype == pl.Float64
    page = result.report(tmp_path / "page.html").read_text()
    assert page.count("<svg") >= 3


def test_a_killed_sweep_goes_on_and_equals_one_that_was_not(plan, tmp_path):
    file = plan(DIALS.replace("[0.5, 1, 4]", "[0.5, 1, 2, 4]"))
    uninterrupted = rankgate.sweep(file, folder=tmp_path / "whole")
    command = [sys.executable, "-m", "rankgate", "sweep", str(file), "--folder", str(tmp_path / "cut")]
    chance = random.Random(5)
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.7 + chance.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed = rankgate.sweep(file, folder=tmp_path / "cut")
    assert figures(resumed) | {"folder": ""} == figures(uninterrupted) | {"folder": ""}


def test_a_point_that_fails_is_named_and_goes_on_later(plan, shop):
    file = plan('[dials]\ntable = ["plain", "late"]\ntitle = [1, 2]\n')
    result = rankgate.sweep(file)
    assert [point.state for point in result.points] == ["ok", "ok", "failed", "failed"]
    assert "late" in result.points[2].problem
    assert "failed-points" in {notice.code for notice in result.notices}
    assert not result.finished
    assert result.choice.place in (0, 1)
    with closing(sqlite3.connect(shop / "shop.sqlite")) as database, database:
        database.execute("CREATE VIRTUAL TABLE late USING fts5(id UNINDEXED, title, body)")
        database.execute("INSERT INTO late SELECT * FROM plain")
        database.commit()
    assert rankgate.sweep(file).finished


def test_a_point_without_any_result_is_named_and_is_not_asked_again(plan, shop):
    with closing(sqlite3.connect(shop / "shop.sqlite")) as database, database:
        database.execute("CREATE VIRTUAL TABLE bare USING fts5(id UNINDEXED, title, body)")
    file = plan('[dials]\ntable = ["plain", "bare", "stems"]\n')
    for _ in range(2):
        result = rankgate.sweep(file)
        assert [point.state for point in result.points] == ["ok", "empty", "ok"]
        assert "empty-points" in {notice.code for notice in result.notices}
        assert result.finished


def test_without_any_figures_nothing_is_chosen(plan):
    result = rankgate.sweep(plan('[dials]\ntable = ["late", "later"]\n[baseline]\ntable = "gone"\n'))
    assert [point.state for point in result.points] == ["failed"] * 3
    assert result.choice is None
    assert result.chosen is None
    assert result.front == ()
    assert "no-baseline" in {notice.code for notice in result.notices}
    assert "late" in str(result)
    with raises("nothing-to-draw"):
        result.plot()


def test_queries_that_fail_take_their_point_out():
    def search(text, depth, weight):  # noqa: ARG001
        if weight == 2 and text == "b":
            raise ValueError("no weight for b")
        return {"x": weight, "y": 1.0}

    plan = {
        "sweep": {
            "engine": search,
            "queries": {"q1": "a", "q2": "b"},
            "qrels": {"q1": {"x": 1}, "q2": {"y": 1}},
        },
        "dials": {"weight": [0.5, 2, 3]},
        "baseline": {"weight": 0.5},
    }
    result = rankgate.sweep(plan)
    assert [point.state for point in result.points] == ["ok", "failed", "ok"]
    assert "no weight for b" in result.points[1].problem
    assert result.folder is None
    with raises("unknown-dial"):
        rankgate.sweep({**plan, "baseline": {}})
    with raises("unknown-dial"):
        rankgate.sweep({**plan, "dials": {"wight": [1]}, "baseline": {"wight": 1}})


def test_a_sweep_ends_where_the_engine_is_down(plan, shop):
    (shop / "down.py").write_text(
        "import json, pathlib, sys\n"
        "state = pathlib.Path('asked')\n"
        "for line in sys.stdin:\n"
        "    seen = int(state.read_text()) if state.exists() else 0\n"
        "    if seen > 30 and not pathlib.Path('up').exists():\n        sys.exit(1)\n"
        "    state.write_text(str(seen + 1))\n"
        "    print(json.dumps({'hits': [{'id': 'd1', 'score': 1}]}), flush=True)\n"
    )
    (shop / "down.toml").write_text(
        f'[engine]\nkind = "command"\ncommand = ["{sys.executable}", "down.py"]\n'
        "[engine.parameters]\nk = 1\n"
        "[snapshot]\nretries = 0\ngive_up = 2\nconcurrency = 1\nbackoff = 0.01\n"
    )
    file = plan("[dials]\nk = [1, 2, 3, 4]\n", HEAD.replace("engine.toml", "down.toml"))
    result = rankgate.sweep(file)
    assert [point.state for point in result.points] == ["ok", "failed", "not_run", "not_run"]
    assert {"failed-points", "not-run-points"} <= {notice.code for notice in result.notices}
    (shop / "up").touch()
    assert rankgate.sweep(file).finished


SETUP = """[dials]
tokenizer = ["unicode61", "porter", "trigram"]
[baseline]
tokenizer = "unicode61"
[[setup]]
sql = "CREATE VIRTUAL TABLE fresh USING fts5(id UNINDEXED, title, body, tokenize='{{tokenizer}}')"
[[setup]]
sql = "INSERT INTO fresh SELECT * FROM plain"
[[undo]]
sql = "DROP TABLE IF EXISTS fresh"
"""


def tables(shop):
    with closing(sqlite3.connect(shop / "shop.sqlite")) as database:
        return {name for (name,) in database.execute("SELECT name FROM sqlite_master")}


@pytest.fixture
def fresh(shop):
    text = (shop / "engine.toml").read_text().replace('table = "plain"', 'table = "fresh"')
    (shop / "fresh.toml").write_text(text)
    return HEAD.replace("engine.toml", "fresh.toml")


def test_a_set_up_is_carried_out_and_undone(plan, shop, fresh):
    tables_before = tables(shop)
    result = rankgate.sweep(plan(SETUP, fresh))
    assert result.finished
    assert (result.front, result.baseline.latency_low) == ((), None)  # an index for each point
    assert "not-timed-in-turn" in {notice.code for notice in result.notices}
    assert tables(shop) == tables_before
    values = [point.metrics["nDCG@10"].mean for point in result.points]
    assert len({round(value, 6) for value in values}) > 1


def test_a_set_up_that_fails_is_undone_and_named(plan, shop, fresh):
    tables_before = tables(shop)
    result = rankgate.sweep(plan(SETUP.replace('"trigram"', '"nonsense"'), fresh))
    assert [point.state for point in result.points] == ["ok", "ok", "failed"]
    assert "nonsense" in result.points[2].problem
    assert tables(shop) == tables_before


def set_ups(shop):
    """How many points were set up by all programs."""
    journal = shop / "sweep.points" / "undo.jsonl"
    return journal.read_text().count('{"undo"') if journal.exists() else 0


def test_a_set_up_of_a_killed_sweep_is_undone_by_the_next(plan, shop, fresh):
    tables_before = tables(shop)
    file = plan(SETUP, fresh.replace("fresh.toml", "slow.toml"))
    text = (shop / "fresh.toml").read_text().replace("backoff = 0.01", "rate = 2")
    (shop / "slow.toml").write_text(text)
    for signal_number, begun in ((signal.SIGKILL, 1), (signal.SIGINT, 2), (signal.SIGTERM, 3)):
        command = [sys.executable, "-m", "rankgate", "sweep", str(file)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: set_ups(shop) >= begun and "fresh" in tables(shop))  # noqa: B023 - at once
        process.send_signal(signal_number)
        process.wait()
        assert (tables(shop) == tables_before) == (signal_number != signal.SIGKILL)
    (shop / "slow.toml").write_text(text.replace("rate = 2", "rate = 5000"))
    assert rankgate.sweep(file).finished
    assert tables(shop) == tables_before


def test_a_set_up_that_cannot_be_undone_stops_the_sweep(plan, fresh):
    broken = SETUP.replace("DROP TABLE IF EXISTS fresh", "DROP TABLE nothing")
    with raises("undo-failed"):
        rankgate.sweep(plan(broken, fresh))
    with raises("undo-failed"):  # nothing else is done before
        rankgate.sweep(plan(SETUP, fresh))


def test_two_sweeps_do_not_share_a_folder(plan, shop):
    from rankgate.data.streams.journal import Journal

    (shop / "sweep.points").mkdir()
    with Journal.open(shop / "sweep.points" / "undo.jsonl"), raises("cannot-write"):
        rankgate.sweep(plan())


def test_a_fusion_is_swept(shop, plan):
    runs = {}
    for name, weight in (("a", 0.1), ("b", 10)):
        runs[name] = rankgate.snapshot(
            shop / "engine.toml", shop / "queries.tsv", shop / f"{name}.run", parameters={"title": weight}
        )
    text = """[sweep]
qrels = "qrels.txt"
[fuse]
runs = ["a.run", "b.run"]
parameters = {k = "{{k}}"}
weights = [1.0, "{{b}}"]
[dials]
k = {low = 1, high = 100, steps = 4, log = true, integer = true}
b = [0.5, 1, 2]
[baseline]
k = 60
b = 1
"""
    result = rankgate.sweep(plan(text, ""))
    assert result.finished
    assert len(result.points) == 13
    assert {dial.name: dial.values for dial in result.space}["k"] == (1, 5, 22, 100)
    point = result.points[5]
    fused = rankgate.fuse(
        [shop / "a.run", shop / "b.run"],
        "rrf",
        {"k": point.parameters["k"]},
        weights=[1.0, point.parameters["b"]],
    )
    mean = rankgate.evaluate(shop / "qrels.txt", fused.run, ["nDCG@10"]).runs[0].means["nDCG@10"]
    assert point.metrics["nDCG@10"].mean == pytest.approx(mean)
    assert result.front == ()
    methods = text.replace('parameters = {k = "{{k}}"}\n', "").replace("k = 60\n", "")
    methods = methods.replace(
        "k = {low = 1, high = 100, steps = 4, log = true, integer = true}", 'method = ["rrf", "borda", "isr"]'
    )
    result = rankgate.sweep(plan(methods, ""))
    assert result.finished
    values = [tuple(point.parameters.values()) for point in result.points]
    assert values == [
        ("rrf", 1),
        *(("rrf", b) for b in (0.5, 2)),
        *(("borda", b) for b in (0.5, 1, 2)),
        ("isr", None),
    ]
    assert "isr" in str(result)
    assert result.to_polars()["b"].to_list()[-1] is None
    assert Sweep.from_dict(result.to_dict()).to_dict() == result.to_dict()
    result.plot("sweep-heat")
    result.plot("sweep-dials")


@pytest.fixture
def two_runs(shop):
    """The runs ``a.run`` and ``b.run`` of two settings of the shop's engine."""
    for name, weight in (("a", 0.1), ("b", 10)):
        rankgate.snapshot(
            shop / "engine.toml", shop / "queries.tsv", shop / f"{name}.run", parameters={"title": weight}
        )


FUSION = """[sweep]
qrels = "qrels.txt"
[fuse]
runs = ["a.run", "b.run"]
"""
METHODS = """method = "linear"
norm = "min-max"
weights = [1, 1]
parameters = {k = "{{k}}"}
[dials]
method = ["linear", "wmnz", "combsum", "rrf", "isr"]
norm = ["min-max", "z-score", "sum"]
weights = [[1, 0.5], [1, 1], [0.5, 1]]
k = [10, 60]
"""


def test_dials_of_a_fusion_apply_by_method(shop, plan, two_runs, run):  # noqa: ARG001 - two_runs writes files
    file = plan(FUSION + METHODS, "")
    printed = run("sweep", file, "--format", "json")
    assert printed.code == 0
    result = Sweep.from_dict(json.loads(printed.out))
    values = [tuple(point.parameters.values()) for point in result.points]
    counts = {
        method: sum(row[0] == method for row in values)
        for method in ("linear", "wmnz", "combsum", "rrf", "isr")
    }
    assert counts == {"linear": 9, "wmnz": 9, "combsum": 3, "rrf": 6, "isr": 1}
    assert len({point.hash for point in result.points}) == len(result.points) == 28
    assert ("isr", None, None, None) in values
    assert {point.state for point in result.points} == {"ok"}
    for point in result.points:
        method, norm, weights, k = point.parameters.values()
        parameters = {} if k is None else {"k": k}
        fused = rankgate.fuse(
            [shop / "a.run", shop / "b.run"], method, parameters, weights=weights, norm=norm
        )
        mean = rankgate.evaluate(shop / "qrels.txt", fused.run, ["nDCG@10"]).runs[0].means["nDCG@10"]
        assert point.metrics["nDCG@10"].mean == pytest.approx(mean)


def test_a_dial_applies_with_values_of_another():
    seen = []

    def search(text, depth, norm="l2", mean="arithmetic"):  # noqa: ARG001
        seen.append((norm, mean))
        return ["d1", "d2"]

    tables = {
        "sweep": {
            "engine": search,
            "queries": {"q1": "a", "q2": "b"},
            "qrels": {"q1": {"d1": 1}, "q2": {"d2": 1}},
            "metrics": ["RR"],
        },
        "dials": {
            "norm": ["l2", "z"],
            "mean": {"values": ["arithmetic", "harmonic"], "when": {"norm": ["l2"]}},
        },
    }
    result = rankgate.sweep(tables)
    assert [tuple(point.parameters.values()) for point in result.points] == [
        ("l2", "arithmetic"),
        ("l2", "harmonic"),
        ("z", None),
    ]
    assert {*seen} == {("l2", "arithmetic"), ("l2", "harmonic"), ("z", "arithmetic")}
    assert result.finished


def test_optuna_measures_settings_that_do_not_apply_once(plan, two_runs):  # noqa: ARG001 - two_runs writes files
    head = FUSION.replace("[fuse]", 'search = "optuna"\ntrials = 12\n[fuse]')
    text = """weights = [1, "{{b}}"]
[dials]
method = ["isr", "rrf"]
b = {low = 0.1, high = 2}
[baseline]
method = "rrf"
b = 1
"""
    result = rankgate.sweep(plan(head + text, ""))
    assert result.finished
    assert sum(point.parameters["method"] == "isr" for point in result.points) == 1


def test_a_command_is_swept(shop, plan):
    (shop / "rank.py").write_text(
        "import sys\nbest, out = sys.argv[1:]\n"
        "if best == 'd9':\n    sys.exit('d9 is not for sale')\n"
        "with open(out, 'w') as file:\n"
        "    for q in range(24):\n        file.write(f'q{q} Q0 {best} 1 1.0 own\\n')\n"
    )
    text = f"""[sweep]
qrels = "qrels.txt"
[command]
command = ["{sys.executable}", "rank.py", "{{{{best}}}}", "{{{{run}}}}"]
[dials]
best = ["d1", "d2", "d9"]
[baseline]
best = "d1"
"""
    result = rankgate.sweep(plan(text, ""))
    assert [point.state for point in result.points] == ["ok", "ok", "failed"]
    assert result.points[2].problem.endswith("d9 is not for sale")
    assert result.points[0].latency == {}


def test_optuna_proposes_points_and_the_same_ones_again(plan, tmp_path):
    text = '[dials]\ntitle = {low = 0.1, high = 20, log = true}\ntable = ["plain", "stems"]\n'
    file = plan(text, HEAD + 'search = "optuna"\ntrials = 12\nseed = 3\n')
    first = rankgate.sweep(file)
    assert 7 <= len(first.points) <= 13
    assert first.baseline.parameters == {"title": 1.0, "table": "plain"}
    assert all(0.1 <= point.parameters["title"] <= 20 for point in first.points)
    assert "adaptive-search" in {notice.code for notice in first.notices}
    second = rankgate.sweep(file, folder=tmp_path / "again")
    assert figures(second) | {"folder": ""} == figures(first) | {"folder": ""}
    assert len(rankgate.sweep(file, trials=14).points) >= len(first.points)
    assert first.plot("sweep-heat").rows


def test_copies_of_queries_are_no_further_units(plan, shop):
    """Each query twice: the gain and its interval are those of one copy."""
    file = plan("[dials]\ntitle = [0.1, 9]\n")
    alone = rankgate.sweep(file)
    for name in ("queries.tsv", "qrels.txt"):
        text = (shop / name).read_text()
        (shop / name).write_text(text + "".join(f"copy-of-{line}\n" for line in text.splitlines()))
    copied = rankgate.sweep(file, folder=shop / "copied")
    notices = {notice.code: notice.text for notice in copied.notices}
    assert "48 queries are 24 clusters" in notices["clusters"]
    assert "clusters" not in {notice.code for notice in alone.notices}
    gains = [result.choice.same_queries for result in (alone, copied)]
    assert [gains[1].low, gains[1].mean, gains[1].high] == pytest.approx(
        [gains[0].low, gains[0].mean, gains[0].high]
    )


def test_queries_without_judgments_or_answers_are_counted(shop, plan):
    lines = (shop / "qrels.txt").read_text()
    (shop / "qrels.txt").write_text(f"{lines}x1 0 d1 1\n")
    result = rankgate.sweep(plan())
    assert result.queries == 24
    assert result.left_out == 1
    assert {"queries-not-asked", "rare-losses"} <= {notice.code for notice in result.notices}


def test_the_command_prints_writes_and_exits(plan, shop):
    run = CliRunner().invoke(program, ["sweep", str(plan())])
    assert run.exit_code == 0, run.output
    assert "held-out" in run.output
    page = shop / "page.html"
    assert CliRunner().invoke(program, ["sweep", str(plan()), "-o", str(page)]).exit_code == 0
    assert page.read_text().count("<table") >= 3
    failing = plan('[dials]\ntable = ["plain", "late"]\n')
    assert CliRunner().invoke(program, ["sweep", str(failing)]).exit_code == 3


def test_a_sweep_charges_its_points_once_and_wears_the_queries(plan, shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rankgate.sweep(plan()).account.state == "unknown"
    rankgate.open_account(tests=50)
    result = rankgate.sweep(plan())
    assert (result.account.state, result.account.test, result.account.left) == ("open", 5, 45)
    assert any(notice.code == "budget" for notice in result.notices)
    assert Sweep.from_dict(result.to_dict()).account == result.account
    assert rankgate.sweep(plan()).account.test == 5
    runs = [shop / "sweep.points" / point.run for point in result.points[:2]]
    verdict = rankgate.gate(shop / "qrels.txt", *runs)
    assert (verdict.account.state, verdict.verdict) == ("worn", "inconclusive")
