"""How pages of a large store cost: 1,000 evaluations with their runs, and a million ratings.

Each page is opened twice by one reader, right after the server has started, and again later; in
between, the reader waits for figures that another process computes. Printed are seconds of the
server's processor (other programs may be busy) and of the clock, and the server's most resident
memory. Then 20 readers open pages at random, each every five seconds, while a rater with many
ratings rates a document a second. At last the rater rates one document after the other. SQLite.

    python bench/pages.py                            makes the store, two minutes, and measures
    python bench/pages.py --folder /tmp/store        keeps the store there, and uses it again
    python bench/pages.py --evaluations 100 --ratings 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from rankgate.data import read_qrels, read_run
from rankgate.data.qrels import GRADED
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.records import records
from rankgate.store.records.records import NewRecord, Value
from rankgate.store.store import Store
from rankgate.store.tables import rating_tables
from raters import Rater, cpu
from support.serving import Visitor, started

if TYPE_CHECKING:
    from sqlalchemy import Connection

QUERIES, RANKED, RATERS, RATERS_OF_PAIR = 200, 20, 30, 3
METRICS = ["nDCG@10", "AP", "RR", "R@100", "P@10"]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 50_000
READERS, READING_SECONDS, THINKING_SECONDS = 20, 60, 5
NEW_RATINGS, WARM_UP = 500, 50
COMPUTING = b"are being computed"
PAGES = (
    ("overview", ""),
    ("trends", "/trends"),
    ("records", "/records"),
    ("rating page", "/rate"),
    ("pairs", "/pairs"),
    ("history", "/history"),
    ("judgments", "/judgments"),
    ("evaluation", "/judgments/gold/evaluation"),
    ("ratings' evaluation", "/ratings/evaluation"),
    ("coverage", "/coverage"),
    ("agreement", "/agreement"),
    ("work", "/work"),
)


def prepare(folder: Path, evaluations: int, ratings: int) -> str:
    """Make the store; the cookie of a manager."""
    rng = np.random.default_rng(0)
    pairs = ratings // RATERS_OF_PAIR
    documents = max(pairs // QUERIES, RANKED)
    ids = [f"q{query}" for query in range(QUERIES)]
    with Store.create(f"sqlite:///{folder}/pages.db", blobs=f"{folder}/blobs") as store:
        with store.write() as connection:
            users.add(connection, "root", admin=True)
            project = projects.add(connection, "shop", title="A shop", scale=GRADED).id
            texts = [f"words of query {query}" for query in range(QUERIES)]
            table = pl.DataFrame({"query_id": ids, "text": texts})
            queries_documents.add_queries(connection, project, table)
            batch = batches.add_batch(connection, project, "first", strategy="2")
            owner = np.arange(pairs) % QUERIES
            pair_table = pl.DataFrame({"query": owner, "doc": np.arange(pairs) // QUERIES})
            pair_table = pair_table.select(
                pl.format("q{}", "query").alias("query_id"), pl.format("d{}", "doc").alias("doc_id")
            )
            batches.add_pairs(connection, batch, pair_table)
            _add_ratings(connection, project, rng, pairs)
            manager = users.add(connection, "manager")
            users.grant(connection, project, manager.id, "manager")
            cookie = sign_in.begin_session(connection, manager.id)[1]
        gold = {query: {f"d{doc}": int(doc % 4) for doc in range(60)} for query in ids}
        qrels = read_qrels(gold)
        with store.write() as connection:
            stored_runs.add_judgments(connection, store.blobs, project, qrels, name="gold")
        for day in range(evaluations):
            order = np.argsort(rng.random((QUERIES, documents)), axis=1)[:, :RANKED]
            columns = {
                "query_id": np.repeat(ids, RANKED),
                "doc_id": [f"d{doc}" for doc in order.ravel().tolist()],
                "score": np.tile(np.arange(RANKED, 0, -1.0), QUERIES),
            }
            run = read_run(pl.DataFrame(columns))
            if not day:
                result = evaluate(qrels, {"shop": run}, METRICS).to_dict()
            with store.write() as connection:
                name = f"run{day:04}"
                stored_runs.add_run(connection, store.blobs, project, run, name=name)
                _add_record(connection, store, project, result, rng, day, run.sha256)
    return cookie


def _add_ratings(connection: Connection, project: int, rng: np.random.Generator, pairs: int) -> None:
    """Ratings of all tasks by three raters each, and their assignments."""
    numbers = [users.ensure(connection, f"rater{rater}").id for rater in range(RATERS)]
    tasks = rating_tables.tasks
    rows = connection.execute(
        tasks.select().with_only_columns(tasks.c.id, tasks.c.query, tasks.c.document)
    ).all()
    grades = np.clip(np.arange(pairs)[:, None] % 4 + rng.integers(-1, 2, (pairs, 3)), 0, 3)
    raters = (rng.integers(RATERS, size=pairs)[:, None] + np.arange(3)) % RATERS
    for begin in range(0, pairs, ROWS):
        rated = [
            {
                "rating_id": f"{task}-{place}",
                "project": project,
                "task": task,
                "query": query,
                "document": document,
                "rater": numbers[rater],
                "grade": float(grade),
                "at": BEGIN + timedelta(seconds=30 * (begin + place)),
                "recorded_at": BEGIN + timedelta(seconds=30 * (begin + place)),
                "seconds": 4.0,
                "final": False,
                "training": False,
            }
            for place, (task, query, document) in enumerate(rows[begin : begin + ROWS])
            for rater, grade in zip(
                raters[begin + place].tolist(), grades[begin + place].tolist(), strict=True
            )
        ]
        for number, row in enumerate(rated):
            row["rating_id"] = f"rating-{begin}-{number}"
        connection.execute(rating_tables.ratings.insert(), rated)
        assigned = [
            {name: row[name] for name in ("task", "rater", "grade", "at")} | {"state": "answered"}
            for row in rated
        ]
        connection.execute(rating_tables.assignments.insert(), assigned)
    connection.execute(tasks.update().values(state="done", grades=3, answers=3))


def _add_record(
    connection: Connection,
    store: Store,
    project: int,
    result: dict[str, object],
    rng: np.random.Generator,
    day: int,
    run_hash: str,
) -> None:
    means = 0.5 + rng.normal(day / 1e5, 0.01, len(METRICS))
    evaluation = json.loads(json.dumps(result))
    evaluation["runs"][0]["mean"] = dict(zip(METRICS, means.tolist(), strict=True))
    values = rng.uniform(size=(QUERIES, len(METRICS)))
    per_query = pl.DataFrame(values, METRICS).with_columns(
        pl.Series("query_id", [f"q{query}" for query in range(QUERIES)]), system=pl.lit("shop")
    )
    new_record = NewRecord(
        evaluation,
        BEGIN + timedelta(hours=6 * day),
        name=f"evaluation {day}",
        system="shop",
        convention="trec",
        convention_hash="made",
        inputs={"runs": {"shop": run_hash}},
        values=tuple(
            Value(name, "shop", mean, mean - 0.02, mean + 0.02, QUERIES)
            for name, mean in zip(METRICS, means.tolist(), strict=True)
        ),
        per_query=per_query.select("query_id", "system", *METRICS),
    )
    records.add(connection, store.blobs, project, new_record)


def measure(folder: Path, cookie: str) -> None:
    """Open the pages and print what they cost."""
    with started(f"sqlite:///{folder}/pages.db", first=False) as (process, address, _):
        threading.Thread(target=process.stderr.read, daemon=True).start()
        reader = Visitor(address)
        reader.http.connection_pool_kw["timeout"] = 600
        reader.cookies["rankgate_session"] = cookie
        reader.get("/projects")
        print("| page | first CPU s | s | figures s | later CPU s | s | MB of answer | MB of memory |")
        print("| --- | --: | --: | --: | --: | --: | --: | --: |")
        for name, path in PAGES:
            cells = []
            for visit in range(2):
                cpu_before, begin = cpu(process.pid), time.perf_counter()
                answer = reader.get(f"/projects/shop{path}")
                seconds = time.perf_counter() - begin
                cells += [f"{cpu(process.pid) - cpu_before:.2f}", f"{seconds:.2f}"]
                if not visit:
                    while COMPUTING in reader.get(f"/projects/shop{path}").data:
                        time.sleep(0.2)
                    cells.append(f"{time.perf_counter() - begin:.1f}")
            status = "" if answer.status == 200 else f" ({answer.status})"
            size = f"{len(answer.data) / 1e6:.2f}"
            cells = [f"{name}{status}", *cells, size, f"{_peak(process.pid) / 1e3:.0f}"]
            print(f"| {' | '.join(cells)} |", flush=True)
        rating = threading.Thread(target=_rate, args=(folder, address, READING_SECONDS, 1.0))
        rating.start()
        _measure_readers(address, cookie)
        rating.join()
        _rate(folder, address, WARM_UP)
        cpu_before = cpu(process.pid)
        _rate(folder, address, NEW_RATINGS)
        milliseconds = 1e3 * (cpu(process.pid) - cpu_before) / NEW_RATINGS
        print(f"CPU ms of a rating: {milliseconds:.2f}")
        print(f"MB of memory in the end: {_peak(process.pid) / 1e3:.0f}")


def _measure_readers(address: str, cookie: str) -> None:
    """Let readers open pages at random, and print their times."""
    times_of_page: dict[str, list[float]] = {name: [] for name, _ in PAGES}

    def read(number: int) -> None:
        pick, end = random.Random(number), time.perf_counter() + READING_SECONDS  # noqa: S311
        reader = Visitor(address)
        reader.cookies["rankgate_session"] = cookie
        time.sleep(pick.uniform(0, THINKING_SECONDS))
        while (begin := time.perf_counter()) < end:
            name, path = pick.choice(PAGES)
            assert reader.get(f"/projects/shop{path}").status == 200
            times_of_page[name].append(time.perf_counter() - begin)
            time.sleep(pick.uniform(0.5, 1.5) * THINKING_SECONDS)

    readers = [threading.Thread(target=read, args=[number]) for number in range(READERS)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    times_of_page["all"] = [seconds for times in times_of_page.values() for seconds in times]
    for name, times in times_of_page.items():
        cuts = quantiles(times, n=100, method="inclusive")
        print(
            f"{READERS} readers, {name}: {len(times)} visits, p50 {cuts[49]:.3f} s, p95 {cuts[94]:.3f} s, "
            f"most {max(times):.3f} s"
        )


def _rate(folder: Path, address: str, ratings: int, pause: float = 0.0) -> None:
    """Rate documents of a new batch, by the rater with the first ratings."""
    with Store.open(f"sqlite:///{folder}/pages.db") as store, store.write() as connection:
        project = projects.get_by_name(connection, "shop").id
        batch = batches.add_batch(connection, project, f"batch {time.time()}", strategy="1")
        pairs = pl.DataFrame({"query_id": "q0", "doc_id": pl.arange(ratings, eager=True)})
        batches.add_pairs(connection, batch, pairs.with_columns(pl.format("new{}", "doc_id")))
        user = next((user for user in users.list_users(connection) if user.name == "rater0"), None)
        user = user or users.add(connection, "rater0")  # gets all ratings of this rater
        users.grant(connection, project, user.id, "rater")
        session, secret = sign_in.begin_session(connection, user.id)

    async def rate() -> None:
        rater = Rater(address, (secret, session.csrf))
        task = await rater.connect()
        for _ in range(ratings):
            task = rater.task_of(await rater.rate(task))
            await asyncio.sleep(pause)

    asyncio.run(rate())


def _peak(process: int) -> int:
    """The most resident kilobytes of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


def main() -> None:
    """Make the store where there is none, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--evaluations", type=int, default=1_000)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rankgate-pages-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        cookie_file = folder / "cookie"
        if not cookie_file.exists():
            cookie_file.write_text(prepare(folder, options.evaluations, options.ratings))
        measure(folder, cookie_file.read_text())


if __name__ == "__main__":
    main()
