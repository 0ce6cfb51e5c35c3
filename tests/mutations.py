"""How many small faults the tests notice, by area: ``make mutate``.

A fault is a comparison or an operator swapped, a number one higher, a truth value or a condition
negated, or two arguments exchanged. A seeded sample of every area of ``src/rankgate`` (files
directly in it are the area `top`) is tried, one fault at a time, in a copy of the project: nothing
is changed here, so that nothing needs to be restored if the program is killed. The quick tests that
call the changed module, by ``tests/record.json`` or else by their imports, run up to the first
failure; its own doctests and tests that import it themselves run first. A test that fails without
the fault, too, does not count. A fault is chosen only by its text and the seed: additions, moves
and removals of other code do not change the sample.

    python tests/mutations.py [--faults 60] [--seed 13] [--area NAME] [--seconds 120] [--also SRC]
        [--results FILE [--until 450]]

With ``--also`` a fault must be possible in another source tree, too, so that two versions are tried
with the same. With ``--results`` each fault is kept in a file of JSON lines, and the next call tries
only the others; after ``--until`` seconds no further one begins.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
QUICK = "not slow and not separate and not large and not chromium and not manual"
COPIED = ("src", "tests", "docs", ".ci")
"""Folders that are copied; the other ones are links, except for those that are left out."""
LEFT_OUT = (".git", ".venv", "build")
MANY = 12  # test modules that pytest collects at a time, so that the first failure comes early
TOP = "top"
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


class Fault(NamedTuple):
    """One fault in one line; `begin` and `end` are bytes of the line."""

    file: str
    line: int
    begin: int
    end: int
    old: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {mutated(self.old)}"

    @property
    def content(self) -> tuple[str, str]:
        """What is changed, wherever it is."""
        return self.text, self.old

    @property
    def area(self) -> str:
        """The folder of `src/rankgate`."""
        parts = Path(self.file).parts
        return parts[1] if len(parts) > 2 else TOP

    def overlaps(self, other: Fault) -> bool:
        """True if both are in the same part of a line."""
        return self[:2] == other[:2] and self.begin < other.end and other.begin < self.end


def can_change(node: ast.AST) -> bool:
    """True if `mutated` knows a fault for an expression."""
    match node:
        case ast.Compare(ops=[_]) | ast.UnaryOp(op=ast.Not() | ast.Invert()):
            return True
        case ast.BinOp(op=ast.BitOr(), right=ast.Constant(value=None)):  # a type
            return False
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            return type(operator) in SWAPPED
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Call(args=[ast.Name(id=first), ast.Name(id=second)]):
            return first != second
    return False


def mutated(old: str) -> str:
    """The text of an expression with one fault."""
    node = ast.parse(f"({old})", mode="eval").body
    match node:
        case ast.Compare():
            node.ops = [SWAPPED[type(node.ops[0])]()]
        case ast.BinOp() | ast.BoolOp():
            node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
        case ast.UnaryOp():
            node = node.operand
        case ast.Call():
            node.args.reverse()
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
    return f"({ast.unparse(node)})"


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


def faults(source: Path, area: str = "") -> Iterator[Fault]:
    """All faults that can be made, of one area or of all; their texts are not made yet."""
    for path in sorted((source / "rankgate").rglob("*.py")):
        file = path.relative_to(source).as_posix()
        if area and Fault(file, 0, 0, 0, "", "").area != area:
            continue
        content = path.read_bytes()
        lines, tree = content.split(b"\n"), ast.parse(content)
        skipped = {id(inner) for node in not_computed(tree) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.expr)
                and node.lineno == node.end_lineno
                and id(node) not in skipped
                and can_change(node)
            ):
                line, begin, end = lines[node.lineno - 1], node.col_offset, node.end_col_offset or 0
                yield Fault(
                    file, node.lineno, begin, end, line[begin:end].decode(), line.strip().decode("utf-8")
                )


def unique(source: Path, area: str = "") -> dict[tuple[str, str], Fault]:
    """The faults of lines that occur once."""
    all_faults = list(faults(source, area))
    times = Counter(fault.content for fault in all_faults)
    return {fault.content: fault for fault in all_faults if times[fault.content] == 1}


def sampled(source: Path, count: int, seed: int, area: str = "", also: Path | None = None) -> list[Fault]:
    """A seeded sample, as many of each area, none inside another; possible in another tree too."""
    candidates = unique(source, area)
    if also:
        candidates = {content: candidates[content] for content in candidates.keys() & unique(also).keys()}
    by_area: defaultdict[str, list[Fault]] = defaultdict(list)
    for content in sorted(candidates, key=lambda key: hashlib.sha256(f"{seed}{key}".encode()).digest()):
        fault = candidates[content]
        if not any(fault.overlaps(earlier) for earlier in by_area[fault.area][:count]):
            by_area[fault.area].append(fault)
    turns = zip_longest(*(by_area[name] for name in sorted(by_area)))
    return list(islice(filter(None, chain.from_iterable(turns)), count))


def copy_project(root: Path, folder: Path) -> Path:
    """A copy of the project in which faults are made; data next to the project are linked."""
    project = folder / root.name
    project.mkdir()
    for path in root.iterdir():
        if path.name in COPIED and path.is_dir():
            shutil.copytree(path, project / path.name, symlinks=True)
        elif path.is_file():
            shutil.copy2(path, project)
        elif path.name not in LEFT_OUT:
            (project / path.name).symlink_to(path)
    if (root.parent / "shared").exists():
        (folder / "shared").symlink_to(root.parent / "shared")
    return project


def write_module(path: Path, content: bytes) -> None:
    """Write a module, and remove its compiled form, which may be as old and as long."""
    path.write_bytes(content)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


@cache
def calls() -> dict[str, set[str]]:
    """The modules that each test module calls, as recorded, or else those that it can load."""
    recorded = changed.load().modules
    called = {
        name: recorded.get(str(path.relative_to(changed.ROOT)), {changed.UNSEEN})
        for name, path in changed.MODULES.items()
        if path.name.startswith("test_")
    }
    return {
        name: changed.reached(name) if changed.UNSEEN in names else names for name, names in called.items()
    }


def path_words(path: Path) -> set[str]:
    """The words of a path, without an s at the end."""
    return {word.removesuffix("s") for word in re.split(r"[/_]", path.with_suffix("").as_posix())}


@cache
def tests_by_nearness(file: str) -> tuple[str, ...]:
    """A module with its doctests, and the test modules that call it.

    Those that import it come first, then those whose path has most words of its path.
    """
    name = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    words = path_words(Path(file))

    def nearness(test: str) -> tuple[bool, int, int]:
        shared_words = words & path_words(changed.MODULES[test].relative_to(changed.ROOT))
        return name not in changed.dependencies(test), -len(shared_words), len(calls()[test])

    tests = sorted((test for test, names in calls().items() if name in names), key=nearness)
    return (f"src/{file}", *(str(changed.MODULES[test].relative_to(changed.ROOT)) for test in tests))


def first_failure(project: Path, tests: Iterable[str], excluded: Iterable[str], seconds: float) -> str | None:
    """The first test that fails; "" if all pass; None if the time did not suffice."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    command += ["-m", QUICK, *tests, *(f"--deselect={test}" for test in excluded)]
    process = subprocess.Popen(
        command,
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode in (0, 5):  # 5: no test is selected
        return ""
    match = re.search(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.*?)?)(?: - .*)?$", output, re.MULTILINE)
    return match[1] if match else "pytest itself"


