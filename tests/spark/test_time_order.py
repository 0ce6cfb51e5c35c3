"""A few times of a log bound the time at any position of the rising order."""

import numpy as np

from rankgate.spark.splitting.sorted_log import TimeOrder, time_range_at


def test_the_time_at_a_place_is_between():
    rng = np.random.default_rng(0)
    for _ in range(50):
        parts = [rng.integers(0, rng.integers(1, 10_000), rng.integers(1, 3000)) for _ in range(4)]
        all_times = np.sort(np.concatenate(parts))
        orders = [TimeOrder(*TimeOrder.from_times(times).to_list()) for times in parts]
        for position in rng.integers(0, len(all_times), 20):
            low, high, range_count = time_range_at(orders, position)
            assert low <= all_times[position] <= high
            assert np.count_nonzero((all_times >= low) & (all_times <= high)) <= range_count


def test_few_times_are_left():
    times = np.random.default_rng(1).permutation(1_000_000)
    low, high, range_count = time_range_at([TimeOrder.from_times(times)], 700_000)
    assert (high - low) <= range_count <= 3 * 1_000_000 // 256
