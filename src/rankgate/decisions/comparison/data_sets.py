"""Compare systems over several data sets: one table of means, and tests whose sample is the data sets.

Within a data set, differences are those of its own comparison. Over data sets, systems are ranked
in each of them (Friedman 1937), and pairs of mean ranks are compared (Nemenyi 1963), or each system
with the baseline (Holm 1979), as Demšar (JMLR 7, 2006) recommends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from math import exp, lgamma
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, P_VALUE, SYSTEM
from rankgate.core.present.document_model import Grid, Table, make_printable
from rankgate.core.present.layout import NOTICES, Layout, Sentence, View, fill, plain_rows
from rankgate.core.present.number_formats import format_number, format_p_value, system_mark
from rankgate.decisions.comparison.comparison_tables import marked_figures
from rankgate.decisions.comparison.seeds import joined_seeds

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.present.document_model import Block, PlainRows
    from rankgate.decisions.comparison.comparison import Comparisons

_NAMES = pl.List(pl.String)
VALUES = Columns(
    "One row per metric, data set and system.",
    METRIC,
    Column("data_set", pl.String, "the data set"),
    SYSTEM,
    Column("value", pl.Float64, "the mean over the queries of the data set"),
    Column("sd", pl.Float64, "the standard deviation between seeds; null for a system with one run"),
    Column("worse", _NAMES, "the systems that the comparison of the data set finds worse"),
)
RANKS = Columns(
    "One row per metric and system.",
    METRIC,
    SYSTEM,
    Column("macro_mean", pl.Float64, "the mean of the data sets, each with the same weight"),
    Column("mean_rank", pl.Float64, "the mean rank within data sets; 1 is the best", ".2f"),
    Column("worse", _NAMES, "the systems that are worse by Nemenyi's test and by Friedman's test"),
)
PAIRS = Columns(
    "One row per metric and pair of systems.",
    METRIC,
    Column("first", pl.String, "the first system"),
    Column("second", pl.String, "the second system"),
    Column("difference", pl.Float64, "mean rank of the first − that of the second", "+.2f"),
    Column(
        "p_nemenyi",
        pl.Float64,
        "the p-value of Nemenyi's test, corrected for all pairs",
        "p",
        "",
        "Nemenyi's p",
    ),
    Column(
        "p_holm",
        pl.Float64,
        "the p-value of the normal test, corrected by Holm over the pairs with the baseline; null for others",
        "p",
        "",
        "Holm's p",
    ),
)
TESTS = Columns(
    "One row per metric: Friedman's test of systems ranked within data sets.",
    METRIC,
    Column("statistic", pl.Float64, "Friedman's χ²", ".2f"),
    P_VALUE,
    Column("critical", pl.Float64, "the smallest difference of two mean ranks that Nemenyi's test detects"),
)


def _test_sentences(result: DataSetComparison) -> Iterator[str]:
    """Friedman's test of each metric."""
    template = (
        "{metric}: Friedman's χ² {statistic:.2f}, p {p_value:p} by permutation within data sets; Nemenyi's "
        "critical difference of mean ranks {critical:.2f}."
    )
    for row in result.tests.iter_rows(named=True):
        yield fill(template, result, row)


def _means_table(result: DataSetComparison) -> Iterator[Block]:
    """A row for each metric and system: its mean on each data set, their mean, and its mean rank."""
    marks = {name: system_mark(i) for i, name in enumerate(result.systems)}
    names = [f"{mark} {make_printable(name)}" for name, mark in marks.items()]
    rows: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    for metric, values in result.values.group_by("metric", maintain_order=True):
        ranks = result.ranks.filter(metric=metric[0])
        sign = 1 if metric[0] in result.lower else -1
        columns = [
            (column["value"], column["worse"], sign, 4, column["sd"])
            for column in values.partition_by("data_set", maintain_order=True)
        ]
        no_sd = pl.repeat(None, len(names), eager=True)
        columns += [(ranks["macro_mean"], pl.Series([[]] * len(names)), sign, 4, no_sd)]
        columns += [(ranks["mean_rank"], ranks["worse"], 1, 2, no_sd)]
        cells = []
        for j, (numbers, worse, direction, digits, deviations) in enumerate(columns, 2):
            best_number = (numbers * direction).min()
            bold |= {(len(rows) + i, j) for i in (numbers * direction == best_number).arg_true()}
            texts = (
                format_number(number, digits) + ("" if sd is None else f"±{sd:.4f}")
                for number, sd in zip(numbers, deviations, strict=True)
            )
            cells.append(
                [
                    text + "".join(marks[name] for name in marks if name in w)
                    for text, w in zip(texts, worse, strict=True)
                ]
            )
        rows += zip([str(metric[0])] * len(names), names, *cells, strict=True)
    header = ("metric", "system", *map(make_printable, result.data_sets), "mean", "mean rank")
    grid = Grid(header, tuple(rows), frozenset({0, 1}), 2)
    plain_rows = tuple(("" if i % len(names) else row[0], *row[1:]) for i, row in enumerate(rows))
    yield Table("", grid, bold=frozenset(bold), plain=(replace(grid, rows=plain_rows),))


