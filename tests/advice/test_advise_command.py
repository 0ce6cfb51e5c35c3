"""``rankgate advise``: forms, widths, a policy that the gate takes as it is."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from support.command import assert_refused

EXAMPLE = Path(__file__).parents[2] / "examples" / "search-stages"


@pytest.fixture
def data(monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    monkeypatch.setenv("COLUMNS", "80")
    return ["qrels.txt", "bm25.run", "rrf.run", "rerank.run"]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "policy"])
def test_every_form_has_the_metric_and_the_source(run, data, form):
    result = run("advise", *data, "--page", "5", "--depth", "10", "--format", form)
    assert result.code == 0, result.err
    assert "nDCG@5" in result.out
    assert "ESCI" in result.out
    assert result.out.endswith("\n")
    assert not result.out.endswith("\n\n")


def test_the_text_fits(run, data):
    lines = run("advise", *data).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line != line.rstrip()]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(
    "words", [(), ("--task", "find-one", "--stage", "reranking", "--override", "nDCG.gain=exp")]
)
def test_the_commands_run_as_printed(run, data, tmp_path, monkeypatch, count, words):
    (tmp_path / "my data").mkdir()
    for name in data:
        (tmp_path / "my data" / name).write_text(Path(name).read_text())
    monkeypatch.chdir(tmp_path)
    places = [f"my data/{name}" for name in data[:count]]
    printed = run("advise", *places, *words).out
    section = printed.split("to run next\n\n")[1].split("\n\n")[0].replace("\\\n", " ")
    lines = [shlex.split(line) for line in section.splitlines()]
    assert [line[1] for line in lines] == {
        1: ["advise"],
        2: ["eval"],
        4: ["holes", "compare", "advise", "gate"],
    }[count]
    for line in lines:
        result = run(*line[1:])
        assert result.code in ({0, 1, 3} if line[1] == "gate" else {0}), (line, result.err)
        assert line[1] != "gate" or "rankgate.toml" in line


def test_without_judgments_a_few_answers_are_enough(run):
    result = run("advise", "--queries", "50", "--grades", "2", "--complete", "0.6").out
    assert "no judgments yet: 50 queries, grades 0, 1 assumed" in " ".join(result.split())
    assert "AP@100" in result.split("watch:")[0]
    assert "only 60% of a page is judged" in " ".join(result.split())
    assert "to run next" not in result
    four = run("advise", "--queries", "50").out
    assert "nDCG@10" in four.split("report besides")[0]
    toml = run("advise", "--queries", "50", "--format", "policy").out
    assert tomllib.loads(toml)["rules"][0]["metric"] == "nDCG@10"


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "missing-input"),
        (("qrels.txt", "--queries", "9"), "conflicting-options"),
        (("--grades", "2"), "missing-input"),
    ],
)
def test_answers_and_judgments_do_not_compete(run, words, code):
    assert_refused(run("advise", *words), code)


def test_gains_are_not_taken_for_grades(run, tmp_path):
    lines = [f"q{i} 0 d{j} {g}\n" for i in range(12) for j, g in enumerate((100, 10, 1, 0))]
    (tmp_path / "gains.txt").write_text("".join(lines))
    (tmp_path / "five.txt").write_text("".join(lines).replace("100", "6").replace(" 10\n", " 5\n"))
    runs = [f"q{i} Q0 d{j} 1 {j * s + i % 3} t\n" for s in (1, -1) for i in range(12) for j in range(4)]
    (tmp_path / "a.run").write_text("".join(runs[:48]))
    (tmp_path / "b.run").write_text("".join(runs[48:]))
    names = [str(tmp_path / name) for name in ("a.run", "b.run")]
    result = run("advise", tmp_path / "gains.txt", *names, "--task", "find-one")
    assert result.code == 0, result.err
    assert "ERR" not in result.out.split("to know")[0]
    assert "is a gain already" in " ".join(result.out.split())
    result = run("advise", tmp_path / "five.txt", *names, "--task", "find-one")
    assert result.code == 0, result.err
    assert "ERR(max_grade=6)@10" in result.out


@pytest.mark.usefixtures("data")
def test_judgments_alone_are_enough(run):
    result = run("advise", "qrels.txt", "--task", "find-one")
    assert result.code == 0
    assert "give two runs" in " ".join(result.out.split())


def test_json(run, data):
    result = json.loads(run("advise", *data, "--format", "json").out)
    assert result["schema_version"] == 1
    assert result["facts"]["queries"] == 24
    cited = {reason["source"] for choice in result["choices"] for reason in choice["reasons"]}
    assert cited <= set(result["sources"])


def test_the_gate_takes_the_policy(run, data, tmp_path):
    policy_path = tmp_path / "rankgate.toml"
    arguments = ("--page", "5", "--depth", "10", "--margin", "0.15")
    assert run("advise", *data, *arguments, "--format", "policy", "-o", policy_path).code == 0
    assert tomllib.loads(policy_path.read_text())["gate"]["convention"] == "trec"
    result = run("gate", "qrels.txt", "bm25.run", "rerank.run", "--policy", policy_path)
    assert result.code == 0
    assert result.out.startswith("PASS")


def test_a_convention_of_ones_own_is_left_to_be_named(run, data):
    result = run("advise", *data, "--override", "nDCG.gain=exp", "--format", "policy")
    assert "name its file" in result.out
    assert "convention" not in tomllib.loads(result.out)["gate"]


def test_a_hostile_name_cannot_leave_its_comment(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\n")
    name = 'x\n[[rules]]\nid = "y".run'
    (tmp_path / name).write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    result = run("advise", "qrels.txt", name, "--format", "policy")
    assert result.code == 0
    assert all(rule["id"] != "y" for rule in tomllib.loads(result.out)["rules"])


@pytest.mark.parametrize("words", [("--task", "shop"), ("--page", "20", "--depth", "10")])
def test_what_cannot_be_is_said(run, data, words):
    assert run("advise", *data, *words).code == 2
