"""Times of written parts: whole seconds have no fraction, and one fraction gives all times one."""

import polars as pl
import pytest

from rankgate.recommenders.split_files import _is_whole, readable_interactions

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("unit", "times", "expected"),
    [
        ("time", [DAY, 2 * DAY + 1_000_000], ["1970-01-02T00:00:00Z", "1970-01-03T00:00:01Z"]),
        ("time", [DAY, DAY + 500_000], ["1970-01-02T00:00:00.000000Z", "1970-01-02T00:00:00.500000Z"]),
        ("order", [1_000_000, 3_000_000], [1, 3]),
        ("order", [1_000_000, 1_500_000], [1.0, 1.5]),
    ],
)
def test_times_are_written_as_they_are(unit, times, expected):
    table = pl.LazyFrame({"user_id": ["a", "b"], "at": times})
    readable = readable_interactions(table, unit, whole=_is_whole(table, "at"))
    assert readable.collect()["at"].to_list() == expected
    assert _is_whole(pl.LazyFrame({"grade": [1.0, 2.0]}), "grade")
    assert not _is_whole(pl.LazyFrame({"grade": [1.0, 2.5]}), "grade")
