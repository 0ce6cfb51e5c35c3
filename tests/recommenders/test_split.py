"""Splits: sizes, order of time, leaks, candidates; the same bytes for the same seed."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.logs.splits import SPLIT_METHODS, SplitPlan, make_masks, sample
from rankgate.data.qrels import Qrels
from rankgate.interface.cli import rankgate as program
from rankgate.recommenders.commands import split_command
from rankgate.recommenders.split_files import split_into
from rankgate.recommenders.splitting import split
from support.wording import assert_warned, assert_wording, raises

ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("uvwxyz"), st.integers(1, 40)),
    min_size=8,
    max_size=40,
    unique=True,
)


def log_of(rows):
    return read_interactions(pl.DataFrame(rows, schema=["user", "item", "time"], orient="row"))


LOG = log_of([(u, f"{u}{k}", 10 * k + offset) for offset, u in enumerate("pqr") for k in range(1, 6)])


@given(ROWS, st.sampled_from(sorted(SPLIT_METHODS)), st.integers(0, 3))
def test_parts_share_no_row_and_the_future_stays_out(rows, way, seed):
    log = log_of(rows)
    try:
        folds = make_masks(log, SplitPlan(way, seed=seed))
    except InputError:
        return  # so few rows that a part is empty
    times, users = log.table["at"].to_numpy(), log.table["query_id"].to_numpy()
    items = log.table["doc_id"].to_numpy()
    assert folds
    for train, test in folds:
        assert not (train & test).any()
        if way != "windows":
            assert (train | test).all()
        if way in {"global", "windows"}:
            assert times[train].max() < times[test].min()
        if way in {"user", "leave-last"}:
            for user in set(users[test]):
                user_rows = users == user
                assert times[user_rows & train].max() <= times[user_rows & test].min()
        if way == "cold-users":
            assert not set(users[train]) & set(users[test])
        if way == "cold-items":
            assert not set(items[train]) & set(items[test])


def test_the_sizes_are_those_that_were_asked_for():
    def tested(**plan):
        ((_, test),) = make_masks(LOG, SplitPlan(**plan))
        return LOG.table.filter(pl.Series(test))["doc_id"].to_list()

    assert tested(way="leave-last") == ["p5", "q5", "r5"]
    assert tested(way="leave-last", last=2) == ["p4", "p5", "q4", "q5", "r4", "r5"]
    assert tested(way="user", share=0.4) == ["p4", "p5", "q4", "q5", "r4", "r5"]
    assert tested(way="global", share=0.2) == ["p5", "q5", "r5"]  # times 50, 51, 52
    assert tested(way="global", cut=51_000_000) == ["q5", "r5"]
    assert len(tested(way="random", share=0.4)) == 6
    assert sorted(doc[0] for doc in tested(way="leave-one-out")) == ["p", "q", "r"]
    assert len({doc[0] for doc in tested(way="cold-users", share=0.3)}) == 1


def test_windows_follow_each_other():
    folds = make_masks(LOG, SplitPlan("windows", share=0.4, windows=2))
    tested = [LOG.table.filter(pl.Series(test))["doc_id"].to_list() for _, test in folds]
    assert [sorted(documents) for documents in tested] == [["p4", "q4", "r4"], ["p5", "q5", "r5"]]
    assert [int(train.sum()) for train, _ in folds] == [9, 12]


def test_a_user_of_one_interaction_is_learned_from():
    log = log_of([("a", "x", 1), ("b", "x", 2), ("b", "y", 3)])
    result = split(log, SplitPlan("leave-last"))
    assert result.folds[0].test.table["query_id"].to_list() == ["b"]
    assert result.folds[0].leaks.users_only_train == 1


def test_what_leaks_is_counted_and_reported():
    log = log_of(
        [
            ("a", "x", 1),
            ("a", "y", 9),
            ("b", "x", 2),
            ("b", "z", 3),
            ("c", "w", 4),
            ("c", "w", 5),
            ("d", "x", 6),
            ("d", "y", 6),
        ]
    )
    result = split(log, SplitPlan("leave-last"), candidates="all")
    fold = result.folds[0]
    assert [(split_part.rows, split_part.users, split_part.items) for split_part in fold.parts] == [
        (4, 4, 2),
        (4, 4, 3),
    ]
    leaks = fold.leaks
    assert (leaks.users_only_test, leaks.items_only_test) == (0, 2)  # y and z
    assert leaks.pairs_again == 1  # c had w before
    assert leaks.same_time == 1  # d has two at 6
    assert leaks.ahead == 2  # c's at 4 and d's at 6 are not before b's at 3
    assert_warned(result)
    assert split(log, SplitPlan("global")).folds[0].leaks.ahead == 0


def test_one_of_a_kind_is_reported_in_the_singular():
    rows = [("u", "a", 1), ("u", "a", 1), ("u", "b", 2), ("v", "a", 3), ("w", "c", 4)]
    log = pl.DataFrame(rows, schema=["user", "item", "at"], orient="row")
    text = " ".join(str(rankgate.split(log, SplitPlan(share=0.25))).split())
    for result in (
        "1 row equal to another",
        "1 user only in the test",
        "1 item only in the test",
        "1 item is in the test only",
    ):
        assert result in text, result


def test_what_a_user_had_is_no_ground_truth_of_unseen_items():
    log = log_of([("c", "w", 4), ("c", "w", 5), ("d", "x", 6), ("d", "y", 7)])
    assert split(log, SplitPlan("leave-last")).folds[0].judgments.table.rows() == [("d", "y", 1.0)]
    all_judgments = split(log, SplitPlan("leave-last"), candidates="all").folds[0].judgments.table
    assert all_judgments.rows() == [("c", "w", 1.0), ("d", "y", 1.0)]
    repeated_log = log_of([("c", "w", 4), ("c", "w", 5)])
    with raises("no-interactions", InputError):
        split(repeated_log, SplitPlan("leave-last"))


def test_validation_lies_between_training_and_test():
    fold = split(LOG, SplitPlan("leave-last", validation=True)).folds[0]
    assert fold.validation.table["doc_id"].to_list() == ["p4", "q4", "r4"]
    assert fold.tuning.table["doc_id"].to_list() == ["p4", "q4", "r4"]
    assert len(fold.train.table) == 9
    sizes = [
        split_part.rows for split_part in split(LOG, SplitPlan("global", validation=True)).folds[0].parts
    ]
    assert sizes == [9, 3, 3]


def test_ways_that_need_times_refuse_logs_without():
    bare = read_interactions(pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"]}))
    for method in ("global", "leave-last"):
        with raises("missing-input", UsageError):
            split(bare, SplitPlan(method))
    assert len(split(bare, SplitPlan("random", share=0.5)).folds[0].test.table) == 1
    with raises("no-interactions", InputError):
        split(log_of([("a", "x", 1), ("b", "y", 1)]), SplitPlan("global"))


@given(st.integers(0, 5), st.integers(1, 6))
def test_drawn_candidates_are_new_to_the_user_and_none_stands_twice(seed, many):
    qrels = Qrels(pl.DataFrame({"query_id": ["p", "q"], "doc_id": ["p5", "q5"], "grade": [1.0] * 2}))
    candidates = sample(qrels.table, LOG.table, many, seed)
    table = candidates.table
    assert not table.is_duplicated().any()
    negatives = table.join(qrels.table, on=["query_id", "doc_id"], how="anti")
    assert len(negatives) == 2 * many
    assert len(negatives.join(LOG.table, on=["query_id", "doc_id"])) == 0
    assert candidates.mark == f"sampled({many})"


def test_every_free_item_is_as_likely():
    qrels = Qrels(pl.DataFrame({"query_id": ["p"], "doc_id": ["p5"], "grade": [1.0]}))
    counts = (
        pl.concat([sample(qrels.table, LOG.table, 3, seed).table for seed in range(600)])
        .filter(~pl.col("doc_id").str.starts_with("p"))["doc_id"]
        .value_counts()["count"]
    )
    assert len(counts) == 10  # the items of q and r
    expected = 600 * 3 / 10
    assert np.abs(counts.to_numpy() - expected).max() < 5 * np.sqrt(expected * 0.7)


def test_too_few_to_draw_from_is_reported():
    result = split(LOG, SplitPlan("leave-last"), candidates="sampled", negatives=99)
    assert result.candidates == "sampled(99)"
    assert result.folds[0].sample.short == 3
    assert result.folds[0].judgments.name == "test.sampled-99"
    assert_warned(result)


def test_the_same_seed_draws_the_same_whatever_the_order_of_the_file():
    shuffled = log_of(
        [
            row[:3]
            for row in LOG.table.with_columns(pl.col("at") // 1_000_000)
            .sample(fraction=1, shuffle=True, seed=3)
            .rows()
        ]
    )
    for method in ("random", "leave-one-out", "cold-users", "cold-items"):
        first, second = (split(log, SplitPlan(method, seed=7)).folds[0].test.table for log in (LOG, shuffled))
        assert first.equals(second)
        assert not first.equals(split(LOG, SplitPlan(method, seed=9)).folds[0].test.table), method


def test_wrong_plans_are_refused():
    for plan, code in (
        ({"way": "holdout"}, "unknown-choice"),
        ({"share": 1.0}, "out-of-range"),
        ({"last": 0}, "out-of-range"),
        ({"way": "windows", "validation": True}, "conflicting-options"),
        ({"way": "user", "cut": "2026-03-01"}, "conflicting-options"),
    ):
        with raises(code, UsageError):
            SplitPlan(**plan)
    with raises("unknown-choice", UsageError):
        split(pl.DataFrame({"user": ["u"], "item": ["a"], "time": [1]}), time_unit="hours")
    with raises("unknown-choice", UsageError):
        split(LOG, candidates="none")


def test_the_command_writes_parts_that_read_back(tmp_path):
    rows = [
        (f"u{u}", f"i{(u + k) % 7}", 1 + k % 5, 1_700_000_000 + 100 * k + u)
        for u in range(6)
        for k in range(6)
    ]
    log_path = tmp_path / "log.csv"
    pl.DataFrame(rows, schema=["user", "item", "rating", "time"], orient="row").write_csv(log_path)
    folder = tmp_path / "parts"
    arguments = [
        "split",
        str(log_path),
        "--into",
        str(folder),
        "--threshold",
        "4",
        "--candidates",
        "sampled",
        "--negatives",
        "2",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert json.loads((folder / "split.json").read_text()) == summary
    assert summary["candidates"] == "sampled(2)"
    train = read_interactions(folder / "train.csv")
    assert len(train.table) == summary["folds"][0]["parts"][0]["rows"]
    assert train.unit == "date"
    qrels = rankgate.read_qrels(folder / "test.sampled-2.qrels.csv")
    assert len(qrels.table) == summary["folds"][0]["judgments"]
    first_files = {path.name: path.read_bytes() for path in folder.iterdir()}
    CliRunner().invoke(program, arguments)
    assert first_files == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_by_windows_and_by_a_cut(tmp_path):
    log_path = tmp_path / "log.csv"
    LOG.table.with_columns((pl.col("at") // 1_000_000).alias("at")).write_csv(log_path)
    run = CliRunner().invoke(
        program,
        [
            "split",
            str(log_path),
            "--way",
            "windows",
            "--share",
            "0.4",
            "--windows",
            "2",
            "--into",
            str(tmp_path / "w"),
            "--to",
            "parquet",
        ],
    )
    assert run.exit_code == 0, run.output
    assert (tmp_path / "w" / "2" / "train.parquet").is_file()
    assert ["1", "train"] in [line.split()[:2] for line in run.stdout.splitlines()]
    cut_result = CliRunner().invoke(program, ["split", str(log_path), "--cut", "51", "--format", "markdown"])
    assert "| test | 2 | 2 | 2 | 51 | 52 |" in cut_result.stdout
    wrong = CliRunner().invoke(program, ["split", str(log_path), "--weight", "buy"])
    assert wrong.exit_code
    assert_wording(str(wrong.exception))


def test_in_python(tmp_path):
    result = rankgate.split(LOG, SplitPlan("leave-last", validation=True))
    assert result.qrels.table["doc_id"].to_list() == ["p5", "q5", "r5"]
    assert "<table>" in result._repr_html_()
    assert "train.csv" in result.write(tmp_path)
    assert str(result).startswith("log split by leave-last, 1 of each user")
    assert result.rule == Truth()
    assert result.plan == SplitPlan("leave-last", validation=True)


def test_the_plan_of_a_result_splits_the_same_way_again():
    dated = LOG.table.select("query_id", "doc_id", pl.from_epoch("at", "us"))
    first = rankgate.split(dated, SplitPlan(cut="1970-01-01T00:00:51"))
    assert first.plan.cut == 51_000_000
    repeated = rankgate.split(dated, rankgate.Split.from_dict(first.to_dict()).plan)
    assert repeated.test.equals(first.test)
    assert repeated == first


def test_equal_rows_count_once_or_each():
    rows = [("u", "a", 1), ("u", "b", 2), ("u", "b", 2), ("v", "a", 1), ("v", "c", 3)]
    log = pl.DataFrame(rows, schema=["user", "item", "time"], orient="row")
    unique_rows, all_rows = (
        rankgate.split(log, SplitPlan("leave-last"), equal_rows=word) for word in ("once", "each")
    )
    assert (unique_rows.repeated, len(unique_rows.train), len(unique_rows.test)) == (1, 2, 2)
    assert (all_rows.repeated, len(all_rows.train), len(all_rows.test)) == (0, 3, 2)


PLAYS = pl.DataFrame({"user": list("uuuvvvv"), "item": list("aabccdd"), "plays": [1, 1, 2, 1, 1, 1, 1]})
"""Plays without times: rows that are equal are two plays."""


def test_untimed_plays_add_up(tmp_path):
    rule, plan = Truth(repeats="sum", grades="value"), SplitPlan("cold-users", share=0.5)
    result = split(PLAYS, plan, rule)
    (user,) = result.qrels.table["query_id"].unique()
    expected = {"u": {"a": 2, "b": 2}, "v": {"c": 2, "d": 2}}[user]
    assert dict(result.qrels.table.select("doc_id", "grade").rows()) == expected
    split_into(PLAYS, plan, rule, folder=tmp_path / "parts")
    written = pl.read_csv(tmp_path / "parts" / "test.qrels.csv")
    assert dict(written.select("doc_id", "grade").rows()) == expected
    once = split(PLAYS, plan, rule, equal_rows="once")
    assert (result.repeated, once.repeated) == (0, 3)


def test_equal_rows_of_one_time_are_one_event_in_a_sum():
    log = PLAYS.with_columns(time=pl.Series([1, 1, 2, 1, 1, 2, 3]))
    assert split(log, SplitPlan("cold-users", share=0.5), Truth(repeats="sum")).repeated == 2


def test_a_threshold_that_makes_every_rating_relevant_is_reported():
    stars = [1, 2, 5, 4, 3, 1]
    log = pl.DataFrame({"user": list("uuuvvv"), "item": list("abcabc"), "rating": stars, "time": range(6)})
    (warning, *_) = split(log, SplitPlan("leave-last", last=2)).warnings
    assert "makes every value from 1 to 5 relevant" in warning
    for rule in (Truth(threshold=4), Truth(least={"interaction": 3})):
        warnings = split(log, SplitPlan("leave-last", last=2), rule).warnings
        assert not any("makes every value" in text for text in warnings)
    plays = log.with_columns(pl.col("rating") * 40)
    assert not any("makes every value" in text for text in split(plays, "leave-last").warnings)


def dense(seed=1, rows=2500):
    """A log with times, popular items and no pair twice."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "user": [f"u{user}" for user in rng.integers(0, 150, rows)],
            "item": [f"i{item % 200}" for item in rng.zipf(1.6, rows)],
            "time": rng.integers(0, 10**6, rows) + 1_600_000_000,
        }
    ).unique(["user", "item"], keep="first", maintain_order=True)


