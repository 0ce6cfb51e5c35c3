"""Options of statistical tests and confidence intervals, shared by all verbs.

A description in text of how intervals and p-values were computed follows the options.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankgate.core.declare import Range, check_fields, fields_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.declare.toml_file import TomlFile

Method = Literal["t", "randomization", "wilcoxon", "sign", "bootstrap"]
Interval = Literal["t", "bca", "percentile", "basic", "studentised", "simultaneous"]
Correction = Literal["holm", "bonferroni", "hochberg", "bh", "by", "maxt", "none"]
Zeros = Literal["wilcox", "pratt"]
Unequal = Literal["refuse", "zero", "drop"]
SignedRanks = Literal["corrected", "uncorrected", "exact"]
Share = Annotated[float, Range(0, 1, exclusive=True)]

RANDOM_METHODS = frozenset({"randomization", "bootstrap"})
"""Methods that use random numbers."""

MAX_INTERVAL_RESAMPLES = 10_000
"""The most resamples of an interval; with more its ends do not move visibly."""


@dataclass(frozen=True)
class Test:
    """The test of differences, and its confidence level.

    Attributes:
        method: The test of the p-value; t and randomization need differences that are symmetric
            around 0, or many queries.
        interval: The kind of confidence interval of the difference; simultaneous ones hold for all
            metrics and candidates together, by the bootstrap of the largest t.
        level: The confidence level of the intervals.
        correction: The correction of p-values over all metrics and comparisons; maxt needs
            --test randomization.
        resamples: The number of resamples of tests and intervals; at most 10,000 for an interval.
        seed: The seed of the random numbers.
        band: Differences up to this size count as ties.
        wanted: A difference to detect: show how many queries it needs.
        power: The statistical power for --wanted and for the detectable difference.
        zeros: With --test wilcoxon: leave queries without a difference out before ranking (wilcox),
            or rank them too and leave out their ranks (pratt).
        signed_ranks: With --test wilcoxon: p by the normal approximation with a continuity
            correction (corrected) or without (uncorrected), or by counting all signs (exact).
        margin: A difference that does not matter: test whether systems are equivalent (two
            one-sided tests), and show how probably the candidate is worse, equivalent or better.
        relative: Show differences as shares of the baseline's mean, with Fieller's interval;
            --margin is such a share too.
        unequal: Queries that only one of two systems ran: stop with an error (refuse), treat them
            as missing (zero), or leave them out of both (drop).

    Raises:
        UsageError: A value that an option cannot have.
    """

    __test__ = False  # pytest collects classes of this name

    method: Method = field(default="t", metadata={"name": "test"})
    interval: Interval = "t"
    level: Share = 0.95
    correction: Correction = "holm"
    resamples: Annotated[int, Range(1, 10_000_000)] = 100_000
    seed: Annotated[int, Range(0)] = 0
    band: Annotated[float, Range(0)] = 0.0
    wanted: Annotated[float, Range(0, 1e9, exclusive=True)] | None = None
    power: Share = 0.8
    zeros: Zeros = "wilcox"
    signed_ranks: SignedRanks = "corrected"
    margin: Annotated[float, Range(0, exclusive=True)] | None = None
    relative: bool = False
    unequal: Unequal = "refuse"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.correction == "maxt" and self.method != "randomization":
            raise UsageError(
                "maxt corrects a randomization test; add --test randomization too.",
                code="conflicting-options",
            )
        ranks = (self.zeros, self.signed_ranks) != (Test.zeros, Test.signed_ranks)
        if ranks and self.method != "wilcoxon":
            raise UsageError(
                f"zeros and signed ranks are of Wilcoxon's test, not of {self.method}; add --test wilcoxon, "
                "or leave them out.",
                code="conflicting-options",
            )

    @classmethod
    def of(cls, test: Method | Test) -> Test:
        """Return a test as it is, or make one of a method.

        Raises:
            UsageError: An unknown method.
        """
        return test if isinstance(test, Test) else cls(test)

    def only(self, taker: str, *fields: str) -> Test:
        """Check that only fields of the test are stated that a verb takes.

        Raises:
            UsageError: another field is stated.
        """
        for name in fields_of(Test):
            if name not in fields and getattr(self, name) != getattr(Test, name):
                raise UsageError(
                    f"{taker} does not support the test's {name}, only {', '.join(fields)}; leave it out.",
                    code="unused-option",
                )
        return self

    @property
    def tie_band(self) -> float:
        """The largest difference that is a tie: the band, or what rounding can make."""
        from rankgate.measurement.stats.paired_tests import TIE

        return max(self.band, TIE)

    @property
    def drawn(self) -> int:
        """Resamples of tests and intervals; 0 if neither uses random numbers."""
        if self.method in RANDOM_METHODS:
            return self.resamples
        return 0 if self.interval == "t" else min(self.resamples, MAX_INTERVAL_RESAMPLES)


def read_test_table(file: TomlFile) -> dict[str, Any]:
    """The fields of a `Test` that the table ``[test]`` of a TOML file states.

    Raises:
        InputError: an unknown key, or a value that a field cannot have; with its line.
    """
    table, declared = file.values.get("test", {}), fields_of(Test)
    file.check_keys(table, declared, "test")
    return file.read_values(table, [replace(declared[name], name=name) for name in table], "test")


_ZEROS = {"wilcox": "zeros left out before ranking", "pratt": "zeros ranked, their ranks left out"}
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
        seed: the seed of the random draws.
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
        f"{method_text}, {resamples:,} resamples, seed {seed}, Monte-Carlo error at most {largest_error:.2g}"
    )
