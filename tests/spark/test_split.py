"""Splits on Spark have the rows, judgments and figures of one machine, whatever the partitions."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rankgate.data.logs.splits import WAYS, SplitPlan
from rankgate.recommenders.splitting import split_by
from rankgate.spark.splitting.verb import split
from support.spark import spark  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Interactions with equal times, equal rows, users of one row, and one with a tenth of all."""
    rng = np.random.default_rng(5)
    rows = 3000
    users = np.where(rng.random(rows) < 0.1, 0, rng.zipf(1.4, rows) % 400)
    table = pl.DataFrame(
        {
            "user": [f"ü{user}" for user in users],
            "item": [f"i{item}" for item in rng.zipf(1.3, rows) % 150],
            "time": 1_700_000_000 + rng.integers(0, 3000, rows) * 1800,
            "event": rng.choice(["view", "click", "buy"], rows, p=[0.7, 0.2, 0.1]),
            "value": rng.integers(1, 6, rows).astype(float),
        }
    )
    path = tmp_path_factory.mktemp("log") / "events.parquet"
    pl.concat([table, table.sample(200, seed=1)]).write_parquet(path, row_group_size=700)
    return path


def frame_of(table):
    return pl.DataFrame(pl.from_arrow(table.toArrow()))


def assert_equal(here, there):
    """Every row of every part, sorted, and every figure."""
    mine, theirs = here.to_dict(), there.summary.to_dict()
    assert mine == theirs
    for own, other in zip(here.folds, there.folds, strict=True):
        tables = {
            "train": (own.train, other.train), "validation": (own.validation, other.validation),
            "test": (own.test, other.test), "judgments": (own.judgments, other.judgments),
            "tuning": (own.tuning, other.tuning), "sample": (own.sample, other.candidates),
        }  # fmt: skip
        for name, (a, b) in tables.items():
            assert (a is None) == (b is None), name
            if a is not None:
                table = a.marked if name == "sample" else a.table
                assert_frame_equal(table, frame_of(b), check_row_order=name != "sample")


@pytest.mark.parametrize("way", list(WAYS))
def test_parts_equal_those_of_one_machine(spark, log, way):  # noqa: F811
    for validation in (False, True):
        if way == "windows" and validation:
            continue
        plan = SplitPlan(way, 0.25, 2, windows=3, validation=validation, seed=7)
        here = split_by(log, plan)
        given = {"share": 0.25, "last": 2, "windows": 3, "validation": validation, "seed": 7}
        there = split(log, way, **given, partitions=5, spark=spark)
        assert_equal(here, there)
        there.unpersist()
