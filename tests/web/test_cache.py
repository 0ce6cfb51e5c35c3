"""The cache of a server is bounded by size and age, for all requests."""

import threading

import polars as pl
import pytest

from rankgate.workspace.web.dashboard.recorded_results import QueryValues
from rankgate.workspace.web.value_cache import ValueCache, estimate_bytes


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def test_keys_that_fail_leave_nothing():
    cache = ValueCache()
    for key in range(1_000):
        with pytest.raises(ZeroDivisionError):
            cache.get(key, lambda: 1 / 0)
    assert not cache._turns
    assert not cache._values
    assert cache.get(1, lambda: "one") == "one"


def test_the_last_values_are_kept_for_an_hour():
    clock, loaded_keys, size = Clock(), [], estimate_bytes(1) + estimate_bytes(None)
    cache = ValueCache(3 * size, clock)

    def get(key):
        return cache.get(key, lambda: loaded_keys.append(key))

    for key in (1, 2, 3, 1, 4, 1):
        get(key)
    assert loaded_keys == [1, 2, 3, 4]  # None is a value, too
    assert set(cache._values) == {1, 3, 4}
    clock.seconds = 3_599.0
    get(1)
    assert loaded_keys == [1, 2, 3, 4]
    clock.seconds = 3_600.0
    get(1)
    assert loaded_keys == [1, 2, 3, 4, 1]
    assert set(cache._values) == {1}  # the old ones are gone
    for key in range(1, 1_000):
        get(key)
    assert len(cache._values) == 3
    assert cache._bytes == 3 * size
    assert not cache._turns


def test_a_value_larger_than_the_cache_is_not_kept_and_pushes_out_nothing():
    cache, table = ValueCache(1_000), pl.DataFrame({"score": [0.5] * 1_000})
    assert cache.get("small", lambda: 1) == 1
    assert cache.get("run", lambda: table) is table
    assert list(cache._values) == ["small"]
    assert cache.get("small", lambda: 2) == 1


def test_the_size_of_a_value_is_that_of_its_parts():
    table = pl.DataFrame({"score": [0.5] * 1_000})
    assert estimate_bytes(table) == 8_000
    assert estimate_bytes([table, {"again": table}]) > 16_000
    assert estimate_bytes(QueryValues(table, {"q1": [0]})) > 8_000


def test_values_that_change_are_kept_by_what_they_cost():
    clock = Clock()
    cache = ValueCache(clock=clock)

    def slow(seconds):
        def make():
            clock.seconds += seconds
            return clock.seconds

        return cache.get("a", make, changes=True)

    assert slow(0) == 0
    clock.seconds = 1.9
    assert slow(0) == 0
    clock.seconds = 2.0
    assert slow(1) == 3
    clock.seconds = 52.9
    assert slow(1) == 3
    clock.seconds = 53.0
    assert slow(1_000) == 1_053
    clock.seconds = 1_053 + 3_600  # no value is older
    assert slow(0) == 4_653


def test_several_that_ask_at_once_wait_for_the_first_and_go_on_when_it_fails():
    cache, begun, go, load_calls = ValueCache(), threading.Barrier(9), threading.Event(), []

    def make():
        go.wait(30)
        load_calls.append(1)
        if len(load_calls) == 1:
            raise OSError
        return len(load_calls)

    results = []

    def ask():
        begun.wait(30)
        try:
            results.append(cache.get("key", make))
        except OSError:
            results.append("failed")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun.wait(30)
    go.set()
    for thread in threads:
        thread.join()
    assert sorted(map(str, results)) == ["2"] * 7 + ["failed"]
    assert len(load_calls) == 2
    assert not cache._turns
