"""Runs of a pipeline whose engines are asked, in place of runs that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.taken import TakenStage
    from rankgate.engines.snapshots.queries import QueriesLike


def is_pipeline(runs: object) -> bool:
    """Whether it is the file of a pipeline."""
    return isinstance(runs, str | Path) and str(runs).lower().endswith(".toml")


@dataclass(frozen=True)
class Live:
    """How the stages of a pipeline's file are run.

    Attributes:
        queries: what they are asked.
        parameters: settings other than those of the file.
        folder: where their runs are kept; next to the file by default.
        again: whether queries that failed are asked anew.
        force: whether every stage is run anew.
    """

    queries: QueriesLike | None = None
    parameters: Mapping[str, Any] | Sequence[str] = ()
    folder: str | Path | None = None
    again: bool = False
    force: bool = False

    def taken(self, runs: object, *, refuse: bool = True) -> tuple[TakenStage, ...]:
        """The stages of a pipeline's file with their runs; none where runs are given.

        Args:
            runs: a pipeline's file, or runs.
            refuse: whether queries that failed are an error; it is one where all of them did.

        Raises:
            InputError: a file that cannot be read, or a stage that cannot work, or that failed
                for some queries, with the line.
            UsageError: no queries; an option of a pipeline where runs are given.
        """
        if not is_pipeline(runs):
            if self != Live():
                problem = (
                    "queries, parameters, folder, again and force are for a pipeline's TOML file; "
                    "leave them out where the runs of its stages are given."
                )
                raise UsageError(problem, code="unused-option")
            return ()
        if self.queries is None:
            problem = f"{runs}: a pipeline is asked queries; give a file of ids and texts."
            raise UsageError(problem, code="missing-input")
        from rankgate.decisions.pipelines.latency import failure
        from rankgate.decisions.pipelines.pipeline_file import read
        from rankgate.decisions.pipelines.take import Taking
        from rankgate.engines.snapshots.queries import queries_of

        path = Path(str(runs))
        pipeline = read(path).having(self.parameters)
        taken = Taking(
            pipeline=pipeline,
            queries=queries_of(self.queries),
            folder=Path(self.folder or path.with_suffix(".stages")),
            again=self.again,
            force=self.force,
        ).run()
        for each in taken:
            words = failure(each)
            if words and (refuse or (each.states["state"] == "failed").all()):
                problem = (
                    f"{words}; add again to ask them anew, or set unequal = drop to leave them out."
                )
                raise pipeline.error(each.stage, problem, code="failed-queries")
        return taken
