"""The environment of the contestants: their packages, and what the machine is."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = ("pytrec_eval-terrier", "ir_measures", "ranx", "zstandard")
VERSIONS = ("rankgate", "numpy", "polars", "pytrec_eval-terrier", "ir_measures", "ranx")


def prepared(
    home: Path,
    constraints: Path,
    project: Path,
    packages: Sequence[str] = PACKAGES,
    alone: Sequence[str] = (),
) -> Path:
    """The folder of the environment's programs, built where it is missing or outdated.

    rankgate itself is installed as a link to its sources, so that it is always the present one.

    Args:
        home: of the environment.
        constraints: the versions.
        project: rankgate's sources.
        packages: what to install next to it.
        alone: what to install without what it asks for, as only a part of it is used.
    """
    checksum = hashlib.sha256(constraints.read_bytes()).hexdigest()
    note, programs = home / "made", home / "bin"
    if not (note.exists() and note.read_text() == checksum):
        venv.create(home, with_pip=True, clear=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
        limits = ["--constraint", str(constraints)]
        subprocess.run([*pip, *limits, *packages, "--editable", str(project)], check=True)
        if alone:
            subprocess.run([*pip, *limits, "--no-deps", *alone], check=True)
        note.write_text(checksum)
    return programs


def versions(programs: Path, names: Sequence[str] = VERSIONS) -> dict[str, str]:
    """The version of each contestant."""
    ask = "import json, sys; from importlib.metadata import version; "
    ask += "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    command = [str(programs / "python"), "-c", ask, *names]
    result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    package_versions: dict[str, str] = json.loads(result)
    return package_versions


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and interpreter."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
    }


def _cpu() -> str:
    text = Path("/proc/cpuinfo").read_text()
    names = (line.partition(":")[2] for line in text.splitlines() if line.startswith("model name"))
    return next(names, platform.machine()).strip()
