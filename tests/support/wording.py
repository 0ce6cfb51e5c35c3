"""The words of errors, in one file: ``tests/wording.json``, by test and by turn.

A test says which error it expects by its code, its source and its line (`raises`); its message
is compared with the file. ``make wording`` rewrites the file after a message was reworded, and
drops messages of tests that are gone.
Places of temporary files are left out. The file is for one version of Python, because Python's
texts are part of some messages; other versions do not compare messages.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rankgate.core.errors import RankgateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE = Path(__file__).parents[1] / "wording.json"
WRITE = os.environ.get("RANKGATE_WORDING") == "write"
COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""Of the configuration: the tests of the collected files, also those that are not selected."""
PYTHON = ".".join(platform.python_version_tuple()[:2])

_VOLATILE = [
    (re.compile(r"[^\s'\"]*/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[^/\s'\"]+?(?=[/:\s'\",;]|$)"), "TMP"),
    (re.compile(re.escape(str(Path(__file__).resolve().parents[3] / "shared"))), "SHARED"),
    (re.compile(re.escape(str(Path(__file__).resolve().parents[2]))), "ROOT"),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"(?<=\btest_)(\w+\.py):\d+"), r"\1:LINE"),
    (re.compile(r"blob [0-9a-f]{64}"), "blob HASH"),
]

_stored: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
_messages: dict[str, list[str]] = _stored.get("messages", {})
_seen: defaultdict[str, list[str]] = defaultdict(list)
_gone: set[str] = set()
_turns: Counter[str] = Counter()


@contextmanager
def refused(kind: type[Exception]) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of a class of Python; its message is in the file of words."""
    with pytest.raises(kind) as caught:
        yield caught
    assert_wording(str(caught.value))


@contextmanager
def raises(
    code: str, kind: type[Exception] = RankgateError, *, line: int | None = None, source: str | None = None
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of rankgate with this code; its message is in the file of words.

    Args:
        code: the error's code.
        kind: its class.
        line: the line that it names, where that is part of the test.
        source: the file or table that it names, where that is part of the test.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert error.code == code, f"{error.code}: {error}"
    assert line is None or error.line == line, f"line {error.line}: {error}"
    assert source is None or error.source == source, f"source {error.source}: {error}"
    assert_wording(str(error))


def assert_warned(result: Any) -> None:
    """Compare a result's warnings, of which there is at least one, with those in the file."""
    assert result.warnings
    assert_wording("\n".join(result.warnings))


def assert_wording(message: str) -> None:
    """Compare a message with the one that the file holds for this test and turn."""
    test = _test()
    for pattern, word in _VOLATILE:
        message = pattern.sub(word, message)
    turn = _turns[test]
    _turns[test] += 1
    if WRITE:
        _seen[test].append(message)
        return
    if _stored.get("python") != PYTHON:
        return
    messages = _messages.get(test, [])
    if turn >= len(messages) or messages[turn] != message:
        stored_message = messages[turn] if turn < len(messages) else "nothing"
        pytest.fail(f"reworded? then say: make wording\n- {stored_message}\n+ {message}", pytrace=False)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the messages of a worker of pytest-xdist, which has ended."""
    output = getattr(node, "workeroutput", {})
    for test, messages in output.get("wording", {}).items():
        _seen[test] += messages
    _gone.update(output.get("gone", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the messages of the tests that ran; keep those of others that exist. Workers hand theirs over."""
    if not WRITE:
        return
    options, has_all = session.config.option, session.config.args == ["tests"]
    if has_all and session.items and options.markexpr == "wording" and not options.keyword:
        _gone.update(orphans(session.items))  # the process that starts workers has no items
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output |= {"wording": dict(_seen), "gone": sorted(_gone)}
    elif _seen:
        save(FILE)


def save(file: Path) -> None:
    """Write the file."""
    messages = {test: texts for test, texts in sorted((_messages | _seen).items()) if test not in _gone}
    stored = {"python": PYTHON, "messages": messages}
    file.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n", "utf-8")


def orphans(items: Iterable[pytest.Item]) -> list[str]:
    """The tests of the file that are not among all tests."""
    tests = {f"{item.path.name}::{item.nodeid.partition('::')[2]}" for item in items}
    return [test for test in _messages if test not in tests]


def _test() -> str:
    """The test that runs, without its folder, so that it can be moved."""
    file, _, name = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0].partition("::")
    return f"{Path(file).name}::{name}"
