"""Fusion of 5 runs of 1,000 documents a query, compared with ranx.

    python bench/fusing.py                    2,000 queries
    python bench/fusing.py --queries 10000    rankgate alone

Each contestant is its own process that has the runs in memory before the clock starts; ranx
has compiled its code by fusing small runs first. It takes part where ``bench/run.py`` has made the
environment of the peers. The fused scores must agree.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

RUNS, DEPTH, DOCUMENTS = 5, 1000, 3000
QUERIES = 2000
METHODS = ("rrf", "combsum", "combmnz", "combmed")  # Borda takes ranx minutes for 100 queries
WANTED = 10.0  # times as fast as ranx
PEERS = Path(__file__).parent / "work" / "env" / "bin" / "python"


def main() -> int:
    """Run every contestant and print the table; 1 if ranx is less than `WANTED` times slower."""
    parser = argparse.ArgumentParser(description="Compare the speed of fusion.")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--run", choices=("rankgate", "ranx"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        print(json.dumps(measured(asked.run, asked.queries)))
        return 0
    pythons = {"rankgate": sys.executable}
    if PEERS.exists() and asked.queries <= QUERIES:
        pythons["ranx"] = str(PEERS)
    found = {name: run(name, python, asked.queries) for name, python in pythons.items()}
    print(f"{RUNS} runs, {asked.queries:,} queries, {DEPTH:,} documents each\n")
    print("| method | " + " | ".join(f"{name} s" for name in found) + " | ratio |")
    print("| :-- |" + " --: |" * (len(found) + 1))
    ours, ratios = found["rankgate"], []
    for method in METHODS:
        seconds = [each["seconds"][method] for each in found.values()]
        ratios.append(seconds[-1] / seconds[0])
        print(f"| {method} | {' | '.join(f'{each:.2f}' for each in seconds)} | {ratios[-1]:.1f} |")
        for each in found.values():
            assert np.isclose(each["sums"][method], ours["sums"][method], rtol=1e-9), method
    memory = [f"{name} {each['megabytes']:,.0f} MB" for name, each in found.items()]
    print(f"\nMemory: {', '.join(memory)}")
    return 0 if len(found) == 1 or min(ratios) >= WANTED else 1


def run(name: str, python: str, queries: int) -> dict[str, Any]:
    """What a contestant's process prints."""
    command = [python, __file__, "--run", name, "--queries", str(queries)]
    result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(result.splitlines()[-1])
    return found


def measured(name: str, queries: int) -> dict[str, Any]:
    """Seconds and the sum of fused scores by method, and the process's most memory."""
    fuse = {"rankgate": by_rankgate, "ranx": by_ranx}[name](queries)
    seconds, sums = {}, {}
    for method in METHODS:
        begin = time.perf_counter()
        sums[method] = fuse(method)
        seconds[method] = time.perf_counter() - begin
    status = Path("/proc/self/status").read_text()
    return {
        "seconds": seconds,
        "sums": sums,
        "megabytes": int(status.split("VmHWM:")[1].split()[0]) / 1024,
    }


def lists(queries: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each run documents and scores, ``(queries, DEPTH)``, best first, no two scores equal."""
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        documents = np.array([rng.choice(DOCUMENTS, DEPTH, replace=False) for _ in range(queries)])
        yield documents, np.sort(rng.random((queries, DEPTH)), axis=1)[:, ::-1]


def by_rankgate(queries: int) -> Callable[[str], float]:
    """Fuse frames."""
    import polars as pl

    import rankgate

    def frame(documents: NDArray[np.int64], scores: NDArray[np.float64]) -> pl.DataFrame:
        columns = {
            "query_id": np.repeat(np.arange(len(documents)), documents.shape[1]),
            "doc_id": documents.ravel(),
            "score": scores.ravel(),
        }
        return pl.DataFrame(columns).with_columns(
            pl.format("q{}", "query_id").alias("query_id"),
            pl.format("d{}", "doc_id").alias("doc_id"),
        )

    small = [frame(documents[:, :5], scores[:, :5]) for documents, scores in lists(3)]
    rankgate.fuse(small)  # as ranx, which has done the same
    runs = [frame(*each) for each in lists(queries)]
    return lambda method: float(rankgate.fuse(runs, method).run.table["score"].sum())


def by_ranx(queries: int) -> Callable[[str], float]:
    """Fuse ranx's runs; their names of the methods."""
    import ranx

    names = {"combsum": "sum", "combmnz": "mnz", "combmed": "med"}
    norms = {"rrf": None}

    def fuse(runs: list[Any], method: str) -> Any:  # noqa: ANN401 - a run of ranx
        return ranx.fuse(runs, norm=norms.get(method, "min-max"), method=names.get(method, method))

    def run(documents: NDArray[np.int64], scores: NDArray[np.float64]) -> Any:  # noqa: ANN401 - as above
        rows = zip(documents.tolist(), scores.tolist(), strict=True)
        named = enumerate(rows)
        return ranx.Run(
            {f"q{q}": {f"d{d}": s for d, s in zip(*row, strict=True)} for q, row in named}
        )

    small = [run(documents[:, :5], scores[:, :5]) for documents, scores in lists(3)]
    for method in METHODS:
        fuse(small, method)  # it compiles at the first call
    runs = [run(*each) for each in lists(queries)]
    return lambda method: sum(sum(each.values()) for each in fuse(runs, method).to_dict().values())


if __name__ == "__main__":
    sys.exit(main())
