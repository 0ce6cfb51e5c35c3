"""Latency and state of queries as columns of a run."""

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import read_run
from support.wording import raises

ROWS = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "q3"], "doc_id": ["a", "b", "a", "c"],
        "score": [2.0, 1.0, 3.0, 1.0], "latency_ms": [12.5, 12.5, None, 7],
        "state": ["ok", "ok", "failed", None],
    }
)  # fmt: skip


@pytest.fixture(params=["run.csv", "run.tsv", "run.parquet", "run.arrow", "run.jsonl"])
def written(request, tmp_path):
    def write(frame):
        place = tmp_path / request.param
        if place.suffix in {".csv", ".tsv"}:
            frame.write_csv(place, separator="," if place.suffix == ".csv" else "\t")
        elif place.suffix == ".jsonl":
            frame.write_ndjson(place)
        elif place.suffix == ".parquet":
            frame.write_parquet(place)
        else:
            frame.write_ipc(place)
        return place

    return write


def test_each_query_has_what_its_rows_say(written):
    result = read_run(written(ROWS))
    assert result.queries.select("query_id", "state", "latency_ms").rows() == [
        ("q1", "ok", 12.5), ("q2", "failed", None), ("q3", "ok", 7.0),
    ]  # fmt: skip
    assert result.table.columns == ["query_id", "doc_id", "score"]


def test_a_file_beside_it_goes_before(written):
    place = written(ROWS)
    place.with_name(f"{place.name}.meta.jsonl").write_text('{"query_id":"q1","latency_ms":1}')
    assert read_run(place).queries["latency_ms"].to_list() == [1.0]


def test_without_such_columns_nothing_is_known(written):
    assert read_run(written(ROWS.drop("latency_ms", "state"))).queries is None


def test_a_state_of_something_else_is_none(written):
    assert (
        read_run(written(ROWS.drop("latency_ms").with_columns(state=pl.lit("TX")))).queries is None
    )


@pytest.mark.parametrize(
    ("latency", "code"),
    [([1, 2, 3, 4], "contradiction"), ([-1, -1, 3, 4], "not-a-number")],
)
def test_what_no_latency_can_be(written, latency, code):
    place = written(ROWS.with_columns(latency_ms=pl.Series(latency, dtype=pl.Float64)))
    with raises(code, InputError):
        read_run(place)
