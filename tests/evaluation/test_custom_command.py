"""Metrics from a file given to the command, and from installed packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.command import assert_refused

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugins" / "time-biased-gain"
MINE = '''\
from collections.abc import Sequence
import rankgate

@rankgate.metric
def finds(grades: Sequence[float | None], *, cutoff: int = 10, rel: float = 1) -> float:
    """Relevant documents per place."""
    return sum(grade is not None and grade >= rel for grade in grades) / cutoff
'''


@pytest.fixture
def mine(tmp_path):
    """A file that declares a metric."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_metric_of_a_file_stands_beside_those_of_the_house(run, small, mine):
    options = ("-m", "finds(rel=2)@2", "-m", "P(rel=2)@2", "--metrics-from", mine)
    result = json.loads(run("eval", *small, *options, "--format", "json").out)
    mean = result["runs"][0]["mean"]
    # 1: a, graded 3, within two places; 2: x, graded 2; nothing for 3 and 4: a mean of four halves
    assert mean == {"finds(rel=2)@2": 0.25, "P(rel=2)@2": 0.25}


def test_explain_and_metrics_know_it_too(run, small, mine):
    result = run("explain", *small, "--query", "1", "-m", "finds@4", "--metrics-from", mine)
    assert result.out.startswith("finds@4 = 0.5000 for query 1 of run bm25\n")
    assert "\nformula" not in result.out
    result = run("metrics", "finds", "--metrics-from", mine)
    assert result.out.split("\n\n")[:2] == ["finds[@cutoff]", "Relevant documents per place."]
    listing = run("metrics", "--metrics-from", mine).out
    assert "Relevant documents per place." in listing


def test_it_is_known_for_one_call_only(run, small, mine):
    run("eval", *small, "-m", "finds@2", "--metrics-from", mine)
    assert_refused(run("eval", *small, "-m", "finds@2"), "unknown-metric")


def test_what_fails_is_one_line(run, small, tmp_path):
    path = tmp_path / "broken.py"
    result = run("eval", *small, "--metrics-from", path)
    assert_refused(result, "cannot-read", path)
    path.write_text("import rankgate\n\n1 / 0\n")
    result = run("eval", *small, "--metrics-from", path)
    assert_refused(result, "invalid-plugin", path, 3)
    path.write_text("import rankgate\n@rankgate.metric(per_query=True)\ndef P(grades): return 0\n")
    result = run("eval", *small, "--metrics-from", path)
    assert_refused(result, "metric-name-taken")
    path.write_text("import rankgate\n@rankgate.metric(per_query=True)\ndef bad(grades): 1 / 0\n")
    result = run("eval", *small, "-m", "bad", "--metrics-from", path)
    assert_refused(result, "function-failed")


def test_the_help_says_that_the_file_is_run(run):
    for command in ("eval", "explain", "metrics"):
        assert "This runs the file" in " ".join(run(command, "--help").out.split())


@pytest.fixture
def installed(tmp_path):
    """The example plug-in as an installed distribution: its module and its entry points."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    facts = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(facts)
    points = project["entry-points"]["rankgate.metrics"]
    lines = ["[rankgate.metrics]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    for module in PLUGIN.glob("*.py"):
        (tmp_path / module.name).write_text(module.read_text())
    return tmp_path


def called(place, *words):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(place)])}
    command = [sys.executable, "-m", "rankgate", *map(str, words)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_an_installed_plug_in_is_known_by_name(installed, small):
    result = called(installed, "eval", *small, "-m", "TimedGain", "-m", "timedgain@1", "--format", "json")
    assert result.stderr == ""
    # query 1: a is first and c fourth, behind a, u and b; query 2: x is first
    late = 2 ** (-(3 * 4.4 + (0.64 + 2 * 0.39) * 25.8) / 224)
    top = 0.64 * 0.77
    mean = json.loads(result.stdout)["runs"][0]["mean"]
    assert mean == pytest.approx({"TimedGain": top * (2 + late) / 4, "timedgain@1": top * 2 / 4})


def test_an_installed_plug_in_is_listed_with_its_passport(installed):
    assert "\nTimedGain[@cutoff]" in called(installed, "metrics").stdout
    assert "doi:10.1145/2348283.2348300" in called(installed, "metrics", "TimedGain").stdout


def test_what_is_not_asked_for_is_not_imported(installed, small):
    for module in installed.glob("*.py"):
        module.write_text("raise RuntimeError('not now')\n")
    assert called(installed, "eval", *small, "-m", "P@1").returncode == 0
    result = called(installed, "eval", *small, "-m", "TimedGain")
    assert result.returncode == 2
    assert "rankgate-time-biased-gain 0.1.0" in result.stderr
    assert "RuntimeError: not now" in result.stderr


def test_the_plug_in_keeps_its_own_tests(installed):
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(installed)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # each plug-in is imported each time
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"]
    result = subprocess.run(
        [*command, str(PLUGIN), "-c", os.devnull, str(PLUGIN / "tests")],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_what_the_declaration_refuses_is_one_sentence(run, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import rankgate\n\n\n@rankgate.metric\ndef Mine(grades):\n    'What.'\n")
    result = run("metrics", "Mine", "--metrics-from", path)
    assert_refused(result, "invalid-plugin", path, 4)
