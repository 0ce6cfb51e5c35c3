"""The example of a recommender runs from its log to a verdict."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import polars as pl
import pytest

HERE = Path(__file__).parents[2] / "examples" / "recommender"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("recommend", HERE / "recommend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_from_its_log_to_a_verdict(example, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # no policy there
    assert example.main([]) == 0
    told = capsys.readouterr().out
    assert told.startswith("log split by global, 20%")
    assert "Miscalibration@10" in told
    assert "PASS" in told


def test_its_log_is_made_by_its_script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("make_log", HERE / "make_log.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    module.main()
    for name in ("log.csv", "books.csv"):
        assert pl.read_csv(tmp_path / name).equals(pl.read_csv(HERE / name))


@pytest.mark.slow
def test_the_real_log(example, capsys, monkeypatch, tmp_path, shared):
    monkeypatch.chdir(tmp_path)
    place = shared / "amazon-beauty-selfrec" / "train.txt.gz"
    assert example.main([str(place), "--way", "leave-last"]) in {0, 1, 3}
    assert "22,363 users of test" in capsys.readouterr().out
