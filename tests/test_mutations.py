"""Small faults: the sample hangs on their text and the seed, and they are made in a copy only."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.programs import tool

mutations = tool("tests/mutations.py")
LINES = [f"    x{i} = a + {i} if a < {i} else b * {i}\n" for i in range(2, 30)]
TOTAL = """def total(values):
    result = 0
    for value in values:
        if value > 2:
            result += value
    return result


def unused(value):
    return value * 3
"""


HALF = '''def half(value):
    """Half of a value.

    >>> half(8)
    4.0
    """
    return value / 2
'''


def tree(folder, lines, file, area="measurement/scoring"):
    """A package with one function of these lines."""
    path = folder / "rankgate" / area / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("def f(a, b):\n" + "".join(lines))
    return folder


def test_code_that_is_added_and_moved_leaves_the_others_in_the_sample(tmp_path):
    original_tree = tree(tmp_path / "one", LINES, "one.py")
    changed_tree = tree(tmp_path / "two", ["    new = a - 99\n", *LINES[::-1]], "two.py")
    first, second = (
        [fault.content for fault in mutations.sampled(source, 12, 13, also=also)]
        for source, also in ((original_tree, changed_tree), (changed_tree, original_tree))
    )
    assert first == second
    assert len(set(first)) == 12
    other_sample = mutations.sampled(original_tree, 12, 14, also=changed_tree)
    assert first != [fault.content for fault in other_sample]


def test_a_line_that_is_there_twice_is_left_out(tmp_path):
    source = tree(tmp_path, [LINES[0], LINES[0], LINES[1]], "one.py")
    assert {text for text, _ in mutations.unique(source)} == {LINES[1].strip()}


def test_each_area_has_as_many_faults(tmp_path):
    for number, area in enumerate(("data/files", "store", "")):
        tree(tmp_path, LINES[9 * number : 9 * number + 9], "one.py", area)
    areas = [fault.area for fault in mutations.sampled(tmp_path, 7, 1)]
    assert [areas.count(name) for name in ("data", "store", "top")] == [3, 2, 2]
    assert {fault.area for fault in mutations.sampled(tmp_path, 7, 1, "top")} == {"top"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a < b", "a <= b"),
        ("a + 1", "a - 1"),
        ("a and b", "a or b"),
        ("not a", "a"),
        ("True", "False"),
        ("2.5", "3.5"),
        ("f(a, b)", "f(b, a)"),
    ],
)
def test_a_fault(old, new):
    assert mutations.can_change(ast.parse(old, mode="eval").body)
    assert mutations.mutated(old) == f"({new})"


@pytest.mark.parametrize("text", ["a < b < c", "f(a)", "f(a, a)", "a % b", "'a'", "None", "str | None"])
def test_what_is_no_fault(text):
    assert not mutations.can_change(ast.parse(text, mode="eval").body)


def test_shares_by_area():
    rows = mutations.shares([("data", "a"), ("data", ""), ("top", None), ("store", "b")]).splitlines()
    assert [row.split()[:5] for row in rows] == [
        ["data", "1", "of", "2", "50%"],
        ["store", "1", "of", "1", "100%"],
        ["top", "0", "of", "1", "0%"],
        ["all", "2", "of", "4", "50%"],
    ]
    assert rows[-1].endswith("without an answer in time: 1")


def test_faults_of_a_file_are_sought_by_their_text(tmp_path):
    """The line has moved to another file; another is there twice; the third is gone."""
    source = tree(tmp_path, ["    pass\n", LINES[0], LINES[1], LINES[1]], "two.py")
    tree(tmp_path, [LINES[1]], "three.py")
    entry = {"line": 9, "begin": 20, "old": "a", "new": "b"}
    entries = [
        {**entry, "file": f"rankgate/measurement/scoring/{file}", "text": text.strip()}
        for file, text in (
            ("one.py", LINES[0]),
            ("two.py", LINES[1]),
            ("one.py", LINES[1]),
            ("one.py", "gone"),
        )
    ]
    file = tmp_path / "faults.json"
    file.write_text(json.dumps(entries))
    (moved, nearest), gone = mutations.read_faults(file, source)
    assert (Path(moved.file).name, moved.line, moved.begin, moved.replacement) == ("two.py", 3, 18, "(b)")
    assert (Path(nearest.file).name, nearest.line) == ("two.py", 5)
    assert [line.partition(": ")[2] for line in gone] == [LINES[1].strip(), "gone"]


def test_what_make_check_selects_of_two_files():
    """Each of two workers has 0.75 of half of the seconds for its file: a cheap test."""
    files = ("tests/test_selection.py", "tests/test_mutations.py")
    node_ids = [f"{file}::test_{i}" for file in (*files, "tests/test_ci.py") for i in range(3)]
    selected = mutations.selected_of(node_ids, files, 0.03)
    assert selected == {f"{file}::test_0" for file in files}


@pytest.fixture
def project(tmp_path):
    """A project with a module, a test of it, and a test that fails in a copy only."""
    root = tmp_path / "project"
    files = {
        "src/rankgate/__init__.py": "",
        "src/rankgate/sums.py": TOTAL,
        "src/rankgate/interface/cli/__init__.py": "",
        "tests/test_sums.py": (
            "from rankgate.sums import total\n"
            f"def test_first(): assert __file__.startswith({str(root)!r})\n"
            "def test_total(): assert total([1, 2, 3]) == 3\n"
        ),
        "src/rankgate/data/halves.py": HALF,
        "tests/conftest.py": (
            "def pytest_configure(config):\n"
            "    for name in ('slow', 'separate', 'large', 'chromium', 'pyspark', 'manual'):\n"
            "        config.addinivalue_line('markers', f'{name}: a need')\n"
        ),
        "pyproject.toml": (
            "[tool.pytest.ini_options]\ntestpaths = ['src', 'tests/test_sums.py']\n"
            "addopts = '--strict-markers --doctest-modules --import-mode=importlib'\n"
        ),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copytree(Path(__file__).parent / "support", root / "tests/support")
    for name in ("changed.py", "mutations.py"):
        shutil.copy(Path(__file__).parent / name, root / "tests" / name)
    return root


def test_faults_are_tried_in_a_copy_and_results_are_kept(project, monkeypatch):
    """Each fault of `total` changes the sum of [1, 2, 3]; no test calls `unused`."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    results = project.parent / "results.jsonl"

    def run(*options):
        words = ["tests/mutations.py", "--faults", "9", "--area", "top", "--results", str(results), *options]
        process = subprocess.run(
            [sys.executable, *words], cwd=project, check=True, capture_output=True, text=True
        )
        return process.stdout

    assert run("--until", "0") == ""
    output = run()
    outcomes = {old: test for (_, old), test in map(json.loads, results.read_text().splitlines())}
    found_by = {old: "" if "3" in old else "tests/test_sums.py::test_total" for old in outcomes}
    assert outcomes == found_by
    assert len(outcomes) == 3  # the number and the expression around it are one place
    assert output.splitlines()[-1].split()[:5] == ["all", "2", "of", "3", "67%"]
    assert (project / "src/rankgate/sums.py").read_text() == TOTAL
    assert run("--until", "0") == output  # from the file


