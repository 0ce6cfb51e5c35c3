"""The sizes that an Arrow file declares are those of its columns."""

import io

import pyarrow as pa
import pytest

from rankgate.core.errors import InputError
from rankgate.data.formats.tables.table_file_sizes import ArrowSizes, read_arrow_sizes
from support.wording import raises


def written(table, compression=None):
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=600)
    return file.getvalue()


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_values_and_bytes_of_all_batches(compression):
    """1000 numbers of 8 bytes in two batches; without nulls nothing else is stored."""
    content = written(pa.table({"a": pa.array(range(1000), pa.int64())}), compression)
    assert read_arrow_sizes(io.BytesIO(content), len(content), "a.arrow") == ArrowSizes(8000, 1000)


def test_a_file_that_ends_early_is_damaged():
    content = written(pa.table({"a": [1, 2, 3]}))
    damaged = content[:100] + content[-100:]
    with raises("damaged-file", InputError):
        read_arrow_sizes(io.BytesIO(damaged), len(damaged), "a.arrow")
