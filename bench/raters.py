"""How fast the server answers raters: 50 at once on SQLite, 500 on PostgreSQL, on this machine.

Every rater is signed in before, thinks for five seconds, and sends one request, which saves a
rating and returns the next task, as the rating page does. Printed are the milliseconds from the
first byte sent to the last received, failures, and the processor time of each side.

    python bench/raters.py                  both
    python bench/raters.py --flat-out       without thinking: processor time a request
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.store import Store
from support.postgresql import running
from support.serving import started

if TYPE_CHECKING:
    from sqlalchemy import Connection

_TASK = re.compile(rb'"task": ?\{"id": ?(\d+)')
_TICKS = os.sysconf("SC_CLK_TCK")
_WORDS = [
    "a",
    "light",
    "red",
    "bike",
    "with",
    "wide",
    "tyres",
    "for",
    "long",
    "rides",
    "on",
    "rough",
    "roads",
    "in",
    "any",
    "weather",
]


@dataclass
class Measured:
    """What the generator saw.

    Attributes:
        times: seconds of each answer.
        failed: statuses of answers that are no success, and connections that ended.
    """

    times: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def prepared(url: str, folder: str, raters: int, pairs: int) -> list[tuple[str, str]]:
    """A store with one batch; the cookie and the CSRF token of each rater."""
    with Store.create(url, blobs=f"{folder}/blobs") as store, store.write() as connection:
        users.add(connection, "root", admin=True)
        new_project = projects.add(connection, "shop", title="A shop", scale=GRADED)
        projects.add_guideline(connection, new_project.id, "1", "# Grades\nHow well it *answers*.")
        rows = [(f"q{i // 50}", f"d{i}") for i in range(pairs)]
        queries = pl.DataFrame({"query_id": sorted({q for q, _ in rows})})
        queries = queries.with_columns(pl.lit("a red bike").alias("text"))
        queries_documents.add_queries(connection, new_project.id, queries)
        pick = random.Random(7)  # noqa: S311 - an example
        texts = [" ".join(pick.choices(_WORDS, k=80)) for _ in rows]
        documents = {
            "doc_id": [d for _, d in rows],
            "title": [text[:40] for text in texts],
            "text": texts,
            "price": ["120"] * pairs,
        }
        queries_documents.add_documents(connection, new_project.id, pl.DataFrame(documents))
        batch = batches.add_batch(connection, new_project.id, "first", strategy="2")
        batches.add_pairs(connection, batch, pl.DataFrame(rows, ["query_id", "doc_id"], orient="row"))
        return [_signed_in(connection, new_project.id, f"rater{i}") for i in range(raters)]


def _signed_in(connection: Connection, project: int, name: str) -> tuple[str, str]:
    user = users.add(connection, name)
    users.grant(connection, project, user.id, "rater")
    session, secret = sign_in.begin_session(connection, user.id)
    return secret, session.csrf


class Rater:
    """One rater's connection, which stays open as a browser's does."""

    def __init__(self, address: str, cookie: tuple[str, str]) -> None:
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port = int(port)
        shared_headers = f"host: {self.host}:{port}\r\ncookie: rankgate_session={cookie[0]}\r\n"
        self.get = f"GET /projects/shop/rate.json HTTP/1.1\r\n{shared_headers}\r\n".encode()
        self.post = (
            f"POST /projects/shop/ratings HTTP/1.1\r\n{shared_headers}"
            "content-type: application/json\r\n"
            f"x-csrf-token: {cookie[1]}\r\nx-fragment: 1\r\n"
        )

    async def connect(self) -> int:
        """Open the page: the first task."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        return self.task_of(await self.sent(self.get))

    async def rate(self, task: int) -> bytes:
        """Send a grade."""
        body = f'{{"task": {task}, "grade": 2, "seconds": 4.2, "rating_id": "{uuid.uuid4()}"}}'
        return await self.sent(f"{self.post}content-length: {len(body)}\r\n\r\n{body}".encode())

    async def sent(self, request: bytes) -> bytes:
        """The answer to a request: its first line and its body."""
        self.writer.write(request)
        response_head = await self.reader.readuntil(b"\r\n\r\n")
        size = int(re.search(rb"content-length: (\d+)", response_head)[1])  # type: ignore[index]
        return response_head[:12] + await self.reader.readexactly(size)

    @staticmethod
    def task_of(answer: bytes) -> int:
        """The next task; -1 where there is none."""
        match = _TASK.search(answer)
        return int(match[1]) if match else -1


