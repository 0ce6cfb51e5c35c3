"""Measure points: set up, take a run, score it, keep what is known of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Self

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.streams.journal import Journal
from rankgate.decisions.sweeps.dials import words
from rankgate.decisions.sweeps.setup import JOURNAL, SetupError
from rankgate.decisions.sweeps.targets.target import Stopped, Taken, digest
from rankgate.decisions.sweeps.timing import Timing, read_timing, write_timing
from rankgate.engines.requests.workers import Workers

if TYPE_CHECKING:
    import polars as pl

    from rankgate.decisions.sweeps.dials import Point
    from rankgate.decisions.sweeps.plan import Plan

_ENDING = frozenset({"undo-failed", "cannot-write", "missing-extra"})
"""Errors that no other point would be without."""

_LETTERS = 16  # of the hash of a point in names of files


@dataclass(frozen=True)
class Measured:
    """A point, measured.

    Attributes:
        point: a value for each dial.
        key: a hash of all that its run depends on.
        state: ``ok``, ``empty``, ``failed`` or ``not_run``.
        problem: why it failed or was not run.
        latency: quantiles in milliseconds.
        file: of its run.
        scores: ``query_id``, ``metric``, ``value``, ``why``; None where it failed.
        cautions: as of `Counts`.
    """

    point: Point
    key: str
    state: str
    problem: str = ""
    latency: Mapping[str, float | None] = field(default_factory=dict)
    file: Path | None = None
    scores: pl.DataFrame | None = None
    cautions: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Measuring:
    """Measures points of a plan; stops where the engine is down.

    Attributes:
        plan: the sweep.
        folder: where runs are kept.
        total: how many points there will be.
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
        """Undo what an earlier program left, and keep others out of the folder."""
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

    def all(self, points: Sequence[Point]) -> list[Measured]:
        """Measure points, in parallel where no set-up forbids it; in their order.

        Raises:
            UsageError: a set-up that cannot be undone; a file that cannot be written.
            KeyboardInterrupt: after the points under way stopped; what was answered is kept.
        """
        workers = 1 if self.plan.setup.steps else min(self.plan.settings.workers, len(points))
        if workers <= 1:
            return [self._one(point) for point in points]
        found: dict[int, Measured] = {}
        left = iter(list(enumerate(points)))

        def work() -> None:
            while not self._stop.is_set():
                with self._lock:
                    place, point = next(left, (-1, {}))
                if place < 0:
                    return
                found[place] = self._one(point)

        threads = Workers(stop=self._stop)
        threads.run(work, workers)
        return [found[place] for place in range(len(points))]

    def time(self, points: Sequence[Measured]) -> Timing:
        """The latencies of points with figures, asked in turn; those of an earlier call if kept.

        Raises:
            KeyboardInterrupt: the next call measures them anew.
        """
        if self.down or not points:
            return Timing(problem=self.down)
        settings = self.plan.settings
        key = digest([settings.seed, *(each.key for each in points)])
        if known := read_timing(self.folder, key):
            return known
        step("latencies, all points in turn")
        timing = self.plan.target.time([each.point for each in points], settings.seed)
        if timing.latencies is not None:
            write_timing(self.folder, key, timing)
        return timing

    def _one(self, point: Point) -> Measured:
        key = digest([self.plan.target.identity(point), self.plan.setup.identity(point)])[:_LETTERS]
        if self.down:
            return Measured(point, key, "not_run", self.down)
        with self._lock:
            step(f"{words(point)}{self._left()}")
        try:
            taken = self._taken(point, key)
        except SetupError as error:
            taken = Taken(None, f"set-up: {error}")
        except RankgateError as error:
            if error.code in _ENDING:
                raise
            taken = Taken(None, error.problem.rstrip("."))
        with self._lock:
            self._done += 1
        if taken.run is None:
            if taken.unfinished and not self.plan.target.answers():
                self.down = f"{self.plan.target.name} does not answer: {taken.problem}"
            state = "empty" if taken.empty else "failed"
            return Measured(point, key, state, taken.problem, taken.latency, taken.file)
        try:
            scored = self.plan.scorer.scored(taken.run)
        except RankgateError as error:
            return Measured(point, key, "failed", error.problem.rstrip("."), taken.latency)
        scores, cautions = scored.scores, scored.cautions
        return Measured(point, key, "ok", "", taken.latency, taken.file, scores, cautions)

    def _taken(self, point: Point, key: str) -> Taken:
        place = self.folder / key
        if known := self.plan.target.stored(place):
            return known
        with self.plan.setup.done(point, self._journal):
            return self.plan.target.take(point, place, self._watch)

    def _watch(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def _left(self) -> str:
        """The time that the other points will take, in words."""
        if not self._done:
            return ""
        seconds = (time.monotonic() - self._began) / self._done * (self.total - self._done)
        if seconds < 1:
            return ""
        return f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"
