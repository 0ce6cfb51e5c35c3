"""How many small faults the tests notice, by area: ``make mutate``.

A fault is a comparison or an operator swapped, a number one higher, a truth value or a condition
negated, or two arguments exchanged. A seeded sample of every area of ``src/rankgate`` (files
directly in it are the area `top`) is tried, one fault at a time, in a copy of the project: nothing
is changed here, so that nothing needs to be restored if the program is killed. The tests that
``tests/changed.py`` lists for the change run up to the first failure, the nearest first: with
``--tests quick`` those that are quick, with ``check`` those that ``make check`` selects of them, with
``all`` those of ``make test``. A test that fails without the fault, too, does not count. A fault is
chosen only by its text and the seed: additions, moves and removals of other code do not change the
sample.

    python tests/mutations.py [--faults 60] [--seed 13] [--area NAME] [--tests check] [--seconds 120]
        [--also SRC] [--file FAULTS] [--results FILE [--until 450]]

With ``--also`` a fault must be possible in another source tree, too, so that two versions are tried
with the same. With ``--file`` the faults of a file are tried: a JSON list of objects with `file`,
`line`, `begin` (bytes of the line), `old`, `new` and `text` (the line without spaces around it). They
are sought by their text, as code moves; those whose line is gone are named. With ``--results`` each
fault is kept in a file of JSON lines, and the next call tries only the others; after ``--until``
seconds no further one begins.
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
from functools import cache, cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
MARKS = {
    "quick": "not slow and not separate and not large and not chromium and not manual",
    "check": "not slow and not large and not separate and not pyspark and not chromium and not manual",
    "all": "not separate",
}
"""The tests that look for a fault."""
COPIED = ("src", "tests", "docs", ".ci")
"""Folders that are copied; the other ones are links, except for those that are left out."""
LEFT_OUT = (".git", ".venv", "build")
MANY = 12  # test modules that pytest collects at a time, so that the first failure comes early
TOP = "top"
DIVIDED = ("core", "measurement", "decisions", "workspace", "interface")
"""Areas whose packages have topics of their own."""
WORKERS = 2
"""Of `make check`, on a machine with two cores."""
PYTEST = "pytest itself"
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
    new: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.replacement}"

    @property
    def replacement(self) -> str:
        """What is there with the fault."""
        return self.new or mutated(self.old)

    @property
    def content(self) -> tuple[str, str]:
        """What is changed, wherever it is."""
        return self.text, self.old

    @property
    def area(self) -> str:
        """The folder of `src/rankgate`, with the package of an area that is divided."""
        parts = Path(self.file).parts
        if len(parts) == 2:
            return TOP
        return "/".join(parts[1:3] if parts[1] in DIVIDED and len(parts) > 3 else parts[1:2])

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
        if area not in ("", *_with_parents(Fault(file, 0, 0, 0, "", "").area)):
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


def _with_parents(area: str) -> tuple[str, str]:
    return area, area.partition("/")[0]


def read_faults(path: Path, source: Path) -> tuple[list[Fault], list[str]]:
    """The faults of a file that can be made in the code as it is, and the lines of the others."""
    placed, gone = [], []
    lines = {
        module.relative_to(source).as_posix(): module.read_text("utf-8").split("\n")
        for module in sorted((source / "rankgate").rglob("*.py"))
    }
    for entry in json.loads(path.read_text("utf-8")):
        spots = [
            (file, number)
            for file in lines
            for number, line in enumerate(lines[file], 1)
            if line.strip() == entry["text"]
        ]
        spots = [spot for spot in spots if spot[0] == entry["file"]] or spots
        if len({file for file, _ in spots}) == 1:
            file, number = min(spots, key=lambda spot: abs(spot[1] - entry["line"]))
            line = lines[file][number - 1]
            begins = [match.start() for match in re.finditer(re.escape(entry["old"]), line)]
            begin = len(line[: min(begins, key=lambda begin: abs(begin - entry["begin"]))].encode())
            end = begin + len(entry["old"].encode())
            placed.append(Fault(file, number, begin, end, entry["old"], entry["text"], f"({entry['new']})"))
        else:
            gone.append(f"{entry['file']}: {entry['text']}")
    return placed, gone


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
def tests_by_nearness(file: str, *, reshaped: bool) -> tuple[str, ...]:
    """The files of tests that a change of a module can touch, its own doctests first."""
    path = f"src/{file}"
    tests = changed.tests_of([path], {path} if reshaped else set(), reads_all=False)
    return path, *(test for test in tests if test != path)


def run(project: Path, seconds: float, *words: str, **variables: str) -> tuple[int, str] | None:
    """The exit code and the output of pytest in a copy; None if the time did not suffice."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src"), **variables},
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
    return process.returncode, output


