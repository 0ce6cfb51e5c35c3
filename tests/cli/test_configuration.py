"""What commands take from ``rankgate.toml``, and how ``config`` shows it."""

from __future__ import annotations

import json

import pytest

from rankgate.decisions.gating.policy import read
from support.command import assert_refused

POLICY = '[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.1\n'
TABLES = """\
[defaults]
metrics = ["RR", "P@1"]
convention = "ranx"

[files]
qrels = "data/q.txt"
old = "data/old.run"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with judgments, a run, and settings."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "q.txt").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "data" / "old.run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    (tmp_path / "rankgate.toml").write_text(TABLES + POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scored(run, *words):
    return json.loads(run("eval", *words, "--format", "json").out)


def test_defaults_and_names_of_files_are_taken(run):
    result = scored(run, "@qrels", "@old")
    assert result["runs"][0]["mean"] == {"RR": 0.5, "P@1": 0.0}
    assert result["convention"]["name"] == "ranx"


def test_an_option_goes_before_the_file(run):
    result = scored(run, "@qrels", "@old", "-m", "AP", "--convention", "trec")
    assert (list(result["runs"][0]["mean"]), result["convention"]["name"]) == (["AP"], "trec")


def test_pyproject_holds_them_too(run, folder):
    (folder / "rankgate.toml").unlink()
    tables = TABLES.replace("[defaults]", "[tool.rankgate.defaults]")
    tables = tables.replace("[files]", "[tool.rankgate.files]")
    (folder / "pyproject.toml").write_text('[project]\nname = "x"\n' + tables)
    assert scored(run, "@qrels", "@old")["convention"]["name"] == "ranx"


def test_the_policy_s_hash_does_not_cover_them(folder):
    with_tables = read(folder / "rankgate.toml")
    (folder / "rankgate.toml").write_text(POLICY)
    assert read(folder / "rankgate.toml").sha256 == with_tables.sha256


@pytest.mark.parametrize(("policy", "rules"), [(POLICY, {"RR": 0.1}), ("", {"RR": 0.02, "P@1": 0.02})])
def test_a_gate_decides_by_the_rules_of_the_file_if_it_has_any(run, folder, policy, rules):
    (folder / "rankgate.toml").write_text(TABLES + policy)
    (folder / "new.run").write_text("1 Q0 a 1 2 n\n1 Q0 b 2 1 n\n")
    verdict = json.loads(run("gate", "@qrels", "@old", "new.run", "--format", "json").out)
    margins = {
        rule["metric"]: rule["margin"] for rule in verdict["rules"] if rule["kind"] == "noninferiority"
    }
    assert margins == rules


def test_config_names_the_line_of_each_value(run, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    settings = json.loads(run("config", "--format", "json").out)["settings"]
    origin = {setting["name"]: (setting["value"], setting["origin"]) for setting in settings}
    assert origin["metrics"] == ("RR, P@1", "rankgate.toml:2")
    assert origin["@old"] == ("data/old.run", "rankgate.toml:7")
    assert origin["seed"] == ("0", "built in")
    assert origin["NO_COLOR"] == ("1", "environment")


def test_verbose_says_what_came_from_the_file(run):
    result = run("eval", "@qrels", "@old", "--verbose")
    assert "metrics = ('RR', 'P@1') from rankgate.toml:2" in result.err
    assert run("eval", "@qrels", "@old").err == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[defaults]\nmetric = ["RR"]\n', 2),
        ('[defaults]\nmetrics = "RR"\n', 2),
        ("[defaults]\nconvention = 3\n", 2),
        ("[files]\nqrels = 3\n", 1),
    ],
)
def test_what_is_wrong_has_its_line(run, folder, text, line):
    (folder / "rankgate.toml").write_text(text)
    arguments = ("eval", folder / "data" / "q.txt", folder / "data" / "old.run")
    assert_refused(run(*arguments), "invalid-config", "rankgate.toml", line)


def test_other_tools_take_nothing_from_it(run, folder):
    (folder / "rankgate.toml").write_text('[defaults]\nmetrics = ["nothing"]\n')
    result = run("trec_eval", "-m", "map", folder / "data" / "q.txt", folder / "data" / "old.run")
    assert result.code == 0
    assert run("init", folder / "new").code == 0


def test_quiet_leaves_summaries_out(run):
    assert run("pool", "@old", "--depth", "1", "-o", "p.csv").err != ""
    assert run("pool", "@old", "--depth", "1", "-o", "p2.csv", "--quiet").err == ""
