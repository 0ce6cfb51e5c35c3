"""Fusion of 5 runs of 1,000 documents a query, compared with ranx.

    python bench/fusing.py                    2,000 queries; 10,000 by rankgate alone
    python bench/fusing.py --queries 10000    rankgate alone

Each contestant is its own process. In memory it has the runs as its own objects before the clock
starts, which for ranx are sorted and indexed; from files the clock covers what a user waits for:
TREC files are read, fused, and the fused run is written. ranx has compiled its code by fusing
small runs first. Two sums over all fused scores must agree, one of them weighted by query and
document. The result goes into docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import page
from environment import prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

RUNS, DEPTH, DOCUMENTS = 5, 1000, 3000
QUERIES, ALONE = 2000, 10_000
WEIGHTS = (0.1, 0.3, 0.2, 0.25, 0.15)
RANX = {
    "rrf": ("rrf", {"k": 60}),
    "isr": ("isr", {}),
    "logisr": ("log_isr", {}),
    "lognisr": ("logn_isr", {"sigma": 0.01}),
    "rbc": ("rbc", {"phi": 0.8}),
    "combsum": ("sum", {}),
    "combmnz": ("mnz", {}),
    "combanz": ("anz", {}),
    "combmax": ("max", {}),
    "combmin": ("min", {}),
    "combmed": ("med", {}),
    "combgmnz": ("gmnz", {"gamma": 1.0}),
    "linear": ("wsum", {"weights": WEIGHTS}),
    "wmnz": ("wmnz", {"weights": WEIGHTS}),
    "mixed": ("mixed", {"weights": WEIGHTS}),
}
"""What both have, with ranx's names and parameters. Borda takes ranx minutes for 100 queries, its
Condorcet gives another order every time, and trained methods learn from other queries here."""

FILES = ("rrf", "combsum")
"""Methods that are timed from files too, and those that rankgate alone is timed by."""

RANKS = {"rrf", "isr", "logisr", "lognisr", "rbc"}
WANTED = 10.0  # times as fast as ranx, from files
BENCH = Path(__file__).parent
FUSED = str(BENCH / "work" / "fused.trec")


def main() -> int:
    """Run every contestant and print the table; 1 if ranx is less than `WANTED` times slower."""
    parser = argparse.ArgumentParser(description="Compare the speed of fusion.")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--run", choices=("rankgate", "ranx"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(measured(options.run, options.queries)))
        return 0
    if options.queries:
        print(markdown({"rankgate": run("rankgate", sys.executable, options.queries)}, options.queries))
        return 0
    programs = prepared(BENCH / "work" / "env", BENCH / "constraints.txt", BENCH.parent)
    results = {
        "rankgate": run("rankgate", sys.executable, QUERIES),
        "ranx": run("ranx", str(programs / "python"), QUERIES),
    }
    for method in results["ranx"]["sums"]:
        rankgate_sums, ranx_sums = (result["sums"][method] for result in results.values())
        assert np.allclose(rankgate_sums, ranx_sums, rtol=1e-9), (method, rankgate_sums, ranx_sums)
    rankgate_only = {"rankgate": run("rankgate", sys.executable, ALONE)}
    text = f"{markdown(results, QUERIES)}\n{markdown(rankgate_only, ALONE)}"
    print(text)
    page.replace("fusing", text)
    slow, fast = results["ranx"]["seconds"], results["rankgate"]["seconds"]
    return 0 if all(slow[_from_files(each)] >= WANTED * fast[_from_files(each)] for each in FILES) else 1


def _from_files(method: str) -> str:
    return f"{method}, from files"


def markdown(found: dict[str, dict[str, Any]], queries: int) -> str:
    """Seconds of each method by contestant, and memory."""
    has_ratio = len(found) > 1
    header = [f"{queries:,} queries", *(f"{name} s" for name in found), *["ratio"] * has_ratio]
    lines = [f"| {' | '.join(header)} |", f"| :-- |{' --: |' * (len(header) - 1)}"]
    for method in next(iter(found.values()))["seconds"]:
        seconds = [result["seconds"][method] for result in found.values()]
        cells = [f"{duration:.2f}" for duration in seconds]
        cells += [f"{seconds[1] / seconds[0]:.1f}"] * has_ratio
        lines.append(f"| {method} | {' | '.join(cells)} |")
    memory = [f"{result['megabytes']:,.0f}" for result in found.values()]
    lines.append(f"| most memory, MB | {' | '.join([*memory, *[''] * has_ratio])} |")
    return "\n".join(lines) + "\n"


def run(name: str, python: str, queries: int) -> dict[str, Any]:
    """What a contestant's process prints."""
    command = [python, __file__, "--run", name, "--queries", str(queries)]
    result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, Any] = json.loads(result.splitlines()[-1])
    return figures


def measured(name: str, queries: int) -> dict[str, Any]:
    """Seconds and two sums of fused scores by method, and the process's most memory."""
    in_memory, fuse, files, summed = {"rankgate": by_rankgate, "ranx": by_ranx}[name](queries)
    seconds, sums = {}, {}

    def timed(row: str, work: Callable[[], Any]) -> None:
        begin = time.perf_counter()
        fused = work()
        seconds[row] = time.perf_counter() - begin
        sums[row] = summed(fused)

    compared = queries <= QUERIES
    places = written(queries) if compared else []
    for method in FILES if compared else ():
        timed(_from_files(method), lambda method=method: files(places, method))  # type: ignore[misc]
    runs = in_memory()
    for method in RANX if compared else FILES:
        timed(method, lambda method=method: fuse(runs, method))  # type: ignore[misc]
    status = Path("/proc/self/status").read_text()
    return {"seconds": seconds, "sums": sums, "megabytes": int(status.split("VmHWM:")[1].split()[0]) / 1024}


