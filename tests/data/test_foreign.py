"""Archives as judgments: the error names their type. Other unsupported files are in tests/door."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of, read_qrels
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import InputFile
from support.wording import raises

QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n"


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.qrels", QRELS)
    return out.getvalue()


def tarred():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("a.qrels")
        member.size = len(QRELS)
        archive.addfile(member, io.BytesIO(QRELS))
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        zipped(),
        bz2.compress(bz2.compress(QRELS)),
        lzma.compress(lzma.compress(QRELS)),
        gzip.compress(gzip.compress(QRELS, mtime=0), mtime=0),
        tarred(),
        gzip.compress(tarred(), mtime=0),
    ],
    ids=["zip", "bz2 twice", "xz twice", "gz twice", "tar", "tar.gz"],
)
def test_archives_are_reported(tmp_path, data):
    path = tmp_path / "a.qrels"
    path.write_bytes(data)
    with raises("unknown-format", InputError, source=str(path)) as result:
        read_qrels(path)
    assert result.value.line is None


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl"])
def test_ids_that_begin_with_such_a_mark_come_back(name):
    table = pl.DataFrame({"query_id": ["q", "\ufeffq"], "doc_id": ["a", "b"], "grade": [1.0, 0.0]})
    out = io.BytesIO()
    find_format(name).write(FileContents(qrels=Qrels(table)), out)
    assert contents_of(InputFile(None, out.getvalue()), name).qrels.table.equals(table)


def test_a_long_first_line_is_read_whole():
    document = "d" * 100_000
    qrels = contents_of(InputFile(None, f"q1 0 {document} 1\n".encode())).qrels
    assert qrels.table.rows() == [("q1", document, 1.0)]
