"""How fast the dashboard answers: 50 people who browse a history of 1 million values per query.

The store has 50 evaluations of 1,000 queries by 20 metrics, a comparison and a gate, with the runs
and judgments that they are of. Every person is signed in before, reads a page for five seconds and
opens another: overview, trends, lists, records, queries. Printed are the milliseconds from the
first byte sent to the last received, by page, failures, and the processor time of each side. What
is opened in the first seconds fills what the server keeps, and is printed on a separate line.

    python bench/dashboard.py                          SQLite, then PostgreSQL
    python bench/dashboard.py --database sqlite --people 10
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
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from rankgate.data import read_qrels, read_run
from rankgate.data.qrels import GRADED
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.gating.gate import gate
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.records import records
from rankgate.store.records.records import NewRecord, Value
from rankgate.store.store import Store
from raters import cpu, database
from support.serving import started

QUERIES, METRICS, EVALUATIONS, DOCUMENTS = 1_000, 20, 50, 10
FIRST = "first"
"""The name of pages that are opened before it is measured."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = [f"nDCG@{k + 1}" for k in range(METRICS // 2)] + [f"P@{k + 1}" for k in range(METRICS // 2)]
ASKED = ["nDCG@10", "P@5"]


def made_run(shift: float) -> dict[str, dict[str, float]]:
    """Rankings of every query."""
    return {
        f"q{i}": {f"d{j}": (i * 7 + j * 3) % 11 + shift * (j % 4) for j in range(DOCUMENTS)}
        for i in range(QUERIES)
    }


def prepared(url: str, folder: str, people: int) -> tuple[list[str], list[str]]:
    """A store with a history; the cookie of each person, and the hashes of the records."""
    pick = np.random.default_rng(7)
    with Store.create(url, blobs=f"{folder}/blobs") as store, store.write() as connection:
        users.add(connection, "root", admin=True)
        shop = projects.add(connection, "shop", title="A shop", scale=GRADED)
        ids = [f"q{i}" for i in range(QUERIES)]
        texts = [f"words of query {i}" for i in range(QUERIES)]
        queries_documents.add_queries(connection, shop.id, pl.DataFrame({"query_id": ids, "text": texts}))
        graded = read_qrels({q: {f"d{j}": (i + j) % 4 for j in range(DOCUMENTS)} for i, q in enumerate(ids)})
        stored_runs.add_judgments(connection, store.blobs, shop.id, graded, name="graded")
        pair = {"before": read_run(made_run(0.5)), "after": read_run(made_run(1.0))}
        run_hashes = {
            name: stored_runs.add_run(connection, store.blobs, shop.id, run, name=name).sha256
            for name, run in pair.items()
        }
        new_records = []
        level = pick.uniform(0.2, 0.9, (QUERIES, METRICS))
        for day in range(EVALUATIONS):
            values = np.clip(level + pick.normal(day / 500, 0.05, (QUERIES, METRICS)), 0, 1)
            table = pl.DataFrame(values, NAMES).insert_column(0, pl.Series("query_id", ids))
            table = table.insert_column(0, pl.lit("shop").alias("system"))
            means = values.mean(axis=0)
            figures = [
                Value(n, "shop", float(m), float(m) - 0.02, float(m) + 0.02, QUERIES)
                for n, m in zip(NAMES, means, strict=True)
            ]
            result = _evaluation(dict(zip(NAMES, map(float, means), strict=True)))
            new_records.append(
                NewRecord(
                    result,
                    BEGIN + timedelta(days=day),
                    name=f"day {day}",
                    system="shop",
                    branch="main",
                    revision=f"{day:040x}",
                    labels={"stage": "nightly"},
                    qrels_sha256=graded.sha256,
                    convention="trec",
                    convention_hash="made",
                    inputs={"runs": {"shop": run_hashes["after"]}},
                    values=tuple(figures),
                    per_query=table,
                )
            )
        comparison = compare(graded, *pair.values(), ASKED)
        verdict = gate(graded, *pair.values(), log=False)
        names = {"baseline": "before", "candidate": "after"}
        new_records += [
            NewRecord(
                result,
                BEGIN + timedelta(days=EVALUATIONS),
                name="after against before",
                system="after",
                qrels_sha256=graded.sha256,
                convention="trec",
                convention_hash=verdict.convention["hash"],
                inputs={"runs": run_hashes},
                verdict=result.get("verdict"),
            )
            for result in (comparison.to_dict(), verdict.to_dict() | names)
        ]
        stored_records = [
            records.add(connection, store.blobs, shop.id, new_record).record for new_record in new_records
        ]
        cookies = []
        for i in range(people):
            user = users.add(connection, f"person{i}")
            users.grant(connection, shop.id, user.id, "viewer")
            cookies.append(sign_in.begin_session(connection, user.id)[1])
        return cookies, [record.sha256 for record in stored_records]


