"""Tasks of Label Studio are written and read again; what is read of them is in tests/door."""

from __future__ import annotations

import io
import json

import pytest

from rankgate.data.formats.registry import find_format
from rankgate.data.read import contents_of


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