class Trial:
    """The copy of the project, and the tests that fail in it without any fault."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Copy the project into a folder."""
        self.project = copy_project(root, folder)
        self.excluded: set[str] = set()

    def notices(self, fault: Fault, seconds: float) -> str | None:
        """The test that notices a fault, "" if none does, None if the time did not suffice."""
        path, ends = self.project / "src" / fault.file, time.monotonic() + seconds
        original = path.read_bytes()
        lines = original.split(b"\n")
        line = lines[fault.line - 1]
        lines[fault.line - 1] = line[: fault.begin] + mutated(fault.old).encode() + line[fault.end :]
        tests = tests_by_nearness(fault.file)
        batches = [tests[i : i + MANY] for i in range(0, len(tests), MANY)]
        while batches:
            if time.monotonic() > ends:
                return None
            write_module(path, b"\n".join(lines))
            try:
                test = first_failure(self.project, batches[0], self.excluded, ends - time.monotonic())
            finally:
                write_module(path, original)
            if test is None:
                return None
            if not test:
                batches.pop(0)
            elif first_failure(self.project, [test], (), seconds):
                self.excluded.add(test)
            else:
                return test
        return ""


def shares(results: Iterable[tuple[str, str | None]]) -> str:
    """A table of the share that is noticed, by area and in all."""
    by_area: defaultdict[str, list[str | None]] = defaultdict(list)
    for area, test in results:
        by_area[area].append(test)
        by_area["all"].append(test)
    rows = sorted(by_area, key=lambda area: (area == "all", area))
    return "".join(
        f"{area:13} {sum(map(bool, by_area[area])):3} of {len(by_area[area]):3}"
        f"  {sum(map(bool, by_area[area])) / len(by_area[area]):.0%}"
        f"{'  without an answer in time: ' + str(late) if (late := by_area[area].count(None)) else ''}\n"
        for area in rows
    )


def main() -> None:
    """Try a sample; print what no test notices, and the share of each area."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=60, help="how many, the same number of each area")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--area", default="", help="only faults of this folder of src/rankgate")
    parser.add_argument("--seconds", type=float, default=120, help="the most that a fault may take")
    parser.add_argument("--also", type=Path, help="the folder src of another version")
    parser.add_argument(
        "--results", type=Path, help="keep results here, and go on where an earlier call ended"
    )
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds after which none begins")
    arguments = parser.parse_args()
    begin = time.monotonic()
    sample = sampled(ROOT / "src", arguments.faults, arguments.seed, arguments.area, arguments.also)
    if not sample:
        parser.error(f"no fault can be made in {arguments.area or 'src'}")
    earlier = arguments.results.read_text("utf-8") if arguments.results and arguments.results.exists() else ""
    results = {tuple(content): test for content, test in map(json.loads, earlier.splitlines())}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        trial = Trial(ROOT, Path(folder))
        for number, fault in enumerate(sample, 1):
            if fault.content not in results:
                if time.monotonic() - begin > arguments.until:
                    break
                test = results[fault.content] = trial.notices(fault, arguments.seconds)
                if arguments.results:
                    with arguments.results.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps([fault.content, test]) + "\n")
            test = results[fault.content]
            outcome = "no answer in time" if test is None else f"found by {test}" if test else "SURVIVED"
            sys.stdout.write(f"{number} {fault}  {outcome}\n")
            sys.stdout.flush()
    tried = [(fault.area, results[fault.content]) for fault in sample if fault.content in results]
    sys.stdout.write(shares(tried))


if __name__ == "__main__":
    main()
