"""UMBRELA's answers and requests are written as they were read; what is read of them is in tests/door."""

from __future__ import annotations

import io
import json

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import InputFile
from support.wording import raises

FLEA, LIFE = "how long is life cycle of flea", "The life cycle of a flea can last 20 days."


def lines(*values):
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def said(judgment, status, passage=LIFE, **more):
    return {
        "model": "gpt-4o",
        "query": FLEA,
        "passage": passage,
        "prompt": "...",
        "prediction": f"##final score: {judgment}",
        "judgment": judgment,
        "result_status": status,
        **more,
    }


ANSWERS = lines(said(3, 1), said(0, 0, "second"), said(0, 1, "third", reasoning="off topic"))
REQUESTS = lines(
    {
        "query": {"text": FLEA, "qid": "1037798"},
        "candidates": [
            {"doc": {"segment": LIFE, "url": "x"}, "docid": "7065735"},
            {"doc": {"segment": "b"}, "docid": 2},
        ],
    },
    {"query": "fleas", "candidates": ["one text", "another"]},
    {"query": {"text": "none", "qid": 3}, "candidates": []},
)


def read(data, name=None):
    return contents_of(InputFile(None, data), name)


def again(name, contents):
    out = io.BytesIO()
    lost = find_format(name).write(contents, out)
    return out.getvalue(), lost


def test_answers_come_back_as_they_were():
    data, lost = again("umbrela", read(ANSWERS))
    assert [json.loads(line) for line in data.splitlines()] == [
        json.loads(line) for line in ANSWERS.splitlines()
    ]
    assert lost == ()
    value = said(2, 1, qid="q1", docid="d1")
    data, lost = again("umbrela", read(lines(value)))
    assert (json.loads(data), lost) == (value, ())


def test_grades_of_another_scale_are_refused():
    table = pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "grade": [4.0]})
    with raises("grade-outside-scale", InputError):
        again("umbrela", FileContents(qrels=Qrels(table)))


def test_requests_come_back():
    first = read(REQUESTS)
    data, lost = again("umbrela-requests", first)
    assert [loss.what for loss in lost] == ["states of queries"]
    second = read(data)
    assert second.runs[0].table.rows() == first.runs[0].table.rows()
    assert json.loads(data.splitlines()[0])["candidates"][0] == {
        "doc": {"segment": LIFE, "url": "x"},
        "docid": "7065735",
        "score": -1,
    }
