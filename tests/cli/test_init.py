"""The README that ``init`` writes leads from an empty folder to a passing gate."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from rankgate.interface.cli.start.started_folder import KINDS, detect_ci, detect_kind
from support.command import assert_refused

ROOT = Path(__file__).parents[2]

COMMANDS = re.compile(r"^ {7}(rankgate .*)$", re.MULTILINE)


def followed(run, folder, kind, *options):
    """Run every command of the README that ``init`` wrote; what each printed, by command."""
    assert run("init", "--kind", kind, *options).code == 0
    commands = COMMANDS.findall((folder / "README.md").read_text())
    assert len(commands) == 5
    assert commands[0].startswith(f"rankgate init --kind {kind}")
    assert tuple(commands[1:]) == tuple(command for command, _ in KINDS[kind].commands)
    outputs = {}
    for command in commands:
        result = run(*shlex.split(command)[1:])
        assert result.code == 0, f"{command}: {result.out}{result.err}"
        outputs[command.split()[1]] = result.out
    return outputs


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["trec", "online", "hybrid", "rag"])
def test_commands_of_the_readme_end_with_a_pass(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    followed(run, tmp_path, kind)
    for command in ("formats", "config", "doctor"):  # which the README names too
        assert run(command).code == 0


def job(folder, ci):
    """The shell lines of the job that ``init`` wrote, without those that install rankgate."""
    if ci == "github":
        workflow = yaml.safe_load((folder / ".github/workflows/ranking.yml").read_text())
        lines = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    else:
        (included,) = yaml.safe_load((folder / ".gitlab-ci.yml").read_text())["include"]
        job = yaml.safe_load((folder / included["local"]).read_text())["ranking"]
        assert "allow_failure" not in job
        lines = job["script"]
    assert [line for line in lines if line.startswith("pip install")] == [lines[0]]
    return lines[1:]


def shell(lines, folder, **environment):
    """Run lines as a runner of CI does: with rankgate on the path, until one fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, **environment}
    return subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        env=env,
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.bash
@pytest.mark.parametrize(("kind", "ci"), [("search", "github"), ("recommender", "gitlab"), ("rag", "github")])
def test_what_the_readme_says_is_committed_is_enough_for_ci(run, tmp_path, monkeypatch, kind, ci):
    folder = tmp_path / "new"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outputs = followed(run, folder, kind, "--ci", ci)
    if kind == "recommender":
        table = outputs["scorecard"].split("Systems")[1].split("What to know")[0]
        assert len(re.findall("[↑↓]", table)) == 10
    readme = (folder / "README.md").read_text()
    (unneeded,) = re.findall(r"`(\S+)` is not needed any more", readme)
    clone = tmp_path / "clone"
    shutil.copytree(folder, clone, ignore=shutil.ignore_patterns(Path(unneeded).name))
    assert not (clone / unneeded).exists()
    summary = tmp_path / "summary.md"
    process = shell(job(clone, ci), clone, GITHUB_STEP_SUMMARY=str(summary))
    assert process.returncode == 0, process.stderr
    if ci == "github":
        assert "PASS" in summary.read_text()
    else:
        assert {"rankgate.xml", "rankgate.html"} <= {path.name for path in clone.iterdir()}


@pytest.mark.slow
@pytest.mark.bash
def test_the_component_of_gitlab_falls_back_to_the_default_policy(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("init", "--kind", "trec")
    (tmp_path / "rankgate.toml").rename(tmp_path / "policy.toml")
    specification, jobs = yaml.safe_load_all((ROOT / "templates/gate.yml").read_text())
    defaults = {name: spec.get("default") for name, spec in specification["spec"]["inputs"].items()}
    files = {"qrels": "qrels.txt", "baseline": "runs/production.run"}
    for policy, reported in (("", "the default policy"), ("policy.toml", "policy.toml")):
        inputs = {**defaults, **files, "candidate": "runs/candidate.run", "policy": policy}
        job = jobs["rankgate-gate"]

        def filled(text, inputs=inputs):
            return re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: inputs[match[1]], text)

        variables = {name: filled(text) for name, text in job["variables"].items()}
        process = shell([filled(line) for line in job["script"]], tmp_path, **variables)
        assert process.returncode == 0, process.stderr
        assert f"policy: {reported}" in " ".join(process.stdout.split())


def test_next_steps_begin_in_the_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other_folder = json.loads(run("init", "a folder", "--format", "json").out)
    assert other_folder["commands"][0] == "cd 'a folder'"
    current_folder = json.loads(run("init", "--format", "json").out)
    assert current_folder["commands"] == other_folder["commands"][1:]


def test_the_service_of_ci_is_that_of_the_repository(run, tmp_path):
    (tmp_path / ".git").mkdir()
    config = tmp_path / ".git" / "config"
    config.write_text('[remote "origin"]\n\turl = git@gitlab.example.org:search/ranking.git\n')
    assert detect_ci(tmp_path / "quality") == "gitlab"
    config.write_text('[remote "origin"]\n\turl = git@github.com:search/ranking.git\n')
    assert detect_ci(tmp_path / "quality") == "github"
    (tmp_path / ".gitlab-ci.yml").write_text("test: {script: [make]}\n")
    result = json.loads(run("init", tmp_path, "--kind", "search", "--format", "json").out)
    status = {file["path"]: file["status"] for file in result["files"]}
    assert (status[".gitlab/ranking.yml"], status[".gitlab-ci.yml"]) == ("written", "kept")
    assert_refused(run("init", tmp_path, "--kind", "trec", "--ci", "gitlab"), "conflicting-options")


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_explains_every_file(run, tmp_path, kind):
    result = json.loads(run("init", tmp_path / "new", "--kind", kind, "--format", "json").out)
    paths = {str(file.relative_to(tmp_path / "new")) for file in (tmp_path / "new").rglob("*.*")}
    files = {path for path in paths if (tmp_path / "new" / path).is_file()}
    assert {entry["path"] for entry in result["files"]} == files
    readme = (tmp_path / "new" / "README.md").read_text()
    assert all(f"`{path}`" in readme for path in files - {"README.md"})


def test_files_that_are_there_stay(run, tmp_path):
    (tmp_path / "rankgate.toml").write_text("[[rules]]\n")
    result = json.loads(run("init", tmp_path, "--format", "json").out)
    status = {file["path"]: file["status"] for file in result["files"]}
    assert (status["rankgate.toml"], status["README.md"]) == ("kept", "written")
    assert (tmp_path / "rankgate.toml").read_text() == "[[rules]]\n"


def test_samples_are_not_mixed_with_data_that_are_there(run, tmp_path):
    (tmp_path / "qrels.txt").write_text("301 0 d 1\n")
    result = run("init", tmp_path, "--kind", "search", "--format", "json")
    status = {file["path"]: file["status"] for file in json.loads(result.out)["files"]}
    assert {path for path, state in status.items() if state == "missing"} == {
        *("queries.tsv", "runs/production.run", "runs/candidate.run")
    }
    assert status["rankgate.toml"] == "written"
    assert not (tmp_path / "runs").exists()
    assert "(queries.tsv, runs/production.run, runs/candidate.run)" in " ".join(
        run("init", tmp_path, "--kind", "search").out.split()
    )


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
    assert detect_kind(tmp_path)[0] == kind


def test_an_unknown_kind_is_refused(run, tmp_path):
    assert run("init", tmp_path, "--kind", "other").code == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_extras_that_a_folder_names_exist(kind):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*KINDS[kind].extras} <= {*project["optional-dependencies"]}
