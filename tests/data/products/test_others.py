"""SearchTweak, RankQuest, Quaerite and GOV.UK: their variants and traps."""

from __future__ import annotations

import json

import pytest

from rankgate.core.errors import DuplicateError, InputError
from support.wording import raises


def test_searchtweak_of_the_api(held, grades, written):
    """Whole grades are integers, others have two decimals; null is unrated."""
    answer = [
        {"grade": 2.67, "keyword": "phone", "position": 2, "doc": "a"},
        {"grade": 3, "keyword": "phone", "position": 1, "doc": 7},
        {"grade": None, "keyword": "steel", "position": 1, "doc": "c"},
    ]
    contents = held(answer)
    assert grades(contents) == {("phone", "a"): 2.67, ("phone", "7"): 3.0}
    assert contents.qrels.unjudged == ("steel",)
    assert contents.documents.rows() == [("phone", "a", "2"), ("phone", "7", "1"), ("steel", "c", "1")]
    data, losses = written(contents, "searchtweak")
    answer[1]["doc"] = "7"
    assert (json.loads(data), losses) == (answer, {})
    assert b'"grade": 3,' in data


def test_searchtweak_rounds_what_it_is_given(held, written):
    contents = held("query,docid,rating\na,1,0.125\na,2,0.5\nb,,\n")
    data, losses = written(contents, "searchtweak")
    assert [row["grade"] for row in json.loads(data)] == [0.12, 0.5]
    assert losses == {"grades beyond two decimals": 1, "queries without judgments": 1}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ([{"grade": 1, "keyword": "a"}], "missing-key"),
        ([{"grade": "x", "keyword": "a", "doc": "1"}], "not-a-number"),
        ([{"grade": 1, "keyword": "a", "doc": "1", "position": "2"}], "not-a-whole-number"),
        ([{"grade": 1, "keyword": "a", "doc": "1"}, 3], "wrong-type"),
        ([{"grade": 1, "keyword": "", "doc": "1"}], "invalid-id"),
    ],
)
def test_searchtweak_what_cannot_be(held, answer, code):
    with raises(code, InputError):
        held(answer, "searchtweak")


def test_searchtweak_in_columns(kind, held, grades, written):
    text = "grade,keyword,doc\n2.67,phone,a\n3,phone,b\n,steel,c\n"
    contents = held(text)
    assert kind(text) == "searchtweak-csv"
    assert grades(contents) == {("phone", "a"): 2.67, ("phone", "b"): 3.0}
    assert written(contents, "searchtweak-csv") == (text.encode(), {})


def case(id_, context, *ratings):
    rated = [{"documentId": doc, "rating": grade, **extra} for doc, grade, extra in ratings]
    return {"id": id_, "searchContext": context, "ratings": rated}


def test_rankquest_contexts_labels_and_comments(held, grades, result, written):
    cases = [
        case("a=", {"q": "my", "size": "5"}, ("1", 3, {"label": "x", "comment": None})),
        case("b=", {"page": 2, "lang": "en"}, ("1", None, {}), ("2", 0, {"comment": "no"})),
        case("c=", {"q": "nothing"}),
    ]
    contents = held(cases)
    assert grades(contents) == {("a=", "1"): 3.0, ("b=", "2"): 0.0}
    assert contents.qrels.unjudged == ("c=",)
    assert contents.queries["text"].to_list() == ["my", '{"page": 2, "lang": "en"}', "nothing"]
    assert contents.queries.columns == ["query_id", "text", "size", "page", "lang"]
    assert result(contents)["pairs without a grade, which are unrated"] == (1, ("b= 1",))
    data, losses = written(contents, "rankquest")
    assert losses == {}
    order = {written_case["id"]: written_case for written_case in json.loads(data)}
    for original in cases:
        rated = {rating["documentId"]: rating for rating in original["ratings"]}
        assert {r["documentId"]: r for r in order[original["id"]]["ratings"]} == rated
    with raises("duplicate-query", InputError):
        held([cases[0], cases[0]])


def test_quaerite_behind_its_mark(kind, held, grades, result, written):
    text = "\ufeffrating,docid,query\r\n4,602,alien\r\n,7,robots\r\n3,602,alien\r\n4,602,alien\r\n"
    contents = held(text)
    assert kind(text) == "quaerite"
    assert grades(contents) == {("alien", "602"): 4.0}
    assert contents.qrels.unjudged == ("robots",)
    assert result(contents)["judgments that a later line corrects, passed over"] == (
        1,
        ("alien 602 (line 4)",),
    )
    data, losses = written(contents, "quaerite")
    assert data == b"\xef\xbb\xbfrating,docid,query\n4,602,alien\n,7,robots\n"
    assert losses == {}


def test_govuk(kind, held, grades, written):
    text = (
        "queryEntry.query,queryEntry.targets.score,queryEntry.targets.uri\n"
        "passport,3,/renew-passport\npassport,0,/visas\n"
    )
    contents = held(text)
    assert kind(text) == "govuk"
    assert grades(contents) == {("passport", "/renew-passport"): 3.0, ("passport", "/visas"): 0.0}
    assert written(contents, "govuk") == (text.encode(), {})
    with raises("duplicate-document", DuplicateError, line=4) as error:
        held(text + "passport,1,/renew-passport\n")
    assert error.value.line == 4


def test_a_column_that_is_not_there_is_named(held):
    for name in ("govuk", "quaerite", "searchtweak-csv", "quepid-csv"):
        with raises("missing-column", InputError, line=1):
            held("a,b\n1,2\n", name)
