"""RRE and Elasticsearch: every form that they read or answer."""

from __future__ import annotations

import pytest

from rankgate.core.errors import DuplicateError, InputError
from support.wording import raises


def asked(text, relevant, **more):
    return {"placeholders": {"$query": text}, "relevant_documents": relevant, **more}


GAIN, ARRAY = {"1": {"gain": 3}, "2": {"gain": 2}}, {"2": ["2"], "3": ["1"]}
MODES = {"rre": GAIN, "rre-array": ARRAY}
PAIRS = {("fender", "1"): 3.0, ("fender", "2"): 2.0}


@pytest.mark.parametrize("name", MODES)
def test_rre_in_topics_in_groups_and_flat(held, kind, grades, rewritten, name):
    """The mode is recognised by the type of its values, in each of the three shapes."""
    relevant = MODES[name]
    query = {"template": "t.json", "placeholders": {"$query": "fender"}}
    group = {"name": "g", "queries": [query], "relevant_documents": relevant}
    for shape in (
        {"topics": [{"description": "d", "query_groups": [group]}]},
        {"query_groups": [group]},
        {"queries": [asked("fender", relevant)]},
    ):
        document = {"index": "i", "id_field": "id", **shape}
        assert kind(document) == name
        assert grades(held(document)) == PAIRS
        assert rewritten(held(document), name) == (document, {})


def test_rre_gain_mode_becomes_array_mode_and_back(held, rewritten):
    """Quepid writes one mode and reads the other."""
    document = {"index": "i", "queries": [asked("fender", GAIN)]}
    array, losses = rewritten(held(document), "rre-array")
    assert losses == {}
    assert array == {"index": "i", "queries": [asked("fender", ARRAY)]}
    assert rewritten(held(array), "rre") == (document, {})


def test_rre_ids_as_numbers_and_gains_as_texts(held, grades):
    document = {"queries": [asked("a", {"1": [7, "8"], "0.5": ["9"]})]}
    assert grades(held(document)) == {("a", "7"): 1.0, ("a", "8"): 1.0, ("a", "9"): 0.5}
    document = {"queries": [asked("a", {"7": {"gain": "2"}, "8": {"gain": None}})]}
    assert grades(held(document)) == {("a", "7"): 2.0}


def test_rre_calls_a_query_by_its_placeholder(held):
    one_placeholder = {"placeholders": {"$q": "a"}, "relevant_documents": GAIN}
    two_placeholders = {"placeholders": {"$q": "a", "$f": "b"}, "relevant_documents": GAIN}
    assert {*held({"queries": [one_placeholder, two_placeholders]}).qrels.table["query_id"]} == {
        "a",
        '{"$q": "a", "$f": "b"}',
    }
    with raises("missing-key", InputError):
        held({"queries": [{"relevant_documents": GAIN}]}, "rre")


def test_rre_the_same_words_with_other_judgments(held, grades, result, rewritten):
    """One template queries them with a filter; each has its own judgments."""
    document = {"queries": [asked("a", GAIN), asked("a", {"1": {"gain": 1}}), asked("a", GAIN, t="x")]}
    contents = held(document)
    assert grades(contents)["a (2)", "1"] == 1
    assert len(contents.qrels.table) == 3
    assert [count for count, _ in result(contents).values()] == [1]
    assert rewritten(contents, "rre") == (document, {})


@pytest.mark.parametrize(
    ("relevant", "code"),
    [
        ({"1": 3}, "wrong-type"),
        ({"1": {"rank": 3}}, "missing-key"),
        ({"x": ["1"]}, "not-a-number"),
        ({"1": {"gain": "NaN"}}, "not-a-number"),
        ({"1": ["a"], "2": ["a"]}, "duplicate-document"),
        ([], "wrong-type"),
    ],
)
def test_rre_what_cannot_be(held, relevant, code):
    with raises(code, InputError):
        held({"queries": [asked("a", relevant)]}, "rre")


def request(id_, ratings, **more):
    rated = [{"_index": "i", "_id": doc, "rating": grade} for doc, grade in ratings.items()]
    return {"id": id_, **more, "ratings": rated}


