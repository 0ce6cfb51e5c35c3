"""The ceiling holds for all costs of requests, and no thread waits for ever."""

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import UsageError
from rankgate.judging.llm.judge import CostLimit, Prices
from support.waiting import PATIENCE
from support.wording import raises

AMOUNT = st.floats(0.001, 1e6)


@given(st.lists(st.tuples(AMOUNT, st.floats(0, 1)), max_size=40), st.floats(0, 1e7), st.integers(1, 4))
def test_many_threads_never_spend_more_than_the_ceiling(requests, ceiling, threads):
    costs, pending, refused = CostLimit(ceiling), iter(requests), []

    def work():
        for max_cost, share in pending:
            if not costs.take(max_cost):
                refused.append(max_cost)
                return
            assert costs.spent + costs.reserved <= ceiling * (1 + 1e-12)
            costs.give_back(max_cost, max_cost * share)

    crew = [Thread(target=work) for _ in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert costs.spent <= ceiling * (1 + 1e-12)
    assert costs.reserved == 0
    if not refused:
        assert costs.spent == pytest.approx(sum(max_cost * share for max_cost, share in requests))


def test_who_may_come_out_cheaper_is_waited_for():
    costs, outcomes = CostLimit(10.0), []
    assert costs.take(8)
    waiting = Thread(target=lambda: outcomes.append(costs.take(8)))
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    costs.give_back(8, 1)
    waiting.join(PATIENCE)
    assert outcomes == [True]
    costs.give_back(8, 8)
    assert not costs.take(1.5)


def test_prices_are_by_the_million():
    assert Prices(3, 15).cost(2_000_000, 1_000_000) == 2 * 3 + 15
    with raises("out-of-range", UsageError):
        CostLimit(-1)