def test_tests_of_make_check_look_for_the_faults_of_a_file(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    fault = {"file": "rankgate/sums.py", "line": 4, "begin": 11, "old": "value > 2", "new": "value > 1"}
    half = {"file": "rankgate/data/halves.py", "line": 7, "begin": 19, "old": "2", "new": "3"}
    entries = [
        {**fault, "text": "if value > 2:"},
        {**fault, "text": "if value > 9:"},
        {**half, "text": "return value / 2"},
    ]
    (project / "faults.json").write_text(json.dumps(entries))
    words = ["tests/mutations.py", "--tests", "check", "--file", "faults.json"]
    process = subprocess.run(
        [sys.executable, *words], cwd=project, check=True, capture_output=True, text=True
    )
    gone, first, second, *_ = process.stdout.splitlines()
    assert gone == "no longer in the code: rankgate/sums.py: if value > 9:"
    assert first == "1 rankgate/sums.py:4: value > 2 -> (value > 1)  found by tests/test_sums.py::test_total"
    assert second.endswith("2 -> (3)  found by src/rankgate/data/halves.py::src.rankgate.data.halves.half")


def test_a_project_whose_tests_cannot_run_notices_nothing(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (project / "tests" / "conftest.py").write_text("raise ValueError\n")
    words = ["tests/mutations.py", "--faults", "1", "--area", "top"]
    process = subprocess.run(
        [sys.executable, *words], cwd=project, check=False, capture_output=True, text=True
    )
    assert process.returncode == 1
    assert "without any fault" in process.stderr
