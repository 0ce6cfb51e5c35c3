"""BEIR's files are written as they were read; what is read of them is in tests/door."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of, read_qrels
from rankgate.data.formats.registry import find_format
from rankgate.data.streams.source import InputFile
from support.wording import raises

CORPUS = (
    b'{"_id": "d1", "title": "", "text": "a jaguar", "metadata": {"url": "x"}}\n'
    b'{"_id": "d2", "title": "Cars", "text": "b", "metadata": {}}\n'
)
QUERIES = b'{"_id": "q1", "text": "jaguar speed"}\n{"_id": "q2", "text": "\xc3\xa4"}\n'
QRELS = b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_bytes(CORPUS)
    (tmp_path / "queries.jsonl").write_bytes(QUERIES)
    (tmp_path / "qrels" / "test.tsv").write_bytes(QRELS)
    return tmp_path


def test_other_folders_are_refused(tmp_path):
    with raises("is-a-folder", InputError):
        contents_of(tmp_path)
    with raises("missing-file", InputError):
        contents_of(tmp_path, "beir")
    with raises("missing-file", InputError):
        read_qrels(tmp_path, from_="beir")


@pytest.mark.parametrize("data", [CORPUS, QUERIES, QRELS])
def test_files_come_back_as_they_were(data):
    fmt = find_format("beir")
    out = io.BytesIO()
    assert fmt.write(fmt.read(InputFile(None, data)), out) == ()
    if data is QRELS:
        assert out.getvalue() == QRELS
    else:
        lines = [json.loads(line) for line in out.getvalue().splitlines()]
        assert lines == [json.loads(line) for line in data.splitlines()]


def test_what_one_file_cannot_hold_is_reported(folder):
    out = io.BytesIO()
    lost = find_format("beir").write(contents_of(folder), out)
    assert [(loss.what, loss.count) for loss in lost] == [
        ("queries with their texts", 2),
        ("documents with their fields", 2),
    ]
    documents = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "text": ["t"]})
    lost = find_format("beir").write(FileContents(documents=documents), io.BytesIO())
    assert [(loss.what, loss.examples) for loss in lost] == [("fields of documents", ("query_id",))]