async def rating(rater: Rater, measured: Measured, think: float, begin: float, end: float) -> None:
    """Rate until the end; what is sent before the beginning is not measured."""
    task = await rater.connect()
    await asyncio.sleep(random.uniform(0, think))  # noqa: S311 - no secret
    while (moment := time.perf_counter()) < end and task >= 0:
        try:
            answer = await rater.rate(task)
        except (OSError, asyncio.IncompleteReadError) as error:
            measured.failed.append(type(error).__name__)
            return
        took = time.perf_counter() - moment
        if moment >= begin:
            measured.times.append(took)
        if not answer.startswith(b"HTTP/1.1 200"):
            measured.failed.append(answer[9:12].decode())
        task = rater.task_of(answer)
        if think:
            await asyncio.sleep(max(0.0, random.uniform(0.5, 1.5) * think - took))  # noqa: S311


def processes(parent: int) -> list[int]:
    """A process and all its children."""
    process_ids = [parent]
    for process_id in process_ids:
        for path in Path(f"/proc/{process_id}/task").glob("*/children"):
            process_ids += map(int, path.read_text().split())
    return process_ids


def cpu(parent: int) -> float:
    """Seconds of processor time of a process and its children, ended ones among them."""
    total = 0.0
    for process_id in processes(parent):
        stat_fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, stat_fields[11:15])) / _TICKS
    return total


async def load(
    address: str,
    cookies: list[tuple[str, str]],
    think: float,
    seconds: float,
    looked: Callable[[], tuple[float, ...]],
) -> tuple[Measured, tuple[float, ...], tuple[float, ...]]:
    """All raters at once; what was measured, and what ``looked`` saw at both ends."""
    measured = Measured()
    begin = time.perf_counter() + 2 * think + 2  # pages are open, and nobody waits
    raters = [
        asyncio.create_task(rating(Rater(address, cookie), measured, think, begin, begin + seconds))
        for cookie in cookies
    ]
    await asyncio.sleep(begin - time.perf_counter())
    cpu_before = looked()
    await asyncio.sleep(seconds)
    cpu_after = looked()
    await asyncio.gather(*raters)
    return measured, cpu_before, cpu_after


@contextmanager
def database(kind: str, folder: str) -> Iterator[tuple[str, int | None]]:
    """The address of an empty database, and the process that runs it."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/judging.db", None
        return
    with running("max_connections=200") as server:
        with server.connect(autocommit=True) as connection:
            connection.execute("CREATE DATABASE raters")
        first = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
        yield server.url("raters"), int(first)


def measure(kind: str, raters: int, how: argparse.Namespace) -> None:
    """Measure one database and print it."""
    think = 0.0 if how.flat_out else how.think
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rankgate-raters-"))
        url, host = stack.enter_context(database(kind, folder))
        cookies = prepared(url, folder, raters, how.pairs)
        worker_options = [] if how.workers is None else ["--workers", str(how.workers)]
        process, address, _ = stack.enter_context(started(url, *worker_options, first=False))
        # a pipe that nobody reads stops who writes logs
        threading.Thread(target=process.stderr.read, daemon=True).start()

        def looked() -> tuple[float, float, float]:
            return cpu(process.pid), cpu(host) if host else 0.0, time.process_time()

        measured, cpu_before, cpu_after = asyncio.run(load(address, cookies, think, how.seconds, looked))
    _print(f"{kind}, {raters} raters", measured, how.seconds, cpu_before, cpu_after)


def _print(
    title: str, measured: Measured, seconds: float, before: tuple[float, ...], after: tuple[float, ...]
) -> None:
    count = len(measured.times)
    cuts = quantiles([1000 * duration for duration in measured.times], n=100)
    server, host, generator = (b - a for a, b in zip(before, after, strict=True))
    print(f"{title}: {count} ratings in {seconds:g} s, {count / seconds:.1f} a second")
    print(
        f"  ms: p50 {cuts[49]:.1f}, p95 {cuts[94]:.1f}, p99 {cuts[98]:.1f}, most "
        f"{1000 * max(measured.times):.1f}; failed: {len(measured.failed)} {sorted(set(measured.failed))}"
    )
    cpu_ms = [1000 * spent / count for spent in (server, host, generator)]
    print(f"  CPU ms a rating: server {cpu_ms[0]:.2f}, database {cpu_ms[1]:.2f}, generator {cpu_ms[2]:.2f}")
    shares = [100 * cpu_seconds / seconds for cpu_seconds in (server, host, generator)]
    print(f"  of one core: server {shares[0]:.0f} %, database {shares[1]:.0f} %, generator {shares[2]:.0f} %")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--raters", type=int, help="instead of 50 and 500")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--think", type=float, default=5)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--flat-out", action="store_true", help="do not think")
    options = parser.parse_args()
    for kind in options.database or ("sqlite", "postgresql"):
        measure(kind, options.raters or {"sqlite": 50, "postgresql": 500}[kind], options)


if __name__ == "__main__":
    main()
