"""The Java of the tests: from JAVA_HOME, as in Spark, otherwise from the PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

LEAST = 17
"""What Spark 4 and OpenSearch need."""


def program() -> str | None:
    """The path of the program, or None."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home, "bin")) if home else None)


def new_enough() -> bool:
    """True if there is a Java that Spark and OpenSearch can use."""
    java = program()
    if java is None:
        return False
    process = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(\d+)', process.stderr)
    return version is not None and int(version[1]) >= LEAST
