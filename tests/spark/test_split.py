"""Splits on Spark have the rows, judgments and figures of one machine, for all partitions."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SPLIT_METHODS, SplitPlan
from rankgate.recommenders.splitting import split as split_here
from rankgate.spark.splitting.packed_rows import whole_users
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
)
from support.spark import there as on_spark
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
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


def split(log, *given, **settings):
    """A log on Spark, split there."""
    return measured(split_here, on_spark(log), *given, **settings)


def frame_of(table):
    return pl.DataFrame(pl.from_arrow(table.toArrow()))


def assert_equal(here, there):
    """Every row of every part, sorted, and every figure."""
    local_figures, spark_figures = here.to_dict(), there.to_dict()
    assert local_figures == spark_figures
    for local, peer in zip(here.folds, there.maker.folds, strict=True):
        tables = {
            "train": (local.train, peer.train),
            "validation": (local.validation, peer.validation),
            "test": (local.test, peer.test),
            "judgments": (local.judgments, peer.judgments),
            "tuning": (local.tuning, peer.tuning),
            "sample": (local.sample, peer.candidates),
        }
        for name, (a, b) in tables.items():
            assert (a is None) == (b is None), name
            if a is not None:
                table = a.marked if name == "sample" else a.table
                assert_frame_equal(table, frame_of(b), check_row_order=name != "sample")


KINDS = {"view": 1, "click": 1, "buy": 1}
QUICK = {"global", "leave-one-out", "random", "cold-items"}


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(method, marks=[] if method in QUICK else pytest.mark.slow)
        for method in SPLIT_METHODS
        if method != "sessions"  # refused on Spark
    ],
)
def test_parts_equal_those_of_one_machine(log, way):
    validation = way != "windows"
    target = "next" if way == "global" else "all"
    plan = SplitPlan(way, 0.25, 2, windows=3, validation=validation, seed=7, target=target)
    spark_split = split(log, plan, Truth(KINDS), partitions=3)
    assert_equal(split_here(log, plan, Truth(KINDS)), spark_split)
    spark_split.maker.unpersist()


OPTIONS = [
    ("global", {"candidates": "all"}, {}),
    ("windows", {"candidates": "sampled", "negatives": 7}, {"weights": {"buy": 1, "click": 0.5}}),
    ("random", {"candidates": "sampled", "negatives": 140}, {"threshold": 3, "repeats": "last"}),
    ("user", {"equal_rows": "each"}, {"grades": "value", "repeats": "mean", "least": {"view": 4}}),
    ("leave-one-out", {}, {"repeats": "first", "threshold": 2}),
    ("cold-users", {"candidates": "sampled"}, {"repeats": "sum", "grades": "value"}),
    ("leave-last", {}, {}),
    ("cold-items", {"candidates": "all"}, {"threshold": 4}),
]


SLOW, SEPARATE = pytest.mark.slow, [pytest.mark.slow, pytest.mark.separate]
"""Options that are also tried with another number of partitions are tried with this one separately."""


@pytest.mark.parametrize(
    ("way", "given", "rule", "partitions"),
    [
        *(pytest.param(*case, 4, marks=SEPARATE) for case in OPTIONS[1:2]),
        *(pytest.param(*case, 1, marks=SLOW) for case in OPTIONS[:3] + OPTIONS[4::2]),
        *(pytest.param(*case, 1, marks=SEPARATE) for case in OPTIONS[3::2]),
        *(pytest.param(*case, 9, marks=SLOW) for case in OPTIONS[3::2]),
        *(  # but windows, whose folds take long
            pytest.param(*case, 9, marks=SEPARATE) for case in OPTIONS[0::2]
        ),
    ],
)
def test_options_and_partitions_change_no_row(log, way, given, rule, partitions):
    cutoff_date = "2023-12-20" if way == "global" else None
    plan, truth = SplitPlan(way, seed=3, cut=cutoff_date), Truth(**{"weights": KINDS, **rule})
    local_split = split_here(log, plan, truth, **given)
    spark_split = split(log, plan, truth, **given, partitions=partitions)
    assert_equal(local_split, spark_split)
    spark_split.maker.unpersist()


@pytest.mark.slow
@pytest.mark.separate
def test_frames_tables_and_files_of_any_format(spark, log, tmp_path):  # noqa: F811
    table = pl.read_parquet(log).head(600)
    local_split = split_here(table, SplitPlan("leave-last"), Truth(KINDS))
    frame = spark.read.parquet(str(log)).limit(600).coalesce(1)
    frame.createOrReplaceTempView("events")
    table.write_csv(tmp_path / "events.csv")
    (tmp_path / "events").mkdir()
    for i, table_slice in enumerate(table.iter_slices(250)):
        table_slice.write_ndjson(tmp_path / "events" / f"part-{i}.json")
    lines = [f"{row['user']}\t{row['item']}\t{row['value']}\t{row['time']}" for row in table.to_dicts()]
    (tmp_path / "events.inter").write_text(
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + "\n".join(lines)
    )
    logs = [frame, "table:events", tmp_path / "events.csv", tmp_path / "events"]
    for source in logs:
        spark_split = split(source, "leave-last", Truth(KINDS), partitions=2)
        for name in ("train", "test"):
            assert_frame_equal(getattr(local_split, name), frame_of(getattr(spark_split.maker, name)))
        spark_split.maker.unpersist()
    local_split = split_here(tmp_path / "events.inter")
    assert_equal(local_split, split(tmp_path / "events.inter", partitions=2))


def test_dates_and_places_in_lists_are_times(spark, tmp_path):  # noqa: F811
    days = [datetime(2026, 1, 1) + timedelta(hours=7 * i, microseconds=i % 3) for i in range(60)]  # noqa: DTZ001 - as the file has them
    dated = pl.DataFrame(
        {"user": [f"u{i % 7}" for i in range(60)], "item": [f"i{i % 11}" for i in range(60)], "at": days}
    )
    dated.write_parquet(tmp_path / "dated.parquet")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        spark_split = split(tmp_path / "dated.parquet", partitions=2)
        assert_equal(split_here(tmp_path / "dated.parquet"), spark_split)
        spark_split.write(tmp_path / "there")
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    with raises("no-table", UsageError):
        _ = spark_split.train
    names = split_here(tmp_path / "dated.parquet").write(tmp_path / "here")
    assert sorted(names) == sorted(path.name for path in (tmp_path / "there").glob("[a-z]*"))
    for name in names[:-1]:
        parts = sorted((tmp_path / "there" / name).glob("part-*"))
        lines = [line for part_path in parts for line in part_path.read_text().splitlines()[1:]]
        assert lines == (tmp_path / "here" / name).read_text().splitlines()[1:]
    assert (tmp_path / "here/split.json").read_text() == (tmp_path / "there/split.json").read_text()
    (tmp_path / "lists.txt").write_text("a: x y z\nb: y x\na: w\n")
    spark_split = split(tmp_path / "lists.txt", "leave-last", partitions=2)
    assert_equal(split_here(tmp_path / "lists.txt", SplitPlan("leave-last")), spark_split)


def test_what_is_wrong_names_the_row(tmp_path):
    rows = [f"u{i % 5},i{i % 7},{1_700_000_000 + i},3" for i in range(40)]
    path = tmp_path / "log.csv"

    def refused(code, error, changed, **given):
        lines = [changed.get(i, row) for i, row in enumerate(rows)]
        path.write_text("\n".join(["user,item,time,value", *lines]) + "\n")
        with raises(code, error) as caught:
            split(path, **{"partitions": 2, **given})
        return caught.value

    bad = refused("not-a-number", InputError, {7: "u2,i0,1700000007,many"})
    assert (bad.source, bad.line) == (str(path), 9)
    bad = refused("mixed-times", InputError, {7: "u2,i0,1700000007000,3"})
    assert (bad.source, bad.line) == (str(path), 9)
    bad = refused("empty-value", InputError, {9: "u4,,1700000009,3"})
    assert (bad.source, bad.line) == (str(path), 11)
    refused("unknown-choice", UsageError, {}, rule=Truth({"buy": 1}))
    refused("no-interactions", InputError, {}, plan=SplitPlan(cut="1700000900"))
    refused("no-interactions", InputError, dict.fromkeys(range(40), ""))
    with raises("missing-input", UsageError):
        split(pl.DataFrame({"user": ["a"], "item": ["b"]}))
    with raises("no-such-file", InputError):
        split(tmp_path / "nowhere.parquet")


def test_frames_have_whole_users():
    rng = np.random.default_rng(2)
    users = np.sort(rng.integers(0, 40, 500) // rng.choice([1, 1, 5], 500))
    table = pl.DataFrame({"query_id": [f"{user:02}" for user in users], "n": np.arange(500)})
    for size in (1, 7, 100, 900):
        frames = [*whole_users(table.iter_slices(13), size)]
        assert pl.concat(frames)["n"].to_list() == [*range(500)]
        frame_users = [set(frame["query_id"]) for frame in frames]
        assert sum(map(len, frame_users)) == len(set(users))
