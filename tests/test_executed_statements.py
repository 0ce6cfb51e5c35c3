"""The share of statements that tests execute, by blocks of functions."""

import json

import pytest

from support.executed_statements import counts

pytestmark = pytest.mark.separate
PACKAGE = {
    "sign.py": '''
"""The sign of a number."""
from __future__ import annotations

NAMES = {1: "positive", -1: "negative"}


def sign(value: float) -> int:
    """1, 0 or -1."""
    result = 0
    if value > 0:
        result = 1
    elif value < 0:
        result = -1
    return result


class Total:
    size: int = 0

    def add(self, values):
        for value in values:
            if value is None:
                continue
            self.size += value
        return self

    def declared(self): ...
''',
    "read.py": '''
def read(values):
    """The whole numbers among texts."""
    global count
    try:
        numbers = [int(value) for value in values]
        count = len(numbers)
    except ValueError:
        return None
    else:
        match numbers:
            case []:
                return 0
            case _:
                def double(number):
                    return 2 * number
                return double(numbers[0])


async def wait(seconds):
    with open(seconds) as stream:
        return stream
''',
    "never.py": "def never():\n    while True:\n        pass\n",
}


@pytest.fixture
def executed(pytester, monkeypatch, request):
    """Run a test on a package, and return its executed and all statements by file."""
    monkeypatch.setenv("PYTHONPATH", f"{request.config.rootpath / 'tests'}:{pytester.path}")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("RANKGATE_TESTS_COVERAGE", "reports")
    pytester.mkpydir("rankgate")
    for name, text in PACKAGE.items():
        (pytester.path / "rankgate" / name).write_text(text.lstrip())

    def run(body):
        pytester.makepyfile(test_it=f"from rankgate import read, sign\n\ndef test():\n    {body}\n")
        pytester.runpytest_subprocess("-psupport.executed_statements", "-pno:cacheprovider").assert_outcomes(
            passed=1
        )
        return counts(pytester.path.glob("reports/*.json"), pytester.path)

    return run


def test_statements_are_counted_by_blocks(executed):
    """`sign` has 7, with what the last condition leaves out, and `add` has 6; a declaration has none."""
    first = executed("assert sign.sign(2) == 1")
    total = {
        "rankgate/__init__.py": 0,
        "rankgate/sign.py": 7 + 6,
        "rankgate/read.py": 12,
        "rankgate/never.py": 2,
    }
    assert {file: count for file, (_, count) in first.items()} == total
    assert first["rankgate/sign.py"] == (4, 13)
    assert first["rankgate/never.py"] == (0, 2)


def test_reports_of_processes_are_added_up(executed):
    executed("assert sign.sign(2) == 1")
    later = executed("assert sign.sign(-2) == -1 and sign.Total().add([1, None, 2]).size == 3")
    assert later["rankgate/sign.py"] == (12, 13), "zero alone was not tried"


def test_parts_of_statements_are_blocks_of_their_own(executed):
    assert executed("assert read.read(['3']) == 6")["rankgate/read.py"][0] == 2 + 2 + 1 + 2 + 1
    assert executed("assert read.read(['a']) is None")["rankgate/read.py"][0] == 8 + 1


def test_a_report_of_another_version_of_a_file_does_not_count(tmp_path):
    (tmp_path / "rankgate").mkdir()
    (tmp_path / "rankgate" / "a.py").write_text("def f():\n    return 1\n")
    for name, marks in (("one", "01"), ("two", "0101")):
        report = {"rankgate/gone.py": "01", "rankgate/a.py": marks}
        (tmp_path / "report.json").write_text(json.dumps(report))
        assert counts([tmp_path / "report.json"], tmp_path) == {"rankgate/a.py": (name == "one", 1)}
