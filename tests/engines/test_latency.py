"""Latencies count every query that was sent: attempts, pauses, failures and arrivals."""

import json
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies

import rankgate
from rankgate.core.present.write_results import render_result
from rankgate.core.quantiles import quantiles
from rankgate.data.answers.engine_answers import Answer, Failure
from rankgate.data.query_latencies import latency_bounds, query_latencies
from rankgate.decisions.gating.policy import parse_policy
from rankgate.engines.configuration import Configuration, Pace
from rankgate.engines.engine import Facts
from rankgate.engines.snapshots import query_sender
from rankgate.engines.snapshots.snapshot_verb import FunctionEngine, configuration_of
from support.wording import raises

from .conftest import listed

QUERIES = {f"q{i:02}": f"shoe number{i}" for i in range(60)}
QRELS = {query: {listed(text)[0]["id"]: 1} for query, text in QUERIES.items()}
EXACT = pytest.approx


def paced(engine, **pace):
    """An engine with other keys of its ``[snapshot]``."""
    configuration = configuration_of(engine)
    return Configuration(configuration.name, configuration.engine, Pace(**{"concurrency": 1, **pace}))


class Slow:
    """An engine with a clock of its own; each attempt takes a drawn time, and at most the timeout."""

    def __init__(self, timeout, seed=0):
        self.now, self.timeout = 0.0, timeout
        self.generator = np.random.default_rng(seed)
        self.attempts = {}

    def ask(self, query):
        seconds = 0.05 * self.generator.lognormal(0, 1)
        self.now += min(seconds, self.timeout)
        self.attempts.setdefault(query.text, []).append(min(seconds, self.timeout) * 1000)
        return Failure("again", "no answer") if seconds > self.timeout else Answer(("d1",), (1.0,))

    def facts(self):
        return Facts()

    def close(self):
        pass


class Connected(FunctionEngine):
    """An engine whose connection is its function."""

    def connect(self):
        return self.function


@pytest.mark.parametrize("timeout", [10, 0.2, 0.05])
def test_latencies_are_those_of_an_independent_clock(timeout, monkeypatch):
    engine = Slow(timeout)
    monkeypatch.setattr(query_sender, "time", SimpleNamespace(perf_counter=lambda: engine.now))
    declared = Connected(function=engine)
    result = rankgate.snapshot(paced(declared, retries=1, backoff=0, give_up=60), QUERIES)
    took = {query: engine.attempts[text] for query, text in QUERIES.items()}
    rows = {row["query_id"]: row for row in result.queries.iter_rows(named=True)}
    for query, attempts in took.items():
        row = rows[query]
        assert row["latency_ms"] == EXACT(sum(attempts), abs=0.01)
        assert row["last_attempt_ms"] == EXACT(attempts[-1], abs=0.01)
        assert row["waited_ms"] == EXACT(0, abs=0.01)
        assert row["attempts"] == len(attempts)
        assert row["censored"] == (row["state"] == "failed")
    failed = {query for query, row in rows.items() if row["censored"]}
    assert bool(failed) == (timeout < 10)
    low = np.sort([sum(attempts) for attempts in took.values()])
    high = np.sort([math.inf if query in failed else sum(took[query]) for query in took])
    for share in (0.5, 0.95):
        position = 59 * share
        bounds = []
        for ordered in (low, high):
            below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
            bounds.append(above if math.isinf(above) else below + (above - below) * (position % 1))
        name = f"p{share * 100:g}"
        assert result.latency_bounds[name][0] == EXACT(bounds[0], abs=0.01)
        largest = result.latency_bounds[name][1]
        assert largest is None if math.isinf(bounds[1]) else largest == EXACT(bounds[1], abs=0.01)
    assert result.latency["p95"] == result.latency_bounds["p95"][0]
    assert ("retried-queries" in {notice.code for notice in result.notices}) == (timeout < 10)
    assert ("≥" in render_result(result, "text")) == bool(failed)


def test_a_server_that_times_out_on_every_first_try_is_slow(server, api, tmp_path):
    """The last attempts took a millisecond or two; the users waited for the timeout."""
    api.write_text(
        api.read_text().replace("timeout = 60", "timeout = 1") + "concurrency = 20\nretries = 20\n"
    )
    server.plan = {text: [3.0, ()] for text in QUERIES.values()}
    file = tmp_path / "slow.csv"
    slow = rankgate.snapshot(api, QUERIES, file)
    assert slow.states["ok"] == 60
    assert slow.queries["latency_ms"].min() >= 1000
    (notice,) = [notice for notice in slow.notices if notice.code == "retried-queries"]
    assert "60 queries were sent again (100.0% of all)" in notice.text
    fast = companion(tmp_path / "fast.run", [FAST] * 60)
    assert judged(fast, file, 'quantile = "p50"\nmax_ms = 500').status == "fail"


