"""Users and sessions that are held out as a whole: fold-in, targets, and sessions at pauses."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import UsageError
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.logs.splits import SplitPlan, session_ids
from rankgate.recommenders.split_files import split_into
from rankgate.recommenders.splitting import split
from support.wording import raises

START = 1_700_000_000


def log_of(users=30, seed=1):
    """Users with one to nine interactions each, minutes to days apart."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        times = START + np.cumsum(rng.choice([40, 600, 7_200, 90_000], rng.integers(1, 10)))
        rows += [(f"u{user:02d}", f"i{rng.integers(40)}", int(time)) for time in times + user * 1_000]
    return pl.DataFrame(rows, schema=["user", "item", "time"], orient="row")


def rows_of(log):
    """The times and items of each user in order, from rows of a split."""
    rows = defaultdict(list)
    for user, item, time in log.select("query_id", "doc_id", "at").iter_rows():
        rows[user].append((time, item))
    return rows


LOG = log_of()
WHOLE = rows_of(read_interactions(LOG).table)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_users_are_held_out_as_a_whole_and_their_interactions_divided(share):
    result = split(LOG, SplitPlan("cold-users", fold_in=share, seed=5), candidates="all")
    train, fold_in, test = (rows_of(log) for log in (result.train, result.fold_in, result.test))
    assert set(train).isdisjoint(fold_in)
    assert set(train) | set(fold_in) == set(WHOLE)
    assert set(test) == {user for user in fold_in if len(WHOLE[user]) > 1}
    for user, rows in fold_in.items():
        assert sorted(rows + test[user]) == WHOLE[user]
        size = int(share * len(WHOLE[user]) + 0.5)
        assert len(rows) == min(max(size, 1), max(len(WHOLE[user]) - 1, 1))
    drawn = [rows + test[user] != WHOLE[user] for user, rows in fold_in.items()]
    assert any(drawn)  # not simply the first ones


def test_the_same_seed_draws_the_same_fold_in_whatever_the_order_of_the_file():
    plan = SplitPlan("cold-users", fold_in=0.5, seed=5)
    shuffled = LOG.sample(fraction=1, shuffle=True, seed=2)
    assert split(LOG, plan).fold_in.equals(split(shuffled, plan).fold_in)
    assert not split(LOG, plan).fold_in.equals(
        split(LOG, SplitPlan("cold-users", fold_in=0.5, seed=6)).fold_in
    )


def test_every_interaction_is_drawn_equally_often():
    log = pl.DataFrame({"user": ["a"] * 4 + ["b"] * 4, "item": [*"wxyzwxyz"], "time": [*range(4)] * 2})
    counts = dict.fromkeys("wxyz", 0)
    for seed in range(400):
        for item in split(log, SplitPlan("cold-users", share=0.5, fold_in=0.5, seed=seed)).fold_in["doc_id"]:
            counts[item] += 1
    expected, spread = 200, np.sqrt(400 * 0.25)
    assert all(abs(count - expected) < 4 * spread for count in counts.values())


@pytest.mark.parametrize("way", ["cold-users", "sessions"])
def test_the_last_interaction_is_the_target(way):
    result = split(LOG, SplitPlan(way, target="last"), candidates="all")
    fold_in, test = rows_of(result.fold_in), rows_of(result.test)
    for user, rows in fold_in.items():
        assert rows + test[user] == WHOLE[user]
        assert len(test[user]) == (len(WHOLE[user]) > 1)


@pytest.mark.parametrize("way", ["cold-users", "sessions"])
def test_the_next_interaction_follows_the_fold_in(way):
    result = split(LOG, SplitPlan(way, target="next", fold_in=0.5), candidates="all")
    for user, rows in rows_of(result.fold_in).items():
        targets = rows_of(result.test)[user]
        assert len(targets) == (len(WHOLE[user]) > 1)
        assert rows + targets == WHOLE[user][: len(rows) + len(targets)]


def test_what_is_folded_in_is_not_ground_truth():
    log = pl.DataFrame({"user": [*"aabbb"], "item": [*"xyxyx"], "time": [1, 2, 3, 4, 5]})
    plan = SplitPlan("sessions", cut="3", target="last")
    with raises("no-interactions"):
        split(log, plan)  # x again
    assert split(log, plan, candidates="all").qrels.table.rows() == [("b", "x", 1.0)]


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_sessions_are_in_the_test_if_they_end_after_the_cut(share):
    """The rule of GRU4Rec's preparation: all of a session, by its last interaction."""
    result = split(LOG, SplitPlan("sessions", share=share), candidates="all")
    ends = {user: rows[-1][0] for user, rows in WHOLE.items()}
    train, test = rows_of(result.train), rows_of(result.test)
    assert set(train).isdisjoint(test)
    assert max(ends[user] for user in train) < min(ends[user] for user in test)
    all_ends = sorted(ends[user] for user, rows in WHOLE.items() for _ in rows)
    cut = all_ends[int(np.ceil((1 - share) * len(all_ends)))]
    assert set(test) == {user for user, end in ends.items() if end >= cut}
    dated = split(LOG, SplitPlan("sessions", cut="2023-11-16"), candidates="all")
    assert set(rows_of(dated.test)) == {user for user, end in ends.items() if end >= 1_700_092_800_000_000}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 400)), min_size=1, max_size=30))
