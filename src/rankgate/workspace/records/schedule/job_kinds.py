"""The kinds of scheduled jobs, and the declaration of a new kind.

A kind has parameters and commands. A new kind is an object in this module, or an entry point of a
package. The kinds are:

- snapshot: send every query to a search engine, and evaluate the results,
- evaluate: evaluate runs of the project again,
- gate: check a run of the project against a policy,
- kpi: compute KPIs of a log,
- alerts: check the alert rules, and send the messages,
- engine-snapshot: send the project's queries to one of its engines, store and evaluate the run,
- engine-gate: the same, and check the run against a baseline,
- pool: create a batch of the documents that runs rank first,
- judgments: create judgments from the ratings,
- compare: compare two runs of the project,
- sweep: measure an engine of the project at all values of its dials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.declare import Declared, Parameter, Registry, find_declared
from rankgate.core.frozen import dataclass
from rankgate.store.rows import now

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject

Commands: TypeAlias = Callable[[str, Mapping[str, Any]], list[list[str]]]


@dataclass(frozen=True)
class JobKind(Declared):
    """A kind of job; a run uses only the declared values.

    Attributes:
        name: the name used in jobs.
        title: a description, in a sentence.
        takes: the parameters.
        commands: a function from the project's name and the values to rankgate commands, each a
            list of words.
        files: the parameters that name files in the folder of jobs.
        good: the exit codes of the last command that are not failures.
        system: the parameter with the system's name in the history, if run names differ each time;
            empty to use the names of runs.
    """

    takes: tuple[Parameter, ...]
    commands: Commands
    files: frozenset[str] = frozenset()
    good: frozenset[int] = frozenset({0})
    system: str = ""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The kind's own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}


def repeat_option(name: str, values: Iterable[object]) -> list[str]:
    """One option ``--name=value`` for each value."""
    return [f"--{name}={value}" for value in values]


def set_options(**values: object) -> list[str]:
    """The options with a value, as ``--name=value``."""
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, value in values.items()
        if value is not None and value != ""
    ]


def commands_of(
    verb: str,
    *operands: str,
    record: bool = True,
    options: Mapping[str, str] | None = None,
    repeated: Mapping[str, str] | None = None,
) -> Commands:
    """The commands of a kind that is one command on names in the project.

    Args:
        verb: the command.
        operands: the parameters with its arguments, which come after ``--`` and so cannot be options;
            other words are arguments themselves.
        record: True to add ``--record``.
        options: the parameter of each option.
        repeated: the parameter with the values of each option that is given once for each of them.
    """

    def commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
        command_options = ["--record"] * record
        command_options += set_options(**{option: values[name] for option, name in (options or {}).items()})
        for option, name in (repeated or {}).items():
            command_options += repeat_option(option, values[name])
        operand_values = [values.get(operand, operand) for operand in operands]
        arguments = [
            text for value in operand_values for text in ([value] if isinstance(value, str) else value)
        ]
        return [[verb, f"--project={project}", *command_options, "--", *arguments]]

    return commands


evaluate_commands = commands_of("eval", "judgments", "runs", repeated={"metric": "metrics"})
gate_commands = commands_of("gate", "judgments", "baseline", "candidate", options={"policy": "policy"})

METRICS_PARAMETER = Parameter("metrics", "texts", "metrics, such as nDCG@10", ("nDCG@10",))
SYSTEM_PARAMETER = Parameter(
    "system", "text", "the name of the system in the history; left out: the name of the run"
)
GATE_CODES = frozenset({0, 1, 3})
"""The exit codes of a gate that are results, including that of a failed gate."""


def snapshot_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate snapshot``, then ``rankgate eval`` of the run if the project has judgments."""
    run = values["output"]
    record = [] if values["judgments"] else ["--record"]
    command_lines = [
        ["snapshot", f"--output={run}", "--force", *record, "--", values["engine"], values["queries"]]
    ]
    if values["judgments"]:
        metrics = repeat_option("metric", values["metrics"])
        command_lines.append(["eval", "--record", *metrics, "--", values["judgments"], run])
    return command_lines


SNAPSHOT_JOB = JobKind(
    "snapshot",
    (
        Parameter("engine", "text", "the file of the engine", required=True),
        Parameter("queries", "text", "the file of the queries", required=True),
        Parameter("output", "text", "the file of the run, which ends in .run", "snapshot.run"),
        Parameter("judgments", "text", "the file of judgments; left out: the run is not evaluated"),
        METRICS_PARAMETER,
    ),
    snapshot_commands,
    files=frozenset({"engine", "queries", "output", "judgments"}),
    title="send every query to a search engine, and evaluate the results",
)


EVALUATE_JOB = JobKind(
    "evaluate",
    (
        Parameter(
            "judgments", "text", "judgments in the project, or all for the ratings so far", required=True
        ),
        Parameter("runs", "texts", "runs in the project", required=True),
        METRICS_PARAMETER,
        SYSTEM_PARAMETER,
    ),
    evaluate_commands,
    system="system",
    title="evaluate runs of the project",
)


GATE_JOB = JobKind(
    "gate",
    (
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("baseline", "text", "a run in the project", required=True),
        Parameter("candidate", "text", "a run in the project", required=True),
        Parameter("policy", "text", "the file of the policy; left out: the default policy"),
        SYSTEM_PARAMETER,
    ),
    gate_commands,
    files=frozenset({"policy"}),
    good=GATE_CODES,
    system="system",
    title="check a run of the project against a policy",
)


