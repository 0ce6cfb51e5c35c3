"""A real node of OpenSearch: its rankings, and its own ``_rank_eval``.

``make engines`` fetches it; without it these tests skip.
"""

import json
import random
import urllib.error

import pytest

import rankgate
from rankgate.engines.engine_checks import check_engine
from rankgate.engines.snapshots.snapshot_verb import snapshot
from support.wording import raises

from .conftest import DOCS, QUERIES
from .test_index_state import begun, changed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node(opensearch):
    fields = {"body": {"type": "text"}, "name": {"type": "keyword"}}
    documents = {doc: {"body": body, "name": doc.upper()} for doc, body in DOCS.items()}
    opensearch.index("shop", fields, documents)
    return opensearch


@pytest.fixture
def engine(node, tmp_path):
    file = tmp_path / "os.toml"
    file.write_text(
        f'[engine]\nkind = "opensearch"\nurl = "{node.url}"\nindex = "shop"\n'
        'search = ["body"]\ndepth = 20\n[engine.fields]\ntitle = "name"\n'
    )
    return file


def test_a_snapshot_is_what_the_node_returns(node, engine, tmp_path):
    result = snapshot(engine, QUERIES, tmp_path / "os.run")
    assert result.facts.version == "opensearch 2.19.1"
    assert result.facts.documents == len(DOCS)
    for query_id, text in QUERIES.items():
        body = {"size": 20, "query": {"multi_match": {"query": text, "fields": ["body"]}}}
        hits = node.call("POST", "/shop/_search", body)["hits"]["hits"]
        table = result.run.table
        snapshot_rows = table.filter(table["query_id"] == query_id).select("doc_id", "score").rows()
        assert snapshot_rows == [(hit["_id"], pytest.approx(hit["_score"], rel=1e-5)) for hit in hits]
    assert check_engine(engine, "red shoe").documents[0]["title"].startswith("D")


