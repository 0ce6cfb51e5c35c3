"""A command without its packages names the extra that has them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from rankgate.core.errors import EXTRAS

COMMANDS = {
    "plots": ["plot deltas qrels.txt old.run new.run -o a.png"],
    "serve": [
        "store init --store sqlite:///a.db",
        "store project list --store https://localhost:1",
        "serve --store sqlite:///a.db",
    ],
    "online": ["online kpi events.ndjson"],
    "formats": [
        "convert old.run old.run.zst",
        "convert old.run old.lz4",
        "sheet pool.csv --raters ann -o ann.xlsx",
    ],
}
PACKAGES = (
    "altair",
    "vl_convert",
    "sqlalchemy",
    "alembic",
    "argon2",
    "starlette",
    "uvicorn",
    "jinja2",
    "duckdb",
    "ibis",
    "urllib3",
    "zstandard",
    "lz4",
    "cbor2",
    "xlsxwriter",
)
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES!r})); "
START = "from rankgate.__main__ import main; sys.exit(main())"


PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
COMBINED = {"all", "dev", "docs"}
"""Extras that name others."""


def same(package):
    """The name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", package).lower()


def packages_of(extra):
    lines = PROJECT["optional-dependencies"][extra]
    return {same(re.match(r"[\w.-]+", line)[0]) for line in lines}


def test_there_are_at_most_ten_extras_and_all():
    extras = PROJECT["optional-dependencies"].keys() - {"dev", "all"}
    assert len(extras) <= 10
    (all_extras,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", all_extras)) == {"rankgate", *extras - {"docs"}}


def test_a_package_of_the_base_is_in_no_extra():
    base = {same(re.match(r"[\w.-]+", line)[0]) for line in PROJECT["dependencies"]}
    assert not any(base & packages_of(extra) for extra in PROJECT["optional-dependencies"])


def test_every_module_of_an_extra_is_a_package_of_it():
    distributions = packages_distributions()
    for module, extra in EXTRAS.items():
        if module in distributions:  # PySpark is not in every environment of tests
            assert packages_of(extra) & set(map(same, distributions[module])), module
    assert set(EXTRAS.values()) == PROJECT["optional-dependencies"].keys() - COMBINED


@pytest.mark.parametrize(
    ("extra", "command"), [(extra, command) for extra, commands in COMMANDS.items() for command in commands]
)
def test_a_missing_package_is_named_by_its_extra(tmp_path, extra, command):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    for name in ("old", "new", "a"):
        (tmp_path / f"{name}.run").write_text(f"q1 Q0 {name} 1 1 {name}\n")
    (tmp_path / "events.ndjson").write_text("{}\n")
    (tmp_path / "pool.csv").write_text("query_id,doc_id\nq1,a\n")
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT + START, *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout) == (2, ""), process.stderr
    assert f"rankgate[{extra}]" in process.stderr
