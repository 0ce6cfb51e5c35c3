"""A randomization test of 10,000 queries, 100,000 draws and 5 metrics, besides scipy and ranx.

    python bench/randomization.py

Each contestant is its own process. scipy and ranx draw fewer times, as many as take some
seconds, and their time is scaled: it grows with the draws. ranx tests one metric at a time; it
takes part where ``bench/run.py`` has made the environment of the peers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

QUERIES, METRICS, DRAWS = 10_000, 5, 100_000
FEWER = {"rankgate": DRAWS, "scipy": 400, "ranx": 1000}
WANTED = 20.0  # times as fast as scipy
PEERS = Path(__file__).parent / "work" / "env" / "bin" / "python"


def main() -> int:
    """Run every contestant and print the table; 1 if scipy is less than `WANTED` times slower."""
    parser = argparse.ArgumentParser(description="Compare the speed of randomization tests.")
    parser.add_argument("--run", choices=FEWER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(measured(arguments.run)))
        return 0
    pythons = {"rankgate": sys.executable, "scipy": sys.executable, "ranx": str(PEERS)}
    results = {name: result for name, python in pythons.items() if (result := run(name, python))}
    rankgate_result = results["rankgate"]
    print(f"{QUERIES:,} queries, {DRAWS:,} draws, {METRICS} metrics\n")
    print("| | draws | measured s | for all draws s | over rankgate | MB |")
    print("| :-- | --: | --: | --: | --: | --: |")
    for name, result in results.items():
        print(
            f"| {name} | {FEWER[name]:,} | {result['seconds']:.1f} | {result['whole']:.1f} | "
            f"{result['whole'] / rankgate_result['whole']:.0f} | {result['megabytes']:.0f} |"
        )
    assert np.allclose(results["scipy"]["p"], rankgate_result["p"], atol=0.15), "they test the same"
    return 0 if results["scipy"]["whole"] / rankgate_result["whole"] >= WANTED else 1


def run(name: str, python: str) -> dict[str, Any] | None:
    """What a contestant's process tells; None where it cannot be had."""
    if not Path(python).exists():
        return None
    command = [python, __file__, "--run", name]
    result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measurement: dict[str, Any] = json.loads(result.splitlines()[-1])
    return measurement


def measured(name: str) -> dict[str, Any]:
    """Seconds, seconds for all draws, the process's most memory, and p of each metric."""
    rng = np.random.default_rng(0)
    baseline = rng.random((QUERIES, METRICS))
    candidate = baseline + rng.normal(0.001, 0.1, baseline.shape)
    test = {"rankgate": by_rankgate, "scipy": by_scipy, "ranx": by_ranx}[name]
    if name == "ranx":
        test(baseline[:50], candidate[:50], 10)  # it compiles at the first call
    begin = time.perf_counter()
    p = test(baseline, candidate, FEWER[name])
    seconds = time.perf_counter() - begin
    status = Path("/proc/self/status").read_text()
    return {
        "seconds": seconds,
        "whole": seconds * DRAWS / FEWER[name],
        "megabytes": int(status.split("VmHWM:")[1].split()[0]) / 1024,
        "p": [float(p_value) for p_value in p],
    }


def by_rankgate(baseline: np.ndarray, candidate: np.ndarray, draws: int) -> np.ndarray:
    """All metrics by the same draws, in blocks."""
    from rankgate.measurement.stats.resampling_tests import randomization

    return randomization(candidate - baseline, samples=draws).p_value


def by_scipy(baseline: np.ndarray, candidate: np.ndarray, draws: int) -> np.ndarray:
    """Its vectorised form, in batches that fit into memory."""
    from scipy.stats import permutation_test

    result = permutation_test(
        (candidate, baseline),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=draws,
        batch=20,
        axis=0,
        rng=0,
    )
    return np.asarray(result.pvalue)


def by_ranx(baseline: np.ndarray, candidate: np.ndarray, draws: int) -> np.ndarray:
    """One metric after the other."""
    from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test

    pairs = zip(baseline.T.copy(), candidate.T.copy(), strict=True)
    result = [fisher_randomization_test(a, b, draws, 0.05, 0) for a, b in pairs]
    return np.array(
        [test_result[1] if isinstance(test_result, tuple) else test_result for test_result in result]
    )


if __name__ == "__main__":
    sys.exit(main())
