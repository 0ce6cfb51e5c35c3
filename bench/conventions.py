"""What many conventions cost besides one: the run is read once for all of them.

    python bench/conventions.py [WORKLOAD]

Scores five metrics under `trec`, then under the first twenty named conventions, on a workload
that ``bench/run.py`` has made (``passages`` unless another is named). Both are measured in turn,
several times, and the best time of each counts, as others may use the machine. The twenty may
take three times as long as the one, and must give its numbers.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from rankgate.data import read_qrels, read_run
from rankgate.data.run_scores import RunScores
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.run_sources import CachedSource, RunSource, score

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from rankgate.data.run import Run

WORK = Path(__file__).parent / "work"
METRICS = [(name, parse(name)) for name in ("nDCG@10", "AP", "RR@10", "R@100", "P@10")]
COUNT, MOST = 20, 3.0
LEAST_TIME, LEAST_TIMES = 4.0, 3  # a small workload is measured for some seconds


class Counted:
    """A run that counts how often it is read."""

    def __init__(self, run: Run) -> None:
        self.readings = 0
        self.run = replace(run, pieces=self._pieces)
        self._read = run.pieces

    def _pieces(self) -> Iterator[pl.DataFrame]:
        self.readings += 1
        return self._read()


def main() -> int:
    """Measure both ways in turn and print one line; 1 if it took too long."""
    folder = WORK / (sys.argv[1] if len(sys.argv) > 1 else "passages")
    hows = [CONVENTIONS[name] for name in list(CONVENTIONS)[:COUNT]]
    index = JudgmentIndex.from_judgments(read_qrels(folder / "qrels"))
    single_times, cached_times = [], []
    started = perf_counter()
    while len(single_times) < LEAST_TIMES or perf_counter() - started < LEAST_TIME:
        begin = perf_counter()
        single = score(index, read_run(folder / "run"), METRICS, hows[0])
        middle = perf_counter()
        counted_run = Counted(read_run(folder / "run"))
        cached = CachedSource(RunSource(counted_run.run, index))
        results = cached.score(METRICS, hows)
        single_times.append(middle - begin)
        cached_times.append(perf_counter() - middle)
        assert counted_run.readings == 1
        assert isinstance(results[0], RunScores)
        assert results[0].means == single.means
    ratio = min(cached_times) / min(single_times)
    answered = sum(isinstance(result, RunScores) for result in results)
    print(
        f"{folder.name}: one convention {min(single_times):.3f} s, {len(hows)} of them "
        f"{min(cached_times):.3f} s ({answered} take these data): {ratio:.1f} times, at most {MOST:.0f} "
        f"wanted (the best of {len(single_times)} times each)"
    )
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
