"""Engines over HTTP, against a real server that fails in every way."""

import json
import random

import pytest

from rankgate.data.answers.engine_answers import Shape, parse_path
from rankgate.engines.configuration import read_engine
from rankgate.engines.engine_checks import check_engine
from rankgate.engines.requests.transport import Transport
from rankgate.engines.snapshots.snapshot_verb import FunctionEngine, snapshot
from support.wording import raises

from .conftest import QUERIES, _Handler, listed


def lists(result):
    return result.run.table.group_by("query_id", maintain_order=True).agg("doc_id").rows()


WHOLE = [(query_id, [document["id"] for document in listed(text)]) for query_id, text in QUERIES.items()]


def test_documents_scores_fields_and_totals(api, server):
    result = snapshot(api, QUERIES)
    assert lists(result) == WHOLE
    assert result.queries["total_hits"].to_list() == [50] * 40
    assert {notice.code for notice in result.notices} == set()
    check = check_engine(api, "red shoe")
    assert check.documents[0]["title"] == listed("red shoe")[0]["name"]
    assert not check.missing
    path = server.seen[-1][0]
    assert path == "/search?q=red+shoe&n=5"


def test_a_server_that_fails_now_and_then_loses_nothing(api, server):
    chance = random.Random(1)
    failures = [
        (500, "oops"),
        (503, ""),
        (429, "", [("Retry-After", "0")]),
        (200, b"<html>no"),
        (200, b'{"found"', (), 99),
    ]
    server.plan = {
        text: [chance.choice(failures) for _ in range(chance.choice([0, 0, 1, 2, 3]))] + [()]
        for text in QUERIES.values()
    }
    failed = sum(len(steps) - 1 for steps in server.plan.values())
    result = snapshot(api, QUERIES)
    assert failed > 0.3 * len(QUERIES)
    assert lists(result) == WHOLE
    assert result.queries["attempts"].sum() == len(QUERIES) + failed


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ((500, {"error": {"reason": "shard gone"}}), "shard gone"),
        ((200, b"[1, 2"), "not JSON"),
        ((200, b"<!DOCTYPE html><p>login"), "HTML"),
        ((200, b"x", (), 50), "cut off"),
    ],
)
def test_what_does_not_get_better_fails_after_all_tries(api, server, reply, word):
    server.plan = {"blue": [reply]}
    result = snapshot(api, {"a": "red", "b": "blue"})
    assert result.queries["state"].to_list() == ["ok", "failed"]
    assert result.queries["attempts"].to_list() == [1, 4]
    assert word in result.queries["error"][1]
    assert result.finished


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ((400, {"error": "bad syntax"}), "bad syntax"),
        ((200, {"other": []}), "no list of documents"),
        ((200, {"found": {"docs": [{"name": "x"}]}}), "no document has a usable id"),
        ((200, {"found": {"docs": [{"id": "a", "score": "high"}]}}), "is not a number"),
    ],
)
def test_what_will_never_get_better_is_not_tried_again(api, server, reply, word):
    server.plan = {"blue": [reply]}
    result = snapshot(api, {"a": "red", "b": "blue"})
    assert result.queries["attempts"].to_list() == [1, 1]
    assert word in result.queries["error"][1]


@pytest.mark.parametrize("status", [301, 302, 401, 403, 404])
def test_what_fails_for_all_queries_ends_at_once(api, server, status, tmp_path):
    server.plan = {"*": [(status, "", [("Location", "http://elsewhere.invalid/")])]}
    result = snapshot(api, QUERIES, tmp_path / "new.run", concurrency=1)
    assert not result.finished
    assert str(status) in result.problem
    assert len(server.seen) == 1
    assert result.states["not_run"] == len(QUERIES)  # it is not the first query's fault
    server.plan = {}
    resumed = snapshot(api, QUERIES, tmp_path / "new.run", again=True)
    assert resumed.finished
    assert lists(resumed) == WHOLE


def test_an_engine_that_is_down_is_not_asked_for_ever(api, server, tmp_path):
    server.plan = {"*": [(503, "")]}
    result = snapshot(api, QUERIES, tmp_path / "new.run")
    assert not result.finished
    assert "in a row" in result.problem
    assert len(server.seen) <= 4 * (10 + 4)


