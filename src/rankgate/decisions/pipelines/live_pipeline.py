"""A pipeline whose engines answer queries, in place of given runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.frozen import dataclass
from rankgate.decisions.pipelines.pipeline_file import read_pipeline

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.pipeline_file import PipelineFile
    from rankgate.decisions.pipelines.stage_run import StageRun
    from rankgate.engines.snapshots.query_sender import QueriesLike


def is_pipeline(source: object) -> bool:
    """True for the path of a pipeline's file: TOML that is not the file of a collection."""
    if not isinstance(source, str | Path) or not str(source).lower().endswith(".toml"):
        return False
    path = Path(source)
    return (
        not path.is_file()
        or "collection" not in TomlFile.read(path, code="invalid-pipeline").values
    )


@dataclass(frozen=True)
class LivePipeline:
    """The stages of a pipeline's file, and the queries for them.

    Constructing one reads and checks the file; `stages` runs what is not kept from before.

    Attributes:
        path: The TOML file of the pipeline, with a table ``[[stage]]`` for each stage.
        queries: Ids and texts: a file, a frame, ``{query_id: text}``.
        parameters: Other settings of stages: ``{"hybrid.k": 30}``, or as words,
            ``["hybrid.k=30"]``.
        folder: The folder that keeps runs of these stages, for later calls with
            the same settings; ``NAME.stages`` next to the pipeline's file by default.
        again: Ask queries again that failed in a stage.
        force: Run every stage again, even if its run is kept.

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
        assert self.file.stages  # an invalid file is an error now

    def __repr__(self) -> str:
        names = ", ".join(stage.name for stage in self.file.stages)
        return f"{type(self).__name__}({str(self.path)!r}: {names})"

    @cached_property
    def file(self) -> PipelineFile:
        """The stages with their settings.

        Raises:
            InputError, UsageError: as of the class.
        """
        return read_pipeline(self.path).with_parameters(self.parameters)

    def taken(self, *, refuse: bool = True) -> tuple[StageRun, ...]:
        """The stages with their runs.

        Args:
            refuse: True if failed queries are an error; it always is one if all of them failed.

        Raises:
            InputError: a stage that cannot work, or that failed for some queries, with the line.
        """
        from rankgate.decisions.pipelines.stage_figures import describe_failures
        from rankgate.decisions.pipelines.stage_runner import StageRunner
        from rankgate.engines.snapshots.query_sender import queries_of

        taken_stages = StageRunner(
            pipeline=self.file,
            queries=queries_of(self.queries),
            folder=Path(self.folder or Path(self.path).with_suffix(".stages")),
            again=self.again,
            force=self.force,
        ).run()
        for stage in taken_stages:
            problem = describe_failures(stage)
            if problem and (refuse or (stage.states["state"] == "failed").all()):
                raise self.file.error(
                    stage.stage,
                    f"{problem}; add again to repeat them, or set unequal = drop to leave them "
                    "out.",
                    code="failed-queries",
                )
        return taken_stages
