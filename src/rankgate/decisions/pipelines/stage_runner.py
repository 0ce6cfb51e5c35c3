"""Take the run of every stage of a pipeline: query engines, fuse, rerank.

In a live pipeline engines answer the queries; no files of runs are needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import progress
from rankgate.data import read_run
from rankgate.data.files.conversion import choose_format, write_run
from rankgate.data.formats import run_companions
from rankgate.data.formats.run_companions import PARTIAL
from rankgate.data.run import RUN_SCHEMA
from rankgate.decisions.pipelines.pipeline_file import EngineStage, FuseStage, RerankStage, read_pipeline
from rankgate.decisions.pipelines.stage_run import (
    DEFAULT_RERANK_DEPTH,
    STATES,
    Reranker,
    StageRun,
    display_fields_path,
    run_with,
    split_answered,
)
from rankgate.engines.configuration import Configuration, Pace, read_engine
from rankgate.engines.kinds.local_engines import import_function
from rankgate.engines.snapshots.run_files import DEFAULT_FORMAT
from rankgate.engines.snapshots.snapshot_verb import snapshot
from rankgate.measurement.fusion.fuse import fuse
from rankgate.measurement.fusion.trained_methods import METHODS

if TYPE_CHECKING:
    from rankgate.core.errors import InputError
    from rankgate.data import Run
    from rankgate.decisions.pipelines.pipeline_file import PipelineFile, Stage
    from rankgate.engines.engine import Query
    from rankgate.engines.snapshots.query_sender import QueriesLike

_SHORT = 12  # digits of a hash in a file's name


@dataclass(frozen=True)
class StageRunner:
    """Makes the runs of a pipeline's stages; each stage runs after its inputs.

    Attributes:
        pipeline: the stages of the pipeline.
        queries: the queries of engines.
        folder: the folder of runs; the name of a run depends on all its inputs, and an existing run
            is reused.
        again: True to send failed queries again.
        force: True to make every run again.
    """

    pipeline: PipelineFile
    queries: Sequence[Query]
    folder: Path
    again: bool = False
    force: bool = False

    def run(self) -> tuple[StageRun, ...]:
        """The run of every stage, inputs first.

        Raises:
            InputError: a stage that cannot work, or ends early, with the line of the file.
        """
        needs = {stage.name: self._needs(stage) for stage in self.pipeline.stages}
        self.folder.mkdir(parents=True, exist_ok=True)
        taken_stages: dict[str, StageRun] = {}
        for stage in self.pipeline.stages:
            inputs = [taken_stages[name] for name in stage.inputs]
            need = needs[stage.name]
            if isinstance(stage, FuseStage):
                taken_stages[stage.name] = self._fused(stage, inputs)
            elif isinstance(stage, RerankStage):
                taken_stages[stage.name] = self._reranked(stage, need, inputs[0])
            elif isinstance(stage, EngineStage):
                taken_stages[stage.name] = self._ask_engine(stage, need)
        return tuple(taken_stages.values())

    def _needs(self, stage: Stage) -> Any:  # noqa: ANN401 - what it is depends on the stage
        """Load engine configurations and reranker functions, to find mistakes before any query."""
        try:
            if isinstance(stage, EngineStage):
                engine_path = self.pipeline.folder / stage.engine
                if not engine_path.is_file():
                    problem = f"there is no file {stage.engine}; name the engine's TOML file."
                    raise self._error(stage, problem, code="cannot-read")
                return read_engine(engine_path).with_parameters(stage.parameters, stage.depth)
            if isinstance(stage, FuseStage):
                method = METHODS.find(stage.fuse)
                for name, value in stage.parameters.items():
                    method.read(name, value)
            elif isinstance(stage, RerankStage) and not stage.command:
                return import_function(stage.rerank, str(self.pipeline.folder))
        except UsageError as error:
            raise self._error(stage, error.problem, code=error.code) from None
        return None

    def _ask_engine(self, stage: EngineStage, configuration: Configuration) -> StageRun:
        """The results of an engine."""
        engine = configuration.engine
        program_words = [getattr(engine, "function", None), *(getattr(engine, "command", None) or ())]
        folder = Path(getattr(engine, "folder", None) or self.pipeline.folder)
        key = _digest(str(stage.engine), configuration.sha256, *_source_hashes(program_words, folder))
        return self._take_snapshot(
            stage, replace(configuration, name=stage.name), key, (), engine.engine_kind
        )

    def _reranked(
        self, stage: RerankStage, function: Callable[..., object] | None, input_stage: StageRun
    ) -> StageRun:
        """The documents of an earlier stage in a new order."""

        def refused(problem: str) -> InputError:
            return self._error(stage, problem, code="unknown-document")

        folder = self.pipeline.folder
        reranker = Reranker(
            reranks=stage.rerank,
            code=_digest(*_source_hashes(stage.command or [stage.rerank], folder)),
            candidates=input_stage.candidates(),
            function=function,
            command=list(stage.command),
            folder=str(folder),
            error=refused,
            parameters=stage.parameters,
            depth=stage.depth or DEFAULT_RERANK_DEPTH,
            timeout=stage.timeout,
        )
        configuration = Configuration(stage.name, reranker, Pace(concurrency=stage.concurrency))
        does = Path(stage.rerank).name if stage.command else stage.rerank.partition(":")[2]
        return self._take_snapshot(stage, configuration, _digest(configuration.sha256), (input_stage,), does)

    def _take_snapshot(
        self, stage: Stage, configuration: Configuration, key: str, inputs: Sequence[StageRun], does: str
    ) -> StageRun:
        """The snapshot of a stage: the stored one, or a new one."""
        complete_queries, failed_states = split_answered(inputs, self.queries)
        path = self._path(stage, key)
        stored = path.exists() and not Path(f"{path}{PARTIAL}").exists() and not self.force
        if not complete_queries:
            run = run_with(stage.name, pl.DataFrame(schema=RUN_SCHEMA), failed_states)
            _write(run, path)
        elif stored:
            run = _read_stored(stage.name, path)
        else:
            run = self._snapshot(stage, configuration, path, complete_queries)
            states = _in_order(self.queries, run.queries, failed_states)
            run_companions.write(states, run_companions.companion_path(path))
            run = replace(run, queries=states)
        documents = [path_of_fields for input_stage in inputs for path_of_fields in input_stage.documents]
        return StageRun(stage, does, run, path, (display_fields_path(path), *documents))

    def _snapshot(
        self, stage: Stage, configuration: Configuration, path: Path, queries: Sequence[Query]
    ) -> Run:
        try:
            result = snapshot(
                configuration, list(queries), path, to=DEFAULT_FORMAT, again=self.again, force=self.force
            )
        except UsageError as error:
            raise self._error(stage, error.problem, code=error.code) from None
        if not result.finished:
            skipped = result.states["not_run"]
            problem = (
                f"{skipped:,} of {count_noun(len(queries), 'query')} "
                f"{'was' if skipped == 1 else 'were'} not asked "
                f"({result.problem or 'interrupted'}); run the same command again to continue."
            )
            raise self._error(stage, problem, code="unfinished-snapshot")
        assert result.run is not None
        return replace(result.run, cautions=result.cautions)

    def _fused(self, stage: FuseStage, inputs: Sequence[StageRun]) -> StageRun:
        """The merged lists of several stages, without queries that failed in one of the stages."""
        complete_queries, failed_states = split_answered(inputs, self.queries)
        ids = pl.Series([query.query_id for query in complete_queries], dtype=pl.String)
        settings = (stage.fuse, stage.parameters, stage.weights, stage.norm, stage.depth)
        key = _digest(repr((*settings, stage.keep)), *(input_stage.content for input_stage in inputs))
        path = self._path(stage, key)
        documents = tuple(
            path_of_fields for input_stage in inputs for path_of_fields in input_stage.documents
        )
        if path.exists() and not self.force:
            return StageRun(stage, stage.fuse, _read_stored(stage.name, path), path, documents)
        runs = {
            input_stage.stage.name: run_with(
                input_stage.stage.name,
                input_stage.run.table.filter(pl.col("query_id").is_in(ids.implode())),
                input_stage.states,
            )
            for input_stage in inputs
        }
        start_time = time.perf_counter()
        table = pl.DataFrame(schema=RUN_SCHEMA)
        if any(len(run.table) for run in runs.values()):
            table = self._merged(stage, runs)
        latency = (time.perf_counter() - start_time) * 1000 / max(len(complete_queries), 1)
        has_documents = ids.is_in(table["query_id"].unique().implode())
        states = pl.DataFrame(
            {
                "query_id": ids,
                "state": ["ok" if has_document else "zero" for has_document in has_documents],
                "latency_ms": [round(latency, 3)] * len(ids),
                "censored": None,
                "error": None,
            },
            schema=STATES,
        )
        run = run_with(stage.name, table, _in_order(self.queries, states, failed_states))
        _write(run, path)
        return StageRun(stage, stage.fuse, run, path, documents)

    def _merged(self, stage: FuseStage, runs: Mapping[str, Run]) -> pl.DataFrame:
        try:
            with progress(None):
                fused = fuse(
                    runs,
                    stage.fuse,
                    stage.parameters,
                    weights=stage.weights,
                    norm=stage.norm,
                    depth=stage.depth,
                    keep=stage.keep,
                )
        except UsageError as error:
            raise self._error(stage, error.problem, code=error.code) from None
        assert fused.run is not None
        return fused.run.table

    def _path(self, stage: Stage, key: str) -> Path:
        """The file of a run, with a name that depends on the inputs of the run."""
        queries_digest = _digest(*(f"{query.query_id}\0{query.text}" for query in self.queries))
        return self.folder / f"{stage.name}-{_digest(key, queries_digest)[:_SHORT]}.run"

    def _error(self, stage: Stage, problem: str, *, code: str) -> InputError:
        return self.pipeline.error(stage, problem, stage.key, code=code)


def _read_stored(name: str, path: Path) -> Run:
    """The run that an earlier call stored."""
    if not path.stat().st_size:  # no query has results
        states = run_companions.read(run_companions.companion_path(path))
        return run_with(name, pl.DataFrame(schema=RUN_SCHEMA), states)
    return replace(read_run(path), name=name)


def _write(run: Run, path: Path) -> None:
    assert run.queries is not None
    write_run(run, path, choose_format(path, DEFAULT_FORMAT, "runs"))
    run_companions.write(run.queries, run_companions.companion_path(path))


def _in_order(queries: Sequence[Query], states: pl.DataFrame | None, lost: pl.DataFrame) -> pl.DataFrame:
    """The outcome of each query, in the order of the queries."""
    assert states is not None
    order = pl.DataFrame({"query_id": [query.query_id for query in queries]}).with_row_index("at")
    all_states = pl.concat([states, lost], how="diagonal").unique("query_id", keep="first")
    return all_states.join(order, on="query_id").sort("at").drop("at")


def _source_hashes(program_words: Sequence[object], folder: Path) -> list[str]:
    """Hashes of the files that the words name: a program's scripts, a function's module."""
    names = [word for word in program_words if isinstance(word, str)]
    modules = [f"{word.partition(':')[0].replace('.', '/')}.py" for word in names]
    places = [folder / word for word in (*names, *modules)]
    return [sha256(path.read_bytes()).hexdigest() for path in places if path.is_file()]


def _digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()


def is_pipeline(source: object) -> bool:
    """True for the path of a pipeline's file: TOML that is not the file of a collection."""
    if not isinstance(source, str | Path) or not str(source).lower().endswith(".toml"):
        return False
    path = Path(source)
    return not path.is_file() or "collection" not in TomlFile.read(path, code="invalid-pipeline").values


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
            refuse: True if failed queries are an error; if all queries failed, this is always an
                error.

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
                    f"{problem}; add again to repeat them, or set unequal = drop to leave them out.",
                    code="failed-queries",
                )
        return taken_stages