def test_a_wait_that_the_server_asks_for_holds_all_threads(api, server):
    server.plan = {"red": [(429, "", [("Retry-After", "0.3")]), ()]}
    result = snapshot(api, {"a": "red", "b": "blue"})
    assert result.finished
    assert result.seconds >= 0.3
    server.plan = {"green": [(429, "", [("Retry-After", "100000")])]}
    stopped = snapshot(api, {"a": "green"})
    assert "asks to wait" in stopped.problem


def test_a_rate_is_kept(api):
    result = snapshot(api, dict(list(QUERIES.items())[:10]), rate=50)
    assert result.seconds >= 9 / 50


def test_requests_are_as_many_at_once_as_asked_for(api, server):
    server.delay = 0.05
    snapshot(api, QUERIES, concurrency=8)
    assert 2 <= server.peak <= 8


def test_an_answer_that_does_not_come(api, server):
    server.delay = 20
    api.write_text(api.read_text().replace("timeout = 60", "timeout = 0.1") + "retries = 0\n")
    result = snapshot(api, {"a": "red"})
    assert "no answer within 0.1 seconds" in result.queries["error"][0]


def test_pages_are_joined(api, server):
    config = api.read_text().replace("depth = 5", "depth = 8\npage_size = 5")
    api.write_text(config.replace('n = "{{depth}}"', 'n = "{{page_size}}"\nfrom = "{{offset}}"'))
    result = snapshot(api, {"a": "red"})
    assert [path.partition("from=")[2] for path, *_ in server.seen] == ["0", "5"]
    assert result.lists.repeated == 5  # this server gives the same documents for every page
    assert len(result.run.table) == 5


def test_secrets_are_nowhere_but_in_the_request(api, server, tmp_path, monkeypatch):
    config = '[engine.headers]\nAuthorization = "Bearer ${SHOP_TOKEN}"\n[snapshot]'
    api.write_text(api.read_text().replace("[snapshot]", config))
    with raises("missing-secret"):
        snapshot(api, QUERIES)
    monkeypatch.setenv("SHOP_TOKEN", "very-secret-0123")
    server.plan = {"blue": [(500, {"error": "token very-secret-0123 is bad"})]}
    result = snapshot(api, {"a": "red", "b": "blue"}, tmp_path / "new.run")
    assert server.seen[0][1]["Authorization"] == "Bearer very-secret-0123"
    assert "[secret]" in result.queries["error"][1]
    for file in tmp_path.iterdir():
        assert b"very-secret" not in file.read_bytes(), file
    first_hash = read_engine(api).sha256
    monkeypatch.setenv("SHOP_TOKEN", "another-secret-0123")
    assert read_engine(api).sha256 == first_hash


def test_hosts_can_be_restricted(api, monkeypatch):
    monkeypatch.setenv("RANKGATE_HOSTS", "search.example.com, other.example.com")
    with raises("host-not-allowed"):
        snapshot(api, QUERIES)
    monkeypatch.setenv("RANKGATE_HOSTS", "127.0.0.1")
    assert snapshot(api, QUERIES).finished


def test_a_body_takes_values_with_their_types(server, tmp_path):
    file = tmp_path / "post.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nmethod = "POST"\nurl = "{server.url}/search"\n'
        'hits = "found.docs"\nid = "id"\n'
        '[engine.body]\nq = "{{query}}"\nsize = "{{depth}}"\nwords = ["x {{boost}}"]\n'
        "[engine.parameters]\nboost = 2.5\n"
    )
    query = 'a "quote" \\ and {{boost}} }'
    result = snapshot(file, {"a": query}, depth=7)
    assert server.seen[0][2] == {"q": query, "size": 7, "words": ["x 2.5"]}
    assert result.lists.by_rank


