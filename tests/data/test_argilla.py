"""Records of Argilla are written and read again; what is read of them is in tests/door."""

from __future__ import annotations

import io
import json

import pytest

from rankgate.data.formats.registry import find_format
from rankgate.data.read import contents_of


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
