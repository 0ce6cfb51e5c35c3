"""Move the packages of src/rankgate into its areas, and rewrite every name of a module.

python release/move_to_areas.py

Kept for those who have a branch on the layout before the areas: run it on the branch (from a clean
work tree), commit, and then merge or rebase; imports and paths are then those of the main branch.
Packages are moved by ``git mv``. Names are rewritten in all files of git that are text, but not in
the changelog. Names that only look like modules stay: groups of entry points and loggers, and the
modules that users import from (`FACADE`), where they are written by users, tests and the manual.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "rankgate"
AREAS = {
    "core": ("errors", "extras", "frozen", "declare", "present", "console"),
    "data": ("files",),
    "store": ("client",),
    "measurement": ("stats", "metrics", "scoring", "evaluation", "explanation", "fusion"),
    "decisions": (
        "comparison",
        "gating",
        "unjudged",
        "blind_spots",
        "uncertainty",
        "advice",
        "pipelines",
        "sweeps",
    ),
    "workspace": ("reports", "records", "web"),
    "interface": ("cli", "demo", "compat", "pytest_plugin", "mcp", "extend"),
}
"""The packages that move into an area; others are areas themselves, or in one."""
MODULES = {
    "core.console.completed": "measurement.completion",
    "core.console.store_options": "store.store_options",
    "data.files.commands.describe": "measurement.description.command",
    "data.files.describe": "measurement.description.describe",
    "data.files.described": "measurement.description.described",
    "data.files.description": "measurement.description.description",
    "data.files.documents.description": "measurement.description.document",
    "data.streams.target": "core.target",
    "data.text.formulas": "core.formulas",
    "decisions.pipelines.charts.ranked": "decisions.comparison.charts.ranked",
    "decisions.pipelines.ranks": "decisions.comparison.ranks",
    "decisions.pipelines.ranks_document": "decisions.comparison.documents.ranks",
    "online.commands.online": "interface.cli.online",
    "recommenders.charts": "measurement.evaluation.charts.tradeoff",
    "recommenders.documents.tradeoff": "measurement.evaluation.documents.tradeoff",
    "recommenders.dominance": "measurement.evaluation.dominance",
    "recommenders.tradeoff": "measurement.evaluation.tradeoff",
    "workspace.reports.kinds_of_results": "interface.kinds_of_results",
}
"""Single modules that move to where the order of areas needs them."""
METRIC_OPTIONS = ("convention", "metric", "metrics", "metrics_from", "metrics_option", "override")
"""Options that know metrics: not of the terminal, but of `rankgate.measurement.metric_options`."""
NEW = {
    "core": "What every package needs: errors, declared objects, results and documents, terminal.",
    "measurement/description": "Files described: format, contents, overlap, the share judged.",
    "measurement": "From judgments and runs to numbers: statistics, metrics, scoring, verbs.",
    "decisions": "From numbers to decisions: comparison, the gate, and what limits both.",
    "workspace": "What stays: reports, records, alerts, schedules, and the server of a store.",
    "interface": "What people and programs call: commands, the demo, assistants, other libraries.",
}
"""The docstrings of areas that are new."""
AREA_OF = {package: area for area, packages in AREAS.items() for package in packages}
FACADE = {"metrics", "compat", "extend", "pytest_plugin"}
"""Modules that users import from: they keep their names outside of the package itself."""
NAMES = {"metrics", "fusion", "web"}
"""Entry points and loggers with the name of a package."""
LEFT = re.compile(r"CHANGELOG\.md|changelog\.d/.*|release/move_to_areas\.py")
TEXT = {
    ".py",
    ".pyi",
    ".md",
    ".toml",
    ".json",
    ".yml",
    ".yaml",
    ".cfg",
    ".txt",
    ".html",
    ".ipynb",
}
PYPROJECT = (
    ("*/command}.py", "**/command}.py"),
    ("src/rankgate/{engines,fusion}/**", "src/rankgate/{engines,measurement/fusion}/**"),
    ("**/charts,present/charts/*}", "**/charts,core/present/charts/*}"),
)
"""Patterns of files in pyproject.toml that no rule finds."""
_PACKAGES = "|".join(sorted(AREA_OF, key=len, reverse=True))
_DOTTED = re.compile(rf"(?<![\w./])rankgate\.({_PACKAGES})\b")
_IMPORTED = re.compile(rf"(?m)^(\s*from rankgate) import ({_PACKAGES})\b(?=\n| as)")
_PATH = re.compile(rf"(?<=src/rankgate/)({_PACKAGES})\b")
_JOINED = re.compile(rf'(?<="rankgate" / )"({_PACKAGES})"')
_METRIC_OPTIONS = re.compile(rf"(?<![\w.])options\.({'|'.join(METRIC_OPTIONS)})\b")
_SHORT = re.compile(rf'(?<=": ")({_PACKAGES})(?=\.[\w.]+:\w)')


def main() -> int:
    """Move, rewrite, and put imports into their order."""
    moved = [package for package in AREA_OF if _old(package).exists()]
    for area, title in NEW.items():
        folder = SOURCE / area
        folder.mkdir(exist_ok=True, parents=True)
        if not (folder / "__init__.py").exists():
            (folder / "__init__.py").write_text(f'"""{title}"""\n', "utf-8")
    for package in moved:
        old = _old(package)
        _git("mv", str(old), str(SOURCE / AREA_OF[package] / old.name))
    for old, new in MODULES.items():
        if (path := _file(old)).exists():
            _git("mv", str(path), str(_file(new)))
    for name in _git("ls-files").splitlines():
        path = ROOT / name
        if path.suffix in TEXT and not LEFT.fullmatch(name) and path.is_file():
            text = path.read_text("utf-8")
            new = rewritten(text, name)
            if new != text:
                path.write_text(new, "utf-8")
    _git("add", "src/rankgate")
    print(f"moved {len(moved)} packages")
    return 0


def rewritten(text: str, name: str) -> str:
    """The text of a file with the new names.

    Args:
        text: before.
        name: the path of the file from the root of the project.
    """
    in_source = name.startswith("src/")
    if name == ".ci/coverage_bounds.json":
        bounds = {_placed(key): bound for key, bound in json.loads(text).items()}
        return json.dumps(dict(sorted(bounds.items())), indent=1) + "\n"
    if name == "pyproject.toml":
        for old, new in PYPROJECT:
            text = text.replace(old, new)
    if name.endswith("kinds_of_results.py"):
        text = _SHORT.sub(lambda match: _placed(match[1], "."), text)

    def new_name(match: re.Match[str]) -> str:
        package, text_after, text_before = match[1], text[match.end() :], text[: match.start()]
        quoted = text_before[-1:] in {'"', "'"} and text_after[:1] == text_before[-1:]
        in_brackets = text_before[-1:] == "[" and text_after[:1] == "]"
        if package in NAMES and (quoted or in_brackets) and name != "pyproject.toml":
            return match[0]
        if package in FACADE and not _internal(
            package, text_before, text_after, inside=in_source, name=name
        ):
            return match[0]
        return f"rankgate.{_placed(package, '.')}"

    text = with_moved_modules(_DOTTED.sub(new_name, text), name)
    text = _IMPORTED.sub(
        lambda match: (
            match[0] if match[2] in FACADE else f"{match[1]}.{AREA_OF[match[2]]} import {match[2]}"
        ),
        text,
    )
    if name != "tests/test_ci.py":
        text = _PATH.sub(lambda match: _placed(match[1]), text)
    return _JOINED.sub(lambda match: f'"{AREA_OF[match[1]]}" / "{match[1]}"', text)


def with_moved_modules(text: str, name: str) -> str:
    """The text of a file with the names of single modules that moved, and of their options."""
    for old, new in MODULES.items():
        text = re.sub(rf"(?<![\w.])rankgate\.{re.escape(old)}\b(?!\.\w)", f"rankgate.{new}", text)
        if name.endswith("kinds_of_results.py"):
            text = text.replace(f'": "{old}:', f'": "{new}:')
    for line in re.findall(r"(?m)^from rankgate\.core\.console import .*\boptions\b.*\n", text):
        names = set(re.findall(r"\w+", line.partition("import")[2]))
        text, metric_options = _METRIC_OPTIONS.subn(r"metric_options.\1", text)
        if metric_options and not re.search(r"(?<![\w.])options\.\w", text):
            names.discard("options")
        homes = {
            "rankgate.core.console": sorted(names - {"store_options"}),
            "rankgate.store": sorted(names & {"store_options"}),
            "rankgate.measurement": ["metric_options"] * bool(metric_options),
        }
        lines = [
            f"from {home} import {', '.join(imported_names)}\n"
            for home, imported_names in homes.items()
            if imported_names
        ]
        text = text.replace(line, "".join(lines))
    return text


def _internal(package: str, before: str, after: str, *, inside: bool, name: str) -> bool:
    """True if the name of a module of users stands for the package that moved."""
    if name == "pyproject.toml":
        return "pytest11" not in before[-60:]
    statement = before[-80:].rpartition("\n")[2]
    if package == "compat" and not inside:
        return False
    if inside and re.fullmatch(r"\s*from ", statement):
        return True
    submodule = re.match(r"\.(\w+)", after)
    folder = SOURCE / AREA_OF[package] / package
    return bool(submodule) and any(
        (folder / f"{submodule[1]}{suffix}").exists() for suffix in ("", ".py")
    )


def _placed(package: str, between: str = "/") -> str:
    """The name of a package with its area."""
    return f"{AREA_OF[package]}{between}{package}" if package in AREA_OF else package


def _old(package: str) -> Path:
    """The folder or file of a package before it moved."""
    file = SOURCE / f"{package}.py"
    return file if file.exists() else SOURCE / package


def _file(module: str) -> Path:
    """The file of a module below the package."""
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py")


def _git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
