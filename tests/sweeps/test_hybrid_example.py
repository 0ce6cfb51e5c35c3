"""examples/hybrid: the figures of its page, and the commands that it shows."""

import gzip
import sys
from pathlib import Path

import pytest

import rankgate
from support.needs import SHARED

EXAMPLE = Path(__file__).parents[2] / "examples" / "hybrid"
CAST = SHARED / "cast2021"
FILES = ("trec-cast-qrels-docs.2021.qrel", "org_manual_bm25.run", "org_manual_ance.run")


@pytest.fixture
def folder(tmp_path):
    """The example with the files that its page downloads."""
    (tmp_path / "cast2021").mkdir()
    for name in FILES:
        source = CAST / ("runs" if name.endswith(".run") else "") / f"{name}.gz"
        (tmp_path / "cast2021" / name).write_bytes(gzip.decompress(source.read_bytes()))
    for name in ("sweep.toml", "notebook.py"):
        (tmp_path / name).write_text((EXAMPLE / name).read_text())
    return tmp_path


@pytest.mark.shared
def test_the_page_has_the_figures_of_the_notebook_and_of_the_sweep(folder, monkeypatch):
    page = (EXAMPLE / "README.md").read_text()
    monkeypatch.syspath_prepend(str(folder))
    from notebook import measure_variants

    sys.modules.pop("notebook", None)
    means = measure_variants(folder / "cast2021")
    assert f"today: {means['min_max', 'arithmetic_mean', 0.5, 0.5]:.4f} " in page
    best = max(means, key=means.__getitem__)
    assert f"best: {means[best]:.4f} {' '.join(map(str, best))}\n" in page
    monkeypatch.chdir(folder)
    result = rankgate.sweep("sweep.toml")
    shown = page.split("rankgate sweep sweep.toml\n```\n\n```text\n")[1].split("```")[0]
    assert f"{result}\n".startswith(shown)  # as the command prints it: test_sweep.py
    shares = (result.baseline.unjudged, result.chosen.unjudged, max(result.unjudged_shares))
    assert [round(100 * share) for share in shares] == [14, 16, 37]
    assert result.choice.p_value == pytest.approx(0.036, abs=5e-4)
