"""The notebook of the full mission runs, and its output equals the stored output.

``RANKGATE_NOTEBOOK=write pytest tests/docs/test_mission_notebook.py`` stores its present output.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "mission.ipynb"
_PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)  # widths of text depend on the fonts
_HASH = re.compile(r"\b[0-9a-f]{12}\b")  # of what results are stored as


def test_the_notebook_shows_what_it_is_stored_with(tmp_path, monkeypatch):
    # the notebook works in a temporary folder of its own, which its reader keeps
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import nbclient
    import nbformat

    stored = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(stored)
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=300).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    if os.environ.get("RANKGATE_NOTEBOOK") == "write":
        nbformat.write(notebook, NOTEBOOK)
        stored = notebook
    assert [_shown(cell) for cell in notebook.cells] == [_shown(cell) for cell in stored.cells]
    texts = " ".join(str(_shown(cell)) for cell in notebook.cells)
    for phrase in (
        "Verdict PASS",
        "Miscalibration@10",
        "search_ctr",
        "judge next",
        "2 recorded in history.jsonl",
    ):
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
