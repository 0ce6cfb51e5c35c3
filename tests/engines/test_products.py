"""The example files of products: a real Groonga, and servers that answer in documented shapes."""

import json
import subprocess
import threading
import urllib.request
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from rankgate.engines.configuration import read_engine
from rankgate.engines.engine_checks import check_engine
from rankgate.engines.snapshots.snapshot_verb import snapshot
from support.waiting import PATIENCE, free_port, until
from support.wording import raises

from .conftest import DOCS, QUERIES, Server, _Handler

EXAMPLES = Path(__file__).parents[2] / "examples" / "engines"
HITS = [("a", 2.5, "T"), ("b", 1.5, "U")]
SOLR = {
    "responseHeader": {"status": 0, "QTime": 1},
    "response": {
        "numFound": 2,
        "start": 0,
        "maxScore": 2.5,
        "numFoundExact": True,
        "docs": [{"id": i, "title": t, "score": s} for i, s, t in HITS],
    },
}
VESPA_ROOT = {"id": "toplevel", "relevance": 1.0, "coverage": {"coverage": 100, "documents": 9}}
VESPA = {
    "root": VESPA_ROOT
    | {
        "fields": {"totalCount": 2},
        "children": [
            {
                "id": f"index:shop/0/{i}",
                "relevance": s,
                "source": "shop",
                "fields": {"sddocname": "product", "product_id": i, "title": t},
            }
            for i, s, t in HITS
        ],
    }
}
QDRANT = {
    "status": "ok",
    "time": 0.001,
    "result": {
        "points": [
            {"id": n, "version": 3, "score": s, "payload": {"product_id": i, "title": t}}
            for n, (i, s, t) in enumerate(HITS)
        ]
    },
}
EMPTY = {
    "solr": SOLR | {"response": {"numFound": 0, "start": 0, "docs": []}},
    "vespa": {"root": VESPA_ROOT | {"fields": {"totalCount": 0}}},
    "qdrant": QDRANT | {"result": {"points": []}},
}
ANSWERS = {"solr": SOLR, "vespa": VESPA, "qdrant": QDRANT, "qdrant-vectors": QDRANT}


@pytest.fixture
def product(tmp_path, monkeypatch):
    """The example file of a product, and a server that gives the answer planned for it."""
    monkeypatch.setenv("QDRANT_API_KEY", "very-secret-0123")
    with Server() as server:
        server.RequestHandlerClass = _Fixed
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()

        def started(name, answer):
            server.fixed = answer
            return example(name, tmp_path, server.url), server

        yield started
        server.shutdown()
        thread.join()


class _Fixed(_Handler):
    def _send(self, *_, **__):
        super()._send(200, self.server.fixed)


def example(name, folder, url):
    """A file of examples/engines with another host."""
    text = (EXAMPLES / f"{name}.toml").read_text()
    (line,) = [text_line for text_line in text.splitlines() if text_line.startswith("url = ")]
    host = urlsplit(line.split('"')[1])
    file = folder / f"{name}.toml"
    file.write_text(text.replace(f"{host.scheme}://{host.netloc}", url))
    return file


@pytest.mark.parametrize("name", ANSWERS)
def test_the_example_file_reads_the_documented_answer(product, name):
    file, _ = product(name, ANSWERS[name])
    result = snapshot(file, {"q": "red shoe"})
    assert result.run.table.rows() == [("q", i, s) for i, s, _ in HITS]
    assert result.queries["total_hits"].to_list() == [None if "qdrant" in name else 2]
    assert [document["title"] for document in check_engine(file).documents] == [t for *_, t in HITS]


@pytest.mark.parametrize("name", EMPTY)
def test_an_answer_without_documents_is_no_failure(product, name):
    file, _ = product(name, EMPTY[name])
    assert snapshot(file, {"q": "x"}).queries["state"].to_list() == ["zero"]


def asked(server):
    """The requests for documents, without those about the index."""
    about = ("rows=0", "hits=0", "collections/shop HTTP")
    return [request for request in server.seen if not any(part in f"{request[0]} HTTP" for part in about)]


def test_requests_are_as_documented(product):
    file, server = product("solr", SOLR)
    snapshot(file, {"q": "a&b=c"}, parameters={"title_weight": 5})
    path = urlsplit(asked(server)[0][0])
    assert path.path == "/solr/shop/select"
    assert dict(parse_qsl(path.query)) == {
        "q": "a&b=c",
        "defType": "edismax",
        "qf": "title^5 body",
        "fl": "id,score,title",
        "rows": "100",
        "start": "0",
        "wt": "json",
    }
    file, server = product("vespa", VESPA)
    snapshot(file, {"q": 'a"b'}, depth=20)
    assert asked(server)[-1][0] == "/search/"
    assert asked(server)[-1][2] == {
        "yql": "select * from product where userQuery()",
        "query": 'a"b',
        "hits": 20,
        "ranking.profile": "bm25",
    }
    file, server = product("qdrant-vectors", QDRANT)
    snapshot(file, {"q": "x"}, parameters={"exact": True})
    assert server.seen[-1][2]["params"] == {"exact": True, "hnsw_ef": 128, "quantization": {"ignore": False}}
    assert server.seen[-1][2]["using"] == "dense"
    file, server = product("qdrant", QDRANT)
    snapshot(file, {"q": "x"})
    path, headers, body = asked(server)[-1]
    assert path == "/collections/shop/points/query"
    assert headers["api-key"] == "very-secret-0123"
    assert body == {
        "query": {"text": "x", "model": "qdrant/bm25"},
        "using": "text",
        "limit": 100,
        "with_payload": ["product_id", "title"],
    }


