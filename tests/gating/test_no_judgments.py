"""Two runs without judgments: the error leads to judgments by lines that work as they are printed."""

import shlex
import subprocess
import sys

import pytest

RUNS = {
    "old.run": {"q1": ["a", "b", "c"], "q2": ["d", "e", "f"]},
    "new.run": {"q1": ["b", "a", "c"], "q2": ["f", "g", "d"]},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, ranking in RUNS.items():
        lines = (
            f"{query} Q0 {doc} {rank} {9 - rank} {name}\n"
            for query, docs in ranking.items()
            for rank, doc in enumerate(docs, 1)
        )
        (tmp_path / name).write_text("".join(lines))
    return tmp_path


@pytest.mark.parametrize("verb", ["gate", "compare"])
def test_the_lines_lead_to_a_verdict(folder, run, verb):
    refused = run(verb, "old.run", "new.run")
    assert refused.code == 2
    lines = [line for line in refused.err.splitlines() if line.startswith("  rankgate ")]
    assert len(lines) == 4
    for line in lines:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(line)],
            input="3\n1\n0\n2\n1\n0\n3\n",  # a grade for each of the seven documents
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert len((folder / "judgments.csv").read_text().splitlines()) == 8
    assert run("gate", "judgments.csv", "old.run", "new.run").code in {0, 1, 3}


@pytest.mark.usefixtures("folder")
def test_one_input_is_no_pair_of_runs(run):
    refused = run("compare", "old.run")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
