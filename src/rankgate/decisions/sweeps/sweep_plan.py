"""Read a sweep: its target, its dials and its measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import polars as pl

from rankgate.core.declare import fields_of
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data import read_run
from rankgate.data.query_tags import CLUSTER, find_near_copies
from rankgate.decisions.sweeps.dials import (
    Dial,
    Fuse,
    Point,
    Program,
    Settings,
    Step,
    grid_points,
    is_same_value,
    point_text,
    read_dials,
)
from rankgate.decisions.sweeps.fusion_target import RERANKER, EnginePart, FilePart, FusionTarget, Part
from rankgate.decisions.sweeps.query_split import Split, split_queries
from rankgate.decisions.sweeps.setup_steps import Setup, names_in, refuse_step
from rankgate.decisions.sweeps.targets import UNSET, CommandTarget, EngineTarget, Target
from rankgate.engines.requests.secrets import template_names
from rankgate.engines.snapshots.query_sender import queries_of
from rankgate.engines.snapshots.snapshot_verb import configuration_of
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.fusion.trained_methods import METHODS

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Engine


SweepLike: TypeAlias = "str | Path | Mapping[str, Any]"
"""A sweep: its TOML file, or the tables of one, where ``engine``, ``queries``, ``qrels`` and the
``runs`` of ``fuse`` may be what other functions take: a function, dictionaries, frames."""

_TABLES = ("sweep", "fuse", "command", "setup", "undo", "dials", "baseline")
_INPUT_KEYS = ("engine", "queries", "qrels")
CODE = "invalid-sweep"
T = TypeVar("T")
_HELD_OUT = 0.4
_FEWEST = 10


@dataclass(frozen=True)
class Plan:
    """A sweep before it is run.

    Attributes:
        name: the name of the sweep.
        settings: the settings of the measurement.
        target: the engine, fusion or command.
        dials: the settings that are changed.
        baseline: the present values.
        fallback: a value for each dial, which is sent where the dial does not apply.
        setup: the steps that prepare each point.
        scorer: judgments, metrics and convention.
        clusters: the clusters of the queries, by id: from the column cluster, or near-copies of
            texts.
        texts: the texts of the queries, by id; empty without a file of queries.
    """

    name: str
    settings: Settings
    target: Target
    dials: tuple[Dial, ...]
    baseline: Point
    fallback: Mapping[str, Any]
    setup: Setup
    scorer: Scorer
    clusters: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> list[Point]:
        """The points of the grid, the baseline first; only the baseline for other searches."""
        if self.settings.search == "optuna":
            return [self.baseline]
        points = map(self.conditional, grid_points(self.dials))
        other_points = {repr(point): point for point in points if not self.is_baseline(point)}
        return [self.baseline, *other_points.values()]

    @property
    def held_out_share(self) -> float:
        """The share of the queries that choose nothing."""
        settings = self.settings
        if settings.held_out is not None:
            return settings.held_out
        return _HELD_OUT if settings.search == "race" or settings.predict else 0.0

    @cached_property
    def split(self) -> Split | None:
        """The training queries and the held-out ones; None if all queries choose.

        Queries of a cluster, and queries with the same relevant documents, stay together.

        Raises:
            UsageError: there are too few judged queries.
        """
        if not self.held_out_share and self.settings.search != "race":
            return None
        target_queries = self.target.query_ids
        query_ids = [
            query_id
            for query_id in self.scorer.index.query_ids
            if target_queries is None or query_id in target_queries
        ]
        relevant = self.scorer.qrels.table.filter(pl.col("grade") > 0)
        documents = relevant.group_by("query_id").agg(
            pl.col("doc_id").cast(pl.String).sort().str.join("\x00")
        )
        clusters = dict(documents.iter_rows()) | dict(self.clusters)
        split = split_queries(query_ids, clusters, self.held_out_share, self.settings.seed)
        if len(split.training) < _FEWEST or 0 < len(split.held_out) < _FEWEST:
            raise UsageError(
                f"{count_noun(len(query_ids), 'judged query')} of the target cannot be cut: {_FEWEST} must "
                "choose, and as many judge the choice; judge more queries, or take search = grid and "
                "held_out = 0.",
                code="few-queries",
            )
        return split

    @property
    def text_table(self) -> pl.DataFrame:
        """``query_id`` and ``text``."""
        texts = {"query_id": list(self.texts), "text": list(self.texts.values())}
        return pl.DataFrame(texts, {"query_id": pl.String, "text": pl.String})

    def conditional(self, values: Point) -> Point:
        """The point of these values: None where a dial does not apply."""
        return _conditional(self.dials, self.target, self.setup, values)

    def settings_at(self, point: Point) -> Mapping[str, Any]:
        """A value for each dial, also where the dial does not apply."""
        return {name: self.fallback[name] if value is None else value for name, value in point.items()}

    def is_baseline(self, point: Point) -> bool:
        """True if a point has the values of the baseline."""
        return all(is_same_value(point[name], value) for name, value in self.baseline.items())


def _conditional(dials: Sequence[Dial], target: Target, setup: Setup, values: Point) -> Point:
    point: dict[str, Any] = {}
    for dial in dials:
        applies = dial.applies_at(point) and (dial.name in setup.names or target.applies(dial.name, values))
        point[dial.name] = values[dial.name] if applies else None
    return point


def read_plan(source: SweepLike) -> Plan:
    """The plan of a sweep.

    Raises:
        InputError: no TOML; an unknown key or dial, a value that does not fit; with the line.
        UsageError: settings that do not work together.
    """
    if isinstance(source, Mapping):
        return _plan(TomlFile(source, "sweep", {}, code=CODE), "sweep", Path.cwd())
    path = Path(source)
    return _plan(TomlFile.read(path, code=CODE), path.stem, path.resolve().parent)


def _plan(toml: TomlFile, name: str, folder: Path) -> Plan:
    toml.check_keys(toml.values, _TABLES)
    table = toml.values.get("sweep")
    if not isinstance(table, Mapping):
        raise toml.error("[sweep] is missing: engine, queries, qrels and metrics.")
    given_inputs = {key: table.get(key) for key in _INPUT_KEYS}
    plain_settings = {
        key: setting for key, setting in table.items() if key not in _INPUT_KEYS or isinstance(setting, str)
    }
    settings = Settings(**toml.read_values(plain_settings, fields_of(Settings).values(), "sweep"))
    if given_inputs["qrels"] is None:
        raise toml.error("qrels is missing: the file of the judgments.", "sweep")
    steps, undo = _steps(toml, "setup", folder), _steps(toml, "undo", folder)
    target = _target(toml, settings, given_inputs, folder, steady=not steps)
    engine = target.configuration.engine if isinstance(target, EngineTarget) else None
    _refuse_steps(toml, steps, undo, engine)
    dials = read_dials(toml, grid=settings.search != "optuna")
    setup = Setup(steps, undo, fixed_values=target.template_values, engine=engine, folder=folder)
    fallback = _present_values(toml, target, setup, dials)
    baseline = _conditional(dials, target, setup, fallback)
    if without_value := [dial_name for dial_name, value in baseline.items() if value is UNSET]:
        problem = f"[baseline] has no value for {without_value[0]}."
        raise toml.error(problem, "dials", without_value[0], code="missing-baseline")
    fallback = {
        dial.name: _first_value(dial) if fallback[dial.name] is UNSET else fallback[dial.name]
        for dial in dials
    }
    setup = Setup(steps, undo, fallback, target.template_values, engine, folder)
    _refuse_names(toml, setup, dials, target)
    _refuse_large(toml, settings, dials)
    try:
        scorer = Scorer.from_metrics(
            _resolve_path(given_inputs["qrels"], folder), settings.metrics, settings.convention
        )
    except UsageError as error:
        raise toml.error(error.problem, "sweep", "metrics", code=error.code) from None
    texts, clusters = _texts_and_clusters(given_inputs["queries"], folder)
    plan = Plan(name, settings, target, dials, baseline, fallback, setup, scorer, clusters, texts)
    _refuse_search(toml, plan)
    _refuse_unjudged(toml, plan)
    try:
        plan.split  # noqa: B018 - cuts the queries
    except UsageError as error:
        raise toml.error(error.problem, "sweep", "qrels", code=error.code) from None
    _refuse_impossible(toml, plan)
    return plan


def _target(
    toml: TomlFile, settings: Settings, given_inputs: JsonObject, folder: Path, *, steady: bool
) -> Target:
    target_names = [
        name
        for name, is_given in (
            ("engine", given_inputs["engine"] is not None),
            ("[fuse]", "fuse" in toml.values),
            ("[command]", "command" in toml.values),
        )
        if is_given
    ]
    if len(target_names) != 1:
        found_text = f"there are {' and '.join(target_names)}" if target_names else "none is set"
        raise toml.error(f"set exactly one of engine, [fuse] and [command]; {found_text}.", "sweep")
    if "fuse" in toml.values:
        return _fusion(toml, given_inputs["queries"], settings.depth, folder)
    if "command" in toml.values:
        program = _read_table(toml, Program, "command")
        if not program.command or not any("{{run}}" in str(word) for word in program.command):
            raise toml.error("command names no {{run}}, the file that it writes.", "command", "command")
        return CommandTarget(program, folder)
    if given_inputs["queries"] is None:
        raise toml.error("queries is missing: the file of the queries.", "sweep")
    engine_source = _resolve_path(given_inputs["engine"], folder)
    configuration = configuration_of(engine_source).with_parameters((), settings.depth)
    if callable(engine_source):
        configuration = _function_configuration(toml, configuration, engine_source)
    query_list = queries_of(_resolve_path(given_inputs["queries"], folder))
    engine_folder = Path(engine_source).parent if isinstance(engine_source, str) else folder
    return EngineTarget(configuration, query_list, engine_folder, steady)


def _function_configuration(
    toml: TomlFile, configuration: Configuration, function: Callable[..., object]
) -> Configuration:
    """A function with its arguments as parameters: their defaults, or the values of [baseline]."""
    baseline_values = toml.values.get("baseline", {})
    defaults = {name: parameter.default for name, parameter in signature(function).parameters.items()}
    parameters = {
        name: baseline_values.get(name, value)
        for name, value in defaults.items()
        if name in toml.values.get("dials", {}) and (name in baseline_values or value is not Parameter.empty)
    }
    return replace(configuration, engine=replace(configuration.engine, parameters=parameters))


def _texts_and_clusters(queries: object, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The texts and the clusters of the queries; empty without the file of queries."""
    if queries is None:
        return {}, {}
    query_list = queries_of(_resolve_path(queries, folder))
    texts = {query.query_id: query.text for query in query_list}
    cluster_of_query = {
        query.query_id: str(query.values[CLUSTER])
        for query in query_list
        if query.values.get(CLUSTER) is not None
    }
    return texts, cluster_of_query or find_near_copies(texts)


