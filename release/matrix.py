"""The wheel of dist/ on each Python that is here, with the newest and the lowest dependencies.

    python release/matrix.py            every version; what is not here is said
    python release/matrix.py 3.12       one version; the page keeps its table

Each cell is an environment in build/matrix with the wheel and the packages of the tests. The newest
dependencies are what the index has today, whatever constraints.txt says; the lowest are the bounds
of pyproject.toml, where they have wheels for that Python. The tests are those of `make check`,
commands included. Results are kept in build/matrix/results.json, so that a run can be continued.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import tables
from interpreters import VERSIONS, found

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "matrix"
RESULTS = WORK / "results.json"
KINDS = ("newest", "lowest")
TESTS = (
    "tests/laws",
    "tests/golden",
    "tests/metrics",
    "tests/scoring",
    "tests/stats",
    "tests/data",
    "tests/evaluation",
    "tests/comparison",
    "tests/gating",
    "tests/cli",
    "tests/store",
)
SELECTED = "not slow and not large and not manual and not chromium and not wording"


def main() -> int:
    """Try each cell, and write the page if all versions were asked for."""
    versions = tuple(sys.argv[1:]) or VERSIONS
    (wheel,) = (ROOT / "dist").glob("*.whl")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for version in versions:
        for kind in KINDS:
            cell = f"{version} {kind}"
            if results.get(cell, {}).get("wheel") == wheel.stat().st_mtime_ns:
                continue
            outcome = _cell(version, kind, wheel)
            print(f"{cell}: {outcome}", file=sys.stderr, flush=True)
            results[cell] = {"said": outcome, "wheel": wheel.stat().st_mtime_ns}
            WORK.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1))
    if len(sys.argv) == 1:
        rows = [(v, *(results[f"{v} {kind}"]["said"] for kind in KINDS)) for v in VERSIONS]
        tables.write("matrix", ("Python", *(f"{kind} dependencies" for kind in KINDS)), rows)
    outcomes = [results[f"{version} {kind}"]["said"] for version in versions for kind in KINDS]
    return int(any("failed" in outcome for outcome in outcomes))


def _cell(version: str, kind: str, wheel: Path) -> str:
    """What came of one environment, in words."""
    python = found(version)
    if python is None:
        return "not on the machine that wrote this"
    home = WORK / f"{version}-{kind}"
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([str(python), "-m", "venv", str(home)], check=True)
    programs = home / "bin"
    requirements = [f"{wheel}[dev]"] if kind == "newest" else [str(wheel), "-r", _bounds()]
    pip = [str(programs / "python"), "-m", "pip", "install", "-q", "--only-binary=:all:"]
    environ = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    installation = subprocess.run(
        [*pip, *requirements], env=environ, capture_output=True, text=True, check=False
    )
    if installation.returncode:
        missing = re.findall(r"No matching distribution found for (\S+)", installation.stderr)
        return f"no wheels of {', '.join(missing) or 'some packages'}"
    smoke = [sys.executable, str(ROOT / "release" / "smoke.py"), str(programs / "python"), "--extras"]
    if subprocess.run(smoke, check=False).returncode:
        return "smoke tests failed"
    return _tested(programs, version)


def _bounds() -> str:
    path = WORK / "bounds.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        subprocess.run(
            [sys.executable, str(ROOT / ".ci" / "lowest.py")], check=True, capture_output=True
        ).stdout
    )
    return str(path)


def _tested(programs: Path, version: str) -> str:
    """The last line of the tests, which use the wheel: the sources are not on their path."""
    command = [
        str(programs / "python"),
        "-m",
        "pytest",
        "-q",
        "-n",
        str(os.cpu_count()),
        "-p",
        "no:cacheprovider",
        "-m",
        SELECTED,
        *TESTS,
    ]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (WORK / f"{version}.log").write_text(process.stdout + process.stderr)
    counts = re.findall(r"\d+ (?:passed|failed|errors?)", process.stdout.splitlines()[-1])
    return ", ".join(counts) or "tests failed to start"


if __name__ == "__main__":
    sys.exit(main())
