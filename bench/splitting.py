"""A log of 100 million interactions, split by time, evaluated, and put on a scorecard, within 4 GB.

    python bench/splitting.py            100 million rows, eight minutes alone; 10 GB of disk
    python bench/splitting.py --quick    10 million rows, a minute and a half

The log is Parquet in the order of time, so that the rows of a user are all over it. It is split
at a moment (`rankgate split`), its parts and ground truth are written; then lists of a hundred
items for every user are scored against that truth by eight metrics (`rankgate eval`), and put on
a scorecard with the training part (`rankgate scorecard`), which must take less than 3 GB. Anonymous
memory is seen every 20 ms; resident memory is what the system says, pages of files among it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import page
from environment import machine
from measure import once
from splitting_log import made

BENCH = Path(__file__).parent
WORK = BENCH / "work"
RESULTS = BENCH / "splitting.json"
ROWS, QUICK = 100_000_000, 10_000_000
MOST = 4e9  # bytes
CARD = 3e9  # bytes of a scorecard
LIMIT = 3600.0  # seconds
SCORECARD = "rankgate scorecard, 100 resamples"
METRICS = ("nDCG@10", "R@100", "P@10", "AP", "RR", "Success@10", "F1@10", "Rprec")


@dataclass(frozen=True)
class Row:
    """One command: how many rows it read, seconds, and the most bytes that it used."""

    what: str
    rows: int
    wall: float
    cpu: float
    anonymous: int
    resident: int


def main() -> int:
    """Measure, print, and write down a full run; 1 if more memory is needed than promised."""
    parser = argparse.ArgumentParser(description="Split and evaluate a large log.")
    parser.add_argument("--quick", action="store_true", help="10 million rows")
    options = parser.parse_args()
    rows = QUICK if options.quick else ROWS
    log, run = made(rows, WORK)
    output_folder = log.parent / "parts"
    shutil.rmtree(output_folder, ignore_errors=True)
    program = str(Path(sys.executable).with_name("rankgate"))
    split = [program, "split", str(log), "--into", str(output_folder), "--to", "parquet"]
    metric_options = [word for metric in METRICS for word in ("-m", metric)]
    truth = str(output_folder / "test.qrels.csv")
    score = [program, "eval", truth, str(run), *metric_options]
    card = [program, "scorecard", truth, str(run), "--train", str(output_folder / "train.parquet")]
    measured_rows = [
        _measured("rankgate split, global", rows, [*split, "--format", "json"]),
        _measured("rankgate eval, 8 metrics", rows, [*score, "--format", "json"]),
        _measured(SCORECARD, rows, [*card, "--resamples", "100", "--format", "json"]),
    ]
    shutil.rmtree(output_folder)
    print(markdown(measured_rows))
    if not options.quick:
        write(measured_rows)
    fits = all(row.resident <= (CARD if row.what == SCORECARD else MOST) for row in measured_rows)
    return 0 if fits else 1


def _measured(what: str, rows: int, command: list[str]) -> Row:
    print(f"{what} ...", file=sys.stderr, flush=True)
    result = once(command, LIMIT)
    if result.wall is None:
        raise RuntimeError(f"{what} did not end within {LIMIT:.0f} seconds.")
    return Row(what, rows, result.wall, result.cpu, result.memory, result.resident)


def markdown(rows: list[Row]) -> str:
    """The table."""
    lines = [
        "| | rows | wall s | CPU s | anonymous MB | resident MB |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    for row in rows:
        cells = [
            row.what,
            f"{row.rows:,}",
            f"{row.wall:.0f}",
            f"{row.cpu:.0f}",
            f"{row.anonymous / 1e6:,.0f}",
            f"{row.resident / 1e6:,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(rows: list[Row]) -> None:
    """The results as JSON, and the page's table."""
    machine_info = machine()
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine_info,
        "load_after": os.getloadavg()[0],
        "rows": [asdict(row) for row in rows],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    page.replace("splitting", markdown(rows))


if __name__ == "__main__":
    sys.exit(main())
