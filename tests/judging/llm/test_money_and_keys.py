"""Cost limits are kept, and the API key is never written anywhere."""

import json

import pytest

from rankgate.core.errors import UsageError
from rankgate.judging.llm.judge import Prices
from support.wording import raises


def test_the_ceiling_is_never_passed(rate, server):
    # a request costs at most (bytes of its body + 1000) + 10 x 512 millionths
    prices = Prices(1, 10)
    result, _ = rate(60, prices=prices, ceiling=0.015, concurrency=4)
    assert result.stopped
    assert result.status == 3
    assert result.left == 60 - result.asked
    cost = (100 * 1 + 10 * 10) / 1e6
    assert result.spent == pytest.approx(cost * result.asked)
    assert result.spent <= 0.015
    body = max(len(json.dumps(request[2], ensure_ascii=False).encode()) for request in server.sent)
    max_cost = (body + 1000 + 10 * 512) / 1e6
    assert result.spent + max_cost > 0.015  # and it did not stop before it had to
    assert sum(server.asked.values()) == result.asked
    spent_before = result.spent
    result, _ = rate(60, prices=prices, ceiling=0.015)
    assert (result.asked, result.spent) == (0, pytest.approx(spent_before))
    result, _ = rate(60, prices=prices, ceiling=0.04)
    assert (result.graded, result.left) == (60, 0)
    assert result.spent == pytest.approx(cost * 60)


def test_what_nobody_counts_costs_the_most_it_can(rate, server):
    server.usage = False
    result, _ = rate(1, prices=Prices(1, 10), ceiling=1)
    body = len(json.dumps(server.sent[0][2], ensure_ascii=False).encode())
    assert result.spent == pytest.approx((body + 1000 + 10 * 512) / 1e6)


def test_an_answer_that_breaks_off_may_have_been_paid_and_an_error_was_not(rate, server):
    server.plan = {"d0": [("breaks_off",), ("fails", 500), ("says", '{"grade": 1}')]}
    result, _ = rate(1, prices=Prices(1, 10), ceiling=1)
    body = len(json.dumps(server.sent[0][2], ensure_ascii=False).encode())
    assert result.spent == pytest.approx((body + 1000 + 10 * 512 + 100 + 10 * 10) / 1e6)


def test_a_ceiling_needs_prices_and_an_end(rate):
    with raises("missing-input", UsageError):
        rate(1, ceiling=1)
    with raises("missing-input", UsageError):
        rate(1, ceiling=1, prices=Prices(1, 1), parameters={"max_tokens": None})
    result, _ = rate(2, ceiling=0, prices=Prices(1, 1))
    assert (result.asked, result.left) == (0, 2)


def test_the_key_is_in_no_output(rate, server, key, rows):
    server.plan = {"d0": [("answers_with_the_key",)], "d1": [("echoes", 400)], "d2": [("echoes", 503)]}
    result, out = rate(4, key_from="RANKGATE_TEST_KEY")
    assert key not in out.read_text()
    assert key[:12] not in out.read_text()
    assert "the key is [key]" in out.read_text()
    assert key not in json.dumps(result.to_dict())
    assert len(rows(out)) == 4


def test_a_key_in_the_wrong_place_is_not_repeated(rate, monkeypatch):
    with raises("invalid-key", UsageError) as raised:
        rate(1, key_from="sk-12345678901234567890")
    assert "sk-1" not in str(raised.value)
    with raises("invalid-url", UsageError) as raised:
        rate(1, url="https://user:hunter2@example.org/v1")
    assert "hunter2" not in str(raised.value)
    for url in ("hunter2", "ftp://hunter2", "http://[hunter2", "http://x:hunter2/v1", "http://"):
        with raises("invalid-url", UsageError) as raised:
            rate(1, url=url)
        assert "hunter2" not in str(raised.value)
    monkeypatch.setenv("RANKGATE_TEST_KEY", "two\nlines-hunter2")
    with raises("invalid-key", UsageError) as raised:
        rate(1, key_from="RANKGATE_TEST_KEY")
    assert "hunter2" not in str(raised.value)
    with raises("invalid-key", UsageError):
        rate(1, key_from="NO_SUCH_KEY")


@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ({"max_completion_tokens": 100_000}, {"max_completion_tokens": 100_000}),
        ({"max_completion_tokens": 90, "max_tokens": 700}, {"max_tokens": 700}),
        ({"max_completion_tokens": 90, "max_tokens": None}, {"max_completion_tokens": 90}),
        ({"max_output_tokens": 64}, {"max_output_tokens": 64}),
        ({}, {"max_tokens": 512}),
    ],
)
def test_one_limit_of_tokens_is_sent_and_reserved(rate, server, parameters, sent):
    [limit] = sent.values()
    prices, room = Prices(1, 10), 10 * limit / 1e6
    assert rate(1, prices=prices, ceiling=room, parameters=parameters)[0].asked == 0
    result, _ = rate(1, prices=prices, ceiling=room + 1, parameters=parameters)
    assert result.graded == 1
    body = server.sent[0][2]
    assert {name: value for name, value in body.items() if "tokens" in name} == sent


@pytest.mark.parametrize(
    "parameters",
    [
        {"temperature": float("nan")},
        {"stop": ["\udc80"]},
        {"max_tokens": "many"},
        {"max_completion_tokens": 0},
        {"max_tokens": True},
        {"x": [float("inf")]},
    ],
)
def test_parameters_that_cannot_be_are_refused(rate, server, parameters):
    with raises("out-of-range", UsageError):
        rate(1, parameters=parameters)
    assert not server.sent


@pytest.mark.parametrize("prices", [(-1, 2), (1, float("nan")), (float("inf"), 1)])
def test_prices_are_numbers(prices):
    with raises("out-of-range", UsageError):
        Prices(*prices)


def test_a_key_in_escapes_of_json_is_not_kept(rate, server, key, rows):
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in key)
    upper = "".join(f"\\u{ord(sign):04X}" for sign in key)
    mixed = key[:5] + escaped[30:-12] + key[-2:]
    server.plan = {
        f"d{i}": [("says", f'{{"grade": 1, "reason": "the key is {key_text}"}}')]
        for i, key_text in enumerate([escaped, upper, mixed, key.replace("/", "\\/")])
    }
    _, out = rate(4, key_from="RANKGATE_TEST_KEY")
    text = out.read_text()
    for row in rows(out):
        assert (row["grade"], row["comment"]) == (1.0, "the key is [key]")
        assert json.loads(row["answer"]) == {"grade": 1, "reason": "the key is [key]"}
    assert key not in text
    assert escaped[12:30] not in text.lower()


@pytest.mark.parametrize("dummy", ["2", "1", "grade", '"', "{"])
def test_a_dummy_key_eats_no_grades(rate, monkeypatch, dummy):
    monkeypatch.setenv("RANKGATE_TEST_KEY", dummy)
    result, _ = rate(2, key_from="RANKGATE_TEST_KEY")
    assert result.graded == 2
