"""Findings of ``doctor`` about the machine: Python, extras, terminal, programs, plug-ins."""

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
_EXTRAS_WITHOUT_FEATURES = frozenset({"dev", "docs", "all"})
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_EXTRA = re.compile(r"extra == [\"']([^\"']+)[\"']")
_PROGRAMS = {
    "Chromium": (("chromium", "chromium-browser", "google-chrome", "chrome"), "reports as PDF"),
    "Java": (("java",), "Apache Spark"),
}


def check_machine() -> Iterator[DoctorFinding]:
    """Everything about the machine."""
    yield from _check_installation()
    yield from _check_extras()
    yield from _check_programs()
    yield from _check_plugins()


def _check_installation() -> Iterator[DoctorFinding]:
    area = "installation"
    yield DoctorFinding(area, "Python", "works", platform.python_version())
    for package in ("rankgate", "numpy", "polars", "scipy", "click"):
        yield DoctorFinding(area, package, "works", version(package))
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    is_utf8 = encoding == "utf8"
    yield DoctorFinding(
        area,
        "terminal",
        "works" if is_utf8 else "advice",
        f"{sys.stdout.encoding or 'no encoding'}, {shutil.get_terminal_size().columns} columns",
        "" if is_utf8 else "set PYTHONUTF8=1, so that signs such as ✔ are shown",
    )


def _check_extras() -> Iterator[DoctorFinding]:
    needed: dict[str, list[str]] = {}
    for line in requires("rankgate") or ():
        if match := _EXTRA.search(line):
            needed.setdefault(match[1], []).append(str(_NAME.match(line)[0]))  # type: ignore[index]
    for extra, packages in needed.items():
        if extra in _EXTRAS_WITHOUT_FEATURES:
            continue
        missing_packages = [package for package in packages if not _is_installed(package)]
        purpose = _PURPOSES.get(extra, extra)
        yield DoctorFinding(
            "extras",
            extra,
            "missing" if missing_packages else "works",
            f"{purpose}: without {', '.join(missing_packages)}" if missing_packages else purpose,
            f'pip install "rankgate[{extra}]"' if missing_packages else "",
        )


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _check_programs() -> Iterator[DoctorFinding]:
    for name, (executables, purpose) in _PROGRAMS.items():
        executable_path = next((path for word in executables if (path := shutil.which(word))), "")
        yield DoctorFinding(
            "programs",
            name,
            "works" if executable_path else "missing",
            f"{purpose}: {executable_path}" if executable_path else purpose,
            "" if executable_path else f"install {name}, or do without {purpose}",
        )


def _check_plugins() -> Iterator[DoctorFinding]:
    from rankgate.interface.cli.plugins.installed_plugins import plugins

    for plugin in plugins().plugins:
        name = f"{plugin.plugin}: {plugin.adds}"
        if plugin.status == "works":
            yield DoctorFinding("plug-ins", name, "works", ", ".join(plugin.names))
        else:
            yield DoctorFinding("plug-ins", name, "wrong", plugin.problem, "update or remove it")
