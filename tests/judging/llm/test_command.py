"""``rankgate rate --llm``, and its ends: done, killed, interrupted."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.waiting import PATIENCE, until

SOURCE = Path(__file__).parents[3] / "src"


def command(server, files, n, *more):
    pool, queries, documents, out = files(n)
    return [
        sys.executable,
        "-m",
        "rankgate",
        "rate",
        str(pool),
        "--queries",
        str(queries),
        "--documents",
        str(documents),
        "-o",
        str(out),
        "--llm",
        "m",
        "--url",
        f"{server.url}/v1",
        "--backoff",
        "0.01",
        *more,
    ], out


def started(words):
    return subprocess.Popen(
        words,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_command(server, files, key):
    server.plan = {"d3": [("says", "no idea")]}
    arguments, out = command(
        server, files, 5, "--key-from", "RANKGATE_TEST_KEY", "--prices", "1", "10", "--ceiling", "1"
    )
    process = started(arguments)
    result, messages = process.communicate(timeout=PATIENCE)
    assert (process.returncode, result) == (0, "")
    assert "m graded 4 of 5 pairs\n" in messages
    assert "no grade  1 no JSON object with a grade in the answer\n" in messages
    assert "tokens    500 of input, 50 of output\n" in messages
    assert "cost      0.001 now, 0.001 in all\n" in messages
    assert key not in messages + out.read_text()


def test_options_of_a_model_need_a_model(server, files):
    arguments, _ = command(server, files, 1)
    del arguments[arguments.index("--llm") : arguments.index("--llm") + 2]
    process = started(arguments)
    _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert messages == "rankgate: --url is for language models; name one with --llm.\n"


def wait_for(server, count):
    until(lambda: sum(server.asked.values()) >= count)


def kept_rows(out):
    """The complete lines of ratings from a killed program."""
    text = out.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def assert_all_counted(server, out, n, *, kills, threads):
    """Every request that the server got is in the ratings; more only where a kill came first."""
    attempt_rows = kept_rows(out)
    requests, received = sum(row["attempts"] for row in attempt_rows), sum(server.asked.values())
    assert received <= requests <= received + kills * threads
    unread = [row for row in attempt_rows if not row["answered"]]
    assert len(unread) == requests - n
    for row in unread:
        assert row["reason"] == "no answer: the program ended before it was read"
        assert row["input_tokens"] > 1000  # the most that the request can take
    assert not out.with_name(f"{out.name}.requests").exists()


SEPARATELY = [pytest.param(count, marks=pytest.mark.separate) for count in (3, 38)]


@pytest.mark.parametrize("after", [17, *SEPARATELY])
def test_killed_half_way_it_pays_for_nothing_twice(server, files, rows, after):
    n, threads = 50, 4
    server.delay = 0.05
    server.limit(after + threads)  # it never gets to the end before it is killed
    arguments, out = command(server, files, n, "--concurrency", str(threads))
    process = started(arguments)
    wait_for(server, after)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    server.limit(None)
    server.settle()
    rated_docs = [row["doc_id"] for row in kept_rows(out)]
    lost = sum(server.asked.values()) - len(rated_docs)
    assert 0 <= lost <= threads  # only what was under way
    process = started(arguments)
    _, messages = process.communicate(timeout=PATIENCE)
    assert f"m graded {n} of {n} pairs" in messages
    assert all(server.asked[doc] == 1 for doc in rated_docs)
    assert sum(server.asked.values()) == n + lost
    assert len({row["doc_id"] for row in rows(out)}) == n
    assert_all_counted(server, out, n, kills=1, threads=threads)


@pytest.mark.slow
@pytest.mark.explore
def test_killed_again_and_again_at_random_it_gets_there(server, files, rows, thorough):
    n, threads, seed = 120 if thorough else 40, 4, random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 - for whoever sees it fail
    moments = random.Random(seed)
    server.delay = 0.05
    arguments, out = command(server, files, n, "--concurrency", str(threads))
    under_way = kills = 0
    while sum(server.asked.values()) < n - 10:
        server.limit(moments.randrange(12))  # it never gets to the end before it is killed
        process = started(arguments)
        wait_for(server, sum(server.asked.values()) + 1)
        time.sleep(moments.uniform(0, 0.2))
        process.kill()
        process.communicate(timeout=PATIENCE)
        server.limit(None)
        server.settle()
        answered = sum(row["answered"] for row in kept_rows(out))
        assert sum(server.asked.values()) - answered <= (kills + 1) * threads
        under_way, kills = sum(server.asked.values()) - answered, kills + 1
    process = started(arguments)
    _, messages = process.communicate(timeout=PATIENCE)
    assert f"m graded {n} of {n} pairs" in messages
    assert kills >= (5 if thorough else 2)
    assert sum(server.asked.values()) == n + under_way
    graded = sorted(row["doc_id"] for row in rows(out) if row["answered"])
    assert graded == sorted(f"d{i}" for i in range(n))
    assert_all_counted(server, out, n, kills=kills, threads=threads)


def test_interrupted_it_keeps_what_is_under_way(server, files, rows):
    server.delay = 0.3
    arguments, out = command(server, files, 400, "--concurrency", "4")  # half a minute
    process = started(arguments)
    wait_for(server, 6)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert messages.strip() == "rankgate: interrupted."
    assert len(rows(out)) == sum(server.asked.values()) < 400
