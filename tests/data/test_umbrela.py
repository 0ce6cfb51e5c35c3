"""UMBRELA: its prompt, its answers, and failures, which are not grade 0."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import FileContents, contents_of
from rankgate.data.formats.registry import detect_format, find_format
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


def test_a_failure_is_no_grade():
    fmt, reason = detect_format(InputFile(None, ANSWERS))
    assert (fmt.name, reason) == ("umbrela", "the first line is an object with query, passage and judgment")
    contents = read(ANSWERS)
    assert contents.qrels.table.rows() == [(FLEA, LIFE, 3.0), (FLEA, "third", 0.0)]
    table = contents.ratings.table.select("doc_id", "rater", "grade", "reason", "comment")
    assert table.rows() == [
        (LIFE, "gpt-4o", 3.0, None, None),
        ("second", "gpt-4o", None, "the answer could not be read (result_status 0)", None),
        ("third", "gpt-4o", 0.0, None, "off topic"),
    ]
    assert [(n.what, n.count, n.examples) for n in contents.notes] == [
        ("answers that could not be read, left unrated and not 0", 1, ("line 2",))
    ]


@pytest.mark.parametrize(
    ("status", "grade"),
    [("0", None), (0.0, None), (False, None), ("false", None), ("1", 0.0), (1.0, 0.0), (True, 0.0)],
)
def test_a_status_in_other_clothes(status, grade):
    """A status as text is not a success: the 0 next to it would become a grade."""
    contents = read(lines(said(3, 1), said(0, status, "second")))
    assert contents.ratings.table["grade"].to_list() == [3.0, grade]


@pytest.mark.parametrize("status", [None, 2, "failed", [0]])
def test_a_status_that_nobody_knows(status):
    with raises("wrong-type", InputError, line=2):
        read(lines(said(3, 1), said(0, status, "second")))


def test_ids_where_there_are_some():
    contents = read(lines(said(2, 1, qid="q1", docid="d1")))
    assert contents.qrels.table.rows() == [("q1", "d1", 2.0)]
    assert contents.queries.rows() == [("q1", FLEA)]
    assert contents.documents.rows() == [("d1", LIFE)]


def test_answers_come_back_as_they_were():
    data, lost = again("umbrela", read(ANSWERS))
    assert [json.loads(line) for line in data.splitlines()] == [
        json.loads(line) for line in ANSWERS.splitlines()
    ]
    assert lost == ()
    value = said(2, 1, qid="q1", docid="d1")
    data, lost = again("umbrela", read(lines(value)))
    assert (json.loads(data), lost) == (value, ())


def test_several_answers_for_a_pair_are_ratings_only():
    contents = read(lines(said(3, 1), said(2, 1)))
    assert contents.qrels is None
    assert contents.ratings.table["grade"].to_list() == [3.0, 2.0]


def test_grades_of_another_scale_are_refused():
    table = pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "grade": [4.0]})
    with raises("grade-outside-scale", InputError):
        again("umbrela", FileContents(qrels=Qrels(table)))


def test_requests_are_a_run_with_texts():
    assert detect_format(InputFile(None, REQUESTS))[1] == "an object with query and candidates"
    contents = read(REQUESTS)
    assert contents.runs[0].table.rows() == [
        ("1037798", "7065735", -1.0),
        ("1037798", "2", -2.0),
        ("fleas", "one text", -1.0),
        ("fleas", "another", -2.0),
    ]
    assert contents.runs[0].queries.rows() == [("3", "zero")]
    assert contents.queries.rows() == [("1037798", FLEA), ("3", "none")]
    assert contents.documents.sort("doc_id").rows(named=True) == [
        {"doc_id": "2", "text": "b", "url": None},
        {"doc_id": "7065735", "text": LIFE, "url": "x"},
    ]


def test_scores_order_where_all_are_given():
    value = {"query": "q", "candidates": [{"docid": "a", "score": 1}, {"docid": "b", "score": "2"}]}
    assert read(lines(value)).runs[0].table["score"].to_list() == [1.0, 2.0]
    del value["candidates"][1]["score"]
    assert read(lines(value)).runs[0].table["score"].to_list() == [-1.0, -2.0]


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


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("umbrela", {"query": "q", "judgment": 1}, "missing-text"),
        ("umbrela", {"query": "", "passage": "p", "judgment": 1}, "missing-text"),
        ("umbrela", {"query": "q", "passage": "p", "judgment": "x"}, "not-a-number"),
        ("umbrela", [1], "wrong-type"),
        ("umbrela-requests", {"query": "q"}, "wrong-type"),
        ("umbrela-requests", {"query": 1.5, "candidates": []}, "invalid-id"),
        ("umbrela-requests", {"query": "q", "candidates": [{}]}, "invalid-id"),
        ("umbrela-requests", {"query": {"text": [1]}, "candidates": []}, "wrong-type"),
    ],
)
def test_wrong_lines_are_named(name, value, code):
    valid_line = json.loads((ANSWERS if name == "umbrela" else REQUESTS).splitlines()[0])
    with raises(code, InputError) as error:
        read(lines(valid_line, value), name)
    # a grade is read after the table is whole: its error tells the line in its text
    assert (error.value.line, "line 2" in str(error.value)) in {(2, False), (None, True)}


def test_a_candidate_or_a_query_twice():
    with raises("duplicate-document", DuplicateError, line=1):
        read(lines({"query": "q", "candidates": ["a", "a"]}))
    with raises("duplicate-query", InputError, line=2) as error:
        read(lines(*[{"query": "q", "candidates": ["a"]}] * 2))
    # a grade is read after the table is whole: its error tells the line in its text
    assert (error.value.line, "line 2" in str(error.value)) in {(2, False), (None, True)}
