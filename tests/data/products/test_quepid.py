"""Quepid's files: every variant, and the traps of each."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.qrels import Ratings
from support.wording import raises

STAR = {("star wars", "11"): 3.0, ("star wars", "12180"): 0.0}


@pytest.mark.parametrize(
    "text",
    [
        "query,docid,rating\nstar wars,11,3\nstar wars,12180,0",
        "query,doc_id,rating\nstar wars,11,3\nstar wars,12180,0\n",
        "rating,query,docid\n3,star wars,11\n0,star wars,12180\n",
        "Query,DocID,Rating\nstar wars,11,3.0\nstar wars,12180,0.0\n",
        "\ufeffquery,docid,rating\r\nstar wars,11,3\r\nstar wars,12180,0\r\n",
        '"query","docid","rating"\n"star wars","11","3"\n"star wars","12180","0"\n',
        "query,docid,rating\n\nstar wars,11,3\n\n\nstar wars,12180,0\n\n",
        "query,docid,rating\nstar wars,11,3\nstar wars,12180,0\nstar wars,11,3\n",
    ],
)
def test_basic_ratings_in_all_their_forms(kind, held, grades, text):
    assert kind(text) in {"quepid-csv", "quaerite"}
    assert grades(held(text)) == STAR


def test_other_columns_are_fields_of_documents(held, grades):
    text = "title,query,docid,rating,judge_note\nStar Wars,star wars,11,3,\n,star wars,12180,0,dull\n"
    contents = held(text)
    assert grades(contents) == STAR
    assert contents.documents.columns == ["query_id", "doc_id", "title", "judge_note"]
    assert contents.documents["judge_note"].to_list() == [None, "dull"]


def test_an_empty_rating_is_not_a_zero(held, grades, result, written):
    contents = held("query,docid,rating\na,1,\na,2,0\nb,,\n")
    assert grades(contents) == {("a", "2"): 0.0}
    assert contents.qrels.unjudged == ("b",)
    assert result(contents)["pairs without a grade, which are unrated"] == (1, ("a 1",))
    assert written(contents, "quepid-csv")[0] == b"query,docid,rating\na,2,0\na,1,\nb,,"


def test_the_guard_against_formulas_is_one_blank(held, grades, written):
    """Exactly one blank is removed, and added before a formula; a number is not a formula."""
    contents = held("query,docid,rating\n -phone,1,3\n  =x,1,1\n a,1,2\n +1,@x,0\n")
    assert grades(contents) == {("-phone", "1"): 3.0, ("  =x", "1"): 1.0, (" a", "1"): 2.0, ("+1", "@x"): 0.0}
    data, losses = written(contents, "quepid-csv")
    assert data == b"query,docid,rating\n -phone,1,3\n  =x,1,1\n a,1,2\n+1, @x,0"
    assert losses == {}
    assert grades(held(data)) == grades(contents)


def test_a_blank_that_would_be_read_as_a_guard_is_reported(held, written):
    contents = held('{"queries": [{"query": " -x", "ratings": {"1": 1}}]}')
    assert written(contents, "quepid-csv")[1] == {"ids with a first blank, which is read as a guard": 1}


def test_cells_with_commas_quotes_and_newlines(held, grades, written):
    names = ["a,b", 'say "x"', "two\nlines", "cr\rhere", " blanks "]
    contents = held({"queries": [{"query": n, "ratings": {n: 1}} for n in names]})
    for name in ("quepid-csv", "quepid-detail", "quepid-book-csv", "quaerite", "govuk"):
        reread = held(written(contents, name)[0], name)
        assert grades(reread) == {(n, n): 1.0 for n in names}, name


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("query,docid,rating\na,1,3\n\na,1,2\n", 4, "duplicate-document"),
        ("query,docid,rating\na,1,\na,2,3\na,2,2\n", 4, "duplicate-document"),
        ("query,docid,rating\na,1,three\n", 2, "not-a-number"),
        ("query,docid,rating\na,1,inf\n", 2, "not-a-number"),
        ("query,docid,rating\na,,3\n", 2, "empty-value"),
        ("query,docid,rating\n,1,3\n", 2, "empty-value"),
        ("query,docid,rating\na,1,3,4\n", 2, "wrong-field-count"),
        ("query,docid,rating\na,1\n", 2, "wrong-field-count"),
        ("query,docid,rating,Rating\na,1,3,4\n", 1, "duplicate-column"),
        ('query,docid,rating\na,"1,3\n', 2, "wrong-field-count"),
    ],
)
def test_wrong_ratings_are_an_error_with_its_line(held, text, line, code):
    with raises(code, InputError, line=line) as error:
        held(text, "quepid-csv")
    assert isinstance(error.value, DuplicateError) == (code == "duplicate-document")


def test_lines_of_ranklib_without_features(held, grades, written):
    text = "3 qid:1 # 1370 star trek\n\n0\tqid:1\t # 11\tstar trek\r\n2 qid:x # 7"
    contents = held(text)
    assert grades(contents) == {("1", "1370"): 3.0, ("1", "11"): 0.0, ("x", "7"): 2.0}
    assert contents.queries.rows() == [("1", "star trek")]
    data, losses = written(held("query,docid,rating\nstar trek,7,2\nx,8,0.5\n"), "quepid-ltr")
    assert data == b"2 qid:1 # 7 star trek\n0.5 qid:2 # 8 x\n"
    assert losses == {"ids of queries; they are numbered and kept as texts": 2}
    with raises("invalid-syntax", InputError, line=2):
        held("3 qid:1 # 1370\nx\n", "quepid-ltr")
    with raises("invalid-id", InputError):
        written(held("query,docid,rating\na,x y,2\n"), "quepid-ltr")


def test_numbers_of_queries_become_their_texts_again(held, written):
    contents = held("3 qid:1 # 1370 star trek\n")
    data, losses = written(contents, "quepid-csv")
    assert data == b"query,docid,rating\nstar trek,1370,3"
    assert losses == {"ids of queries; their texts are the ids": 1}
    duplicate_texts = held("3 qid:1 # 1 jaguar\n2 qid:2 # 1 jaguar\n")
    data, losses = written(duplicate_texts, "quepid-csv")
    assert data == b"query,docid,rating\n1,1,3\n2,1,2"
    assert losses == {"queries with their texts": 2}


SNAPSHOT = {
    "name": "no vector",
    "time": "2024-04-23T10:00:00Z",
    "docs": {
        "5": [
            {"id": "11", "explain": None, "rated_only": False, "fields": None},
            {"id": "13", "explain": None, "rated_only": True, "fields": None},
            {"id": 12, "explain": None, "rated_only": False, "fields": None},
        ],
        "6": [],
    },
    "queries": [
        {"query_id": 5, "query_text": "star wars", "ratings": {"11": 3, "13": 1}},
        {"query_id": 6, "query_text": "star trek", "ratings": {}},
        {"query_id": 7, "query_text": "alien", "ratings": {"1": None}},
    ],
    "scores": [{"query_id": 5, "score": 0.5, "all_rated": False, "number_of_results": 2}],
}


def test_documents_that_are_rated_only_were_not_retrieved(held, grades, result, written):
    contents = held(SNAPSHOT)
    (run,) = contents.runs
    assert run.table.rows() == [("star wars", "11", -1.0), ("star wars", "12", -2.0)]
    assert run.queries.rows() == [("star trek", "zero")]
    assert run.tag == "no vector"
    assert grades(contents) == {("star wars", "11"): 3.0, ("star wars", "13"): 1.0}
    assert contents.values.select("query_id", "metric", "value").rows() == [("star wars", "score", 0.5)]
    unretrieved = result(contents)["documents that are rated only, which were not retrieved"]
    assert unretrieved == (1, ("star wars 13",))
    data, losses = written(contents, "quepid-snapshot")
    assert losses == {}
    flags = {doc["id"]: doc["rated_only"] for doc in json.loads(data)["docs"]["5"]}
    assert flags == {"11": False, 12: False, "13": True}
    lines, _ = written(contents.only("runs"), "trec")
    assert b" 13 " not in lines


def test_queries_with_one_text_are_called_by_their_numbers(held):
    """Two queries with the same text cannot be distinguished by it."""
    snapshot = json.loads(json.dumps(SNAPSHOT))
    snapshot["queries"][1]["query_text"] = "star wars"
    contents = held(snapshot)
    assert {*contents.runs[0].table["query_id"]} == {"5"}
    assert contents.queries.select("query_id", "text").rows()[:2] == [("5", "star wars"), ("6", "star wars")]


def test_a_run_becomes_a_snapshot(held, written):
    run = held("1 Q0 b 1 2.5 bm25\n1 Q0 a 2 1.5 bm25\n")
    data, losses = written(run, "quepid-snapshot")
    snapshot = json.loads(data)
    assert (snapshot["name"], [doc["id"] for doc in snapshot["docs"]["1"]]) == ("bm25", ["b", "a"])
    assert losses == {"scores (ranks are kept)": 2}
    with raises("no-rankings", InputError):
        written(held("query,docid,rating\na,1,2\n"), "quepid-snapshot")


def test_exports_of_a_case_in_rows(held, grades):
    """A row without a position was not retrieved; one without a rating is unrated."""
    header = "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating"
    contents = held(f"{header}\nT,C,7,a,1,2,x,3\nT,C,7,a,2,1,y,\nT,C,7,a,3,,z,0\nT,C,7,b,,,,\n")
    assert contents.runs[0].table.rows() == [("a", "1", -2.0), ("a", "2", -1.0)]
    assert contents.runs[0].queries.rows() == [("b", "zero")]
    assert grades(contents) == {("a", "1"): 3.0, ("a", "3"): 0.0}
    assert contents.qrels.unjudged == ("b",)
    assert contents.documents.rows() == [("1", "x"), ("2", "y"), ("3", "z")]
    with raises("duplicate-position", InputError):
        held(f"{header}\nT,C,7,a,1,1,x,3\nT,C,7,a,2,1,y,\n")


def test_a_snapshot_as_csv_has_windows_line_ends(held, written):
    header = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position"
    contents = held(f"{header}\r\nnew,2024-04-23,7,a,1,1\r\nold,2024-04-22,7,a,2,1\r\n")
    assert [run.name for run in contents.runs] == ["new", "old"]
    data, losses = written(contents, "quepid-snapshot-csv")
    assert losses == {}
    assert data == (f"{header}\r\nnew,2024-04-23,7,a,1,1\r\nold,2024-04-22,7,a,2,1\r\n".encode())


def test_a_book_is_ratings_until_it_is_resolved(held, grades):
    def judged(rating, email, **more):
        return {"rating": rating, "user_email": email, **more}

    def pair(doc, *judgements):
        return {"query_text": "laptop", "doc_id": doc, "judgements": [*judgements]}

    book = {"query_doc_pairs": [pair("1", judged(3.0, "a@x"), judged(1.0, None)), pair("2")]}
    contents = held(book)
    rows = contents.ratings.table.select("doc_id", "rater", "grade").rows()
    assert rows == [("1", "a@x", 3.0), ("1", "Anonymous", 1.0)]
    assert contents.qrels is None
    book = {"query_doc_pairs": [pair("1", judged(3.0, "a@x"), judged(None, "b@x", unrateable=True))]}
    contents = held(book)
    assert grades(contents) == {("laptop", "1"): 3.0}
    assert contents.ratings.table["reason"].to_list() == [None, "unrateable"]
    book["query_doc_pairs"][0]["judgements"][1]["rating"] = 0
    with raises("contradiction", InputError):
        held(book)
    book["query_doc_pairs"][0]["judgements"].pop()
    book["query_doc_pairs"].append(book["query_doc_pairs"][0])
    with raises("duplicate-document", InputError):
        held(book)


def test_a_books_scale_has_names(held):
    pair = {"query_text": "q", "doc_id": "1", "judgements": [{"rating": 2.0, "user_email": "a"}]}
    labels = {"0": "Poor", "3": "Perfect"}
    book = {"scale": [0, 1, 2, 3], "scale_with_labels": labels, "query_doc_pairs": [pair]}
    scale = held(book).qrels.scale
    assert (scale.lowest, scale.highest) == (0, 3)
    assert scale.labels == ((0, "Poor"), (3, "Perfect"))


def test_a_book_in_columns(held, result, written):
    text = "query,docid,ann@x,Anonymous\nlaptop,1,3,1\nlaptop,2,,0.5\nmouse,9,,\n"
    contents = held(text)
    rows = contents.ratings.table.select("doc_id", "rater", "grade").rows()
    assert rows == [("1", "ann@x", 3.0), ("1", "Anonymous", 1.0), ("2", "Anonymous", 0.5)]
    assert contents.qrels is None
    assert result(contents)["pairs without a judgement"] == (1, ("mouse 9",))
    assert written(contents, "quepid-book-csv") == (text.encode(), {})
    with raises("duplicate-document", InputError, line=3) as error:
        held("query,docid,ann\nlaptop,1,3\nlaptop,1,3\n", "quepid-book-csv")
    assert error.value.line == 3


def test_a_book_in_columns_says_which_ratings_have_no_grade(written):
    """An empty cell is unrated; the answer "cannot tell" would be lost silently."""
    rows = [("q", "1", "ann", 3.0), ("q", "2", "ann", None), ("q", "2", "bob", 1.0)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "rater", "grade"], orient="row")
    text, losses = written(FileContents(ratings=Ratings(table)), "quepid-book-csv")
    assert text.decode() == "query,docid,ann,bob\nq,1,3,\nq,2,,1\n"
    assert losses == {"ratings without a grade, written as unrated": 1}


@pytest.mark.parametrize("judge", ["doc_id", "query_id", "rater", "grade", "row", "judge 0"])
def test_a_judge_may_be_called_as_our_own_columns_are(held, judge):
    contents = held(f"query,docid,ann,{judge}\nlaptop,1,3,2\n", "quepid-book-csv")
    rows = contents.ratings.table.select("doc_id", "rater", "grade").rows()
    assert rows == [("1", "ann", 3.0), ("1", judge, 2.0)]


def test_a_column_of_something_else_is_no_judge(kind):
    """A sheet of scores or texts is still read as before."""
    for text in ("query,docid,score\na,1,2\n", "query,docid,title\na,1,x\n"):
        assert kind(text) == "csv", text
