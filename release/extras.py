"""The wheel alone and with each extra, in environments of their own: does every example run there?

    python release/extras.py [EXTRA...]     in build/extras; `base` is the wheel alone

Every environment of an extra is the one of the base and what pip adds for the extra. The base runs
every example of every command's help; `all` those of commands that asked for an extra in the base,
the others those that asked for theirs. An example may ask for an extra that is not installed, never
for one that is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement

from help_examples import examples

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "extras"
BASE, ALL, DOCS = "base", "all", "docs"
IMPORTS = {"engines": "optuna, psycopg, tantivy", "pandas": "pandas", "spark": "pyspark"}
"""Extras that no example needs, and what they must be able to import."""


def main() -> int:
    """Make the environments, run the examples in each; 1 where one has a fault."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    wheel = _wheel()
    extras = _extras(wheel)
    selected = set(sys.argv[1:]) or {BASE, *extras, ALL}
    world = WORK / "world"
    _run(sys.executable, ROOT / "release" / "example_files.py", world)
    _environment(BASE, [str(wheel)])
    lines = examples()
    asking = _try(BASE, world, lines)
    failed = [BASE] if asking is None else []
    built_extras = {name: needs for name, needs in extras.items() if {name, ALL} & selected}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # half of what pip takes is waiting
        list(pool.map(_environment, built_extras, built_extras.values()))
    extra_commands = asking or {}
    failed += [
        extra
        for extra in built_extras
        if extra in selected and _tried(extra, world, _those(lines, extra_commands.get(extra, [])))
    ]
    if ALL in selected:
        _environment(ALL, [], *(extra for extra in extras if extra != DOCS))
        commands = {name for names in extra_commands.values() for name in names}
        if _try(ALL, world, _those(lines, sorted(commands))) != {}:
            failed.append(ALL)
    print(f"extras: {', '.join(failed) or 'no environment'} failed")
    return int(bool(failed))


def _wheel() -> Path:
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", WORK, cwd=ROOT)
    (wheel,) = WORK.glob("*.whl")
    return wheel


def _extras(wheel: Path) -> dict[str, list[str]]:
    """What the wheel requires for each extra, by extra."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(packed.read(name).decode())
    lines = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    return {
        extra: [
            str(line).partition(";")[0]
            for line in lines
            if line.marker
            and line.marker.evaluate({"extra": extra})
            and not line.marker.evaluate({"extra": ""})
        ]
        for extra in metadata.get_all("Provides-Extra", [])
        if extra not in {ALL, "dev"}
    }


def _site(name: str) -> Path:
    (site,) = (WORK / name).glob("lib/python*/site-packages")
    return site


def _python(name: str) -> Path:
    return WORK / name / "bin" / "python"


def _environment(name: str, requirements: list[str], *below: str) -> None:
    """An environment that sees the packages of others below it, and has its own."""
    venv.create(WORK / name, with_pip=name == BASE, symlinks=True)
    if name != BASE:
        paths = [_site(environment) for environment in (*below, BASE)]
        (_site(name) / "below.pth").write_text("".join(f"{path}\n" for path in paths))
    if requirements:
        pip = [_python(BASE), "-m", "pip", "--python", _python(name), "install", "-q"]
        _run(*pip, "--no-compile", *requirements, cwd=ROOT)


def _those(lines: dict[str, list[str]], commands: list[str]) -> dict[str, list[str]]:
    """The examples of some commands."""
    return {command: lines[command] for command in commands}


def _tried(extra: str, world: Path, lines: dict[str, list[str]]) -> bool:
    """True if an environment fails."""
    if extra in IMPORTS:
        return _code(_python(extra), "-c", f"import rankgate, {IMPORTS[extra]}") != 0
    if extra == DOCS:
        manual = [_python(DOCS), "-m", "sphinx", "-q", "-b", "dummy", "-j", "auto"]
        return _code(*manual, "-d", WORK / "doctrees", ROOT / "docs", WORK / "manual") != 0
    extra_commands = _try(extra, world, lines)
    return extra_commands is None or extra in extra_commands


def _try(name: str, world: Path, lines: dict[str, list[str]]) -> dict[str, list[str]] | None:
    """Run examples in an environment: the commands that ask for each extra; None with a fault."""
    print(f"{name}: ", end="", flush=True)
    examples_file, out = (WORK / f"{name}-{kind}.json" for kind in ("examples", "asking"))
    examples_file.write_text(json.dumps(lines))
    program = ROOT / "release" / "help_examples.py"
    if _code(_python(name), program, world, examples_file, out):
        return None
    asking: dict[str, list[str]] = json.loads(out.read_text())
    return asking


def _code(*words: object, cwd: Path = WORK) -> int:
    return subprocess.run(list(map(str, words)), cwd=cwd, check=False).returncode


def _run(*words: object, cwd: Path = WORK) -> None:
    subprocess.run(list(map(str, words)), cwd=cwd, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
