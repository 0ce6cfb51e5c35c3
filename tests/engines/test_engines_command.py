"""``rankgate engines`` and ``rankgate snapshot``."""

import json
import sys

from rankgate.engines.snapshots.snapshot_verb import snapshot

from .conftest import QUERIES
from .test_snapshot import queries_file

PROGRAM = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    text = asked["query"]
    if "sleep" in text:
        time.sleep(30)
    if "end" in text:
        sys.exit(3)
    if "garbage" in text:
        print("garbage", flush=True)
        continue
    words = enumerate(text.split())
    hits = [{"id": word, "score": 9 - i, "name": word.upper()} for i, word in words]
    print(json.dumps({"hits": hits[:asked["depth"]], "total": len(hits)}), flush=True)
"""


def test_engines_are_listed_shown_and_checked(run, engine):
    listed = json.loads(run("engines", "list", "--format", "json").out)
    assert {"opensearch", "sqlite", "http"} <= {each["name"] for each in listed["kinds"]}
    assert "engine.database" in run("engines", "show", "sqlite").out
    done = run("engines", "check", str(engine), "--query", "red shoe")
    assert done.code == 0
    assert "red shoe" in done.out
    engine.write_text(engine.read_text().replace('table = "docs"', 'table = "dogs"'))
    done = run("engines", "check", str(engine))
    assert done.code == 3
    assert "no such table" in done.out


def test_a_snapshot_is_evaluated_with_its_states(run, engine, tmp_path):
    queries, output = queries_file(tmp_path), tmp_path / "new.run"
    done = run("snapshot", str(engine), str(queries), "-o", str(output))
    assert done.code == 0
    assert "40 queries" in done.out
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    compared = json.loads(
        run("compare", str(tmp_path / "qrels.txt"), str(output), str(output) + ".b",
            "-m", "RR", "--format", "json").out or "{}"
    )  # fmt: skip
    assert compared == {}  # the second run does not exist
    again = run("snapshot", str(engine), str(queries), "-o", str(output))
    assert again.code == 2
    assert run("snapshot", str(engine), str(queries), "-o", str(output), "--force").code == 0


def test_an_engine_that_is_down_exits_with_3(run, engine, tmp_path):
    engine.write_text(engine.read_text().replace('table = "docs"', 'table = "dogs"'))
    output = tmp_path / "new.run"
    done = run("snapshot", str(engine), str(queries_file(tmp_path)), "-o", str(output))
    assert done.code == 3
    assert "not asked" in done.out


def program(folder, timeout=60):
    (folder / "search.py").write_text(PROGRAM)
    file = folder / "program.toml"
    words = json.dumps([sys.executable, "search.py"])
    file.write_text(
        f'[engine]\nkind = "command"\ncommand = {words}\ntimeout = {timeout}\n'
        '[engine.fields]\ntitle = "name"\n[snapshot]\nretries = 0\n'
    )
    return file


def test_a_program_is_an_engine(tmp_path):
    asked = {"a": "red shoe", "b": "end it", "c": "garbage", "d": "blue"}
    result = snapshot(program(tmp_path), asked)
    assert result.queries["state"].to_list() == ["ok", "failed", "failed", "ok"]
    assert result.run.table.rows()[:2] == [("a", "red", 9.0), ("a", "shoe", 8.0)]
    assert "ended with 3" in result.queries["error"][1]
    assert "not a line of JSON" in result.queries["error"][2]
    result = snapshot(program(tmp_path, timeout=0.5), {"e": "sleep"})
    assert result.queries["state"].to_list() == ["failed"]
    assert "no answer within 0.5 seconds" in result.queries["error"][0]


def test_a_program_that_is_not_there(tmp_path):
    file = program(tmp_path)
    file.write_text(file.read_text().replace(sys.executable, "no-such-program"))
    result = snapshot(file, {"a": "x"})
    assert not result.finished
    assert "cannot be started" in result.problem


def test_the_gate_decides_nothing_about_an_unfinished_snapshot(run, engine, tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    files = [str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run")]
    snapshot(engine, QUERIES, files[1])
    asked = []

    def once(text, **_):
        asked.append(text)
        return ["d1"] if len(asked) < 5 else 1 / 0

    result = snapshot(once, QUERIES, files[2], concurrency=1)
    assert result.states == {"ok": 4, "zero": 0, "failed": 10, "not_run": 26}
    done = run("gate", *files)
    assert done.code == 2
    assert "26 of 40 queries were not asked" in done.err


def test_states_are_shown_with_values_comparisons_and_verdicts(run, tmp_path):
    qrels, old, new = (str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run"))
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    (tmp_path / "rankgate.toml").write_text(
        '[gate]\nunequal = "zero"\n'
        '[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.5\n'
    )
    policy = ["--policy", str(tmp_path / "rankgate.toml")]

    def search(text, **_):
        number = int(text.rpartition("number")[2])
        return ["d1"] if number > 1 else [] if number else 1 / 0

    snapshot(lambda _, **__: ["d1"], QUERIES, old)
    snapshot(search, QUERIES, new)
    expected = {"ok": 38, "zero": 1, "failed": 1, "not_run": 0}
    values = json.loads(run("eval", qrels, new, old, "--format", "json").out)
    assert values["runs"][0]["counts"]["states"] == expected
    ours = {
        row["state"]: row["queries"]
        for row in _states(run("gate", qrels, old, new, *policy, "--format", "json"))
    }
    assert ours == {state: count for state, count in expected.items() if count}
    words = ["compare", qrels, old, new, "--unequal", "zero"]
    compared = json.loads(run(*words, "--format", "json").out)
    assert {row["state"] for row in compared["comparisons"][0]["states"]} == {
        "ok",
        "zero",
        "failed",
    }
    for asked in (["eval", qrels, new], words, ["gate", qrels, old, new, *policy]):
        for form in ("text", "html"):
            shown = run(*asked, "--format", form).out
            assert "states of queries" in shown
            assert "1 of 40 queries failed" in shown
    assert "states of queries" not in run("eval", qrels, old).out


def _states(done):
    found = json.loads(done.out)["states"]
    return [row for row in found if row["system"] == "candidate"]
