"""The metadata of the project on a package index and in an installed package."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import rankgate
from support.programs import tool

ROOT = Path(__file__).resolve().parents[1]
STUBS = sorted((ROOT / "src").rglob("*.pyi"))
LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist and the wheel, as hatchling builds them."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("dist")
    return [
        Path(next(kind(str(ROOT)).build(directory=str(folder), versions=["standard"])))
        for kind in (SdistBuilder, WheelBuilder)
    ]


@pytest.mark.separate
def test_links_of_the_description_are_absolute_and_lead_to_files(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        links = LINK.findall(wheel.read(name).decode())
    pages = tool("hatch_build.py")
    assert links
    for link in links:
        assert link.startswith(("https://", "#")), link
        for base in (pages.PAGES, pages.IMAGES):
            if link.startswith(base):
                assert (ROOT / link.removeprefix(base).partition("#")[0]).exists(), link


def test_the_urls_of_the_project_lead_to_files():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"].values()
    assert urls
    for url in urls:
        path = re.sub(r"^https://github.com/rankgate/rankgate/?((tree|blob)/main/)?", "", url)
        assert path in {"", "issues"} or (ROOT / path).exists(), url


@pytest.mark.separate
def test_the_wheel_is_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {"rankgate", "rankgate-0.1.0.dist-info"}
    typed = {"rankgate/py.typed", *(str(p.relative_to(ROOT / "src")) for p in STUBS)}
    assert STUBS
    assert typed <= {*names}
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.git
@pytest.mark.separate
def test_the_sdist_is_what_is_committed(built):
    git = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    process = subprocess.run(git, capture_output=True, text=True, check=True)
    with tarfile.open(built[0]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names - {"PKG-INFO"} <= {*process.stdout.splitlines()}


def test_the_version_is_that_of_the_metadata():
    assert rankgate.__version__ == version("rankgate")


def test_make_clean_removes_what_is_ignored():
    makefile = (ROOT / "Makefile").read_text()
    rule = re.search(r"(?ms)^clean:.*?\n\n", makefile)[0]
    ignored = (ROOT / ".gitignore").read_text().split()
    assert ignored
    for line in ignored:
        assert line.strip("/") in rule, line
