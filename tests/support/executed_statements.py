"""Which statements of the functions of rankgate the tests execute.

``RANKGATE_TESTS_COVERAGE=build/coverage`` has each process of pytest write a file into that folder;
``.ci/bounds.py`` adds them up. A function is divided into blocks, of which either all statements
begin or none, but for errors: a block ends at a branch, a loop, a ``with`` and a ``try``. Each block
notes by one assignment that it ran, which costs a test a few per cent (a trace function costs it
half as much again). What an ``if`` without ``else`` leaves out is a block with the weight of one
statement. What runs during imports is not counted, nor are processes that tests start.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
from collections import defaultdict
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.marked_imports import MarkedLoader, install, statements_of, with_location

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = os.environ.get("RANKGATE_TESTS_COVERAGE")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PARTS = ("body", "orelse", "finalbody")
_executed: dict[str, bytearray] = {}


class BlockMarks:
    """Marks the blocks of a module's functions; `weights` are their numbers of statements."""

    def __init__(self, tree: ast.Module) -> None:
        """Add the assignments to a module."""
        self.weights: list[int] = []
        self._mark_functions(tree)

    def _mark_functions(self, node: ast.Module | ast.ClassDef) -> None:
        for statement in node.body:
            if isinstance(statement, ast.ClassDef):
                self._mark_functions(statement)
            elif isinstance(statement, FUNCTIONS):
                self._mark_function(statement)

    def _mark_function(self, node: Any) -> None:
        statements = statements_of(node)
        if not all(isinstance(statement, ast.Pass) or _is_text(statement) for statement in statements):
            node.body[len(node.body) - len(statements) :] = self._marked(statements)

    def _marked(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """The statements of a part of a function, with a mark at the beginning of each block."""
        result: list[ast.stmt] = []
        is_new = True
        block = 0
        for statement in statements:
            if is_new:
                block = len(self.weights)
                result.append(self._new_mark(statement, 0))
            self.weights[block] += 1
            result.append(statement)
            is_new = self._mark_parts(statement)
        return result

    def _mark_parts(self, statement: Any) -> bool:
        """Mark the parts of a statement; true if another block begins behind it."""
        if isinstance(statement, FUNCTIONS):
            self._mark_function(statement)
            return False
        if isinstance(statement, ast.ClassDef):
            self._mark_functions(statement)
            return False
        branches = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
        for part in [statement, *branches]:
            for name in PARTS:
                if getattr(part, name, None):
                    setattr(part, name, self._marked(getattr(part, name)))
        if isinstance(statement, ast.If) and not statement.orelse:
            statement.orelse = [self._new_mark(statement, 1)]
        return bool(branches) or hasattr(statement, "body")

    def _new_mark(self, statement: ast.stmt, weight: int) -> ast.stmt:
        mark = f"__executed__[{len(self.weights)}] = 1"
        self.weights.append(weight)
        return with_location(ast.parse(mark).body[0], statement)


def _is_text(statement: ast.stmt) -> bool:
    """True for ``...``, the body of a declaration."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Loader(MarkedLoader):
    kind = "executed"

    def mark(self, tree: ast.Module) -> ast.Module:
        weights = BlockMarks(tree).weights
        if weights:
            file = self.name.replace(".", "/") + ("/__init__.py" if self.is_package(self.name) else ".py")
            call = ast.parse(f"__executed__ = __blocks__({file!r}, {len(weights)})").body[0]
            statements = statements_of(tree)
            tree.body.insert(len(tree.body) - len(statements), with_location(call, statements[0]))
        return tree


def _blocks(file: str, count: int) -> bytearray:
    """What a module's blocks write to, also if it is imported again."""
    return _executed.setdefault(file, bytearray(count))


if FOLDER:
    builtins.__blocks__ = _blocks  # type: ignore[attr-defined]
    install(_Loader)


def pytest_sessionfinish() -> None:
    """Write what this process executed."""
    folder = Path(str(FOLDER))
    folder.mkdir(parents=True, exist_ok=True)
    report = {file: marks.hex() for file, marks in _executed.items()}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(report), "utf-8")


def counts(reports: Iterable[Path], source: Path) -> dict[str, tuple[int, int]]:
    """How many statements of each file of the package were executed, and how many there are.

    Reports of other versions of a file, as copies of the package have them, do not count.
    """
    executed: defaultdict[tuple[str, int], int] = defaultdict(int)
    for path in reports:
        for file, marks in json.loads(path.read_text("utf-8")).items():
            executed[file, len(marks) // 2] |= int(marks, 16)
    result = {}
    for path in sorted((source / "rankgate").rglob("*.py")):
        file = path.relative_to(source).as_posix()
        weights = BlockMarks(ast.parse(path.read_bytes())).weights
        marks = executed[file, len(weights)].to_bytes(len(weights), "big")
        result[file] = (sum(compress(weights, marks)), sum(weights))
    return result
