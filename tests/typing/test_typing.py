"""The public face as type checkers see it: metrics with their parameters, verbs, results."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.programs import tool

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
make = tool("tests/typing/make.py")


def test_the_stubs_are_fresh_and_there_is_no_other():
    """If this fails, ``python tests/typing/make.py`` writes them again."""
    stubs = make.stubs()
    assert {path: path.read_text() for path in stubs} == stubs
    assert set(stubs) == set((ROOT / "src").rglob("*.pyi"))


@pytest.mark.slow
@pytest.mark.separate
def test_mypy_finds_every_planted_error_and_no_other():
    """A comment that ignores an error is an error if there is nothing to ignore (``strict``)."""
    from mypy import api

    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    out, err, code = api.run([*config, str(HERE / "public.py")])
    assert (code, err) == (0, ""), out
