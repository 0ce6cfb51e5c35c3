"""BEIR's files, one by one and as a folder."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of, read_qrels
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile, open_source
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


@pytest.mark.parametrize(
    ("data", "part", "reason"),
    [
        (CORPUS, "documents", "an object with _id and text"),
        (QUERIES, "queries", "an object with _id and text"),
        (QRELS, "qrels", "names query-id, corpus-id and score"),
        (b"\xef\xbb\xbf" + QRELS.replace(b"\n", b"\r\n"), "qrels", "names query-id"),
    ],
)
def test_each_file_is_known(data, part, reason):
    fmt, result = detect_format(InputFile(None, data))
    assert fmt.name == "beir"
    assert reason in result
    assert fmt.read(InputFile(None, data)).parts == (part,)


def test_a_folder_is_read_whole(folder):
    contents = contents_of(folder)
    assert contents.qrels.table.rows() == [("q1", "d1", 2.0), ("q1", "d2", 0.0)]
    assert contents.queries.rows() == [("q1", "jaguar speed"), ("q2", "ä")]
    assert contents.documents.rows(named=True) == [
        {"doc_id": "d1", "title": None, "text": "a jaguar", "metadata": '{"url": "x"}'},
        {"doc_id": "d2", "title": "Cars", "text": "b", "metadata": "{}"},
    ]
    assert (
        detect_format(open_source(folder))[1] == "the folder holds corpus.jsonl and queries.jsonl and qrels"
    )
    assert len(read_qrels(folder).table) == 2


def test_of_several_splits_the_test_one_is_read_and_others_are_reported(folder):
    (folder / "qrels" / "train.tsv").write_bytes(QRELS.replace(b"q1", b"q9"))
    contents = contents_of(folder)
    assert contents.qrels.table["query_id"].to_list() == ["q1", "q1"]
    assert [(n.what, n.examples) for n in contents.notes] == [
        ("other files of judgments, which were not read", ("train.tsv",))
    ]
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    with raises("several-candidates", InputError):
        contents_of(folder)


def test_other_folders_are_refused(tmp_path):
    with raises("is-a-folder", InputError):
        contents_of(tmp_path)
    with raises("missing-file", InputError):
        contents_of(tmp_path, "beir")
    with raises("missing-file", InputError):
        read_qrels(tmp_path, from_="beir")


@pytest.mark.parametrize(
    ("data", "line", "code"),
    [
        (b'{"_id": "a", "text": "x"}\n{"text": "y"}\n', 2, "invalid-id"),
        (b'{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n', 2, "duplicate-id"),
        (b'{"id": "a", "text": "x"}\n', 1, "missing-column"),
        (b"query-id\tcorpus-id\tscore\nq\td\tx\n", 2, "not-a-number"),
    ],
)
def test_wrong_lines_are_named(data, line, code):
    with raises(code, InputError) as error:
        find_format("beir").read(InputFile(None, data))
    assert error.value.line == line


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
