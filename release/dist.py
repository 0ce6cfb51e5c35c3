"""The wheel and the sdist, built twice from what is committed, and proved in an empty environment.

    python release/dist.py      into dist/, with SHA256SUMS

What is built from two copies of the commit, in two folders, must be equal byte by byte; times are
that of the commit. The wheel is built from the sdist, so that the sdist is known to be complete.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def main() -> int:
    """Build, compare, install, try."""
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / folder_name for folder_name in ("one", "another")]
        first_hashes, second_hashes = (
            {distribution.name: _hash(distribution) for distribution in _built(folder)} for folder in folders
        )
        if first_hashes != second_hashes:
            print(f"not reproducible: {first_hashes} and {second_hashes}", file=sys.stderr)
            return 1
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(folders[0] / "dist", DIST)
        (DIST / "SHA256SUMS").write_text("".join(f"{sha}  {file}\n" for file, sha in first_hashes.items()))
        home = Path(name) / "empty"
        venv.create(home, with_pip=True)
        python = str(home / "bin" / "python")
        (wheel,) = DIST.glob("*.whl")
        subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], check=True)
        subprocess.run([sys.executable, str(ROOT / "release" / "smoke.py"), python], check=True)
    print(*(f"{file} {sha}" for file, sha in first_hashes.items()), sep="\n")
    return 0


def _built(folder: Path) -> list[Path]:
    """The sdist of the commit, and the wheel of the sdist."""
    source, dist = folder / "source", folder / "dist"
    source.mkdir(parents=True)
    packed = _git("archive", "HEAD")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(source, filter="data")
    environ = {**os.environ, "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct").decode().strip()}
    hatch = [sys.executable, "-m", "hatchling", "build", "-d", str(dist)]
    subprocess.run([*hatch, "-t", "sdist"], cwd=source, env=environ, check=True, capture_output=True)
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    subprocess.run([*hatch, "-t", "wheel"], cwd=unpacked, env=environ, check=True, capture_output=True)
    return sorted(dist.iterdir())


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True).stdout


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
