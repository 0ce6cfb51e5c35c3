"""Tests declare needs in one way, run in any order, and leave no state for the next test."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from support import java, needs

pytestmark = pytest.mark.separate
TESTS = Path(__file__).parent
CONFTEST = """
from dataclasses import replace
import pytest
from support import needs
from support.isolation import unchanged_process
from support.needs import mark, print_skipped, register
from support.selection import order, save_skipped, select

needs.NEEDS.update(
    {name: replace(need, available=lambda: True) for name, need in needs.NEEDS.items()}
)

def pytest_configure(config):
    register(config)

def pytest_collection_modifyitems(config, items):
    for item in items:
        mark(item)
    select(config, items)
    order(items)

def pytest_terminal_summary(terminalreporter):
    if skipped := terminalreporter.stats.get("skipped"):
        print_skipped(terminalreporter, skipped)
        save_skipped(skipped)

@pytest.fixture
def postgresql_server():
    return 1
"""
NEEDING = """
import pytest

@pytest.mark.git
def test_marked(): pass

def test_by_fixture(postgresql_server): pass

@pytest.mark.parametrize("kind", [1, pytest.param(2, marks=pytest.mark.postgresql)])
def test_by_parameter(kind): pass

@pytest.mark.git
@pytest.mark.bash
def test_both(): pass
"""
ORDERED = "".join(f"def test_{number}(): pass\n\n" for number in range(6))
LEAKS = {
    "os.chdir('/')": "working folder: /",
    "sys.path.append('/nowhere')": "sys.path: /nowhere",
    "os.environ['LEFT'] = '1'": "environment: LEFT",
    "os.environ.pop('HOME')": "environment: HOME",
    "sys.modules['json'] = None": "module: json",
    "(tmp_path / 'stub.py').touch(); monkeypatch.syspath_prepend(tmp_path); import stub": ("module: stub"),
}


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder of tests with the hooks and fixtures of ours."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each plug-in is imported each time
    for name in ("WITHOUT", "ORDER", "SKIPPED", "ONLY"):
        monkeypatch.delenv(f"RANKGATE_TESTS_{name}", raising=False)
    pytester.makeconftest(CONFTEST)

    def tested(text, *options, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(f"RANKGATE_TESTS_{name.upper()}", value)
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess("-pno:cacheprovider", "-pxdist.plugin", *options)

    return tested


@pytest.mark.parametrize(
    ("workers", "without", "rows"),
    [
        ("-n0", "postgresql", ["    2  PostgreSQL  apt-get install postgresql"]),
        (
            "-n2",
            "git,bash",
            [
                "    1  Bash, Git  apt-get install bash; apt-get install git",
                "    1  Git        apt-get install git",
            ],
        ),
    ],
)
def test_tests_of_a_missing_need_are_skipped_and_listed(project, tmp_path, workers, without, rows):
    file = tmp_path / "skipped.json"
    result = project(NEEDING, workers, without=without, skipped=str(file))
    result.assert_outcomes(passed=3, skipped=2)
    assert {*rows} <= {*result.outlines}
    assert {name for names in json.loads(file.read_text()).values() for name in names} == {
        *without.split(",")
    }
    result = project(NEEDING, workers, without="", only=str(file))
    result.assert_outcomes(passed=2)


def test_needs_and_tests_that_do_not_exist(project, tmp_path):
    assert "no such need: postgres;" in str(project(NEEDING, without="postgres").stderr)
    file = tmp_path / "only.json"
    file.write_text('{"test_that_was_removed": ["git"]}')
    result = project(NEEDING, without="", only=str(file))
    assert "no such tests: test_that_was_removed" in str(result.stderr)


@pytest.mark.parametrize("order", ["reversed", "random:1", "random:2"])
def test_the_order_of_tests(project, order):
    result = project(ORDERED, "-v", order=order)
    result.assert_outcomes(passed=6)
    names = re.findall(r"::test_(\w+) PASSED", str(result.stdout))
    assert sorted(names) == sorted(map(str, range(6)))
    assert (names == [*"543210"]) == (order == "reversed")
    assert names != [*"012345"]


def test_an_order_that_does_not_exist(project):
    assert "reversed, or random:SEED" in str(project(ORDERED, order="random").stderr)


def test_what_a_test_leaves_makes_it_fail(project):
    tests = "".join(
        f"def test_leaves_{number}(tmp_path, monkeypatch):\n    {leak}\n\ndef test_next_{number}(): pass\n\n"
        for number, leak in enumerate(LEAKS)
    )
    result = project(f"import os, sys\n\n{tests}")
    result.assert_outcomes(passed=2 * len(LEAKS), errors=len(LEAKS))
    messages = re.findall("left for the next test: (.+)", str(result.stdout))
    assert [*dict.fromkeys(messages)] == [*LEAKS.values()]


def test_a_fixture_that_implies_a_need_is_the_only_one_of_its_name():
    fixture = re.compile(r"^@pytest\.fixture.*\ndef (\w+)\(", re.MULTILINE)
    files = {*TESTS.rglob("*.py")} - {Path(__file__)}
    definitions = Counter(name for file in files for name in fixture.findall(file.read_text("utf-8")))
    assert {name: definitions[name] for name in needs.FIXTURES} == dict.fromkeys(needs.FIXTURES, 1)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("version", "new_enough"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('openjdk version "21-ea" 2023-09-19', True),
        ('openjdk version "11.0.2" 2019-01-15', False),
        ('java version "1.8.0_402"', False),
        ("no Java runtime present", False),
    ],
)
def test_java_is_that_of_java_home_and_new_enough(tmp_path, monkeypatch, version, new_enough):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert (java.program(), java.new_enough()) == (None, False)
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    program.chmod(0o755)
    assert (java.program(), java.new_enough()) == (str(program), new_enough)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(program.parent))
    assert java.program() == str(program)


def test_no_test_is_skipped_in_another_way():
    calls = re.compile(r"pytest\.(importorskip|skip|mark\.skip(if)?)\b")
    files = [file for file in TESTS.rglob("*.py") if calls.search(file.read_text("utf-8"))]
    assert files == [TESTS / "support" / "needs.py"]
