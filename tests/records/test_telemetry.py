"""Figures as OpenTelemetry metrics, taken by a server that speaks HTTP as a collector does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

QRELS = "q1 0 secret-a 1\nq2 0 secret-b 1\n"
RUN = "q1 Q0 secret-a 1 2 x\nq1 Q0 secret-c 2 1 x\nq2 Q0 secret-c 1 2 x\nq2 Q0 secret-b 2 1 x\n"
SERVICE = "shop-search"


class _Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        status, answer = self.server.answer
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def collector(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as server:
        server.requests, server.answer = [], (200, b"{}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hidden-token, x-team=a")
        yield server
        server.shutdown()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "new.run").write_text(RUN)
    (tmp_path / "old.run").write_text(RUN.replace("secret-c 1 2", "secret-c 1 0"))
    return ("qrels.txt", "new.run")


def _gauges(request):
    """The points of each gauge: attributes and number."""
    [resource] = request["resourceMetrics"]
    [scope] = resource["scopeMetrics"]
    service = {pair["key"]: pair["value"]["stringValue"] for pair in resource["resource"]["attributes"]}
    assert service == {"service.name": SERVICE}
    return {
        metric["name"]: [
            (
                {pair["key"]: pair["value"]["stringValue"] for pair in point["attributes"]},
                point.get("asDouble", point.get("asInt")),
            )
            for point in metric["gauge"]["dataPoints"]
        ]
        for metric in scope["metrics"]
    }


def test_an_evaluation_sends_its_figures_and_nothing_else(collector, files, run):
    shown = run("eval", *files, "-m", "RR", "-m", "P@1", "--also", f"otlp={SERVICE}")
    assert (shown.code, shown.err) == (0, "")
    [(path, headers, request)] = collector.requests
    assert path == "/v1/metrics"
    assert headers["authorization"] == "Bearer hidden-token"
    assert headers["x-team"] == "a"
    gauges = _gauges(request)
    values = {attributes["rankgate.metric"]: number for attributes, number in gauges["rankgate.value"]}
    assert values == {"RR": 0.75, "P@1": 0.5}
    assert [number for _, number in gauges["rankgate.count"]] == ["2", "2"]
    attributes = gauges["rankgate.value"][0][0]
    assert attributes["rankgate.system"] == "new"
    assert attributes["rankgate.kind"] == "evaluation"
    assert "secret" not in json.dumps(request)
    assert "q1" not in json.dumps(request)


def test_a_verdict_is_sent_and_keeps_its_exit_code(collector, files, run):
    command = ("gate", files[0], "old.run", files[1], "-m", "RR", "--also", f"otlp={SERVICE}")
    sent = run(*command)
    gauges = _gauges(collector.requests[0][2])
    [(attributes, number)] = gauges["rankgate.verdict"]
    assert number == "1"
    expected = {0: "pass", 1: "fail", 3: "inconclusive"}[sent.code]
    assert attributes["rankgate.verdict"] == expected
    collector.answer = (503, b"busy hidden-token")
    failed = run(*command)
    assert failed.code == sent.code
    assert failed.out == sent.out
    assert "the figures were not sent" in failed.err
    assert "hidden-token" not in failed.err


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, b"no"), "the figures were not sent"),
        ((200, b'{"partialSuccess": {"rejectedDataPoints": "2", "errorMessage": "too old"}}'), "too old"),
    ],
)
def test_figures_that_are_not_taken_are_an_error(collector, files, run, answer, words):
    collector.answer = answer
    refused = run("eval", *files, "-m", "RR", "--also", f"otlp={SERVICE}")
    assert (refused.code, refused.error.code) == (2, "not-sent")
    assert words in refused.error.problem
    assert "hidden-token" not in refused.err


def test_an_address_and_a_service_are_needed(files, run, monkeypatch):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert run("eval", *files, "--also", "otlp=a").error.code == "missing-input"
    for also in ("otlp", "otlp=", "json=x.json"):
        assert run("eval", *files, "--also", also).error.code == "invalid-syntax"