def _refuse_search(toml: TomlFile, plan: Plan) -> None:
    """Refuse a race that saves nothing, a predictor without values to learn from, an engine without dials."""
    settings, target = plan.settings, plan.target
    if isinstance(target, FusionTarget) and target.confirm is not None:
        for dial in plan.dials:
            if target.confirm.current(dial.name) is UNSET:
                name = target.confirm.name
                problem = f"confirm: {name} has no parameter {dial.name}, so it cannot take the dial."
                raise toml.error(problem, "fuse", "confirm", code="unknown-dial")
    if settings.search == "race" and plan.target.kind != "engine":
        problem = f"a race saves requests, and points of a {plan.target.kind} take none; take search = grid."
        raise toml.error(problem, "sweep", "search", code="conflicting-options")
    if settings.predict is None:
        return
    if settings.predict not in [dial.name for dial in plan.dials]:
        problem = f"predict = {settings.predict!r} is not a dial."
        raise toml.error(problem, "sweep", "predict", code="unknown-dial")
    if settings.search != "grid" or not plan.held_out_share:
        problem = (
            "predict learns from all values of the dial on the training queries, and held-out ones judge it; "
            "it needs search = grid, and held_out above 0."
        )
        raise toml.error(problem, "sweep", "predict", code="conflicting-options")


