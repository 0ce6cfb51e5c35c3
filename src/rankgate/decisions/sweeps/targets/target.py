"""The target of a sweep: it takes a point, and gives a run."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.decisions.sweeps.timing import Timing

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.decisions.sweeps.dials import Dial, Point

UNSET = object()
"""The present value of a dial that has none."""


class SweepInterrupted(Exception):  # noqa: N818 - it is no fault
    """The sweep is interrupted while another thread measures a point."""


@dataclass(frozen=True)
class PointRun:
    """The run of one point, or its failure.

    Attributes:
        run: its rankings; None where it failed.
        problem: the reason why it failed.
        latency: quantiles in milliseconds, where the target measures them.
        file: of the run, where there is one.
        empty: True if every query was answered, and all without results.
        unfinished: True if queries were not sent, as the engine may be down.
    """

    run: Run | None
    problem: str = ""
    latency: Mapping[str, float | None] = field(default_factory=dict)
    file: Path | None = None
    unfinished: bool = False
    empty: bool = False


class Target(ABC):
    """The target of a sweep.

    Attributes:
        name: of the engine, fusion or command.
        kind: engine, fusion or command.
    """

    name: str
    kind: str

    @abstractmethod
    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """The problem of a dial or of one of its values; empty if there is none.

        Args:
            dial: the dial.
            values: the values that the sweep will try, as far as they are known.
            elsewhere: True if a step of the set-up uses the dial.
        """

    @abstractmethod
    def current(self, name: str) -> Any:
        """The present value of a dial, or `UNSET`."""

    @property
    def known(self) -> Mapping[str, Any]:
        """Values of names in double braces that are no dials."""
        return {}

    @property
    def names(self) -> set[str]:
        """Names in double braces that need a dial."""
        return set()

    @property
    def query_ids(self) -> frozenset[str] | None:
        """The queries of every point; None if the runs decide."""
        return None

    @abstractmethod
    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on, as plain values."""

    def stored(self, path: Path) -> PointRun | None:  # noqa: ARG002 - not every target keeps runs
        """The run of an earlier call, if it is complete."""
        return None

    @abstractmethod
    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point.

        Args:
            point: a value for each dial.
            path: the file of the run, without a suffix.
            watch: called often; raises `SweepInterrupted` if the sweep is interrupted.
        """

    def time(self, points: Sequence[Point], seed: int) -> Timing:  # noqa: ARG002 - not every target has latencies
        """The latencies of points, queried in turn.

        Args:
            points: those with figures.
            seed: of the order.
        """
        return Timing()

    def answers(self) -> bool:
        """True if the target answers at all; a check after an unfinished point."""
        return True


def digest(values: Any) -> str:
    """A hash of plain values."""
    text = json.dumps(values, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
