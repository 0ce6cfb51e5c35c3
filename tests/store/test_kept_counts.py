"""Kept counts equal counts of the answers, however these were added, and whoever was killed."""

import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from rankgate.store.backup import backup, restore
from rankgate.store.rating import kept_counts, ratings
from rankgate.store.rating.kept_counts import IDLE_SECONDS
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from rankgate.store.tables.rating_tables import answer_counts, pair_counts, tasks
from support.stored_answers import list_preferences, list_ratings

from .conftest import Shop
from .counts_writer import answer

SOURCE = Path(__file__).parents[2] / "src"
STEPS = 3
DELAYS = (0, 12)
"""After how many complete steps the process is killed, in turn."""


def counted(connection, project):
    """The counts of all answers, one by one."""
    batch_of_task = dict(connection.execute(sa.select(tasks.c.id, tasks.c.batch)).all())
    sums = defaultdict(lambda: [0, 0, 0, 0.0, 0.0, 0, 0, None])
    pairs = defaultdict(lambda: [0, 0])
    for rating in (*list_ratings(connection, project), *list_preferences(connection, project)):
        is_rating = hasattr(rating, "grade")
        kind = ("training" if rating.training else "rating") if is_rating else "preference"
        day = (rating.at or rating.recorded_at).date()
        key = (project, rating.rater, batch_of_task.get(rating.task, 0), day - timedelta(day.weekday()), kind)
        row = sums[key]
        row[0] += 1
        if kind == "rating":
            pairs[rating.query, rating.document][0] += 1
            pairs[rating.query, rating.document][1] += rating.grade is not None
        if rating.reason == "withdrawn" or (is_rating and rating.final):
            continue
        row[1] += 1
        row[2] += rating.grade is None if is_rating else rating.choice == "none"
        row[3] += rating.seconds or 0
        row[4] += min(rating.seconds or 0, IDLE_SECONDS)
        row[5] += (rating.seconds or 0) > IDLE_SECONDS
        row[6] += rating.seconds is None
        row[7] = max(filter(None, (row[7], rating.at)), default=None)
    return {key: tuple(row) for key, row in sums.items()}, {key: tuple(row) for key, row in pairs.items()}


def check_counts(store, project):
    """Compare the kept counts with the answers; return the number of answers."""
    with store.read() as connection:
        sums, pairs = counted(connection, project)
        kept_sums = {row[:5]: tuple(row[5:]) for row in connection.execute(sa.select(answer_counts)).all()}
        kept_pairs = {row[:2]: tuple(row[2:]) for row in connection.execute(sa.select(pair_counts)).all()}
        assert kept_counts.count_differences(connection) == 0
        assert ratings.ratings_state(connection, project)[0] == len(list_ratings(connection, project))
    assert kept_pairs == pairs
    assert kept_sums == {key: pytest.approx(row) if row[7] is None else row for key, row in sums.items()}
    return sum(row[0] for row in sums.values())


def test_answers_of_every_way_are_counted(shop):
    for step in range(STEPS):
        answer(shop.store, shop.project, shop.raters, step)
    assert check_counts(shop.store, shop.project) > 0
    kinds = Counter()
    with shop.store.read() as connection:
        for row in connection.execute(sa.select(answer_counts)):
            kinds[row.kind] += row.answers
    assert set(kinds) == {"rating", "training", "preference"}
    assert check(shop.store) == ()


def test_a_killed_process_leaves_counts_and_answers_alike(url, tmp_path):
    with Store.create(url, blobs=f"{tmp_path}/blobs") as store:
        shop = Shop(store)
    first_step = 0
    for delay in DELAYS:
        command = [
            sys.executable,
            "-m",
            "store.counts_writer",
            url,
            str(shop.project),
            *map(str, shop.raters),
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{SOURCE}{os.pathsep}{Path(__file__).parents[1]}",
            "FIRST_STEP": str(first_step),
        }
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            for line in process.stdout:
                first_step = int(line) + 1_000
                if int(line) % 1_000 >= delay:
                    process.send_signal(signal.SIGKILL)
    with Store.open(url) as store:
        assert check_counts(store, shop.project) > 0
        assert check(store) == ()


def test_a_check_counts_again_what_is_wrong(shop, tmp_path):
    answer(shop.store, shop.project, shop.raters, 0)
    with shop.store.write() as connection:
        connection.execute(sa.update(pair_counts).values(ratings=7))
        connection.execute(sa.delete(answer_counts).where(answer_counts.c.kind == "preference"))
    (finding,) = check(shop.store)
    assert finding.code == "stale-counts"
    assert check(shop.store) == ()
    check_counts(shop.store, shop.project)
    backup(shop.store, tmp_path / "a.zip")  # has answers alone; restoring counts them
    restore(tmp_path / "a.zip", f"{tmp_path}/restored.db")
    with Store.open(f"{tmp_path}/restored.db") as restored:
        check_counts(restored, shop.project)
