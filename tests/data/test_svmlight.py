"""Features for learning to rank: real files and round trips; small files are in tests/door."""

from __future__ import annotations

import io

import polars as pl

from rankgate.data import FileContents, contents_of
from rankgate.data.files.conversion import convert
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import InputFile

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
