"""Compare figures of the areas of src/rankgate with bounds that only get stricter.

python .ci/bounds.py coverage [--stricter]
python .ci/bounds.py names size [--stricter]

Coverage is the share of the statements of functions that `make test` executed, of each area, and of
each package of an area that has packages for topics of their own (`DIVIDED`); its bounds only go
up. Names that say nothing are counted by area and kind. A name says nothing if it is a participle,
a pronoun or a preposition alone ("found", "each", "of"): it tells how a value came about, and not
what it holds. Size is counted by area in nodes of the syntax tree, which no formatter moves, and in
words of what is not code: other files, and strings of several lines that are not docstrings. Beside
it, over the whole package: what is written by hand although a general form exists. The bounds of
names and size only go down; one that must rise is raised by hand, in the commit that says what it
bought. A bound that is not as strict as it could be is named.
"""

from __future__ import annotations

import ast
import gc
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import floor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rankgate"
REPORTS = ROOT / "build" / "coverage"
"""What the processes of `make test` executed, if they were to write it."""
DIVIDED = ("core", "measurement", "decisions", "workspace", "interface")
PACKAGES = ("data/files", "store/client")
"""Packages of areas that are otherwise counted as one."""
KINDS = ("variables", "functions", "classes", "files")
NO_NODES = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
"""Nodes that repeat what their parent is."""
NOT_COUNTED = {".pyc", ".pyi", ".typed", ".svg", ".csv", ".tsv"}
"""Stubs, pictures, compiled files, and data of examples."""
GENERATED = {"built_in.json", "commands.json", "names.json"}
"""Files of the command line that `docs/_seen/make.py` writes from declarations."""
WORD = re.compile(r"[A-Za-z_]\w*")
HAND_WRITTEN = {
    "tables, Grid(": re.compile(r"\bGrid\("),
    "own to_dict": re.compile(r"def to_dict\("),
    "own from_dict": re.compile(r"def from_dict\("),
    "click.option(": re.compile(r"click\.option\("),
    "Route( away from its handler": re.compile(r"\bRoute\("),
}
"""What is written by hand, as it is found in the text."""
TABLE_READERS = re.compile(
    r"\bpl\.(?:read|scan)_(?:csv|ndjson|json|excel|database)\(|\bcsv\.(?:DictR|r)eader\(|\bload_workbook\("
)
READ_OUTSIDE = "tables read outside data"
"""Where a file of the user is opened beside the one way in; `data` itself is not counted."""
BY_HAND = (*HAND_WRITTEN, READ_OUTSIDE, "functions named ..._steps", "private functions used once")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
SIZE_BEGINS = "<!-- size: written by make size LOWER=1 -->\n"
SIZE_ENDS = "<!-- end of size -->\n"
SAYS_NOTHING = frozenset(ROOT.joinpath(".ci", "names_that_say_nothing.txt").read_text("utf-8").split())
"""Participles, pronouns, prepositions and the like, without the underscores around a name."""


class Figure(NamedTuple):
    """A figure of areas, and what its bounds are.

    Attributes:
        bounds: the file of the bounds, by area.
        measure: the figures as they are, by area.
        lowest: figures are at least their bounds, and not at most.
        margin: a bound is this much from what was measured: some branches depend on the machine.
        slack: how much more a bound may be from it before it is named.
        worse: what is wrong where a figure is beyond its bound, and what to do.
        command: makes the bounds stricter.
    """

    bounds: Path
    measure: Callable[[], dict[str, float]]
    lowest: bool
    margin: float
    slack: float
    worse: str
    command: str

    def faults(self, bounds: dict[str, float], measured: dict[str, float]) -> list[str]:
        """Areas beyond their bounds, and bounds of no area."""
        return [
            *(
                f"{area}: {value:,.10g}, the bound is {bounds.get(area, 0):,.10g}: {self.worse}"
                for area, value in measured.items()
                if self._distance(value, bounds.get(area, 0)) < 0
            ),
            *(
                f"{area}: no such area; remove it from {self.bounds.name}"
                for area in bounds
                if area not in measured
            ),
        ]

    def too_loose(self, bounds: dict[str, float], measured: dict[str, float]) -> list[str]:
        """What to do about bounds that could be stricter by more than the slack."""
        return [
            f"{area}: its bound is too {'low' if self.lowest else 'high'}; say: {self.command}"
            for area, value in measured.items()
            if self._distance(value, bounds.get(area, 0)) > self.margin + self.slack
        ]

    def stricter(self, bounds: dict[str, float], measured: dict[str, float]) -> dict[str, float]:
        """The bounds that the figures allow, none of them looser than before."""
        if self.lowest:
            values = {area: floor(10 * (value - self.margin)) / 10 for area, value in measured.items()}
            return {area: max(value, bounds.get(area, 0)) for area, value in values.items()}
        return {area: min(value, bounds.get(area, value)) for area, value in measured.items()}

    def _distance(self, value: float, bound: float) -> float:
        return value - bound if self.lowest else bound - value


