"""Equal calls give equal numbers, to the last digit, for all threads and orders of rows.

Two processes call the same verbs. In the second, Polars and DuckDB have one thread, Polars gives
rows in a random order wherever it promises none, and sets of strings have another order.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.separate
SCRIPT = Path(__file__).parents[1] / "support" / "equal_calls.py"
CALLS = (
    *("evaluate", "evaluate a sample", "compare", "bootstrap", "gate", "advise", "describe"),
    *("agree", "resolve", "raters", "check_gold", "pool", "reusability", "cutoff", "migrate", "holes"),
    *("split", "scorecard", "rank_similarity", "stages", "baseline"),
    *("kpi", "ab", "weeks", "intents", "personalization", "lists"),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folders of both processes, with a file for each verb."""
    folders = [tmp_path_factory.mktemp(name) for name in ("threads", "shuffled")]
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(folder), threads, seed],
            env=os.environ | {"POLARS_MAX_THREADS": threads, "PYTHONHASHSEED": threads},
        )
        for folder, threads, seed in zip(folders, ("4", "1"), ("0", "7"), strict=True)
    ]
    assert [process.wait() for process in processes] == [0, 0]
    return folders


def test_every_call_is_compared(results):
    assert len(results) == 2
    for folder in results:
        assert {path.stem for path in folder.glob("*.result")} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_equal_calls_give_equal_numbers(name, results):
    first, second = ((folder / f"{name}.result").read_text().split(",") for folder in results)
    differences = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    assert not differences[:3]
    assert len(first) == len(second)
