"""The error of a difference for other queries, raters, judges, prompts and snapshots at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.core.present.result import Notice, run_notices
from rankgate.core.progress import step
from rankgate.data.collection import OF_SAMPLES, OF_TASKS, Collection
from rankgate.data.repeated import Repeated
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.values import values_of
from rankgate.decisions.uncertainty.total import METRICS, NEXT, SOURCES, TotalError
from rankgate.decisions.unjudged.drawn_values import drawn_values
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.stats.facets import facets as components
from rankgate.measurement.stats.facets import leaning_ends
from rankgate.measurement.stats.interval import t_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.stats.facets import Facets

    Floats = NDArray[np.float64]

QUERIES, SNAPSHOTS, HOLES = "queries", "snapshots", "unjudged documents"
DRAWS = 100
"""Sets of grades of unjudged documents; the variance of their means is known to 14 %."""

CORRELATED = 0.3
"""The correlation of biases for which a wider interval is named."""
_SLIGHT = 0.05  # of the variance; less widens an interval by less than 3 %


def total_error(
    collection: Collection | QrelsLike | Sequence[QrelsLike] | Mapping[str, QrelsLike],
    baseline: RunLike | Sequence[RunLike],
    candidate: RunLike | Sequence[RunLike],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Test | None = None,
    holes: bool = True,
) -> TotalError:
    """Measure a difference, and its error for everything that was drawn to measure it.

    Args:
        collection: judgments, repeated by raters, judges or prompts: several, or by label, as
            ``{"judge:A,prompt:1": qrels}``; every level of a facet goes with every level of the
            others. One set is enough where documents are unjudged. Or a `Collection` with such
            judgments.
        baseline: A run of the baseline; several are snapshots of the same system.
        candidate: A run of the candidate; as many as of the baseline.
        metrics: names such as ``"nDCG@10"``.
        convention: whose rules the numbers follow.
        test: the confidence level of the intervals (level), and the seed of the random numbers.
        holes: Count what unjudged documents could change, by drawn grades.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: nothing is repeated, and nothing is unjudged; a combination of levels is
            missing; other numbers of snapshots; queries that only one system ran.

    >>> one = {f"q{i}": {"a": i % 2, "b": 1} for i in range(12)}
    >>> two = {f"q{i}": {"a": i % 3 % 2, "b": 1} for i in range(12)}
    >>> old = {query: {"a": 2.0, "b": 1.0} for query in one}
    >>> new = {query: {"b": 2.0, "a": 1.0} for query in one}
    >>> result = total_error([one, two], old, new, ["P@1"])
    >>> result.facets
    {'queries': 12, 'judgments': 2}
    """
    collection = Collection.of(collection)  # type: ignore[arg-type]  # judgments, repeated
    collection.refuse("total_error", *OF_TASKS, *OF_SAMPLES)
    test = (test or Test()).only("total_error", "level", "seed")
    judged = Repeated.of(collection.judgments)
    runs = [_snapshots(each) for each in (baseline, candidate)]
    if len(runs[0]) != len(runs[1]):
        raise UsageError(
            f"{len(runs[0])} snapshots of the baseline and {len(runs[1])} of the candidate; give "
            "as many of each.",
            code="invalid-design",
        )
    sizes = {name: len(levels) for name, levels in judged.facets.items() if len(levels) > 1}
    sizes |= {SNAPSHOTS: len(runs[0])} if len(runs[0]) > 1 else {}
    if not sizes and not holes:
        raise _nothing_drawn("nothing but queries was repeated")
    cells = []
    for place, given in judged.qrels.items():
        step(f"scoring by {', '.join(place)}")
        scorer = Scorer.of(replace(collection, judgments=given), metrics, convention)
        cells += [
            _cell(scorer, *both, holes=holes, seed=test.seed) for both in zip(*runs, strict=True)
        ]
    if not sizes and not any(cell.drawn for cell in cells):
        words = "nothing but queries was repeated, and no document that a metric sees is unjudged"
        raise _nothing_drawn(words)
    step("finding the components of the error")
    return _result(cells, sizes, test.level)


def _nothing_drawn(problem: str) -> UsageError:
    return UsageError(
        f"{problem}; give several sets of judgments, or several snapshots of both systems "
        "(compare gives the error of queries).",
        code="invalid-design",
    )


def _snapshots(given: Any) -> list[Any]:  # noqa: ANN401 - a run or several
    several = isinstance(given, list | tuple) and not isinstance(given, str)
    return list(given) if several else [given]


@dataclass(frozen=True)
class _Cell:
    """Both systems by one set of judgments, and one snapshot of each.

    Attributes:
        base, other: both systems, scored.
        queries: (T,).
        values: (2, T, M) of both systems, NaN where undefined; those of queries with unjudged
            documents are means over drawn grades.
        drawn: by metric the queries with unjudged documents, H of them, and (H, S) differences
            under drawn grades.
    """

    base: ScoredRun
    other: ScoredRun
    queries: list[str]
    values: Floats
    drawn: Mapping[str, tuple[list[str], Floats]]

    def spread(self, metric: str, queries: Sequence[str]) -> float:
        """The variance of the mean difference over drawn grades."""
        if metric not in self.drawn:
            return 0.0
        names, deltas = self.drawn[metric]
        own = set(queries)
        rows = [i for i, name in enumerate(names) if name in own]
        means = deltas[rows].sum(axis=0) / max(len(queries), 1)
        return float(means.var(ddof=1)) if rows else 0.0


def _cell(scorer: Scorer, one: Any, two: Any, *, holes: bool, seed: int) -> _Cell:  # noqa: ANN401
    base, other = scorer.scored(one), scorer.scored(two)
    pair = values_of(base, other, "refuse")
    values = np.stack([pair.baseline, pair.candidate])
    drawn: dict[str, tuple[list[str], Floats]] = {}
    if holes:
        place = {query: i for i, query in enumerate(pair.query_ids)}
        selection = scorer.collection.selection or "unknown"
        drawn_grades = drawn_values(
            scorer, base, other, draws=DRAWS, seed=seed, selection=selection
        )
        for label, found in drawn_grades.items():
            names = [str(query) for query in found.query_ids]
            rows, column = [place[name] for name in names], base.metrics.index(label)
            values[0, rows, column] = found.baseline.mean(axis=1)
            values[1, rows, column] = found.candidate.mean(axis=1)
            drawn[label] = names, found.candidate - found.baseline
    return _Cell(base, other, pair.query_ids, values, drawn)


def _result(cells: Sequence[_Cell], sizes: Mapping[str, int], level: float) -> TotalError:
    first = cells[0]
    labels = first.base.metrics
    rows: dict[str, list[dict[str, object]]] = {"metrics": [], "sources": [], "next": []}
    left_out, used = 0, 0
    notices: list[Notice] = []
    every = sorted(set().union(*(cell.queries for cell in cells)))
    for column, label in enumerate(labels):
        queries, values = _values(cells, column)
        left_out, used = max(left_out, len(every) - len(queries)), max(used, len(queries))
        if len(queries) < 2:
            rows["metrics"].append({"metric": label, "queries": len(queries)})
            continue
        cube = (values[1] - values[0]).reshape(len(queries), *sizes.values())
        found = components(cube)
        holes = float(np.mean([cell.spread(label, queries) for cell in cells]))
        low, high = leaning_ends(cube, found, level, holes)
        raters = [axis for axis, name in enumerate(sizes, 1) if name != SNAPSHOTS]
        shared = found.correlated(raters, CORRELATED)
        if shared > _SLIGHT * (found.error**2 + holes):
            wide = leaning_ends(cube, found, level, holes + shared)
            notices.append(_correlated(label, ", ".join(list(sizes)[axis - 1] for axis in raters),
                                       wide))  # fmt: skip
        naive = t_interval(cube.reshape(len(queries), -1).mean(axis=1), level)
        reach = float(naive.high[0] - naive.low[0]) / 2
        means = values.mean(axis=(1, 2))
        rows["metrics"].append({
            "metric": label, "queries": len(queries), "baseline": float(means[0]),
            "candidate": float(means[1]), "delta": found.mean, "low": low, "high": high,
            "error": float(np.sqrt(found.error**2 + holes)), "naive_low": float(naive.low[0]),
            "naive_high": float(naive.high[0]),
            "naive_error": reach / _quantile(len(queries) - 1, level),
        })  # fmt: skip
        rows["sources"] += _sources(label, found, (QUERIES, *sizes), holes)
        rows["next"] += _next(label, found, (QUERIES, *sizes), holes)
    lacking = tuple(label for label in labels if any(cell.drawn and label not in cell.drawn
                                                     for cell in cells))  # fmt: skip
    return TotalError(
        first.base.name, first.other.name, first.base.convention, {QUERIES: used, **sizes},
        frame(rows["metrics"], METRICS), frame(rows["sources"], SOURCES),
        frame(rows["next"], NEXT), level, left_out, lacking, (*_notices(cells), *notices),
    )  # fmt: skip


def _correlated(label: str, names: str, ends: tuple[float, float]) -> Notice:
    """What a common bias of raters, judges or prompts would make of an interval."""
    text = (
        f"{label}: {names}: their biases are taken as independent; what they have in common does "
        f"not show. If it makes them correlate by {CORRELATED}, the interval is "
        f"[{ends[0]:+.4f}, {ends[1]:+.4f}]"
    )
    return Notice("correlated-biases", text, label)


def _notices(cells: Sequence[_Cell]) -> tuple[Notice, ...]:
    """The cautions of each run by each set of judgments; the first text of each code."""
    notices: dict[tuple[str, str], Notice] = {}
    for cell in cells:
        for run in (cell.base, cell.other):
            for notice in run_notices(run.name, run.cautions):
                notices.setdefault((notice.subject, notice.code), notice)
    return tuple(notices.values())


def _quantile(df: int, level: float) -> float:
    from rankgate.measurement.stats.interval import student_quantile

    return student_quantile(df, (1 + level) / 2)


def _values(cells: Sequence[_Cell], column: int) -> tuple[list[str], Floats]:
    """The queries with a value in every cell, and (2, T, C) their values."""
    tables = [dict(zip(cell.queries, cell.values[:, :, column].T, strict=True)) for cell in cells]
    known = [
        {query for query, pair in table.items() if not np.isnan(pair).any()} for table in tables
    ]
    queries = sorted(set.intersection(*known))
    values = np.array([[table[query] for query in queries] for table in tables])
    return queries, values.reshape(len(tables), len(queries), 2).transpose(2, 1, 0)


def _sources(
    label: str, found: Facets, names: Sequence[str], holes: float
) -> list[dict[str, object]]:
    total = float(found.shares.sum()) + holes
    rows: list[dict[str, object]] = [
        {
            "metric": label,
            "source": " × ".join(names[axis] for axis in effect),
            "levels": found.sizes[effect[0]] if len(effect) == 1 else None,
            "share": float(share) / total if total else 0.0,
        }
        for effect, share in zip(found.effects, found.shares, strict=True)
    ]
    if holes:
        rows.append({"metric": label, "source": HOLES, "levels": None, "share": holes / total})
    return sorted(rows, key=lambda row: -float(str(row["share"])))


def _next(label: str, found: Facets, names: Sequence[str], holes: float) -> list[dict[str, object]]:
    now = float(np.sqrt(found.error**2 + holes))
    rows: list[dict[str, object]] = []
    for axis, name in enumerate(names):
        error = float(np.sqrt(found.error_with(axis, 2 * found.sizes[axis]) ** 2 + holes))
        rows.append({"metric": label, "facet": name, "levels": 2 * found.sizes[axis],
                     "error": error, "less": 1 - error / now if now else 0.0})  # fmt: skip
    if holes:
        rows.append({"metric": label, "facet": HOLES, "levels": None, "error": found.error,
                     "less": 1 - found.error / now})  # fmt: skip
    return sorted(rows, key=lambda row: -float(str(row["less"])))
