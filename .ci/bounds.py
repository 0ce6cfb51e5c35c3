"""Compare figures of the areas of src/rankgate with bounds that only get stricter.

python .ci/bounds.py coverage [--stricter]
python .ci/bounds.py names [--stricter]

Coverage is the share of statements and branches that ran, of each area, and of each package of an
area that has packages for topics of their own (`DIVIDED`); its bounds only go up. Names that say
nothing are counted by area and kind; their bounds only go down. A name says nothing if it is a
participle, a pronoun or a preposition alone ("found", "each", "of"): it tells how a value came
about, and not what it holds. A bound that is not as strict as it could be is named.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from math import floor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rankgate"
REPORT = ROOT / "build" / "coverage" / "report.json"
DIVIDED = ("core", "measurement", "decisions", "workspace", "interface")
PACKAGES = ("data/files", "store/client")
"""Packages of areas that are otherwise counted as one."""
KINDS = ("variables", "functions", "classes", "files")
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
                f"{area}: {value:g}, the bound is {bounds.get(area, 0):g}: {self.worse}"
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
    for area, value in measured.items():
        limit = f"at {'least' if figure.lowest else 'most'} {bounds.get(area, 0):g}"
        print(f"{area:<25}{value:7.4g}  {limit}")
    messages = figure.faults(bounds, measured)
    print(*figure.too_loose(bounds, measured), *messages, sep="\n")
    return int(bool(messages))


def percentages(report: dict) -> dict[str, float]:
    """The percentage of statements and branches that ran, by area."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in report["files"].items():
        summary = file["summary"]
        area = area_of(Path(name))
        counts[area][0] += summary["covered_lines"] + summary["covered_branches"]
        counts[area][1] += summary["num_statements"] + summary["num_branches"]
    return {area: 100 * ran / total for area, (ran, total) in sorted(counts.items()) if total}


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
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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


COVERAGE = Figure(
    ROOT / ".ci" / "coverage_bounds.json",
    lambda: percentages(json.loads(REPORT.read_text("utf-8"))),
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


if __name__ == "__main__":
    sys.exit(main({"coverage": COVERAGE, "names": NAMES}[sys.argv[1]], stricter="--stricter" in sys.argv[2:]))
