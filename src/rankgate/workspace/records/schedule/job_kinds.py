"""The kinds of scheduled jobs, and how to declare one.

A kind has parameters, and commands that it runs. A new kind is a file in this folder, or an
entry point of a package. The kinds here:

- snapshot: send every query to a search engine, and evaluate the results,
- evaluate: evaluate runs of the project again,
- gate: check a run of the project against a policy,
- kpi: compute KPIs of a log,
- alerts: check the rules of alerts, and send the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Declared, Parameter, Registry, find_declared
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class JobKind(Declared):
    """A kind of job: everything that a run uses is declared here.

    Attributes:
        name: how jobs call it.
        title: what it does, in a sentence.
        takes: its parameters.
        commands: the name of the project and the values to commands of rankgate, each as its words.
        files: the parameters that name files, which lie in the folder of jobs.
        good: exit codes of the last command that are not failures.
    """

    takes: tuple[Parameter, ...]
    commands: Callable[[str, Mapping[str, Any]], list[list[str]]]
    files: frozenset[str] = frozenset()
    good: frozenset[int] = frozenset({0})

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}


def repeat_option(name: str, values: Iterable[object]) -> list[str]:
    """One option for each value, as ``--name=value``."""
    return [f"--{name}={value}" for value in values]


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
        Parameter("metrics", "texts", "metrics, such as nDCG@10", ("nDCG@10",)),
    ),
    snapshot_commands,
    files=frozenset({"engine", "queries", "output", "judgments"}),
    title="send every query to a search engine, and evaluate the results",
)


def evaluate_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate eval`` of names in the project, recorded."""
    return [
        [
            "eval",
            f"--project={project}",
            "--record",
            *repeat_option("metric", values["metrics"]),
            "--",
            values["judgments"],
            *values["runs"],
        ]
    ]


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
        Parameter("metrics", "texts", "metrics, such as nDCG@10", ("nDCG@10",)),
    ),
    evaluate_commands,
    title="evaluate runs of the project",
)


def gate_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate gate`` of names in the project, recorded."""
    return [
        [
            "gate",
            f"--project={project}",
            "--record",
            f"--policy={values['policy']}",
            "--",
            values["judgments"],
            values["baseline"],
            values["candidate"],
        ]
    ]


GATE_JOB = JobKind(
    "gate",
    (
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("baseline", "text", "a run in the project", required=True),
        Parameter("candidate", "text", "a run in the project", required=True),
        Parameter("policy", "text", "the file of the policy", required=True),
    ),
    gate_commands,
    files=frozenset({"policy"}),
    good=frozenset({0, 1, 3}),  # a failed gate is a result
    title="check a run of the project against a policy",
)


def kpi_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate online kpi``, recorded."""
    mapping = repeat_option("mapping", [values["mapping"]] if values["mapping"] else [])
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


JOBS = Registry(
    JobKind, "kind of job", lambda: find_declared(__name__, JobKind), group="rankgate.jobs"
)
"""Every kind of job, by name."""
