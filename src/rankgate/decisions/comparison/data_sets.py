"""Compare systems over several data sets: one table of means, and tests whose sample is the data sets.

Within a data set, differences are those of its own comparison. Over data sets, systems are ranked
in each of them (Friedman 1937), and pairs of mean ranks are compared (Nemenyi 1963), or each system
with the baseline (Holm 1979), as Demšar (JMLR 7, 2006) recommends.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from math import exp, lgamma
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, SYSTEM
from rankgate.core.present.number_formats import format_p_value
from rankgate.decisions.comparison.comparison_columns import FRIEDMAN
from rankgate.decisions.comparison.comparison_tables import marked_figures

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.decisions.comparison.comparison import Comparisons

_WORSE = pl.List(pl.String)
VALUES = Columns(
    "One row per metric, data set and system.",
    METRIC,
    Column("data_set", pl.String, "the data set"),
    SYSTEM,
    Column("value", pl.Float64, "the mean over the queries of the data set"),
    Column("worse", _WORSE, "the systems that the comparison of the data set finds worse"),
)
SYSTEMS = Columns(
    "One row per metric and system.",
    METRIC,
    SYSTEM,
    Column("macro_mean", pl.Float64, "the mean of the data sets, each with the same weight"),
    Column("mean_rank", pl.Float64, "the mean rank within data sets; 1 is the best", ".2f"),
    Column(
        "worse",
        _WORSE,
        "the systems that are worse by Nemenyi's test, if p_permuted of the metric is significant too",
    ),
)
PAIRS = Columns(
    "One row per metric and pair of systems.",
    METRIC,
    Column("first", pl.String, "the first system"),
    Column("second", pl.String, "the second system"),
    Column(
        "difference",
        pl.Float64,
        "mean rank of the first − that of the second; below 0 the first is better",
        "+.2f",
        header="difference\nof mean ranks",
    ),
    Column(
        "p_nemenyi",
        pl.Float64,
        "the p-value of Nemenyi's test, corrected for all pairs",
        "p",
        header="p\n(Nemenyi)",
    ),
    Column(
        "p_holm",
        pl.Float64,
        "the p-value of the normal test after Holm's correction over the pairs with the baseline; null for "
        "other pairs",
        "p",
        header="p\n(Holm, baseline)",
    ),
)
TESTS = Columns(
    "One row per metric: Friedman's test of systems ranked within data sets.",
    FRIEDMAN,
    Column(
        "p_permuted",
        pl.Float64,
        "the p-value of χ² by permuting ranks within data sets",
        "p",
        header="p by\npermutation",
    ),
    Column(
        "lowest_p",
        pl.Float64,
        "the smallest p-value that a pair can have with so many data sets and systems, by both tests",
        "p",
        header="smallest p\nof a pair",
    ),
)
SAMPLES = 100_000


@dataclass(frozen=True)
class DataSetComparison(Result):
    """Systems compared over several data sets.

    Attributes:
        data_sets: their names.
        systems: their names, the baseline first.
        convention: name, axes and hash, the same for all data sets.
        test: the test within data sets.
        level: 1 minus the level of all tests.
        seed, samples: of the permutations.
        lower: the metrics that are better when lower.
        values: the columns of `VALUES`.
        ranks: the columns of `SYSTEMS`.
        pairs: the columns of `PAIRS`.
        tests: the columns of `TESTS`.
    """

    kind: ClassVar[str] = "data_set_comparison"
    label: ClassVar[str] = "Systems over data sets"
    document_from: ClassVar[str] = (
        "rankgate.decisions.comparison.documents.data_set_document:data_set_document"
    )
    order: ClassVar[int] = 4
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "values": VALUES,
        "ranks": SYSTEMS,
        "pairs": PAIRS,
        "tests": TESTS,
    }

    data_sets: tuple[str, ...]
    systems: tuple[str, ...]
    convention: Mapping[str, Any]
    test: str
    level: float
    seed: int
    samples: int
    lower: tuple[str, ...]
    values: pl.DataFrame
    ranks: pl.DataFrame
    pairs: pl.DataFrame
    tests: pl.DataFrame

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
        (reference_name, reference), *others = comparisons.items()
        for name, comparison in others:
            _refuse_difference(reference_name, _settings(reference), name, _settings(comparison))
        _refuse_same_judgments(comparisons)
        first, systems = reference.only, _systems(reference)
        tables: dict[str, list[dict[str, Any]]] = {name: [] for name in cls.SCHEMAS}
        figures = {name: marked_figures(comparison) for name, comparison in comparisons.items()}
        for metric in first.names:
            matrix = np.empty((len(comparisons), len(systems)))
            for row, (name, (means, better, _)) in enumerate(figures.items()):
                places = {system: i for i, system in enumerate(_systems(comparisons[name]))}
                for column, system in enumerate(systems):
                    value = means.get((metric, places[system]))
                    if value is None:
                        problem = f"{system} has no value of {metric}; leave out the system or the metric."
                        raise InputError(problem, source=name, code="missing-value")
                    matrix[row, column] = value
                    worse = [_systems(comparisons[name])[i] for i in better.get((metric, places[system]), ())]
                    worse.sort(key=systems.index)
                    tables["values"].append(
                        {"metric": metric, "data_set": name, "system": system, "value": value, "worse": worse}
                    )
            _add_tests(tables, metric, systems, matrix, metric in first.lower, first.level, seed)
        frames = {name: pl.DataFrame(rows, dict(cls.SCHEMAS[name])) for name, rows in tables.items()}
        test = figures[reference_name][2]
        return cls(
            tuple(comparisons),
            systems,
            first.convention,
            test,
            first.level,
            seed,
            SAMPLES,
            first.lower,
            **frames,
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics."""
        return tuple(self.tests["metric"])

    @property
    def notices(self) -> tuple[Notice, ...]:
        """A warning if no pair of systems could be significant on so few data sets."""
        lowest, alpha = self.tests["lowest_p"][0], 1 - self.level
        if lowest < alpha:
            return ()
        systems = len(self.systems)
        needed = next(n for n in count(len(self.data_sets)) if lowest_p(n, systems) < alpha)
        text = (
            f"{len(self.data_sets)} data sets cannot show a difference of two of {systems} systems: the "
            f"smallest p is {format_p_value(lowest)}, even if all agree; at least {needed} are needed"
        )
        return (Notice("few-data-sets", text),)


