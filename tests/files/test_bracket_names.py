"""Names with brackets, as browsers give to second downloads, are names and no patterns."""

from __future__ import annotations

import pytest

import rankgate
from rankgate import online
from support.wording import raises

SEARCH = '{"query_id": "s", "user_query": "red", "timestamp": 1767225600000}\n'
QRELS = {"q": {"a": 1}}


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "lz4"])
def test_a_file_is_read(tmp_path, form):
    (tmp_path / "run.csv").write_text("query_id,doc_id,score\nq,b,2\nq,a,1\n")
    path = tmp_path / f"run[1]{{a}}*?.{form}"
    rankgate.convert(tmp_path / "run.csv", path)
    assert rankgate.evaluate(QRELS, path, ["RR"]).means["RR"].item() == 0.5


def test_a_split_is_written(tmp_path, run):
    (tmp_path / "log.csv").write_text("user_id,item_id,timestamp\nu,a,1\nu,b,2\nu,c,3\nv,a,1\nv,b,4\nv,c,5\n")
    result = run("split", tmp_path / "log.csv", "--way", "leave-last", "--into", tmp_path / "parts[1]")
    assert result.code == 0, result.err
    assert len((tmp_path / "parts[1]" / "test.csv").read_text().splitlines()) == 3


def test_a_folder_of_events_is_read(tmp_path):
    (tmp_path / "log[1].ndjson").write_text(
        '{"query_id": "s", "user_query": "red", "timestamp": 1767225600000}\n'
    )
    online.ingest(tmp_path / "log[1].ndjson", tmp_path / "events[1]")
    assert online.kpi(tmp_path / "events[1]", ["searches_per_session"], by=()).values is not None
    with raises("no-impressions"):
        online.judgments(tmp_path / "events[1]")
