"""Features for learning to rank: reading and round trips."""

from __future__ import annotations

import io

import polars as pl
import pytest

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import FileContents, contents_of
from rankgate.data.files.conversion import convert
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import InputFile
from support.wording import raises

RANKLIB = b"""# made by hand
3 qid:1 1:0.5 2:12.0 # 1370 star trek
0 qid:1 1:0 2:-1e-3 # 11 star trek

2 qid:2 7:1 # 1370 alien
"""
LETOR = b"2 qid:10032 1:0.056537 2:0.000000 #docid = GX029-35-5894638 inc = 0.0119881 prob = 0.139842\n"


def read(data):
    return find_format("svmlight").read(InputFile(None, data))


def again(contents):
    out = io.BytesIO()
    lost = find_format("svmlight").write(contents, out)
    return out.getvalue(), lost


@pytest.mark.parametrize("data", [RANKLIB, LETOR, b"1 1:0.5 3:2\n", b"0.5\t1:.5\r\n"])
def test_it_is_known_by_its_features(data):
    fmt, reason = detect_format(InputFile(None, data))
    assert (fmt.name, reason) == ("svmlight", "the first line is a grade with numbered features")


@pytest.mark.parametrize("data", [b"3 qid:1 # 1370 star trek\n", b"1 0 a 2\n", b"1 a:b 2\n"])
def test_other_lines_are_of_other_formats(data):
    assert detect_format(InputFile(None, data))[0].name != "svmlight"


def test_grades_documents_texts_and_features():
    contents = read(RANKLIB)
    assert contents.qrels.table.rows() == [("1", "1370", 3.0), ("1", "11", 0.0), ("2", "1370", 2.0)]
    assert contents.queries.rows() == [("1", "star trek"), ("2", "alien")]
    features = contents.extra["svmlight"]["features"]["features"].to_list()
    assert features == ["1:0.5 2:12.0", "1:0 2:-1e-3", "7:1"]


def test_letor_names_its_documents():
    contents = read(LETOR)
    assert contents.qrels.table.rows() == [("10032", "GX029-35-5894638", 2.0)]
    assert contents.queries is None


def test_sizes_of_queries_beside_the_file(tmp_path):
    path = tmp_path / "rank.train"
    path.write_text("1 1:1\n0 1:2\n4 2:1\n")
    with raises("wrong-shape", InputError, line=1) as error:
        contents_of(path)
    assert error.value.line == 1
    (tmp_path / "rank.train.query").write_text("2\n1\n")
    contents = contents_of(path)
    assert contents.qrels.table.rows() == [("1", "1", 1.0), ("1", "2", 0.0), ("2", "3", 4.0)]
    result = {note.what: (note.count, note.examples) for note in contents.notes}
    assert result == {
        "queries from the file of sizes next to it, numbered from 1": (2, ()),
        "rows without a document id; their line numbers are the ids": (3, ("1", "2", "3")),
    }
    (tmp_path / "rank.train.query").write_text("2\n2\n")
    with raises("wrong-shape", InputError):
        contents_of(path)
    (tmp_path / "rank.train.query").write_text("2\nx\n")
    with raises("not-a-whole-number", InputError):
        contents_of(path)


@pytest.mark.parametrize(
    ("data", "line", "code"),
    [
        (b"1 qid:1 1:2 # a\n1 qid:1 1:x # b\n", 2, "invalid-syntax"),
        (b"1 qid:1 1:2 # a\nx qid:1 1:2 # b\n", 2, "not-a-number"),
        (b"1 qid:1 1:2 # a\nnan qid:1 1:2 # b\n", 2, "not-a-number"),
        (b"1 qid:1 1:2 # a\n1 1:2 # b\n", 2, "wrong-shape"),
        (b"1 qid:1 1:2 # \xff\n", 1, "not-utf8"),
    ],
)
def test_wrong_lines_are_named(data, line, code):
    with raises(code, InputError) as error:
        read(data)
    assert error.value.line == line


def test_a_document_twice_is_an_error():
    with raises("duplicate-document", DuplicateError, line=2):
        read(b"1 qid:1 1:2 # a\n0 qid:1 1:3 # a\n")


def test_it_comes_back_as_it_was():
    data, lost = again(read(RANKLIB))
    assert lost == ()
    assert data.decode().splitlines() == [
        "3 qid:1 1:0.5 2:12.0 # 1370 star trek",
        "0 qid:1 1:0 2:-1e-3 # 11 star trek",
        "2 qid:2 7:1 # 1370 alien",
    ]
    data, lost = again(read(LETOR))
    assert (read(data).qrels.table.rows(), lost) == ([("10032", "GX029-35-5894638", 2.0)], ())


def test_judgments_from_elsewhere():
    table = pl.DataFrame({"query_id": ["red shoes"], "doc_id": ["a"], "grade": [0.5]})
    data, lost = again(FileContents(qrels=Qrels(table)))
    assert data == b"0.5 qid:1 # a red shoes\n"
    assert [(loss.what, loss.examples) for loss in lost] == [
        ("ids of queries with blanks; they are numbered", ("red shoes",))
    ]


def test_features_are_a_loss_elsewhere(tmp_path):
    (tmp_path / "x").write_bytes(RANKLIB)
    lost = convert(tmp_path / "x", tmp_path / "y.csv").losses
    assert ("fields that only svmlight uses", ("features",)) in [(loss.what, loss.examples) for loss in lost]


def test_real_features(shared):
    for name, rows, queries in (("train", 3005, 201), ("test", 768, 50)):
        table = contents_of(shared / f"lightgbm-lambdarank/rank.{name}.gz").qrels.table
        assert (len(table), table["query_id"].n_unique()) == (rows, queries)
        assert (table["grade"].min(), table["grade"].max()) == (0, 4)
