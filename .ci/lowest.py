"""Print what `make lowest` installs: the lower bound of each dependency, and the tools of tests.

Dependencies and those of the extras for users are taken at exactly the bound that pyproject.toml
declares; the tools are those of constraints.txt.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("hatchling", "hypothesis", "jsonschema", "pytest", "pytest-xdist", "statsmodels")
LEFT_OUT = {"all", "dev", "docs", "spark"}
"""Extras for developers, and of others; and PySpark, 400 MB for tests that are not among these."""


def lowest(project: dict) -> list[str]:
    """Each dependency of users with ``==`` and its bound."""
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras.keys() - LEFT_OUT)]
    return sorted({requirement.replace(">=", "==") for group in groups for requirement in group})


def pinned(constraints: str) -> list[str]:
    """The tools of tests, as constraints.txt has them."""
    return re.findall(rf"(?m)^(?:{'|'.join(TOOLS)})==.*$", constraints)


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    print(*lowest(project), *pinned((ROOT / "constraints.txt").read_text()), sep="\n")