def companion(path, rows):
    """A run with the states of its queries beside it."""
    lists = {query: [(row["id"], row["score"]) for row in listed(text)] for query, text in QUERIES.items()}
    lines = (f"{query} Q0 {doc} 1 {score} x\n" for query, rows in lists.items() for doc, score in rows)
    path.write_text("".join(lines))
    lines = (json.dumps({"query_id": query, **row}) for query, row in zip(QUERIES, rows, strict=True))
    path.with_name(f"{path.name}.meta.jsonl").write_text("\n".join(lines))
    return path


def judged(baseline, candidate, keys):
    """The outcome of a rule on latency."""
    text = f'[gate]\nunequal = "drop"\n[[rules]]\nkind = "latency"\n{keys}'
    return rankgate.gate(QRELS, baseline, candidate, parse_policy(text, "policy")).rules[0].outcome


FAST = {"state": "ok", "latency_ms": 40.0}
TIMED_OUT = {"state": "failed", "latency_ms": 200.0, "censored": True, "error": "no answer"}
REFUSED = {"state": "failed", "latency_ms": 2.0, "censored": True, "error": "HTTP 400"}
OLD_FAILURE = {"state": "failed", "error": "no answer"}


@pytest.mark.parametrize(
    ("failed", "count", "limit", "status", "text"),
    [
        (TIMED_OUT, 6, 100, "fail", "p95 is ≥ 200.0 ms"),
        (TIMED_OUT, 6, 300, "inconclusive", "as 6 of the candidate's queries failed"),
        (TIMED_OUT, 1, 300, "pass", "p95 is 40.0 ms"),
        (REFUSED, 1, 100, "pass", "p95 is 40.0 ms"),
        (REFUSED, 6, 100, "inconclusive", "as 6 of the candidate's queries failed"),
        (OLD_FAILURE, 6, 100, "inconclusive", "as 6 of the candidate's queries failed"),
        (OLD_FAILURE, 1, 30, "fail", "p95 is 40.0 ms"),
    ],
)
def test_a_rule_on_latency_counts_queries_that_failed(failed, count, limit, status, text, tmp_path):
    rows = [failed] * count + [FAST] * (60 - count)
    old, new = companion(tmp_path / "old.run", [FAST] * 60), companion(tmp_path / "new.run", rows)
    outcome = judged(old, new, f"max_ms = {limit}")
    assert outcome.status == status
    assert text in outcome.reason
    comparison = rankgate.compare(QRELS, old, new, test=rankgate.Test(unequal="drop"))
    candidate = comparison["new"].latency.row(1, named=True)
    assert (candidate["n"], candidate["censored"]) == (60, count)


def test_a_ratio_is_open_where_either_latency_is(tmp_path):
    """p95 of the baseline is at least 200 ms, so that nothing is known about its double."""
    old = companion(tmp_path / "old.run", [TIMED_OUT] * 6 + [FAST] * 54)
    new = companion(tmp_path / "new.run", [FAST] * 60)
    same = companion(tmp_path / "same.run", [TIMED_OUT] * 6 + [FAST] * 54)
    assert judged(old, new, "max_ratio = 2").status == "pass"  # 40 is below twice 200, whatever more it is
    assert judged(new, old, "max_ratio = 2").status == "fail"
    assert judged(old, same, "max_ratio = 2").status == "inconclusive"


def test_snapshots_of_an_earlier_version_are_not_compared_silently(tmp_path):
    asked = {"attempts": 1, "concurrency": 4}
    old = companion(tmp_path / "old.run", [{**FAST, **asked}] * 60)
    now = {**FAST, **asked, "censored": False, "latency_from": "first send"}
    new = companion(tmp_path / "new.run", [now] * 60)
    (warning,) = [text for text in rankgate.compare(QRELS, old, new).warnings if "latencies" in text]
    assert "of old were measured from the last attempt" in warning
    assert "of new from the first send" in warning
    same = companion(tmp_path / "same.run", [now] * 60)
    assert not [text for text in rankgate.compare(QRELS, new, same).warnings if "latencies" in text]


def test_a_wrong_mark_is_an_error_with_its_line(tmp_path):
    run = companion(tmp_path / "a.run", [{**FAST, "censored": "no"}] * 60)
    with raises("wrong-type", line=1, source=f"{run}.meta.jsonl"):
        rankgate.read_run(run)


