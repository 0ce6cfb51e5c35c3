"""What tests cost and which modules they run: ``tests/record.json``, written by ``make record``.

The file has the CPU seconds of each dear test function, with those of its processes, and for each
file of tests the modules of rankgate in which it called a function. A function that is called adds
its module to a set, by a statement that is added when the module is imported. What runs during an
import is not counted: it would belong to the file that happens to import first. Only the figures of
files that ran are updated. A test without figures counts as cheap, one of a file without any as
rather dear; such a file is selected by its imports.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
from collections import Counter, defaultdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from support.marked_imports import MarkedLoader, install, with_location

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "record.json"
WRITE = os.environ.get("RANKGATE_TESTS_RECORD") == "write"
CHEAP = 0.04
"""CPU seconds of a case up to which its function is not listed."""
UNSEEN = "(not seen)"
"""Instead of a module: the file starts processes, or some of its tests did not run."""

called: set[str] = set()
_at_import: set[str] = set()
_caches: list[Any] = []
_seconds: Counter[str] = Counter()
_cases: Counter[str] = Counter()
_fixtures: Counter[Any] = Counter()
"""CPU seconds of fixtures that tests share; a test costs these too if it is the only one that runs."""
_modules: defaultdict[str, set[str]] = defaultdict(set)
_pending: set[str] = set()


class _Marking(ast.NodeTransformer):
    """Add to each function the statement that adds its module to `called`."""

    def __init__(self, name: str) -> None:
        self.statement = f"__called__({name!r})"

    def visit_FunctionDef(self, node: Any) -> Any:
        self.generic_visit(node)
        first = int(ast.get_docstring(node, clean=False) is not None)
        node.body.insert(first, with_location(ast.parse(self.statement).body[0], node.body[0]))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815


class _Loader(MarkedLoader):
    kind = "called"

    def mark(self, tree: ast.Module) -> ast.Module:
        return _Marking(self.name).visit(tree)

    def exec_module(self, module: Any) -> None:
        before = set(called)
        super().exec_module(module)
        _at_import.update(called - before)
        _caches.extend(value for value in vars(module).values() if hasattr(value, "cache_clear"))
        called.intersection_update(before)


if WRITE:
    builtins.__called__ = called.add  # type: ignore[attr-defined]
    install(_Loader)
    sys.addaudithook(
        lambda event, _: called.add(UNSEEN) if event in {"subprocess.Popen", "os.fork"} else None
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test with its fixtures."""
    function = function_of(item.nodeid)
    if function.partition("::")[0] not in _modules:
        for cached in _caches:
            cached.cache_clear()  # what is kept from another file would not be called again
    called.clear()
    start, shared = sum(os.times()[:4]), _fixtures.total()
    result = yield
    own = sum(os.times()[:4]) - start - (_fixtures.total() - shared)
    needed = [_fixtures[definition[-1]] for definition in _definitions(item)]
    _seconds[function] += own + sum(needed)  # type: ignore[assignment]
    _cases[function] += 1
    _modules[function.partition("::")[0]] |= called
    if not item.get_closest_marker("skip"):
        _pending.discard(item.nodeid)
    return result


def _definitions(item: pytest.Item) -> Iterable[Any]:
    info = getattr(item, "_fixtureinfo", None)
    return info.name2fixturedefs.values() if info else ()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, object, object]:
    """Measure a fixture that tests share, less those that it uses."""
    start, shared = sum(os.times()[:4]), _fixtures.total()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            own = sum(os.times()[:4]) - start - (_fixtures.total() - shared)
            _fixtures[fixturedef] += own  # type: ignore[assignment]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember the tests that are to run."""
    _pending.update(item.nodeid for item in session.items)


def pytest_deselected(items: Iterable[pytest.Item]) -> None:
    """Remember the tests that are left out."""
    _pending.update(item.nodeid for item in items)


def function_of(node_id: str) -> str:
    """The file and name of a test function, without its case."""
    return node_id.partition("[")[0]


def pytest_sessionfinish() -> None:
    """Write the record, also of an interrupted run; drop files that are gone."""
    seconds, modules, at_import = load()
    for node_id in _pending:
        if (file := node_id.partition("::")[0]) in _modules:
            _modules[file].add(UNSEEN)
    for file in _modules:
        seconds[file] = {}
    for function, count in sorted(_cases.items()):
        if (mean := _seconds[function] / count) > CHEAP:
            file, _, name = function.partition("::")
            seconds[file][name] = float(f"{mean:.1g}")
    modules |= _modules
    files = [file for file in sorted(modules) if (ROOT / file).exists()]
    names = sorted(set().union(*(modules[file] for file in files)))
    measured = [file for file in sorted(seconds) if (ROOT / file).exists()]
    record = {
        "seconds": {file: seconds[file] for file in measured if seconds[file] or file not in modules},
        "called at import": sorted((at_import | _at_import) - {UNSEEN}),
        "names": names,
        "modules": {
            file: _ranges(i for i, name in enumerate(names) if name in modules[file]) for file in files
        },
    }
    FILE.write_text(json.dumps(record, indent=0) + "\n", "utf-8")


class Record(NamedTuple):
    """What earlier runs saw.

    Attributes:
        seconds: CPU seconds of a case of dear test functions, by file; empty for a file without dear ones.
        modules: the modules in which a file of tests called a function; `UNSEEN` if that is not all.
        at_import: the modules with functions that are called while modules are imported.
    """

    seconds: dict[str, dict[str, float]]
    modules: dict[str, set[str]]
    at_import: set[str]


def load() -> Record:
    """Read the file."""
    if not FILE.exists():
        return Record({}, {}, set())
    record = json.loads(FILE.read_text("utf-8"))
    names = record["names"]
    modules = {
        file: {names[i] for first, last in _bounds(ranges) for i in range(first, last + 1)}
        for file, ranges in record["modules"].items()
    }
    seconds = {file: {} for file in modules} | record["seconds"]
    return Record(seconds, modules, set(record.get("called at import", ())))


def _ranges(numbers: Iterable[int]) -> str:
    """``0-3 7``."""
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ]
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _bounds(ranges: str) -> list[tuple[int, int]]:
    return [(int(pair.split("-")[0]), int(pair.split("-")[-1])) for pair in ranges.split()]
