"""What ``doctor`` looks at on the machine: Python, extras, terminal, programs, plug-ins."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from rankgate.interface.cli.doctor.doctor_report import DoctorFinding

_PURPOSES = {
    "pandas": "pandas frames as results",
    "plots": "charts, and charts in reports",
    "engines": "PostgreSQL as an engine or a store, Tantivy, sweeps that search with Optuna",
    "serve": "rankgate store, serve, record and history",
    "online": "logs of users, KPIs and experiments",
    "spark": "rankgate eval --backend spark",
    "mcp": "rankgate mcp",
}
_NO_FEATURES = frozenset({"dev", "docs", "all"})
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_EXTRA = re.compile(r"extra == [\"']([^\"']+)[\"']")
_PROGRAMS = {
    "Chromium": (("chromium", "chromium-browser", "google-chrome", "chrome"), "reports as PDF"),
    "Java": (("java",), "Apache Spark"),
}


def machine() -> Iterator[DoctorFinding]:
    """Everything about the machine."""
    yield from _installation()
    yield from _extras()
    yield from _programs()
    yield from _plugins()


def _installation() -> Iterator[DoctorFinding]:
    area = "installation"
    yield DoctorFinding(area, "Python", "works", platform.python_version())
    for package in ("rankgate", "numpy", "polars", "scipy", "click"):
        yield DoctorFinding(area, package, "works", version(package))
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    good = encoding == "utf8"
    yield DoctorFinding(
        area,
        "terminal",
        "works" if good else "advice",
        f"{sys.stdout.encoding or 'no encoding'}, {shutil.get_terminal_size().columns} columns",
        "" if good else "set PYTHONUTF8=1, so that signs such as ✔ are shown",
    )


def _extras() -> Iterator[DoctorFinding]:
    needed: dict[str, list[str]] = {}
    for line in requires("rankgate") or ():
        if found := _EXTRA.search(line):
            needed.setdefault(found[1], []).append(str(_NAME.match(line)[0]))  # type: ignore[index]
    for extra, packages in needed.items():
        if extra in _NO_FEATURES:
            continue
        missing = [each for each in packages if not _installed(each)]
        purpose = _PURPOSES.get(extra, extra)
        yield DoctorFinding(
            "extras",
            extra,
            "missing" if missing else "works",
            f"{purpose}: without {', '.join(missing)}" if missing else purpose,
            f'pip install "rankgate[{extra}]"' if missing else "",
        )


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _programs() -> Iterator[DoctorFinding]:
    for name, (words, purpose) in _PROGRAMS.items():
        place = next((found for word in words if (found := shutil.which(word))), "")
        yield DoctorFinding(
            "programs",
            name,
            "works" if place else "missing",
            f"{purpose}: {place}" if place else purpose,
            "" if place else f"install {name}, or do without {purpose}",
        )


def _plugins() -> Iterator[DoctorFinding]:
    from rankgate.interface.cli.plugins.installed_plugins import plugins

    for each in plugins().plugins:
        name = f"{each.plugin}: {each.adds}"
        if each.status == "works":
            yield DoctorFinding("plug-ins", name, "works", ", ".join(each.names))
        else:
            yield DoctorFinding("plug-ins", name, "wrong", each.problem, "update or remove it")
