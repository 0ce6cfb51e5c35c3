"""Reading a run of 7 million rows from Parquet, JSONL, CSV and TREC, besides Polars alone.

    python bench/reading.py             7 million rows, about two minutes
    python bench/reading.py --small     200,000 rows, a few seconds

Polars alone makes a table of the three columns. rankgate also finds out what the file is,
checks every id, every score and every row for being there twice, and keeps whole queries
together. Each reading is its own process; the best of three counts, and its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

QUERIES, DEPTH = 7000, 1000
SMALL = 200
TIMES = 3
SUFFIXES = ("parquet", "jsonl", "csv", "run")
SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


def main() -> int:
    """Make the files, read each both ways, print the table."""
    parser = argparse.ArgumentParser(description="Compare the speed of reading with Polars alone.")
    parser.add_argument("--small", action="store_true", help="200,000 rows")
    parser.add_argument("--read", nargs=2, metavar=("WHO", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        print(json.dumps(measured(*arguments.read)))
        return 0
    queries = SMALL if arguments.small else QUERIES
    with tempfile.TemporaryDirectory() as folder:
        paths = made(Path(folder), queries)
        print(f"{queries * DEPTH:,} rows, Polars {pl.__version__}, {os.cpu_count()} cores\n")
        print("| file | MB | rankgate s | Polars s | ratio | rankgate MB | Polars MB |")
        print("| :-- | --: | --: | --: | --: | --: | --: |")
        for path in paths:
            rankgate_values, polars = best("rankgate", path), best("polars", path)
            ratio = rankgate_values["seconds"] / polars["seconds"]
            size = path.stat().st_size / 1e6
            print(
                f"| {path.suffix[1:]} | {size:.0f} | {rankgate_values['seconds']:.2f} | "
                f"{polars['seconds']:.2f} | {ratio:.1f} | {rankgate_values['megabytes']:.0f} | "
                f"{polars['megabytes']:.0f} |",
                flush=True,
            )
    return 0


def made(folder: Path, queries: int) -> list[Path]:
    """The same run in every format, written by Polars."""
    rng = np.random.default_rng(0)
    rows = queries * DEPTH
    table = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), DEPTH),
            # distinct within a query: each step is at least 1
            "doc_id": np.cumsum(rng.integers(1, 8000, (queries, DEPTH)), axis=1).ravel(),
            "score": np.sort(rng.random((queries, DEPTH)))[:, ::-1].ravel(),
        }
    ).with_columns(pl.col("query_id", "doc_id").cast(pl.String))
    paths = [folder / f"run.{suffix}" for suffix in SUFFIXES]
    table.write_parquet(paths[0])
    table.write_ndjson(paths[1])
    table.write_csv(paths[2])
    ranks = pl.Series(np.tile(np.arange(1, DEPTH + 1), queries))
    six = table.select(
        "query_id",
        pl.lit("Q0").alias("Q0"),
        "doc_id",
        ranks.alias("rank"),
        "score",
        pl.lit("tag").alias("tag"),
    )
    six.write_csv(paths[3], separator=" ", include_header=False)
    assert len(table) == rows
    return paths


def best(who: str, path: Path) -> dict[str, float]:
    """The quickest of some readings, each in its own process."""
    command = [sys.executable, __file__, "--read", who, str(path)]
    readings = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(TIMES)
    ]
    assert len({reading["rows"] for reading in readings}) == 1
    return min(readings, key=lambda each: each["seconds"])


def measured(who: str, path: str) -> dict[str, float]:
    """Seconds from the call until all rows are there, and the process's most memory."""
    read = by_rankgate if who == "rankgate" else by_polars
    from rankgate.data import read_run  # noqa: F401 - importing is not reading

    begin = time.perf_counter()
    rows = read(path)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "megabytes": peak(), "rows": rows}


def peak() -> float:
    """The most memory of this process in MB; what rusage tells began with the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def by_rankgate(path: str) -> int:
    """All rows in batches of whole queries, checked, as `rankgate eval` takes them."""
    from rankgate.data import read_run

    return sum(len(batch.frame) for batch in read_run(path).batches())


def by_polars(path: str) -> int:
    """The three columns as one table."""
    if path.endswith(".parquet"):
        return len(pl.scan_parquet(path).collect(engine="streaming"))
    if path.endswith(".jsonl"):
        return len(pl.scan_ndjson(path, schema=SCHEMA).collect(engine="streaming"))
    if path.endswith(".csv"):
        return len(pl.scan_csv(path, schema=SCHEMA).collect(engine="streaming"))
    fields = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
    schema = {name: SCHEMA.get(name, pl.String) for name in fields}
    scan = pl.scan_csv(path, has_header=False, separator=" ", quote_char=None, schema=schema)
    return len(scan.select(*SCHEMA).collect(engine="streaming"))


if __name__ == "__main__":
    sys.exit(main())
