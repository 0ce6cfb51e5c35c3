"""The rate of snapshots: 16 queries at once, a server that answers after 20 ms.

    python bench/snapshots.py                 4,000 queries

The server runs in a separate process, sleeps, and answers with 10 documents. The ideal rate is that
of 16 clients that take no time themselves; what counts is the share of it that a snapshot reaches,
with every answer on disk before its thread asks again, and the processor time of one query.
``wrk``, which keeps nothing, asks the same server, where it is installed. Where ``make engines``
has fetched OpenSearch, both ask a real node too. The result goes into docs/speed.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import page
from opensearch_node import BODY, FILE, WORDS, node
from rankgate.engines.snapshots.snapshot_verb import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

AT_ONCE, SECONDS, DOCUMENTS = 16, 0.02, 10
QUERIES, TIMES = 4000, 3
WANTED = 0.9  # of the ideal rate

ANSWER = json.dumps({"hits": [{"id": f"doc{i}", "score": DOCUMENTS - i} for i in range(DOCUMENTS)]}).encode()
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)
SLEEPER = (
    '[engine]\nkind = "http"\nurl = "{url}/search"\nhits = "hits"\nid = "id"\nscore = "score"\n'
    '[engine.params]\nq = "{{{{query}}}}"\n'
)


@dataclass(frozen=True)
class Row:
    """One client and server: queries a second, processor seconds of the client for each query."""

    what: str
    rate: float
    ideal: float | None = None
    used: float | None = None


def main() -> int:
    """Measure, print, and write down a full run; 1 if the rate is below `WANTED` of the ideal."""
    parser = argparse.ArgumentParser(description="Measure the rate of snapshots.")
    parser.add_argument("--queries", type=int, default=QUERIES)
    count = parser.parse_args().queries
    ideal = AT_ONCE / SECONDS
    with sleeping() as url:
        snapshot_rows = [
            taken("rankgate snapshot, 20 ms", SLEEPER.format(url=url), count, ideal) for _ in range(TIMES)
        ]
        rows = [max(snapshot_rows, key=lambda row: row.rate), *wrk("wrk, 20 ms", f"{url}/search?q=x", ideal)]
    with node() as url:
        if url:
            rows.append(taken("rankgate snapshot, OpenSearch", FILE.format(url=url), count))
            rows += wrk("wrk, OpenSearch", f"{url}/bench/_search", body=BODY)
    text = markdown(rows)
    print(text)
    if count == QUERIES:
        page.replace("snapshots", text)
    return 0 if rows[0].rate >= WANTED * ideal else 1


def taken(what: str, file: str, count: int, ideal: float | None = None) -> Row:
    """A snapshot by an engine's file."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Path(folder) / "engine.toml"
        engine.write_text(f"{file}[snapshot]\nconcurrency = {AT_ONCE}\n")
        queries = {f"q{i}": " ".join(WORDS[i * j % len(WORDS)] for j in (1, 3)) for i in range(count)}
        snapshot(engine, dict(list(queries.items())[:200]), Path(folder) / "warm.run")
        begin = time.process_time()
        result = snapshot(engine, queries, Path(folder) / "bench.run")
        used = time.process_time() - begin
    if result.states["ok"] != count:
        raise RuntimeError(f"{what}: {result.states}, {result.problem}")
    return Row(what, result.asked / result.seconds, ideal, used / count)


def wrk(what: str, url: str, ideal: float | None = None, body: str | None = None) -> list[Row]:
    """The rate of a client that keeps nothing; nothing where it is not installed."""
    if not shutil.which("wrk"):
        return []
    command = ["wrk", f"-c{AT_ONCE}", "-t1", "-d5", url]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        if body is not None:
            script.write(body)
            script.flush()
            command[1:1] = ["-s", script.name]
        begin = os.times()
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    now = os.times()
    used = now.children_user + now.children_system - begin.children_user - begin.children_system
    rate = float(re.findall(r"Requests/sec:\s+([\d.]+)", out)[0])
    request_count = int(re.findall(r"(\d+) requests in", out)[0])
    return [Row(what, rate, ideal, used / request_count)]


def markdown(rows: list[Row]) -> str:
    """The table."""
    lines = [
        "| client and server | queries a second | share of the ideal | processor ms a query |",
        "| :-- | --: | --: | --: |",
    ]
    for row in rows:
        share = "" if row.ideal is None else f"{row.rate / row.ideal:.0%}"
        used = "" if row.used is None else f"{row.used * 1000:.2f}"
        lines.append(f"| {row.what} | {row.rate:,.0f} | {share} | {used} |")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def sleeping() -> Iterator[str]:
    """The URL of a server that answers after `SECONDS`."""
    parent_end, server_end = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(server_end,), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{parent_end.recv()}"
    finally:
        server.kill()


def serve(pipe: multiprocessing.connection.Connection) -> None:
    """Answer every request after `SECONDS`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(SECONDS)
                writer.write(REPLY)
        writer.close()

    async def listen() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


if __name__ == "__main__":
    sys.exit(main())
