"""An environment of its own for each peer, with the packages of its constraints."""

from __future__ import annotations

import hashlib
import os
import subprocess
import venv
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from table import Peer


@dataclass(frozen=True)
class Environment:
    """The folder of an environment."""

    home: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.home / "bin" / "python")

    def run(self, script: Path, source: Path, lines: Path) -> str:
        """Let a script write its lines; what went wrong, or nothing."""
        errors = lines.with_suffix(".err")
        with lines.open("w") as out, errors.open("w") as err:
            command = [self.python, str(script), str(source)]
            process = subprocess.run(command, stdout=out, stderr=err, check=False)
        return "" if process.returncode == 0 else _last(errors.read_text())


def environment(peer: Peer, home: Path, work: Path) -> Environment | str:
    """The peer's environment, built where it is missing or outdated; or why there is none."""
    limits = home / f"constraints-{peer.name}.txt"
    constraints_hash = hashlib.sha256(limits.read_bytes()).hexdigest()
    built = Environment(work / f"env-{peer.name}")
    note = built.home / "made"
    if note.exists() and note.read_text() == constraints_hash:
        return built
    venv.create(built.home, with_pip=True, clear=True)
    itself = f"{peer.package}=={peer.version}"
    steps = [[*peer.also], ["--no-deps", itself]] if peer.alone else [[itself, *peer.also]]
    command = [built.python, "-m", "pip", "install", "--quiet", "--constraint", str(limits)]
    free = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    for step in steps:
        process = subprocess.run(
            [*command, *step], env=free, capture_output=True, text=True, check=False
        )
        if process.returncode:
            return f"cannot be installed: {_last(process.stderr)}"
    note.write_text(constraints_hash)
    return built


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no word of why"
