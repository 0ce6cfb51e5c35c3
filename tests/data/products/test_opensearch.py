"""OpenSearch: judgments, query sets, configurations, experiments, metric stores."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.formats.registry import find_format
from support.wording import raises


def judgments(*entries, **more):
    ratings = [
        {"query": query, "ratings": [{"docId": d, "rating": g} for d, g in grades.items()]}
        for query, grades in entries
    ]
    return {"name": "n", "type": "IMPORT_JUDGMENT", **more, "judgmentRatings": ratings}


def test_ratings_are_texts_and_entries_are_merged(held, grades, result, rewritten):
    document = judgments(("a", {"x": "3.000"}), ("b", {"y": "0.25"}), ("a", {"z": 1, "x": "3"}))
    contents = held(document)
    assert grades(contents) == {("a", "x"): 3.0, ("b", "y"): 0.25, ("a", "z"): 1.0}
    assert result(contents)["entries of a query that has one before, merged"] == (1, ("a",))
    exported, losses = rewritten(contents, "opensearch-judgments")
    assert losses == {}
    assert exported == judgments(("a", {"x": "3.000", "z": "1.000"}), ("b", {"y": "0.250"}))
    exact = held(judgments(("a", {"x": "0.12345"})))
    assert rewritten(exact, "opensearch-judgments")[0] == judgments(("a", {"x": "0.12345"}))
    with raises("duplicate-document", DuplicateError):
        held(judgments(("a", {"x": "3"}), ("a", {"x": "2"})))


@pytest.mark.parametrize(
    "ratings",
    [
        [{"query": "a", "ratings": [{"docId": "x", "rating": "3.000"}]}],
        {"a": [{"docId": "x", "rating": "3.000"}]},
        {"a": {"x": "3.000"}},
    ],
)
@pytest.mark.parametrize("key", ["judgmentRatings", "judgmentScores"])
def test_ratings_in_a_list_or_by_query(held, kind, grades, key, ratings):
    document = {"name": "n", "type": "IMPORT_JUDGMENT", key: ratings}
    assert kind(document) == "opensearch-judgments"
    assert grades(held(document)) == {("a", "x"): 3.0}


def test_the_answer_of_a_search_for_a_list(held, kind, grades):
    source = judgments(("a", {"x": "3"})) | {"id": "7", "status": "COMPLETED"}
    answer = {"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_id": "7", "_source": source}]}}
    assert kind(answer) == "opensearch-judgments"
    assert grades(held(answer)) == {("a", "x"): 3.0}
    answer["hits"]["hits"] *= 2
    with raises("several-candidates", InputError):
        held(answer)


@pytest.mark.parametrize(
    "document",
    [
        {"name": "u", "type": "UBI_JUDGMENT", "clickModel": "coec", "maxRank": 20},
        {"name": "l", "type": "LLM_JUDGMENT", "modelId": "m", "querySetId": "q", "size": 5},
        {"querySetId": "q", "searchConfigurationList": ["a", "b"], "type": "PAIRWISE_COMPARISON"},
        {"querySetId": "q", "searchConfigurationList": ["a"], "type": "HYBRID_OPTIMIZER"},
    ],
)
def test_requests_come_back_as_they_were(held, kind, rewritten, document):
    contents = held(document)
    assert contents.parts == ("extra",)
    assert rewritten(contents, kind(document)) == (document, {})


@pytest.mark.parametrize(
    "text",
    [
        '{"queryText": "phone", "referenceAnswer": "a, b"}\n{"queryText": "steel"}\n',
        '\ufeff{"queryText": "phone", "referenceAnswer": "a, b"}\r\n\r\n{"queryText": "steel"}',
        'query: "phone", answer: "a, b"\nquery: "steel"\n',
        '{"querySetQueries": [{"queryText": "phone", "referenceAnswer": "a, b"}, "steel"]}',
    ],
)
def test_query_sets_in_all_their_forms(held, text):
    contents = held(text.encode())
    assert contents.queries.select("query_id", "text", "reference_answer").rows() == [
        ("phone", "phone", "a, b"),
        ("steel", "steel", None),
    ]
    assert contents.qrels is None


def test_plain_lines_need_their_name(held, result):
    contents = held(b"phone\n\nsteel\nphone\n", "opensearch-query-set")
    assert contents.queries["text"].to_list() == ["phone", "steel"]
    assert result(contents)["queries that appear twice, read once"] == (1, ("phone",))


def test_a_search_configuration_holds_json(held, kind, rewritten):
    document = {"name": "b", "index": "i", "query": '{"query": {"match": "%SearchText%"}}'}
    assert kind(document) == "opensearch-configuration"
    assert rewritten(held(document), kind(document)) == (document, {})
    with raises("invalid-json", InputError, line=1):
        held(document | {"query": "{%SearchText%"})


def test_results_are_runs(held):
    def result(system, text, docs):
        return {
            "_source": {
                "searchConfigurationId": system,
                "searchText": text,
                "documentIds": docs,
                "metrics": [{"metric": "NDCG@5", "value": 0.5}],
            }
        }

    answer = {"hits": {"hits": [result("a", "q", ["x", 7]), result("b", "q", [])]}}
    contents = held(answer)
    assert [run.name for run in contents.runs] == ["a", "b"]
    assert contents.runs[0].table.rows() == [("q", "x", -1.0), ("q", "7", -2.0)]
    assert contents.runs[1].queries.rows() == [("q", "zero")]
    assert contents.values.select("run", "metric", "value").rows() == [
        ("a", "NDCG@5", 0.5),
        ("b", "NDCG@5", 0.5),
    ]


@pytest.mark.parametrize("time", ["timestamp", "datetime"])
@pytest.mark.parametrize("bulk", [False, True])
def test_metric_stores(held, time, bulk):
    stamp = "2024-09-01T00:00:00Z" if time == "timestamp" else "2024-09-01T00:00:00"
    row = {time: stamp, "search_config": "r", "query": "q", "metric": "prec@10", "value": 0.5}
    lines = ([{"index": {"_id": "1"}}] if bulk else []) + [row]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    contents = held(data)
    timestamp = datetime(2024, 9, 1, tzinfo=UTC)
    assert contents.values.select("run", "query_id", "metric", "value", "at").rows() == [
        ("r", "q", "prec@10", 0.5, timestamp)
    ]
    out = io.BytesIO()
    assert find_format("opensearch-metrics").write(contents, out) == ()
    assert out.getvalue() == data
    bad = data + json.dumps(row | {time: "yesterday"}).encode()
    with raises("not-a-time", InputError) as error:
        held(bad)
    assert error.value.line == len(lines) + 1
