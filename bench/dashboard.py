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
        queries_documents.add_queries(
            connection, shop.id, pl.DataFrame({"query_id": ids, "text": texts})
        )
        graded = read_qrels({q: {f"d{j}": (i + j) % 4 for j in range(DOCUMENTS)}
                             for i, q in enumerate(ids)})  # fmt: skip
        stored_runs.add_judgments(connection, store.blobs, shop.id, graded, name="graded")
        pair = {"before": read_run(made_run(0.5)), "after": read_run(made_run(1.0))}
        kept = {name: stored_runs.add_run(connection, store.blobs, shop.id, run, name=name).sha256
                for name, run in pair.items()}  # fmt: skip
        found = []
        level = pick.uniform(0.2, 0.9, (QUERIES, METRICS))
        for day in range(EVALUATIONS):
            values = np.clip(level + pick.normal(day / 500, 0.05, (QUERIES, METRICS)), 0, 1)
            table = pl.DataFrame(values, NAMES).insert_column(0, pl.Series("query_id", ids))
            table = table.insert_column(0, pl.lit("shop").alias("system"))
            means = values.mean(axis=0)
            figures = [Value(n, "shop", float(m), float(m) - 0.02, float(m) + 0.02, QUERIES)
                       for n, m in zip(NAMES, means, strict=True)]  # fmt: skip
            result = _evaluation(dict(zip(NAMES, map(float, means), strict=True)))
            found.append(NewRecord(
                result, BEGIN + timedelta(days=day), name=f"day {day}", system="shop",
                branch="main", revision=f"{day:040x}", labels={"stage": "nightly"},
                qrels_sha256=graded.sha256, convention="trec", convention_hash="made",
                inputs={"runs": {"shop": kept["after"]}}, values=tuple(figures), per_query=table,
            ))  # fmt: skip
        both = compare(graded, *pair.values(), ASKED)
        verdict = gate(graded, *pair.values(), log=False)
        names = {"baseline": "before", "candidate": "after"}
        found += [
            NewRecord(
                result, BEGIN + timedelta(days=EVALUATIONS), name="after against before",
                system="after", qrels_sha256=graded.sha256, convention="trec",
                convention_hash=verdict.convention["hash"], inputs={"runs": kept},
                verdict=result.get("verdict"),
            )
            for result in (both.to_dict(), verdict.to_dict() | names)
        ]  # fmt: skip
        made = [records.add(connection, store.blobs, shop.id, each).record for each in found]
        cookies = []
        for i in range(people):
            user = users.add(connection, f"person{i}")
            users.grant(connection, shop.id, user.id, "viewer")
            cookies.append(sign_in.begin_session(connection, user.id)[1])
        return cookies, [each.sha256 for each in made]


def _evaluation(means: dict[str, float]) -> dict[str, object]:
    """The JSON of an evaluation with these means."""
    from rankgate.measurement.evaluation.evaluate import evaluate

    made = evaluate({"q": {"d": 1}}, {"shop": {"q": {"d": 1.0}}}, list(means)).to_dict()
    made["runs"][0]["mean"] = means
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def page(pick: random.Random, hashes: Sequence[str]) -> tuple[str, str]:
    """The kind and the address of the page that somebody opens next."""
    query, record = f"q{pick.randrange(QUERIES)}", pick.choice(hashes)
    metric = pick.choice(NAMES).replace("@", "%40")
    at = "/projects/shop"
    chosen = (
        (10, "overview", at),
        (5, "projects", "/projects"),
        (8, "trends", f"{at}/trends"),
        (12, "trend", f"{at}/trends?metric={metric}"),
        (10, "records", f"{at}/records?kind={pick.choice(['runs', 'gates', ''])}"),
        (5, "search", f"{at}/records?words=day+{pick.randrange(50)}&branch=main"),
        (15, "record", f"{at}/records/{record}"),
        (5, "comparison", f"{at}/records/{hashes[-2]}"),
        (5, "values", f"{at}/records/{hashes[0]}/values?after={200 * pick.randrange(5)}"),
        (8, "queries", f"{at}/queries?after={100 * pick.randrange(10)}"),
        (15, "query", f"{at}/query?query={query}&metric={metric}"),
        (2, "explain", f"{at}/explain?query={query}&metric=P%405&record={hashes[-1]}"),
    )
    _, name, place = pick.choices(chosen, [weight for weight, _, _ in chosen])[0]
    return name, place


async def browsing(
    address: str, cookie: str, hashes: Sequence[str], begin: float, end: float, think: float,
    times: dict[str, list[float]], failed: list[str],
) -> None:  # fmt: skip
    """Open pages until the end."""
    host, _, port = address.removeprefix("http://").partition(":")
    pick = random.Random(zlib.crc32(cookie.encode()))  # noqa: S311 - no secret
    await asyncio.sleep(pick.uniform(0, think))
    while (moment := time.perf_counter()) < end:
        name, place = page(pick, hashes)
        # who reads for longer than the server keeps a connection opens another
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"GET {place} HTTP/1.1\r\nhost: {host}:{port}\r\n"
        writer.write(f"{head}cookie: rankgate_session={cookie}\r\n\r\n".encode())
        found = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", found)
        await reader.readexactly(int(size[1]))  # type: ignore[index]
        took = time.perf_counter() - moment
        writer.close()
        times.setdefault(name if moment >= begin else FIRST, []).append(took)
        if not found.startswith(b"HTTP/1.1 200"):
            failed.append(f"{found[9:12].decode()} {place}")
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
            await asyncio.gather(*(
                browsing(address, each, hashes, begin, end, how.think, times, failed)
                for each in cookies
            ))  # fmt: skip

        before = cpu(process.pid), cpu(server) if server else 0.0
        asyncio.run(all_of_them())
        spent = cpu(process.pid) - before[0], (cpu(server) if server else 0.0) - before[1]
    first = times.pop(FIRST, [0.0])
    every = [each for some in times.values() for each in some]
    print(f"{kind}, {how.people} people: {len(every)} pages in {how.seconds:g} s")
    for name, some in [("all", every), *sorted(times.items()), (FIRST, first)]:
        cuts = quantiles([1000 * each for each in some], n=100) if len(some) > 1 else [0.0] * 99
        print(f"  {name:<11}{len(some):>5}  p50 {cuts[49]:6.0f} ms, p95 {cuts[94]:6.0f} ms, "
              f"most {1000 * max(some):6.0f} ms")  # fmt: skip
    count = len(every) + len(first)
    print(f"  CPU ms a page: server {1000 * spent[0] / count:.1f}, database "
          f"{1000 * spent[1] / count:.1f}; failed: {len(failed)} {failed[:3]}")  # fmt: skip


def main() -> None:
    """Measure what is asked for."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    words.add_argument("--people", type=int, default=50)
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--first", type=float, default=20, help="seconds before it is measured")
    words.add_argument("--think", type=float, default=5)
    how = words.parse_args()
    for kind in how.database or ("sqlite", "postgresql"):
        measure(kind, how)


if __name__ == "__main__":
    main()
