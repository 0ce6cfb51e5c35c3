"""Describe in text how intervals and p-values were computed."""

from __future__ import annotations

from collections.abc import Iterable

from rankgate.decisions.comparison.inference import DRAWN, MOST

_ZEROS = {
    "wilcox": "zeros left out before ranking",
    "pratt": "zeros ranked, their ranks left out",
}
_SIGNED_RANKS = {
    "corrected": "normal approximation with a continuity correction",
    "uncorrected": "normal approximation without a continuity correction",
    "exact": "exact, all signs counted",
}


def signed_ranks(zeros: str, how: str) -> str:
    """How p of Wilcoxon's test is made; nothing for another test.

    >>> signed_ranks("pratt", "exact")
    ' (zeros ranked, their ranks left out; exact, all signs counted)'
    """
    return f" ({_ZEROS[zeros]}; {_SIGNED_RANKS[how]})" if zeros else ""


def way(
    interval: str, test: str, resamples: int, seed: int, errors: Iterable[float | None] = ()
) -> str:
    """How interval and p were made: what was drawn, and how far the drawing lets p stray.

    Args:
        interval: its method.
        test: behind p.
        resamples: drawn for the test, or for the interval if the test draws nothing.
        seed: of the drawing.
        errors: the Monte-Carlo error of each p; 0 where every flip of signs was looked at.

    >>> way("t", "randomization", 1000, 0, [0.0])
    'interval: t; p: randomization test, exact: all flips of signs were counted'
    >>> way("bca", "t", 10_000, 0)
    'interval: bca, 10,000 resamples, seed 0; p: t test'
    """
    of = f", {min(resamples, MOST):,} resamples, seed {seed}"
    first = f"interval: {interval}{of if interval != 't' else ''}; p: {test} test"
    if test not in DRAWN:
        return first
    worst = max((error for error in errors if error is not None), default=0.0)
    if test == "randomization" and not worst:
        return f"{first}, exact: all flips of signs were counted"
    return f"{first}, {resamples:,} resamples, seed {seed}, Monte-Carlo error at most {worst:.2g}"
