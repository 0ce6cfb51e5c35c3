"""A flipped bit in a file that rankgate wrote is an error, or changes nothing; all readers read it."""

from __future__ import annotations

import random

import duckdb
import polars as pl
import pyarrow.feather
import pyarrow.parquet
import pytest

import rankgate
from rankgate.core.checksums import add_checksum, check_file
from rankgate.core.errors import RankgateError
from support.wording import raises

RUN = {f"q{query}": {f"d{rank}": 1 / (7 * rank + query + 1) for rank in range(30)} for query in range(9)}
QRELS = {query: {f"d{number}": number % 4 for number in range(0, 30, 3)} for query in RUN}
FORMS = ["parquet", "arrow", "csv.zst", "csv.gz", "lz4"]


@pytest.fixture
def written(tmp_path):
    rows = [(query, document, score) for query, ranking in RUN.items() for document, score in ranking.items()]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    table.write_csv(tmp_path / "run.csv")

    def write(form):
        rankgate.convert(tmp_path / "run.csv", tmp_path / f"run.{form}")
        return tmp_path / f"run.{form}"

    return write


def value(path):
    return rankgate.evaluate(QRELS, path, ["nDCG@10"]).means["nDCG@10"].item()


@pytest.mark.parametrize("form", FORMS)
def test_a_flipped_bit_is_an_error_or_changes_nothing(written, form, tmp_path):
    path = written(form)
    content, right, chance = path.read_bytes(), value(path), random.Random(form)
    damaged, errors = tmp_path / f"damaged.{form}", 0
    for _ in range(40):
        data = bytearray(content)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data)
        try:
            assert value(damaged) == right
        except RankgateError:
            errors += 1
    assert errors > 30


def test_other_readers_pass_over_the_mark(written):
    parquet, arrow = written("parquet"), written("arrow")
    rows = sorted(pl.read_csv(parquet.with_suffix(".csv")).rows())
    assert sorted(pl.read_parquet(parquet).rows()) == rows
    assert sorted(pyarrow.parquet.read_table(parquet).to_pandas().itertuples(index=False, name=None)) == rows
    assert sorted(duckdb.read_parquet(str(parquet)).fetchall()) == rows
    assert sorted(pl.read_ipc(arrow).rows()) == rows
    assert sorted(pyarrow.feather.read_table(arrow).to_pandas().itertuples(index=False, name=None)) == rows


def test_files_of_others_have_no_mark_and_are_read(tmp_path):
    path = tmp_path / "other.parquet"
    pl.DataFrame({"query_id": ["q0"], "doc_id": ["d3"], "score": [1.0]}).write_parquet(path)
    check_file(path)
    assert value(path) > 0
    for content in (b"", b"PAR1", b"\xff\xff\xff\x7fPAR1", b"text", b"ARROW1"):
        path.write_bytes(content)
        add_checksum(path)
        check_file(path)
        assert path.read_bytes() == content


def test_the_error_names_the_file(written):
    path = written("parquet")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with raises("damaged-file", source=str(path)):
        rankgate.evaluate(QRELS, path, ["nDCG@10"])


def test_results_and_parts_of_events_are_checked(tmp_path):
    rankgate.evaluate(QRELS, RUN, ["nDCG@10"]).save(tmp_path / "scores.parquet")
    content = bytearray((tmp_path / "scores.parquet").read_bytes())
    content[60] ^= 4
    (tmp_path / "scores.parquet").write_bytes(content)
    with raises("damaged-file"):
        check_file(tmp_path / "scores.parquet")
