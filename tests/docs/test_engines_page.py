"""The manual's pipeline can be followed from an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.programs import importable

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n+```\w*\n(.*?)```", re.DOTALL)


@pytest.mark.separate
def test_the_pipeline_runs_as_the_page_says(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    text = PAGE.read_text()
    for name, content in FILE.findall(text):
        Path(name).write_text(content)
    assert run("demo", "demo").code == 0
    (command,) = re.findall(r"\$ rankgate (stages pipeline.*)", text)
    with importable(tmp_path):
        outcome = run(*command.split())
        result = rankgate_python(text)
    assert outcome.code == 0, outcome.err
    numbers = re.compile(r"[\d.]+")  # they move with Python's docstrings and the machine
    page_lines = [numbers.sub("0", line).split() for line in text.split(f"{command}\n")[1].split("\n")]
    printed = [numbers.sub("0", line).split() for line in outcome.out.split("\n")]
    rows = [line for line in page_lines[: page_lines.index(["```"])] if line and line != ["…"]]
    assert len(rows) == 12
    assert all(row in printed for row in rows)
    assert "rerank" in result


def rankgate_python(text):
    """What the page's call of Python returns, as text."""
    (call,) = re.findall(r"In Python, `(rankgate\.stages\(.*?\))`", text)
    import rankgate

    return str(eval(call, {"rankgate": rankgate}))  # noqa: S307 - the page's own words