def kpi_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate online kpi``, recorded."""
    mapping = set_options(mapping=values["mapping"])
    kpis = repeat_option("kpi", values["kpis"])
    return [["online", "kpi", "--record", *kpis, *mapping, "--", values["events"]]]


KPI_JOB = JobKind(
    "kpi",
    (
        Parameter("events", "text", "the folder or file of events", required=True),
        Parameter("kpis", "texts", "KPIs, such as search_ctr; left out: all", ()),
        Parameter("mapping", "text", "the file that maps the columns of the log"),
    ),
    kpi_commands,
    files=frozenset({"events", "mapping"}),
    title="compute KPIs of a log",
)


def alert_commands(project: str, values: JsonObject) -> list[list[str]]:  # noqa: ARG001
    """``rankgate alerts check``."""
    return [["alerts", "check", f"--project={project}"]]


ALERTS_JOB = JobKind(
    "alerts",
    (),
    alert_commands,
    good=frozenset({0, 1}),  # an alert is a result, not a failure
    title="check the rules of alerts, and send the messages",
)


def engine_commands(project: str, values: JsonObject) -> list[list[str]]:
    """``rankgate snapshot`` with an engine of the project, then ``rankgate eval`` of its run."""
    return _ask_engine(project, values, f"{values['engine']}-{now():%Y%m%d-%H%M%S}")


def _ask_engine(project: str, values: Mapping[str, Any], run: str) -> list[list[str]]:
    """The commands that create a run, and evaluate it if there are judgments."""
    options = {"save_as": "run", "depth": "depth", "rate": "rate"}
    snapshot = commands_of("snapshot", "engine", "queries", record=False, options=options)
    command_lines = snapshot(project, {**values, "run": run})
    if values["judgments"]:
        command_lines += evaluate_commands(project, {**values, "runs": [run]})
    return command_lines


ENGINE_PARAMETERS = (
    Parameter("engine", "text", "the name of an engine of the project", required=True),
    Parameter("depth", "int", "documents of each list; by default as the engine's file sets"),
    Parameter("rate", "float", "queries a second, at most; left out: no limit"),
    METRICS_PARAMETER,
)
ENGINE_JOB = JobKind(
    "engine-snapshot",
    (*ENGINE_PARAMETERS, Parameter("judgments", "text", "judgments in the project; left out: no evaluation")),
    engine_commands,
    title="send the queries of the project to an engine of it, keep and evaluate the run",
    system="engine",
)


def engine_gate_commands(project: str, values: JsonObject) -> list[list[str]]:
    """The commands of a snapshot, then ``rankgate gate`` of its run against a baseline."""
    run = f"{values['engine']}-{now():%Y%m%d-%H%M%S}"
    gate_values = {**values, "candidate": run, "policy": None}
    return [*_ask_engine(project, values, run), *gate_commands(project, gate_values)]


ENGINE_GATE_JOB = JobKind(
    "engine-gate",
    (
        *ENGINE_PARAMETERS,
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("baseline", "text", "a run in the project", required=True),
    ),
    engine_gate_commands,
    good=GATE_CODES,
    title="ask an engine of the project, evaluate the run, check it against a baseline",
    system="engine",
)


POOL_JOB = JobKind(
    "pool",
    (
        Parameter("runs", "texts", "runs in the project", required=True),
        Parameter("batch", "text", "the name of the new batch", required=True),
        Parameter("depth", "int", "the first documents of each list", 10),
        Parameter("strategy", "text", "raters of each document: 1, 2, 3 or agree", "2"),
        Parameter("judgments", "text", "judgments with documents to leave out"),
    ),
    commands_of(
        "pool",
        "runs",
        record=False,
        options={"save_as": "batch", "depth": "depth", "strategy": "strategy", "qrels": "judgments"},
    ),
    title="make a batch of the documents that runs rank first",
)


JUDGMENTS_JOB = JobKind(
    "judgments",
    (
        Parameter("judgments", "text", "the name of the judgments", required=True),
        Parameter("rule", "text", "the rule that makes a judgment of ratings; left out: median"),
    ),
    commands_of("resolve", "all", record=False, options={"save_as": "judgments", "rule": "rule"}),
    title="make judgments of the ratings of the project",
)


COMPARE_JOB = JobKind(
    "compare",
    (
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("baseline", "text", "a run in the project", required=True),
        Parameter("candidate", "text", "a run in the project", required=True),
        METRICS_PARAMETER,
        SYSTEM_PARAMETER,
    ),
    commands_of("compare", "judgments", "baseline", "candidate", repeated={"metric": "metrics"}),
    title="compare two runs of the project",
    system="system",
)


SWEEP_JOB = JobKind(
    "sweep",
    (
        Parameter("engine", "text", "the name of an engine of the project", required=True),
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("dials", "texts", "parameters of the engine, as in k1=0.9,1.2", required=True),
        Parameter("rate", "float", "queries a second, at most; left out: no limit"),
        Parameter("search", "choice", "grid, or race for fewer requests", choices=("grid", "race")),
        METRICS_PARAMETER,
    ),
    commands_of(
        "sweep",
        "engine",
        options={name: name for name in ("judgments", "rate", "search")},
        repeated={"dial": "dials", "metric": "metrics"},
    ),
    title="measure an engine of the project at all values of its dials",
)


JOBS = Registry(JobKind, "kind of job", lambda: find_declared(__name__, JobKind), group="rankgate.jobs")
"""Every kind of job, by name."""
