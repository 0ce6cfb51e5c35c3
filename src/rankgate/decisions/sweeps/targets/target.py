"""What is swept: it takes a point, and gives a run."""

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
"""What a dial has now where nothing says it."""


class Stopped(Exception):  # noqa: N818 - it is no fault
    """The sweep is interrupted while another thread measures a point."""


@dataclass(frozen=True)
class Taken:
    """What came of one point.

    Attributes:
        run: its rankings; None where it failed.
        problem: why it failed.
        latency: quantiles in milliseconds, where the target measures them.
        file: of the run, where there is one.
        empty: whether every query was answered, and none has a result.
        unfinished: whether queries were not asked, as the engine may be down.
    """

    run: Run | None
    problem: str = ""
    latency: Mapping[str, float | None] = field(default_factory=dict)
    file: Path | None = None
    unfinished: bool = False
    empty: bool = False


class Target(ABC):
    """What is swept.

    Attributes:
        name: of the engine, fusion or command.
        kind: which of these it is.
    """

    name: str
    kind: str

    @abstractmethod
    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """Why a dial or one of its values cannot be; empty if it can.

        Args:
            dial: the dial.
            values: those that are known to be tried.
            elsewhere: whether a step of the set-up uses the dial.
        """

    @abstractmethod
    def current(self, name: str) -> Any:
        """The value that a dial has now, or `UNSET`."""

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
        """The queries that are asked; None where runs say it."""
        return None

    @abstractmethod
    def identity(self, point: Point) -> Mapping[str, Any]:
        """What the run of a point depends on, as plain values."""

    def stored(self, place: Path) -> Taken | None:  # noqa: ARG002 - not every target keeps runs
        """The run of an earlier call, if it is whole."""
        return None

    @abstractmethod
    def take(self, point: Point, place: Path, watch: Callable[[], None]) -> Taken:
        """The run of a point.

        Args:
            point: a value for each dial.
            place: where the run is written, without a suffix.
            watch: called often; raises `Stopped` where the sweep is interrupted.
        """

    def time(self, points: Sequence[Point], seed: int) -> Timing:  # noqa: ARG002 - not every target has latencies
        """The latencies of points that are asked in turn.

        Args:
            points: those with figures.
            seed: of the order.
        """
        return Timing()

    def answers(self) -> bool:
        """Whether it answers at all, asked after a point that is unfinished."""
        return True


def digest(values: Any) -> str:
    """A hash of plain values."""
    words = json.dumps(values, sort_keys=True, default=repr)
    return hashlib.sha256(words.encode()).hexdigest()
