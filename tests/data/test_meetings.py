"""The items of each user equal the sets of pairs, for all ways to split a log into pieces."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data.logs import large_logs
from rankgate.data.logs.large_logs import read_user_items
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.memory import ids
from support.wording import raises

DRAWN = np.random.default_rng(11)
USERS, ITEMS = DRAWN.integers(0, 40, 900), DRAWN.integers(0, 30, 900)
LOG = pl.DataFrame({"user": USERS, "item": [f"i{item}" for item in ITEMS], "rating": 1.0})
PAIRS = {(str(user), f"i{item}") for user, item in zip(USERS, ITEMS, strict=True)}


@pytest.mark.parametrize("size", [1 << 20, 7])
def test_each_pair_is_reported_once_whatever_the_pieces(monkeypatch, size):
    monkeypatch.setattr(large_logs, "_BLOCK_SIZE", size)
    for log in (LOG, LOG.to_pandas(), LOG.to_arrow(), read_interactions(LOG)):
        result = read_user_items(log)
        rows = result.frame.rows()
        assert len(rows) == len(PAIRS)
        assert set(rows) == PAIRS
        assert (np.diff(result.owner) >= 0).all()
        assert result.people == len({user for user, _ in PAIRS})
        assert set(result.all_items) == {item for _, item in PAIRS}
        users = [*map(str, range(42)), "x"]  # some are not in the log
        all_pairs = pl.DataFrame({"user": users}).join(
            pl.DataFrame({"item": [f"i{item}" for item in range(32)]}), how="cross"
        )
        had = result.has(all_pairs["user"], all_pairs["item"])
        assert had.tolist() == [pair in PAIRS for pair in all_pairs.rows()]


@pytest.mark.parametrize("block", [1 << 20, 3, 1])
def test_numbers_are_sorted_in_place_and_each_is_kept_once(block, monkeypatch):
    monkeypatch.setattr(ids, "_BLOCK", block)
    rng = np.random.default_rng(1)
    for sample in (rng.integers(0, 20, 50), rng.integers(0, 3, 7), np.zeros(0, np.int64)):
        unique_values = np.unique(sample)
        assert ids.unique_sorted(unique_values.copy()).tolist() == unique_values.tolist()
        assert ids.unique_sorted(sample.copy()).tolist() == unique_values.tolist()
        assert ids.unique_codes(sample).tolist() == unique_values.tolist()


def test_a_hole_in_a_later_piece_is_reported_with_its_line(monkeypatch, tmp_path):
    monkeypatch.setattr(large_logs, "_BLOCK_SIZE", 2)
    file = tmp_path / "log.csv"
    file.write_text("user,item,rating\n" + "u,i,1\n" * 4 + "u,,1\n")
    with raises("empty-value", InputError, line=6):
        read_user_items(str(file))
    file.write_text("user,item,rating\n" + "u,i,1\n" * 4 + "u,i,inf\n")
    with raises("not-a-number", InputError, line=6):
        read_user_items(str(file))


def test_a_log_without_rows_is_refused():
    with raises("no-interactions", InputError):
        read_user_items(LOG.clear())