class Trial:
    """The copy of the project, and the tests that fail in it without any fault."""

    def __init__(self, root: Path, folder: Path, kind: str, check_seconds: float) -> None:
        """Copy the project into a folder."""
        self.project = copy_project(root, folder)
        self.kind = kind
        self.check_seconds = check_seconds
        self.excluded: set[str] = set()
        self.only = folder / "only.json"

    @cached_property
    def node_ids(self) -> list[str]:
        """All tests among which `make check` selects."""
        code, output = run(self.project, 600, "--co", "-m", MARKS["check"]) or (1, "")
        if code:
            sys.exit(output or "the tests cannot be collected in ten minutes")
        return [line for line in output.splitlines() if "::" in line]

    def notices(self, fault: Fault, seconds: float) -> str | None:
        """The test that notices a fault, "" if none does, None if the time did not suffice."""
        path, ends = self.project / "src" / fault.file, time.monotonic() + seconds
        original = path.read_bytes()
        lines = original.split(b"\n")
        line = lines[fault.line - 1]
        lines[fault.line - 1] = line[: fault.begin] + fault.replacement.encode() + line[fault.end :]
        faulty = b"\n".join(lines)
        shapes = {changed.shape(text, bodies=False) for text in (original, faulty)}
        tests = tests_by_nearness(fault.file, reshaped=len(shapes) > 1)
        selected: set[str] | None = None
        if self.kind == "check":
            selected = selected_of(self.node_ids, tests, self.check_seconds)
            files = {node_id.partition("::")[0] for node_id in selected}
            tests = tuple(test for test in tests if test in files)
        batches = [tests[i : i + MANY] for i in range(0, len(tests), MANY)]
        while batches:
            if time.monotonic() > ends:
                return None
            write_module(path, faulty)
            try:
                test = self.first_failure(batches[0], selected, ends - time.monotonic())
            finally:
                write_module(path, original)
            if test is None:
                return None
            if not test:
                batches.pop(0)
            elif test == PYTEST:
                if self.first_failure(batches[0], selected, seconds) == PYTEST:
                    sys.exit(f"pytest cannot run {', '.join(batches[0])}, without any fault")
                return test
            elif self.first_failure([test], None, seconds):
                self.excluded.add(test)
            else:
                return test
        return ""

    def first_failure(self, tests: Iterable[str], selected: set[str] | None, seconds: float) -> str | None:
        """The first test that fails; "" if all pass; None if the time did not suffice."""
        # of doctests alone pytest would not read tests/conftest.py, which declares the markers
        words = ["-x", "-rfE", "--tb=no", "-m", MARKS[self.kind], *tests, "tests/conftest.py"]
        words += [f"--deselect={test}" for test in self.excluded.difference(tests)]
        variables = {}
        if selected is not None:
            node_ids = [test for test in selected - self.excluded if test.partition("::")[0] in set(tests)]
            self.only.write_text(json.dumps(node_ids), "utf-8")
            variables["RANKGATE_TESTS_ONLY"] = str(self.only)
        result = run(self.project, seconds, *words, **variables)
        if result is None or result[0] in (0, 5):  # 5: no test is selected
            return None if result is None else ""
        match = re.search(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.*?)?)(?: - .*)?$", result[1], re.MULTILINE)
        return match[1] if match else PYTEST


def selected_of(node_ids: list[str], first: tuple[str, ...], seconds: float) -> set[str]:
    """The tests that `make check` runs of the files of tests that a change can touch."""
    from support import selection

    costs = changed.load().seconds
    selected: set[str] = set()
    for worker in range(WORKERS):
        files = selection.share(first, worker, WORKERS)
        own = [node_id for node_id in node_ids if node_id.partition("::")[0] in files]
        selected |= selection.cheapest(own, costs, seconds / WORKERS, first)
    return {node_id for node_id in selected if node_id.partition("::")[0] in first}


def shares(results: Iterable[tuple[str, str | None]]) -> str:
    """A table of the share that is noticed, by area and in all."""
    by_area: defaultdict[str, list[str | None]] = defaultdict(list)
    for area, test in results:
        by_area[area].append(test)
        by_area["all"].append(test)
    rows = sorted(by_area, key=lambda area: (area == "all", area))
    return "".join(
        f"{area:25} {sum(map(bool, by_area[area])):3} of {len(by_area[area]):3}"
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
    parser.add_argument("--tests", choices=MARKS, default="quick", help="the tests that look for a fault")
    parser.add_argument("--check-seconds", type=float, default=40, help="SECONDS of make check")
    parser.add_argument("--file", type=Path, help="try the faults of this file")
    parser.add_argument("--seconds", type=float, default=120, help="the most that a fault may take")
    parser.add_argument("--also", type=Path, help="the folder src of another version")
    parser.add_argument(
        "--results", type=Path, help="keep results here, and go on where an earlier call ended"
    )
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds after which none begins")
    arguments = parser.parse_args()
    begin = time.monotonic()
    if arguments.file:
        sample, gone = read_faults(arguments.file, ROOT / "src")
        sys.stdout.write("".join(f"no longer in the code: {line}\n" for line in gone))
    else:
        sample = sampled(ROOT / "src", arguments.faults, arguments.seed, arguments.area, arguments.also)
    if not sample:
        parser.error(f"no fault can be made in {arguments.area or 'src'}")
    earlier = arguments.results.read_text("utf-8") if arguments.results and arguments.results.exists() else ""
    results = {tuple(content): test for content, test in map(json.loads, earlier.splitlines())}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        trial = Trial(ROOT, Path(folder), arguments.tests, arguments.check_seconds)
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
