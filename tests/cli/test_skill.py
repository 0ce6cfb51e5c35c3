"""The skill for coding agents: its format, and every command in it."""

from __future__ import annotations

import json
import random
import re
import shlex
from importlib.resources import files

import polars as pl
import pytest
import yaml

from rankgate.data.files.checks import CHECKS

TEXT = (files("rankgate.interface.cli.start") / "SKILL.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()
]
QUERIES, DOCUMENTS = 40, 12


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Queries, documents, judgments, ratings, and two systems, the new one better."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(2)
    queries = [f"q{n}" for n in range(1, QUERIES + 1)]
    pairs = [(query, f"{query}-d{n}") for query in queries for n in range(DOCUMENTS)]
    grades = {pair: rng.choice([0, 0, 0, 1, 2, 3]) for pair in pairs}
    lines = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in grades.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, noise in (("old", 2.5), ("new", 0.5)):
        ranked = sorted(pairs, key=lambda pair: (pair[0], rng.gauss(-grades[pair], noise)))
        rows = [
            f"{query} Q0 {doc} {i % DOCUMENTS + 1} {99 - i % DOCUMENTS} {name}\n"
            for i, (query, doc) in enumerate(ranked)
        ]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    texts = [" ".join(rng.choice(["a", "b", "c"]) * rng.randint(1, 9) for _ in range(9)) for _ in pairs]
    pl.DataFrame({"query_id": queries, "text": texts[:QUERIES]}).write_csv("queries.csv")
    pl.DataFrame({"doc_id": [doc for _, doc in pairs], "title": texts, "text": texts}).write_csv("docs.csv")
    ratings = [
        (*pair, rater, max(0, min(3, grades[pair] + rng.choice([-1, 0, 0, 0, 1]))), "2026-05-01T10:00:00Z")
        for pair in pairs[:200]
        for rater in ("ann", "bob")
    ]
    schema = ("query_id", "doc_id", "rater", "grade", "at")
    pl.DataFrame(ratings, schema=schema, orient="row").write_csv("ratings.csv")
    return tmp_path


def test_every_command_of_the_skill_works_in_its_order(run, project):
    assert len(COMMANDS) >= 14
    for command in COMMANDS:
        program, *words = shlex.split(command)
        result = run(*words)
        assert program == "rankgate"
        assert result.code == 0, f"{command}: {result.err}"
    assert (project / "next.csv").is_file()
    assert (project / "resolved.txt").is_file()
    assert json.loads((project / "verdict.json").read_text())["verdict"] == "pass"


def test_the_head_is_that_of_an_agent_skill():
    _, head, body = TEXT.split("---\n", 2)
    values = yaml.safe_load(head)
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", values["name"])
    assert 0 < len(values["description"]) <= 1024
    assert len(values["compatibility"]) <= 500
    assert set(values) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert len(body.splitlines()) < 500


def test_the_skill_explains_every_finding_of_a_golden_set():
    names = {check.name for check in CHECKS if check.needs == "golden"} - {"golden-inputs"}
    assert names == set(
        re.findall(
            r"`([a-z-]+)`(?=[^|\n]*\|.*\|$)", TEXT.split("| :-- | :-- |")[1].split("\n\n")[0], re.MULTILINE
        )
    )


def test_the_skill_is_printed_or_written_to_a_folder(run, tmp_path, monkeypatch):
    assert run("skill").out == TEXT
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # an older one is replaced
        result = run("skill", ".agents/skills")
        assert (result.code, result.out) == (0, "")
        assert "SKILL.md" in result.err
    assert (tmp_path / ".agents/skills/rankgate/SKILL.md").read_text(encoding="utf-8") == TEXT
    (tmp_path / "file").write_text("")
    assert run("skill", "file").code == 2
