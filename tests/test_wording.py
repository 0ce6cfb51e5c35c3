"""The file of messages is whole, however many workers ran the tests."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from support.wording import COLLECTED, FILE, orphans

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


@pytest.mark.separate
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
    """By the name of the file, and by whole names for files of which all tests were collected."""
    paths = defaultdict(set)
    for path in Path(__file__).parent.rglob("test_*.py"):
        paths[path.name].add(path)
    messages = json.loads(FILE.read_text("utf-8"))["messages"]
    assert [test for test in messages if test.partition("::")[0] not in paths] == []
    if any("::" in argument for argument in request.config.args):
        return
    items = request.config.stash[COLLECTED]
    collected = {item.path for item in items}
    whole = {name for name, namesakes in paths.items() if namesakes <= collected}
    assert [test for test in orphans(items) if test.partition("::")[0] in whole] == []
