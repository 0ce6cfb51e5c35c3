"""What formats of products write, and what else small files do not show; those are in tests/door."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import contents_of
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Ratings
from rankgate.data.streams.source import InputFile
from support.wording import raises


def held(value, name=None):
    """Everything that a text, or a value as JSON, holds."""
    text = value if isinstance(value, str) else json.dumps(value)
    return contents_of(InputFile(None, text.encode()), name)


def written(contents, name):
    """The bytes of contents in a format, and counts of the losses."""
    out = io.BytesIO()
    losses = find_format(name).write(contents, out)
    return out.getvalue(), {loss.what: loss.count for loss in losses}


def grades(contents):
    """The judgments of contents: ``{(query, document): grade}``."""
    return {(query, doc): grade for query, doc, grade in contents.qrels.table.rows()}


@pytest.mark.parametrize(
    ("sheet", "name", "code"),
    [
        ("query,docid,rating\na,1,0.5\n", "rank-eval", "grade-outside-scale"),
        ("query,docid,rating\na,1,-1\n", "rank-eval", "grade-outside-scale"),
        ("query,docid,rating\na,x y,2\n", "quepid-ltr", "invalid-id"),
        ("query,docid,rating\na,1,2\n", "quepid-snapshot", "no-rankings"),
    ],
    ids=["fraction", "negative", "blank", "no run"],
)
def test_what_a_format_cannot_hold(sheet, name, code):
    with raises(code, InputError):
        written(held(sheet), name)


def test_rank_eval_for_queries_from_elsewhere():
    data, losses = written(held("query,docid,rating\nred shoes,1,2\n"), "rank-eval")
    assert losses == {}
    document = json.loads(data)
    (rated_request,) = document["requests"]
    assert rated_request["params"] == {"query": "red shoes"}
    assert rated_request["template_id"] == document["templates"][0]["id"]
    assert document["metric"]


def test_results_of_opensearch_are_runs():
    def result(system, text, docs):
        metrics = [{"metric": "NDCG@5", "value": 0.5}]
        fields = {"searchText": text, "documentIds": docs, "metrics": metrics}
        return {"_source": {"searchConfigurationId": system, **fields}}

    contents = held({"hits": {"hits": [result("a", "q", ["x", 7]), result("b", "q", [])]}})
    assert [run.name for run in contents.runs] == ["a", "b"]
    assert contents.runs[0].table.rows() == [("q", "x", -1.0), ("q", "7", -2.0)]
    assert contents.runs[1].queries.rows() == [("q", "zero")]
    rows = contents.values.select("run", "metric", "value").rows()
    assert rows == [("a", "NDCG@5", 0.5), ("b", "NDCG@5", 0.5)]


def test_searchtweak_rounds_what_it_is_given():
    data, losses = written(held("query,docid,rating\na,1,0.125\na,2,0.5\nb,,\n"), "searchtweak")
    assert [row["grade"] for row in json.loads(data)] == [0.12, 0.5]
    assert losses == {"grades beyond two decimals": 1, "queries without judgments": 1}


def test_rankquest_keeps_labels_and_comments():
    ratings = {
        "a=": [{"documentId": "1", "rating": 3, "label": "x", "comment": None}],
        "b=": [{"documentId": "1", "rating": None}, {"documentId": "2", "rating": 0, "comment": "no"}],
        "c=": [],
    }
    contexts = {"a=": {"q": "my", "size": "5"}, "b=": {"page": 2, "lang": "en"}, "c=": {"q": "nothing"}}
    contents = held(
        [{"id": name, "searchContext": contexts[name], "ratings": rated} for name, rated in ratings.items()]
    )
    assert contents.queries.columns == ["query_id", "text", "size", "page", "lang"]
    data, losses = written(contents, "rankquest")
    assert losses == {}
    cases = {
        case["id"]: sorted(case["ratings"], key=lambda row: row["documentId"]) for case in json.loads(data)
    }
    assert cases == ratings


def test_cells_with_commas_quotes_and_newlines():
    names = ["a,b", 'say "x"', "two\nlines", "cr\rhere", " blanks "]
    contents = held({"queries": [{"query": n, "ratings": {n: 1}} for n in names]})
    for name in ("quepid-csv", "quepid-detail", "quepid-book-csv", "quaerite", "govuk"):
        reread = contents_of(InputFile(None, written(contents, name)[0]), name)
        assert grades(reread) == {(n, n): 1.0 for n in names}, name


def test_documents_that_are_rated_only_stay_so():
    documents = [
        {"id": doc, "explain": None, "rated_only": doc == "13", "fields": None} for doc in ("11", "13", 12)
    ]
    query = {"query_id": 5, "query_text": "star wars", "ratings": {"11": 3, "13": 1}}
    snapshot = {"name": "no vector", "time": "2024-04-23T10:00:00Z", "docs": {"5": documents}}
    contents = held({**snapshot, "queries": [query], "scores": []})
    assert contents.runs[0].tag == "no vector"
    data, losses = written(contents, "quepid-snapshot")
    assert losses == {}
    flags = {doc["id"]: doc["rated_only"] for doc in json.loads(data)["docs"]["5"]}
    assert flags == {"11": False, 12: False, "13": True}
    lines, _ = written(contents.only("runs"), "trec")
    assert b" 13 " not in lines


def test_a_run_becomes_a_snapshot():
    data, losses = written(held("1 Q0 b 1 2.5 bm25\n1 Q0 a 2 1.5 bm25\n"), "quepid-snapshot")
    snapshot = json.loads(data)
    assert (snapshot["name"], [doc["id"] for doc in snapshot["docs"]["1"]]) == ("bm25", ["b", "a"])
    assert losses == {"scores (ranks are kept)": 2}


def test_a_snapshot_as_csv_has_windows_line_ends():
    header = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position"
    text = f"{header}\r\nnew,2024-04-23,7,a,1,1\r\nold,2024-04-22,7,a,2,1\r\n"
    contents = held(text)
    assert [run.name for run in contents.runs] == ["new", "old"]
    assert written(contents, "quepid-snapshot-csv") == (text.encode(), {})


def test_a_books_scale_has_names():
    pair = {"query_text": "q", "doc_id": "1", "judgements": [{"rating": 2.0, "user_email": "a"}]}
    labels = {"0": "Poor", "3": "Perfect"}
    scale = held({"scale": [0, 1, 2, 3], "scale_with_labels": labels, "query_doc_pairs": [pair]}).qrels.scale
    assert (scale.lowest, scale.highest) == (0, 3)
    assert scale.labels == ((0, "Poor"), (3, "Perfect"))


def test_a_book_in_columns_says_which_ratings_have_no_grade():
    """An empty cell is unrated; the answer "cannot tell" would be lost silently."""
    rows = [("q", "1", "ann", 3.0), ("q", "2", "ann", None), ("q", "2", "bob", 1.0)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "rater", "grade"], orient="row")
    text, losses = written(FileContents(ratings=Ratings(table)), "quepid-book-csv")
    assert text.decode() == "query,docid,ann,bob\nq,1,3,\nq,2,,1\n"
    assert losses == {"ratings without a grade, written as unrated": 1}
