"""Measure the points of a sweep, and collect their values on the same queries.

Measuring a point means to set it up, take a run, score it, and save the result. The values of
all points are on the same queries.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.streams.journal import Journal
from rankgate.decisions.sweeps.choice import MeanInterval
from rankgate.decisions.sweeps.dials import point_text
from rankgate.decisions.sweeps.point_latencies import Timing, read_timing, write_timing
from rankgate.decisions.sweeps.setup_steps import JOURNAL, SetupError
from rankgate.decisions.sweeps.targets import PointRun, SweepInterrupted, digest
from rankgate.engines.requests.workers import Workers
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.weighted_means import QueryClusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.query_latencies import Bounds
    from rankgate.decisions.sweeps.dials import Point
    from rankgate.decisions.sweeps.sweep_plan import Plan
    from rankgate.decisions.sweeps.targets import Target


_FATAL_CODES = frozenset({"undo-failed", "cannot-write", "missing-extra"})
"""Errors that all other points would have too."""

_HASH_LETTERS = 16  # letters of a point's hash in names of files


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured point.

    Attributes:
        point: a value for each dial; None where the dial does not apply.
        key: a hash of all inputs of the point's run.
        state: ``ok``, ``empty``, ``failed``, ``not_run`` or ``dropped`` (it left a race).
        problem: the reason why the point failed, was not run, or was dropped.
        latency: bounds of quantiles in milliseconds.
        file: the file of the point's run.
        scores: ``query_id``, ``metric``, ``value``, ``why``; None if the point failed.
        cautions: as in `Counts`.
        judged: ``query_id`` and ``judged``, the judged share of the first documents; None if it failed.
    """

    point: Point
    key: str
    state: str
    problem: str = ""
    latency: Mapping[str, Bounds] = field(default_factory=dict)
    file: Path | None = None
    scores: pl.DataFrame | None = None
    cautions: Mapping[str, str] = field(default_factory=dict)
    judged: pl.DataFrame | None = None

    @property
    def unjudged(self) -> float | None:
        """The mean share of unjudged documents among the first ones; None without lists."""
        judged = None if self.judged is None else self.judged["judged"].mean()
        return 1.0 - judged if isinstance(judged, float) else None


