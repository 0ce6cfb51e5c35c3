"""A command whose packages are not installed names the extra that has them."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = {
    "plots": ["plot deltas qrels.txt old.run new.run -o a.png"],
    "store": [
        "store init --store sqlite:///a.db",
        "store project list --store https://localhost:1",
    ],
    "serve": ["serve --store sqlite:///a.db"],
    "online": ["online kpi events.ndjson"],
    "client": ["pool a.run --store https://localhost:1 --project p -o pool.csv"],
}
PACKAGES = (
    "altair", "vl_convert", "sqlalchemy", "alembic", "argon2", "starlette", "uvicorn", "jinja2",
    "duckdb", "ibis", "urllib3",
)  # fmt: skip
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES!r})); "
START = "from rankgate.__main__ import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("extra", "command"), [(extra, each) for extra, found in COMMANDS.items() for each in found]
)
def test_a_missing_package_is_named_by_its_extra(tmp_path, extra, command):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    for name in ("old", "new", "a"):
        (tmp_path / f"{name}.run").write_text(f"q1 Q0 {name} 1 1 {name}\n")
    (tmp_path / "events.ndjson").write_text("{}\n")
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT + START, *command.split()],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stdout) == (2, ""), found.stderr
    assert f"rankgate[{extra}]" in found.stderr
