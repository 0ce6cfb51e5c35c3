"""Whatever the endpoint does, no failure becomes a grade."""

import json
from itertools import pairwise

import pytest

from rankgate.core.errors import UsageError
from rankgate.judging.llm.judge import Prices
from rankgate.judging.resolution.resolve import resolve
from support.wording import raises

FAILURES = {
    "429": [("fails", 429, ("Retry-After", "0"))],
    "429 without a word": [("fails", 429)],
    "500": [("fails", 500)],
    "503": [("fails", 503)],
    "529": [("fails", 529)],
    "breaks off": [("breaks_off",)],
    "no JSON": [("sends", "<html>oops</html>")],
    "half a JSON": [("sends", '{"choices": [')],
    "wrong shape": [("sends", '{"choices": []}')],
    "a list": [("sends", "[]")],
    "text where a list belongs": [("sends", '{"choices": "none"}')],
    "content is a number": [("sends", '{"choices": [{"message": {"content": 3}}]}')],
    "very deep": [("sends", "[" * 100_000)],
}


@pytest.mark.parametrize("steps", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_tried_again_and_then_answered(rate, server, rows, steps):
    server.plan = {"d0": [*steps, *steps, ("says", '{"grade": 1}')]}
    result, out = rate(2)
    assert server.asked == {"d0": 3, "d1": 1}
    assert {row["doc_id"]: (row["grade"], row["attempts"]) for row in rows(out)} == {
        "d0": (1.0, 3),
        "d1": (2.0, 1),
    }
    assert result.status == 0


@pytest.mark.parametrize("steps", FAILURES.values(), ids=FAILURES)
def test_a_failure_that_stays_is_no_grade_and_is_asked_again_later(rate, server, rows, steps):
    server.plan = {"d0": steps}
    result, out = rate(2)
    assert server.asked == {"d0": 3, "d1": 1}
    row = next(row for row in rows(out) if row["doc_id"] == "d0")
    assert row["grade"] is None
    assert row["reason"].startswith("no answer: ")
    assert (result.graded, result.unanswered, result.status) == (1, 1, 3)
    table = resolve(out).qrels.table
    assert table.rows() == [("q1", "d1", 2.0)]
    server.plan = {}
    result, out = rate(2)
    assert (result.graded, result.known, result.asked, result.status) == (2, 1, 1, 0)
    assert resolve(out).qrels.table["grade"].to_list() == [2.0, 2.0]


@pytest.mark.parametrize("act", ["hangs", "drips"])
def test_a_slow_answer_is_given_up(rate, server, rows, act):
    """The client gives up a request while the server is still working on it."""
    server.plan = {"d0": [(act, 20.0)]}
    _, out = rate(1, timeout=0.4, retries=0)
    assert server.active == 1
    assert rows(out)[0]["reason"] == "no answer: no answer within 0.4 seconds"


def test_nobody_is_there(rate, rows):
    result, out = rate(3, url="http://127.0.0.1:9/v1", retries=1)
    assert result.reasons == {"no answer": 3}
    assert {row["reason"] for row in rows(out)} == {"no answer: no connection to the endpoint"}
    assert result.input_tokens == 0


def test_a_proxy_of_the_environment_is_gone_through(rate, server, rows, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//ann:hunter%202@"))
    result, out = rate(2, url="http://model.example/v1")
    assert result.graded == 2
    path, headers, *_ = server.sent[0]
    assert path == "http://model.example/v1/chat/completions"
    assert headers["proxy-authorization"] == "Basic YW5uOmh1bnRlciAy"  # ann:hunter 2
    monkeypatch.setenv("http_proxy", "socks9://ann:hunter2@here")
    with raises("invalid-url", UsageError) as raised:
        rate(3, url="http://model.example/v1")
    assert "hunter2" not in str(raised.value)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert rate(3, url="http://model.example/v1", retries=0)[0].unanswered == 1
    assert rows(out)[-1]["reason"] == "no answer: no connection to the endpoint"
    assert rate(4)[0].unanswered == 0  # what is on this machine needs no proxy


def test_retry_after_holds_everybody_back(rate, server):
    server.plan = {"d0": [("fails", 429, ("Retry-After", "2")), ("says", '{"grade": 2}')]}
    server.delay = 0.05
    result, _ = rate(20, concurrency=2)
    assert result.graded == 20
    times = sorted(moment for *_, moment in server.sent)
    gaps = [later - sooner for sooner, later in pairwise(times)]
    # one pause; in its first second a request that the other thread had sent may arrive
    assert max(gaps) > 1


def test_a_server_that_asks_to_wait_for_an_hour_ends_the_work(rate, server):
    server.plan = {"d0": [("fails", 429, ("Retry-After", "3600"))]}
    with raises("model-failed", UsageError):
        rate(30, concurrency=1)
    assert sum(server.asked.values()) == 1


def test_a_denied_key_ends_the_work_at_once(rate, server, key):
    server.plan = {f"d{i}": [("echoes", 401)] for i in range(50)}
    with raises("model-failed", UsageError) as raised:
        rate(50, key_from="RANKGATE_TEST_KEY")
    assert key not in str(raised.value)
    assert sum(server.asked.values()) <= 4


def test_the_key_goes_to_no_other_place(rate, server):
    server.plan = {"d0": [("fails", 307, ("Location", "http://127.0.0.1:9/"))]}
    with raises("model-failed", UsageError):
        rate(1)


def test_a_request_that_is_refused_is_one_pairs_matter_and_many_are_everybodys(rate, server, rows):
    server.plan = {"d1": [("fails", 400)]}
    result, out = rate(4)
    assert server.asked["d1"] == 1
    assert (result.graded, result.unanswered) == (3, 1)
    assert "no answer: HTTP 400: busy" in {row["reason"] for row in rows(out)}
    server.plan = {f"d{i}": [("fails", 400)] for i in range(100)}
    with raises("model-failed", UsageError):
        rate(100, concurrency=1)
    assert sum(server.asked.values()) < 30


def test_no_more_requests_at_a_time_than_allowed(rate, server):
    server.delay = 0.05
    result, _ = rate(40, concurrency=3)
    assert result.graded == 40
    assert server.peak == 3


STRANGE = {
    "a lone surrogate": r'{"grade": 2, "reason": "a \ud800 b"}',
    "a NUL": r'{"grade": 2, "reason": "a \u0000 b"}',
    "a grade of many digits": '{"grade": 1%s}' % ("0" * 400),
    "a confidence of many digits": '{"grade": 2, "confidence": 1%s}' % ("0" * 400),
    "more digits than Python reads": '{"grade": 2, "x": 1%s}' % ("0" * 5000),
    "a deep grade": f'{{"grade": {"[" * 400}2{"]" * 400}}}',
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE)
def test_a_strange_answer_is_kept_and_counted_and_ends_nothing(rate, server, rows, answer):
    server.plan = {"d0": [("says", answer)]}
    result, out = rate(3, prices=Prices(1, 10), ceiling=1, confidence=True)
    assert (result.asked, result.unanswered, sum(server.asked.values())) == (3, 0, 3)
    assert result.spent == pytest.approx(3 * (100 + 10 * 10) / 1e6)
    assert all("\0" not in (row["comment"] or "") for row in rows(out))
    assert rate(3, prices=Prices(1, 10), ceiling=1, confidence=True)[0].asked == 0


@pytest.mark.parametrize("tokens", ["1" + "0" * 400, "-1", "1.5", "3000000000", '"many"', "[1]"])
def test_tokens_that_cannot_be_count_the_most_that_a_request_can_take(rate, server, tokens):
    answer = '{"choices": [{"message": {"content": "{\\"grade\\": 2}"}}], "usage": '
    server.plan = {"d0": [("sends", answer + f'{{"prompt_tokens": {tokens}}}}}')]}
    result, _ = rate(1, prices=Prices(1, 10), ceiling=1, parameters={"max_tokens": 50})
    body = len(json.dumps(server.sent[0][2], ensure_ascii=False).encode())
    assert result.spent == pytest.approx((body + 1000 + 10 * 50) / 1e6)


def test_an_error_with_strange_signs_is_kept(rate, server, rows):
    text = json.dumps({"error": {"message": "a\0b \ud800 c"}})
    server.plan = {"d0": [("fails_with", 400, text)]}
    _, out = rate(3)
    reasons = {row["doc_id"]: row["reason"] for row in rows(out)}
    assert reasons["d0"].startswith("no answer: HTTP 400: a")
    assert "\0" not in reasons["d0"]