def test_an_answer_that_says_that_it_is_not_whole_is_tried_again(product):
    errors = [{"code": 12, "summary": "Timed out", "message": "no answer from node 2"}]
    file, _ = product("vespa", {"root": VESPA["root"] | {"errors": errors}})
    file.write_text(file.read_text() + "\n[snapshot]\nretries = 1\nbackoff = 0.01\n")
    result = snapshot(file, {"q": "x"})
    assert result.queries.row(0, named=True)["attempts"] == 2
    assert "no answer from node 2" in result.queries["error"][0]


def test_names_in_the_path_of_a_url(server, api):
    api.write_text(
        api.read_text().replace("/search", "/{{shop}}/search/{{query}}")
        + "[engine.parameters]\nshop = 'main'\n"
    )
    snapshot(api, {"q": "a/b ?c"})
    assert server.seen[0][0].partition("?")[0] == "/main/search/a%2Fb%20%3Fc"
    api.write_text(api.read_text().replace("/{{shop}}", "/{{shop}}/${TOKEN}"))
    with raises("invalid-engine"):
        snapshot(api, QUERIES)


@pytest.fixture(scope="module")
def groonga(tmp_path_factory):
    """The URL of a Groonga with the documents."""
    port = free_port()
    folder = tmp_path_factory.mktemp("groonga")
    command = ["groonga", "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "-p", str(port)]
    command += ["--log-path", str(folder / "log"), "-n", str(folder / "db")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _ready(url, process)
        _load(url)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


def call(url, command, body=None, **params):
    request = urllib.request.Request(f"{url}/d/{command}?{urlencode(params)}", body)  # noqa: S310 - loopback
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310 - loopback
        return json.load(reply)[1]


def _ready(url, process):
    def answers():
        try:
            return call(url, "status")
        except OSError:
            assert process.poll() is None, "groonga does not start"

    until(answers)


def _load(url):
    call(url, "table_create", name="Docs", flags="TABLE_HASH_KEY", key_type="ShortText")
    call(
        url,
        "table_create",
        name="Terms",
        flags="TABLE_PAT_KEY",
        key_type="ShortText",
        default_tokenizer="TokenBigram",
        normalizer="NormalizerAuto",
    )
    for column in ("title", "body"):
        call(url, "column_create", table="Docs", name=column, flags="COLUMN_SCALAR", type="Text")
        call(
            url,
            "column_create",
            table="Terms",
            name=f"of_{column}",
            type="Docs",
            source=column,
            flags="COLUMN_INDEX|WITH_POSITION",
        )
    rows = [{"_key": doc_id, "title": body.split()[0], "body": body} for doc_id, body in DOCS.items()]
    assert call(url, "load", json.dumps(rows).encode(), table="Docs") == len(DOCS)


def test_a_real_groonga_is_asked_page_by_page(groonga, tmp_path):
    file = example("groonga", tmp_path, groonga)
    file.write_text(file.read_text().replace("page_size = 50", "page_size = 7"))
    queries = {"q1": "red", "q2": "shoe", "q3": "number7", "q4": "nothing"}
    result = snapshot(file, queries, depth=30)
    assert result.queries["state"].to_list() == ["ok", "ok", "ok", "zero"]
    for query_id, text in queries.items():
        total, _, *rows = call(
            groonga,
            "select",
            table="Docs",
            match_columns="title * 3 || body",
            query=text,
            output_columns="_key,_score",
            sort_keys="-_score,_key",
            limit=30,
        )[0]
        query_rows = result.run.table.filter(result.run.table["query_id"] == query_id)
        served = [(doc_id, pytest.approx(score, rel=1e-5)) for doc_id, score in rows]
        assert query_rows.select("doc_id", "score").rows() == served
        total_hits = dict(result.queries.select("query_id", "total_hits").iter_rows())
        assert total_hits[query_id] == total[0]
    assert not result.lists.repeated
    check = check_engine(file, "red", parameters={"title_weight": 9})
    assert check.documents[0]["title"] == "red"
    broken = snapshot(file, {"q": "(red"})  # its own syntax error
    assert broken.queries.row(0, named=True)["attempts"] == 1
    assert "Syntax error" in broken.queries["error"][0]


def test_every_example_file_is_read_and_named_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()
    files = sorted(EXAMPLES.glob("*.toml"))
    assert {file.stem for file in files} == {*ANSWERS, "groonga"}
    for file in files:
        assert read_engine(file).engine.engine_kind == "http"
        assert f"examples/engines/{file.name}" in page