@dataclass(frozen=True)
class DataSetComparison(Result):
    """Systems compared over several data sets.

    Attributes:
        data_sets: their names.
        systems: their names, the baseline first.
        convention: name, axes and hash, the same for all data sets.
        test: the test within data sets.
        level: 1 minus the level of all tests.
        seed: of the permutations behind ``p_value``.
        lower: the metrics that are better when lower.
        values: the columns of `VALUES`.
        ranks: the columns of `RANKS`.
        pairs: the columns of `PAIRS`.
        tests: the columns of `TESTS`.
    """

    kind: ClassVar[str] = "data_set_comparison"
    label: ClassVar[str] = "Systems over data sets"
    order: ClassVar[int] = 4
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "values": VALUES,
        "ranks": RANKS,
        "pairs": PAIRS,
        "tests": TESTS,
    }
    headline_text: ClassVar[str] = "{system_count:n system} on {data_set_count:n data set}"
    layout: ClassVar[Layout] = (
        _test_sentences,
        _means_table,
        Sentence(
            "A mark next to a value names a system that is worse (p < {alpha:.2g}): in a data set by its own "
            "comparison ({test}), at a mean rank by Nemenyi's test where Friedman's finds differences. A "
            "mean counts each data set the same."
        ),
        Sentence("± is the standard deviation between seeds.", "has_seeds"),
        NOTICES,
        Sentence(
            "The data sets are the sample of Friedman's, Nemenyi's and Holm's tests, which say what to "
            "expect of another data set like these. Nemenyi's and Holm's p are approximations, good with "
            "more than 10 data sets and 5 systems (Demšar 2006). With {data_set_count:n data set}, the "
            "smallest p of a pair is {lowest_p:p}."
        ),
        View("pairs", "pairs of systems over data sets", keys=3, find=True),
    )

    data_sets: tuple[str, ...]
    systems: tuple[str, ...]
    convention: Mapping[str, Any]
    test: str
    level: float
    seed: int
    lower: tuple[str, ...]
    values: pl.DataFrame
    ranks: pl.DataFrame
    pairs: pl.DataFrame
    tests: pl.DataFrame

    @property
    def system_count(self) -> int:
        """The number of systems."""
        return len(self.systems)

    @property
    def has_seeds(self) -> bool:
        """True if a system has runs of several seeds."""
        return self.values["sd"].count() > 0

    @property
    def data_set_count(self) -> int:
        """The number of data sets."""
        return len(self.data_sets)

    @property
    def alpha(self) -> float:
        """The level of all tests."""
        return 1 - self.level

    def csv_rows(self) -> PlainRows:
        """The means of all data sets."""
        return plain_rows(self.values.with_columns(pl.col("worse").list.join(" ")))

    @classmethod
    def from_comparisons(cls, comparisons: Mapping[str, Comparisons], *, seed: int = 0) -> Self:
        """Put comparisons of the same systems on several data sets together.

        Args:
            comparisons: by the name of the data set, each from ``compare`` with the same systems,
                baseline, metrics, convention and test.
            seed: the seed of the permutations.

        Raises:
            InputError: two comparisons differ in one of these, are of the same judgments, or lack a
                value; the error names both data sets and what differs.
            UsageError: there are fewer than two data sets.
        """
        if len(comparisons) < 2:
            raise UsageError(
                "a comparison over data sets needs two of them or more; compare the same systems on each.",
                code="missing-input",
            )
        _refuse_differences(comparisons)
        reference = next(iter(comparisons.values()))
        first, systems = reference.only, _systems(reference)
        rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in cls.SCHEMAS}
        for metric in first.names:
            means = []
            for name, comparison in comparisons.items():
                value, worse = _figures(comparison, metric)
                means.append([value[system] for system in systems])
                seeds = joined_seeds(single.seeds for single in comparison.comparisons).filter(metric=metric)
                sd = dict(seeds.select("system", "sd").iter_rows())
                rows["values"] += [
                    (metric, name, system, value[system], sd.get(system), worse[system]) for system in systems
                ]
                if None in means[-1]:
                    system = systems[means[-1].index(None)]
                    problem = f"{system} has no value of {metric}; leave out the system or the metric."
                    raise InputError(problem, source=name, code="missing-value")
            _add_tests(rows, metric, systems, np.array(means), metric in first.lower, first.level, seed)
        frames = {name: pl.DataFrame(rows[name], dict(cls.SCHEMAS[name]), orient="row") for name in rows}
        test = marked_figures(reference)[2]
        return cls(
            tuple(comparisons), systems, first.convention, test, first.level, seed, first.lower, **frames
        )

    @property
    def lowest_p(self) -> float:
        """The smallest p-value that a pair can have with so many data sets and systems."""
        return _lowest_p(len(self.data_sets), len(self.systems))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """A warning if no pair of systems could be significant on so few data sets."""
        systems, alpha = len(self.systems), 1 - self.level
        if self.lowest_p < alpha:
            return ()
        needed = next(n for n in count(2) if _lowest_p(n, systems) < alpha)
        text = (
            f"{len(self.data_sets)} data sets cannot show a difference of two of {systems} systems: the "
            f"smallest p is {format_p_value(self.lowest_p)}, even if all agree; at least {needed} are needed"
        )
        return (Notice("few-data-sets", text),)