@dataclass
class PointMeasurer:
    """Measures points of a plan; stops if the engine is down.

    Attributes:
        plan: the sweep.
        folder: the folder of the runs.
        total: the planned number of points.
    """

    plan: Plan
    folder: Path
    total: int
    down: str = ""
    _journal: Journal | None = None
    _stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _began: float = field(default_factory=time.monotonic)
    _done: int = 0

    def __enter__(self) -> Self:
        """Undo the set-up that an earlier process left, and lock the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal.open(self.folder / JOURNAL)
        try:
            self.plan.setup.finish(self._journal)
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()

    def all(self, points: Sequence[Point], query_ids: Collection[str] | None = None) -> list[MeasuredPoint]:
        """Measure points, in parallel if they have no set-up; results are in the order of points.

        Args:
            points: the points.
            query_ids: the queries to ask and to score; all by default.

        Raises:
            UsageError: a set-up that cannot be undone; a file that cannot be written.
            KeyboardInterrupt: after running points have stopped; their answers are kept.
        """
        workers = 1 if self.plan.setup.steps else min(self.plan.settings.workers, len(points))
        target = self.plan.target if query_ids is None else self.plan.target.with_queries(query_ids)
        if workers <= 1:
            return [self._measure_point(point, target, query_ids) for point in points]
        measured_of_index: dict[int, MeasuredPoint] = {}
        remaining = iter(list(enumerate(points)))

        def work() -> None:
            while not self._stop.is_set():
                with self._lock:
                    index, point = next(remaining, (-1, {}))
                if index < 0:
                    return
                measured_of_index[index] = self._measure_point(point, target, query_ids)

        threads = Workers(stop=self._stop)
        threads.run(work, workers)
        return [measured_of_index[index] for index in range(len(points))]

    def time(self, points: Sequence[MeasuredPoint], query_ids: Collection[str] | None = None) -> Timing:
        """The latencies of points with figures, queried in turn; stored latencies are reused.

        Raises:
            KeyboardInterrupt: the next call measures them again.
        """
        if self.down or not points:
            return Timing(problem=self.down)
        settings = self.plan.settings
        key = digest([settings.seed, *(measured.key for measured in points)])
        target = self.plan.target if query_ids is None else self.plan.target.with_queries(query_ids)
        if stored_timing := read_timing(self.folder, key):
            return stored_timing
        step("latencies, all points in turn")
        settings_of_points = [self.plan.settings_at(measured.point) for measured in points]
        timing = target.time(settings_of_points, settings.seed)
        if timing.queries:
            write_timing(self.folder, key, timing)
        return timing

    def _measure_point(
        self, point: Point, target: Target, query_ids: Collection[str] | None
    ) -> MeasuredPoint:
        settings = self.plan.settings_at(point)
        key = digest([target.identity(settings), self.plan.setup.identity(settings)])
        key = key[:_HASH_LETTERS]
        if self.down:
            return MeasuredPoint(point, key, "not_run", self.down)
        with self._lock:
            step(f"{point_text(point)}{self._remaining_time()}")
        try:
            point_run = self._take_run(target, settings, key)
        except SetupError as error:
            point_run = PointRun(None, f"set-up: {error}")
        except RankgateError as error:
            if error.code in _FATAL_CODES:
                raise
            point_run = PointRun(None, error.problem.rstrip("."))
        with self._lock:
            self._done += 1
        if point_run.run is None:
            if point_run.unfinished and not self.plan.target.answers():
                self.down = f"{self.plan.target.name} does not answer: {point_run.problem}"
            state = "empty" if point_run.empty else "failed"
            return MeasuredPoint(point, key, state, point_run.problem, point_run.latency, point_run.file)
        try:
            scored_system = self.plan.scorer.scored(point_run.run)
        except RankgateError as error:
            return MeasuredPoint(point, key, "failed", error.problem.rstrip("."), point_run.latency)
        scores, judged = scored_system.scores, scored_system.queries.select("query_id", "judged")
        if query_ids is not None:
            is_asked = pl.col("query_id").is_in(list(query_ids))
            scores, judged = scores.filter(is_asked), judged.filter(is_asked)
        cautions = scored_system.cautions
        return MeasuredPoint(
            point, key, "ok", "", point_run.latency, point_run.file, scores, cautions, judged
        )

    def _take_run(self, target: Target, settings: Mapping[str, Any], key: str) -> PointRun:
        path = self.folder / key
        if stored_run := target.stored(path):
            return stored_run
        with self.plan.setup.applied(settings, self._journal):
            return target.take(settings, path, self._watch)

    def _watch(self) -> None:
        if self._stop.is_set():
            raise SweepInterrupted

    def _remaining_time(self) -> str:
        """The remaining time for the other points, as text."""
        if not self._done:
            return ""
        seconds = (time.monotonic() - self._began) / self._done * (self.total - self._done)
        if seconds < 1:
            return ""
        return f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"


@dataclass(frozen=True)
class ValueTable:
    """Values of the points with figures, on the same queries.

    Attributes:
        values: the values by metric, ``(n, P)``.
        left_out: the number of judged queries that no point has.
        substituted: the number of queries without a value at some points.
        clustered: the number of queries, if they form fewer clusters; 0 if each query is its own
            cluster.
        problem: the reason why clusters of these sizes allow no decision; empty if they allow one.
        query_ids: the queries of the first metric.
    """

    values: dict[str, Floats]
    left_out: int
    substituted: int
    clustered: int = 0
    problem: str = ""
    query_ids: tuple[str, ...] = ()


def align_values(
    points: Sequence[MeasuredPoint],
    labels: Sequence[str],
    lower: Sequence[str],
    clusters: Mapping[str, str] | None = None,
) -> ValueTable:
    """The values of all points on the queries that at least one point has, or on their clusters.

    Args:
        points: points with values.
        labels: the labels of the metrics.
        lower: metrics that are better when lower.
        clusters: the clusters of queries, by id.
    """
    values_by_metric: dict[str, Floats] = {}
    if not points:
        return ValueTable({label: np.empty((0, 0)) for label in labels}, 0, 0)
    wide_scores = [
        point.scores.pivot("metric", index="query_id", values="value")  # type: ignore[union-attr]
        for point in points
    ]
    ids = pl.concat([frame["query_id"] for frame in wide_scores]).unique().sort()
    absent = np.column_stack([_is_missing(point, ids) for point in points])
    is_present = ~absent.all(axis=1)
    frame = pl.DataFrame({"query_id": ids})
    joined = [frame.join(scores, "query_id", how="left", maintain_order="left") for scores in wide_scores]
    substituted, clustered, problem, query_ids = 0, 0, "", None
    for label in labels:
        values = np.column_stack([joined_scores[label].to_numpy() for joined_scores in joined]).astype(float)
        is_unknown = np.isnan(values)
        is_kept = is_present & ~is_unknown.all(axis=1)
        is_partial = is_kept & is_unknown.any(axis=1)
        if label in lower:
            is_kept &= ~is_partial
        values_by_metric[label] = np.where(is_unknown, 0.0, values)[is_kept]
        kept_ids = ids.filter(pl.Series(is_kept)).to_list()
        query_ids = query_ids or tuple(kept_ids)
        units = QueryClusters.from_queries(kept_ids, clusters or {})
        if len(units.first) < len(values_by_metric[label]):
            clustered = max(clustered, len(values_by_metric[label]))
            problem = problem or (units.problem(values_by_metric[label][:, 0]) or ("", ""))[1]
            values_by_metric[label] = units.values(values_by_metric[label])
        substituted = max(substituted, int(is_partial.sum()))
    left_out = int((~is_present).sum())
    return ValueTable(values_by_metric, left_out, substituted, clustered, problem, query_ids or ())


def _is_missing(measured: MeasuredPoint, ids: pl.Series) -> NDArray[np.bool_]:
    """(Q,) True for queries that the run of a point lacks."""
    assert measured.scores is not None
    missing = measured.scores.filter(pl.col("why") == "missing")["query_id"]
    return ids.is_in(missing.implode()).to_numpy()


def mean_value(values: Floats, level: float) -> MeanInterval:
    """The mean of a column with its interval."""
    mean = float(values.mean()) if len(values) else float("nan")
    if len(values) < 3 or not np.ptp(values):
        return MeanInterval(mean, None, None)
    interval = guarded_interval(values, level)
    return MeanInterval(mean, float(interval.low[0]), float(interval.high[0]))
