"""The fusion of a sweep: lists of files or engines, which are taken once and fused at every point.

A point of a fusion costs no request: the lists of an engine are asked for once for each query and each
value of the engine's own dials, and every method, normalisation and weight is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from rankgate.core.declare import fields_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import progress
from rankgate.data import read_run
from rankgate.data.formats.tables.memory_tables import run_of_table
from rankgate.decisions.sweeps.dials import Fuse
from rankgate.decisions.sweeps.targets import UNSET, EngineTarget, PointRun, Target, digest
from rankgate.engines.requests.secrets import fill, template_names
from rankgate.measurement.fusion.fuse import fuse, read_setting
from rankgate.measurement.fusion.trained_methods import METHODS, NORMALISATIONS

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.decisions.sweeps.dials import Dial, Point
    from rankgate.measurement.fusion.fusion_method import Method


@dataclass
class FilePart:
    """Lists of files: a run, or a path with names of dials in double braces.

    Attributes:
        source: the run, or the path.
    """

    source: Run | str
    _runs: dict[str, Run] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> set[str]:
        """The dials of the path."""
        return {*template_names(self.source)} if isinstance(self.source, str) else set()

    def with_queries(self, query_ids: Collection[str]) -> FilePart:  # noqa: ARG002 - a file has all queries
        """The same lists."""
        return self

    def take(self, point: Point, folder: Path, watch: Callable[[], None]) -> PointRun:  # noqa: ARG002 - an engine is asked
        """The lists of a point."""
        if not isinstance(self.source, str):
            return PointRun(self.source)
        path = str(fill(self.source, point))
        if path not in self._runs:
            self._runs[path] = read_run(path).in_memory()
        return PointRun(self._runs[path])


@dataclass
class EnginePart:
    """Lists of an engine, asked for once for each value of its own dials.

    Attributes:
        target: the engine.
        names: the dials among its parameters.
    """

    target: EngineTarget
    names: set[str]
    _runs: dict[str, Run] = field(default_factory=dict, repr=False)

    def with_queries(self, query_ids: Collection[str]) -> EnginePart:
        """The lists of these queries alone."""
        return EnginePart(self.target.with_queries(query_ids), self.names)

    def take(self, point: Point, folder: Path, watch: Callable[[], None]) -> PointRun:
        """The lists of a point; those of an earlier call are kept in the folder."""
        own_dials = {name: value for name, value in point.items() if name in self.names}
        key = f"list-{digest(self.target.identity(own_dials))[:16]}"
        if key in self._runs:
            return PointRun(self._runs[key])
        path = folder / key
        point_run = self.target.stored(path) or self.target.take(own_dials, path, watch)
        if point_run.run is not None:
            self._runs[key] = point_run.run.in_memory()
        return point_run


Part: TypeAlias = FilePart | EnginePart
"""Lists that are fused, or scores of a reranker."""

RERANKER = "reranker"
"""The name of the part whose scores order the first fused documents."""


def rerank(run: Run, scores: Run, depth: int) -> Run:
    """Order the first documents of each query by the scores of a reranker; the others follow as they are.

    Documents that the reranker has not scored come after the scored ones among the first, in their order.

    Args:
        run: the lists.
        scores: the reranker's scores, of more documents or fewer.
        depth: the number of documents of each query that are reranked.
    """
    reranked = run.table.select("query_id", "doc_id", "score").with_columns(
        place=pl.col("score").rank("ordinal", descending=True).over("query_id")
    )
    new_scores = scores.table.select("query_id", "doc_id", new="score")
    is_first = pl.col("place") <= depth
    sorted_rows = reranked.join(new_scores, on=["query_id", "doc_id"], how="left").sort(
        "query_id",
        ~is_first,
        pl.when(is_first).then("new"),
        "place",
        descending=[False, False, True, False],
        nulls_last=True,
    )
    score = -pl.int_range(pl.len()).over("query_id").cast(pl.Float64)
    return run_of_table(sorted_rows.select("query_id", "doc_id", score=score), run.name)


FUSION_KEYS = ("method", "norm", "weights", "depth", "keep", "rerank_depth")
"""Keys of [fuse] that a dial can set."""
_TEMPLATES = ("method", "norm", "parameters", "weights")


@dataclass
class FusionTarget(Target):
    """A fusion.

    Attributes:
        fusion: the keys of the fusion, with names of dials.
        parts: the lists that are fused, by name, and the scores of a reranker as `RERANKER`.
        confirm: the engine that fuses by itself, to confirm the chosen point, or None.
    """

    fusion: Fuse
    parts: Mapping[str, Part]
    confirm: EngineTarget | None = None
    kind: str = "fusion"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The method, with the names of its dials, and the runs."""
        method = self.fusion.method.replace("{{", "").replace("}}", "")
        return f"{method} of {', '.join(self.fused_names)}"

    @property
    def fused_names(self) -> list[str]:
        """The names of the lists that are fused."""
        return [name for name in self.parts if name != RERANKER]

    @property
    def engines(self) -> list[EnginePart]:
        """The parts that send requests."""
        return [list_source for list_source in self.parts.values() if isinstance(list_source, EnginePart)]

    @property
    def names(self) -> set[str]:
        """The names in double braces of the fusion, and the dials of its parts."""
        templates = [getattr(self.fusion, key) for key in _TEMPLATES]
        return {*template_names(templates)}.union(*(list_source.names for list_source in self.parts.values()))

    @property
    def query_ids(self) -> frozenset[str] | None:
        """The queries that every engine is asked; None for stored runs."""
        query_sets = [list_source.target.query_ids for list_source in self.engines]
        return frozenset.intersection(*query_sets) if query_sets else None

    @property
    def data_hash(self) -> str:
        """A hash of the runs in memory; other runs are in the folder by their own hashes."""
        runs = [
            list_source.source for list_source in self.parts.values() if isinstance(list_source, FilePart)
        ]
        return digest([run if isinstance(run, str) else run.sha256 for run in runs])

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """The problem of a dial or of one of its values."""
        if elsewhere or dial.name in self.names:
            return ""
        if dial.name not in FUSION_KEYS:
            return (
                f"{dial.name} is not in the parameters or weights of [fuse] in double braces, nor one of its "
                f"keys {', '.join(FUSION_KEYS)}"
            )
        declared = fields_of(Fuse)[dial.name]
        for value in values:
            try:
                declared.read(value)
                if dial.name == "method":
                    METHODS.find(value)
                elif dial.name == "norm":
                    NORMALISATIONS.find(value)
            except UsageError as error:
                return error.problem.rstrip(".")
            except ValueError as error:
                return f"{dial.name} = {value!r} {str(error).rstrip('.')}"
        return ""

    def current(self, name: str) -> Any:
        """The value that a dial has now."""
        value = getattr(self.fusion, name) if name in FUSION_KEYS else None
        if value not in (None, []):
            return value
        present = [
            list_source.target.current(name) for list_source in self.engines if name in list_source.names
        ]
        return present[0] if present else UNSET

    def applies(self, name: str, point: Point) -> bool:
        """True if the method of the point uses a weight, parameter or normalisation."""
        method = self._method_at(point)
        if name == "norm":
            return method.uses == "scores"
        if name == "weights":
            return method.weighted
        parameters = {
            key: self.fusion.parameters[key] for key in self.fusion.parameters if key in method.parameters
        }
        weights, norm = self.fusion.weights if method.weighted else [], self.fusion.norm
        used = {
            *template_names([parameters, weights, self.fusion.method]),
            *template_names(norm if method.uses == "scores" else None),
        }
        only_settings = template_names([getattr(self.fusion, key) for key in _TEMPLATES])
        return name not in only_settings or name in used

    def check(self, point: Point) -> None:
        """Refuse a method with weights, parameters or a normalisation that it does not take."""
        fusion = self._fuser_at(point)
        method, _, _ = read_setting(
            fusion.method, fusion.parameters, fusion.weights or None, fusion.norm, len(self.fused_names)
        )
        if method.train:
            problem = f"{method.name} learns from judgments, which the fusion of a sweep cannot do."
            raise UsageError(problem, code="missing-input")

    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on."""
        fusion = self._fuser_at(point)
        keys = {field_.name: getattr(fusion, field_.name) for field_ in fields(fusion)}
        part_dials = {
            name: point[name]
            for list_source in self.parts.values()
            for name in list_source.names
            if name in point
        }
        optional = ("rerank", "rerank_depth", "confirm")
        return {name: value for name, value in keys.items() if name not in optional or value is not None} | (
            {"dials": part_dials} if part_dials else {}
        )

    def with_queries(self, query_ids: Collection[str]) -> FusionTarget:
        """The fusion with parts that are asked these queries alone."""
        return replace(
            self,
            parts={name: list_source.with_queries(query_ids) for name, list_source in self.parts.items()},
            confirm=self.confirm and self.confirm.with_queries(query_ids),
        )

    def requests(self, points: Sequence[Point], queries: int) -> int:
        """Each query once for each value of an engine's own dials."""
        settings = {
            (number, repr([(name, point.get(name)) for name in sorted(list_source.names)]))
            for number, list_source in enumerate(self.engines)
            for point in points
        }
        return len(settings) * queries

    def lists(self, point: Point, folder: Path) -> dict[str, Run]:
        """The lists that the point fuses."""
        part_runs = {
            name: self.parts[name].take(point, folder, lambda: None).run for name in self.fused_names
        }
        return {name: run for name, run in part_runs.items() if run is not None}

    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point."""
        watch()
        fusion = self._fuser_at(point)
        runs: dict[str, Run] = {}
        for name, list_source in self.parts.items():
            if name != RERANKER or fusion.rerank_depth:
                part_run = list_source.take(point, path.parent, watch)
                if part_run.run is None:
                    return replace(part_run, problem=f"{name}: {part_run.problem}", latency={})
                runs[name] = part_run.run
        scores = runs.pop(RERANKER, None)
        try:
            with progress(None):
                fused = fuse(
                    runs,
                    fusion.method,
                    fusion.parameters,
                    weights=fusion.weights or None,
                    norm=fusion.norm,
                    depth=fusion.depth,
                    keep=fusion.keep,
                )
        except UsageError as error:
            return PointRun(None, error.problem.rstrip("."))
        if scores is None or fused.run is None:
            return PointRun(fused.run)
        return PointRun(rerank(fused.run, scores, fusion.rerank_depth or 0))

    def _method_at(self, point: Point) -> Method:
        return METHODS.find(point.get("method") or str(fill(self.fusion.method, point)))

    def _fuser_at(self, point: Point) -> Fuse:
        """The fusion of a point; if methods vary, without what the method of the point does not take."""
        keys = {name: value for name, value in point.items() if name in FUSION_KEYS}
        filled = {name: fill(getattr(self.fusion, name), point) for name in _TEMPLATES}
        fusion = replace(self.fusion, **{**filled, **keys})
        if "method" not in point and not {*template_names(self.fusion.method)}:
            return fusion
        method = self._method_at(point)
        other_parameters = {name for other_method in METHODS.values() for name in other_method.parameters}
        return replace(
            fusion,
            parameters={
                name: value
                for name, value in fusion.parameters.items()
                if name in method.parameters or name not in other_parameters
            },
            weights=fusion.weights if method.weighted else [],
            norm=fusion.norm if method.uses == "scores" else None,
        )