def _lowest_p(data_sets: int, systems: int) -> float:
    """The p-value of the best and the worst of systems that all data sets rank alike.

    It is the greater one of Nemenyi's p and of the exact p of Friedman's test, (S!)^(1 − D).
    """
    from rankgate.measurement.stats.studentized_range import tail

    gap = (systems - 1) / np.sqrt(systems * (systems + 1) / (12 * data_sets))
    exact = exp((1 - data_sets) * lgamma(systems + 1))
    return max(float(tail(np.array([gap]), systems)[0]), exact)


def _add_tests(
    rows: dict[str, list[tuple[Any, ...]]],
    metric: str,
    systems: tuple[str, ...],
    matrix: Floats,
    is_lower_better: bool,  # noqa: FBT001 - one of the facts of the metric
    level: float,
    seed: int,
) -> None:
    """Add the rows of one metric to the tables, from ``(D, S)`` means of systems on data sets."""
    from rankgate.measurement.stats.multiple_comparisons import correct, friedman, permuted_friedman
    from rankgate.measurement.stats.special_functions import ndtr

    (data_sets, size), names = matrix.shape, np.array(systems, object)
    result = friedman(-matrix if is_lower_better else matrix, level)
    p_value = permuted_friedman(matrix, seed=seed)
    rows["tests"].append((metric, result.statistic, p_value, result.critical))
    gaps = result.ranks[:, None] - result.ranks
    is_worse = (result.nemenyi < 1 - level) & (p_value < 1 - level) & (gaps < 0)
    worse = [[*names[row]] for row in is_worse]
    means = matrix.mean(axis=0)
    rows["ranks"] += zip([metric] * size, systems, means, result.ranks, worse, strict=True)
    z = np.abs(gaps[0, 1:]) / np.sqrt(size * (size + 1) / (6 * data_sets))
    holm = [*correct(2 * ndtr(-z)), *[None] * (size * (size - 1) // 2)]  # pairs with the baseline come first
    first, second = np.triu_indices(size, 1)
    cells = names[first], names[second], gaps[first, second], result.nemenyi[first, second]
    rows["pairs"] += [(metric, *row) for row in zip(*cells, holm, strict=False)]


def _systems(comparison: Comparisons) -> tuple[str, ...]:
    names = (single.candidate.name for single in comparison.comparisons)
    return comparison.only.baseline.name, *names


def _figures(comparison: Comparisons, metric: str) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """By system its mean of a metric, and the systems that are worse."""
    means, better, _ = marked_figures(comparison)
    names = _systems(comparison)
    worse = {name: [names[j] for j in better.get((metric, i), ())] for i, name in enumerate(names)}
    return {name: means.get((metric, i)) for i, name in enumerate(names)}, worse


def _settings(comparison: Comparisons) -> dict[str, set[str]]:
    """What must be the same on all data sets, by what it is called in errors."""
    first = comparison.only
    return {
        "systems": {*_systems(comparison)},
        "metrics": {*first.names},
        "baseline": {first.baseline.name},
        "convention": {f"{first.convention['name']} ({str(first.convention['hash'])[:8]})"},
        "test": {f"{first.test}, {first.correction}, level {first.level:g}"},
    }


def _refuse_differences(comparisons: Mapping[str, Comparisons]) -> None:
    """Check that comparisons have equal settings and different judgments."""
    (reference, first), *_ = comparisons.items()
    names: dict[str, str] = {}
    for name, comparison in comparisons.items():
        settings = _settings(comparison)
        for setting, expected in _settings(first).items():
            sides = (reference, expected - settings[setting]), (name, settings[setting] - expected)
            differences = [f"only {side} has {', '.join(sorted(values))}" for side, values in sides if values]
            if differences:
                remedy = f"compare with the same {setting} on every data set."
                problem = f"other {setting}: {' and '.join(differences)}; {remedy}"
                raise InputError(problem, source=name, code="data-sets-differ")
        first_name = names.setdefault(comparison.only.qrels_sha256 or name, name)
        if first_name != name:
            problem = f"it has the judgments of {first_name}; a data set counts once."
            raise InputError(problem, source=name, code="data-set-twice")