def test_saved_answers_are_the_run_of_a_snapshot(node, engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bodies = {
        query_id: {"size": 20, "query": {"multi_match": {"query": text, "fields": ["body"]}}}
        for query_id, text in QUERIES.items()
    }
    answers = {query: node.call("POST", "/shop/_search", body) for query, body in bodies.items()}
    (tmp_path / "answers").mkdir()
    for query, answer in answers.items():
        (tmp_path / "answers" / f"{query}.json").write_text(json.dumps(answer))
    log_lines = [json.dumps({"query": query, "response": response}) for query, response in answers.items()]
    (tmp_path / "log.ndjson").write_text("\n".join(log_lines))
    lines = [json.dumps(entry) for body in bodies.values() for entry in ({"index": "shop"}, body)]
    msearch_answer = node.call("POST", "/_msearch", "\n".join(lines) + "\n")
    expected = snapshot(engine, QUERIES).run.table.sort("query_id", maintain_order=True)
    for source in (
        "answers",
        "log.ndjson",
        answers,
        [{"query_id": query, **response} for query, response in answers.items()],
        dict(zip(answers, msearch_answer["responses"], strict=True)),
    ):
        table = rankgate.Collection().run(source).table.sort("query_id", maintain_order=True)
        assert table.select("query_id", "doc_id").equals(expected.select("query_id", "doc_id"))
        assert table["score"].to_list() == pytest.approx(expected["score"].to_list(), rel=1e-6)
    judgments = {query: {doc.upper(): 1 for doc in DOCS} for query in QUERIES}
    judged = rankgate.Collection(judgments, columns="doc=name")
    assert (
        rankgate.evaluate(judged, ["answers", answers], ["P@1"]).means["P@1"].to_list()
        == [pytest.approx(sum(1 for response in answers.values() if response["hits"]["hits"]) / len(QUERIES))]
        * 2
    )
    with raises("wrong-type"):
        rankgate.evaluate(judgments, msearch_answer)
    with pytest.raises(urllib.error.HTTPError) as refused:
        node.call("POST", "/shop/_search", {"query": {"mtch": {"body": "red"}}})
    (tmp_path / "answers" / "z.json").write_bytes(refused.value.read())
    with raises("engine-error", source="answers/z.json"):
        rankgate.evaluate(judgments, "answers")


def test_a_stored_template_and_a_body_are_asked(node, engine):
    source = {"query": {"match": {"body": "{{query}}"}}, "size": "{{size}}"}
    script = {"script": {"lang": "mustache", "source": source}}
    node.call("PUT", "/_scripts/main", script)
    settings_text = engine.read_text()
    engine.write_text(settings_text.replace('search = ["body"]', 'template = "main"'))
    by_template = snapshot(engine, QUERIES).run.table
    engine.write_text(
        settings_text.replace('search = ["body"]', 'body = {query = {match = {body = "{{query}}"}}}')
    )
    assert snapshot(engine, QUERIES).run.table.equals(by_template)


def test_the_state_of_the_index_is_kept_and_its_change_is_named(node, engine, tmp_path, monkeypatch):
    output = tmp_path / "os.run"
    begun(engine, output, monkeypatch)
    document = {"body": "red shoe", "name": "NEW"}
    try:
        node.call("POST", "/shop/_refresh")  # changes nothing
        second_snapshot = snapshot(engine, QUERIES)
        assert not second_snapshot.changed
        assert (second_snapshot.facts.documents, len(second_snapshot.facts.settings)) == (len(DOCS), 12)
        assert second_snapshot.facts.changes
        node.call("PUT", "/shop/_doc/new?refresh=true", document)
        result = snapshot(engine, QUERIES, output)
    finally:
        node.call("DELETE", "/shop/_doc/new?refresh=true")
    assert changed(result) == ({"documents", "changes"}, {"index-changed", "tied-scores"})


def test_an_index_that_is_not_there_ends_the_snapshot(engine):
    engine.write_text(engine.read_text().replace('"shop"', '"shoes"'))
    result = snapshot(engine, QUERIES)
    assert not result.finished
    assert "404" in result.problem


METRICS = {
    "P@10": {"precision": {"k": 10, "relevant_rating_threshold": 1}},
    "R@10": {"recall": {"k": 10, "relevant_rating_threshold": 1}},
    "RR@10": {"mean_reciprocal_rank": {"k": 10, "relevant_rating_threshold": 1}},
    "nDCG@10": {"dcg": {"k": 10, "normalize": True}},
    "DCG@10": {"dcg": {"k": 10}},
    "ERR(max_grade=3)@10": {"expected_reciprocal_rank": {"maximum_relevance": 3, "k": 10}},
}


def test_rank_eval_gives_the_values_of_the_convention_elasticsearch(node, engine):
    chance = random.Random(5)
    ids = sorted(DOCS)
    qrels = {query: {doc: chance.choice([0, 1, 2, 3]) for doc in chance.sample(ids, 25)} for query in QUERIES}
    requests = [
        {
            "id": query,
            "request": {"size": 20, "query": {"multi_match": {"query": text, "fields": ["body"]}}},
            "ratings": [
                {"_index": "shop", "_id": doc, "rating": grade} for doc, grade in qrels[query].items()
            ],
        }
        for query, text in QUERIES.items()
    ]
    run = snapshot(engine, QUERIES).run
    rankgate_values = rankgate.evaluate(qrels, run, list(METRICS), convention="elasticsearch").values
    by_id = {"order": "score", "ties": "doc_id_desc"}  # a live engine's ties are as it serves them
    convention = rankgate.convention("elasticsearch", by_id)
    ordered_scores = rankgate.evaluate(qrels, run, list(METRICS), convention)
    assert ordered_scores.values.equals(rankgate_values)
    for name, metric in METRICS.items():
        body = {"requests": requests, "metric": metric}
        peer_values = node.call("POST", "/shop/_rank_eval", body)["details"]
        metric_rows = rankgate_values.filter(rankgate_values["metric"] == name)
        values = dict(zip(metric_rows["query_id"], metric_rows["value"], strict=True))
        assert {query: detail["metric_score"] for query, detail in peer_values.items()} == pytest.approx(
            values, abs=1e-12
        )


def test_documents_of_two_indices_with_the_same_ids_are_counted(opensearch, tmp_path):
    for name in ("first", "second"):
        fields = {"body": {"type": "text"}}
        opensearch.index(name, fields, {f"d{i}": {"body": "red shoe"} for i in range(6)})
    file = tmp_path / "both.toml"
    file.write_text(
        f'[engine]\nkind = "elasticsearch"\nurl = "{opensearch.url}"\nindex = "first,second"\n'
        'search = ["body"]\n'
    )
    result = snapshot(file, {"q": "shoe"}, tmp_path / "both.csv")
    assert result.engine_kind == "opensearch"
    assert result.lists.documents == 6
    (notice,) = [message for message in result.notices if message.code == "shared-ids"]
    assert "6 documents" in notice.text
    assert "first and second" in notice.text
    assert "repeated-documents" not in {message.code for message in result.notices}


def test_the_check_fails_for_fields_that_the_index_lacks(opensearch, tmp_path, run):
    text = {"type": "text"}
    opensearch.index("fields", {"body": text, "title": text}, {"a": {"body": "red"}})
    file = tmp_path / "engine.toml"
    text = (
        f'[engine]\nkind = "opensearch"\nurl = "{opensearch.url}"\nindex = "fields"\n'
        'search = ["body^2", "title"]\n'
    )
    file.write_text(text)
    assert run("engines", "check", file, "--query", "red").code == 0
    assert run("engines", "check", file, "--query", "nothing").code == 3
    file.write_text(text.replace('"title"', '"titel"'))
    result = run("engines", "check", file, "--query", "red")
    assert result.code == 3
    assert "titel" in result.out


def test_an_error_names_its_root_cause(opensearch, tmp_path):
    opensearch.index("broken", {"body": {"type": "text"}}, {"a": {"body": "red"}})
    file = tmp_path / "engine.toml"
    file.write_text(
        f'[engine]\nkind = "opensearch"\nurl = "{opensearch.url}"\nindex = "broken"\n'
        '[engine.body.query.query_string]\nquery = "{{query}}"\n'
    )
    result = snapshot(file, {"a": "red", "b": "(red"})
    assert result.queries["state"].to_list() == ["ok", "failed"]
    assert "all shards failed" not in result.queries["error"][1]
    assert "(red" in result.queries["error"][1]