def _fusion(toml: TomlFile, queries: object, depth: int | None, folder: Path) -> FusionTarget:
    table = toml.values["fuse"]
    runs = table.get("runs") if isinstance(table, Mapping) else None
    fusion = _read_fusion(toml, **({"runs": list(runs)} if isinstance(runs, Mapping) else {}))

    def engine_at(path: str) -> EngineTarget:
        if queries is None:
            raise toml.error("queries is missing: the file of the queries that engines are asked.", "sweep")
        configuration = configuration_of(_resolve_path(path, folder)).with_parameters((), depth)
        return EngineTarget(configuration, queries_of(_resolve_path(queries, folder)), folder)

    def named_part(source: object, name: str | None) -> tuple[str, Part]:
        path = _resolve_path(source, folder)
        if isinstance(path, str) and path.endswith(".toml"):
            target = engine_at(path)
            dials = {*target.template_values} & {*toml.values.get("dials", {})}
            return name or target.name, EnginePart(target, dials)
        if isinstance(path, str) and any(template_names(path)):
            return name or Path(path).stem, FilePart(path)
        run = read_run(path, name).in_memory()
        return name or run.name, FilePart(run)

    sources = runs.items() if isinstance(runs, Mapping) else [(None, source) for source in fusion.runs]
    all_parts = [named_part(source, None if name is None else str(name)) for name, source in sources]
    parts = dict(all_parts)
    if len(parts) < max(len(all_parts), 2):
        raise toml.error("runs are two or more files of different names.", "fuse", "runs")
    if fusion.rerank is not None:
        parts[RERANKER] = named_part(fusion.rerank, RERANKER)[1]
    return FusionTarget(fusion, parts, None if fusion.confirm is None else engine_at(fusion.confirm))


