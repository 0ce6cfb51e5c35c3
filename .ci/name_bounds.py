"""Count names that say nothing, by area, against an upper bound; ``--lower`` lowers the bounds.

A name says nothing if it is a participle, a pronoun or a preposition alone ("found", "each", "of"):
it tells how a value came about, and not what it holds. Counted are variables and parameters,
functions, classes, and files. A bound that is higher than the count is named: bounds only go down.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rankgate"
BOUNDS = ROOT / ".ci" / "name_bounds.json"
KINDS = ("variables", "functions", "classes", "files")
SAYS_NOTHING = frozenset(
    ROOT.joinpath(".ci", "names_that_say_nothing.txt").read_text("utf-8").split()
)
"""Participles, pronouns, prepositions and the like, without the underscores around a name."""


def main(*, lowering: bool) -> int:
    """Print a table of areas, and say what to do."""
    bounds = json.loads(BOUNDS.read_text("utf-8")) if BOUNDS.exists() else {}
    counts = {area: dict(count) for area, count in sorted(count_names(PACKAGE).items())}
    if lowering:
        bounds = lowered(bounds, counts)
        BOUNDS.write_text(json.dumps(bounds, indent=1) + "\n", "utf-8")
    for area, count in counts.items():
        numbers = (f"{count[kind]:5} of at most {bounds[area][kind]} {kind}" for kind in KINDS)
        print(f"{area:<15}{';'.join(numbers)}") if area in bounds else print(f"{area}: no bound")
    messages = faults(bounds, counts)
    print(*too_high(bounds, counts), *messages, sep="\n")
    return int(bool(messages))


def count_names(package: Path) -> dict[str, Counter[str]]:
    """Count the names that say nothing in each area of a package, by kind."""
    counts: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        count = counts.setdefault(parts[0] if len(parts) > 1 else "top", Counter())
        count.update(dict.fromkeys(KINDS, 0))
        if says_nothing(parts[-1]):
            count["files"] += 1
        for kind, name in bound_names(ast.parse(path.read_text("utf-8"))):
            count[kind] += says_nothing(name)
    return counts


def bound_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of everything that a module binds, but for imports."""
    for node in ast.walk(tree):
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


def faults(bounds: dict[str, dict[str, int]], counts: dict[str, dict[str, int]]) -> list[str]:
    """Areas above their bounds, areas without bounds, and bounds of no area."""
    return [
        *(
            f"{area}: {count[kind]} {kind} say nothing, at most {bounds[area][kind]} may: name "
            "what they hold"
            for area, count in counts.items()
            for kind in KINDS
            if area in bounds and count[kind] > bounds[area][kind]
        ),
        *(f"{area}: a new area; say: make names LOWER=1" for area in counts if area not in bounds),
        *(
            f"{area}: no such area; remove it from {BOUNDS.name}"
            for area in bounds
            if area not in counts
        ),
    ]


def too_high(bounds: dict[str, dict[str, int]], counts: dict[str, dict[str, int]]) -> list[str]:
    """What to do about bounds that are higher than the counts."""
    return [
        f"{area}: its bounds are too high; say: make names LOWER=1"
        for area, count in counts.items()
        if area in bounds and any(count[kind] < bounds[area][kind] for kind in KINDS)
    ]


def lowered(
    bounds: dict[str, dict[str, int]], counts: dict[str, dict[str, int]]
) -> dict[str, dict[str, int]]:
    """The bounds that the counts allow, none of them higher than before."""
    return {
        area: {kind: min(count[kind], bounds.get(area, count)[kind]) for kind in KINDS}
        for area, count in counts.items()
    }


if __name__ == "__main__":
    sys.exit(main(lowering="--lower" in sys.argv[1:]))
