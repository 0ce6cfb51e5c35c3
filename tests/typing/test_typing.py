"""The public face as type checkers see it: metrics with their parameters, verbs, results."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.programs import tool

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
make = tool("tests/typing/make.py")


def test_the_parameters_of_metrics_are_fresh():
    """If this fails, ``python tests/typing/make.py`` writes them again."""
    assert make.STUB.read_text() == make.stub()


@pytest.mark.slow
def test_mypy_finds_every_planted_error_and_no_other():
    """A comment that ignores an error is itself one where there is no error (``strict``)."""
    from mypy import api

    config = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    out, err, code = api.run([*config, str(HERE / "public.py")])
    assert (code, err) == (0, ""), out
