"""The action's own shell steps, run as they are in action.yml."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rankgate.decisions.gating.commands import gate_command as gate

ACTION = Path(__file__).resolve().parents[2] / "action.yml"
POLICY = '[gate]\nholes = "ignore"\n[[rules]]\nkind = "noninferiority"\nmetric = "P@1"\nmargin = 0.1\n'


def script(step):
    """What a step runs."""
    match = re.search(
        rf"    - id: {step}\n.*?      run: \|\n((?:        [^\n]*\n|\n)+)", ACTION.read_text(), re.DOTALL
    )
    return textwrap.dedent(match[1])


def inputs_of(step):
    """The names of the environment of a step."""
    match = re.search(
        rf"    - id: {step}\n.*?      env:\n((?:        [^\n]*\n)+)", ACTION.read_text(), re.DOTALL
    )
    return re.findall(r"^ +([A-Z_]+):", match[1], re.MULTILINE)


def acted(folder, step="gate", **inputs):
    """Run a step with these inputs, as a runner would."""
    output_paths = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names = dict.fromkeys(inputs_of(step), "")
    temporary = folder.with_name(f"{folder.name}-runner")
    temporary.mkdir(exist_ok=True)
    env = {**os.environ, **names, **output_paths, "PATH": path, "RUNNER_TEMP": str(temporary), **inputs}
    process = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script(step)],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    result = {
        name: Path(file).read_text() if Path(file).exists() else "" for name, file in output_paths.items()
    }
    return process, result["GITHUB_OUTPUT"], result["GITHUB_STEP_SUMMARY"]


@pytest.fixture
def data(tmp_path):
    """Judgments of 40 queries, a run that is always right, one mostly, one that is wrong."""
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "qrels").write_text("".join(f"q{i} 0 d 1\nq{i} 0 e 0\n" for i in range(40)))
    for name, wrong in (("right", 0), ("mostly", 4), ("wrong", 40)):
        lines = [
            f"q{i} Q0 {doc} {rank} {3 - rank} t\n"
            for i in range(40)
            for rank, doc in enumerate("ed" if i < wrong else "de", 1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    (folder / "same.run").write_text((folder / "right.run").read_text())
    (folder / "p.toml").write_text(POLICY)
    return folder


@pytest.mark.bash
@pytest.mark.parametrize(
    ("candidate", "code", "verdict"),
    [("same.run", 0, "pass"), ("mostly.run", 3, "inconclusive"), ("wrong.run", 1, "fail")],
)
def test_the_step_ends_as_the_gate_does(data, candidate, code, verdict):
    process, output, summary = acted(
        data,
        QRELS="qrels",
        BASELINE="right.run",
        CANDIDATE=candidate,
        POLICY="p.toml",
        JUNIT="gate.xml",
        HTML="gate.html",
    )
    assert process.returncode == code, process.stderr
    assert f"exit-code={code}\n" in output
    assert f"verdict={verdict}\n" in output
    assert verdict.upper() in summary.upper()
    assert (data / "gate.xml").is_file()
    assert (data / "gate.html").is_file()


@pytest.mark.bash
def test_wrong_input_is_2_with_an_annotation_and_a_summary(data):
    process, output, summary = acted(data, QRELS="no%\nne", BASELINE="right.run", CANDIDATE="same.run")
    assert (process.returncode, output) == (2, "exit-code=2\n")
    (line,) = process.stdout.splitlines()
    assert line.startswith("::error title=rankgate::rankgate: no%25")
    assert "exit code 2" in summary
    assert "    rankgate: no%" in summary


@pytest.mark.bash
def test_files_are_written_into_folders_that_are_missing(data):
    inputs = {"QRELS": "qrels", "BASELINE": "right.run", "CANDIDATE": "same.run"}
    process, output, _ = acted(data, **inputs, JUNIT="out/a/gate.xml")
    assert process.returncode == 0, process.stderr
    assert "verdict=pass" in output
    assert (data / "out/a/gate.xml").is_file()


@pytest.mark.bash
@pytest.mark.parametrize("also", ["csv=a.csv", "json=none/a.json", "json=qrels"])
def test_a_file_that_cannot_be_written_leaves_no_verdict(data, also):
    inputs = {"QRELS": "qrels", "BASELINE": "right.run", "CANDIDATE": "same.run"}
    process, output, _ = acted(data, **inputs, ALSO=also)
    assert (process.returncode, output) == (2, "exit-code=2\n")


@pytest.mark.bash
def test_lists_of_inputs_are_one_a_line(data):
    inputs = {"QRELS": "qrels", "BASELINE": "right.run", "CANDIDATE": "mostly.run"}
    noise = "right.run\nwrong.run\n"
    process, _, summary = acted(data, **inputs, NOISE=noise, POLICY="p.toml")
    assert process.returncode in {2, 3}, process.stderr  # the margin is below the noise floor
    assert "noise" in summary
    process, _, summary = acted(data, **inputs, NOISE="right.run\nnone.run\n", POLICY="p.toml")
    assert process.returncode == 2
    assert "none.run" in summary


INPUTS = {
    "directions": "direction",
    "training": "train",
    "reference": "obvious",
    "candidate_items": "candidates",
    "log": "record",
    "from_format": "from",
}
"""Inputs of the action that are not called as the parameter of the command."""


def test_every_option_of_gate_is_an_input():
    options = {parameter.name for parameter in gate.params} - {
        "form",
        "output",
        "checked",
        "snapshots",
        "record",
        "backend",
        "master",
        "open_page",
    }  # a self-check is no gate, and a runner has no history, no cluster and no browser
    names = {name.lower() for name in inputs_of("gate")} - {"junit", "html", "github_token"}
    assert names == {INPUTS.get(name, name).rstrip("_") for name in options} - {"help"}


@pytest.mark.bash
@pytest.mark.parametrize(
    ("record", "said"), [("true", "true"), ("False", "false"), ("TRUE", "true"), ("no", None)]
)
def test_record_is_true_or_false(data, record, said):
    process, output, _ = acted(data, "looks", RECORD=record)
    if said is None:
        assert process.returncode == 2
        assert process.stdout.startswith("::error")
    else:
        assert f"record={said}\n" in output


@pytest.mark.bash
def test_a_comment_that_nobody_takes_is_in_the_summary(data):
    inputs = {"QRELS": "qrels", "BASELINE": "right.run", "CANDIDATE": "wrong.run", "POLICY": "p.toml"}
    job = {
        "GITHUB_API_URL": "http://127.0.0.1:1",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_REF": "refs/pull/7/merge",
    }
    process, output, summary = acted(data, **inputs, **job, COMMENT="ranking", GITHUB_TOKEN="t0ken")  # noqa: S106 - a stand-in
    assert (process.returncode, output) == (1, "exit-code=1\nverdict=fail\n")
    assert "no comment was written" in process.stderr
    assert summary.startswith("<!-- rankgate-comment: ranking -->")
    assert "t0ken" not in process.stderr + process.stdout + summary


def test_the_token_is_given_to_the_gate_only_for_a_comment():
    text = ACTION.read_text()
    assert text.count("inputs.token") == 1
    assert "GITHUB_TOKEN: ${{ inputs.comment != '' && inputs.token || '' }}" in text
    assert "pull_request_target" not in text


@pytest.fixture
def saved(data):
    """A saved baseline, and the options of a gate with it."""
    arguments = ["baseline", "save", "main", "qrels", "right.run", "-m", "P@1"]
    subprocess.run([sys.executable, "-m", "rankgate", *arguments], cwd=data, check=True)
    return {"QRELS": "qrels", "BASELINE": "main", "POLICY": "p.toml"}


@pytest.mark.bash
def test_a_look_is_recorded_unless_record_is_false(data, saved):
    log = data / "rankgate/baselines/main.looks.jsonl"
    acted(data, **saved, CANDIDATE="mostly.run", RECORD="false")
    assert not log.exists()
    acted(data, **saved, CANDIDATE="mostly.run", RECORD="true")
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.bash
def test_committed_and_cached_looks_are_put_together(data, saved):
    log = data / "rankgate/baselines/main.looks.jsonl"
    acted(data, **saved, CANDIDATE="mostly.run", RECORD="true")
    _, output, _ = acted(data, "looks", RECORD="true")  # one look is committed
    committed = re.search(r"committed=(.*)", output)[1]
    first = log.read_text()
    earlier_look = first.replace('{"at": "2', '{"at": "1')
    log.write_text(earlier_look + first)  # the cache has it, and an earlier one
    assert acted(data, "merge", COMMITTED=committed)[0].returncode == 0
    assert log.read_text() == earlier_look + first
    log.write_text(earlier_look)
    acted(data, "merge", COMMITTED=committed)
    assert log.read_text() == earlier_look + first


@pytest.mark.bash
@pytest.mark.parametrize(
    ("install", "requirements", "words"),
    [
        ("action", "", ["/the action"]),
        (
            "action[xlsx] numpy\npolars>=2",
            "r.txt",
            ["/the action[xlsx]", "numpy", "polars>=2", "-r", "r.txt"],
        ),
        ("rankgate==0.1.0", "", ["rankgate==0.1.0"]),
        ("", "", None),
    ],
)
def test_what_is_installed(data, install, requirements, words):
    tools = data / "tools"
    tools.mkdir()
    python = tools / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{data}/words"\n')
    python.chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    process, _, _ = acted(
        data, "install", INSTALL=install, REQUIREMENTS=requirements, ACTION="/the action", PATH=path
    )
    assert process.returncode == 0, process.stderr
    arguments = (data / "words").read_text().splitlines() if words else None
    assert arguments == (["-m", "pip", "install", "--quiet", *words] if words else None)


def test_inputs_are_never_pasted_into_the_shell():
    steps = ("install", "looks", "merge", "gate")
    assert not [step for step in steps if "${{" in script(step)]


def test_every_input_is_used():
    text = ACTION.read_text()
    inputs = re.findall(r"(?m)^  ([a-z-]+):$", text[: text.index("outputs:")])
    assert not [name for name in inputs if f"inputs.{name} " not in text]


def test_all_steps_work_in_the_working_directory():
    text = ACTION.read_text()
    assert text.count("shell: bash") == text.count("working-directory: ${{ inputs.working-")
    assert text.count("path: ${{ inputs.working-directory }}/rankgate/baselines/*.looks") == 2


def test_the_log_of_looks_is_restored_before_the_gate_and_kept_after_a_fail_too():
    text = ACTION.read_text()
    restore, merge, gate_, keep = (
        text.index(fragment)
        for fragment in ("actions/cache/restore@", "- id: merge", "- id: gate", "actions/cache/save@")
    )
    assert restore < merge < gate_ < keep
    assert "key: ${{ steps.restore.outputs.cache-primary-key }}" in text[keep:]
    assert "if: always() && steps.restore.outcome == 'success'" in text[gate_:keep]
    # every run writes a key of its own, and reads the last one there is
    assert "${{ github.run_id }}-${{ github.run_attempt }}-${{ steps" in text[restore:merge]
    assert "restore-keys: rankgate-looks-" in text[restore:merge]
