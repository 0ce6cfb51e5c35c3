"""Label Studio: its documented shape, individual annotators kept, nothing guessed of labels."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from rankgate.core.errors import InputError
from rankgate.data.formats.registry import find_format
from rankgate.data.read import contents_of
from support.wording import raises


def result(value, kind="rating", name="grade"):
    return {"from_name": name, "to_name": "doc", "type": kind, "id": "x", "value": {kind: value}}


def annotation(*results, who=10, **more):
    return {
        "id": "1001",
        "result": list(results),
        "was_cancelled": False,
        "completed_by": who,
        "created_at": "2021-03-09T22:16:08.728353Z",
        "lead_time": 4.288,
        **more,
    }


def task(*annotations, doc="d1", predictions=(), **data):
    fields = {"query_id": 7, "query": "red shoes", "doc_id": doc, "title": "Shoe", **data}
    return {
        "id": 1,
        "project": 83,
        "data": fields,
        "annotations": list(annotations),
        "predictions": list(predictions),
    }


@pytest.fixture
def read(tmp_path):
    def call(*tasks):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(list(tasks)))
        return contents_of(path)

    return call


EXPORT = (
    task(
        annotation(
            result(3), {"from_name": "why", "to_name": "doc", "type": "textarea", "value": {"text": ["fits"]}}
        ),
        annotation(result(2), who={"id": 2, "email": "bob@x.org"}),
        predictions=[{"model_version": "m1", "result": [result(1)], "score": 0.5}],
    ),
    task(annotation(was_cancelled=True), doc="d2"),
    task(annotation(result(["0"], "choices")), annotation(who=11), doc="d3"),
    task(doc="d4"),
)


def test_every_annotator_is_kept(read):
    outcome = read(*EXPORT)
    rows = outcome.ratings.table.select("doc_id", "rater", "grade", "reason", "comment").rows()
    assert rows == [
        ("d1", "10", 3, None, "fits"),
        ("d1", "bob@x.org", 2, None, None),
        ("d1", "m1", 1, None, None),
        ("d2", "10", None, "skipped by the annotator", None),
        ("d3", "10", 0, None, None),
        ("d3", "11", None, "the annotation has no grade", None),
    ]
    first = outcome.ratings.table.row(0, named=True)
    assert first["at"] == datetime(2021, 3, 9, 22, 16, 8, 728353, UTC)
    assert first["seconds"] == 4.288
    assert outcome.queries.rows() == [("7", "red shoes")]
    assert outcome.documents.columns == ["query_id", "doc_id", "title"]
    assert [(note.count, note.examples) for note in outcome.notes] == [(1, ("7 d4",))]


def test_out_and_back(read, tmp_path):
    outcome = read(*EXPORT)
    out = io.BytesIO()
    assert find_format("label-studio").write(outcome, out) == ()
    path = tmp_path / "again.json"
    path.write_bytes(out.getvalue())
    contents = contents_of(path)
    assert contents.ratings.table.equals(outcome.ratings.table)
    assert contents.queries.equals(outcome.queries)
    assert contents.documents.equals(outcome.documents)
    assert json.loads(out.getvalue())[0]["annotations"][0]["result"][0] == {
        "from_name": "grade",
        "to_name": "doc",
        "type": "rating",
        "value": {"rating": 3},
    }
    first, *other_tasks = json.loads(out.getvalue())
    assert len(first["annotations"]) == 2
    assert [
        (prediction["model_version"], prediction["result"][0]["value"]) for prediction in first["predictions"]
    ] == [("m1", {"rating": 1})]
    assert not any("predictions" in other_task for other_task in other_tasks)


def test_fields_that_are_no_text_are_kept_and_other_controls_are_reported(read):
    box = result({"x": 1}, "rectanglelabels", "box")
    outcome = read(task(annotation(result(1), box), price=9.5, tags=["a"], empty=None))
    assert outcome.documents.select("price", "tags").rows() == [("9.5", '["a"]')]
    assert "empty" not in outcome.documents.columns
    (note,) = outcome.notes
    assert note.what == "results of other controls, left out"
    assert note.examples == ("[0].annotations[0].result[1] (rectanglelabels)",)


def test_ratings_of_other_tools_become_tasks(tmp_path):
    path, out = tmp_path / "ratings.csv", io.BytesIO()
    path.write_text("query_id,doc_id,rater,grade,guideline\nq,a,ann,2.5,v1\nq,a,bob,,\n")
    (loss,) = find_format("label-studio").write(contents_of(path), out)
    assert (loss.what, loss.examples) == ("guidelines of ratings", ("v1",))
    (exported_task,) = json.loads(out.getvalue())
    assert exported_task["data"] == {"query_id": "q", "doc_id": "a"}
    assert exported_task["annotations"][0]["result"][0]["value"] == {"number": 2.5}
    assert exported_task["annotations"][1] == {
        "completed_by": {"email": "bob"},
        "result": [],
        "was_cancelled": True,
    }


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([task(annotation(result(["Relevant"], "choices")))], "not-a-number"),
        ([task(annotation(result(["1", "2"], "choices")))], "several-candidates"),
        ([task(annotation(result(1), result(2)))], "several-candidates"),
        ([task(annotation(result("high")))], "not-a-number"),
        ([task(annotation(result(1), who=None))], "invalid-id"),
        ([{"data": {"image": "x"}, "annotations": []}], "missing-key"),
        ([{"data": {"query": "x"}, "annotations": []}], "missing-key"),
    ],
)
def test_what_cannot_be_read(read, tasks, code):
    with raises(code, InputError):
        read(*tasks)
