"""How many small faults the tests notice: ``make mutate``.

A seeded sample of changes to the packages of scoring and metrics (a comparison or an operator
swapped, a number one higher, a condition negated) is built into one copy of the package, each
behind a switch. The tests run once with all switches off, which shows the tests that reach
each change. Then each change is switched on: the quickest tests of each file that reach it run
first, then all of them, up to the first failure. A change is chosen only by its text and the seed:
additions, moves and removals of other code do not change the sample. With ``--also`` a change must
be possible in another source tree too, so that two versions are tried with the same.

    python tests/mutations.py [--count 60] [--seed 13] [--also SRC] [--save FOLDER] [TESTS ...]
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = ("measurement/scoring", "measurement/metrics")
QUICK = "not slow and not chromium and not manual"
NEAR = ("tests/metrics", "tests/laws", "tests/scoring", "tests/golden")
FIRST = 2  # tests of a file that are tried before all others
LONGEST = 900  # seconds; a change that makes a loop endless is noticed, too
SWAPPED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}

SWITCHES = '''"""Which change is on, and which were reached: a part of tests/mutations.py."""

import json
import os
from pathlib import Path

import pytest

ON = int(os.environ.get("CHANGE", "-1"))
FOLDER = os.environ.get("REACHED")
reached, found, failed = set(), [], set()


def on(number):
    if FOLDER:
        reached.add(number)
    return number == ON


def pytest_collection_finish():
    found.append(("", 0, sorted(reached)))
    reached.clear()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed:
        failed.add(report.nodeid)
    if FOLDER and report.when == "teardown":
        if report.nodeid not in failed:
            found.append((report.nodeid, report.duration, sorted(reached)))
        reached.clear()


def pytest_sessionfinish():
    if FOLDER:
        Path(FOLDER, f"{os.getpid()}.json").write_text(json.dumps(found))
'''


class Change(NamedTuple):
    """One fault in one line."""

    file: str
    line: int
    begin: int
    end: int
    old: str
    new: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"

    @property
    def content(self) -> tuple[str, str, str]:
        """What is changed, wherever it is."""
        return self.text, self.old, self.new

    def overlaps(self, other: Change) -> bool:
        """Whether both are in the same part of a line."""
        return self[:2] == other[:2] and self.begin < other.end and other.begin < self.end


def changed(node: ast.AST) -> ast.AST | None:
    """The node with one fault; None if there is no change to make."""
    mutated = copy.deepcopy(node)
    if isinstance(mutated, ast.Compare) and len(mutated.ops) == 1:
        mutated.ops = [SWAPPED[type(mutated.ops[0])]()]
    elif isinstance(mutated, ast.BinOp | ast.BoolOp) and type(mutated.op) in SWAPPED:
        mutated.op = SWAPPED[type(mutated.op)]()
    elif isinstance(mutated, ast.UnaryOp) and isinstance(mutated.op, ast.Not | ast.Invert):
        return mutated.operand
    elif isinstance(mutated, ast.Constant) and isinstance(mutated.value, bool):
        mutated.value = not mutated.value
    elif isinstance(mutated, ast.Constant) and isinstance(mutated.value, int | float):
        mutated.value += 1
    else:
        return None
    return mutated


def not_computed(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations, decorators, errors and texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from node.decorator_list
            yield from filter(None, [node.returns])
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            yield node


def changes(source: Path) -> Iterator[Change]:
    """All changes that can be made to the packages."""
    for package in PACKAGES:
        for path in sorted((source / "rankgate" / package).rglob("*.py")):
            text = path.read_text("utf-8")
            lines, tree = text.splitlines(), ast.parse(text)
            skipped = {id(inner) for node in not_computed(tree) for inner in ast.walk(node)}
            for node in ast.walk(tree):
                if id(node) in skipped or not isinstance(node, ast.expr):
                    continue
                mutated = changed(node) if node.lineno == node.end_lineno else None
                if mutated is not None:
                    old = ast.get_source_segment(text, node) or ""
                    location = (node.lineno, node.col_offset, node.end_col_offset or 0)
                    file = path.relative_to(source).as_posix()
                    texts = old, ast.unparse(mutated), lines[node.lineno - 1].strip()
                    yield Change(file, *location, *texts)


def unique(source: Path) -> dict[tuple[str, str, str], Change]:
    """The changes to lines that occur once."""
    all_changes = list(changes(source))
    times = Counter(change.content for change in all_changes)
    return {change.content: change for change in all_changes if times[change.content] == 1}


def sampled(source: Path, count: int, seed: int, also: Path | None = None) -> list[Change]:
    """Changes of a seeded sample, none inside another; possible in another tree too."""
    candidates = unique(source)
    if also:
        other_changes = unique(also)
        candidates = {content: change for content, change in candidates.items() if content in other_changes}
    shuffled = sorted(candidates, key=lambda content: hashlib.sha256(f"{seed}{content}".encode()).digest())
    sample: list[Change] = []
    for change in map(candidates.__getitem__, shuffled):
        if len(sample) < count and not any(change.overlaps(earlier) for earlier in sample):
            sample.append(change)
    return sample


def build_in(chosen: Iterable[Change], source: Path) -> None:
    """Put all changes into a copy of the package, each behind its switch."""
    (source / "rankgate_changes.py").write_text(SWITCHES)
    numbered = sorted(enumerate(chosen), key=lambda pair: -pair[1].begin)
    for number, change in numbered:
        path = source / change.file
        lines = path.read_bytes().split(b"\n")
        line = lines[change.line - 1]
        switch = f"(({change.new}) if __import__('rankgate_changes').on({number}) else ({change.old}))"
        lines[change.line - 1] = line[: change.begin] + switch.encode() + line[change.end :]
        path.write_bytes(b"\n".join(lines))


def run(source: Path, words: Iterable[str], **environment: str) -> bool:
    """Whether tests pass with the copy of the package."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "rankgate_changes", *words]
    try:
        process = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(source), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST if environment.get("CHANGE") else None,
        )
    except subprocess.TimeoutExpired:
        return False
    if "REACHED" in environment and process.returncode:
        sys.stdout.write(f"these fail without any change, and do not count:\n{process.stdout[-2000:]}")
    return not process.returncode


