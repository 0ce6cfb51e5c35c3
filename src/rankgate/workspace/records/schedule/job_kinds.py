"""The kinds of scheduled jobs, and how to declare one.

A kind has parameters, and commands that it runs. A new kind is a file in this folder, or an
entry point of a package. The kinds here:

- snapshot: send every query to a search engine, and evaluate the results,
- evaluate: evaluate runs of the project again,
- gate: check a run of the project against a policy,
- kpi: compute KPIs of a log,
- alerts: check the rules of alerts, and send the messages,
- engine-snapshot: send the project's queries to an engine of it, keep and evaluate the run,
- engine-gate: the same, and check the run against a baseline,
- pool: make a batch of what runs rank first,
- judgments: make judgments of the ratings,
- compare: compare two runs of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Declared, Parameter, Registry, find_declared
from rankgate.core.frozen import dataclass
from rankgate.store.rows import now

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class JobKind(Declared):
    """A kind of job: everything that a run uses is declared here.

    Attributes:
        name: the name in jobs.
        title: a description, in a sentence.
        takes: its parameters.
        commands: the name of the project and the values to commands of rankgate, each as its words.
        files: the parameters that name files, which lie in the folder of jobs.
        good: exit codes of the last command that are not failures.
        system: the parameter that names the system in the history, where runs have other names
            each time; empty is by the names of runs.
    """

    takes: tuple[Parameter, ...]
    commands: Callable[[str, Mapping[str, Any]], list[list[str]]]
    files: frozenset[str] = frozenset()
    good: frozenset[int] = frozenset({0})
    system: str = ""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}


def repeat_option(name: str, values: Iterable[object]) -> list[str]:
    """One option for each value, as ``--name=value``."""
    return [f"--{name}={value}" for value in values]


def set_options(**values: object) -> list[str]:
    """The options that have a value, as ``--name=value``."""
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, value in values.items()
        if value is not None and value != ""
    ]


def _project_command(
    verb: str, project: str, options: Iterable[str], *operands: str
) -> list[list[str]]:
    """One command of names in the project; what follows ``--`` cannot be an option."""
    return [[verb, f"--project={project}", *options, "--", *operands]]


METRICS_PARAMETER = Parameter("metrics", "texts", "metrics, such as nDCG@10", ("nDCG@10",))
SYSTEM_PARAMETER = Parameter(
    "system", "text", "the name of the system in the history; left out: the name of the run"
)
GATE_CODES = frozenset({0, 1, 3})
"""Exit codes of a gate that are results: a failed gate is one, too."""


def snapshot_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate snapshot``, then ``rankgate eval`` of the run if there are judgments."""
    run = values["output"]
    record = [] if values["judgments"] else ["--record"]
    command_lines = [
        [
            "snapshot",
            f"--output={run}",
            "--force",
            *record,
            "--",
            values["engine"],
            values["queries"],
        ]
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


def evaluate_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate eval`` of names in the project, recorded."""
    options = ["--record", *repeat_option("metric", values["metrics"])]
    return _project_command("eval", project, options, values["judgments"], *values["runs"])


EVALUATE_JOB = JobKind(
    "evaluate",
    (
        Parameter(
            "judgments",
            "text",
            "judgments in the project, or all for the ratings so far",
            required=True,
        ),
        Parameter("runs", "texts", "runs in the project", required=True),
        METRICS_PARAMETER,
        SYSTEM_PARAMETER,
    ),
    evaluate_commands,
    system="system",
    title="evaluate runs of the project",
)


def gate_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate gate`` of names in the project, recorded."""
    options = ["--record", *set_options(policy=values["policy"])]
    names = (values["judgments"], values["baseline"], values["candidate"])
    return _project_command("gate", project, options, *names)


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
    good=frozenset({0, 1}),  # an alert is a result
    title="check the rules of alerts, and send the messages",
)


def engine_commands(project: str, values: JsonObject) -> list[list[str]]:
    """``rankgate snapshot`` of an engine of the project, then ``rankgate eval`` of its run."""
    return _ask_engine(project, values, f"{values['engine']}-{now():%Y%m%d-%H%M%S}")


def _ask_engine(project: str, values: Mapping[str, Any], run: str) -> list[list[str]]:
    """The commands that make a run, and evaluate it if there are judgments."""
    options = set_options(save_as=run, depth=values["depth"], rate=values["rate"])
    command_lines = _project_command("snapshot", project, options, values["engine"], "queries")
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
    (
        *ENGINE_PARAMETERS,
        Parameter("judgments", "text", "judgments in the project; left out: no evaluation"),
    ),
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


def pool_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate pool`` of runs of the project, kept as a batch."""
    options = set_options(
        save_as=values["batch"],
        depth=values["depth"],
        strategy=values["strategy"],
        qrels=values["judgments"],
    )
    return _project_command("pool", project, options, *values["runs"])


POOL_JOB = JobKind(
    "pool",
    (
        Parameter("runs", "texts", "runs in the project", required=True),
        Parameter("batch", "text", "the name of the new batch", required=True),
        Parameter("depth", "int", "the first documents of each list", 10),
        Parameter("strategy", "text", "raters of each document: 1, 2, 3 or agree", "2"),
        Parameter("judgments", "text", "judgments with documents to leave out"),
    ),
    pool_commands,
    title="make a batch of the documents that runs rank first",
)


def judgment_commands(project: str, values: JsonObject) -> list[list[str]]:
    """``rankgate resolve`` of all ratings of the project."""
    options = set_options(save_as=values["judgments"], rule=values["rule"])
    return _project_command("resolve", project, options, "all")


JUDGMENTS_JOB = JobKind(
    "judgments",
    (
        Parameter("judgments", "text", "the name of the judgments", required=True),
        Parameter("rule", "text", "the rule that makes a judgment of ratings; left out: median"),
    ),
    judgment_commands,
    title="make judgments of the ratings of the project",
)


def compare_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate compare`` of two runs of the project, recorded."""
    options = ["--record", *repeat_option("metric", values["metrics"])]
    names = (values["judgments"], values["baseline"], values["candidate"])
    return _project_command("compare", project, options, *names)


COMPARE_JOB = JobKind(
    "compare",
    (
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("baseline", "text", "a run in the project", required=True),
        Parameter("candidate", "text", "a run in the project", required=True),
        METRICS_PARAMETER,
        SYSTEM_PARAMETER,
    ),
    compare_commands,
    title="compare two runs of the project",
    system="system",
)


JOBS = Registry(
    JobKind, "kind of job", lambda: find_declared(__name__, JobKind), group="rankgate.jobs"
)
"""Every kind of job, by name."""
