"""From an empty folder to a passing gate, by the README of what ``init`` made."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from rankgate.interface.cli.start.kinds import KINDS
from rankgate.interface.cli.start.started_folder import detected

COMMANDS = re.compile(r"^ {7}(rankgate .*)$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_five_commands_of_the_readme_end_with_a_pass(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    first, *others = KINDS[kind].commands
    assert run("init", "--kind", kind).code == 0
    commands = COMMANDS.findall((tmp_path / "README.md").read_text())
    assert len(commands) == 5
    assert commands[0] == f"rankgate init --kind {kind}"
    for command in commands[1:]:
        done = run(*shlex.split(command)[1:])
        assert done.code == 0, f"{command}: {done.out}{done.err}"
    assert (first, *others) == KINDS[kind].commands


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_explains_every_file(run, tmp_path, kind):
    found = json.loads(run("init", tmp_path / "new", "--kind", kind, "--format", "json").out)
    paths = {str(each.relative_to(tmp_path / "new")) for each in (tmp_path / "new").rglob("*.*")}
    files = {path for path in paths if (tmp_path / "new" / path).is_file()}
    assert {each["path"] for each in found["files"]} == files
    readme = (tmp_path / "new" / "README.md").read_text()
    assert all(f"`{path}`" in readme for path in files - {"README.md"})


def test_files_that_are_there_stay(run, tmp_path):
    (tmp_path / "rankgate.toml").write_text("[[rules]]\n")
    found = json.loads(run("init", tmp_path, "--format", "json").out)
    status = {each["path"]: each["status"] for each in found["files"]}
    assert (status["rankgate.toml"], status["README.md"]) == ("kept", "written")
    assert (tmp_path / "rankgate.toml").read_text() == "[[rules]]\n"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("ratings.csv", "user_id,item_id,rating\n", "recommender"),
        ("robust04.qrels", "301 0 a 1\n", "trec"),
        ("events.ndjson", "{}\n", "online"),
        ("notes.md", "x", "search"),
    ],
)
def test_the_kind_is_found_by_files(tmp_path, name, text, kind):
    (tmp_path / name).write_text(text)
    assert detected(tmp_path)[0] == kind


def test_an_unknown_kind_is_refused(run, tmp_path):
    assert run("init", tmp_path, "--kind", "other").code == 2
