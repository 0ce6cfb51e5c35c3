"""The steps of CI: output, exit codes, and rising bounds of coverage, falling bounds of size."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
import yaml

from support.programs import importable, tool

ROOT = Path(__file__).resolve().parents[1]
RUNS = [
    ("13900 passed, 509 skipped in 600.00s (0:10:00)", False),
    ("900 passed in 40.00s", False),
    ("1 failed, 488 passed, 20 skipped, 2 errors in 300.00s", True),
]


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """The module, with its steps running in a folder of the test."""
    with importable(ROOT / ".ci"):
        module = importlib.import_module("steps")
        monkeypatch.setattr(module, "CLONE", tmp_path)
        monkeypatch.setattr(module, "SKIPPED", tmp_path / "skipped.json")
        yield module


def step(module, *command):
    return module.Step("a step", lambda: module.call(*command))


def test_counts_of_several_runs(steps):
    assert steps.summed(RUNS) == "1 failed, 15288 passed, 20 skipped, 2 error"


def test_a_failing_step_is_named_at_the_end(steps, monkeypatch, capsys):
    tests = [sys.executable, "-c", "print('1 failed, 2 passed in 0.10s'); exit(1)"]
    first, last = step(steps, *tests), step(steps, sys.executable, "-c", "print('here')")
    monkeypatch.setattr(steps, "STEPS", {"first": first, "last": last})
    assert steps.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" in ")[0] for line in lines if line.startswith("===")] == [
        "=== first: a step",
        "=== first: FAILED",
        "=== last: a step",
        "=== last: passed",
    ]
    assert "here" in lines
    assert lines[-2] == "FAILED step first: a step"
    assert re.fullmatch(r"1 failed, 2 passed in \d+\.\d\ds", lines[-1])
    assert steps.main(["last"]) == 0
    assert steps.main(["none"]) == 2


def test_bare_commands_see_python_make_git_and_a_shell(steps, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/java")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    with steps.bare() as environment:
        assert {"JAVA_HOME", "PYTHONPATH", "VIRTUAL_ENV"}.isdisjoint(environment)
        assert environment["PIP_INDEX_URL"] == "https://index.example/simple"
        (folder,) = map(Path, environment["PATH"].split(":"))
        assert {path.name for path in folder.iterdir()} <= {*steps.TOOLS, "python3"}
        code = "import encodings, sys; print(sys.version)"
        result = subprocess.run(
            ["sh", "-c", f"python3 -c '{code}'"], env=environment, text=True, check=True, capture_output=True
        )
        assert result.stdout.strip() == sys.version
    assert not Path(environment["TMPDIR"]).exists()


def write_clone(folder, requirement):
    """A clone without an environment."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "pyproject.toml").write_text(requirement)


def install(folder, package):
    """What make does: install a package unless it is there."""
    (folder / ".venv").mkdir(exist_ok=True)
    (folder / ".venv" / ".dev").touch()
    (folder / ".venv" / package).touch()


def packages(folder):
    return {path.name for path in folder.glob(".venv/[a-z]*")}


def test_environments_are_kept_for_the_next_clone_and_the_bare_one_stays_bare(steps, monkeypatch, tmp_path):
    clone = tmp_path / "build" / "ci"
    monkeypatch.setattr(steps, "CLONE", clone)
    clone.parent.mkdir()
    for run in range(3):
        steps.keep_installed()
        write_clone(clone, "a")
        steps.use("bare")
        assert packages(clone) == ({"pytest"} if run == 2 else set())
        install(clone, "pytest")
        steps.use("all")
        assert packages(clone) == ({"pytest", "pyspark"} if run else {"pytest"})
        install(clone, "pyspark")
    assert (clone / ".venv" / ".dev").stat().st_mtime >= (clone / "pyproject.toml").stat().st_mtime
    steps.keep_installed()
    write_clone(clone, "b")
    steps.use("all")
    assert not packages(clone), "other requirements need another environment"
    assert not list(clone.parent.glob("environments/*/.venv")), "what no version needs is dropped"