def lists(queries: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each run documents and scores, ``(queries, DEPTH)``, best first, no two scores equal."""
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        documents = np.array([rng.choice(DOCUMENTS, DEPTH, replace=False) for _ in range(queries)])
        yield documents, np.sort(rng.random((queries, DEPTH)), axis=1)[:, ::-1]


def written(queries: int) -> list[str]:
    """The runs as TREC files; those of an earlier run are used again."""
    folder = BENCH / "work" / f"fusing-{queries}"
    folder.mkdir(parents=True, exist_ok=True)
    places = [folder / f"{number}.run" for number in range(RUNS)]
    if not all(path.exists() for path in places):
        for path, (documents, scores) in zip(places, lists(queries), strict=True):
            with path.with_suffix(".new").open("w") as file:
                for q, (ids, values) in enumerate(zip(documents.tolist(), scores.tolist(), strict=True)):
                    scored_docs = zip(ids, values, strict=True)
                    file.writelines(f"q{q} Q0 d{d} {r} {s!r} x\n" for r, (d, s) in enumerate(scored_docs, 1))
            path.with_suffix(".new").rename(path)
    return [str(path) for path in places]


Ways = tuple[
    Callable[[], Any],
    Callable[[Any, str], Any],
    Callable[[list[str], str], Any],
    Callable[[Any], list[float]],
]
"""The runs in memory, fusing them, fusing files into a file, sums of a fusion."""


def by_rankgate(queries: int) -> Ways:
    """Fuse frames and files."""
    import polars as pl

    import rankgate
    from rankgate.data.files.conversion import choose_format, write_run

    def frame(documents: NDArray[np.int64], scores: NDArray[np.float64]) -> pl.DataFrame:
        columns = {
            "query_id": np.repeat(np.arange(len(documents)), documents.shape[1]),
            "doc_id": documents.ravel(),
            "score": scores.ravel(),
        }
        return pl.DataFrame(columns).with_columns(
            pl.format("q{}", "query_id").alias("query_id"), pl.format("d{}", "doc_id").alias("doc_id")
        )

    def fuse(runs: list[pl.DataFrame], method: str) -> Any:  # noqa: ANN401 - a fusion
        weights = RANX[method][1].get("weights")
        return rankgate.fuse(runs, method, weights=weights)

    def summed(fused: Any) -> list[float]:  # noqa: ANN401 - as above
        score = pl.col("score")
        number = [pl.col(name).str.slice(1).cast(pl.Int64) for name in ("query_id", "doc_id")]
        sums = fused.run.table.select(
            score.sum().alias("a"), (score * (number[0] % 97 + 1) * number[1]).sum().alias("b")
        )
        return list(sums.row(0))

    def files(places: list[str], method: str) -> Any:  # noqa: ANN401 - as above
        fusion = rankgate.fuse(places, method)
        write_run(fusion.run, FUSED, choose_format(FUSED, "trec", "runs"))
        return fusion

    fuse([frame(documents[:, :5], scores[:, :5]) for documents, scores in lists(3)], "rrf")
    return lambda: [frame(*ranking) for ranking in lists(queries)], fuse, files, summed


def by_ranx(queries: int) -> Ways:
    """Fuse ranx's runs and files."""
    import ranx

    def fuse(runs: list[Any], method: str) -> Any:  # noqa: ANN401 - a run of ranx
        name, params = RANX[method]
        norm = None if method in RANKS else "min-max"
        return ranx.fuse(runs, norm=norm, method=name, params=dict(params))

    def run(documents: NDArray[np.int64], scores: NDArray[np.float64]) -> Any:  # noqa: ANN401 - as above
        rows = zip(documents.tolist(), scores.tolist(), strict=True)
        numbered_rows = enumerate(rows)
        return ranx.Run(
            {f"q{q}": {f"d{d}": s for d, s in zip(*row, strict=True)} for q, row in numbered_rows}
        )

    def summed(fused: Any) -> list[float]:  # noqa: ANN401 - as above
        plain = weighted = 0.0
        for query, docs in fused.to_dict().items():
            plain += sum(docs.values())
            query_sum = sum(score * int(doc[1:]) for doc, score in docs.items())
            weighted += query_sum * (int(query[1:]) % 97 + 1)
        return [plain, weighted]

    small = [run(documents[:, :5], scores[:, :5]) for documents, scores in lists(3)]
    for method in RANX:
        fuse(small, method)  # it compiles at the first call

    def files(places: list[str], method: str) -> Any:  # noqa: ANN401 - as above
        fusion = fuse([ranx.Run.from_file(path, kind="trec") for path in places], method)
        fusion.name = method
        fusion.save(FUSED, kind="trec")
        return fusion

    return lambda: [run(*ranking) for ranking in lists(queries)], fuse, files, summed


if __name__ == "__main__":
    sys.exit(main())
