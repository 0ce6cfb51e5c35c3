"""The Python versions that rankgate supports, and where this machine has them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_ASK = "import platform; print(platform.python_version())"


def found(version: str) -> Path | None:
    """An interpreter of a version that starts; None where this machine has none."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [shutil.which(f"python{version}"), *sorted(home.glob(f"{version}.*/bin/python"))]
    for name in names:
        if name and _starts(str(name), version):
            return Path(name)
    return None


def _starts(name: str, version: str) -> bool:
    process = subprocess.run([name, "-c", _ASK], capture_output=True, text=True, check=False)
    return process.returncode == 0 and process.stdout.startswith(f"{version}.")
