"""Argilla: records as its library exports them, annotators and models kept apart."""

from __future__ import annotations

import io
import json

import pytest

from rankgate.data.formats.registry import find_format
from rankgate.data.read import contents_of
from support.wording import raises


def record(responses, doc="d1", suggestions=None, **fields):
    return {
        "id": "r1",
        "fields": {"query": "red shoes", "title": "Shoe", **fields},
        "metadata": {"query_id": "q1", "doc_id": doc},
        "suggestions": suggestions or {},
        "responses": responses,
        "vectors": {},
        "_server_id": None,
    }


def said(*answers):
    return [{"value": value, "user_id": user} for user, value in answers]


RECORDS = (
    record(
        {"relevance": said(("u1", 3), ("u2", 1)), "comment": said(("u1", "fits"))},
        suggestions={"relevance": {"value": 2, "score": 0.5, "agent": "m1"}},
    ),
    record({"relevance": said(("u1", "0")), "reason": said(("u2", "blank"))}, doc="d2"),
    record({}, doc="d3"),
)


@pytest.fixture
def read(tmp_path):
    def call(*records):
        path = tmp_path / "records.json"
        path.write_text(json.dumps(list(records)))
        return contents_of(path)

    return call


def test_every_annotator_is_kept_and_models_apart(read):
    outcome = read(*RECORDS)
    columns = ("doc_id", "rater", "grade", "reason", "comment")
    assert outcome.ratings.table.select(columns).rows() == [
        ("d1", "u1", 3.0, None, "fits"),
        ("d1", "u2", 1.0, None, None),
        ("d1", "m1", 2.0, None, None),
        ("d2", "u1", 0.0, None, None),
        ("d2", "u2", None, "blank", None),
    ]
    assert outcome.queries.rows() == [("q1", "red shoes")]
    assert outcome.documents["title"].to_list() == ["Shoe"] * 3
    assert outcome.extra["argilla"] == {"question": "relevance", "models": ["m1"]}
    assert [(note.what, note.count) for note in outcome.notes] == [
        ("records without responses, left unrated", 1)
    ]


def test_what_is_written_is_read_again(read):
    first = read(*RECORDS)
    out = io.BytesIO()
    assert find_format("argilla").write(first, out) == ()
    written_records = json.loads(out.getvalue())
    assert written_records[0]["responses"]["relevance"] == said(("u1", 3), ("u2", 1))
    assert written_records[0]["suggestions"]["relevance"]["agent"] == "m1"
    second = read(*written_records)
    assert second.ratings.table.equals(first.ratings.table)
    assert second.documents.equals(first.documents)


def test_what_cannot_be_a_rating_is_named(read):
    with raises("several-candidates"):
        read(record({"a": said(("u1", 1)), "b": said(("u1", 2))}))
    with raises("missing-key"):
        read({**record({}), "metadata": {}})
    contents = read(record({"a": said(("u1", 1)), "tags": said(("u1", ["x"]))}))
    assert [note.what for note in contents.notes] == ["questions that are not a grade, left out"]
