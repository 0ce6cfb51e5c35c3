"""A server that is killed while a thousand ratings arrive loses none that it acknowledged."""

from __future__ import annotations

import threading
import uuid
from collections import Counter

import polars as pl
import pytest
import urllib3

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches, tasks
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from support.serving import Visitor, started
from support.stored_answers import list_ratings

pytestmark = pytest.mark.slow
RATERS = 20


class Rater(threading.Thread):
    """Rates until all tasks are done or the server is gone; keeps unacknowledged ratings."""

    def __init__(self, address, cookie, waiting=None):
        super().__init__(daemon=True)
        self.visitor, self.waiting = Visitor(address), waiting
        self.visitor.cookies = {"rankgate_session": cookie[0]}
        self.word, self.acknowledged, self.failed = cookie[1], [], None

    def run(self):
        try:
            task = self.waiting or self.next_task()
            while task is not None:
                self.waiting = task
                answer = self.visitor.ask(
                    "POST",
                    "/projects/many/ratings",
                    json={**task, "grade": 2},
                    headers={"x-csrf-token": self.word},
                )
                assert answer.status == 200, answer.data
                self.acknowledged.append(task["rating_id"])
                self.waiting = None
                task = self.named(answer.json()["task"])
        except (urllib3.exceptions.HTTPError, OSError):
            pass  # the server is gone; what waits is sent again
        except Exception as error:  # noqa: BLE001 - for the test to see
            self.failed = error

    def next_task(self):
        return self.named(self.visitor.get("/projects/many/rate.json").json()["task"])

    def named(self, task):
        return task and {"task": task["id"], "rating_id": str(uuid.uuid4())}


def prepared(url, tmp_path, count):
    """A store with a batch, and cookies of raters who are signed in."""
    with Store.create(url, blobs=f"{tmp_path}/blobs") as store, store.write() as connection:
        users.add(connection, "root", admin=True)
        project = projects.add(connection, "many", scale=GRADED)
        batch = batches.add_batch(connection, project.id, "first", strategy="1")
        pairs = {"query_id": ["q"] * count, "doc_id": [f"d{i}" for i in range(count)]}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs))
        cookies = []
        for i in range(RATERS):
            user = users.add(connection, f"rater{i}")
            users.grant(connection, project.id, user.id, "rater")
            session, secret = sign_in.begin_session(connection, user.id)
            cookies.append((secret, session.csrf))
    return project.id, cookies


def test_no_acknowledged_rating_is_lost(url, tmp_path, thorough):
    count = 1_000 if thorough else 150
    project, cookies = prepared(url, tmp_path, count)
    waiting, acknowledged = [None] * RATERS, []
    for kill in (True, False):
        with started(url, first=False) as (process, address, _):
            raters = [Rater(address, *arguments) for arguments in zip(cookies, waiting, strict=True)]
            for rater in raters:
                rater.start()
            while kill and sum(len(rater.acknowledged) for rater in raters) < count * 0.3:
                raters[0].join(0.01)
            if kill:
                process.kill()
            for rater in raters:
                rater.join(120)
        assert [rater.failed for rater in raters if rater.failed] == []
        acknowledged += [rating_id for rater in raters for rating_id in rater.acknowledged]
        waiting = [rater.waiting for rater in raters]
    with Store.open(url) as store:
        with store.read() as connection:
            stored_ratings = list_ratings(connection, project)
            progress = tasks.progress(connection, project)
        assert check(store) == ()
    ids = [rating.rating_id for rating in stored_ratings]
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    assert (progress.done, progress.open) == (count, 0)
    assert Counter(Counter(rating.document for rating in stored_ratings).values()) == {1: count}
