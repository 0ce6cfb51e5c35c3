"""Describe in text how intervals and p-values were computed."""

from __future__ import annotations

from collections.abc import Iterable

from rankgate.decisions.comparison.inference import MAX_INTERVAL_RESAMPLES, RANDOM_METHODS

_ZEROS = {
    "wilcox": "zeros left out before ranking",
    "pratt": "zeros ranked, their ranks left out",
}
_SIGNED_RANKS = {
    "corrected": "normal approximation with a continuity correction",
    "uncorrected": "normal approximation without a continuity correction",
    "exact": "exact, all signs counted",
}


def describe_signed_ranks(zeros: str, how: str) -> str:
    """Describe the p-value of Wilcoxon's test; empty for another test.

    >>> describe_signed_ranks("pratt", "exact")
    ' (zeros ranked, their ranks left out; exact, all signs counted)'
    """
    return f" ({_ZEROS[zeros]}; {_SIGNED_RANKS[how]})" if zeros else ""


def describe_method(
    interval: str, test: str, resamples: int, seed: int, errors: Iterable[float | None] = ()
) -> str:
    """Describe interval and p: methods, resamples, and the Monte-Carlo error of p.

    Args:
        interval: its method.
        test: behind p.
        resamples: drawn for the test, or for the interval if the test draws nothing.
        seed: of the drawing.
        errors: the Monte-Carlo error of each p; 0 if every flip of signs was counted.

    >>> describe_method("t", "randomization", 1000, 0, [0.0])
    'interval: t; p: randomization test, exact: all flips of signs were counted'
    >>> describe_method("bca", "t", 10_000, 0)
    'interval: bca, 10,000 resamples, seed 0; p: t test'
    """
    drawing_text = f", {min(resamples, MAX_INTERVAL_RESAMPLES):,} resamples, seed {seed}"
    method_text = f"interval: {interval}{drawing_text if interval != 't' else ''}; p: {test} test"
    if test not in RANDOM_METHODS:
        return method_text
    largest_error = max((error for error in errors if error is not None), default=0.0)
    if test == "randomization" and not largest_error:
        return f"{method_text}, exact: all flips of signs were counted"
    return (
        f"{method_text}, {resamples:,} resamples, seed {seed}, Monte-Carlo error at most "
        f"{largest_error:.2g}"
    )
