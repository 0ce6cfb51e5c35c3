"""Compare systems over several data sets: one table of means, and tests whose sample is the data sets.

Within a data set, differences are those of its own comparison. Over data sets, systems have the ranks
that they may have by their means (`rank_tables`). They are also ranked in each data set (Friedman
1937), and pairs of mean ranks are compared (Nemenyi 1963), or each system with the baseline (Holm
1979), as Demšar (JMLR 7, 2006) recommends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from math import exp, lgamma
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import Axis, ChartView, Panel, highlight, interval
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, P_VALUE, SYSTEM
from rankgate.core.present.document_model import Grid, Table, make_printable
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View, fill, plain_rows
from rankgate.core.present.number_formats import format_number, system_mark
from rankgate.data.run_scores import GIVEN_VALUES
from rankgate.decisions.comparison.comparison_tables import marked_figures
from rankgate.decisions.comparison.data_set_values import DataSetValues
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.rank_tables import (
    NEW_DATA_SETS,
    NEW_QUERIES,
    TABLES,
    add_rank_rows,
    query_values,
    separate_systems,
)
from rankgate.decisions.comparison.seeds import joined_seeds
from rankgate.measurement.evaluation.scores import Scores

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.present.document_model import Block, PlainRows
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.comparison.data_set_values import Missing
    from rankgate.decisions.comparison.rank_tables import Rows
    from rankgate.measurement.metrics.metric_declaration import Metric

_MOST_PAIRS = 200
_WIDEST = 25  # systems, or data sets, of a table of all means
_FEW = 6  # data sets of such a table if their values are given
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
    Column("delta", pl.Float64, "mean of the first − that of the second", "signed"),
    Column(
        "p_data_sets",
        pl.Float64,
        "the p-value of equal means on new data sets, corrected for all pairs",
        "p",
        "",
        "p, new\ndata sets",
    ),
    Column(
        "p_queries",
        pl.Float64,
        "the p-value of equal means for new queries, corrected for all pairs; null without values of queries",
        "p",
        "",
        "p, new\nqueries",
    ),
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


def _separation_sentences(result: DataSetComparison) -> Iterator[str]:
    """How many systems can be told apart, by metric and population."""
    template = (
        "{metric}, {population}: {separate:,} of {pairs:n pair} of systems {verb} beyond chance, and "
        "{separate_neighbours:,} of {neighbours:n pair} of neighbours in rank; {best:n system} may have "
        "rank 1."
    )
    for row in result.separations.iter_rows(named=True):
        yield fill(template, result, {**row, "verb": "differs" if row["separate"] == 1 else "differ"})


def _means_table(result: DataSetComparison) -> Iterator[Block]:
    """A row for each metric and system: its mean on each data set, their mean, and its mean rank."""
    if result.is_wide:
        return
    marks = {name: system_mark(i) for i, name in enumerate(result.systems)}
    names = [f"{mark} {make_printable(name)}" for name, mark in marks.items()]
    rows: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    populations = result.intervals["population"].unique(maintain_order=True)
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
        for population in populations:
            intervals = result.intervals.filter(metric=metric[0], population=population)
            ends = dict(zip(intervals["system"], intervals.select("low", "high").rows(), strict=True))
            cells.append(["–".join(map(str, dict.fromkeys(ends.get(name, ())))) for name in result.systems])
        rows += zip([str(metric[0])] * len(names), names, *cells, strict=True)
    names_of_columns = {NEW_DATA_SETS: "ranks", NEW_QUERIES: "ranks, queries"}
    rank_headers = (names_of_columns[population] for population in populations)
    header = ("metric", "system", *map(make_printable, result.data_sets), "mean", "mean rank", *rank_headers)
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
        intervals: the columns of `rank_tables.INTERVALS`: the ranks that each system may have.
        groups: the columns of `rank_tables.GROUPS`: systems that cannot be told apart.
        separations: the columns of `rank_tables.SEPARATIONS`.
        systems_left_out: systems that lack a data set.
        data_sets_left_out: data sets that a system lacks.
    """

    kind = "data_set_comparison"
    label = "Systems over data sets"
    order = 4
    SCHEMAS: ClassVar = {"values": VALUES, "ranks": RANKS, "pairs": PAIRS, "tests": TESTS, **TABLES}
    OPTIONAL: ClassVar[tuple[str, ...]] = ("systems_left_out", "data_sets_left_out")
    charts: ClassVar = {
        "rank-intervals": ChartView(
            "Ranks that {systems:n system} may have",
            "The rank of the mean over data sets (point), and the ranks that a system may have (line). All "
            "lines of a panel together hold the true ranks with a confidence of {level:.0%}. Blue: may have "
            "rank 1.",
            "{data_sets:n data set}",
            (
                Panel(
                    "intervals",
                    lambda _result, rows: Axis("rank", "rank", form="d", domain=(1, max(len(rows), 2))),
                    Axis("system", scale="names"),
                    interval("rank"),
                    facet=("metric", "population"),
                    title="{metric}, {population}",
                    colour=highlight("datum.low == 1"),
                    width=360,
                    height=18,
                ),
            ),
            across=1,
        )
    }
    headline_text = "{system_count:n system} on {data_set_count:n data set}"
    layout = (
        _separation_sentences,
        NOTICES,
        View(
            "intervals",
            "systems by their mean, and the ranks that they may have: {population}",
            ("metric", "rank", "system", "mean", ("low", "high")),
            keys=3,
            table_key="population",
            varying=("metric",),
            condition="is_wide",
        ),
        ShownChart("rank-intervals", "intervals"),
        View(
            "groups",
            "longest runs of systems of which no two can be told apart: {population}",
            ("metric", ("first", "–", "last"), "systems"),
            keys=2,
            table_key="population",
            varying=("metric",),
            find=True,
            folded=True,
        ),
        _means_table,
        Sentence(
            "Ranks are those that a system may have; all of a metric and population together hold the true "
            "ones in at least {level:.0%} of such tables.",
            "intervals",
        ),
        Sentence(
            "For new data sets (ranks) this supposes that these are a sample of the data sets that matter. "
            "It does not hold if systems fail badly on a kind of data set that is rare, as in one of 20: "
            "then up to one table in six had a wrong rank.",
            "intervals",
        ),
        Sentence(
            "For new queries (ranks, queries) the data sets stay as they are: these ranks may not hold on "
            "other data sets.",
            "has_queries",
        ),
        Sentence(
            "Ranks for new queries of these data sets need values of 10 queries or more of each, which are "
            "not here.",
            "lacks_queries",
        ),
        _test_sentences,
        Sentence(
            "A mark next to a value names a system that is worse (p < {alpha:.2g}): in a data set by its own "
            "comparison ({test}), at a mean rank by Nemenyi's test where Friedman's finds differences. A "
            "mean counts each data set the same.",
            "test",
        ),
        Sentence(
            "A mark next to a mean rank names a system that is worse (p < {alpha:.2g}) by Nemenyi's test "
            "where Friedman's finds differences. A mean counts each data set the same.",
            "marks_ranks_only",
        ),
        Sentence("± is the standard deviation between seeds.", "has_seeds"),
        Sentence(
            "The data sets are the sample of Friedman's, Nemenyi's and Holm's tests, which say what to "
            "expect of another data set like these. Nemenyi's and Holm's p are approximations, good with "
            "more than 10 data sets and 5 systems (Demšar 2006). With {data_set_count:n data set}, the "
            "smallest p of a pair is {lowest_p:p}."
        ),
        View(
            "pairs",
            "pairs of systems over data sets",
            keys=3,
            find=True,
            first=_MOST_PAIRS,
            optional=("delta", "p_data_sets", "p_queries", "p_holm"),
        ),
    )
    notice_texts = (
        NoticeText(
            "few-data-sets",
            "{data_set_count} data sets cannot show a difference of two of {system_count} systems by their "
            "ranks: the smallest p is {lowest_p:p}, even if all agree; at least {needed} are needed",
            lambda result: result.lowest_p >= result.alpha,
        ),
        NoticeText(
            "few-data-sets-for-ranks",
            "{data_set_count} data sets cannot tell any systems apart for new data sets: the smallest p is "
            "{lowest_rank_p:p}; at least {needed_for_ranks} are needed, and 20 to see most differences",
            lambda result: len(result.intervals) and result.lowest_rank_p > result.alpha,
        ),
        NoticeText(
            "systems-left-out",
            "left out, as they lack some of the data sets: {systems_left_out:names}",
            "systems_left_out",
        ),
        NoticeText(
            "data-sets-left-out",
            "left out, as some system lacks them: {data_sets_left_out:names}; ranks are wrong if a system "
            "lacks those on which it is bad",
            "data_sets_left_out",
        ),
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
    intervals: pl.DataFrame = field(default_factory=TABLES["intervals"].empty)
    groups: pl.DataFrame = field(default_factory=TABLES["groups"].empty)
    separations: pl.DataFrame = field(default_factory=TABLES["separations"].empty)
    systems_left_out: tuple[str, ...] = ()
    data_sets_left_out: tuple[str, ...] = ()

    @property
    def is_wide(self) -> bool:
        """True if a table of all means would hide the ranks: it is large, or repeats a table of scores."""
        sets = len(self.data_sets)
        return max(len(self.systems), sets) > _WIDEST or (not self.test and sets > _FEW)

    @property
    def marks_ranks_only(self) -> bool:
        """True if data sets have no comparisons of their own."""
        return not (self.is_wide or self.test)

    @property
    def has_queries(self) -> bool:
        """True if ranks for new queries are given."""
        return NEW_QUERIES in self.intervals["population"]

    @property
    def lacks_queries(self) -> bool:
        """True if ranks are given, but not for new queries."""
        return not (self.intervals.is_empty() or self.has_queries)

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
            queries = query_values(comparisons, metric)
            sign = -1 if metric in first.lower else 1
            _add_tests(rows, metric, systems, np.array(means), queries, sign, first.level, seed)
        frames = _make_frames(rows)
        test = marked_figures(reference)[2]
        return cls(
            tuple(comparisons), systems, first.convention, test, first.level, seed, first.lower, **frames
        )

    @classmethod
    def from_scores(
        cls,
        scores: Scores,
        systems: Sequence[str] = (),
        metrics: Sequence[str | Metric] = (),
        *,
        only: Sequence[str] = (),
        missing: Missing = "refuse",
        test: Test | None = None,
    ) -> Self:
        """Compare systems by one value for each data set; see `compare_data_sets`."""
        from rankgate.decisions.comparison.reported_systems import reported_tables

        rules = (test or Test()).only("a comparison over data sets", "level", "seed")
        tables = DataSetValues.read(reported_tables(scores), metrics).select(systems, only, missing)
        rows: Rows = {name: [] for name in cls.SCHEMAS}
        names, data_sets = tables.systems, tables.data_sets
        for metric, matrix in tables.means.items():
            rows["values"] += [
                (metric, data_set, system, float(matrix[d, s]), None, [])
                for d, data_set in enumerate(data_sets)
                for s, system in enumerate(names)
            ]
            sign = -1 if metric in tables.lower else 1
            _add_tests(
                rows, metric, names, matrix, [], sign, rules.level, rules.seed, has_baseline=bool(systems)
            )
        frames = _make_frames(rows)
        return cls(
            data_sets,
            names,
            {"name": GIVEN_VALUES, "hash": "", "axes": {}},
            "",
            rules.level,
            rules.seed,
            tables.lower,
            **frames,
            systems_left_out=tables.systems_left_out,
            data_sets_left_out=tables.data_sets_left_out,
        )

    @property
    def lowest_p(self) -> float:
        """The smallest p-value that a pair can have with so many data sets and systems."""
        return _lowest_p(len(self.data_sets), len(self.systems))

    @property
    def needed(self) -> int:
        """The number of data sets that can show a difference of two systems."""
        return next(n for n in count(2) if _lowest_p(n, len(self.systems)) < self.alpha)

    @property
    def lowest_rank_p(self) -> float:
        """The smallest p-value of a difference for new data sets."""
        return 2.0 ** (1 - len(self.data_sets))

    @property
    def needed_for_ranks(self) -> int:
        """The number of data sets that can tell systems apart for new ones."""
        return next(n for n in count(2) if 2.0 ** (1 - n) <= self.alpha)


def _make_frames(rows: Rows) -> dict[str, Any]:
    """The tables of a result by name."""
    schemas = DataSetComparison.SCHEMAS
    return {name: pl.DataFrame(rows[name], dict(schemas[name]), orient="row") for name in rows}


def _lowest_p(data_sets: int, systems: int) -> float:
    """The p-value of the best and the worst of systems that all data sets rank alike.

    It is the greater one of Nemenyi's p and of the exact p of Friedman's test, (S!)^(1 − D).
    """
    from rankgate.measurement.stats.studentized_range import tail

    gap = (systems - 1) / np.sqrt(systems * (systems + 1) / (12 * data_sets))
    exact = exp((1 - data_sets) * lgamma(systems + 1))
    return max(float(tail(np.array([gap]), systems)[0]), exact)


def _add_tests(
    rows: Rows,
    metric: str,
    systems: Sequence[str],
    matrix: Floats,
    queries: Sequence[Floats],
    sign: int,
    level: float,
    seed: int,
    *,
    has_baseline: bool = True,
) -> None:
    """Add the rows of one metric to the tables, from ``(D, S)`` means of systems on data sets."""
    from rankgate.measurement.stats.multiple_comparisons import correct, friedman, permuted_friedman
    from rankgate.measurement.stats.special_functions import ndtr

    (data_sets, size), names = matrix.shape, np.array(systems, object)
    result = friedman(sign * matrix, level)
    permutations = max(_FEWEST_PERMUTATIONS, min(100_000, _MOST_PERMUTED // matrix.size))
    p_value = permuted_friedman(matrix, samples=permutations, seed=seed)
    rows["tests"].append((metric, result.statistic, p_value, result.critical))
    gaps = result.ranks[:, None] - result.ranks
    is_worse = (result.nemenyi < 1 - level) & (p_value < 1 - level) & (gaps < 0)
    worse = [[*names[row]] for row in is_worse]
    means = matrix.mean(axis=0)
    rows["ranks"] += zip([metric] * size, systems, means, result.ranks, worse, strict=True)
    tests = separate_systems(matrix, queries, sign=sign, seed=seed)
    for population, test in tests.items():
        add_rank_rows(rows, metric, population, systems, test, sign=sign, level=level)
    z = np.abs(gaps[0, 1:]) / np.sqrt(size * (size + 1) / (6 * data_sets))
    holm = [*correct(2 * ndtr(-z))] if has_baseline else []  # pairs with the baseline come first
    first, second = np.triu_indices(size, 1)
    p_data_sets, p_queries = (
        tests[population].p_value[first, second] if population in tests else [None] * len(first)
        for population in (NEW_DATA_SETS, NEW_QUERIES)
    )
    cells = names[first], names[second], means[first] - means[second], p_data_sets, p_queries
    columns = *cells, gaps[first, second], result.nemenyi[first, second]
    rows["pairs"] += [
        (metric, *row) for row in zip(*columns, holm + [None] * (len(first) - len(holm)), strict=True)
    ]


_FEWEST_PERMUTATIONS = 4_999
_MOST_PERMUTED = 1 << 25  # ranks in all permutations; up to 335 ranks have 100,000


def compare_data_sets(
    data_sets: Scores | Mapping[str, Comparisons],
    systems: Sequence[str] = (),
    metrics: str | Metric | Sequence[str | Metric] = (),
    *,
    only: Sequence[str] = (),
    missing: Missing = "refuse",
    test: Test | None = None,
) -> DataSetComparison:
    """Compare systems over data sets: the ranks that they may have, and which cannot be told apart.

    Args:
        data_sets: `Scores` whose rows are data sets, as `read_scores` reads a table of data sets by
            systems or a folder of MTEB's results; or for each data set by name what `compare` gives.
        systems: systems to compare, the baseline first; by default all, without a baseline.
        metrics: metrics of the scores; by default the usual ones that all have, else all.
        only: Compare over these data sets alone; by default over all.
        missing: Systems that lack a data set: stop with an error, leave out these systems, or leave
            out these data sets for all systems.
        test: the level of all intervals together, and the seed, of scores; comparisons have their own.

    Raises:
        InputError: tables that cannot be read; systems lack data sets; comparisons that differ.
        UsageError: unknown names; fewer than two data sets or systems.

    >>> from rankgate import read_scores
    >>> table = {"a": {}, "b": {}}
    >>> for task in range(8):
    ...     table["a"][f"task {task}"] = {"AP": 0.5 + task / 100}
    ...     table["b"][f"task {task}"] = {"AP": 0.4 + task % 3 / 100}
    >>> compare_data_sets(read_scores(table)).intervals.select("system", "rank", "low", "high").rows()
    [('a', 1, 1, 1), ('b', 2, 2, 2)]
    """
    rules = test or Test()
    if not isinstance(data_sets, Scores):
        if systems or metrics or only or missing != "refuse":
            problem = "systems, metrics, only and missing are for scores; compare has them for each data set."
            raise UsageError(problem, code="unused-option")
        return DataSetComparison.from_comparisons(data_sets, seed=rules.seed)
    asked = (metrics,) if isinstance(metrics, str) or not isinstance(metrics, Sequence) else metrics
    return DataSetComparison.from_scores(data_sets, systems, asked, only=only, missing=missing, test=rules)


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
