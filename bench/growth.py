"""How processor time grows with the data, for verbs that once grew faster than it.

    python bench/growth.py                  all rows, about 20 minutes
    python bench/growth.py gate agree       these verbs

Every verb is a process on three sizes, each twice as large as the one before; a plain program with
NumPy and Polars reads the same files (`bench/plain_programs.py`). Printed are processor seconds of
the whole process, the least of some executions; the exponent, log2 of the growth from the second
size to the third, without the start of Python, NumPy and Polars; the ratio to the plain program on
the third size; and the most resident memory there. Other programs may be busy. Rows are kept in
bench/growth.json, and the tables of docs/speed.md and docs/speed-figures.md are written from it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import glance
import page
from environment import machine
from logs import KPIS, write_log
from measure import installed_environment
from rankgate.decisions.gating.policy import DEFAULT_POLICY

PLAIN = Path(__file__).parent / "plain_programs.py"
TIMES = 3
_EXIT_CODES = (0, 1, 3)  # done; a gate that fails; one that cannot tell
QUERIES, RANKED, JUDGED, POOL = 1_000, 100, 50, 160
METRIC_OPTIONS = "-m nDCG@10 -m AP -m RR -m R@100 -m P@10".split()  # noqa: SIM905


@dataclass(frozen=True)
class Case:
    """A verb and what grows.

    Attributes:
        verb: the command; the name of the row.
        axis: the name of what grows.
        sizes: three sizes of it.
        commands: the command of rankgate and the plain program for a folder and a size.
        note: what is special about the command.
    """

    verb: str
    axis: str
    sizes: tuple[int, int, int]
    commands: Callable[[Path, int], tuple[list[str], list[str]]]
    note: str = ""


def collection(
    folder: Path, queries: int, ranked: int, systems: int, judged: int = JUDGED
) -> tuple[str, list[str]]:
    """Judgments and runs, with noise on the same true values; the names of the files."""
    home = folder / f"{queries}-{ranked}-{systems}-{judged}"
    paths = [str(home / f"system{system:04}.run") for system in range(systems)]
    if home.exists():
        return str(home / "qrels"), paths
    home.mkdir()
    rng = np.random.default_rng(0)
    pool = max(POOL, ranked * 8 // 5)
    worth = rng.normal(size=(queries, pool))
    grades = np.clip(np.floor(worth + 1), 0, 3).astype(int)
    seen = np.argsort(-(worth + rng.normal(size=worth.shape)), axis=1)[:, :judged]
    owner = np.repeat(np.arange(queries), judged)
    table = {"query_id": owner, "zero": 0, "doc_id": seen.ravel(), "grade": grades[owner, seen.ravel()]}
    _write(table, home / "qrels")
    for system, path in enumerate(paths):
        noise = rng.normal(size=worth.shape) * (1 + 0.1 * system / systems)
        order = np.argsort(-(worth + noise), axis=1)[:, :ranked]
        _write(
            {
                "query_id": np.repeat(np.arange(queries), ranked),
                "Q0": "Q0",
                "doc_id": order.ravel(),
                "rank": np.tile(np.arange(1, ranked + 1), queries),
                "score": np.tile(np.arange(ranked, 0, -1), queries),
                "tag": f"system{system}",
            },
            Path(path),
        )
    return str(home / "qrels"), paths


def _write(columns: dict[str, object], path: Path) -> None:
    table = pl.DataFrame(columns).with_columns(
        pl.format("q{}", "query_id").alias("query_id"), pl.format("d{}", "doc_id").alias("doc_id")
    )
    table.write_csv(path, separator=" ", include_header=False)


def ratings(folder: Path, count: int, raters: int) -> str:
    """Ratings of pairs by three raters each, who differ a little."""
    path = folder / f"ratings-{count}-{raters}.csv"
    if path.exists():
        return str(path)
    rng = np.random.default_rng(0)
    pair = np.repeat(np.arange(count // 3), 3)
    steps = rng.integers(1, (raters + 1) // 2, (count // 3, 3))  # of three different raters
    rater = np.cumsum(steps, axis=1).ravel() % raters
    grade = np.clip((pair * 7) % 4 + rng.integers(-1, 2, len(pair)), 0, 3)
    table = pl.DataFrame({"query_id": pair // 20, "doc_id": pair, "rater": rater, "grade": grade})
    table.with_columns(
        query_id=pl.format("q{}", "query_id"),
        doc_id=pl.format("d{}", "doc_id"),
        rater=pl.format("rater{}", "rater"),
    ).write_csv(path)
    return str(path)


def interactions(folder: Path, count: int) -> str:
    """A log of 20 interactions a user."""
    path = folder / f"log-{count}.csv"
    if not path.exists():
        rng = np.random.default_rng(0)
        user, item = np.repeat(np.arange(count // 20), 20), rng.integers(20_000, size=count)
        time = rng.permutation(count) + 1_700_000_000
        table = {"user_id": user, "item_id": item, "rating": rng.integers(1, 6, count)}
        pl.DataFrame(table | {"timestamp": time}).write_csv(path)
    return str(path)


def _gate(folder: Path, queries: int, *, ignore: bool = False) -> tuple[list[str], list[str]]:
    qrels, runs = collection(folder, queries, RANKED, 2)
    policy = folder / f"policy{'-ignore' * ignore}.toml"
    holes = '[gate]\nholes = "ignore"' if ignore else "[gate]"
    policy.write_text(DEFAULT_POLICY.replace("[gate]", holes))
    verb = ["gate", qrels, *runs, "--no-log", "--policy", str(policy)]
    return verb, ["gate", qrels, *runs]


def _compare(folder: Path, systems: int) -> tuple[list[str], list[str]]:
    qrels, runs = collection(folder, 100, RANKED, systems)
    return ["compare", qrels, *runs, *METRIC_OPTIONS], ["scoring", qrels, *runs]


def _report(folder: Path, queries: int) -> tuple[list[str], list[str]]:
    qrels, runs = collection(folder, queries, RANKED, 12)
    output = ["-o", str(folder / "report.html")]
    return ["report", qrels, *runs, *METRIC_OPTIONS, *output], ["page", qrels, *runs]


def _total_error(folder: Path, queries: int) -> tuple[list[str], list[str]]:
    qrels, runs = collection(folder, queries, RANKED, 2)
    systems = ["--baseline", runs[0], "--candidate", runs[1]]
    return ["total-error", qrels, *systems], ["gate", qrels, *runs]


def _judged(verb: str, times: int = 1) -> Callable[[Path, int], tuple[list[str], list[str]]]:
    """A verb of judgments and two runs; the plain program scores them as often as the verb."""

    def commands(folder: Path, queries: int) -> tuple[list[str], list[str]]:
        qrels, runs = collection(folder, queries, RANKED, 2)
        return [verb, qrels, *runs], ["scoring", qrels, *runs * times]

    return commands


def _similarity(folder: Path, depth: int) -> tuple[list[str], list[str]]:
    _, runs = collection(folder, 20, depth, 2)
    return ["rank-similarity", *runs, "--depth", str(depth)], ["similarity", *runs]


def _agree(folder: Path, raters: int) -> tuple[list[str], list[str]]:
    path = ratings(folder, 300 * raters, raters)
    return ["agree", path], ["agreement", path]


def _next(folder: Path, queries: int) -> tuple[list[str], list[str]]:
    model, runs = collection(folder, queries, 20, 2, judged=POOL)
    sample = str(folder / "sample.csv")
    verb = ["next", *runs, "--predicted", model, "--save-sample", sample]
    return verb, ["sampling", *runs, model, str(folder / "plain-sample.csv")]


def _resolve(folder: Path, count: int) -> tuple[list[str], list[str]]:
    path, output = ratings(folder, count, 30), str(folder / "resolved.txt")
    return ["resolve", path, "-o", output], ["majority", path, output]


def _split(folder: Path, count: int) -> tuple[list[str], list[str]]:
    path, parts = interactions(folder, count), folder / "parts"
    parts.mkdir(exist_ok=True)
    return ["split", path, "--into", str(parts)], ["global_split", path, str(parts)]


def _import(folder: Path, count: int) -> tuple[list[str], list[str]]:
    path, store = ratings(folder, count, 30), folder / "store.db"
    store.unlink(missing_ok=True)
    _execute(["-m", "rankgate", "store", "init", "--store", str(store)])
    verb = ["store", "import", path, "--project", "shop", "--store", str(store)]
    return verb, ["database", path]


def _log(verb: str, plain: str, *options: str) -> Callable[[Path, int], tuple[list[str], list[str]]]:
    """A verb of logs of users, of a Parquet table of events."""

    def commands(folder: Path, events: int) -> tuple[list[str], list[str]]:
        path = folder / f"events-{events}.parquet"
        if not path.exists():
            write_log(path, events)
        return ["online", verb, str(path), *options], [plain, str(path)]

    return commands


_LOG_SIZES = (500_000, 1_000_000, 2_000_000)
_LOG_KPIS = tuple(option for name in KPIS for option in ("-k", name))

CASES = (
    Case("gate", "queries", (1_000, 2_000, 4_000), _gate),
    Case(
        "gate",
        "queries",
        (1_000, 2_000, 4_000),
        lambda folder, size: _gate(folder, size, ignore=True),
        "holes ignored",
    ),
    Case("holes", "queries", (1_000, 2_000, 4_000), _judged("holes")),
    Case("total-error", "queries", (1_000, 2_000, 4_000), _total_error),
    Case("compare", "systems", (15, 30, 60), _compare),
    Case("report", "queries", (2_500, 5_000, 10_000), _report, "12 systems"),
    Case("rank-similarity", "depth", (1_000, 2_000, 4_000), _similarity),
    Case("agree", "raters", (40, 80, 160), _agree),
    Case("next", "queries", (4_000, 8_000, 16_000), _next),
    Case("advise", "queries", (1_000, 2_000, 4_000), _judged("advise")),
    Case("blindspots", "queries", (1_000, 2_000, 4_000), _judged("blindspots", 9)),
    Case("resolve", "ratings", (750_000, 1_500_000, 3_000_000), _resolve),
    Case("split", "interactions", (500_000, 1_000_000, 2_000_000), _split),
    Case("online doctor", "events", _LOG_SIZES, _log("doctor", "log_checks")),
    Case("online kpi", "events", _LOG_SIZES, _log("kpi", "log_kpis", *_LOG_KPIS)),
    Case(
        "online ab",
        "events",
        _LOG_SIZES,
        _log("ab", "log_arms", "-m", "search_ctr", "-m", "revenue_per_search", "--despite"),
    ),
    Case("store import", "ratings", (250_000, 500_000, 1_000_000), _import),
)


@dataclass(frozen=True)
class Growth:
    """What was measured for a case.

    Attributes:
        title: the command, and what is special about it.
        axis, sizes: what grows.
        seconds: of the processor, for each size.
        exponent: of the growth from the second size to the third, without the start.
        plain_seconds: of the plain program on the third size.
        memory: the most resident bytes on the third size.
        circumstances: the day and the processor.
    """

    title: str
    axis: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    exponent: float
    plain_seconds: float
    memory: int
    circumstances: str


def measure(case: Case, folder: Path) -> Growth:
    """Execute a case."""
    start = _least(["-c", "import numpy, polars"], 5)[0]
    seconds = []
    for size in case.sizes:
        verb, plain = case.commands(folder, size)
        if case.verb == "store import":  # a second import would add nothing
            cpu, memory = _execute(["-m", "rankgate", *verb])
        else:
            cpu, memory = _least(["-m", "rankgate", *verb], TIMES)
        seconds.append(cpu)
    plain_seconds, _ = _least([str(PLAIN), *plain], TIMES)
    exponent = log2(max(seconds[2] - start, 0.01) / max(seconds[1] - start, 0.01))
    title = f"{case.verb}, {case.note}" if case.note else case.verb
    circumstances = f"{datetime.now(UTC).date()}, {machine()['cpu']}"
    return Growth(
        title, case.axis, case.sizes, tuple(seconds), exponent, plain_seconds, memory, circumstances
    )


def table(rows: list[dict[str, Any]]) -> str:
    """All rows in Markdown, those of one day and processor together."""
    lines = []
    for circumstances in dict.fromkeys(row["circumstances"] for row in rows):
        lines += [f"Measured on {circumstances}:", ""]
        lines += ["| command | sizes | CPU s | exponent | plain CPU s | ratio | MB |"]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
        for row in rows:
            if row["circumstances"] == circumstances:
                sizes = " / ".join(f"{size:,}" for size in row["sizes"])
                seconds = " / ".join(f"{cpu:.2f}" for cpu in row["seconds"])
                ratio = row["seconds"][-1] / row["plain_seconds"]
                figures = [f"{row['exponent']:.2f}", f"{row['plain_seconds']:.2f}", f"{ratio:.1f}"]
                memory = f"{row['memory'] / 1e6:.0f}"
                cells = [row["title"], f"{sizes} {row['axis']}", seconds, *figures, memory]
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _least(arguments: list[str], times: int) -> tuple[float, int]:
    """The least processor seconds of some executions, and the most resident bytes."""
    executions = [_execute(arguments) for _ in range(times)]
    return min(cpu for cpu, _ in executions), max(memory for _, memory in executions)


def _execute(arguments: list[str]) -> tuple[float, int]:
    """Processor seconds and the most resident bytes of a Python process.

    Raises:
        RuntimeError: it failed; verdicts of a gate are no failure.
    """
    command = [sys.executable, *arguments]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=installed_environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in _EXIT_CODES:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    """Measure the verbs that are named, or all, and write the tables."""
    names = sys.argv[1:] or [case.verb for case in CASES]
    rows = {row["title"]: row for row in json.loads(glance.GROWTH.read_text())}
    with tempfile.TemporaryDirectory(prefix="rankgate-growth-") as folder:
        for case in CASES:
            if case.verb in names:
                row = json.loads(json.dumps(asdict(measure(case, Path(folder)))))
                rows[row["title"]] = row
                print(table([row]), flush=True)
    glance.GROWTH.write_text(json.dumps([*rows.values()], indent=1) + "\n")
    page.replace("growth", table([*rows.values()]))
    glance.write()


if __name__ == "__main__":
    main()
