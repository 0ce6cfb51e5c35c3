"""The example of a recommender runs from its log to a verdict, as a script and as a notebook."""

from __future__ import annotations

import gzip
import importlib.util
import os
from pathlib import Path

import polars as pl
import pytest

from support.programs import importable, tool

HERE = Path(__file__).parents[2] / "examples" / "recommender"


@pytest.fixture
def example():
    with importable(HERE):
        yield tool("examples/recommender/recommend.py")


def test_from_its_log_to_a_verdict(example, capsys, tmp_path):
    assert example.main(["--into", str(tmp_path / "runs")]) == 0
    result = capsys.readouterr().out
    assert result.startswith("log split by global, 20%")
    for phrase in ("R@20", "Miscalibration@10", "By activity", "Gaps: these users less all others"):
        assert phrase in result
    verdict = result[result.index("PASS: neighbours may replace popular") :]
    for rule in ("finds-more", "shows-more", "no-more-uneven", "small-presses"):
        assert f"✔ pass {rule}" in " ".join(verdict.split())
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {
        "popular.csv",
        "neighbours.csv",
        "factors.csv",
        "random.csv",
    }


def test_what_a_user_had_is_not_recommended(example):
    train = pl.DataFrame(
        [(f"u{u}", f"i{i}") for u in range(8) for i in range(u % 3, 9, 2)],
        schema=["query_id", "doc_id"],
        orient="row",
    )
    users = pl.Series(["u0", "u5", "stranger"])
    runs = example.recommended(train, users)
    assert list(runs) == ["popular", "neighbours", "factors", "random"]
    for run in runs.values():
        assert set(run["query_id"]) == {"u0", "u5"}
        assert run.join(train, on=["query_id", "doc_id"]).is_empty()
        assert run.select("query_id", "doc_id").is_duplicated().sum() == 0
    repeated_runs = example.recommended(train, users)
    assert all(runs[name].equals(repeated_runs[name]) for name in runs)


@pytest.mark.separate
def test_the_notebook_runs():
    import nbclient
    import nbformat

    notebook = nbformat.read(HERE / "recommend.ipynb", 4)
    result = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": HERE}})
    result.execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[-1].outputs[-1].data["text/plain"] == "'pass'"
    pages = [
        output.data["text/html"]
        for cell in cells
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert any("Personalization@10" in page for page in pages)
    assert any("finds-more" in page for page in pages)


def test_the_notebook_is_kept_without_outputs():
    import nbformat

    notebook = nbformat.read(HERE / "recommend.ipynb", 4)
    nbformat.validate(notebook)
    assert notebook.cells
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_its_log_is_made_by_its_script(tmp_path, monkeypatch):
    module = tool("examples/recommender/make_log.py")
    monkeypatch.setattr(module, "HERE", tmp_path)
    module.main()
    for name in ("log.csv", "books.csv"):
        assert pl.read_csv(tmp_path / name).equals(pl.read_csv(HERE / name))


@pytest.mark.slow
@pytest.mark.separate
def test_amazon_beauty(example, capsys, shared, tmp_path):
    """Every sixteenth user of the log."""
    log = gzip.decompress((shared / "amazon-beauty-selfrec" / "train.txt.gz").read_bytes())
    path = tmp_path / "train.txt"
    path.write_bytes(b"\n".join(log.splitlines()[::16]))
    assert example.main([str(path), "--way", "leave-last"]) == 0
    result = capsys.readouterr().out
    assert "1,398 users of test" in result
    assert "PASS: neighbours may replace popular" in result


@pytest.mark.slow
@pytest.mark.separate
@pytest.mark.ml_100k
def test_movielens(example, capsys):
    assert example.main([str(movielens()), "--way", "leave-last"]) in {0, 1, 3}
    assert "943 users of test" in capsys.readouterr().out


def movielens():
    """ml-100k, which the package recbole has with it."""
    folder = os.environ.get("RANKGATE_ML_100K")
    package = importlib.util.find_spec("recbole")
    if folder is None:
        folder = Path(package.origin).parent / "dataset_example" / "ml-100k"
    return Path(folder, "ml-100k.inter")
