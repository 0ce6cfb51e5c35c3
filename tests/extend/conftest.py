"""The example plug-ins, built as wheels and installed; and packages that do not work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.once import make_once

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples" / "plugins").glob("*/pyproject.toml"))
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
WRONG = {
    "raises": ("", "raise RuntimeError('not today')"),
    "future": ("99", "raise SystemExit('imported all the same')"),
    "empty": ("1", "TimedPain = 3"),
}
"""Packages that do not work: the version that each declares, and its module."""


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A folder with all example plug-ins, installed from their wheels."""
    return make_once(tmp_path_factory, "plugins", _install_examples) / "site"


def _install_examples(folder):
    wheels, site = folder / "wheels", folder / "site"
    wheels.mkdir()
    for project in EXAMPLES:
        subprocess.run([sys.executable, "-c", BUILD, str(wheels)], cwd=project, check=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile"]
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [*pip, "--target", str(site), *map(str, wheels.glob("*.whl"))]
    subprocess.run(command, check=True, env=quiet)


@pytest.fixture
def broken(tmp_path):
    """A folder with packages that cannot be used."""
    for name, (version, code) in WRONG.items():
        info = tmp_path / f"wrong_{name}-2.0.dist-info"
        info.mkdir()
        facts = f"Metadata-Version: 2.1\nName: wrong-{name}\nVersion: 2.0\n"
        (info / "METADATA").write_text(facts)
        api = f"[rankgate.api]\n{version} = wrong_{name}\n" if version else ""
        points = f"{api}[rankgate.metrics]\nm = wrong_{name}\n[rankgate.rules]\nr = wrong_{name}\n"
        (info / "entry_points.txt").write_text(points)
        (tmp_path / f"wrong_{name}.py").write_text(code)
    return tmp_path


@pytest.fixture
def call(tmp_path):
    """Run a command, or Python, with packages of some folders."""

    def called(*words, sites=(), code="", check=True):
        path = os.pathsep.join(map(str, [ROOT / "src", *sites]))
        command = ["-c", code] if code else ["-m", "rankgate", *map(str, words)]
        process = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert not check or process.returncode == 0, process.stderr
        return process

    return called