def _read_fusion(toml: TomlFile, **settings: Any) -> Fuse:
    fusion = _read_table(toml, Fuse, "fuse", **settings)
    if any(template_names(fusion.method)):
        return fusion
    try:
        METHODS.find(fusion.method)
    except UsageError as error:
        raise toml.error(error.problem, "fuse", "method", code=error.code) from None
    return fusion


def _read_table(toml: TomlFile, kind: type[T], table_name: str, **settings: Any) -> T:
    table = {**toml.values[table_name], **settings}
    return kind(**toml.read_values(table, fields_of(kind).values(), table_name))


def _steps(toml: TomlFile, table_name: str, folder: Path) -> tuple[Step, ...]:
    tables = toml.values.get(table_name, [])
    if not isinstance(tables, list):
        raise toml.error(f"[[{table_name}]] is written with two brackets, one table a step.", table_name)
    steps = []
    for number, table in enumerate(tables):
        values = toml.read_values(table, fields_of(Step).values(), table_name, str(number))
        if values["ca"]:
            values["ca"] = str(folder / values["ca"])
        steps.append(Step(**values))
    return tuple(steps)


def _refuse_steps(toml: TomlFile, steps: Sequence[Step], undo: Sequence[Step], engine: Engine | None) -> None:
    if undo and not steps:
        raise toml.error("[[undo]] without [[setup]] undoes nothing.", "undo", "0")
    for table_name, table_steps in (("setup", steps), ("undo", undo)):
        for number, step in enumerate(table_steps):
            try:
                refuse_step(step, engine)
            except UsageError as error:
                raise toml.error(error.problem, table_name, str(number), code=error.code) from None


