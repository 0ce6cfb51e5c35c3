"""Caches of the server are bounded by number and age, whatever a client asks for."""

import threading

import pytest

from rankgate.workspace.web.value_cache import Cache, ProjectCache


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def test_keys_that_fail_leave_nothing():
    cache = Cache(10)
    for key in range(1_000):
        with pytest.raises(ZeroDivisionError):
            cache.get(key, lambda: 1 / 0)
    assert not cache._turns
    assert not cache._values
    assert cache.get(1, lambda: "one") == "one"


def test_the_last_values_are_kept_for_an_hour():
    clock, made = Clock(), []
    cache = Cache(3, clock)

    def get(key):
        return cache.get(key, lambda: made.append(key))

    for key in (1, 2, 3, 1, 4, 1):
        get(key)
    assert made == [1, 2, 3, 4]  # None is a value, too
    assert set(cache._values) == {1, 3, 4}
    clock.seconds = 3_599.0
    get(1)
    assert made == [1, 2, 3, 4]
    clock.seconds = 3_600.0
    get(1)
    assert made == [1, 2, 3, 4, 1]
    assert set(cache._values) == {1}  # the old ones are gone
    for key in range(1_000):
        get(key)
    assert len(cache._values) == 3
    assert not cache._turns


def test_values_that_change_are_kept_by_what_they_cost():
    clock = Clock()
    cache = ProjectCache(clock)

    def slow(seconds):
        def make():
            clock.seconds += seconds
            return clock.seconds

        return make

    assert cache.get("a", slow(0)) == 0
    clock.seconds = 1.9
    assert cache.get("a", slow(0)) == 0
    clock.seconds = 2.0
    assert cache.get("a", slow(1)) == 3
    clock.seconds = 52.9
    assert cache.get("a", slow(1)) == 3
    clock.seconds = 53.0
    assert cache.get("a", slow(1_000)) == 1_053
    clock.seconds = 1_053 + 3_600  # no value is older
    assert cache.get("a", slow(0)) == 4_653


def test_several_that_ask_at_once_wait_for_the_first_and_go_on_when_it_fails():
    cache, begun, go, made = Cache(10), threading.Barrier(9), threading.Event(), []

    def make():
        go.wait(30)
        made.append(1)
        if len(made) == 1:
            raise OSError
        return len(made)

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
    assert len(made) == 2
    assert not cache._turns
