"""A language model rates a pool: whatever the endpoint does, no failure becomes a grade."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from rankgate.errors import InputError, MissingExtraError, UsageError
from rankgate.services.admit import Demands, admit
from rankgate.services.agree import agree
from rankgate.services.llm import Judge, LLMRating, Prices
from rankgate.services.resolve import resolve

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def rate(server, files):
    """Has a model rate n documents; with the judge's fields as keywords."""

    def call(n, *, scale="graded", rater="", **judge):
        pool, queries, documents, out = files(n)
        protocol = judge.get("protocol", "openai")
        base = server.url + ("/v1" if protocol == "openai" else "")
        given = {"url": base, "first_wait": 0.01, "retries": 2, "timeout": 5.0, **judge}
        with LLMRating(
            pool, out, Judge("m", **given), queries=queries, documents=documents, scale=scale,
            rater=rater,
        ) as work:  # fmt: skip
            return work.run(), out

    return call


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_pool_becomes_ratings_that_others_read(rate, rows, protocol):
    told, out = rate(6, protocol=protocol)
    assert (told.pairs, told.graded, told.asked, told.left, told.status) == (6, 6, 6, 0, 0)
    assert told.input_tokens == 600
    assert told.output_tokens == 60
    assert {row["grade"] for row in rows(out)} == {2.0}
    made = resolve(out).resolution.qrels.table
    assert sorted(made.rows()) == sorted((f"q{i % 2}", f"d{i}", 2.0) for i in range(6))
    assert agree(out, samples=20)
    people = made.with_columns(grade=pl.Series([2.0, 1, 0, 2, 2, 3]))
    assert admit(people, out, demands=Demands(pairs=2), samples=20).status in {0, 1, 3}