def peeled(pairs, least):
    """The k-core by its definition: take out one user or item of too few pairs, until there is none."""
    while True:
        for side in (0, 1):
            counts = {}
            for pair in pairs:
                counts[pair[side]] = counts.get(pair[side], 0) + 1
            rare = next((name for name, count in counts.items() if count < least), None)
            if rare is not None:
                pairs = [pair for pair in pairs if pair[side] != rare]
                break
        else:
            return pairs


def test_the_core_is_what_peeling_leaves(tmp_path):
    log, plan = dense(rows=900), SplitPlan("global", core=3)
    result = split(log, plan)
    rows = pl.concat([result.train, result.test]).select("query_id", "doc_id").rows()
    expected = peeled(log.select("user", "item").rows(), 3)
    assert 0 < len(expected) < len(log)
    assert sorted(rows) == sorted(expected)
    assert result.outside_core == len(log) - len(expected)
    written, _ = split_into(log, plan, folder=tmp_path / "parts")
    assert written.folds[0].parts == result.folds[0].parts
    assert f"{result.outside_core:,} rows outside the 3-core" in " ".join(str(result).split())
    with raises("no-interactions", InputError):
        split(log, SplitPlan(core=500))


def test_the_next_of_each_user_follows_training_directly():
    log, plan = dense(), SplitPlan("windows", windows=3, target="next")
    all_targets = split(log, SplitPlan("windows", windows=3))
    result, streamed = split(log, plan), split_into(log, plan)[0]
    for fold, whole, other in zip(result.folds, all_targets.folds, streamed.folds, strict=True):
        assert fold.train.table.equals(whole.train.table)
        first = whole.test.table.group_by("query_id", maintain_order=True).first()
        assert fold.test.table.equals(first.select(fold.test.table.columns))
        assert fold.parts == other.parts
    validated = split(log, SplitPlan(validation=True, target="next")).folds[0]
    for part in (validated.validation, validated.test):
        assert part.table["query_id"].is_duplicated().sum() == 0
    with raises("conflicting-options", UsageError):
        SplitPlan("leave-last", target="next")


def test_parts_that_were_split_elsewhere_are_checked_as_they_are(tmp_path):
    made = split(dense(), SplitPlan("random", seed=3))
    made.write(tmp_path)
    arguments = [str(tmp_path / "train.csv"), "--test", str(tmp_path / "test.csv"), "--format", "json"]
    answer = CliRunner().invoke(split_command, arguments, catch_exceptions=False)
    figures = json.loads(answer.output)["folds"][0]
    checked = split(str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv"))
    assert checked.folds[0].leaks == made.folds[0].leaks
    assert figures["leaks"] == vars(made.folds[0].leaks)
    assert checked.folds[0].leaks.ahead > 0
    order = ["query_id", "doc_id"]
    assert checked.qrels.table.sort(order).equals(made.qrels.table.sort(order))
    with raises("missing-input", UsageError):
        split(str(tmp_path / "train.csv"), "elsewhere")
    with raises("conflicting-options", UsageError):
        split(str(tmp_path / "train.csv"), "leave-last", test=str(tmp_path / "test.csv"))
    with raises("mixed-times", InputError):
        split(str(tmp_path / "train.csv"), test=pl.DataFrame({"user": ["u0"], "item": ["i0"]}))