def reaching(source: Path, folder: Path, tests: list[str]) -> dict[int, list[str]]:
    """The tests that pass and reach each change, the quickest first.

    What is computed while a module is imported is reached by all tests of `NEAR`.
    """
    folder.mkdir(exist_ok=True)
    run(source, ["-n", "auto", "-m", QUICK, *tests], REACHED=str(folder))
    tests_by_change: defaultdict[int, set[tuple[float, str]]] = defaultdict(set)
    near: set[tuple[float, str]] = set()
    imported: set[int] = set()
    for path in folder.glob("*.json"):
        for test, seconds, numbers in json.loads(path.read_text()):
            if not test:
                imported.update(numbers)
            elif test.startswith(NEAR):
                near.add((seconds, test))
            for number in numbers if test else ():
                tests_by_change[number].add((seconds, test))
    for number in imported:
        tests_by_change[number] |= near
    return {
        number: [test for _, test in sorted(timed_tests)] for number, timed_tests in tests_by_change.items()
    }


def notices(number: int, tests: list[str], source: Path, folder: Path) -> str:
    """Which tests fail with a change on: "first" or "all"; "" where none does."""
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        by_file[test.partition("::")[0]].append(test)
    first = [test for file_tests in by_file.values() for test in file_tests[:FIRST]]
    for name, selected in (("first", first), ("all", tests)):
        list_file = folder / f"{number}-{name}.txt"
        list_file.write_text("".join(f"{test}\n" for test in selected))
        if selected and not run(source, ["-x", f"@{list_file}"], CHANGE=str(number)):
            return name
    return ""


def main() -> None:
    """Try a sample; print what no test notices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--also", type=Path, help="the folder src of another version")
    parser.add_argument("--save", type=Path, help="a folder for the copy and the tests of each")
    parser.add_argument("tests", nargs="*", default=["tests"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.save or Path(temporary)
        source = folder / "src"
        shutil.copytree(ROOT / "src", source)
        sample = sampled(source, arguments.count, arguments.seed, arguments.also)
        build_in(sample, source)
        tests = reaching(source, folder / "reached", arguments.tests)
        killed = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            indexes = range(len(sample))
            results = pool.map(lambda i: notices(i, tests.get(i, []), source, folder), indexes)
            for number, killed_by in enumerate(results):
                killed += bool(killed_by)
                word = f"killed ({killed_by})" if killed_by else "SURVIVED"
                reach = len(tests.get(number, []))
                sys.stdout.write(f"{number + 1} {word} {sample[number]} (reached by {reach})\n")
                sys.stdout.flush()
        sys.stdout.write(f"killed {killed} of {len(sample)}\n")


if __name__ == "__main__":
    main()
