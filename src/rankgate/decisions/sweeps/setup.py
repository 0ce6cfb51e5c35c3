"""Set a point up, and undo the set-up in any case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.sweeps.settings import Step
from rankgate.decisions.sweeps.steps import carry_out, names_in, with_values

if TYPE_CHECKING:
    from rankgate.data.streams.journal import Journal
    from rankgate.decisions.sweeps.dials import Point
    from rankgate.engines.engine import Engine

JOURNAL = "undo.jsonl"
"""The file of steps to undo, in the folder of a sweep."""


class SetupError(Exception):
    """A step of a set-up failed, and the point with it."""


@dataclass(frozen=True)
class Setup:
    """The steps that prepare a point, and those that undo it.

    Attributes:
        steps: in order.
        undo: in order; without any the steps are carried out with the values of the baseline.
        baseline: a value for each dial.
        known: values of names that are no dials.
        engine: whose server or database steps are for.
        folder: the working directory of commands.
    """

    steps: Sequence[Step] = ()
    undo: Sequence[Step] = ()
    baseline: Mapping[str, Any] = ()  # type: ignore[assignment]
    known: Mapping[str, Any] = ()  # type: ignore[assignment]
    engine: Engine | None = None
    folder: Path = Path()

    @property
    def names(self) -> set[str]:
        """The names in double braces that its steps use."""
        return {name for step in (*self.steps, *self.undo) for name in names_in(step)}

    def of(self, point: Point) -> list[Step]:
        """The steps of a point."""
        return [with_values(step, {**self.known, **point}) for step in self.steps]

    def identity(self, point: Point) -> list[dict[str, Any]]:
        """The steps of a point as plain values."""
        return [asdict(step) for step in self.of(point)]

    @contextmanager
    def done(self, point: Point, journal: Journal | None) -> Iterator[None]:
        """Set a point up, and undo the set-up at the end.

        The steps to undo are on disk before the first step, so that another program can undo them.

        Raises:
            SetupError: a step failed; earlier steps are undone.
            UsageError: it cannot be undone.
        """
        if not self.steps:
            yield
            return
        assert journal is not None
        undo_values = {**self.known, **(point if self.undo else self.baseline)}
        undo = [with_values(step, undo_values) for step in self.undo or self.steps]
        journal.add({"undo": [asdict(step) for step in undo]})
        try:
            for step in self.of(point):
                if problem := carry_out(step, self.engine, self.folder):
                    raise SetupError(problem)
            yield
        finally:
            self._undone(undo, journal)

    def finish(self, journal: Journal) -> bool:
        """Undo the steps that an earlier program left; return True if there were any.

        Raises:
            UsageError: it cannot be undone.
        """
        last = journal.rows[-1] if journal.rows else {}
        if "undo" not in last:
            return False
        self._undone([Step(**step_values) for step_values in last["undo"]], journal)
        return True

    def _undone(self, undo: Sequence[Step], journal: Journal) -> None:
        for step in undo:
            if problem := carry_out(step, self.engine, self.folder, undo=True):
                raise UsageError(
                    f"the set-up of a point cannot be undone: {problem}; {journal.path} keeps what "
                    "is left to undo, and the same command tries it first.",
                    code="undo-failed",
                )
        journal.add({"undone": True})
