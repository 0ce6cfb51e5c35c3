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
    listing = json.loads(run("engines", "list", "--format", "json").out)
    assert {"opensearch", "sqlite", "http"} <= {kind["name"] for kind in listing["kinds"]}
    assert "engine.database" in run("engines", "show", "sqlite").out
    result = run("engines", "check", str(engine), "--query", "red shoe")
    assert result.code == 0
    assert "red shoe" in result.out
    engine.write_text(engine.read_text().replace('table = "docs"', 'table = "dogs"'))
    result = run("engines", "check", str(engine))
    assert result.code == 3
    assert "no such table" in result.out


def test_a_snapshot_is_evaluated_with_its_states(run, engine, tmp_path):
    queries, output = queries_file(tmp_path), tmp_path / "new.run"
    result = run("snapshot", str(engine), str(queries), "-o", str(output))
    assert result.code == 0
    assert "40 queries" in result.out
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    compared = json.loads(
        run(
            "compare",
            str(tmp_path / "qrels.txt"),
            str(output),
            str(output) + ".b",
            "-m",
            "RR",
            "--format",
            "json",
        ).out
        or "{}"
    )
    assert compared == {}  # the second run does not exist
    second_result = run("snapshot", str(engine), str(queries), "-o", str(output))
    assert second_result.code == 2
    assert run("snapshot", str(engine), str(queries), "-o", str(output), "--force").code == 0


def test_an_engine_that_is_down_exits_with_3(run, engine, tmp_path):
    engine.write_text(engine.read_text().replace('table = "docs"', 'table = "dogs"'))
    output = tmp_path / "new.run"
    result = run("snapshot", str(engine), str(queries_file(tmp_path)), "-o", str(output))
    assert result.code == 3
    assert "not asked" in result.out


def program(folder, timeout=60):
    (folder / "search.py").write_text(PROGRAM)
    file = folder / "program.toml"
    command = json.dumps([sys.executable, "search.py"])
    file.write_text(
        f'[engine]\nkind = "command"\ncommand = {command}\ntimeout = {timeout}\n'
        '[engine.fields]\ntitle = "name"\n[snapshot]\nretries = 0\n'
    )
    return file


def test_a_program_is_an_engine(tmp_path):
    queries = {"a": "red shoe", "b": "end it", "c": "garbage", "d": "blue"}
    result = snapshot(program(tmp_path), queries)
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
    query_texts = []

    def once(text, **_):
        query_texts.append(text)
        return ["d1"] if len(query_texts) < 5 else 1 / 0

    result = snapshot(once, QUERIES, files[2], concurrency=1)
    assert result.states == {"ok": 4, "zero": 0, "failed": 10, "not_run": 26}
    gate_result = run("gate", *files)
    assert gate_result.code == 2
    assert "26 of 40 queries were not asked" in gate_result.err


def test_states_are_shown_with_values_comparisons_and_verdicts(run, tmp_path):
    qrels, old, new = (str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run"))
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    (tmp_path / "rankgate.toml").write_text(
        '[gate]\nunequal = "zero"\n[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.5\n'
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
    state_counts = {
        row["state"]: row["queries"]
        for row in _states(run("gate", qrels, old, new, *policy, "--format", "json"))
    }
    assert state_counts == {state: count for state, count in expected.items() if count}
    compare_arguments = ["compare", qrels, old, new, "--unequal", "zero"]
    compared = json.loads(run(*compare_arguments, "--format", "json").out)
    assert {row["state"] for row in compared["comparisons"][0]["states"]} == {"ok", "zero", "failed"}
    for arguments in (["eval", qrels, new], compare_arguments, ["gate", qrels, old, new, *policy]):
        for form in ("text", "html"):
            output = run(*arguments, "--format", form).out
            assert "states of queries" in output
            assert "1 of 40 queries failed" in output
    assert "states of queries" not in run("eval", qrels, old).out


def _states(done):
    states = json.loads(done.out)["states"]
    return [row for row in states if row["system"] == "candidate"]
