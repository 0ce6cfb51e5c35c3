"""The extension points: stable names and signatures, one page and one example each."""

from __future__ import annotations

import doctest
import inspect
import json
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import rankgate
from rankgate import extend
from rankgate.core.errors import UsageError
from support.wording import raises

ROOT = Path(__file__).parents[2]
PINNED = Path(__file__).with_name("signatures.json")
STABLE = [point for point in extend.EXTENSION_POINTS if point.page]


def signature(value):
    """A class's fields and methods with their types; a function's arguments."""
    if not isinstance(value, type):
        function = inspect.isfunction(value)
        return str(inspect.signature(value)) if function else type(value).__name__
    field_types = (
        {attribute.name: str(attribute.type) for attribute in fields(value)} if is_dataclass(value) else {}
    )
    methods = {name: member for name, member in vars(value).items() if inspect.isfunction(member)}
    public = {name: method for name, method in methods.items() if not name.startswith("_")}
    return field_types | {name: str(inspect.signature(method)) for name, method in public.items()}


@pytest.mark.parametrize(("name", "pinned"), json.loads(PINNED.read_text()).items())
def test_signatures_are_those_of_the_version(name, pinned):
    """Additions are allowed; changes that affect plug-ins need version 2 and a new file."""
    actual = signature(getattr(extend, name))
    if isinstance(pinned, dict):
        actual = {key: actual.get(key) for key in pinned}
    assert (actual, extend.API_VERSION) == (pinned, 1)


def test_every_name_is_pinned():
    assert sorted(json.loads(PINNED.read_text())) == sorted(extend.__all__)


def test_every_name_is_there_and_listed():
    assert sorted(extend.__all__, key=str) == sorted(dir(extend), key=str)
    with pytest.raises(AttributeError):
        _ = extend.nothing


@pytest.mark.parametrize("point", extend.EXTENSION_POINTS, ids=lambda point: point.name)
def test_each_point_has_its_class(point):
    assert isinstance(point.kind, type)


@pytest.mark.parametrize("point", STABLE, ids=lambda point: point.name)
def test_each_stable_point_has_a_page_and_an_example(point):
    page = (ROOT / "docs" / point.page).read_text()
    assert point.group in page
    projects = ROOT.glob("examples/plugins/*/pyproject.toml")
    groups = [tomllib.loads(path.read_text())["project"]["entry-points"] for path in projects]
    assert any(point.group in entry_points for entry_points in groups)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "extend").glob("*.md")), ids=lambda page: page.stem)
def test_the_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False)
    assert (result.failed, result.attempted > 1) == (0, True)


def test_a_file_adds_to_several_points_for_one_call(run, tmp_path):
    plugin_file = tmp_path / "mine.py"
    plugin_file.write_text(
        "from collections.abc import Sequence\n"
        "from dataclasses import replace\n"
        "from rankgate.extend import metric\n"
        "from rankgate.measurement.scoring import CONVENTIONS\n"
        "house = replace(CONVENTIONS['trec'], name='house', ties='doc_id_asc')\n"
        "@metric\n"
        "def finds(grades: Sequence[float | None], *, cutoff: int = 10) -> float:\n"
        "    'Relevant documents.'\n"
        "    return sum(bool(grade) for grade in grades)\n"
    )
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "r").write_text("1 Q0 b 1 1 t\n1 Q0 a 2 1 t\n")
    arguments = ["eval", tmp_path / "q", tmp_path / "r", "-m", "RR", "--convention", "house"]
    result = run(*arguments, "-m", "finds@1", "--plugin", plugin_file, "--format", "json")
    assert json.loads(result.out)["runs"][0]["mean"] == {"RR": 1.0, "finds@1": 1.0}
    plugins = json.loads(run("plugins", "--plugin", plugin_file, "--format", "json").out)["plugins"]
    assert [
        (plugin["adds"], plugin["names"]) for plugin in plugins if plugin["plugin"] == str(plugin_file)
    ] == [("metric", ["finds"]), ("convention", ["house"])]
    assert run(*arguments).code == 2  # only for one call


def test_python_uses_a_file_for_a_block(tmp_path):
    plugin_file = tmp_path / "mine.py"
    plugin_file.write_text("from rankgate.extend import Convention\nhouse = Convention('house')\n")
    with extend.using(plugin_file):
        assert rankgate.convention("house").name == "house"
    with raises("unknown-convention", UsageError):
        rankgate.convention("house")