def test_a_pause_ends_a_session(rows):
    log = read_interactions(
        pl.DataFrame(
            [(u, f"i{k}", START + 10 * t) for k, (u, t) in enumerate(rows)],
            ["user", "item", "time"],
            orient="row",
        )
    )
    expected, number, last = [], {}, {}
    for user, time in log.table.select("query_id", "at").iter_rows():
        number[user] = number.get(user, 1) + (user in last and time - last[user] > 5 * 60e6)
        last[user] = time
        expected.append(f"{user}#{number[user]}")
    assert session_ids(log, 5).to_list() == expected


def test_sessions_at_pauses_stay_whole():
    result = split(LOG, SplitPlan("sessions", gap=30, target="last", validation=True), candidates="all")
    fold = result.folds[0]
    parts = {
        name: rows_of(log.table)
        for name, log in {
            "train": fold.train,
            "validation": fold.validation,
            "fold-in": fold.fold_in,
            "test": fold.test,
        }.items()
    }
    sessions = defaultdict(list)
    for rows in parts.values():
        for session, session_rows in rows.items():
            sessions[session] += session_rows
    whole = defaultdict(list)
    for session, rows in sessions.items():
        assert max(np.diff(sorted(time for time, _ in rows)), default=0) <= 30 * 60e6
        whole[session.partition("#")[0]] += rows
    assert {user: sorted(rows) for user, rows in whole.items()} == {
        user: sorted(rows) for user, rows in WHOLE.items()
    }
    assert set(parts["train"]).isdisjoint(parts["fold-in"])
    assert set(parts["validation"]).isdisjoint(parts["test"])
    assert set(parts["validation"]) | set(parts["test"]) <= set(parts["fold-in"])


@pytest.mark.parametrize(
    "plan",
    [
        SplitPlan("cold-users", fold_in=0.8, validation=True),
        SplitPlan("sessions", target="last", validation=True),
        SplitPlan("sessions", fold_in=0.4, target="next"),
        SplitPlan("sessions", gap=30, target="last"),
    ],
)
@pytest.mark.parametrize("candidates", ["all", "sampled"])
def test_the_files_are_those_of_a_split_in_memory(tmp_path, plan, candidates):
    result = split(LOG, plan, candidates=candidates, negatives=3)
    names = result.write(tmp_path / "whole")
    figures, written = split_into(
        LOG, plan, folder=tmp_path / "parts", candidates=candidates, negatives=3, rows=20
    )
    assert figures.to_dict() == result.to_dict()
    assert written == names
    assert "fold-in.csv" in names
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_the_command_writes_and_counts_the_fold_in(run, tmp_path):
    LOG.write_csv(tmp_path / "log.csv")
    options = ["--gap", "30", "--way", "sessions", "--target", "last", "--candidates", "all"]
    text = run("split", str(tmp_path / "log.csv"), *options, "--into", str(tmp_path / "parts")).out
    words = " ".join(text.split())
    assert "log split by sessions, 20%, the last of each user" in words
    assert "end at pauses of more than 30 minutes" in words
    fold_in, test = (pl.read_csv(tmp_path / "parts" / f"{name}.csv") for name in ("fold-in", "test"))
    alone = fold_in["query_id"].n_unique() - test["query_id"].n_unique()
    assert f"{alone} users or sessions with one interaction, which is fold-in" in words
    split_values = json.loads((tmp_path / "parts" / "split.json").read_text())
    restored = rankgate.recommenders.split.Split.from_dict(split_values)
    assert restored.plan == SplitPlan("sessions", gap=30, target="last")


@pytest.mark.parametrize(
    "plan",
    [
        {"way": "leave-last", "fold_in": 0.5},
        {"way": "global", "target": "last"},
        {"way": "cold-users", "target": "next"},
        {"way": "sessions", "target": "last", "fold_in": 0.5},
        {"way": "cold-users", "cut": "2024-01-01"},
    ],
)
def test_plans_without_sense_are_refused(plan):
    with raises("conflicting-options", UsageError):
        SplitPlan(**plan)


def test_values_out_of_range_are_refused():
    for plan in ({"fold_in": 1.0}, {"fold_in": -0.1}, {"gap": -1}):
        with raises("out-of-range", UsageError):
            SplitPlan("sessions", **plan)


def test_pauses_need_a_clock_and_the_last_interaction_an_order():
    places = LOG.with_columns(time=pl.int_range(pl.len()))
    with raises("missing-input", UsageError):
        split(places, SplitPlan("sessions", gap=30))
    untimed = LOG.drop("time")
    with raises("missing-input", UsageError):
        split(untimed, SplitPlan("cold-users", target="last"))
    assert len(split(untimed, SplitPlan("cold-users", fold_in=0.5)).fold_in)
