"""Take the run of every stage of a pipeline: ask engines, fuse, rerank."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import progress
from rankgate.data import read_run
from rankgate.data.formats import run_meta
from rankgate.data.formats.snapshot_files import PARTIAL
from rankgate.data.run import SCHEMA
from rankgate.data.write import format_for, write_run
from rankgate.decisions.pipelines.pipeline_file import EngineStage, FuseStage, RerankStage
from rankgate.decisions.pipelines.rerank import Reranker
from rankgate.decisions.pipelines.taken import (
    RERANKED,
    STATES,
    TakenStage,
    documents_of,
    run_with,
    split,
)
from rankgate.engines.configuration import Configuration
from rankgate.engines.configuration import read as read_engine
from rankgate.engines.kinds.python import imported
from rankgate.engines.pace import Pace
from rankgate.engines.snapshots.take import snapshot
from rankgate.engines.snapshots.writing import HELD
from rankgate.measurement.fusion.catalogue import METHODS
from rankgate.measurement.fusion.fuse import fuse

if TYPE_CHECKING:
    from rankgate.core.errors import InputError
    from rankgate.data import Run
    from rankgate.decisions.pipelines.pipeline_file import PipelineFile, Stage
    from rankgate.engines.engine import Query

_SHORT = 12  # digits of a hash in a file's name


@dataclass(frozen=True)
class Taking:
    """Takes the runs of a pipeline, each when its inputs are there.

    Attributes:
        pipeline: its stages.
        queries: what is asked.
        folder: where runs are kept, under names that say what they are made of; one that is there
            is not taken again.
        again: whether queries that failed are asked anew.
        force: whether everything is.
    """

    pipeline: PipelineFile
    queries: Sequence[Query]
    folder: Path
    again: bool = False
    force: bool = False

    def run(self) -> tuple[TakenStage, ...]:
        """The run of every stage, inputs first.

        Raises:
            InputError: a stage that cannot work, or ends early, with the line of the file.
        """
        needs = {stage.name: self._needs(stage) for stage in self.pipeline.stages}
        self.folder.mkdir(parents=True, exist_ok=True)
        taken: dict[str, TakenStage] = {}
        for stage in self.pipeline.stages:
            inputs = [taken[name] for name in stage.inputs]
            need = needs[stage.name]
            if isinstance(stage, FuseStage):
                taken[stage.name] = self._fused(stage, inputs)
            elif isinstance(stage, RerankStage):
                taken[stage.name] = self._reranked(stage, need, inputs[0])
            elif isinstance(stage, EngineStage):
                taken[stage.name] = self._asked(stage, need)
        return tuple(taken.values())

    def _needs(self, stage: Stage) -> Any:  # noqa: ANN401 - what it is depends on the stage
        """An engine's configuration, a reranker's function; a mistake is found before any query."""
        try:
            if isinstance(stage, EngineStage):
                place = self.pipeline.folder / stage.engine
                if not place.is_file():
                    problem = f"there is no file {stage.engine}; name the engine's TOML file."
                    raise self._error(stage, problem, code="cannot-read")
                return read_engine(place).having(stage.parameters, stage.depth)
            if isinstance(stage, FuseStage):
                method = METHODS.named(stage.fuse)
                for name, value in stage.parameters.items():
                    method.read(name, value)
            elif isinstance(stage, RerankStage) and not stage.command:
                return imported(stage.rerank, str(self.pipeline.folder))
        except UsageError as error:
            raise self._error(stage, error.problem, code=error.code) from None
        return None

    def _asked(self, stage: EngineStage, chosen: Configuration) -> TakenStage:
        """What an engine returns."""
        engine = chosen.engine
        words = [getattr(engine, "function", None), *(getattr(engine, "command", None) or ())]
        folder = Path(getattr(engine, "folder", None) or self.pipeline.folder)
        key = _digest(str(stage.engine), chosen.sha256, *_sources(words, folder))
        return self._taken(stage, replace(chosen, name=stage.name), key, (), engine.engine_kind)

    def _reranked(
        self, stage: RerankStage, function: Callable[..., Any] | None, given: TakenStage
    ) -> TakenStage:
        """The documents of an earlier stage in a new order."""

        def refused(problem: str) -> InputError:
            return self._error(stage, problem, code="unknown-document")

        folder = self.pipeline.folder
        reranker = Reranker(
            reranks=stage.rerank,
            code=_digest(*_sources(stage.command or [stage.rerank], folder)),
            candidates=given.candidates(),
            function=function,
            command=list(stage.command),
            folder=str(folder),
            error=refused,
            parameters=stage.parameters,
            depth=stage.depth or RERANKED,
            timeout=stage.timeout,
        )
        chosen = Configuration(stage.name, reranker, Pace(concurrency=stage.concurrency))
        does = Path(stage.rerank).name if stage.command else stage.rerank.partition(":")[2]
        return self._taken(stage, chosen, _digest(chosen.sha256), (given,), does)

    def _taken(
        self,
        stage: Stage,
        chosen: Configuration,
        key: str,
        inputs: Sequence[TakenStage],
        does: str,
    ) -> TakenStage:
        """The snapshot of a stage: the one that is kept, or a new one."""
        good, lost = split(inputs, self.queries)
        path = self._path(stage, key)
        stored = path.exists() and not Path(f"{path}{PARTIAL}").exists() and not self.force
        if not good:
            run = run_with(stage.name, pl.DataFrame(schema=SCHEMA), lost)
            _write(run, path)
        elif stored:
            run = _stored(stage.name, path)
        else:
            run = self._snapshot(stage, chosen, path, good)
            states = _in_order(self.queries, run.queries, lost)
            run_meta.write(states, run_meta.companion_of(path))
            run = replace(run, queries=states)
        documents = [place for each in inputs for place in each.documents]
        return TakenStage(stage, does, run, path, (documents_of(path), *documents))

    def _snapshot(
        self, stage: Stage, chosen: Configuration, path: Path, queries: Sequence[Query]
    ) -> Run:
        try:
            result = snapshot(
                chosen,
                list(queries),
                path,
                to=HELD,
                again=self.again,
                force=self.force,
            )
        except UsageError as error:
            raise self._error(stage, error.problem, code=error.code) from None
        if not result.finished:
            problem = (
                f"{result.states['not_run']:,} of {len(queries):,} queries were not asked "
                f"({result.problem or 'interrupted'}); the same command again goes on."
            )
            raise self._error(stage, problem, code="unfinished-snapshot")
        assert result.run is not None
        return replace(result.run, cautions=result.cautions)

    def _fused(self, stage: FuseStage, inputs: Sequence[TakenStage]) -> TakenStage:
        """The lists of several stages merged, without the queries that one of them failed."""
        good, lost = split(inputs, self.queries)
        ids = pl.Series([query.query_id for query in good], dtype=pl.String)
        settings = (stage.fuse, stage.parameters, stage.weights, stage.norm, stage.depth)
        key = _digest(repr((*settings, stage.keep)), *(each.content for each in inputs))
        path = self._path(stage, key)
        documents = tuple(place for each in inputs for place in each.documents)
        if path.exists() and not self.force:
            return TakenStage(stage, stage.fuse, _stored(stage.name, path), path, documents)
        runs = {
            each.stage.name: run_with(
                each.stage.name,
                each.run.table.filter(pl.col("query_id").is_in(ids.implode())),
                each.states,
            )
            for each in inputs
        }
        began = time.perf_counter()
        table = pl.DataFrame(schema=SCHEMA)
        if any(len(run.table) for run in runs.values()):
            table = self._merged(stage, runs)
        latency = (time.perf_counter() - began) * 1000 / max(len(good), 1)
        found = ids.is_in(table["query_id"].unique().implode())
        states = pl.DataFrame(
            {
                "query_id": ids,
                "state": ["ok" if there else "zero" for there in found],
                "latency_ms": [round(latency, 3)] * len(ids),
                "error": None,
            },
            schema=STATES,
        )
        run = run_with(stage.name, table, _in_order(self.queries, states, lost))
        _write(run, path)
        return TakenStage(stage, stage.fuse, run, path, documents)

    def _merged(self, stage: FuseStage, runs: Mapping[str, Run]) -> pl.DataFrame:
        try:
            with progress(None):
                found = fuse(
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
        assert found.run is not None
        return found.run.table

    def _path(self, stage: Stage, key: str) -> Path:
        """The file of a run: it says what the run is made of."""
        asked = _digest(*(f"{query.query_id}\0{query.text}" for query in self.queries))
        return self.folder / f"{stage.name}-{_digest(key, asked)[:_SHORT]}.run"

    def _error(self, stage: Stage, problem: str, *, code: str) -> InputError:
        return self.pipeline.error(stage, problem, stage.key, code=code)


def _stored(name: str, path: Path) -> Run:
    """A run that was taken before."""
    if not path.stat().st_size:  # no query found anything
        states = run_meta.read(run_meta.companion_of(path))
        return run_with(name, pl.DataFrame(schema=SCHEMA), states)
    return replace(read_run(path), name=name)


def _write(run: Run, path: Path) -> None:
    assert run.queries is not None
    write_run(run, path, format_for(path, HELD, "runs"))
    run_meta.write(run.queries, run_meta.companion_of(path))


def _in_order(
    queries: Sequence[Query], states: pl.DataFrame | None, lost: pl.DataFrame
) -> pl.DataFrame:
    """What came of each query, in the order in which they were given."""
    assert states is not None
    place = pl.DataFrame({"query_id": [query.query_id for query in queries]}).with_row_index("at")
    both = pl.concat([states, lost], how="diagonal").unique("query_id", keep="first")
    return both.join(place, on="query_id").sort("at").drop("at")


def _sources(words: Sequence[Any], folder: Path) -> list[str]:
    """Hashes of the files that words name: a program's scripts, a function's module."""
    named = [word for word in words if isinstance(word, str)]
    modules = [f"{word.partition(':')[0].replace('.', '/')}.py" for word in named]
    places = [folder / word for word in (*named, *modules)]
    return [sha256(each.read_bytes()).hexdigest() for each in places if each.is_file()]


def _digest(*words: str) -> str:
    return sha256("\0".join(words).encode()).hexdigest()
