"""The record of tests holds what a test costs by itself, and the modules that it calls."""

import pytest

from support.recording import UNSEEN, Record

pytestmark = pytest.mark.separate
CONFTEST = """
from pathlib import Path
from support import recording
recording.ROOT = Path(__file__).parent
recording.FILE = Path(__file__).with_name("record.json")

def pytest_configure(config):
    config.pluginmanager.register(recording)
"""
TEST = """
import subprocess, sys, time
import pytest

def work(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass

@pytest.fixture(scope="module")
def first():
    work(0.1)

@pytest.fixture(scope="module")
def second(first):
    work(0.1)

def test_makes_both(second):
    from rankgate.core.present.number_formats import finite_or_none
    finite_or_none(1.5)

def test_uses_both(second): pass

def test_uses_first(first): work(0.1)

def test_quick(): pass

@pytest.mark.parametrize("case", range(3))
def test_cases(case): work(0.1)
"""
PROCESS = "import subprocess, sys\n\ndef test_process(): subprocess.run([sys.executable, '-V'], check=True)\n"


@pytest.fixture
def record(pytester, monkeypatch, request):
    """The record of some tests."""
    monkeypatch.setenv("RANKGATE_TESTS_RECORD", "write")
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath / "tests"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each plug-in is imported each time
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_seconds=TEST, test_process=PROCESS)
    pytester.runpytest_subprocess("-pno:cacheprovider").assert_outcomes(passed=8)
    monkeypatch.setattr("support.recording.FILE", pytester.path / "record.json")
    from support.recording import load

    return load()


def test_a_test_costs_the_fixtures_that_it_shares(record: Record):
    """Of `test_cases` the seconds of one case count; the other tests need 0.2 s, in any order."""
    seconds = record.seconds["test_seconds.py"]
    assert seconds.keys() >= {"test_makes_both", "test_uses_both", "test_uses_first", "test_cases"}
    assert min(seconds, key=lambda name: seconds[name]) == "test_cases"


def test_the_modules_that_are_called_are_recorded(record: Record):
    assert record.modules["test_seconds.py"] == {"rankgate.core.present.number_formats"}
    assert UNSEEN in record.modules["test_process.py"]
