"""Latencies in turn and the front, with engines that have simulated times."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rankgate
from rankgate.decisions.sweeps import point_latencies
from rankgate.decisions.sweeps.point_latencies import (
    FILE,
    LatencyQuantiles,
    Timing,
    front_of,
    read_timing,
    write_timing,
)
from rankgate.engines.snapshots import query_sender
from rankgate.engines.snapshots.snapshot_verb import configuration_of

QUERIES = {f"q{i}": str(i) for i in range(40)}
QRELS = {query: {"good": 1} for query in QUERIES}


class Engine:
    """An engine with a clock: its median is 10 ms, and the load of the moment comes and goes."""

    def __init__(self, seed, extra=()):
        self.now, self.seconds, self.chance = 0.0, [], random.Random(seed)
        self.load, self.extra, self.asked = 1.0, dict(extra), []

    def __call__(self, text, depth, quality):  # noqa: ARG002
        self.asked.append((text, quality))
        self.load = 1 + 0.98 * (self.load - 1) + self.chance.gauss(0, 0.15)
        seconds = 0.010 * abs(self.load) * self.chance.lognormvariate(0, 0.5)
        self.now += seconds + self.extra.get(quality, 0) / 1000
        return ["good"] if int(text) % 10 < quality else ["bad", "good"]

    def sweep(self, monkeypatch, folder=None, dials=(4, 5, 6, 7, 8)):
        clock = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr(query_sender, "time", clock)
        plan = {
            "sweep": {"engine": declared(self), "queries": QUERIES, "qrels": QRELS, "metrics": ["RR"]},
            "dials": {"quality": list(dials)},
            "baseline": {"quality": dials[0]},
        }
        return rankgate.sweep(plan, folder=folder)


def declared(engine):
    """A function, as a sweep reads its arguments; one query at a time."""

    def search(text, depth, quality):
        return engine(text, depth, quality)

    configuration = configuration_of(search)
    quality_engine = replace(configuration.engine, parameters={"quality": 4})
    return replace(configuration, engine=quality_engine, pace=replace(configuration.pace, concurrency=1))


def qualities(result):
    return sorted(result.points[index].parameters["quality"] for index in result.front)


@pytest.mark.parametrize("seed", range(3))
def test_equal_latencies_give_the_same_front_whatever_the_load(seed, monkeypatch):
    result = Engine(seed).sweep(monkeypatch)
    medians = [point.latency["p50"] for point in result.points]
    assert len(set(medians)) == 5  # noise
    assert qualities(result) == [4, 5, 6, 7, 8]
    for point in result.points:
        assert point.latency_low < point.latency["p50"] < point.latency_high


@pytest.mark.parametrize("seed", range(3))
def test_a_point_that_is_slower_for_no_gain_is_not_on_the_front(seed, monkeypatch):
    slow = {4: 30, 6: 30, 8: 60}  # 5 and 7 are faster and better than 4 and 6; 8 is the best
    assert qualities(Engine(seed, slow).sweep(monkeypatch)) == [5, 7, 8]


def test_each_query_is_asked_at_all_points_one_after_the_other(monkeypatch, tmp_path):
    engine = Engine(0)
    result = engine.sweep(monkeypatch, tmp_path)
    in_turn = engine.asked[-5 * len(QUERIES) :]
    orders = set()
    for begin in range(0, len(in_turn), 5):
        texts, points = zip(*in_turn[begin : begin + 5], strict=True)
        assert len(set(texts)) == 1
        assert sorted(points) == [4, 5, 6, 7, 8]
        orders.add(points)
    assert len(orders) > 10
    count = len(engine.asked)
    assert engine.sweep(monkeypatch, tmp_path).to_dict() == result.to_dict()
    assert len(engine.asked) == count  # nothing is asked again
    engine.sweep(monkeypatch, tmp_path, dials=(4, 5, 6, 7, 8, 9))  # all are timed with the new one
    assert len(engine.asked) == count + 7 * len(QUERIES)


def test_many_points_are_timed_in_blocks_of_few_connections(monkeypatch):
    monkeypatch.setattr(point_latencies, "_CONNECTIONS", 8)
    engine = Engine(1)
    dials = tuple(np.linspace(0, 9, 18).round(3).tolist())
    result = engine.sweep(monkeypatch, dials=dials)
    assert len(engine.asked) == 2 * 18 * len(QUERIES)
    assert all(point.latency_low is not None for point in result.points)


def test_a_point_is_left_out_wrongly_in_few_sweeps_only():
    """Ten points of different quality and the same latencies: all are on the front."""
    chance = np.random.default_rng(7)
    wrong = 0
    for seed in range(200):
        query = chance.lognormal(2, 0.5, (50, 1))  # some queries are slow for all
        latencies = query * chance.lognormal(0, 0.3, (50, 10))
        speed = LatencyQuantiles.from_timing(Timing(latencies, latencies), 0.5, level=0.95, seed=seed)
        wrong += len(front_of(np.arange(10.0), speed, 0.95)) < 10
    assert wrong <= 18  # 10 of 200 are expected at most; 18 or more are so in less than 1 %


def test_a_front_without_noise_is_the_usual_one():
    quality = np.array([0.5, 0.6, 0.4, 0.6])
    latencies = np.tile([5.0, 9.0, 7.0, 8.0], (20, 1))
    speed = LatencyQuantiles.from_timing(Timing(latencies, latencies), 0.5, level=0.95, seed=0)
    assert front_of(quality, speed, 0.95) == [0, 3]
    one_query = LatencyQuantiles.from_timing(Timing(latencies[:1], latencies[:1]), 0.5, level=0.95, seed=0)
    assert sorted(front_of(quality, one_query, 0.95)) == [0, 1, 2, 3]  # one query shows nothing


def test_a_point_whose_queries_failed_is_not_known_to_be_faster():
    """Three of twenty queries failed at once at the second point, and were given up after 1 ms."""
    low = np.tile([9.0, 5.0], (20, 1))
    high = low.copy()
    low[:3, 1], high[:3, 1] = 1.0, np.inf
    quality = np.array([0.5, 0.6])
    median = LatencyQuantiles.from_timing(Timing(low, high), 0.5, level=0.95, seed=0)
    assert (median.value[1], median.largest[1]) == (5.0, 5.0)
    assert front_of(quality, median, 0.95) == [1]
    tail = LatencyQuantiles.from_timing(Timing(low, high), 0.95, level=0.95, seed=0)
    assert (tail.value[1], tail.largest[1], tail.high[1]) == (5.0, np.inf, np.inf)
    assert sorted(front_of(quality, tail, 0.95)) == [0, 1]


def test_stored_latencies_of_failed_queries_stay_lower_bounds(tmp_path):
    timing = Timing(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, np.inf], [3.0, 4.0]]))
    write_timing(tmp_path, "points", timing)
    read = read_timing(tmp_path, "points")
    assert (read.low.tolist(), read.high.tolist()) == (timing.low.tolist(), timing.high.tolist())
    assert read_timing(tmp_path, "others") is None
    stored = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({name: stored[name] for name in stored if name != "censored"}))
    assert read_timing(tmp_path, "points") is None  # of a version that timed last attempts only