SHAPES = {
    "solr": (
        {"response": {"numFound": 3, "docs": [{"id": "a", "score": 2.0, "title": ["T"]}]}},
        Shape(
            ("response", "docs"),
            ("id",),
            ("score",),
            {"title": parse_path("title.0")},
            parse_path("response.numFound"),
        ),
    ),
    "vespa": (
        {
            "root": {
                "fields": {"totalCount": 3},
                "children": [
                    {"id": "id:ns:doc::a", "relevance": 2.0, "fields": {"docid": "a", "title": "T"}}
                ],
            }
        },
        Shape(
            parse_path("root.children"),
            parse_path("fields.docid"),
            ("relevance",),
            {"title": parse_path("fields.title")},
            parse_path("root.fields.totalCount"),
        ),
    ),
    "qdrant": (
        {"result": {"points": [{"id": "a", "score": 2.0, "payload": {"title": "T"}}]}},
        Shape(parse_path("result.points"), ("id",), ("score",), {"title": parse_path("payload.title")}),
    ),
    "groonga": (
        [[0, 1.0, 0.1], [[[3], [["_key", "T"], ["_score", "Int32"]], ["a", 2, "T"]]]],
        Shape(parse_path("1.0.2:"), ("0",), ("1",), {"title": ("2",)}, parse_path("1.0.0.0")),
    ),
}


@pytest.mark.parametrize("product", SHAPES)
def test_answers_of_products_are_read(product):
    value, shape = SHAPES[product]
    answer = shape.read(json.loads(json.dumps(value)), 10)
    assert (answer.doc_ids, answer.scores) == (("a",), (2.0,))
    assert answer.fields == [{"title": "T"}]
    assert answer.total == (None if product == "qdrant" else 3)


class _Endless(_Handler):
    """An answer that does not end."""

    def _send(self, *_, **__):
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        while True:
            self.wfile.write(b'{"found": {"docs": [' + b" " * 65536)


@pytest.mark.parametrize(
    ("largest", "seconds", "word"), [(1 << 20, 60, "larger than"), (1 << 40, 0.3, "no answer")]
)
def test_an_answer_without_an_end(api, server, monkeypatch, largest, seconds, word):
    server.RequestHandlerClass = _Endless
    original_init = Transport.__init__

    def limited(self, *args, **options):
        original_init(self, *args, **options, largest=largest)

    monkeypatch.setattr(Transport, "__init__", limited)
    config = api.read_text().replace("timeout = 60", f"timeout = {seconds}")
    api.write_text(config + "retries = 0\n")
    result = snapshot(api, {"a": "red"})
    assert word in result.queries["error"][0]


def test_an_engine_that_dies_half_way_is_left_alone_until_it_is_back(api, server, tmp_path):
    """The circuit breaker: answers are kept, and remaining queries wait for the server."""
    alive = {text: [()] for text in list(QUERIES.values())[:20]}
    server.plan = {"*": [(503, "")], **alive}
    output = tmp_path / "new.run"
    interrupted = snapshot(api, QUERIES, output)
    assert not interrupted.finished
    assert interrupted.states["ok"] == 20
    assert interrupted.states["not_run"] >= 20 - 10 - 4
    request_count = len(server.seen)
    assert request_count <= 20 + 4 * (10 + 4)
    server.plan = {}
    complete = snapshot(api, QUERIES, output, again=True)
    assert lists(complete) == WHOLE
    assert len(server.seen) - request_count == 20  # none that was answered is asked again


def test_ids_of_other_types_duplicates_and_fewer_than_asked_for(api, server):
    docs = [{"id": 7, "score": 3}, {"id": "7", "score": 2}, {"id": "x", "score": "1.5"}]
    server.plan = {"*": [(200, {"found": {"docs": docs, "n": 3}})]}
    result = snapshot(api, {"a": "red"})
    assert result.run.table.rows() == [("a", "7", 3.0), ("a", "x", 1.5)]
    assert [notice.code for notice in result.notices] == ["repeated-documents"]
    assert result.queries["returned"].to_list() == [2]
    for wrong in (1.5, None, True, "", ["a"]):
        server.plan = {"*": [(200, {"found": {"docs": [{"id": wrong, "score": 1}]}})]}
        assert snapshot(api, {"a": "red"}).states["failed"] == 1


