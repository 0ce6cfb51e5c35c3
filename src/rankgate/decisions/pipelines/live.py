"""A pipeline whose engines are asked, in the place of runs that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare.toml import Toml
from rankgate.core.frozen import dataclass
from rankgate.decisions.pipelines.pipeline_file import read

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.pipeline_file import PipelineFile
    from rankgate.decisions.pipelines.taken import TakenStage
    from rankgate.engines.snapshots.queries import QueriesLike


def is_pipeline(source: object) -> bool:
    """True for the path of a pipeline's file: TOML that is not the file of a collection."""
    if not isinstance(source, str | Path) or not str(source).lower().endswith(".toml"):
        return False
    path = Path(source)
    return not path.is_file() or "collection" not in Toml.read(path, code="invalid-pipeline").values


@dataclass(frozen=True)
class LivePipeline:
    """The stages of a pipeline's file, and the queries that they are asked.

    Constructing one reads and checks the file; `stages` runs what is not kept from before.

    Attributes:
        path: The TOML file of the pipeline, with a table ``[[stage]]`` for each stage.
        queries: Ids and texts: a file, a frame, ``{query_id: text}``.
        parameters: Other settings of stages: ``{"hybrid.k": 30}``, or as words,
            ``["hybrid.k=30"]``.
        folder: Where runs of these stages are kept, to be used again by a call with the same
            settings; ``NAME.stages`` next to the pipeline's file by default.
        again: Ask queries that failed in a stage anew.
        force: Run every stage anew, whatever is kept.

    Raises:
        InputError: A file that cannot be read, an unknown key, stages that do not fit; with its
            line.
        UsageError: A parameter of no stage.
    """

    path: str | Path
    queries: QueriesLike
    parameters: Mapping[str, Any] | Sequence[str] = ()
    folder: str | Path | None = None
    again: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        assert self.file.stages  # a file that cannot be is an error now

    def __repr__(self) -> str:
        names = ", ".join(stage.name for stage in self.file.stages)
        return f"{type(self).__name__}({str(self.path)!r}: {names})"

    @cached_property
    def file(self) -> PipelineFile:
        """The stages with their settings.

        Raises:
            InputError, UsageError: as of the class.
        """
        return read(self.path).having(self.parameters)

    def taken(self, *, refuse: bool = True) -> tuple[TakenStage, ...]:
        """The stages with their runs.

        Args:
            refuse: whether queries that failed are an error; it is one where all of them did.

        Raises:
            InputError: a stage that cannot work, or that failed for some queries, with the line.
        """
        from rankgate.decisions.pipelines.latency import failure
        from rankgate.decisions.pipelines.take import Taking
        from rankgate.engines.snapshots.queries import queries_of

        taken = Taking(
            pipeline=self.file,
            queries=queries_of(self.queries),
            folder=Path(self.folder or Path(self.path).with_suffix(".stages")),
            again=self.again,
            force=self.force,
        ).run()
        for stage in taken:
            problem = failure(stage)
            if problem and (refuse or (stage.states["state"] == "failed").all()):
                raise self.file.error(
                    stage.stage,
                    f"{problem}; add again to ask them anew, or set unequal = drop to leave them "
                    "out.",
                    code="failed-queries",
                )
        return taken
