"""The files of the release name existing versions, targets, commands and pinned actions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import rankgate
from support.programs import tool

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def loaded(path):
    return yaml.safe_load(path.read_text())


def steps():
    for path in WORKFLOWS:
        for job in loaded(path)["jobs"].values():
            yield from job["steps"]


def test_actions_are_pinned_to_commits_and_say_their_version():
    used = [
        line
        for path in WORKFLOWS
        for line in path.read_text().splitlines()
        if re.match(r"\s*(?:- )?uses:", line)
    ]
    assert used
    for line in used:
        assert re.search(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_a_workflow_may_only_read_unless_a_job_says_what_it_writes():
    assert WORKFLOWS
    for path in WORKFLOWS:
        assert loaded(path)["permissions"] == {"contents": "read"}, path


def test_what_workflows_run_is_there():
    targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text()))
    commands = [step["run"] for step in steps() if "run" in step]
    assert commands
    for command in commands:
        for target in re.findall(r"\bmake (\w+)", command):
            assert target in targets, command
        for script in re.findall(r"bash (\S+)", command):
            assert (ROOT / script).exists(), command


def test_versions_agree():
    assert loaded(ROOT / "CITATION.cff")["version"] == rankgate.__version__
    versions = {
        re.search(rf"rankgate[/\w]*@v?{re.escape(rankgate.__version__)}", (ROOT / name).read_text())
        is not None
        for name in ("README.md", "templates/gate.yml")
    }
    assert versions == {True}


def test_the_versions_of_python_that_are_tried_are_those_of_the_package():
    tried = tool("release/interpreters.py").VERSIONS
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        classifier.rsplit(" ", 1)[1]
        for classifier in project["classifiers"]
        if ":: Python :: 3." in classifier
    }
    matrix = loaded(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["versions"]["strategy"]
    assert set(tried) == set(matrix["matrix"]["python"]) >= declared
    assert project["requires-python"] == f">={tried[0]}"


@pytest.mark.parametrize("name", ["fault", "wish", "wrong-number"])
def test_templates_of_issues_have_what_their_service_asks_for(name):
    form = loaded(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    fields = [element["id"] for element in form["body"]]
    assert len(set(fields)) == len(fields)
    assert all(element["attributes"]["label"] for element in form["body"])


def help_of(command):
    process = subprocess.run(
        [sys.executable, "-m", "rankgate", *command, "--help"], capture_output=True, text=True, check=True
    )
    return process.stdout


def test_hooks_of_pre_commit_are_commands_and_match_their_files():
    hooks = {entry["id"]: entry for entry in loaded(ROOT / ".pre-commit-hooks.yaml")}
    assert len(hooks) > 1
    for hook in hooks.values():
        assert "Usage" in help_of(hook["entry"].split()[1:])
    files = re.compile(hooks["rankgate-validate"]["files"])
    for name in ("qrels.txt", "data/qrels.csv.gz", "runs/bm25.run", "judgments.jsonl", "a.run.gz"):
        assert files.search(name), name
    for name in ("README.md", "src/run.py", "queries.txt"):
        assert not files.search(name), name


def test_the_component_of_gitlab_runs_the_gate_with_options_that_it_has():
    inputs, jobs = yaml.safe_load_all((ROOT / "templates" / "gate.yml").read_text())
    script = " ".join(jobs["rankgate-gate"]["script"])
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", (ROOT / "templates/gate.yml").read_text()))
    assert used == set(inputs["spec"]["inputs"])
    help_text = help_of(["gate"])
    for option in re.findall(r"--\w+", script):
        assert option in help_text, option
    assert inputs["spec"]["inputs"]["inconclusive"]["default"] == "block"
    assert jobs["rankgate-gate"]["allow_failure"] == {"exit_codes": 42}


@pytest.mark.bash
@pytest.mark.parametrize(
    ("status", "inconclusive", "code"),
    [(0, "block", 0), (1, "warn", 1), (2, "warn", 2), (3, "block", 3), (3, "warn", 42)],
)
def test_an_inconclusive_verdict_blocks_unless_the_component_is_told_to_warn(
    tmp_path, status, inconclusive, code
):
    """The lines of the component with a stand-in of the command that ends with a code."""
    _, jobs = yaml.safe_load_all((ROOT / "templates" / "gate.yml").read_text())
    command = tmp_path / "rankgate"
    command.write_text(f"#!/bin/sh\nexit {status}\n")
    command.chmod(0o755)
    lines = "\n".join(jobs["rankgate-gate"]["script"])
    lines = re.sub(
        r"\$\[\[ inputs\.(\w+) \]\]", lambda match: inconclusive if match[1] == "inconclusive" else "", lines
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(["bash", "-e", "-c", lines], env={**os.environ, "PATH": path}, check=False)
    assert ended.returncode == code


def test_entries_of_the_changelog_are_named_after_a_kind():
    kinds = {
        kind["directory"]
        for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    }
    for path in (ROOT / "changelog.d").glob("*"):
        assert path.name == "README.md" or path.name.split(".")[-2] in kinds, path.name
