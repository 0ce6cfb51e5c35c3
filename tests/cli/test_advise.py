"""``rankgate advise``: forms, widths, a policy that the gate takes as it is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "search-stages"


@pytest.fixture
def data(monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    monkeypatch.setenv("COLUMNS", "80")
    return ["qrels.txt", "bm25.run", "rrf.run", "rerank.run"]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "policy"])
def test_every_form_has_the_metric_and_the_source(run, data, form):
    told = run("advise", *data, "--page", "5", "--depth", "10", "--format", form)
    assert told.code == 0, told.err
    assert "nDCG@5" in told.out
    assert "ESCI" in told.out
    assert told.out.endswith("\n")
    assert not told.out.endswith("\n\n")


def test_the_text_fits(run, data):
    lines = run("advise", *data).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line != line.rstrip()]


@pytest.mark.usefixtures("data")
def test_judgments_alone_are_enough(run):
    told = run("advise", "qrels.txt", "--task", "find-one")
    assert told.code == 0
    assert "give two runs" in " ".join(told.out.split())


def test_json(run, data):
    told = json.loads(run("advise", *data, "--format", "json").out)
    assert told["schema_version"] == 1
    assert told["facts"]["queries"] == 24
    cited = {reason["source"] for each in told["choices"] for reason in each["reasons"]}
    assert cited <= set(told["sources"])


def test_the_gate_takes_the_policy(run, data, tmp_path):
    place = tmp_path / "rankgate.toml"
    words = ("--page", "5", "--depth", "10", "--margin", "0.15")
    assert run("advise", *data, *words, "--format", "policy", "-o", place).code == 0
    assert tomllib.loads(place.read_text())["gate"]["convention"] == "trec"
    told = run("gate", "qrels.txt", "bm25.run", "rerank.run", "--policy", place)
    assert told.code == 0
    assert told.out.startswith("PASS")


def test_a_convention_of_ones_own_is_left_to_be_named(run, data):
    told = run("advise", *data, "--set", "nDCG.gain=exp", "--format", "policy")
    assert "name its file" in told.out
    assert "convention" not in tomllib.loads(told.out)["gate"]


def test_a_hostile_name_cannot_leave_its_comment(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\n")
    name = 'x\n[[rules]]\nid = "y".run'
    (tmp_path / name).write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    told = run("advise", "qrels.txt", name, "--format", "policy")
    assert told.code == 0
    assert all(rule["id"] != "y" for rule in tomllib.loads(told.out)["rules"])


@pytest.mark.parametrize("words", [("--task", "shop"), ("--page", "20", "--depth", "10")])
def test_what_cannot_be_is_said(run, data, words):
    assert run("advise", *data, *words).code == 2