def main(figure: Figure, *, stricter: bool) -> int:
    """Print a table of areas, and say what to do."""
    bounds = json.loads(figure.bounds.read_text("utf-8"))
    measured = figure.measure()
    if stricter:
        bounds = figure.stricter(bounds, measured)
        figure.bounds.write_text(json.dumps(bounds, indent=1) + "\n", "utf-8")
        if figure is SIZE:
            write_size_table(bounds)
    for area, value in measured.items():
        limit = f"at {'least' if figure.lowest else 'most'} {bounds.get(area, 0):,.10g}"
        print(f"{area:<30}{value:10,.10g}  {limit}")
    messages = figure.faults(bounds, measured)
    print(*figure.too_loose(bounds, measured), *messages, sep="\n")
    return int(bool(messages))


def executed_counts() -> dict[str, tuple[int, int]]:
    """The executed statements and all statements of each file, by the reports of the tests."""
    sys.path.append(str(ROOT / "tests"))
    from support import executed_statements

    if not (reports := list(REPORTS.glob("*.json"))):
        sys.exit(f"{REPORTS} has no reports; say: make coverage")
    return executed_statements.counts(reports, PACKAGE.parent)


def percentages(files: dict[str, tuple[int, int]]) -> dict[str, float]:
    """The percentage of statements that ran, by area."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, (executed, total) in files.items():
        area = area_of(Path(name))
        counts[area][0] += executed
        counts[area][1] += total
    return {area: 100 * executed / total for area, (executed, total) in sorted(counts.items()) if total}


def area_of(path: Path) -> str:
    """The area of a file, with the package if that is counted by itself."""
    parts = path.with_suffix("").parts
    parts = parts[parts.index("rankgate") + 1 :]
    package = "/".join(parts[:2])
    return package if parts[0] in DIVIDED or package in PACKAGES else parts[0]


def name_counts(package: Path) -> dict[str, float]:
    """Count the names that say nothing in each area of a package, by area and kind."""
    counts: dict[str, float] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        area = parts[0] if len(parts) > 1 else "top"
        count = Counter(kind for kind, name in bound_names(path) if says_nothing(name))
        for kind in KINDS:
            counts[f"{area}/{kind}"] = counts.get(f"{area}/{kind}", 0) + count[kind]
    return dict(sorted(counts.items()))


def bound_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of a file and of everything that it binds, but for imports."""
    yield "files", path.stem
    for node in syntax_nodes(path):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield "variables", name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield "functions", name
            case ast.ClassDef(name=name):
                yield "classes", name


def says_nothing(name: str) -> bool:
    """True for a word of the list, with any underscores around it and in any case."""
    return not name.startswith("__") and name.casefold().strip("_") in SAYS_NOTHING