def test_tests_that_were_skipped_need_the_first_run(steps, capsys):
    assert not steps.skipped()
    assert "the step readme writes it" in capsys.readouterr().out
    steps.SKIPPED.write_text("{}")
    assert steps.skipped()


def test_coverage_is_that_of_the_first_run(steps, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(steps, "EXECUTED", tmp_path / "coverage")
    assert not steps.coverage()
    assert "the step readme writes it" in capsys.readouterr().out
    with steps.bare() as environment:
        assert environment["RANKGATE_TESTS_COVERAGE"] == str(steps.EXECUTED)


@pytest.fixture
def clone(steps, monkeypatch, tmp_path):
    """A clone with a commit, whose list of touched tests is in a file."""
    folder = tmp_path / "build" / "ci"
    monkeypatch.setattr(steps, "CLONE", folder)
    monkeypatch.setattr(steps, "SKIPPED", tmp_path / "skipped.json")
    (folder / "tests").mkdir(parents=True)
    (folder / ".gitignore").write_text(".venv\n/build\ntouched\n")
    (folder / "tests" / "changed.py").write_text("print(open('touched').read())\n")
    (folder / "touched").write_text("")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "All"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def run_steps(steps, capsys, *names):
    """The exit code, and whether the step `lowest` was left out."""
    steps.touched_since.cache_clear()
    code = steps.main([*names])
    return code, "=== lowest: left out" in capsys.readouterr().out


def test_a_step_is_left_out_if_no_change_since_its_pass_touches_its_tests(steps, clone, monkeypatch, capsys):
    runs = []
    monkeypatch.setattr(
        steps, "STEPS", {"lowest": steps.Step("a step", lambda: bool(runs.append(1)) or True)}
    )
    assert run_steps(steps, capsys) == (0, False)
    assert run_steps(steps, capsys) == (0, True)
    for path, is_left_out in (
        ("tests/online/test_a.py", True),
        ("tests/data/test_a.py", False),
        ("tests", False),
    ):
        (clone / "touched").write_text(path)
        assert run_steps(steps, capsys) == (0, is_left_out)
    (clone / "touched").write_text("")
    assert run_steps(steps, capsys, "all") == (0, False)
    assert run_steps(steps, capsys, "lowest") == (0, False)
    (steps.passes() / "lowest").write_text("0" * 40)
    (clone / "tests" / "changed.py").write_text("raise SystemExit('no such commit')")
    assert run_steps(steps, capsys) == (0, False), "what changed is not known"
    assert len(runs) == 6


@pytest.mark.usefixtures("clone")
def test_a_failed_step_runs_again(steps, monkeypatch, capsys):
    monkeypatch.setattr(steps, "STEPS", {"lowest": steps.Step("a step", lambda: False)})
    assert run_steps(steps, capsys) == (1, False)
    assert run_steps(steps, capsys) == (1, False)


@pytest.mark.usefixtures("clone")
def test_a_step_that_could_not_be_tried_runs_again_and_does_not_fail(steps, monkeypatch, capsys):
    monkeypatch.setattr(steps, "STEPS", {"lowest": steps.Step("a step", lambda: None)})
    assert run_steps(steps, capsys) == (0, False)
    assert run_steps(steps, capsys) == (0, False)


@pytest.mark.usefixtures("clone")
def test_skipped_tests_with_a_need_are_left_out_alike(steps, monkeypatch, capsys):
    """The first run has no PySpark, so that its tests are left out only after the second."""
    selected, missing = [], {}

    def call(*command, environment, repeats):
        selected.append(json.loads(Path(environment["RANKGATE_TESTS_ONLY"]).read_text()))
        Path(environment["RANKGATE_TESTS_SKIPPED"]).write_text(json.dumps(missing))
        return command == ("make", "test") and repeats

    monkeypatch.setattr(steps, "call", call)
    tests = {"tests/a/test_a.py::test": ["pyspark"], "tests/b/test_b.py::test": ["nginx"]}
    steps.SKIPPED.write_text(json.dumps(tests))
    missing |= {"tests/a/test_a.py::test": ["pyspark"]}
    assert steps.skipped()
    missing.clear()
    assert steps.skipped()
    assert steps.skipped()
    assert [len(needs) for needs in selected] == [2, 2, 1]
    assert "=== pyspark: left out: it passed at " in capsys.readouterr().out


@pytest.mark.usefixtures("clone")
def test_separate_tests_with_a_need_are_left_out_alike(steps, monkeypatch):
    """The first run has no PySpark; the second has all, so that the third leaves all out."""
    left_out, missing = [], {}

    def call(*command, environment):
        left_out.append(environment["RANKGATE_TESTS_WITHOUT"])
        Path(environment["RANKGATE_TESTS_SKIPPED"]).write_text(json.dumps(missing))
        return command == ("make", "separate")

    monkeypatch.setattr(steps, "call", call)
    missing |= {"tests/spark/test_a.py::test": ["pyspark"]}
    assert steps.separate()
    missing.clear()
    assert steps.separate()
    assert steps.separate()
    assert left_out == ["", "postgresql", "pyspark,postgresql"]


def test_the_workflow_has_every_step_once_and_each_job_its_clone(steps):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    begin = "bash .ci/run "
    jobs = {
        name: [
            workflow_step["run"].removeprefix(begin)
            for workflow_step in job["steps"]
            if workflow_step.get("run", "").startswith(begin)
        ]
        for name, job in workflow["jobs"].items()
    }
    jobs.pop("versions")
    assert {names.pop(0) for names in jobs.values()} == {"clone"}
    order = [name for name in steps.STEPS if name != "clone"]
    assert sorted(chain.from_iterable(jobs.values()), key=order.index) == order
    assert all(names == sorted(names, key=order.index) for names in jobs.values())
    assert {"readme", "skipped"} <= {*jobs["tests"]}, "the one runs what the other skipped"


def test_percentages_count_statements_of_an_area():
    files = {
        "rankgate/measurement/stats/a.py": (75, 90),
        "rankgate/measurement/stats/agreement/b.py": (5, 10),
        "rankgate/core/errors.py": (8, 8),
        "rankgate/data/files/conversion.py": (1, 4),
        "rankgate/data/read.py": (3, 4),
        "rankgate/online/events/ingest.py": (1, 2),
        "rankgate/__init__.py": (0, 0),
    }
    assert tool(".ci/bounds.py").percentages(files) == {
        "core/errors": 100.0,
        "data": 75.0,
        "data/files": 25.0,
        "measurement/stats": 80.0,
        "online": 50.0,
    }


@pytest.mark.parametrize(
    ("bound", "words"), [(80.1, "less of it is tested"), (77.9, "too low"), (79.0, None), (78.1, None)]
)
def test_bounds_only_go_up(bound, words):
    coverage = tool(".ci/bounds.py").COVERAGE
    messages = [
        *coverage.too_loose({"stats": bound}, {"stats": 80.0}),
        *coverage.faults({"stats": bound}, {"stats": 80.0}),
    ]
    assert [words in message for message in messages] == [True] * (words is not None)
    assert coverage.stricter({"stats": bound}, {"stats": 80.0}) == {"stats": max(bound, 79.0)}


def test_areas_without_a_bound_and_bounds_without_an_area():
    coverage = tool(".ci/bounds.py").COVERAGE
    messages = [*coverage.too_loose({}, {"new": 60.0}), *coverage.faults({"removed": 50.0}, {})]
    assert [message.partition(":")[0] for message in messages] == ["new", "removed"]


def test_names_that_say_nothing_are_counted_by_kind(tmp_path):
    package = tmp_path / "package"
    (package / "stats").mkdir(parents=True)
    (package / "stats" / "found.py").write_text(
        "__all__ = ['of']\n"
        "_MOST = 3\n"
        "class Asked: ...\n"
        "def of(each, values):\n"
        "    return [known for known in values if (mean := known) > each]\n"
    )
    (package / "errors.py").write_text("import sys as other\n")
    counts = tool(".ci/bounds.py").name_counts(package)
    assert counts == {
        "stats/variables": 3,
        "stats/functions": 1,
        "stats/classes": 1,
        "stats/files": 1,
        "top/variables": 0,
        "top/functions": 0,
        "top/classes": 0,
        "top/files": 0,
    }


def write_package(folder, **files):
    """A package of one area with a file for each keyword."""
    area = folder / "package" / "stats"
    area.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (area / f"{name}.py").write_text(text)
    return folder / "package"


def test_size_is_counted_in_nodes_that_no_formatter_moves(tmp_path):
    """Module, function, arguments, argument, return, product, name and number are eight nodes."""
    one_line = "def _double(x): return x * 2\n"
    lines = "# twice\ndef _double(\n    x,\n):\n    return (\n        x\n        * 2\n    )\n"
    sizes = tool(".ci/bounds.py").size_counts
    assert sizes(write_package(tmp_path / "short", a=one_line))["nodes/stats"] == 8
    assert sizes(write_package(tmp_path / "long", a=lines))["nodes/stats"] == 8


def test_code_that_moves_into_texts_and_other_files_is_counted(tmp_path):
    package = write_package(
        tmp_path,
        a='"""A docstring\n\nof five words."""\nQUERY = """\nSELECT a\nFROM t\n"""\nA = "one line"\n',
    )
    (package / "stats" / "rules.toml").write_text("[rules]\nlimit = 3\n")
    assert tool(".ci/bounds.py").size_counts(package)["words/stats"] == 4 + 4


def test_what_is_written_by_hand_is_counted(tmp_path):
    package = write_package(
        tmp_path,
        a="class A:\n    def to_dict(self): Grid(_rows(1))\ndef _rows(a): ...\ndef dcg_steps(): ...\n",
        b="def _twice(): ...\n_twice() + _twice()\n@click.option('-a')\ndef c(): Route('/')\n",
        c="pl.read_csv(a)\n",
    )
    sizes = tool(".ci/bounds.py").size_counts(package)
    by_hand = {name: sizes[name] for name in tool(".ci/bounds.py").BY_HAND}
    assert by_hand == {
        "tables, Grid(": 1,
        "own to_dict": 1,
        "own from_dict": 0,
        "click.option(": 1,
        "Route( away from its handler": 1,
        "tables read outside data": 1,
        "functions named ..._steps": 1,
        "private functions used once": 1,
    }


def test_a_function_of_200_nodes_is_beyond_the_bound(tmp_path, capsys):
    bounds = tool(".ci/bounds.py")
    package = write_package(tmp_path, a="A = 1\n")
    file = tmp_path / "size_bounds.json"
    file.write_text(json.dumps(bounds.size_counts(package)))
    size = bounds.SIZE._replace(bounds=file, measure=lambda: bounds.size_counts(package))
    assert bounds.main(size, stricter=False) == 0
    write_package(tmp_path, b="def add():\n    return " + " + ".join(["1"] * 99) + "\n")
    assert bounds.size_counts(package)["nodes/stats"] == 4 + 1 + 200
    assert bounds.main(size, stricter=False) == 1
    assert "nodes/stats: 205, the bound is 4: more than before" in capsys.readouterr().out


def test_contributors_see_the_bounds_of_size():
    bounds = tool(".ci/bounds.py")
    table = bounds.size_table(json.loads(bounds.SIZE.bounds.read_text("utf-8")))
    assert bounds.SIZE_BEGINS + table + bounds.SIZE_ENDS in bounds.CONTRIBUTING.read_text("utf-8")


def test_bounds_of_names_only_go_down():
    names = tool(".ci/bounds.py").NAMES
    few, more = {"stats/files": 1}, {"stats/files": 2}
    assert names.faults(few, few) == []
    assert "name what they hold" in names.faults(few, more)[0]
    assert names.stricter(few, more) == few
    assert names.stricter(more, few) == few
    assert "too high" in names.too_loose(more, few)[0]
    messages = names.faults({"gone/files": 1}, {"new/files": 1})
    assert [message.partition(":")[0] for message in messages] == ["new/files", "gone/files"]
