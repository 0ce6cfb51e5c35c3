"""Unsupported files as judgments or runs: the error names their type."""

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
from rankgate.data import FileContents, contents_of, read_qrels, read_run
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import InputFile
from support.wording import raises

QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n"
CSV = "query_id,doc_id,grade\nq1,d1,1\nq1,d2,0\n"
BOM = b"\xef\xbb\xbf"


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
    ("data", "line", "code"),
    [
        (zipped(), None, "unknown-format"),
        (bz2.compress(bz2.compress(QRELS)), None, "unknown-format"),
        (lzma.compress(lzma.compress(QRELS)), None, "unknown-format"),
        (gzip.compress(gzip.compress(QRELS, mtime=0), mtime=0), None, "unknown-format"),
        (tarred(), None, "unknown-format"),
        (gzip.compress(tarred(), mtime=0), None, "unknown-format"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n", None, "unknown-format"),
        (b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>", None, "unknown-format"),
        (b"\xff\xfe\x00\xd8q\x00", None, "not-utf8"),  # half a pair of surrogates
        (CSV.encode("utf-16-le"), None, "unknown-format"),
        (CSV.encode("utf-16-be"), None, "unknown-format"),
        (CSV.encode("utf-32"), None, "unknown-format"),
        (QRELS.replace(b"\n", b"\r"), 1, "carriage-returns"),
        (b"q1 0 d1 1\r\nq1 0 d2 0\nq2 0 d1 1\rq2 0 d3 0\n", 3, "carriage-returns"),
        (CSV.replace("\n", "\r").encode(), 1, "carriage-returns"),
        (BOM + QRELS + BOM + b"q2 0 d9 0\n", 4, "joined-lines"),
        (CSV.encode() + BOM + b"q2,d9,0\n", 4, "joined-lines"),
        (BOM, None, "empty-file"),
        ("q1 0 d1 1\nq1 0 d2 \u0661\n".encode(), 2, "not-a-number"),
        (b"query_id,doc_id,grade,Grade\nq1,d1,1,0\n", 1, "duplicate-column"),
        (b"query_id,query_id,doc_id,grade\nq1,x,d1,1\n", 1, "duplicate-column"),
        (b'{"query_id":"q1","doc_id":"d1","grade":NaN}\n', 1, "invalid-json"),
        (b'{"query_id":"q1","doc_id":"caf\xe9","grade":1}\n', 1, "not-utf8"),
        (b'{"query_id":"q1","doc_id":"d1","grade":1,"grade":0}\n', 1, "duplicate-key"),
        (b'{"q1":{\n"d1":1', 2, "invalid-json"),
        (b'[{"a":{"b":1}}]', None, "unknown-format"),
    ],
)
def test_what_it_is_is_reported(tmp_path, data, line, code):
    path = tmp_path / "a.qrels"
    path.write_bytes(data)
    with raises(code, InputError) as result:
        read_qrels(path)
    assert (result.value.source, result.value.line) == (str(path), line)


def test_a_mark_between_two_runs(tmp_path):
    """The second file would have another query than the first file."""
    path = tmp_path / "a.run"
    path.write_bytes(BOM + b"q1 Q0 d1 1 2 t\n" + BOM + b"q1 Q0 d2 2 1 t\n")
    with raises("joined-lines", InputError, line=2):
        _ = read_run(path).table


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl"])
def test_ids_that_begin_with_such_a_mark_come_back(name):
    table = pl.DataFrame({"query_id": ["q", "\ufeffq"], "doc_id": ["a", "b"], "grade": [1.0, 0.0]})
    out = io.BytesIO()
    find_format(name).write(FileContents(qrels=Qrels(table)), out)
    assert contents_of(InputFile(None, out.getvalue()), name).qrels.table.equals(table)


def test_a_mark_in_a_quoted_field_is_of_the_field():
    data = 'query_id,doc_id,grade\nq,"a\n\ufeffb",1\nq,c,0\n'.encode()
    assert contents_of(InputFile(None, data)).qrels.table["doc_id"].to_list() == ["a\n\ufeffb", "c"]


def test_a_long_first_line_is_read_whole():
    document = "d" * 100_000
    qrels = contents_of(InputFile(None, f"q1 0 {document} 1\n".encode())).qrels
    assert qrels.table.rows() == [("q1", document, 1.0)]
