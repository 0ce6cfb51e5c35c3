"""Raw answers of search engines, in their documented forms, as runs.

Each product returns the same lists, and the values equal those of the lists in TREC format.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import rankgate
from rankgate.data.answers.engine_answers import parse_path
from rankgate.data.answers.engine_products import PRODUCTS
from rankgate.data.read import read_run
from support.command import assert_refused

ROOT = Path(__file__).parents[2]
QRELS = {"red mug": {"m1": 3, "m2": 2, "m3": 0}, "lamp": {"l1": 3, "l2": 0}, "sofa": {"s1": 1}}
LISTS = {"red mug": [("m2", 9.5), ("m1", 7.25), ("m3", 1.0)], "lamp": [("l2", 4.0), ("l1", 2.0)], "sofa": []}
TREC = "".join(
    f"{query.replace(' ', '_')} Q0 {doc} {rank} {score} x\n"
    for query, hits in LISTS.items()
    for rank, (doc, score) in enumerate(hits, 1)
)


def _elasticsearch(_, hits):
    return {
        "took": 5,
        "timed_out": False,
        "_shards": {"total": 5, "successful": 5, "skipped": 0, "failed": 0},
        "hits": {
            "total": {"value": len(hits), "relation": "eq"},
            "max_score": hits[0][1] if hits else None,
            "hits": [
                {
                    "_index": "shop",
                    "_id": doc,
                    "_score": score,
                    "_source": {"sku": f"sku-{doc}", "tags": ["a", "b"]},
                }
                for doc, score in hits
            ],
        },
    }


def _solr(query, hits):
    return {
        "responseHeader": {"status": 0, "QTime": 2, "params": {"q": query, "fl": "id,score"}},
        "response": {
            "numFound": len(hits),
            "start": 0,
            "numFoundExact": True,
            "docs": [{"id": doc, "score": score} for doc, score in hits],
        },
    }


def _algolia(query, hits):
    return {
        "hits": [{"title": "x", "objectID": doc, "_highlightResult": {}} for doc, _ in hits],
        "nbHits": len(hits),
        "page": 0,
        "nbPages": 1,
        "hitsPerPage": 20,
        "exhaustiveNbHits": True,
        "query": query,
        "params": f"query={query}",
        "processingTimeMS": 1,
    }


def _vespa(_, hits):
    root = {
        "id": "toplevel",
        "relevance": 1.0,
        "fields": {"totalCount": len(hits)},
        "coverage": {"coverage": 100, "documents": 3, "full": True, "nodes": 1},
    }
    if hits:
        root["children"] = [
            {"id": f"id:shop:product::{doc}", "relevance": score, "source": "shop", "fields": {}}
            for doc, score in hits
        ]
    return {"root": root}


def _qdrant(_, hits):
    points = [{"id": doc, "version": 1, "score": score, "payload": {}} for doc, score in hits]
    return {"result": {"points": points}, "status": "ok", "time": 0.001}


def _qdrant_search(query, hits):
    return {**_qdrant(query, hits), "result": _qdrant(query, hits)["result"]["points"]}


def _weaviate(_, hits):
    objects = [{"_additional": {"id": doc, "score": str(score)}, "title": "x"} for doc, score in hits]
    return {"data": {"Get": {"Product": objects}}}


def _meilisearch(query, hits):
    return {
        "hits": [{"id": doc, "_rankingScore": score / 10} for doc, score in hits],
        "query": query,
        "processingTimeMs": 1,
        "limit": 20,
        "offset": 0,
        "estimatedTotalHits": len(hits),
    }


def _typesense(query, hits):
    return {
        "facet_counts": [],
        "found": len(hits),
        "out_of": 9,
        "page": 1,
        "request_params": {"collection_name": "shop", "per_page": 10, "q": query},
        "search_time_ms": 1,
        "search_cutoff": False,
        "hits": [
            {"document": {"id": doc}, "highlights": [], "text_match": 578730123365711993} for doc, _ in hits
        ],
    }


ANSWERS = {
    "elasticsearch": _elasticsearch,
    "solr": _solr,
    "algolia": _algolia,
    "vespa": _vespa,
    "qdrant": _qdrant,
    "weaviate": _weaviate,
    "meilisearch": _meilisearch,
    "typesense": _typesense,
}
SEVERAL = {
    "elasticsearch": lambda answers: {"took": 9, "responses": answers},
    "algolia": lambda answers: {"results": answers},
    "meilisearch": lambda answers: {"results": [{"indexUid": "shop", **answer} for answer in answers]},
    "typesense": lambda answers: {"results": answers},
    "qdrant": lambda answers: {
        "result": [answer["result"] for answer in answers],
        "status": "ok",
        "time": 0.1,
    },
}
ERRORS = {
    "elasticsearch": {
        "error": {
            "root_cause": [{"type": "index_not_found_exception"}],
            "type": "index_not_found_exception",
            "reason": "no such index",
        },
        "status": 404,
    },
    "solr": {
        "responseHeader": {"status": 400, "QTime": 1},
        "error": {"metadata": [], "msg": "undefined field qty", "code": 400},
    },
    "algolia": {"message": "Index shop does not exist", "status": 404},
    "vespa": {
        "root": {
            "id": "toplevel",
            "relevance": 1.0,
            "fields": {"totalCount": 0},
            "errors": [
                {"code": 12, "summary": "Timed out", "source": "shop", "message": "Error in execution"}
            ],
        }
    },
    "qdrant": {"status": {"error": "Not found: Collection `shop` doesn't exist!"}, "time": 1e-5},
    "weaviate": {
        "data": {"Get": {"Product": None}},
        "errors": [{"locations": [], "message": "explorer: get class", "path": ["Get"]}],
    },
    "meilisearch": {
        "message": "Index `shop` not found.",
        "code": "index_not_found",
        "type": "invalid_request",
        "link": "https://docs.meilisearch.com/errors",
    },
    "typesense": {"code": 404, "error": "Not found."},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trec.run").write_text(TREC)
    return tmp_path


def _values(run, qrels=QRELS):
    evaluation = rankgate.evaluate(qrels, run, ["nDCG@10", "P@1"])
    return evaluation.means["nDCG@10"][0], evaluation.runs[0].per_query("nDCG@10")


def _truth():
    ids = {query.replace(" ", "_"): grades for query, grades in QRELS.items()}
    means, values = _values("trec.run", ids)
    return means, {query.replace("_", " "): value for query, value in values.items()}


@pytest.mark.parametrize("name", [*ANSWERS, "qdrant-search"])
def test_a_folder_with_a_file_for_each_query_is_a_run(folder, name):
    answer = ANSWERS.get(name, _qdrant_search)
    (folder / "answers").mkdir()
    for query, hits in LISTS.items():
        path = folder / "answers" / f"{query}.json"
        path.write_text(json.dumps(answer(query, hits), indent=2))
    assert _values("answers") == _truth()
    run = read_run("answers")
    assert run.name == "answers"
    assert run.queries.rows() == [("sofa", "zero")]
    assert _values(f"{name.removesuffix('-search')}:answers") == _truth()


@pytest.mark.parametrize("name", ANSWERS)
def test_json_lines_a_list_and_answers_by_query_are_runs(folder, name):
    answers = {query: ANSWERS[name](query, hits) for query, hits in LISTS.items()}
    flat_records = [{"query_id": query, **answer} for query, answer in answers.items()]
    wrapped_records = [{"query_id": query, "response": answer} for query, answer in answers.items()]
    texts = {
        "beside.ndjson": "\n".join(map(json.dumps, flat_records)),
        "around.jsonl": "\n".join(map(json.dumps, wrapped_records)) + "\n",
        "list.json": json.dumps(flat_records, indent=1),
        "by-query.json": json.dumps(answers),
    }
    for file, text in texts.items():
        (folder / file).write_text(text)
        assert _values(file) == _truth(), file


@pytest.mark.parametrize("name", SEVERAL)
def test_the_answer_to_several_queries_is_a_run(folder, name):
    answers = [ANSWERS[name](query, hits) for query, hits in LISTS.items()]
    (folder / "several.json").write_text(json.dumps(SEVERAL[name](answers)))
    numbered = {str(n): grades for n, grades in enumerate(QRELS.values(), 1)}
    echo = next(product for product in PRODUCTS if product.name == name).echo
    assert _values("several.json", QRELS if echo else numbered)[0] == _truth()[0]


@pytest.mark.parametrize("name", ERRORS)
def test_an_answer_that_is_an_error_is_one_error_with_the_line_to_write(folder, run, name):
    (folder / "answers").mkdir()
    for query, hits in LISTS.items():
        text = json.dumps(ANSWERS[name](query, hits))
        (folder / "answers" / f"{query}.json").write_text(text)
    wrong = folder / "answers" / "sofa.json"
    wrong.write_text(json.dumps(ERRORS[name]))
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    result = run("eval", "qrels.json", "answers")
    assert_refused(result, "engine-error", "answers/sofa.json")
    wrong.unlink()
    (folder / "answers.meta.jsonl").write_text(result.error.suggestions[0])
    result = run("eval", "qrels.json", "answers", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["runs"][0]["counts"]["missing"] == 1
    assert ("sofa", "failed") in read_run("answers").queries.select("query_id", "state").rows()


def test_an_answer_that_is_not_whole_is_an_error(folder, run):
    partial = {**_elasticsearch("lamp", LISTS["lamp"]), "timed_out": True}
    (folder / "lamp.json").write_text(json.dumps(partial))
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    assert_refused(run("eval", "qrels.json", "lamp.json"), "engine-error", "lamp.json")


def test_a_folder_that_mixes_products_is_an_error_that_names_both(folder, run):
    (folder / "answers").mkdir()
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    (folder / "answers" / "lamp.json").write_text(json.dumps(_solr("lamp", LISTS["lamp"])))
    sofa_path = folder / "answers" / "sofa.json"
    for value in (_elasticsearch("sofa", [("s1", 1.0)]), {"note": "x"}, [1]):
        sofa_path.write_text(json.dumps(value))
        assert_refused(run("eval", "qrels.json", "answers"), "mixed-formats", "answers/sofa.json")


def test_a_file_of_a_folder_that_is_no_answer_is_an_error_that_names_it(folder, run):
    (folder / "answers").mkdir()
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    (folder / "answers" / "lamp.json").write_text(json.dumps(_solr("lamp", LISTS["lamp"])))
    wrong = folder / "answers" / "sofa.json"
    for text, code in (
        ("", "empty-file"),
        ("<html><body>502 Bad Gateway</body></html>", "unknown-format"),
        ("query_id,doc_id,score\nsofa,s1,1\n", "mixed-formats"),
    ):
        wrong.write_text(text)
        assert_refused(run("eval", "qrels.json", "answers"), code, "answers/sofa.json")


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


def test_documents_that_come_twice_are_a_caution_of_the_result(folder, run):
    answer = _elasticsearch("lamp", [("l1", 2.0), ("l1", 1.0), (None, 0.5)])
    (folder / "lamp.json").write_text(json.dumps(answer))
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    result = json.loads(run("eval", "qrels.json", "lamp.json", "--format", "json").out)
    cautions = result["runs"][0]["counts"]["cautions"]
    assert cautions.keys() == {"repeated-documents", "unusable-ids"}
    assert cautions["repeated-documents"].startswith("1 ")


def test_another_field_holds_the_id_and_the_query(folder, run):
    lines = [
        json.dumps({"request": {"text": query}, **_elasticsearch(query, hits)})
        for query, hits in LISTS.items()
    ]
    (folder / "log.ndjson").write_text("\n".join(lines))
    rows = [f"{query},sku-{doc},{grade}" for query, row in QRELS.items() for doc, grade in row.items()]
    (folder / "qrels.csv").write_text("\n".join(["term,sku,grade", *rows]))
    options = ["--columns", "query=term|request.text,doc=sku|_source.sku"]
    result = json.loads(
        run("eval", "qrels.csv", "log.ndjson", "-m", "nDCG@10", *options, "--format", "json").out
    )
    assert result["runs"][0]["mean"]["nDCG@10"] == pytest.approx(_truth()[0])
    assert run("describe", "log.ndjson", "--columns", "doc=_source.sku").code == 0


def test_queries_that_nothing_names_or_that_come_twice_are_errors(folder, run):
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    lamp = _elasticsearch("lamp", LISTS["lamp"])
    (folder / "twice.ndjson").write_text(
        "\n".join(json.dumps({"query_id": "lamp", **lamp}) for _ in range(2))
    )
    assert_refused(run("eval", "qrels.json", "twice.ndjson"), "duplicate-query", "twice.ndjson", 2)
    (folder / "some.ndjson").write_text(json.dumps({"qid": "lamp", **lamp}) + f"\n{json.dumps(lamp)}")
    assert_refused(run("eval", "qrels.json", "some.ndjson"), "missing-key", "some.ndjson", 2)


def test_results_in_another_order_are_ranked_by_their_place(folder):
    answer = _elasticsearch("lamp", [("l1", 1.0), ("l2", 5.0)])  # sorted by price
    (folder / "lamp.json").write_text(json.dumps(answer))
    assert read_run("lamp.json").table.rows() == [("lamp", "l1", -1.0), ("lamp", "l2", -2.0)]


@pytest.mark.parametrize("name", ["solr", "vespa", "qdrant"])
def test_examples_of_engines_read_answers_as_files_of_them_are_read(name):
    text = (ROOT / "examples" / "engines" / f"{name}.toml").read_text()
    engine = tomllib.loads(text)["engine"]
    shape = next(product for product in PRODUCTS if product.name == name).shape
    assert (parse_path(engine["hits"]), parse_path(engine["score"])) == (shape.hits, shape.score)
    total = parse_path(engine["total"]) if "total" in engine else None
    assert total == shape.total


@pytest.mark.parametrize("form", ["file", "folder", "dict"])
def test_answers_that_filter_path_cut_to_ids_are_read(form, tmp_path):
    answer = {"hits": {"hits": [{"_id": "b"}, {"_id": "a"}]}}
    path = tmp_path / "q.json" if form == "file" else tmp_path / "answers" / "q.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(answer))
    source = {"file": path, "folder": path.parent, "dict": {"q": answer}}[form]
    assert rankgate.evaluate({"q": {"a": 1}}, source, ["RR"]).means["RR"][0] == 1 / 2
