"""Every page of ``docs/start`` and ``docs/guides`` works from an empty folder with the built wheel.

Each page runs in an environment with the wheel and only the packages of its own ``pip install``
lines name, with dependencies. Files are saved and commands run as the page shows; nothing is
hidden.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from support.once import make_once
from support.programs import tool

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/start/*.md"), *ROOT.glob("docs/guides/*.md")])
SESSION = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
INSTALL = re.compile(r"^pip install (.*)$", re.MULTILINE)

played = tool("docs/_seen/played.py")
pytestmark = [pytest.mark.slow, pytest.mark.manual, pytest.mark.separate]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """What is in the wheel, which is built once from this source tree."""
    return make_once(tmp_path_factory, "wheel", _unpacked_wheel)


def _unpacked_wheel(folder):
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]
    if importlib.util.find_spec("hatchling"):
        command.append("--no-build-isolation")
    subprocess.run(command, check=True)
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    wheel.unlink()


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    """Make an environment of the wheel and some requirements, once for each set of them."""
    environments = {}

    def make(names: tuple[str, ...]) -> Path:
        if names not in environments:
            environments[names] = _environment(tmp_path_factory.mktemp("environment"), wheel, names)
        return environments[names]

    return make


def _environment(place, wheel, names):
    """A virtual environment with links to the wheel and the distributions that it requires."""
    venv.create(place, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    for top in wheel.iterdir():
        (packages / top.name).symlink_to(top)  # what is compiled is compiled once
    for name in _closure(names):
        distribution = metadata.distribution(name)
        tops = {Path(*file.parts[:1]) for file in distribution.files or ()}
        for top in tops - {Path(".."), Path("__pycache__")}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(distribution.locate_file(top)))
    program = place / "bin" / "rankgate"
    program.write_text(
        f"#!{place}/bin/python\nimport sys\nfrom rankgate.__main__ import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    return place


def _closure(names):
    """The distributions that requirements need, all the way down, without rankgate itself."""
    todo = [(Requirement(name).name, Requirement(name).extras) for name in names]
    distributions, visited = set(), set()
    while todo:
        name, extras = todo.pop()
        if (name, frozenset(extras)) in visited:
            continue
        visited.add((name, frozenset(extras)))
        distributions.add(name)
        for requirement in map(Requirement, metadata.distribution(name).requires or ()):
            environments = [{"extra": extra} for extra in (extras or {""})]
            if requirement.marker is None or any(
                requirement.marker.evaluate(extra) for extra in environments
            ):
                todo.append((requirement.name, requirement.extras))
    return sorted(distributions - {"rankgate"})


@pytest.mark.bash
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_can_be_followed_literally(page, environment, tmp_path):
    text = page.read_text()
    assert "runs in" not in text
    names = [word for line in INSTALL.findall(text) for word in line.replace("'", "").split()]
    assert "rankgate" in {Requirement(name).name for name in names}
    for earlier in re.findall(r"<!-- begins with (\S+) -->", text):
        assert os.path.relpath(ROOT / earlier, page.parent) in text, "the page says whose files"
        for name, content in played.files(ROOT / earlier):
            (tmp_path / name).write_text(content)
    home = environment(tuple(sorted(names)))
    for block in re.finditer(
        r"<!-- file: (?P<name>\S+) -->\n+```\w*\n(?P<text>.*?)```|```console\n(?P<session>.*?)```"
        r"|```\n(?P<served>rankgate serve [^\n]*)\n```(?:\n\n```text\n(?P<printed>.*?)```)?",
        text,
        re.DOTALL,
    ):
        if block["name"]:
            text_before = text[: block.start()]
            assert f"`{block['name']}`" in text_before, "the page names the file to save"
            (tmp_path / block["name"]).write_text(block["text"])
        elif block["served"]:
            _served(block["served"], block["printed"], home, tmp_path)
        else:
            _typed(block["session"], home, tmp_path)
    if ">>> " in text:
        _typed_in_python(page, home, tmp_path)


def _typed(session, home, folder):
    """Type the commands of a session into a shell; each prints what the page shows."""
    code = None
    environ = _environ(home, folder)
    for command, expected_output in SESSION.findall(session):
        if command == "echo $?":
            assert f"{code}\n" == expected_output
            continue
        process = subprocess.run(
            ["bash", "-c", f"{{ {command}\n}} 2>&1"],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        code = process.returncode
        assert process.stdout == expected_output, command


def _environ(home, folder):
    return {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}


def _served(command, shown, home, folder):
    """Start a server on a free port; its first lines are those of the page, then it ends."""
    server = subprocess.Popen(
        ["bash", "-c", f"exec {command} --port 0"],
        cwd=folder,
        env=_environ(home, folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        lines = [server.stdout.readline() for _ in range((shown or "\n").count("\n"))]
    finally:
        server.terminate()
        remaining, _ = server.communicate()
    printed = re.sub(r"(127\.0\.0\.1):\d+", r"\1:8765", "".join(lines))
    printed = re.sub(r"(invitations/)\S+", r"\1…", printed)
    assert printed == shown if shown else "is served at http://127.0.0.1:8765" in printed, remaining


def _typed_in_python(page, home, folder):
    """Run the Python of a page in its environment."""
    run = f"import doctest, sys; sys.exit(doctest.testfile({str(page)!r}, False).failed)"
    process = subprocess.run(
        [home / "bin" / "python", "-c", run], cwd=folder, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert doctest.DocTestParser().get_examples(page.read_text())