def _present_values(toml: TomlFile, target: Target, setup: Setup, dials: Sequence[Dial]) -> dict[str, Any]:
    """The present value of each dial, or `UNSET`: from [baseline], else from the target."""
    baseline_table = toml.values.get("baseline", {})
    names = [dial.name for dial in dials]
    if isinstance(baseline_table, Mapping) and (
        unknown_names := [name for name in baseline_table if name not in names]
    ):
        raise toml.error(
            f"{unknown_names[0]} is not a dial; there are {', '.join(names)}.",
            "baseline",
            unknown_names[0],
            code="unknown-dial",
        )
    toml.check_keys(baseline_table, names, "baseline")
    baseline = {}
    for dial in dials:
        value = baseline_table.get(dial.name, target.current(dial.name))
        tried_values = tuple(dial.values) or tuple(e for e in (dial.low, dial.high) if e is not None)
        tried_values = tried_values if value is UNSET else (*tried_values, value)
        if problem := target.refuse(dial, tried_values, elsewhere=dial.name in setup.names):
            code = "unused-dial" if dial.name in target.template_values else "unknown-dial"
            table_name = ("baseline",) if dial.name in baseline_table else ("dials",)
            raise toml.error(f"{problem}.", *table_name, dial.name, code=code)
        baseline[dial.name] = value
    return baseline


def _first_value(dial: Dial) -> Any:
    return dial.values[0] if dial.values else dial.low


def _refuse_names(toml: TomlFile, setup: Setup, dials: Sequence[Dial], target: Target) -> None:
    """Check that names in double braces have a value."""
    known_names = {*(dial.name for dial in dials), *target.template_values}
    names_by_key = [
        *((("setup", str(index)), names_in(step)) for index, step in enumerate(setup.steps)),
        *((("undo", str(index)), names_in(step)) for index, step in enumerate(setup.undo)),
        (("fuse" if target.kind == "fusion" else "command",), target.names),
    ]
    for key_path, names in names_by_key:
        if unknown_names := sorted(names - known_names):
            problem = f"{{{{{unknown_names[0]}}}}} has no value: it is not a dial."
            raise toml.error(problem, *key_path, code="unknown-dial")


def _refuse_large(toml: TomlFile, settings: Settings, dials: Sequence[Dial]) -> None:
    if settings.search == "optuna":
        return
    count = 1
    for dial in dials:
        count *= len(dial.values)
    if count > settings.limit:
        raise toml.error(
            f"the grid has {count:,} points, more than limit = {settings.limit:,}; take fewer values, search "
            '= "optuna", or a higher limit in [sweep].',
            "dials",
            code="large-grid",
        )


def _refuse_unjudged(toml: TomlFile, plan: Plan) -> None:
    query_ids = plan.target.query_ids
    judged = plan.scorer.index.query_ids
    if query_ids is not None and not query_ids.intersection(judged):
        raise toml.error(
            f"no query to run has judgments: queries such as {min(query_ids)!r}, judgments of {judged[0]!r}; "
            f"check that both use the same ids.",
            "sweep",
            "qrels",
            code="queries-differ",
        )


def _refuse_impossible(toml: TomlFile, plan: Plan) -> None:
    """Refuse a dial that never applies, and a point whose settings cannot work together.

    Optuna's proposals are unknown yet: its dials are checked at the values of lists, and at the
    upper end of ranges.
    """
    points = plan.points
    if plan.settings.search == "optuna":
        dials = [
            replace(dial, values=dial.values if dial.low is None else (dial.high,)) for dial in plan.dials
        ]
        points += map(plan.conditional, islice(grid_points(tuple(dials)), plan.settings.limit))
    for dial in plan.dials:
        if all(point[dial.name] is None for point in points):
            problem = f"{dial.name} applies at no point: no value of the other dials uses it."
            raise toml.error(problem, "dials", dial.name, code="unused-dial")
    for point in points:
        try:
            plan.target.check(plan.settings_at(point))
        except UsageError as error:
            raise toml.error(f"{point_text(point)}: {error.problem}", "dials", code=error.code) from None


def _resolve_path(source: object, folder: Path) -> Any:
    """A path resolved from the folder of the sweep's file; any other source unchanged."""
    if not isinstance(source, str) or source == "-":
        return source
    return source if Path(source).is_absolute() else str(folder / source)
