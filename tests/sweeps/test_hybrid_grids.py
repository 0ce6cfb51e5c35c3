"""The grids that ``init --kind hybrid`` writes, against servers that answer in documented shapes."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rankgate.decisions.sweeps.sweep import Sweep


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_GET(self):
        self._send(200, {"version": {"number": "3.1.0", "distribution": "opensearch"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, body))
        self._send(*self.server.answer(body))

    def _send(self, status, answer):
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def hybrid(run, tmp_path, monkeypatch):
    """Sweep the grid of an engine against a server with this answer; the result and the requests."""
    monkeypatch.chdir(tmp_path)
    assert run("init", "--kind", "hybrid").code == 0
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()

        def swept(name, answer):
            server.seen, server.answer = [], answer
            host = f"http://127.0.0.1:{server.server_port}"
            for file in tmp_path.glob("*.toml"):
                text = file.read_text().replace("http://localhost:8080", host)
                file.write_text(text.replace("http://localhost:9200", host))
            printed = run("sweep", f"sweep-{name}.toml", "--format", "json")
            assert printed.code == 0, printed.err
            return Sweep.from_dict(json.loads(printed.out)), server.seen

        yield swept
        server.shutdown()
        thread.join()


HITS = {
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "hits": [{"_id": f"d{n}", "_score": 1 / n, "_source": {"title": "x"}} for n in (1, 2)],
    }
}


def opensearch(body):
    """Refuse what the documentation of the normalization processor refuses."""
    (processor,) = body["search_pipeline"]["phase_results_processors"]
    normalization, combination = (
        processor["normalization-processor"][key] for key in ("normalization", "combination")
    )
    weights = combination["parameters"]["weights"]
    if normalization["technique"] == "z_score" and combination["technique"] != "arithmetic_mean":
        return 400, {"error": {"reason": "z_score supports only arithmetic_mean"}}
    if len(weights) != len(body["query"]["hybrid"]["queries"]) or abs(sum(weights) - 1) > 1e-9:
        return 400, {"error": {"reason": "weights"}}
    return 200, HITS


def test_opensearch(hybrid):
    result, requests = hybrid("opensearch", opensearch)
    assert len(result.points) == 2 * 5 * 3 + 5
    assert {point.state for point in result.points} == {"ok"}
    path, body = requests[0]
    assert path == "/products/_search"
    assert body["query"]["hybrid"]["queries"][0]["match"]["title"]["query"]
    assert body["query"]["hybrid"]["queries"][1]["neural"]["embedding"]["k"] == 100
    processors = {json.dumps(body["search_pipeline"], sort_keys=True) for _, body in requests}
    assert len(processors) == 35


def test_elasticsearch(hybrid):
    result, requests = hybrid("elasticsearch", lambda _: (200, HITS))
    assert len(result.points) == 15
    linear = requests[0][1]["retriever"]["linear"]
    assert linear["rank_window_size"] == 100
    assert [retriever["weight"] for retriever in linear["retrievers"]] == [1.0, 1.0]
    assert {retriever["normalizer"] for retriever in linear["retrievers"]} == {"minmax"}
    assert [
        next(iter(retriever["retriever"]["standard"]["query"])) for retriever in linear["retrievers"]
    ] == ["match", "semantic"]


def test_weaviate(hybrid):
    documents = [{"title": "x", "_additional": {"id": f"d{n}", "score": str(1 / n)}} for n in (1, 2)]
    result, requests = hybrid("weaviate", lambda _: (200, {"data": {"Get": {"Product": documents}}}))
    assert len(result.points) == 10
    assert {tuple(sorted(body["variables"])) for _, body in requests} == {("alpha", "depth", "text")}
    assert {body["query"].partition("fusionType: ")[2].split()[0] for _, body in requests} == {
        "relativeScoreFusion",
        "rankedFusion",
    }
    assert {path for path, _ in requests} == {"/v1/graphql"}


def test_two_lists_of_each_query_and_the_engine_confirms(hybrid):
    def answer(body):
        return opensearch(body) if "hybrid" in body["query"] else (200, HITS)

    result, requests = hybrid("hybrid", answer)
    assert len(result.points) == 66
    kinds = [next(iter(body["query"])) for _, body in requests]
    queries = kinds.count("match")
    assert (kinds.count("neural"), kinds.count("hybrid")) == (queries, min(50, result.held_out.training))
    assert queries == result.held_out.training + result.held_out.queries
    assert result.confirmation.same_order == result.confirmation.queries
