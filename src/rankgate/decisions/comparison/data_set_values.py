"""Systems with one value for each data set, from score tables whose rows are data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun, list_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.decisions.comparison.reported_systems import ReportedTables
    from rankgate.measurement.metrics.metric_declaration import Metric

Missing = Literal["refuse", "systems", "data-sets"]

_MAX_NAMED = 5


@dataclass(frozen=True)
class DataSetValues:
    """Systems with one value of each metric on each data set.

    Attributes:
        means: by metric (D, S) values, NaN where a system lacks a data set.
        data_sets: their names.
        systems: their names.
        lower: the metrics that are better when lower.
        systems_left_out, data_sets_left_out: as of `DataSetComparison`.
    """

    means: Mapping[str, Floats]
    data_sets: tuple[str, ...]
    systems: tuple[str, ...]
    lower: tuple[str, ...]
    systems_left_out: tuple[str, ...] = ()
    data_sets_left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, reported: ReportedTables, metrics: Sequence[str | Metric]) -> Self:
        """Read tables; items of one cluster, such as the subsets of a task, are one data set.

        Raises:
            InputError, UsageError: as `ReportedValues.read`.
        """
        from rankgate.data.query_tags import matching_tags, read_clusters
        from rankgate.decisions.comparison.reported_systems import ReportedValues, stated_metrics

        read = ReportedValues.read(reported.tables, stated_metrics(metrics), directions=reported.directions)
        clusters, systems, values = read.clusters, tuple(read.systems), read.table
        tables = {
            label: values.filter(metric=metric.name).pivot("system", index="query_id", values="value")
            for label, metric in read.metrics.items()
        }
        items = pl.concat([table.select("query_id") for table in tables.values()]).unique().sort("query_id")
        if reported.tags is not None:
            clusters |= read_clusters([matching_tags(reported.tags, items["query_id"])])
        names = [clusters.get(item, item) for item in items["query_id"]]
        data_sets = tuple(dict.fromkeys(names))
        index = {name: d for d, name in enumerate(data_sets)}
        codes = np.array([index[name] for name in names])
        sizes = np.bincount(codes, minlength=len(data_sets))
        means = {}
        for label, table in tables.items():
            values_of_items = items.join(table, "query_id", "left", maintain_order="left").select(systems)
            sums = np.zeros((len(data_sets), len(systems)))
            np.add.at(sums, codes, values_of_items.fill_null(np.nan).to_numpy())
            means[label] = sums / sizes[:, None]
        return cls(means, data_sets, systems, read.lower)

    def select(self, systems: Sequence[str], only: Sequence[str], missing: Missing) -> Self:
        """Keep the named systems and data sets, all with all values.

        Raises:
            InputError: a system lacks a data set, and ``missing`` is ``refuse``.
            UsageError: an unknown name, or fewer than two systems or data sets.
        """
        kept_systems = _positions(systems, self.systems, "system")
        kept_sets = _positions(only, self.data_sets, "data set")
        means = {label: table[np.ix_(kept_sets, kept_systems)] for label, table in self.means.items()}
        is_missing = np.asarray(np.isnan(np.stack([*means.values()])).any(axis=0), np.bool_)
        names = [self.systems[s] for s in kept_systems]
        data_sets = [self.data_sets[d] for d in kept_sets]
        if is_missing.any() and missing == "refuse":
            raise _missing_error(names, data_sets, is_missing)
        keeps_systems = (~is_missing | (missing != "systems")).all(axis=0)
        keeps_sets = (~is_missing | (missing != "data-sets")).all(axis=1)
        for kind, keeps in (("system", keeps_systems), ("data set", keeps_sets)):
            kept_count = int(np.count_nonzero(keeps))
            if kept_count < 2:
                problem = (
                    f"{count_noun(kept_count, kind)} to compare, of {np.size(keeps)} with values; at least "
                    "two are needed. Name fewer data sets, or systems that have them all."
                )
                raise UsageError(problem, code="missing-input")
        return replace(
            self,
            means={label: table[np.ix_(keeps_sets, keeps_systems)] for label, table in means.items()},
            data_sets=tuple(np.array(data_sets, object)[keeps_sets]),
            systems=tuple(np.array(names, object)[keeps_systems]),
            systems_left_out=tuple(np.array(names, object)[~keeps_systems]),
            data_sets_left_out=tuple(np.array(data_sets, object)[~keeps_sets]),
        )


def _positions(names: Sequence[str], score_names: Sequence[str], kind: str) -> list[int]:
    """Where names stand; all positions without names.

    Raises:
        UsageError: an unknown name, or a name twice.
    """
    index = {name: i for i, name in enumerate(score_names)}
    for name in names:
        if name not in index:
            problem = f"unknown {kind} {name!r}; the scores have {list_names(score_names)}."
            raise UsageError(problem, code="unknown-choice")
        if list(names).count(name) > 1:
            raise UsageError(f"the {kind} {name} is named twice.", code="duplicate-name")
    return [index[name] for name in names or score_names]


def _missing_error(
    systems: Sequence[str], data_sets: Sequence[str], is_missing: NDArray[np.bool_]
) -> InputError:
    """The error that names the systems without some data sets, and these."""
    rows = np.flatnonzero(is_missing.any(axis=0)).tolist()
    lines = [
        f"{systems[s]} lacks {list_names([data_sets[d] for d in np.flatnonzero(is_missing[:, s]).tolist()])}"
        for s in rows[:_MAX_NAMED]
    ]
    remainder = f"; and {len(rows) - _MAX_NAMED} more" if len(rows) > _MAX_NAMED else ""
    problem = (
        f"not all of the {len(systems)} systems have all {len(data_sets)} data sets: "
        f"{'; '.join(lines)}{remainder}. Means over different data sets cannot be compared: leave out these "
        "systems (--missing systems) or data sets (--missing data-sets), or name data sets that all have "
        "(--only)."
    )
    return InputError(problem, source="scores", code="missing-value")
