"""``make test-changed`` runs only the tests that a change can affect."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.separate
FILES = {
    ".gitignore": "__pycache__/\n",
    "src/rankgate/__init__.py": 'HOMES = {"rankgate.verbs": ["f as verb", "g"]}',
    "src/rankgate/interface/cli/__init__.py": (
        'HOMES = {"eval": "rankgate.scores", "page": "rankgate.workspace.web"}'
    ),
    "src/rankgate/scores.py": "def f():\n    from rankgate.kernel import dcg\n",
    "src/rankgate/kernel.py": "dcg = 1",
    "src/rankgate/workspace/web/__init__.py": 'CHARTS = "rankgate.charts:draw"',
    "src/rankgate/workspace/web/page.html": "<p>",
    "src/rankgate/charts.py": "draw = 1",
    "src/rankgate/verbs.py": "f = g = 1",
    "tests/conftest.py": "",
    "tests/test_kernel.py": "import rankgate.kernel",
    "tests/test_scores.py": "def test(run):\n    run('eval a b')",
    "tests/test_verbs.py": "import rankgate\n\nrankgate.verb()",
    "tests/test_web.py": "def test(run):\n    run('page')",
}


@pytest.fixture
def project(tmp_path):
    """A small project under git, with the script."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "tests" / "support").mkdir()
    for name in ("changed.py", "support/recording.py", "support/marked_imports.py"):
        shutil.copy(Path(__file__).with_name("changed.py").parent / name, tmp_path / "tests" / name)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "All"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def select(project):
    script = [sys.executable, "tests/changed.py"]
    return subprocess.run(script, cwd=project, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/rankgate/kernel.py", {"test_kernel.py", "test_scores.py"}),  # by an inner import
        ("src/rankgate/scores.py", {"test_scores.py"}),  # by the name of a command
        ("src/rankgate/charts.py", {"test_web.py"}),  # by a string
        ("src/rankgate/workspace/web/page.html", {"test_web.py"}),
        ("src/rankgate/verbs.py", {"test_verbs.py"}),  # by a public name
        ("tests/test_web.py", {"test_web.py"}),
        ("README.txt", set()),
    ],
)
def test_a_change_selects_the_tests_that_load_it(project, changed, tests):
    (project / changed).write_text("new = 1")
    selected = select(project)
    assert {Path(path).name for path in selected if path.startswith("tests/")} == tests
    doctests = {changed} if changed.endswith(".py") and changed.startswith("src/") else set()
    assert {path for path in selected if path.startswith("src/")} == doctests


def test_what_every_test_uses_selects_all(project):
    (project / "tests" / "conftest.py").write_text("new = 1")
    selected = select(project)
    assert selected == ["tests", "src"]


NAMES = ["(not seen)", "rankgate.kernel", "rankgate.scores", "rankgate.verbs"]
CALLS = {"tests/test_kernel.py": "1", "tests/test_scores.py": "2", "tests/test_verbs.py": "0 3"}


def write_record(project, at_import=()):
    """Calls as recorded; those of test_verbs are not complete, test_web is not recorded."""
    record = {"seconds": {}, "called at import": list(at_import), "names": NAMES, "modules": CALLS}
    (project / "tests" / "record.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("file", "text", "at_import", "tests"),
    [
        ("scores.py", "def f():\n  from rankgate.kernel import dcg  # as before\n", (), set()),
        ("scores.py", "def f():\n    return 2\n", (), {"test_scores.py"}),
        ("kernel.py", "dcg = 2", (), {"test_kernel.py", "test_scores.py"}),  # the user of the value
        ("verbs.py", "f = g = 2", (), {"test_verbs.py"}),  # by its imports
        ("charts.py", "draw = 2", (), {"test_web.py"}),  # a module without a record
        ("verbs.py", "f = g = 2", ["rankgate.verbs"], {"test_verbs.py"}),
    ],
)
def test_recorded_calls_decide_before_imports(project, file, text, at_import, tests):
    write_record(project, at_import)
    (project / "src" / "rankgate" / file).write_text(text)
    assert {Path(path).name for path in select(project) if path.startswith("tests/")} == tests


def test_a_body_touches_no_test_that_does_not_call_its_module(project):
    """By its imports test_scores would be touched."""
    write_record(project)
    kernel = project / "src" / "rankgate" / "kernel.py"
    kernel.write_text("def dcg(): return 1\n")
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.org", "commit", "-qam", "F"],
        cwd=project,
        check=True,
    )
    kernel.write_text("def dcg(): return 2\n")
    assert select(project) == ["src/rankgate/kernel.py", "tests/test_kernel.py"]
