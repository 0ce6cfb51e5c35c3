"""Notebooks that are stored with their output run, and give this output.

``RANKGATE_NOTEBOOK=write pytest tests/docs/test_mission_notebook.py`` stores their present
output.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PHRASES = {
    "mission.ipynb": (
        "Verdict PASS",
        "Miscalibration@10",
        "search_ctr",
        "judge next",
        "2 recorded in history.jsonl",
    ),
    "recommender/paper.ipynb": (
        "log split by global",
        "5-core",
        "Between seeds",
        "Values are means over seeds",
        "on 3 data sets",
        "\\begin{tabular}",
        "±",
    ),
}
"""What a reader of each notebook sees, among other things."""

_PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)  # widths of text depend on the fonts
_HASH = re.compile(r"\b[0-9a-f]{12}\b")  # of what results are stored as


@pytest.mark.separate
@pytest.mark.parametrize("name", PHRASES)
def test_a_notebook_shows_what_it_is_stored_with(name, tmp_path, monkeypatch):
    # the notebook works in a temporary folder of its own, which its reader keeps
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import nbclient
    import nbformat

    stored = nbformat.read(EXAMPLES / name, 4)
    nbformat.validate(stored)
    notebook = nbformat.read(EXAMPLES / name, 4)
    nbclient.NotebookClient(notebook, timeout=300).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    if os.environ.get("RANKGATE_NOTEBOOK") == "write":
        nbformat.write(notebook, EXAMPLES / name)
        stored = notebook
    assert [_shown(cell) for cell in notebook.cells] == [_shown(cell) for cell in stored.cells]
    texts = " ".join(str(_shown(cell)) for cell in notebook.cells)
    for phrase in PHRASES[name]:
        assert phrase in texts


def _shown(cell):
    """Texts and tables of a cell, and whether it has a picture."""
    return [
        {
            kind: kind == "image/svg+xml" or _HASH.sub("", _PICTURE.sub("<svg/>", str(value)))
            for kind, value in output.get("data", {"text": output.get("text")}).items()
        }
        for output in cell.get("outputs", [])
    ]
