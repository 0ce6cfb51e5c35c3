"""A command as the target of a sweep: it writes the run of each point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import RankgateError
from rankgate.data import read_run
from rankgate.decisions.sweeps.processes import run_program
from rankgate.decisions.sweeps.settings import Program
from rankgate.decisions.sweeps.targets.target import UNSET, PointRun, Target
from rankgate.engines.requests.template import fill, template_names

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial, Point

RUN = "run"
"""The name of the file that a command writes."""


@dataclass
class CommandTarget(Target):
    """A command.

    Attributes:
        program: the command, with names of dials.
        folder: the working directory.
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
        """The names of the command, without its run."""
        return {*template_names(self.program.command)} - {RUN}

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:  # noqa: ARG002 - the signature of targets
        """The problem of a dial or of one of its values."""
        if elsewhere or dial.name in self.names:
            return ""
        return f"{dial.name} is not in the command; write {{{{{dial.name}}}}} in it"

    def current(self, name: str) -> Any:  # noqa: ARG002 - a command has no present values
        """The value that a dial has now."""
        return UNSET

    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on."""
        return {"command": fill(self.program.command, {**point, RUN: ""})}

    def stored(self, path: Path) -> PointRun | None:
        """The run of an earlier call."""
        output = path.with_suffix(".run")
        return PointRun(read_run(output, self.name), file=output) if output.exists() else None

    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point."""
        output, new_output = path.with_suffix(".run"), path.with_suffix(".new.run")
        arguments = fill(self.program.command, {**point, RUN: str(new_output.resolve())})
        problem = run_program(arguments, self.folder, self.program.timeout, watch)
        if not problem and not new_output.exists():
            problem = "the command wrote no run; its file is {{run}}"
        if problem:
            return PointRun(None, problem)
        try:
            read_run(new_output).table  # noqa: B018 - reads and checks every row
        except RankgateError as error:
            return PointRun(None, error.problem.rstrip("."))
        new_output.replace(output)
        return PointRun(read_run(output, self.name), file=output)
