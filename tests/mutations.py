"""How many small faults the tests notice: ``make mutate``.

A seeded sample of changes to `rankgate.scoring` and `rankgate.metrics` (a comparison or an
operator swapped, a number one higher, a condition turned round), one at a time, in a copy of the
package. Each is killed if the tests fail. The same seed gives the same changes for the same code.

    python tests/mutations.py [--count 60] [--seed 13] [TESTS ...]
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = ("scoring", "metrics")
TESTS = ("tests/golden", "tests/metrics", "tests/scoring", "tests/laws")
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}  # fmt: skip


class Mutation(NamedTuple):
    """One change of one line."""

    file: Path
    line: int
    begin: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"


def changed(node: ast.AST) -> ast.AST | None:
    """The node with one fault; None where there is none to make."""
    other = copy.deepcopy(node)
    if isinstance(other, ast.Compare) and len(other.ops) == 1:
        other.ops = [SWAPPED[type(other.ops[0])]()]
    elif isinstance(other, ast.BinOp | ast.BoolOp) and type(other.op) in SWAPPED:
        other.op = SWAPPED[type(other.op)]()
    elif isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not | ast.Invert):
        return other.operand
    elif isinstance(other, ast.Constant) and isinstance(other.value, bool):
        other.value = not other.value
    elif isinstance(other, ast.Constant) and isinstance(other.value, int | float):
        other.value += 1
    else:
        return None
    return other


def aside(tree: ast.Module) -> Iterator[ast.AST]:
    """What is no computation: annotations, decorators, errors, texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from node.decorator_list
            yield from filter(None, [node.returns])
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            yield node


def mutations(source: Path) -> Iterator[Mutation]:
    """All changes that can be made to the packages."""
    for package in PACKAGES:
        for path in sorted((source / "rankgate" / package).rglob("*.py")):
            text = path.read_text("utf-8")
            tree = ast.parse(text)
            left = {id(inner) for node in aside(tree) for inner in ast.walk(node)}
            for node in ast.walk(tree):
                if id(node) in left or not isinstance(node, ast.expr):
                    continue
                other = changed(node) if node.lineno == node.end_lineno else None
                if other is not None:
                    old = ast.get_source_segment(text, node) or ""
                    place = (node.lineno, node.col_offset, node.end_col_offset or 0)
                    yield Mutation(path.relative_to(source), *place, old, f"({ast.unparse(other)})")


def passed(source: Path, tests: list[str]) -> bool:
    """Whether the tests pass with the package in a folder."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return not subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=False
    ).returncode


def killed(mutation: Mutation, source: Path, tests: list[str]) -> bool:
    """Whether the tests notice the change."""
    path = source / mutation.file
    whole = path.read_bytes()
    lines = whole.split(b"\n")
    line = lines[mutation.line - 1]
    lines[mutation.line - 1] = line[: mutation.begin] + mutation.new.encode() + line[mutation.end :]
    path.write_bytes(b"\n".join(lines))
    try:
        return not passed(source, tests)
    finally:
        path.write_bytes(whole)


def main() -> None:
    """Try a sample; say what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("tests", nargs="*", default=list(TESTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        if not passed(source, given.tests):
            sys.exit("the tests fail without any change; mend them first")
        sample = random.Random(given.seed).sample(list(mutations(source)), given.count)
        dead = 0
        for number, mutation in enumerate(sample, 1):
            found = killed(mutation, source, given.tests)
            dead += found
            word = "killed" if found else "SURVIVED"
            sys.stdout.write(f"{number}/{given.count} {word} {mutation}\n")
            sys.stdout.flush()
        sys.stdout.write(f"killed {dead} of {given.count}\n")


if __name__ == "__main__":
    main()