def _evaluation(means: dict[str, float]) -> dict[str, object]:
    """The JSON of an evaluation with these means."""
    from rankgate.measurement.evaluation.evaluate import evaluate

    evaluation = evaluate({"q": {"d": 1}}, {"shop": {"q": {"d": 1.0}}}, list(means)).to_dict()
    evaluation["runs"][0]["mean"] = means
    return json.loads(json.dumps(evaluation))  # type: ignore[no-any-return]


def page(pick: random.Random, hashes: Sequence[str]) -> tuple[str, str]:
    """The kind and the address of the page that somebody opens next."""
    query, record = f"q{pick.randrange(QUERIES)}", pick.choice(hashes)
    metric = pick.choice(NAMES).replace("@", "%40")
    project_path = "/projects/shop"
    weighted_pages = (
        (10, "overview", project_path),
        (5, "projects", "/projects"),
        (8, "trends", f"{project_path}/trends"),
        (12, "trend", f"{project_path}/trends?metric={metric}"),
        (10, "records", f"{project_path}/records?kind={pick.choice(['runs', 'gates', ''])}"),
        (5, "search", f"{project_path}/records?words=day+{pick.randrange(50)}&branch=main"),
        (15, "record", f"{project_path}/records/{record}"),
        (5, "comparison", f"{project_path}/records/{hashes[-2]}"),
        (5, "values", f"{project_path}/records/{hashes[0]}/values?after={200 * pick.randrange(5)}"),
        (8, "queries", f"{project_path}/queries?after={100 * pick.randrange(10)}"),
        (15, "query", f"{project_path}/query?query={query}&metric={metric}"),
        (2, "explain", f"{project_path}/explain?query={query}&metric=P%405&record={hashes[-1]}"),
    )
    _, name, path = pick.choices(weighted_pages, [weight for weight, _, _ in weighted_pages])[0]
    return name, path


async def browsing(
    address: str,
    cookie: str,
    hashes: Sequence[str],
    begin: float,
    end: float,
    think: float,
    times: dict[str, list[float]],
    failed: list[str],
) -> None:
    """Open pages until the end."""
    host, _, port = address.removeprefix("http://").partition(":")
    pick = random.Random(zlib.crc32(cookie.encode()))  # noqa: S311 - no secret
    await asyncio.sleep(pick.uniform(0, think))
    while (moment := time.perf_counter()) < end:
        name, path = page(pick, hashes)
        # who reads for longer than the server keeps a connection opens another
        reader, writer = await asyncio.open_connection(host, int(port))
        request_head = f"GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\n"
        writer.write(f"{request_head}cookie: rankgate_session={cookie}\r\n\r\n".encode())
        response_head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", response_head)
        await reader.readexactly(int(size[1]))  # type: ignore[index]
        took = time.perf_counter() - moment
        writer.close()
        times.setdefault(name if moment >= begin else FIRST, []).append(took)
        if not response_head.startswith(b"HTTP/1.1 200"):
            failed.append(f"{response_head[9:12].decode()} {path}")
        await asyncio.sleep(max(0.0, pick.uniform(0.5, 1.5) * think - took))


def measure(kind: str, how: argparse.Namespace) -> None:
    """Measure one database and print it."""
    times: dict[str, list[float]] = {}
    failed: list[str] = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rankgate-dashboard-"))
        url, server = stack.enter_context(database(kind, folder))
        cookies, hashes = prepared(url, folder, how.people)
        process, address, _ = stack.enter_context(started(url, first=False))
        # a pipe that nobody reads stops who writes logs
        threading.Thread(target=process.stderr.read, daemon=True).start()

        async def all_of_them() -> None:
            begin = time.perf_counter() + how.first
            end = begin + how.seconds
            await asyncio.gather(
                *(
                    browsing(address, cookie, hashes, begin, end, how.think, times, failed)
                    for cookie in cookies
                )
            )

        cpu_before = cpu(process.pid), cpu(server) if server else 0.0
        asyncio.run(all_of_them())
        spent = cpu(process.pid) - cpu_before[0], (cpu(server) if server else 0.0) - cpu_before[1]
    first = times.pop(FIRST, [0.0])
    all_durations = [duration for durations in times.values() for duration in durations]
    print(f"{kind}, {how.people} people: {len(all_durations)} pages in {how.seconds:g} s")
    for name, durations in [("all", all_durations), *sorted(times.items()), (FIRST, first)]:
        cuts = (
            quantiles([1000 * duration for duration in durations], n=100)
            if len(durations) > 1
            else [0.0] * 99
        )
        print(
            f"  {name:<11}{len(durations):>5}  p50 {cuts[49]:6.0f} ms, p95 {cuts[94]:6.0f} ms, most "
            f"{1000 * max(durations):6.0f} ms"
        )
    count = len(all_durations) + len(first)
    print(
        f"  CPU ms a page: server {1000 * spent[0] / count:.1f}, database "
        f"{1000 * spent[1] / count:.1f}; failed: {len(failed)} {failed[:3]}"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=float, default=20, help="seconds before it is measured")
    parser.add_argument("--think", type=float, default=5)
    options = parser.parse_args()
    for kind in options.database or ("sqlite", "postgresql"):
        measure(kind, options)


if __name__ == "__main__":
    main()
