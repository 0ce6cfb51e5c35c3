"""The Python API: a page for each public verb with the results that it gives."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import rankgate
from _pages.words import MADE, prose, table, toctree

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMBERS = "   :members:\n   :inherited-members: Exception, ValueError, tuple\n"


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its place below ``reference/python``."""
    classes = [name for name in rankgate.__all__ if inspect.isclass(getattr(rankgate, name))]
    verbs = [name for name in rankgate.__all__ if name not in classes]
    home = dict.fromkeys(classes, "values")
    home |= {result: verb for verb in reversed(verbs) for result in _results(verb, classes)}
    yield "index.md", _index(verbs, classes, home)
    for verb in verbs:
        verb_classes = [name for name in classes if home[name] == verb]
        yield (f"{verb}.md", _page(verb, [_directive("autofunction", verb), *map(_class, verb_classes)]))
    value_classes = [name for name in classes if home[name] == "values"]
    yield ("values.md", f"{MADE}\n# Errors and other values\n\n" + "\n".join(map(_class, value_classes)))


def _results(verb: str, classes: list[str]) -> list[str]:
    """The public classes that a verb returns."""
    result = str(inspect.signature(getattr(rankgate, verb)).return_annotation)
    return [name for name in classes if re.search(rf"\b{name}\b", result)]


def _page(name: str, parts: list[str]) -> str:
    return f"{MADE}\n# rankgate.{name}\n\n" + "\n".join(parts)


def _index(verbs: list[str], classes: list[str], home: dict[str, str]) -> str:
    return "\n".join(
        [
            MADE,
            "# Python\n",
            (
                "`import rankgate` has the verbs below, each with the name of its command. Inputs are paths, "
                "frames (Polars, pandas, Arrow), dicts or arrays; results have Polars tables as attributes, "
                "`to_dict()`, show themselves in notebooks, and never print. Metrics are by name in "
                '`rankgate.metrics`: `nDCG(gain="exp") @ 10`.\n'
            ),
            "## Verbs\n",
            table(("verb", "does"), (_row(name, f"{name}.md") for name in verbs)),
            "## Results and other values\n",
            table(("class", "is"), (_row(name, f"{home[name]}.md") for name in classes)),
            toctree([*verbs, "values"]),
        ]
    )


def _row(name: str, place: str) -> tuple[str, str]:
    result = inspect.getdoc(getattr(rankgate, name)) or ""
    return f"[{name}]({place})", prose(result.split("\n\n")[0])


def _class(name: str) -> str:
    return f"## {name}\n\n{_directive('autoclass', name)}"


def _directive(kind: str, name: str) -> str:
    options = _MEMBERS if kind == "autoclass" else ""
    return f"```{{eval-rst}}\n.. {kind}:: rankgate.{name}\n{options}\n```\n"