def lowest_p(data_sets: int, systems: int) -> float:
    """The smallest p-value of a pair: that of the best and the worst of systems ranked alike everywhere.

    It is the greater one of Nemenyi's p and of the exact p of Friedman's test, (S!)^(1 − D).
    """
    from rankgate.measurement.stats.studentized_range import tail

    gap = (systems - 1) / np.sqrt(systems * (systems + 1) / (12 * data_sets))
    nemenyi = float(tail(np.array([gap]), systems)[0])
    return max(nemenyi, exp((1 - data_sets) * lgamma(systems + 1)))


def _add_tests(
    tables: dict[str, list[dict[str, Any]]],
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

    result = friedman(-matrix if is_lower_better else matrix, level)
    p_permuted = permuted_friedman(matrix, samples=SAMPLES, seed=seed)
    (data_sets, size), alpha, ranks = matrix.shape, 1 - level, result.ranks
    z = np.abs(ranks[1:] - ranks[0]) / np.sqrt(size * (size + 1) / (6 * data_sets))
    holm = correct(2 * ndtr(-z))
    is_worse = (p_permuted < alpha) & (result.nemenyi < alpha) & (ranks > ranks[:, None])
    names = np.array(systems, object)
    tables["ranks"] += [
        {"metric": metric, "system": system, "macro_mean": mean, "mean_rank": rank, "worse": [*names[worse]]}
        for system, mean, rank, worse in zip(systems, matrix.mean(axis=0), ranks, is_worse, strict=True)
    ]
    tables["pairs"] += [
        {
            "metric": metric,
            "first": systems[i],
            "second": systems[j],
            "difference": ranks[i] - ranks[j],
            "p_nemenyi": result.nemenyi[i, j],
            "p_holm": None if i else holm[j - 1],
        }
        for i, j in zip(*np.triu_indices(size, 1), strict=True)
    ]
    tests = {name: getattr(result, name) for name in list(FRIEDMAN)[1:]}
    lowest = lowest_p(data_sets, size)
    tables["tests"].append({"metric": metric, **tests, "p_permuted": p_permuted, "lowest_p": lowest})


def _systems(comparison: Comparisons) -> tuple[str, ...]:
    names = (single.candidate.name for single in comparison.comparisons)
    return comparison.only.baseline.name, *names


def _settings(comparison: Comparisons) -> dict[str, Any]:
    """What must be the same on all data sets, by what it is called in errors."""
    first = comparison.only
    return {
        "systems": set(_systems(comparison)),
        "metrics": set(first.names),
        "baseline": first.baseline.name,
        "convention": f"{first.convention['name']} ({str(first.convention['hash'])[:8]})",
        "test": first.test,
        "correction": first.correction,
        "level": first.level,
    }


def _refuse_difference(
    reference_name: str, reference: dict[str, Any], name: str, settings: dict[str, Any]
) -> None:
    for setting, expected in reference.items():
        actual = settings[setting]
        problem = f"has the {setting} {actual}, and {reference_name} {expected}"
        if isinstance(expected, set):
            missing, more = (", ".join(sorted(names)) for names in (expected - actual, actual - expected))
            problem = f"lacks the {setting} {missing}, which {reference_name} has"
            if not missing:
                problem = f"has the {setting} {more}, which {reference_name} lacks"
        if actual != expected:
            remedy = f"compare with the same {setting} on every data set"
            raise InputError(f"{problem}; {remedy}.", source=name, code="data-sets-differ")


def _refuse_same_judgments(comparisons: Mapping[str, Comparisons]) -> None:
    names: dict[str, str] = {}
    for name, comparison in comparisons.items():
        other = names.setdefault(comparison.only.qrels_sha256 or name, name)
        if other != name:
            problem = f"it has the judgments of {other}; a data set counts once."
            raise InputError(problem, source=name, code="data-set-twice")
