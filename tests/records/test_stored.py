"""Records and baselines that version 0.1.0 wrote are read from their stored bytes."""

from pathlib import Path

import pytest

import rankgate

STORED = Path(__file__).parent / "stored"
BASELINE = Path(__file__).parents[1] / "gating" / "stored" / "baseline.json"


def test_a_stored_history_is_read():
    history = rankgate.history("nDCG@10", STORED / "history")
    point = history.to_dict()["series"][0]
    assert point["value"] == pytest.approx(0.5469861988897615, abs=0)
    assert (point["revision"], point["system"]) == ("1f3c9a", "shop")
    assert [note["text"] for note in history.to_dict()["annotations"]] == ["on"]


def test_a_stored_baseline_is_read_and_decides(search_stages):
    qrels, new = search_stages / "qrels.txt", search_stages / "rerank.run"
    verdict = rankgate.gate(qrels, BASELINE, new, log=False)
    assert verdict.names[0] == "bm25"


@pytest.fixture
def search_stages():
    """The folder of the example that both were made from."""
    return Path(__file__).parents[2] / "examples" / "search-stages"