def test_two_engines_are_compared_over_failures_too(monkeypatch):
    """The candidate answers fast or not at all: what it answers is faster, and it is not."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(query_sender, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def old(_, depth):  # noqa: ARG001
        clock.now += 0.1
        return ["d1"]

    def new(text, depth):  # noqa: ARG001
        fails = int(text.removeprefix("shoe number")) < 6
        clock.now += 0.2 if fails else 0.05
        if fails:
            raise TimeoutError
        return ["d1"]

    pace = {"retries": 0, "give_up": 60}
    result = rankgate.compare_engines(paced(old, **pace), paced(new, **pace), QUERIES)
    assert (result.pairs, result.censored) == (60, 6)
    rows = {row["statistic"]: row for row in result.latency.iter_rows(named=True)}
    assert rows["p50"]["delta"] == EXACT(-50)
    assert (rows["p95"]["candidate"], rows["p95"]["candidate_at_most"]) == (EXACT(200), None)
    assert (rows["p95"]["delta"], rows["p95"]["high"]) == (None, None)
    assert rows["p95"]["low"] == EXACT(-50)
    assert rows["mean"]["candidate"] == EXACT((6 * 200 + 54 * 50) / 60)
    assert (rows["mean"]["baseline"], rows["mean"]["baseline_at_most"]) == (EXACT(100), EXACT(100))
    assert "censored-latencies" in {notice.code for notice in result.notices}
    text = render_result(result, "text")
    assert "≥ 200.00" in text
    assert "≥ -50.00" in text


def test_a_slow_answer_counts_for_the_queries_that_arrive_behind_it(server, api):
    """One connection, 100 queries a second, and a first answer that takes half a second."""
    first = next(iter(QUERIES.values()))
    server.plan = {first: [0.5, ()]}
    text = api.read_text() + "concurrency = 1\n"
    api.write_text(text)
    closed = rankgate.snapshot(api, QUERIES)
    server.asked.clear()
    arriving = rankgate.snapshot(api, QUERIES, arrival_rate=100.0)
    for row in closed.queries.iter_rows(named=True):  # an answered query waits for nothing
        assert row["latency_ms"] == EXACT(row["last_attempt_ms"], abs=0.002)
    for number, row in enumerate(arriving.queries.iter_rows(named=True)):
        assert row["latency_ms"] >= 500 - 10 * number - 1
        assert (row["latency_from"], row["arrival_rate"], row["concurrency"]) == ("arrival", 100.0, 1)
    assert arriving.latency_from == "arrival"
    assert closed.latency_from == "first send"
    assert arriving.configuration != closed.configuration
    assert "arrival_rate 100" in " ".join(render_result(arriving, "text").split())
    comparison = rankgate.compare(QRELS, closed.run, arriving.run)
    assert [text for text in comparison.warnings if "100.0 arriving in a second" in text]


def test_an_arrival_rate_is_for_one_engine_without_a_limit(api, run, tmp_path):
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\tshoe\n")
    arguments = ["snapshot", str(api), str(queries), "-o", str(tmp_path / "a.run")]
    outcome = run(*arguments, "--arrival-rate", "5", "--compare", str(api))
    assert outcome.code == 2
    assert "one engine at a time" in outcome.err
    assert run(*arguments, "--arrival-rate", "5", "--rate", "5").code == 2
    text = api.read_text()
    api.write_text(f"{text}rate = 5\narrival_rate = 5\n")
    with raises("conflicting-options", line=len(api.read_text().splitlines())):
        rankgate.snapshot(api, {"q1": "shoe"})
    api.write_text(f"{text}rate = 5\n")
    assert rankgate.snapshot(api, {"q1": "shoe"}, arrival_rate=50.0).queries["rate"].to_list() == [None]
    api.write_text(f"{text}arrival_rate = 5\n")
    with raises("conflicting-options"):
        rankgate.compare_engines(api, api, {"q1": "shoe"})


@given(
    strategies.lists(strategies.integers(0, 50), min_size=1, max_size=30),
    strategies.lists(strategies.booleans(), min_size=30, max_size=30),
    strategies.sampled_from([0.5, 0.9, 0.95, 0.99, 1.0]),
)
def test_bounds_hold_whatever_the_failed_queries_would_have_taken(values, failed, share):
    """Any completion of the censored values has its quantile between the bounds."""
    queries = pl.DataFrame(
        {
            "query_id": [str(number) for number in range(len(values))],
            "state": ["failed" if fails else "ok" for fails in failed[: len(values)]],
            "latency_ms": [float(value) for value in values],
        }
    )
    low, high = latency_bounds(query_latencies(queries), {"q": share})["q"]
    generator = np.random.default_rng(len(values))
    for scale in (0, 1, 100, 1e9):
        more = generator.exponential(scale, len(values)) * np.array(failed[: len(values)])
        complete = np.quantile(np.array(values) + more, share)
        assert low - 1e-9 <= complete
        assert high is None or complete <= high + 1e-9 * max(1, abs(high))
    if not any(failed[: len(values)]):
        assert low == high == np.quantile(values, share)


def test_a_quantile_at_a_finite_value_is_finite():
    values = np.array([3.0, 1.0, math.inf, 2.0, -math.inf])
    assert quantiles(values, [0, 0.25, 0.5, 0.6, 0.75, 0.8, 1]).tolist() == [
        -math.inf,
        1.0,
        2.0,
        EXACT(2.4),
        3.0,
        math.inf,
        math.inf,
    ]
    assert np.isinf(quantiles(np.full(3, math.inf), [0.5])).all()
