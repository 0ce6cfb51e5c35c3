"""The rate of snapshots: 16 queries at once, a server that answers after 20 ms.

    python bench/snapshots.py                 4,000 queries

The server runs in a separate process, sleeps, and answers with 10 documents. The ideal rate is that
of 16 clients that take no time themselves; what counts is the share of it that a snapshot reaches,
with every answer on disk before the next query of its thread, and the processor time of one query.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import multiprocessing.connection
import sys
import tempfile
import time
from pathlib import Path

from rankgate.engines.take import snapshot

AT_ONCE, SECONDS, DOCUMENTS = 16, 0.02, 10
WANTED = 0.9  # of the ideal rate

ANSWER = json.dumps(
    {"hits": [{"id": f"doc{i}", "score": DOCUMENTS - i} for i in range(DOCUMENTS)]}
).encode()
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


def main() -> int:
    """Take a snapshot and print the rate; 1 if it is below `WANTED`."""
    parser = argparse.ArgumentParser(description="Measure the rate of snapshots.")
    parser.add_argument("--queries", type=int, default=4000)
    count = parser.parse_args().queries
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "engine.toml"
        file.write_text(
            f'[engine]\nkind = "http"\nurl = "http://127.0.0.1:{ours.recv()}/search"\n'
            'hits = "hits"\nid = "id"\nscore = "score"\n[engine.params]\nq = "{{query}}"\n'
            f"[snapshot]\nconcurrency = {AT_ONCE}\n"
        )
        queries = {f"q{i}": f"query {i}" for i in range(count)}
        snapshot(file, dict(list(queries.items())[:100]), Path(folder) / "warm.run")
        begin = time.process_time()
        result = snapshot(file, queries, Path(folder) / "bench.run")
        used = time.process_time() - begin
    server.kill()
    ideal = AT_ONCE / SECONDS
    share = result.asked / result.seconds / ideal
    print(
        f"{count:,} queries, {AT_ONCE} at once, a server that answers after {SECONDS * 1000:g} ms\n"
    )
    print("| queries a second | ideal | share | processor ms a query |")
    print("| --: | --: | --: | --: |")
    rate = result.asked / result.seconds
    print(f"| {rate:,.0f} | {ideal:,.0f} | {share:.0%} | {used / count * 1000:.2f} |")
    return 0 if share >= WANTED else 1


def serve(pipe: multiprocessing.connection.Connection) -> None:
    """Answer every request after `SECONDS`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(SECONDS)
            writer.write(REPLY)

    async def listen() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


if __name__ == "__main__":
    sys.exit(main())
