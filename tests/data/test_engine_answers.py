"""Raw answers of search engines, in their documented forms, as runs.

The answers of each product, and what is wrong with some, are in tests/door.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import rankgate
from rankgate.data.answers.engine_answers import parse_path
from rankgate.data.answers.engine_products import PRODUCTS
from rankgate.data.id_match import DO_NOT_FIT
from support.command import assert_refused

ROOT = Path(__file__).parents[2]
QRELS = {"red mug": {"m1": 3, "m2": 2, "m3": 0}, "lamp": {"l1": 3, "l2": 0}, "sofa": {"s1": 1}}
LISTS = {"red mug": [("m2", 9.5), ("m1", 7.25), ("m3", 1.0)], "lamp": [("l2", 4.0), ("l1", 2.0)], "sofa": []}


def _elasticsearch(hits):
    documents = [{"_id": doc, "_score": score, "_source": {"sku": f"sku-{doc}"}} for doc, score in hits]
    return {"took": 5, "timed_out": False, "hits": {"hits": documents}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_field_of_documents_needs_no_path_and_numbered_queries_are_named(folder, run):
    answers = [
        {"took": 1, "hits": {"hits": [{"_id": "7", "_score": 1.0, "_source": {"sku": doc}}]}}
        for doc in ("l1", "s1")
    ]
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "qrels.csv").write_text("query_id,sku,grade\n1,l1,1\n2,s1,1\n")
    options = ("--columns", "doc=sku", "-m", "P@1", "--format", "json")
    result = json.loads(run("eval", "qrels.csv", "answers.json", *options).out)["runs"][0]
    assert result["mean"]["P@1"] == 1.0
    assert "numbered-queries" in result["counts"]["cautions"]
    (folder / "texts.csv").write_text("query_id,sku,grade\nlamp,l1,1\n")
    assert_refused(run("eval", "texts.csv", "answers.json", *options), "queries-differ")


@pytest.mark.parametrize("verb", ["eval", "open"])
def test_queries_that_are_numbers_of_answers_do_not_meet_their_texts_and_it_is_said_why(folder, run, verb):
    queries = ("lamp", "sofa", "red mug", "desk")
    answers = [{"took": 1, "hits": {"hits": [{"_id": "d", "_score": 1.0}]}} for _ in queries]
    (folder / "answers.json").write_text(json.dumps({"responses": answers}))
    rows = "".join(f"{query},d,1\n" for query in queries)
    (folder / "qrels.csv").write_text(f"query_id,doc_id,grade\n{rows}")
    refused = run(verb, "qrels.csv", "answers.json")
    assert_refused(refused, DO_NOT_FIT)
    assert '"query_id"' in refused.err
    lines = [
        json.dumps({"query_id": query, **answer}) for query, answer in zip(queries, answers, strict=True)
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    output = ("-o", "lists.html") if verb == "open" else ()
    assert run(verb, "qrels.csv", "answers.jsonl", *output).code == 0


def test_documents_that_come_twice_are_a_caution_of_the_result(folder, run):
    answer = _elasticsearch([("l1", 2.0), ("l1", 1.0), (None, 0.5)])
    (folder / "lamp.json").write_text(json.dumps(answer))
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    result = json.loads(run("eval", "qrels.json", "lamp.json", "--format", "json").out)
    cautions = result["runs"][0]["counts"]["cautions"]
    assert cautions.keys() == {"repeated-documents", "unusable-ids"}
    assert cautions["repeated-documents"].startswith("1 ")


def test_another_field_holds_the_id_and_the_query(folder, run):
    lines = [
        json.dumps({"request": {"text": query}, **_elasticsearch(hits)}) for query, hits in LISTS.items()
    ]
    (folder / "log.ndjson").write_text("\n".join(lines))
    rows = [f"{query},sku-{doc},{grade}" for query, row in QRELS.items() for doc, grade in row.items()]
    (folder / "qrels.csv").write_text("\n".join(["term,sku,grade", *rows]))
    options = ["--columns", "query=term|request.text,doc=sku|_source.sku"]
    expected = rankgate.evaluate(QRELS, {query: dict(hits) for query, hits in LISTS.items()}, ["nDCG@10"])
    result = json.loads(
        run("eval", "qrels.csv", "log.ndjson", "-m", "nDCG@10", *options, "--format", "json").out
    )
    assert result["runs"][0]["mean"]["nDCG@10"] == pytest.approx(expected.means["nDCG@10"][0])
    assert run("describe", "log.ndjson", "--columns", "doc=_source.sku").code == 0


@pytest.mark.parametrize("name", ["solr", "vespa", "qdrant"])
def test_examples_of_engines_read_answers_as_files_of_them_are_read(name):
    text = (ROOT / "examples" / "engines" / f"{name}.toml").read_text()
    engine = tomllib.loads(text)["engine"]
    shape = next(product for product in PRODUCTS if product.name == name).shape
    assert (parse_path(engine["hits"]), parse_path(engine["score"])) == (shape.hits, shape.score)
    total = parse_path(engine["total"]) if "total" in engine else None
    assert total == shape.total


def test_answers_that_filter_path_cut_to_ids_are_read():
    answers = {"q": {"hits": {"hits": [{"_id": "b"}, {"_id": "a"}]}}}
    assert rankgate.evaluate({"q": {"a": 1}}, answers, ["RR"]).means["RR"][0] == 1 / 2


def test_a_query_without_an_answer_is_missing(folder, run):
    (folder / "answers").mkdir()
    (folder / "answers" / "lamp.json").write_text(json.dumps(_elasticsearch(LISTS["lamp"])))
    states = "".join(f'{{"query_id": "{query}", "state": "failed"}}\n' for query in ("red mug", "sofa"))
    (folder / "answers.meta.jsonl").write_text(states)
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    (result,) = json.loads(run("eval", "qrels.json", "answers", "--format", "json").out)["runs"]
    assert (result["name"], result["counts"]["missing"]) == ("answers", 2)
