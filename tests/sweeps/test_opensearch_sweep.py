"""k1 and b, settings of an index of OpenSearch: set for each point on a real node, and undone."""

import math

import pytest

import rankgate

from .conftest import texts

pytestmark = pytest.mark.slow

BEFORE = {"type": "BM25", "k1": 1.2, "b": 0.75}
SWEEP = """[sweep]
engine = "bm25.toml"
queries = "queries.tsv"
qrels = "qrels.txt"
metrics = ["nDCG@10"]
[dials]
k1 = [0.4, 1.2]
b = [0, 0.75]
[baseline]
k1 = 1.2
b = 0.75
[[setup]]
request = "POST /bm25/_close"
[[setup]]
request = "PUT /bm25/_settings"
body = {index = {similarity = {default = {type = "BM25", k1 = "{{k1}}", b = "{{b}}"}}}}
[[setup]]
request = "POST /bm25/_open?wait_for_active_shards=1"
"""


@pytest.fixture(scope="module")
def documents():
    lengths = [3 + 7 * (i % 4) for i in range(60)]
    return {f"d{i}": texts(i, 1, length)[0] for i, length in enumerate(lengths)}


@pytest.fixture
def node(opensearch, documents, shop):
    fields = {"body": {"type": "text", "analyzer": "whitespace"}}
    opensearch.index(
        "bm25",
        fields,
        {doc: {"body": body} for doc, body in documents.items()},
        {"similarity": {"default": BEFORE}},
    )
    (shop / "bm25.toml").write_text(
        f'[engine]\nkind = "opensearch"\nurl = "{opensearch.url}"\nindex = "bm25"\n'
        'search = ["body"]\ndepth = 60\n'
    )
    yield opensearch
    opensearch.call("DELETE", "/bm25")


def similarity(node):
    return node.call("GET", "/bm25/_settings")["bm25"]["settings"]["index"]["similarity"]["default"]


def bm25(documents, query, k1, b):
    """BM25 as OpenSearch has it; the length, which it rounds, is exact below 40."""
    terms_by_doc = {doc: body.split() for doc, body in documents.items()}
    mean = sum(map(len, terms_by_doc.values())) / len(terms_by_doc)
    scores = dict.fromkeys(terms_by_doc, 0.0)
    for term in query.split():
        df = sum(term in doc_terms for doc_terms in terms_by_doc.values())
        idf = math.log(1 + (len(terms_by_doc) - df + 0.5) / (df + 0.5))
        for doc, doc_terms in terms_by_doc.items():
            tf = doc_terms.count(term)
            scores[doc] += idf * (k1 + 1) * tf / (tf + k1 * (1 - b + b * len(doc_terms) / mean))
    return {doc: score for doc, score in scores.items() if score}


def test_each_point_has_its_own_k1_and_b_and_the_index_is_as_before(node, documents, shop):
    (shop / "sweep.toml").write_text(SWEEP)
    result = rankgate.sweep(shop / "sweep.toml")
    assert result.finished
    assert len(result.points) == 4
    queries = dict(line.split("\t") for line in (shop / "queries.tsv").read_text().splitlines())
    for point in result.points:
        run = rankgate.read_run(shop / "sweep.points" / point.run).table
        for query in ("q0", "q7"):
            expected = bm25(documents, queries[query], **point.parameters)
            rows = run.filter(run["query_id"] == query)
            scores = dict(zip(rows["doc_id"], rows["score"], strict=True))
            assert scores == pytest.approx(expected, rel=1e-5)
    assert {name: float(similarity(node)[name]) for name in ("k1", "b")} == {"k1": 1.2, "b": 0.75}


def test_an_index_that_cannot_be_set_up_is_opened_again(node, shop):
    (shop / "sweep.toml").write_text(SWEEP.replace("b = [0, 0.75]", "b = [7]").replace("[0.4, 1.2]", "[1.2]"))
    result = rankgate.sweep(shop / "sweep.toml")
    assert [point.state for point in result.points] == ["ok", "failed"]
    assert "HTTP 400" in result.points[1].problem
    assert float(similarity(node)["b"]) == 0.75
    assert node.call("GET", "/bm25/_count")["count"] == 60