@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize("place", [0, 20, 39])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_one_query_that_is_refused_leaves_no_snapshot_unfinished(
    api, server, tmp_path, status, place, concurrency
):
    query_id, text = list(QUERIES.items())[place]
    server.plan = {text: [(status, "")]}
    output = tmp_path / "new.run"
    result = snapshot(api, QUERIES, output, concurrency=concurrency)
    if not result.finished:  # it was the first one: nothing was ever answered
        assert place == 0
        result = snapshot(api, QUERIES, output, concurrency=concurrency)
    assert result.finished
    failed = result.queries.filter(result.queries["state"] == "failed")
    assert failed["query_id"].to_list() == [query_id]
    assert str(status) in failed["error"][0]
    assert lists(result) == [row for row in WHOLE if row[0] != query_id]
    server.plan = {}
    snapshot(api, QUERIES, output)  # it failed alone, and not as the server was down
    assert lists(snapshot(api, QUERIES, output, again=True)) == WHOLE


def test_queries_that_failed_while_the_server_was_down_are_asked_again(api, server, tmp_path):
    output = tmp_path / "new.run"
    bad_query, *other_queries = QUERIES.values()
    alive = {text: [()] for text in other_queries[:20]}
    server.plan = {"*": [(503, "")], **alive, bad_query: [(400, "bad")]}
    interrupted = snapshot(api, QUERIES, output)
    assert not interrupted.finished
    assert interrupted.states["failed"] > 10
    while not (resumed := snapshot(api, QUERIES, output)).finished:  # it is still down
        assert resumed.states["not_run"]
    server.plan = {bad_query: [(400, "bad")]}
    complete = snapshot(api, QUERIES, output)
    assert (complete.states["ok"], complete.states["failed"]) == (39, 1)
    assert lists(complete) == WHOLE[1:]


def test_queries_that_fail_for_ever_are_the_last_to_be_asked_again(api, server, tmp_path):
    output = tmp_path / "new.run"
    bad = list(QUERIES.values())[20:38]
    server.plan = {text: [(500, "")] for text in bad}
    calls = 1
    while not (result := snapshot(api, QUERIES, output)).finished:
        calls += 1
        assert calls < 4
    assert (result.states["ok"], result.states["failed"]) == (22, 18)


def test_a_column_named_like_a_parameter_is_that_parameter(api, server, tmp_path):
    api.write_text(
        api.read_text().replace('n = "{{depth}}"', 'n = "{{depth}}"\nlang = "{{lang}}"')
        + '[engine.parameters]\nlang = "en"\n'
    )
    file = tmp_path / "queries.csv"
    file.write_text("query_id,text,lang,note\nq1,red,de,x\nq2,blue,,y\nq3,shoe,7,z\n")
    snapshot(api, file, concurrency=1)
    assert [path.rpartition("lang=")[2] for path, *_ in server.seen] == ["de", "en", "7"]
    calls = []

    def search(text, *, lang="en", **_):
        calls.append((text, lang))
        return ["a"]

    snapshot(FunctionEngine(function=search, parameters={"lang": "en"}), file)
    assert sorted(calls) == [("blue", "en"), ("red", "de"), ("shoe", 7)]


def test_partial_content_is_a_notice(api, server):
    server.plan = {"red": [(206, {"found": {"docs": listed("red"), "n": 5}})]}
    result = snapshot(api, {"a": "red", "b": "blue"})
    (notice,) = [entry for entry in result.notices if entry.code == "partial-answers"]
    assert "1 answer " in notice.text
    assert "206" in notice.text


def test_the_reason_is_the_root_cause(api, server):
    cause = {"type": "parse_exception", "reason": "Cannot parse '(red'"}
    error = {
        "root_cause": [{"type": "query_shard_exception", "reason": "bad", "caused_by": cause}],
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
    }
    server.plan = {"red": [(400, {"error": error, "status": 400})]}
    result = snapshot(api, {"a": "red", "b": "blue"})
    assert result.queries["error"][0] == "HTTP 400: Cannot parse '(red'"
