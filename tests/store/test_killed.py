"""A process that is killed while it writes loses no rating that it acknowledged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl

from rankgate.store.rating import batches
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from support.stored_answers import list_ratings

from .conftest import Shop

SOURCE = Path(__file__).parents[2] / "src"
TASKS = 1_000
KILLS = (30, 250)
"""After how many acknowledged ratings the process is killed, in turn."""


def start(url, shop):
    command = [sys.executable, str(Path(__file__).with_name("writer.py")), url, str(shop.project)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command += map(str, shop.raters)
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def test_no_acknowledged_rating_is_lost(url, tmp_path):
    with Store.create(url, blobs=f"{tmp_path}/blobs") as store:
        shop = Shop(store)
        pairs = {"query_id": ["many"] * TASKS, "doc_id": [f"m{i}" for i in range(TASKS)]}
        with store.write() as connection:
            batches.add_pairs(connection, shop.batch, pl.DataFrame(pairs))
    acknowledged = set()
    for limit in KILLS:
        with start(url, shop) as process:
            for count, line in enumerate(process.stdout, 1):
                acknowledged.add(line.decode().strip())
                if count == limit:
                    process.send_signal(signal.SIGKILL)
    with Store.open(url) as store, store.read() as connection:
        stored_ids = [rating.rating_id for rating in list_ratings(connection, shop.project)]
    assert acknowledged <= set(stored_ids)
    assert len(stored_ids) == len(set(stored_ids)) >= sum(KILLS)
    # at most what each of the eight threads had written and not yet acknowledged when it was killed
    assert len(stored_ids) - len(acknowledged) <= 8 * len(KILLS)
    with Store.open(url) as store:
        assert check(store) == ()