@cache
def syntax_nodes(path: Path) -> tuple[ast.AST, ...]:
    """The nodes of a file; figures of the same run share them."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def size_counts(package: Path) -> dict[str, float]:
    """Count nodes and words by area, and what is written by hand in the whole package."""
    sizes: Counter[str] = Counter(dict.fromkeys(BY_HAND, 0))
    for path in sorted(package.rglob("*")):
        if not path.is_file() or path.suffix in NOT_COUNTED or path.name in GENERATED:
            continue
        parts = path.relative_to(package).parts
        area = parts[0] if len(parts) > 1 else "top"
        text = path.read_text("utf-8")
        if path.suffix != ".py":
            sizes[f"words/{area}"] += len(text.split())
            continue
        nodes = syntax_nodes(path)
        docstrings = {id(text) for text in docstrings_of(nodes)}
        names = Counter(WORD.findall(text))
        for node in nodes:
            sizes[f"nodes/{area}"] += not isinstance(node, NO_NODES)
            match node:
                case ast.Constant(value=str(value)) if "\n" in value.strip() and id(node) not in docstrings:
                    sizes[f"words/{area}"] += len(value.split())
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    sizes["private functions used once"] += is_private(name) and names[name] == 2
                    sizes["functions named ..._steps"] += name.endswith("_steps")
        for form, pattern in HAND_WRITTEN.items():
            sizes[form] += len(pattern.findall(text))
        sizes[READ_OUTSIDE] += area != "data" and len(TABLE_READERS.findall(text))
    return {name: float(sizes[name]) for name in sorted(sizes)}


def docstrings_of(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield the docstrings of a file, and the texts below its attributes."""
    for node in nodes:
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield statement.value


def is_private(name: str) -> bool:
    """True for one leading underscore."""
    return name.startswith("_") and not name.startswith("__")


def write_size_table(bounds: dict[str, float]) -> None:
    """Write the bounds of size into CONTRIBUTING.md."""
    text = CONTRIBUTING.read_text("utf-8")
    before, _, remaining = text.partition(SIZE_BEGINS)
    _, _, after = remaining.partition(SIZE_ENDS)
    CONTRIBUTING.write_text(before + SIZE_BEGINS + size_table(bounds) + SIZE_ENDS + after, "utf-8")


def size_table(bounds: dict[str, float]) -> str:
    """The bounds of size as tables of Markdown: by area, and of what is written by hand."""
    areas = sorted({name.partition("/")[2] for name in bounds if "/" in name})
    totals = {kind: sum(bounds.get(f"{kind}/{area}", 0) for area in areas) for kind in ("nodes", "words")}
    rows = [
        f"| {area} | {bounds.get(f'nodes/{area}', 0):,.0f} | {bounds.get(f'words/{area}', 0):,.0f} |"
        for area in areas
    ]
    by_hand = [f"| {form} | {bounds.get(form, 0):,.0f} |" for form in BY_HAND]
    return "\n".join(
        [
            "",
            "| area | nodes | words that are not code |",
            "|:--|--:|--:|",
            *rows,
            f"| all | {totals['nodes']:,.0f} | {totals['words']:,.0f} |",
            "",
            "| by hand, although a general form exists | |",
            "|:--|--:|",
            *by_hand,
            "",
        ]
    )


COVERAGE = Figure(
    ROOT / ".ci" / "coverage_bounds.json",
    lambda: percentages(executed_counts()),
    lowest=True,
    margin=1.0,
    slack=1.0,
    worse="less of it is tested than before; add tests",
    command="make coverage RAISE=1",
)
NAMES = Figure(
    ROOT / ".ci" / "name_bounds.json",
    lambda: name_counts(PACKAGE),
    lowest=False,
    margin=0.0,
    slack=0.0,
    worse="more names say nothing than before; name what they hold",
    command="make names LOWER=1",
)
SIZE = Figure(
    ROOT / ".ci" / "size_bounds.json",
    lambda: size_counts(PACKAGE),
    lowest=False,
    margin=0.0,
    slack=0.0,
    worse="more than before; a bound rises by hand, in a commit that says what it bought",
    command="make size LOWER=1",
)
FIGURES = {"coverage": COVERAGE, "names": NAMES, "size": SIZE}


if __name__ == "__main__":
    gc.disable()  # a million nodes and no garbage: searching for it takes longer than all else
    selected = [figure for name, figure in FIGURES.items() if name in sys.argv[1:]]
    failures = [main(figure, stricter="--stricter" in sys.argv) for figure in selected]
    sys.exit(int(any(failures)))