def test_what_goes_out_holds_the_texts_and_the_form_of_the_answer(rate, server, key):
    rate(1, key_from="RANKGATE_TEST_KEY")
    path, headers, body, _ = server.sent[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {key}"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0, 512)
    system, user = body["messages"]
    assert "jaguar speed" in user["content"]
    assert "title: Title d0\ntext: the text of d0, ä" in user["content"]
    assert "{{" not in user["content"] + system["content"]
    form = body["response_format"]["json_schema"]["schema"]
    assert form["properties"]["grade"]["enum"] == [0, 1, 2, 3, None]


def test_anthropic_is_asked_with_a_tool_and_answers_with_it(rate, server, rows, key):
    server.plan = {"d0": [("uses_tool", {"grade": 3, "reason": "all of it"})]}
    told, out = rate(1, protocol="anthropic", key_from="RANKGATE_TEST_KEY")
    _, headers, body, _ = server.sent[0]
    assert headers["x-api-key"] == key
    assert headers["anthropic-version"] == "2023-06-01"
    assert body["tool_choice"] == {"type": "tool", "name": "grade"}
    assert isinstance(body["system"], str)
    assert told.graded == 1
    assert (rows(out)[0]["grade"], rows(out)[0]["comment"]) == (3.0, "all of it")


def test_parameters_replace_and_remove(rate, server):
    rate(1, parameters={"max_tokens": None, "max_completion_tokens": 99}, structure="none")
    body = server.sent[0][2]
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 99
    assert "response_format" not in body
    with pytest.raises(UsageError, match="parameter stream is rankgate's own"):
        rate(1, parameters={"stream": True})


@pytest.mark.parametrize(
    ("says", "grade", "reason"),
    [
        ('Here you are:\n```json\n{"grade": 1, "reason": "x"}\n```\nHope it helps', 1.0, None),
        ('<think>{"grade": 0}</think>{"grade": "3"}', 3.0, None),
        ('{"grade": "Perfect"}', 3.0, None),
        ('{"grade": 7}', None, "the grade 7 is not on the scale (0, 1, 2, 3)"),
        ('{"grade": 1.5}', None, "the grade 1.5 is not on the scale (0, 1, 2, 3)"),
        ('{"grade": -1}', None, "the grade -1 is not on the scale (0, 1, 2, 3)"),
        ('{"grade": true}', None, "the grade true is no number"),
        ('{"grade": NaN}', None, 'the grade "NaN" is no number'),
        ('{"grade": [2]}', None, "the grade [2] is no number"),
        ('{"grade": null, "reason": "no text"}', None, "the model cannot tell: no text"),
        ('{"grade": null, "reason": "withdrawn"}', None, "the model cannot tell"),
        ('{"grade": 2} or {"grade": 1}', None, "several grades in one answer: 2, 1"),
        ("The grade is 2.", None,
         "no JSON object with a grade in the answer: The grade is 2."),
        ('{"grade": 2', None, 'no JSON object with a grade in the answer: {"grade": 2'),
        ("", None, "the answer is empty"),
    ],
)  # fmt: skip
def test_what_the_model_says_is_a_grade_or_a_reason(rate, server, rows, says, grade, reason):
    server.plan = {"d0": [("says", says)]}
    told, out = rate(1)
    row = rows(out)[0]
    assert (row["grade"], row["reason"], row["answered"]) == (grade, reason, True)
    assert server.asked["d0"] == 1  # it was paid for: it is not asked again
    assert rate(1)[0].known == 1
    assert server.asked["d0"] == 1
    assert told.graded == (grade is not None)
    assert told.unanswered == 0


def test_an_answer_cut_off_refused_or_filtered_says_so(rate, server, rows):
    server.plan = {
        "d0": [("says", '{"reason": "because', "length")],
        "d1": [("says", None, None, "I will not")],
        "d2": [("says", "", "content_filter")],
    }
    _, out = rate(3)
    assert {row["doc_id"]: (row["grade"], row["reason"]) for row in rows(out)} == {
        "d0": (None, "the answer was cut off at max_tokens"),
        "d1": (None, "the answer was refused: I will not"),
        "d2": (None, "the answer was held back by a filter"),
    }


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
    told, out = rate(2)
    assert server.asked == {"d0": 3, "d1": 1}
    assert {row["doc_id"]: (row["grade"], row["attempts"]) for row in rows(out)} == {
        "d0": (1.0, 3), "d1": (2.0, 1),
    }  # fmt: skip
    assert told.status == 0


@pytest.mark.parametrize("steps", FAILURES.values(), ids=FAILURES)
def test_a_failure_that_stays_is_no_grade_and_is_asked_again_later(rate, server, rows, steps):
    server.plan = {"d0": steps}
    told, out = rate(2)
    assert server.asked == {"d0": 3, "d1": 1}
    row = next(row for row in rows(out) if row["doc_id"] == "d0")
    assert row["grade"] is None
    assert row["reason"].startswith("no answer: ")
    assert (told.graded, told.unanswered, told.status) == (1, 1, 3)
    table = resolve(out).resolution.qrels.table
    assert table.rows() == [("q1", "d1", 2.0)]
    server.plan = {}
    told, out = rate(2)
    assert (told.graded, told.known, told.asked, told.status) == (2, 1, 1, 0)
    assert resolve(out).resolution.qrels.table["grade"].to_list() == [2.0, 2.0]


@pytest.mark.parametrize("act", ["hangs", "drips"])
def test_a_slow_answer_is_given_up(rate, server, rows, act):
    server.plan = {"d0": [(act, 2.0)]}
    begin = time.monotonic()
    _, out = rate(1, timeout=0.4, retries=0)
    assert time.monotonic() - begin < 1.6
    assert rows(out)[0]["reason"] == "no answer: no answer within 0.4 seconds"


def test_nobody_is_there(rate, rows):
    told, out = rate(3, url="http://127.0.0.1:9/v1", retries=1)
    assert told.reasons == {"no answer": 3}
    assert {row["reason"] for row in rows(out)} == {"no answer: no connection to the endpoint"}
    assert told.input_tokens == 0


def test_retry_after_holds_everybody_back(rate, server):
    server.plan = {"d0": [("fails", 429, ("Retry-After", "1")), ("says", '{"grade": 2}')]}
    server.delay = 0.05
    told, _ = rate(20, threads=2)
    assert told.graded == 20
    times = sorted(moment for *_, moment in server.sent)
    gaps = [later - sooner for sooner, later in zip(times, times[1:], strict=False)]
    assert max(gaps) > 0.8  # one pause, and no request of the other thread in it


def test_a_server_that_asks_to_wait_for_an_hour_ends_the_work(rate, server):
    server.plan = {"d0": [("fails", 429, ("Retry-After", "3600"))]}
    with pytest.raises(UsageError, match="HTTP 429: busy .it asks to wait 3600 seconds."):
        rate(30, threads=1)
    assert sum(server.asked.values()) == 1


def test_a_denied_key_ends_the_work_at_once(rate, server, key):
    server.plan = {f"d{i}": [("echoes", 401)] for i in range(50)}
    with pytest.raises(UsageError, match="HTTP 401") as raised:
        rate(50, key_from="RANKGATE_TEST_KEY")
    assert key not in str(raised.value)
    assert sum(server.asked.values()) <= 4


def test_the_key_goes_to_no_other_place(rate, server):
    server.plan = {"d0": [("fails", 307, ("Location", "http://127.0.0.1:9/"))]}
    with pytest.raises(UsageError, match="HTTP 307.*redirections are not followed"):
        rate(1)


def test_a_request_that_is_refused_is_one_pairs_matter_and_many_are_everybodys(rate, server, rows):
    server.plan = {"d1": [("fails", 400)]}
    told, out = rate(4)
    assert server.asked["d1"] == 1
    assert (told.graded, told.unanswered) == (3, 1)
    assert "no answer: HTTP 400: busy" in {row["reason"] for row in rows(out)}
    server.plan = {f"d{i}": [("fails", 400)] for i in range(100)}
    with pytest.raises(UsageError, match="10 pairs in a row got no answer: HTTP 400: busy"):
        rate(100, threads=1)
    assert sum(server.asked.values()) < 30


def test_no_more_requests_at_a_time_than_allowed(rate, server):
    server.delay = 0.05
    told, _ = rate(40, threads=3)
    assert told.graded == 40
    assert server.peak == 3


def test_the_same_command_again_asks_nothing(rate, server):
    rate(10)
    told, _ = rate(10)
    assert (told.known, told.asked, told.graded) == (10, 0, 10)
    told, _ = rate(12)  # the pool grew
    assert (told.known, told.asked, told.graded) == (10, 2, 12)
    assert set(server.asked.values()) == {1}


def test_another_prompt_model_or_scale_is_another_question(rate, server, rows, tmp_path):
    rate(2)
    other = tmp_path / "other.txt"
    other.write_text("Grades:\n{{grades}}\nQuery {{query}}, document {{document.text}}\n")
    server.plan = {"d0": [("says", '{"grade": 0}')]}
    told, out = rate(2, template=other)
    assert (told.known, told.asked) == (0, 2)
    assert "0  poor\n1  fair\n2  good\n3  perfect" in server.sent[-1][2]["messages"][0]["content"]
    told, out = rate(2, template=other, scale="binary")
    assert told.asked == 2
    # back to the first prompt: nothing is asked, and its answers are the last word again
    told, out = rate(2)
    assert (told.known, told.asked) == (2, 0)
    assert rows(out)[-1]["guideline"].startswith("graded ")
    assert dict(resolve(out).resolution.qrels.table.select("doc_id", "grade").iter_rows()) == {
        "d0": 2.0, "d1": 2.0,
    }  # fmt: skip
    assert sum(server.asked.values()) == 6


def test_again_asks_for_what_had_no_grade(rate, server):
    server.plan = {"d0": [("says", "hm"), ("says", '{"grade": 1}')]}
    assert rate(3)[0].graded == 2
    told, _ = rate(3, again=True)
    assert (told.known, told.asked, told.graded) == (2, 1, 3)


def test_a_document_without_text_is_not_asked_about(server, tmp_path, rows):
    texts = pl.DataFrame({"doc_id": ["d0", "d1"], "text": ["the text of d0", ""]})
    pool = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d0", "d1"]})
    queries = pl.DataFrame({"query_id": ["q"], "text": ["jaguar"]})
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        with LLMRating(
            pool, out, Judge("m", url=f"{server.url}/v1"), queries=queries, documents=texts
        ) as work:
            told = work.run()
    assert sum(server.asked.values()) == 1
    assert len(rows(out)) == 2
    assert told.reasons == {"the document has no text": 1}


# ---- money


def test_the_ceiling_is_never_passed(rate, server):
    # a request costs at most (bytes of its body + 1000) + 10 x 512 millionths
    prices = Prices(1, 10)
    told, _ = rate(60, prices=prices, ceiling=0.015, threads=4)
    assert told.stopped
    assert told.status == 3
    assert told.left == 60 - told.asked
    each = (100 * 1 + 10 * 10) / 1e6
    assert told.spent == pytest.approx(each * told.asked)
    assert told.spent <= 0.015
    body = max(len(json.dumps(sent[2], ensure_ascii=False).encode()) for sent in server.sent)
    most = (body + 1000 + 10 * 512) / 1e6
    assert told.spent + most > 0.015  # and it did not stop before it had to
    assert sum(server.asked.values()) == told.asked
    before = told.spent
    told, _ = rate(60, prices=prices, ceiling=0.015)
    assert (told.asked, told.spent) == (0, pytest.approx(before))
    told, _ = rate(60, prices=prices, ceiling=0.04)
    assert (told.graded, told.left) == (60, 0)
    assert told.spent == pytest.approx(each * 60)


def test_what_nobody_counts_costs_the_most_it_can(rate, server):
    server.usage = False
    told, _ = rate(1, prices=Prices(1, 10), ceiling=1)
    body = len(json.dumps(server.sent[0][2], ensure_ascii=False).encode())
    assert told.spent == pytest.approx((body + 1000 + 10 * 512) / 1e6)


def test_an_answer_that_breaks_off_may_have_been_paid_and_an_error_was_not(rate, server):
    server.plan = {"d0": [("breaks_off",), ("fails", 500), ("says", '{"grade": 1}')]}
    told, _ = rate(1, prices=Prices(1, 10), ceiling=1)
    body = len(json.dumps(server.sent[0][2], ensure_ascii=False).encode())
    assert told.spent == pytest.approx((body + 1000 + 10 * 512 + 100 + 10 * 10) / 1e6)


def test_a_ceiling_needs_prices_and_an_end(rate):
    with pytest.raises(UsageError, match="needs the prices"):
        rate(1, ceiling=1)
    with pytest.raises(UsageError, match="set the parameter max_tokens"):
        rate(1, ceiling=1, prices=Prices(1, 1), parameters={"max_tokens": None})
    told, _ = rate(2, ceiling=0, prices=Prices(1, 1))
    assert (told.asked, told.left) == (0, 2)


# ---- secrets


def test_the_key_is_in_no_output(rate, server, key, rows):
    server.plan = {
        "d0": [("answers_with_the_key",)],
        "d1": [("echoes", 400)],
        "d2": [("echoes", 503)],
    }
    told, out = rate(4, key_from="RANKGATE_TEST_KEY")
    assert key not in out.read_text()
    assert key[:12] not in out.read_text()
    assert "the key is [key]" in out.read_text()
    assert key not in json.dumps(told.to_dict())
    assert len(rows(out)) == 4


def test_a_key_in_the_wrong_place_is_not_repeated(rate, monkeypatch):
    with pytest.raises(UsageError) as raised:
        rate(1, key_from="sk-12345678901234567890")
    assert "sk-1" not in str(raised.value)
    with pytest.raises(UsageError) as raised:
        rate(1, url="https://user:hunter2@example.org/v1")
    assert "hunter2" not in str(raised.value)
    monkeypatch.setenv("RANKGATE_TEST_KEY", "two\nlines-hunter2")
    with pytest.raises(UsageError) as raised:
        rate(1, key_from="RANKGATE_TEST_KEY")
    assert "hunter2" not in str(raised.value)
    with pytest.raises(UsageError, match="NO_SUCH_KEY is empty or not set"):
        rate(1, key_from="NO_SUCH_KEY")


# ---- what is given wrongly


def test_texts_must_be_there(server, files):
    pool, queries, documents, out = files(2)
    judge = Judge("m", url=f"{server.url}/v1")
    queries.write_text("query_id,text\nq0,jaguar\n")
    with pytest.raises(InputError, match="query q1 is in the pool and has no text here"):
        LLMRating(pool, out, judge, queries=queries, documents=documents)
    queries.write_text("query_id,text\nq0,jaguar\nq1,holes\n")
    documents.write_text("doc_id,text\nd0,a\n")
    with pytest.raises(InputError, match="document d1 of query q1 is in the pool"):
        LLMRating(pool, out, judge, queries=queries, documents=documents)
    with pytest.raises(UsageError, match="name a file with the criteria of this scale"):
        LLMRating(pool, out, judge, queries=queries, documents=documents, scale="detail")


def test_without_urllib3_the_extra_is_named(rate, monkeypatch):
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(MissingExtraError, match=r"rankgate\[llm\]"):
        rate(1)


# ---- the command, and its end


def command(server, files, n, *more):
    pool, queries, documents, out = files(n)
    return [
        sys.executable, "-m", "rankgate", "rate", str(pool), "--queries", str(queries),
        "--documents", str(documents), "-o", str(out), "--llm", "m", "--url", f"{server.url}/v1",
        "--backoff", "0.01", *more,
    ], out  # fmt: skip


def started(words):
    return subprocess.Popen(
        words, env={**os.environ, "PYTHONPATH": str(SOURCE)}, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_the_command(server, files, key):
    server.plan = {"d3": [("says", "no idea")]}
    words, out = command(
        server, files, 5, "--key-from", "RANKGATE_TEST_KEY", "--prices", "1", "10", "--ceiling", "1"
    )
    process = started(words)
    told, said = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")
    assert "m graded 4 of 5 pairs\n" in said
    assert "no grade   1  no JSON object with a grade in the answer\n" in said
    assert "tokens     500 of input, 50 of output\n" in said
    assert "cost       0.001 now, 0.001 in all\n" in said
    assert key not in said + out.read_text()


def test_options_of_a_model_need_a_model(server, files):
    words, _ = command(server, files, 1)
    del words[words.index("--llm") : words.index("--llm") + 2]
    process = started(words)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said == "rankgate: --url is for language models; name one with --llm.\n"


def wait_for(server, count):
    end = time.monotonic() + 60
    while sum(server.asked.values()) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("after", [3, 17, 38])
def test_killed_half_way_it_pays_for_nothing_twice(server, files, rows, after):
    n, threads = 50, 4
    server.delay = 0.05
    words, out = command(server, files, n, "--concurrency", str(threads))
    process = started(words)
    wait_for(server, after)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    time.sleep(0.2)  # whatever was under way arrives
    text = out.read_text()
    kept = [json.loads(line)["doc_id"] for line in text[: text.rfind("\n") + 1].splitlines()]
    lost = sum(server.asked.values()) - len(kept)
    assert 0 <= lost <= threads  # only what was under way
    process = started(words)
    _, said = process.communicate(timeout=60)
    assert f"m graded {n} of {n} pairs" in said
    assert all(server.asked[doc] == 1 for doc in kept)
    assert sum(server.asked.values()) == n + lost
    assert len({row["doc_id"] for row in rows(out)}) == n


def test_interrupted_it_keeps_what_is_under_way(server, files, rows):
    server.delay = 0.3
    words, out = command(server, files, 40, "--concurrency", "4")
    process = started(words)
    wait_for(server, 6)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "rankgate: interrupted."
    assert len(rows(out)) == sum(server.asked.values()) < 40
