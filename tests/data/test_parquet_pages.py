"""The declarations of a Parquet file are checked against its contents."""

from __future__ import annotations

import io

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError
from rankgate.data import read_qrels
from rankgate.data.formats.tables.table_file_sizes import check_parquet_sizes
from rankgate.data.streams.source import InputFile
from support.wording import raises

TABLE = pl.DataFrame(
    {
        "qid": [str(i // 10) for i in range(1000)],
        "doc": [f"d{i * 7 % 1000}" for i in range(1000)],
        "grade": [i % 4 for i in range(1000)],
        "rare": [None] * 999 + ["x"],
        "true": [True] * 1000,
        "list": [[1, 2], []] * 500,
    }
)


def written(**how):
    out = io.BytesIO()
    if how.pop("by", "polars") == "polars":
        TABLE.write_parquet(out, **how)
    else:
        pq.write_table(TABLE.to_arrow(), out, **how)
    return out.getvalue()


@pytest.mark.parametrize(
    "how",
    [
        *({"compression": each} for each in ("zstd", "snappy", "gzip", "lz4", "uncompressed")),
        {"row_group_size": 100},
        {"data_page_size": 50},
        {"by": "arrow", "data_page_version": "1.0", "data_page_size": 50},
        {"by": "arrow", "data_page_version": "2.0", "use_dictionary": False},
        {"by": "arrow", "write_page_index": True, "row_group_size": 100},
        {"by": "arrow", "compression": "none", "write_page_checksum": True},
    ],
)
def test_good_files_are_taken(how):
    data = written(**how)
    sizes = check_parquet_sizes(io.BytesIO(data), len(data), "")
    meta = pq.read_metadata(io.BytesIO(data))
    assert sizes.rows == meta.num_rows == 1000
    chunks = [meta.row_group(i).column(j) for i in range(meta.num_row_groups) for j in range(6)]
    assert [(c.total_compressed_size, c.total_uncompressed_size) for c in chunks] == [
        chunk[1:3] for chunk in sizes.chunks
    ]
    assert len(read_qrels_of(data)) == 1000


def read_qrels_of(data):
    from rankgate.data.formats.tables.parquet_arrow import FORMAT

    return FORMAT.read(InputFile(None, data, read_as="qrels")).judgments("").table


def test_a_column_that_unpacks_to_too_much(monkeypatch):
    from rankgate.data.formats.tables import table_file_sizes

    monkeypatch.setattr(table_file_sizes, "MAX_UNPACKED_BYTES", 1 << 10)
    with raises("too-large", InputError):
        read_qrels_of(written())


def test_a_page_that_declares_what_cannot_be(tmp_path):
    """Polars would ask for 2⁶⁰ bits of memory, get none, and end the process."""
    data = written(by="arrow", compression="none", use_dictionary=False)
    column = pq.read_metadata(io.BytesIO(data)).row_group(0).column(2)
    begin = column.data_page_offset
    # the page's header has 1000 values as zigzag varint d0 0f behind the struct of the data page
    offset = data.index(b"\xd0\x0f", begin)
    path = tmp_path / "x.parquet"
    path.write_bytes(data[:offset] + b"\xd2\x0f" + data[offset + 2 :])  # 1001 of 1000
    with raises("damaged-file", InputError):
        read_qrels(path)


@given(st.data())
def test_any_damage_is_reported(data):
    intact = written(compression="uncompressed")
    offset = data.draw(st.integers(0, len(intact) - 1))
    bad = intact[:offset] + data.draw(st.binary(max_size=4)) + intact[offset + data.draw(st.integers(0, 4)) :]
    try:
        check_parquet_sizes(io.BytesIO(bad), len(bad), "x")
    except InputError as error:
        assert str(error).startswith("x: ")  # noqa: PT017 - one of two good ends
