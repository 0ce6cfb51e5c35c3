"""Read a sweep: what is swept, by which dials, how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rankgate.core.declare import fields_of
from rankgate.core.declare.toml import Toml
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_run
from rankgate.data.clusters import CLUSTER, near_copies
from rankgate.decisions.sweeps.dials import Dial, Point, grid, read_dials, same
from rankgate.decisions.sweeps.settings import Fuse, Program, Settings, Step
from rankgate.decisions.sweeps.setup import Setup
from rankgate.decisions.sweeps.steps import names_in, refuse_step
from rankgate.decisions.sweeps.targets.command import CommandTarget
from rankgate.decisions.sweeps.targets.engine import EngineTarget
from rankgate.decisions.sweeps.targets.fusion import FusionTarget
from rankgate.decisions.sweeps.targets.target import UNSET, Target
from rankgate.engines.snapshots.queries import queries_of
from rankgate.engines.snapshots.take import configuration_of
from rankgate.measurement.evaluation.scored_system import Scorer

if TYPE_CHECKING:
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Engine

SweepLike: TypeAlias = "str | Path | Mapping[str, Any]"
"""A sweep: its TOML file, or the tables of one, where ``engine``, ``queries``, ``qrels`` and the
``runs`` of ``fuse`` may be what other functions take: a function, dictionaries, frames."""

_TABLES = ("sweep", "fuse", "command", "setup", "undo", "dials", "baseline")
_GIVEN = ("engine", "queries", "qrels")
CODE = "invalid-sweep"
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """A sweep before it is run.

    Attributes:
        name: of the sweep.
        settings: how it is measured.
        target: what is swept.
        dials: what is changed.
        baseline: the values now.
        setup: what prepares each point.
        scorer: judgments, metrics and convention.
        clusters: of the queries, by id: their column cluster, or near-copies by their texts.
    """

    name: str
    settings: Settings
    target: Target
    dials: tuple[Dial, ...]
    baseline: Point
    setup: Setup
    scorer: Scorer
    clusters: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> list[Point]:
        """The points of the grid, the baseline first; only the baseline for other searches."""
        if self.settings.search != "grid":
            return [self.baseline]
        others = (point for point in grid(self.dials) if not self.is_baseline(point))
        return [self.baseline, *others]

    def is_baseline(self, point: Point) -> bool:
        """Whether a point has the values of the baseline."""
        return all(same(point[name], value) for name, value in self.baseline.items())


def read_plan(given: SweepLike) -> Plan:
    """The plan of a sweep.

    Raises:
        InputError: no TOML; an unknown key or dial, a value that does not fit; with the line.
        UsageError: settings that do not work together.
    """
    if isinstance(given, Mapping):
        return _plan(Toml(given, "sweep", {}, code=CODE), "sweep", Path.cwd())
    path = Path(given)
    return _plan(Toml.read(path, code=CODE), path.stem, path.resolve().parent)


def _plan(toml: Toml, name: str, folder: Path) -> Plan:
    toml.check_keys(toml.values, _TABLES)
    table = toml.values.get("sweep")
    if not isinstance(table, Mapping):
        raise toml.error("[sweep] is missing: engine, queries, qrels and metrics.")
    given = {key: table.get(key) for key in _GIVEN}
    plain = {key: each for key, each in table.items() if key not in _GIVEN or isinstance(each, str)}
    settings = Settings(**toml.read_values(plain, fields_of(Settings).values(), "sweep"))
    if given["qrels"] is None:
        raise toml.error("qrels is missing: the file of the judgments.", "sweep")
    steps, undo = _steps(toml, "setup", folder), _steps(toml, "undo", folder)
    target = _target(toml, settings, given, folder, steady=not steps)
    engine = target.configuration.engine if isinstance(target, EngineTarget) else None
    _refuse_steps(toml, steps, undo, engine)
    dials = read_dials(toml, grid=settings.search == "grid")
    setup = Setup(steps, undo, known=target.known, engine=engine, folder=folder)
    baseline = _baseline(toml, target, setup, dials)
    setup = Setup(steps, undo, baseline, target.known, engine, folder)
    _refuse_names(toml, setup, dials, target)
    _refuse_large(toml, settings, dials)
    try:
        scorer = Scorer.of(_placed(given["qrels"], folder), settings.metrics, settings.convention)
    except UsageError as error:
        raise toml.error(error.problem, "sweep", "metrics", code=error.code) from None
    clusters = _clusters(given["queries"], folder)
    plan = Plan(name, settings, target, dials, baseline, setup, scorer, clusters)
    _refuse_unjudged(toml, plan)
    return plan


def _target(
    toml: Toml, settings: Settings, given: Mapping[str, Any], folder: Path, *, steady: bool
) -> Target:
    named = [
        name
        for name, there in (
            ("engine", given["engine"] is not None),
            ("[fuse]", "fuse" in toml.values),
            ("[command]", "command" in toml.values),
        )
        if there
    ]
    if len(named) != 1:
        found = f"there are {' and '.join(named)}" if named else "there is none"
        raise toml.error(f"say one of engine, [fuse] and [command]; {found}.", "sweep")
    if "fuse" in toml.values:
        return _fusion(toml, folder)
    if "command" in toml.values:
        program = _declared(toml, Program, "command")
        if not program.command or not any("{{run}}" in str(each) for each in program.command):
            raise toml.error(
                "command names no {{run}}, the file that it writes.", "command", "command"
            )
        return CommandTarget(program, folder)
    if given["queries"] is None:
        raise toml.error("queries is missing: the file of the queries.", "sweep")
    place = _placed(given["engine"], folder)
    chosen = configuration_of(place).having((), settings.depth)
    if callable(place):
        chosen = _with_arguments(toml, chosen, place)
    asked = queries_of(_placed(given["queries"], folder))
    own = Path(place).parent if isinstance(place, str) else folder
    return EngineTarget(chosen, asked, own, steady)


def _with_arguments(
    toml: Toml, chosen: Configuration, function: Callable[..., Any]
) -> Configuration:
    """A function whose arguments are parameters: their defaults, or the values of [baseline]."""
    given = toml.values.get("baseline", {})
    defaults = {name: each.default for name, each in signature(function).parameters.items()}
    parameters = {
        name: given.get(name, value)
        for name, value in defaults.items()
        if name in toml.values.get("dials", {}) and (name in given or value is not Parameter.empty)
    }
    return replace(chosen, engine=replace(chosen.engine, parameters=parameters))


def _clusters(queries: Any, folder: Path) -> dict[str, str]:
    """The clusters of the queries; none without their file."""
    if queries is None:
        return {}
    asked = queries_of(_placed(queries, folder))
    named = {
        query.query_id: str(query.values[CLUSTER])
        for query in asked
        if query.values.get(CLUSTER) is not None
    }
    return named or near_copies({query.query_id: query.text for query in asked})


def _fusion(toml: Toml, folder: Path) -> FusionTarget:
    table = toml.values["fuse"]
    given = table.get("runs") if isinstance(table, Mapping) else None
    if isinstance(given, Mapping):
        runs = {
            str(name): read_run(_placed(each, folder), str(name)) for name, each in given.items()
        }
        return FusionTarget(_declared(toml, Fuse, "fuse", runs=list(runs)), runs)
    fusion = _declared(toml, Fuse, "fuse")
    read = [read_run(_placed(each, folder)).in_memory() for each in fusion.runs]
    found = {run.name: run for run in read}
    if len(found) < len(read) or len(read) < 2:
        raise toml.error("runs are two or more files of different names.", "fuse", "runs")
    return FusionTarget(fusion, found)


def _declared(toml: Toml, kind: type[T], place: str, **more: Any) -> T:
    table = {**toml.values[place], **more}
    return kind(**toml.read_values(table, fields_of(kind).values(), place))


def _steps(toml: Toml, place: str, folder: Path) -> tuple[Step, ...]:
    tables = toml.values.get(place, [])
    if not isinstance(tables, list):
        raise toml.error(f"[[{place}]] is written with two brackets, one table a step.", place)
    found = []
    for number, table in enumerate(tables):
        values = toml.read_values(table, fields_of(Step).values(), place, str(number))
        if values["ca"]:
            values["ca"] = str(folder / values["ca"])
        found.append(Step(**values))
    return tuple(found)


def _refuse_steps(
    toml: Toml, steps: Sequence[Step], undo: Sequence[Step], engine: Engine | None
) -> None:
    if undo and not steps:
        raise toml.error("[[undo]] without [[setup]] undoes nothing.", "undo", "0")
    for place, some in (("setup", steps), ("undo", undo)):
        for number, step in enumerate(some):
            try:
                refuse_step(step, engine)
            except UsageError as error:
                raise toml.error(error.problem, place, str(number), code=error.code) from None


def _baseline(toml: Toml, target: Target, setup: Setup, dials: Sequence[Dial]) -> dict[str, Any]:
    """The values now: those of [baseline], then those that the target has."""
    given = toml.values.get("baseline", {})
    names = [dial.name for dial in dials]
    if isinstance(given, Mapping) and (other := [name for name in given if name not in names]):
        raise toml.error(
            f"{other[0]} is no dial; there are {', '.join(names)}.",
            "baseline", other[0], code="unknown-dial",
        )  # fmt: skip
    toml.check_keys(given, names, "baseline")
    found = {}
    for dial in dials:
        value = given.get(dial.name, target.current(dial.name))
        known = tuple(dial.values) or tuple(e for e in (dial.low, dial.high) if e is not None)
        known = known if value is UNSET else (*known, value)
        if problem := target.refuse(dial, known, elsewhere=dial.name in setup.names):
            code = "unused-dial" if dial.name in target.known else "unknown-dial"
            place = ("baseline",) if dial.name in given else ("dials",)
            raise toml.error(f"{problem}.", *place, dial.name, code=code)
        if value is UNSET:
            raise toml.error(
                f"[baseline] does not say what {dial.name} is now.",
                "dials", dial.name, code="missing-baseline",
            )  # fmt: skip
        found[dial.name] = value
    return found


def _refuse_names(toml: Toml, setup: Setup, dials: Sequence[Dial], target: Target) -> None:
    """Names in double braces that nothing has a value for."""
    known = {*(dial.name for dial in dials), *target.known}
    used = [
        *((("setup", str(at)), names_in(step)) for at, step in enumerate(setup.steps)),
        *((("undo", str(at)), names_in(step)) for at, step in enumerate(setup.undo)),
        (("fuse" if target.kind == "fusion" else "command",), target.names),
    ]
    for place, names in used:
        if unknown := sorted(names - known):
            problem = f"{{{{{unknown[0]}}}}} has no value: it is no dial."
            raise toml.error(problem, *place, code="unknown-dial")


def _refuse_large(toml: Toml, settings: Settings, dials: Sequence[Dial]) -> None:
    if settings.search != "grid":
        return
    count = 1
    for dial in dials:
        count *= len(dial.values)
    if count > settings.limit:
        raise toml.error(
            f"the grid has {count:,} points, more than limit = {settings.limit:,}; take fewer "
            'values, search = "optuna", or a higher limit in [sweep].',
            "dials",
            code="large-grid",
        )


def _refuse_unjudged(toml: Toml, plan: Plan) -> None:
    asked = plan.target.query_ids
    judged = plan.scorer.index.query_ids
    if asked is not None and not asked.intersection(judged):
        raise toml.error(
            f"no query that is asked has judgments: queries such as {min(asked)!r}, judgments of "
            f"{judged[0]!r}; check that both use the same ids.",
            "sweep", "qrels", code="queries-differ",
        )  # fmt: skip


def _placed(given: Any, folder: Path) -> Any:
    """A path from the folder of the sweep's file; anything else as it is."""
    if not isinstance(given, str) or given == "-":
        return given
    return given if Path(given).is_absolute() else str(folder / given)
