"""The form of requests to OpenSearch and Elasticsearch, and of their answers."""

import base64
import threading

import pytest

from rankgate.engines.snapshots.snapshot_verb import snapshot

from .conftest import Server, _Handler

PAIR = base64.b64encode(b"me:s3cret!").decode()
HITS = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 1, "failed": 0},
    "hits": {
        "total": {"value": 12, "relation": "eq"},
        "hits": [
            {"_id": "a", "_score": 2.5, "_source": {"name": {"en": "A"}}},
            {"_id": "b", "_score": 1.5, "_source": {}},
        ],
    },
}


class _Cluster(_Handler):
    def _send(self, status, value="", headers=(), length=None):
        if self.path == "/":
            value = {"version": {"number": "2.19.1", "distribution": "opensearch"}}
        elif self.path.endswith("_count"):
            value = {"count": 77, "_shards": {"total": 5, "successful": self.server.shards}}
        elif "_search" in self.path and status == 200 and value != self.server.partial:
            value = HITS
        super()._send(status, value, headers, length)


@pytest.fixture
def cluster():
    with Server() as server:
        server.RequestHandlerClass = _Cluster
        server.shards = 5
        server.partial = {"hits": {"hits": []}, "_shards": {"failed": 1}}
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def engine(cluster, folder, more):
    file = folder / "os.toml"
    file.write_text(
        f'[engine]\nkind = "opensearch"\nurl = "{cluster.url}"\nindex = "shop,old"\ndepth = 20\n'
        f"{more}\n[snapshot]\nbackoff = 0.01\nconcurrency = 1\n"
    )
    return file


def searches(cluster):
    return [(path, body) for path, _, body in cluster.seen if "_search" in path]


def test_fields_are_searched(cluster, tmp_path):
    options = 'search = ["title^2", "body"]\n[engine.fields]\ntitle = "name.en"'
    result = snapshot(engine(cluster, tmp_path, options), {"q": "red shoe"}, tmp_path / "x.run")
    assert searches(cluster) == [
        (
            "/shop,old/_search",
            {
                "size": 20,
                "_source": ["name.en"],
                "query": {"multi_match": {"query": "red shoe", "fields": ["title^2", "body"]}},
            },
        )
    ]
    assert result.run.table.rows() == [("q", "a", 2.5), ("q", "b", 1.5)]
    assert result.queries["total_hits"].to_list() == [12]
    assert (result.facts.version, result.facts.documents) == ("opensearch 2.19.1", 77)
    assert result.run.corpus.keys() == {"documents", "settings", "state", "texts"}
    cluster.shards = 4
    assert snapshot(tmp_path / "os.toml", {"q": "red"}).facts.state != result.facts.state
    assert (tmp_path / "x.run.docs.jsonl").read_text() == '{"doc_id": "a", "title": "A"}\n'


def test_bodies_templates_and_pipelines(cluster, tmp_path):
    body = (
        'body = {query = {hybrid = {queries = [{match = {title = "{{query}}"}}, '
        '{knn = {v = {vector = "{{vector}}", k = "{{k}}"}}}]}}, size = 5}\n'
        'params = {search_pipeline = "{{pipeline}}"}\n'
        "[engine.parameters]\nk = 50\nvector = [0.5, 1.0]\npipeline = 'norm'"
    )
    snapshot(engine(cluster, tmp_path, body), {"q": "x"})
    path, request = searches(cluster)[0]
    assert path == "/shop,old/_search?search_pipeline=norm"
    assert request["size"] == 5
    knn = {"knn": {"v": {"vector": [0.5, 1.0], "k": 50}}}
    assert request["query"]["hybrid"]["queries"] == [{"match": {"title": "x"}}, knn]
    snapshot(engine(cluster, tmp_path, 'template = "main"'), {"q": "x"})
    path, request = searches(cluster)[1]
    assert path == "/shop,old/_search/template"
    assert (request["id"], request["params"]["query"], request["params"]["size"]) == ("main", "x", 20)


@pytest.mark.parametrize(
    ("words", "header"),
    [
        ('user = "me"\npassword = "${OS_SECRET}"', f"Basic {PAIR}"),
        ('api_key = "${OS_SECRET}"', "ApiKey s3cret!"),
        ('bearer = "${OS_SECRET}"', "Bearer s3cret!"),
    ],
)
def test_logins(cluster, tmp_path, monkeypatch, words, header):
    monkeypatch.setenv("OS_SECRET", "s3cret!")
    snapshot(engine(cluster, tmp_path, f'search = ["a"]\n{words}'), {"q": "x"})
    assert {headers["Authorization"] for _, headers, _ in cluster.seen} == {header}


def test_an_answer_of_some_shards_is_tried_again(cluster, tmp_path):
    file = engine(cluster, tmp_path, 'search = ["a"]')
    cluster.plan = {"": [(200, cluster.partial), (200, HITS)]}
    cluster.asked.clear()
    result = snapshot(file, {"q": "x"})
    assert result.queries["state"].to_list() == ["ok"]
