"""The file of messages is whole, however many workers ran the tests."""

import ast
import json
from pathlib import Path

import pytest

from support.wording import FILE, orphans

pytestmark = pytest.mark.separate
CONFTEST = """
from pathlib import Path
from support import wording
from support.wording import pytest_sessionfinish, pytest_testnodedown
wording.FILE = Path(__file__).with_name("wording.json")
wording._messages.clear()
wording._messages["test_gone.py::test"] = ["gone"]
wording._messages["test_refusals.py::test_refused[0]"] = ["earlier"]
"""
TEST = """
import pytest
from rankgate.core.errors import UsageError
from support.wording import raises

@pytest.mark.wording
@pytest.mark.parametrize("number", range(4))
def test_refused(number):
    for turn in "ab":
        with raises("invalid-value", UsageError):
            raise UsageError(f"{turn}{number}", code="invalid-value")
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("whole", [True, False])
def test_messages_of_all_workers_are_written(pytester, monkeypatch, request, workers, whole):
    monkeypatch.setenv("RANKGATE_WORDING", "write")
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath / "tests"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each plug-in is imported each time
    pytester.makeconftest(CONFTEST)
    pytester.mkdir("tests").joinpath("test_refusals.py").write_text(TEST)
    options = ["-pno:cacheprovider", "-pxdist.plugin", workers, "-mwording", *(["tests"] if whole else [])]
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=4)
    written = json.loads((pytester.path / "wording.json").read_text("utf-8"))["messages"]
    assert list(written.values()) == [["gone"]] * (not whole) + [[f"a{i}", f"b{i}"] for i in range(4)]


def test_every_message_belongs_to_a_test(request):
    """By the names of functions, and by whole names where all tests were collected."""
    functions = {
        f"{path.name}::{node.name}"
        for path in Path(__file__).parent.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef)
    }
    messages = json.loads(FILE.read_text("utf-8"))["messages"]
    assert [test for test in messages if test.partition("[")[0] not in functions] == []
    options = request.config.option
    if "tests" in request.config.args and not (options.keyword or options.markexpr or options.deselect):
        assert orphans(request.session.items) == []