def test_rank_eval_requests(held, kind, grades, rewritten):
    document = {
        "requests": [
            request("a", {"d1": 3, "d2": 0}, request={"query": {"match_all": {}}}),
            request("b", {}, template_id="t", params={"q": "berlin"}),
        ],
        "templates": [{"id": "t", "template": {"inline": {}}}],
        "metric": {"precision": {"k": 5}},
    }
    contents = held(document)
    assert kind(document) == "rank-eval"
    assert grades(contents) == {("a", "d1"): 3.0, ("a", "d2"): 0.0}
    assert contents.qrels.unjudged == ("b",)
    assert contents.queries.rows() == [("a", "a"), ("b", "berlin")]
    assert rewritten(contents, "rank-eval") == (document, {})


def test_rank_eval_null_is_unrated_and_is_reported_where_it_is_lost(held, grades, result, rewritten):
    document = {"requests": [request("a", {"d1": 3, "d2": None})], "metric": {"dcg": {}}}
    contents = held(document)
    assert grades(contents) == {("a", "d1"): 3.0}
    assert result(contents)["pairs without a grade, which are unrated"] == (1, ("a d2",))
    output, losses = rewritten(contents, "rank-eval")
    assert losses == {"pairs without a grade": 1}
    assert len(output["requests"][0]["ratings"]) == 1


def test_rank_eval_takes_whole_grades_from_zero(held, rewritten):
    for text in (b"query,docid,rating\na,1,0.5\n", b"query,docid,rating\na,1,-1\n"):
        with raises("grade-outside-scale", InputError):
            rewritten(held(text), "rank-eval")


def test_rank_eval_for_queries_from_elsewhere(held, rewritten):
    document, losses = rewritten(held(b"query,docid,rating\nred shoes,1,2\n"), "rank-eval")
    assert losses == {}
    (rated_request,) = document["requests"]
    assert rated_request["params"] == {"query": "red shoes"}
    assert rated_request["template_id"] == document["templates"][0]["id"]
    assert document["metric"]


def test_rank_eval_an_id_twice(held):
    with raises("duplicate-query", InputError):
        held({"requests": [request("a", {"d": 1}), request("a", {"d": 2})]}, "rank-eval")
    repeated_request = request("a", {"d": 1})
    repeated_request["ratings"].append({"_index": "i", "_id": "d", "rating": 2})
    with raises("duplicate-document", DuplicateError):
        held({"requests": [repeated_request]}, "rank-eval")


@pytest.mark.parametrize("old", [False, True])
def test_rank_eval_responses_of_two_generations(held, kind, grades, result, old):
    score, unrated = ("quality_level", "unknown_docs") if old else ("metric_score", "unrated_docs")
    hits = [
        {"hit": {"_index": "i", "_id": "d1", "_score": 1.2}, "rating": 3},
        {"hit": {"_index": "i", "_id": "d9", "_score": 1.1}, "rating": None},
    ]
    answer = {
        score: 0.3,
        "details": {
            "a": {score: 0.6, unrated: [{"_index": "i", "_id": "d9"}], "hits": hits},
            "b": {score: 0.0, unrated: [], "hits": []},
        },
        "failures": {"c": {"error": {"type": "parsing"}}},
    }
    contents = held(answer)
    assert kind(answer) == "rank-eval-response"
    (run,) = contents.runs
    assert run.table.rows() == [("a", "d1", 1.2), ("a", "d9", 1.1)]
    assert run.queries.select("query_id", "state").rows() == [("b", "zero"), ("c", "failed")]
    assert grades(contents) == {("a", "d1"): 3.0}
    assert result(contents)["retrieved documents that are unrated"] == (1, ("a d9",))
    values = contents.values.select("query_id", "value").rows()
    assert values == [("a", 0.6), ("b", 0.0), (None, 0.3)]


def test_rank_eval_scores_that_rise_are_not_the_order(held):
    """Hits are in the order of the search, for every sort field."""
    hits = [{"hit": {"_id": d, "_score": s}, "rating": None} for d, s in (("x", 1.0), ("y", 2.0))]
    run = held({"details": {"a": {"metric_score": 0, "hits": hits}}}).runs[0]
    assert run.table.rows() == [("a", "x", -1.0), ("a", "y", -2.0)]
