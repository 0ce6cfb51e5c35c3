"""A command that is swept: it writes the run of each point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import RankgateError
from rankgate.data import read_run
from rankgate.decisions.sweeps.processes import run_program
from rankgate.decisions.sweeps.settings import Program
from rankgate.decisions.sweeps.targets.target import UNSET, Taken, Target
from rankgate.engines.requests.template import filled, names

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial, Point

RUN = "run"
"""The name of the file that a command writes."""


@dataclass
class CommandTarget(Target):
    """A command.

    Attributes:
        program: the command, with names of dials.
        folder: where it is started.
    """

    program: Program
    folder: Path
    kind: str = "command"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The program."""
        return Path(str(self.program.command[0])).name

    @property
    def names(self) -> set[str]:
        """Those of the command, but for its run."""
        return {*names(self.program.command)} - {RUN}

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:  # noqa: ARG002 - as every target
        """Why a dial or one of its values cannot be."""
        if elsewhere or dial.name in self.names:
            return ""
        return f"{dial.name} is not in the command; write {{{{{dial.name}}}}} in it"

    def current(self, name: str) -> Any:  # noqa: ARG002 - a command says nothing
        """The value that a dial has now."""
        return UNSET

    def identity(self, point: Point) -> Mapping[str, Any]:
        """What the run of a point depends on."""
        return {"command": filled(self.program.command, {**point, RUN: ""})}

    def stored(self, place: Path) -> Taken | None:
        """The run of an earlier call."""
        output = place.with_suffix(".run")
        return Taken(read_run(output, self.name), file=output) if output.exists() else None

    def take(self, point: Point, place: Path, watch: Callable[[], None]) -> Taken:
        """The run of a point."""
        output, fresh = place.with_suffix(".run"), place.with_suffix(".new.run")
        words = filled(self.program.command, {**point, RUN: str(fresh.resolve())})
        problem = run_program(words, self.folder, self.program.timeout, watch)
        if not problem and not fresh.exists():
            problem = "the command wrote no run; its file is {{run}}"
        if problem:
            return Taken(None, problem)
        try:
            read_run(fresh).table  # noqa: B018 - reads and checks every row
        except RankgateError as error:
            return Taken(None, error.problem.rstrip("."))
        fresh.replace(output)
        return Taken(read_run(output, self.name), file=output)
