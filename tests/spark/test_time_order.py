"""A few times of a log say between which times any place of the rising order is."""

import numpy as np

from rankgate.spark.splitting.sorted_log import TimeOrder, time_range_at


def test_the_time_at_a_place_is_between():
    rng = np.random.default_rng(0)
    for _ in range(50):
        parts = [rng.integers(0, rng.integers(1, 10_000), rng.integers(1, 3000)) for _ in range(4)]
        every = np.sort(np.concatenate(parts))
        orders = [TimeOrder(*TimeOrder.from_times(part).to_list()) for part in parts]
        for place in rng.integers(0, len(every), 20):
            low, high, many = time_range_at(orders, place)
            assert low <= every[place] <= high
            assert np.count_nonzero((every >= low) & (every <= high)) <= many


def test_few_times_are_left():
    times = np.random.default_rng(1).permutation(1_000_000)
    low, high, many = time_range_at([TimeOrder.from_times(times)], 700_000)
    assert (high - low) <= many <= 3 * 1_000_000 // 256
