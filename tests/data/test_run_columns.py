"""Latency and state of queries as columns of a run."""

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import read_run
from support.wording import raises

ROWS = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "q3"],
        "doc_id": ["a", "b", "a", "c"],
        "score": [2.0, 1.0, 3.0, 1.0],
        "latency_ms": [12.5, 12.5, None, 7],
        "state": ["ok", "ok", "failed", None],
    }
)


@pytest.fixture(params=["run.csv", "run.tsv", "run.parquet", "run.arrow", "run.jsonl"])
def written(request, tmp_path):
    def write(frame):
        path = tmp_path / request.param
        if path.suffix in {".csv", ".tsv"}:
            frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
        elif path.suffix == ".jsonl":
            frame.write_ndjson(path)
        elif path.suffix == ".parquet":
            frame.write_parquet(path)
        else:
            frame.write_ipc(path)
        return path

    return write


def test_a_file_beside_it_goes_before(written):
    path = written(ROWS)
    path.with_name(f"{path.name}.meta.jsonl").write_text('{"query_id":"q1","latency_ms":1}')
    assert read_run(path).queries["latency_ms"].to_list() == [1.0]


def test_a_state_of_something_else_is_none(written):
    assert read_run(written(ROWS.drop("latency_ms").with_columns(state=pl.lit("TX")))).queries is None


@pytest.mark.parametrize(
    ("latency", "code"), [([1, 2, 3, 4], "contradiction"), ([-1, -1, 3, 4], "not-a-number")]
)
def test_what_no_latency_can_be(written, latency, code):
    path = written(ROWS.with_columns(latency_ms=pl.Series(latency, dtype=pl.Float64)))
    with raises(code, InputError):
        read_run(path)
