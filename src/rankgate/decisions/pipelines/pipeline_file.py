"""Read a pipeline from TOML: its stages, sorted so that inputs come first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from rankgate.core.declare import Range, fields_of
from rankgate.core.declare.parameter import parse_literal
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.errors import InputError

ParametersLike: TypeAlias = "Mapping[str, Any] | Sequence[str]"
"""Settings of stages: ``{"hybrid.k": 30}``, or as texts, ``["hybrid.k=30"]``."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage of a pipeline: its fields are the keys of ``[[stage]]`` in a file.

    Attributes:
        name: The name of the stage.
        inputs: The stages that give the documents.
        parameters: Parameters of the engine's request, the fusion method or the reranker.
        depth: The number of documents the stage takes, or requests from an engine.
    """

    key: ClassVar[str]

    name: str
    inputs: list[Any] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    depth: Annotated[int, Range(1, 10_000)] | None = None

    @property
    def stages_before(self) -> list[str]:
        """The stages that must come before it."""
        return self.inputs


@dataclass(frozen=True, kw_only=True)
class EngineStage(Stage):
    """A stage that asks an engine.

    Attributes:
        engine: The engine's TOML file, relative to the folder of the pipeline's file.
        approximates: The stage of which it is an approximate search: an exact search, or one
            that is only quantised.
    """

    key: ClassVar[str] = "engine"

    engine: str
    approximates: str | None = None

    @property
    def stages_before(self) -> list[str]:
        """The stage that it approximates, if any."""
        return [*self.inputs, *([self.approximates] if self.approximates else [])]


@dataclass(frozen=True, kw_only=True)
class FuseStage(Stage):
    """A stage that merges the lists of others.

    Attributes:
        fuse: The fusion method.
        weights: The weights of the inputs, for a weighted method.
        norm: The normalisation of scores before fusion.
        keep: The number of documents of each query that the stage returns.
    """

    key: ClassVar[str] = "fuse"

    fuse: str
    weights: list[Any] | None = None
    norm: str | None = None
    keep: Annotated[int, Range(1)] | None = None


@dataclass(frozen=True, kw_only=True)
class RerankStage(Stage):
    """A stage that puts the first documents of another in a new order.

    Attributes:
        rerank: A function, as in ``"module:function"``, or a command as a list of texts.
        timeout: Seconds that one query may take.
        concurrency: Queries that are reranked at the same time.
    """

    key: ClassVar[str] = "rerank"

    rerank: str
    command: list[Any] = field(default_factory=list)
    timeout: Annotated[float, Range(0, 86_400, exclusive=True)] = 60.0
    concurrency: Annotated[int, Range(1, 256)] = 1


_KINDS: tuple[type[Stage], ...] = (EngineStage, FuseStage, RerankStage)


@dataclass(frozen=True)
class PipelineFile:
    """The stages of a pipeline.

    Attributes:
        toml: the file, for errors.
        stages: the stages, inputs first; the last one gives the pipeline's result.
        places: the index of each stage in the file, by name.
    """

    toml: TomlFile
    stages: tuple[Stage, ...]
    places: Mapping[str, int]

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return Path(self.toml.source).resolve().parent

    def error(self, stage: Stage, problem: str, *key: str, code: str) -> InputError:
        """Return an error with the line of a stage, or of one of its keys."""
        index = str(self.places[stage.name])
        return self.toml.error(f"stage {stage.name}: {problem}", "stage", index, *key, code=code)

    def with_parameters(self, parameters: ParametersLike) -> PipelineFile:
        """The pipeline with changed settings of stages.

        Raises:
            UsageError: an unknown stage; a text that is not a setting.
        """
        stages = {stage.name: stage for stage in self.stages}
        for word, value in _parse_parameters(parameters):
            name, dot, setting = word.rpartition(".")
            if not dot or name not in stages:
                raise UsageError(
                    f"{word!r} is not a setting of a stage, as in {self.stages[0].name}.depth; the stages "
                    f"are {', '.join(stages)}.",
                    code="unknown-stage",
                )
            stages[name] = _with_setting(stages[name], setting, value)
        return replace(self, stages=tuple(stages.values()))


def read_pipeline(path: str | Path) -> PipelineFile:
    """Read the pipeline of a file.

    Raises:
        InputError: with the line: invalid TOML; an unknown key; a stage without a name, or with the
            name of another stage; inputs that are not stages, or form a circle; a stage that no
            later stage uses.
    """
    toml = TomlFile.read(path, code="invalid-pipeline")
    toml.check_keys(toml.values, ("stage",))
    tables = toml.values.get("stage")
    if not isinstance(tables, list) or not tables:
        raise toml.error("[[stage]] is missing; a pipeline has one for each of its stages.")
    stages: dict[str, Stage] = {}
    for index, table in enumerate(tables):
        stage = _stage(toml, table, str(index))
        if stage.name in stages:
            problem = f"stage {stage.name!r} is given twice; give each stage its own name."
            raise toml.error(problem, "stage", str(index), "name")
        stages[stage.name] = stage
    pipeline = PipelineFile(toml, tuple(stages.values()), {name: i for i, name in enumerate(stages)})
    for stage in pipeline.stages:
        _check_inputs(pipeline, stage, stages)
    pipeline = replace(pipeline, stages=_in_order(pipeline))
    used = {name for stage in pipeline.stages for name in stage.stages_before}
    for stage in pipeline.stages[:-1]:
        if stage.name not in used:
            problem = "no later stage uses it; add it to the inputs of a later stage, or remove it."
            raise pipeline.error(stage, problem, code="unused-stage")
    return pipeline


def _stage(toml: TomlFile, table: object, index: str) -> Stage:
    if not isinstance(table, dict):
        raise toml.error("[[stage]] is a table.", "stage")
    kinds = [kind for kind in _KINDS if kind.key in table]
    if len(kinds) != 1:
        problem = "a stage has exactly one of the keys engine, fuse and rerank."
        raise toml.error(problem, "stage", index)
    values = dict(table)
    if kinds[0] is RerankStage:
        values = _with_command(toml, values, index)
    read_values = toml.read_values(values, fields_of(kinds[0]).values(), "stage", index)
    stage = kinds[0](**read_values)
    if not _NAME.fullmatch(stage.name):
        problem = f"name = {stage.name!r} is not made of letters, digits, _ and -."
        raise toml.error(problem, "stage", index, "name")
    return stage


def _with_command(toml: TomlFile, values: dict[str, Any], index: str) -> dict[str, Any]:
    """The values of a stage with its function and its command in separate keys."""
    reranker = values["rerank"]
    if isinstance(reranker, str) and ":" in reranker and "command" not in values:
        return values
    if isinstance(reranker, list) and reranker and all(isinstance(word, str) for word in reranker):
        return {**values, "rerank": reranker[0], "command": reranker}
    problem = 'rerank is "module:function", or a command, as in ["python", "rerank.py"].'
    raise toml.error(problem, "stage", index, "rerank")


def _check_inputs(pipeline: PipelineFile, stage: Stage, stages: Mapping[str, Stage]) -> None:
    """Check that inputs are stages, and that their number fits the stage."""
    for name in stage.stages_before:
        if name not in stages:
            problem = f"there is no stage {name!r}; the stages are {', '.join(stages)}."
            key = "inputs" if name in stage.inputs else "approximates"
            raise pipeline.error(stage, problem, key, code="unknown-stage")
    count = len(stage.inputs)
    if count != len(set(stage.inputs)):
        raise pipeline.error(stage, "an input is given twice.", "inputs", code="invalid-pipeline")
    problem = {
        "engine": "an engine takes no inputs; leave them out." if count else "",
        "fuse": "fusion needs two inputs or more." if count < 2 else "",
        "rerank": f"a reranker has one input, not {count}." if count != 1 else "",
    }[stage.key]
    if problem:
        raise pipeline.error(stage, problem, "inputs", code="wrong-inputs")


def _in_order(pipeline: PipelineFile) -> tuple[Stage, ...]:
    """The stages with inputs first, otherwise as in the file."""
    remaining, in_order = list(pipeline.stages), list[Stage]()
    while remaining:
        names = {stage.name for stage in in_order}
        ready_stage = next((stage for stage in remaining if names.issuperset(stage.stages_before)), None)
        if ready_stage is None:
            circle = _find_circle(remaining)
            circle_text = " → ".join(circle)
            first = next(stage for stage in remaining if stage.name == circle[0])
            problem = f"the inputs of the stages form a circle: {circle_text}."
            raise pipeline.error(first, problem, "inputs", code="circular-stages")
        in_order.append(ready_stage)
        remaining.remove(ready_stage)
    return tuple(in_order)


def _find_circle(remaining: Sequence[Stage]) -> list[str]:
    """A path from a stage back to itself; each stage waits for the next."""
    inputs = {stage.name: stage.stages_before for stage in remaining}
    path = [remaining[0].name]
    while True:
        next_name = next(name for name in inputs[path[-1]] if name in inputs)
        if next_name in path:
            return [*path[path.index(next_name) :], next_name]
        path.append(next_name)


def _with_setting(stage: Stage, setting: str, value: object) -> Stage:
    """The stage with another value of a setting: one of its keys, or a parameter."""
    declared = fields_of(type(stage)).get(setting)
    if declared is None or setting not in {"depth", "keep", "norm", "weights"}:
        return replace(stage, parameters={**stage.parameters, setting: value})
    try:
        if setting == "weights" and isinstance(value, str):
            value = [float(weight) for weight in value.split(",")]
        setting_value = declared.read(value)
    except ValueError as error:
        problem = f"{stage.name}.{setting} = {value!r} {error}"
        raise UsageError(problem, code="invalid-parameter") from None
    return replace(stage, **{setting: setting_value})


def _parse_parameters(parameters: ParametersLike) -> list[tuple[str, Any]]:
    if isinstance(parameters, Mapping):
        return list(parameters.items())
    pairs = []
    for word in parameters:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not STAGE.NAME=VALUE.", code="invalid-parameter")
        pairs.append((name.strip(), parse_literal(value.strip())))
    return pairs
