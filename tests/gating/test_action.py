"""The action's own shell steps, run as they stand in action.yml."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ACTION = Path(__file__).resolve().parents[2] / "action.yml"
POLICY = (
    '[gate]\nholes = "ignore"\n[[rules]]\nkind = "noninferiority"\nmetric = "P@1"\nmargin = 0.1\n'
)


def script(step):
    """What a step runs."""
    found = re.search(rf"    - id: {step}\n.*?      run: \|\n((?:        [^\n]*\n|\n)+)",
                      ACTION.read_text(), re.DOTALL)  # fmt: skip
    return textwrap.dedent(found[1])


def acted(folder, **inputs):
    """Run the gate's step with these inputs, as a runner would."""
    names = ("QRELS", "BASELINE", "CANDIDATE", "POLICY", "RECORD", "JUNIT", "HTML")
    place = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **dict.fromkeys(names, ""), **place, "PATH": path, **inputs}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script("gate")], env=env, cwd=folder,
                          capture_output=True, text=True, check=False)  # fmt: skip
    result = {name: Path(each).read_text() if Path(each).exists() else ""
            for name, each in place.items()}  # fmt: skip
    return done, result["GITHUB_OUTPUT"], result["GITHUB_STEP_SUMMARY"]


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
    (folder / "p.toml").write_text(POLICY)
    return folder


@pytest.mark.parametrize(
    ("candidate", "code", "verdict"),
    [("right.run", 0, "pass"), ("mostly.run", 3, "inconclusive"), ("wrong.run", 1, "fail")],
)
def test_the_step_ends_as_the_gate_does(data, candidate, code, verdict):
    done, output, summary = acted(data, QRELS="qrels", BASELINE="right.run", CANDIDATE=candidate,
                                  POLICY="p.toml", JUNIT="gate.xml", HTML="gate.html")  # fmt: skip
    assert done.returncode == code, done.stderr
    assert f"exit-code={code}\n" in output
    assert f"verdict={verdict}\n" in output
    assert verdict.upper() in summary.upper()
    assert (data / "gate.xml").is_file()
    assert (data / "gate.html").is_file()


def test_wrong_input_is_2_and_no_verdict(data):
    done, output, summary = acted(data, QRELS="none", BASELINE="right.run", CANDIDATE="right.run")
    assert (done.returncode, output, summary) == (2, "exit-code=2\n", "")


def test_inputs_are_never_pasted_into_the_shell():
    assert "${{" not in script("gate") + script("install")


def test_the_log_of_looks_is_restored_before_the_gate_and_kept_after_a_fail_too():
    text = ACTION.read_text()
    restore, gate, keep = (text.index(words) for words in (
        "actions/cache/restore@", "- id: gate", "actions/cache/save@",
    ))  # fmt: skip
    assert restore < gate < keep
    assert text.count("path: rankgate/baselines/*.looks.jsonl") == 2
    assert "key: ${{ steps.looks.outputs.cache-primary-key }}" in text[keep:]
    assert "if: always() && steps.looks.outcome == 'success'" in text[gate:keep]
    # every run writes a key of its own, and reads the last one there is
    assert "${{ github.run_id }}-${{ github.run_attempt }}" in text[restore:gate]
    assert "restore-keys: rankgate-looks-" in text[restore:gate]
