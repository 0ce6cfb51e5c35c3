"""Evaluate, compare, gate and explain runs of a project by a collection that a request states.

No text of a request is the path of a file: it names judgments, a run or a table of the project, or
a convention that is installed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.declare.toml_file import TomlFile
from rankgate.data.collection import Collection, collection_schema, parse_collection
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.decide import list_admission_files
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import Policy, load_default_policy, parse_policy
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.explain import explain
from rankgate.store.project_collection import project_table
from rankgate.store.stored_project import StoredProject
from rankgate.workspace.web.pages.result_pages import DEFAULT_METRICS, find_convention
from rankgate.workspace.web.rendering import to_json
from rankgate.workspace.web.replies import FileReply
from rankgate.workspace.web.web_request import VIEWING_ROLES, Field, Route, invalid_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject
    from rankgate.data.run import Run
    from rankgate.workspace.web.web_request import WebRequest


_MAX_ITEMS = 10_000_000
"""Items of a catalogue that a request may state by their number."""

_MAX_RESAMPLES = 100_000
"""Resamples that a request may ask for."""

_POLICY_TABLES = ("gate", "rules")
"""The tables of a policy that a request may state; others name files."""


def evaluate_runs(request: WebRequest) -> FileReply:
    """Score runs of the project."""
    values = request.values
    metrics, rules = _metric_names(request), find_convention(values["convention"])
    return _json_file(
        evaluate(
            _read_collection(request),
            _read_runs(request, values["runs"]),
            metrics,
            rules,
            bounds=values["bounds"],
            slices=tuple(values["slices"] or ()),
        )
    )


def compare_runs(request: WebRequest) -> FileReply:
    """Compare runs of the project with one of them."""
    values = request.values
    (baseline,) = _read_runs(request, [values["baseline"]])
    candidates = _read_runs(request, values["candidates"])
    return _json_file(
        compare(
            _read_collection(request),
            baseline,
            candidates,
            _metric_names(request),
            find_convention(values["convention"]),
            test=_read_test(values["test"]),
            slices=tuple(values["slices"] or ()),
        )
    )


def gate_run(request: WebRequest) -> FileReply:
    """Decide by a policy whether a run of the project may replace another one."""
    baseline, candidate = _read_runs(
        request, [request.values["baseline"], request.values["candidate"]]
    )
    return _json_file(
        gate(
            _read_collection(request),
            baseline,
            candidate,
            _read_policy(request.values["policy"]),
            log=False,
        )
    )


def explain_value(request: WebRequest) -> FileReply:
    """Show the computation of the value of a query of a run."""
    values = request.values
    (run,) = _read_runs(request, [values["run"]])
    rules = find_convention(values["convention"])
    return _json_file(
        explain(
            _read_collection(request),
            run,
            values["query"],
            values["metric"],
            rules,
            depth=values["depth"],
        )
    )


def _json_file(result: Result) -> FileReply:
    return FileReply(to_json(result.to_dict()), "application/json")


def _stored_project(request: WebRequest) -> StoredProject:
    return StoredProject(request.store, request.project.name, request.project.id)


def _read_collection(request: WebRequest) -> Collection:
    """The collection of a request, whose texts name tables of the project.

    Raises:
        InputError: an unknown field, or a value of another type.
        UsageError: a name that the project does not have.
    """
    project = _stored_project(request)
    find_table = project_table(project)

    def table(kind: str, name: str) -> Any:
        if name.startswith("ids:"):
            raise invalid_value(
                "collection", "patterns of ids are not taken here; send tags as rows"
            )
        return find_table(kind, name)

    collection = parse_collection(request.values["collection"], table)
    catalogue = collection.items.catalogue
    if isinstance(catalogue, int) and catalogue > _MAX_ITEMS:
        raise invalid_value("collection", f"a catalogue has {_MAX_ITEMS:,} items at most here")
    return project.collection(collection)


def _read_runs(request: WebRequest, names: Sequence[str]) -> list[Run]:
    project = _stored_project(request)
    return [project.run(name) for name in names]


def _metric_names(request: WebRequest) -> list[str]:
    return (request.values["metrics"] or DEFAULT_METRICS).split()


def _read_test(table: Any) -> Test:
    """The test of a request.

    Raises:
        InputError: an unknown field, or a value that does not fit.
    """
    file = TomlFile({"test": table or {}}, "request", {}, code="invalid-test")
    parameters = [replace(field, name=name) for name, field in fields_of(Test).items()]
    test = Test(**file.read_values(file.values["test"], parameters, "test"))
    if test.resamples > _MAX_RESAMPLES:
        raise invalid_value("test", f"resamples are {_MAX_RESAMPLES:,} at most here")
    return test


def _read_policy(text: str | None) -> Policy:
    """The policy that a request states, which names no file; the default one without any.

    Raises:
        InputError: an invalid policy; with its line.
        Refused: a table, a setting or a rule that names files.
    """
    if text is None:
        return load_default_policy()
    file = TomlFile.parse(text, "policy", code="invalid-policy")
    policy = parse_policy(text, "policy")
    files = [f"[{name}]" for name in file.values if name not in _POLICY_TABLES]
    if policy["tags"]:
        files.append("tags")
    files += list_admission_files(policy)
    if files:
        problem = f"the server reads no files; leave {files[0]} out"
        raise invalid_value("policy", f"{problem}, and state tables in the collection")
    find_convention(policy["convention"])
    return policy


def _texts_field(name: str, label: str, *, required: bool = False, help_: str = "") -> Field:
    schema: JsonObject = {
        "type": "array",
        "minItems": int(required),
        "items": {"type": "string"},
    }
    return Field(name, label, "json", required=required, help=help_, schema=schema)


_COLLECTION = Field(
    "collection",
    "Collection",
    "json",
    required=True,
    schema=collection_schema(),
    help="Judgments, and data on queries, items and users. A text names judgments or a "
    "run of the project; or a table of it: queries, documents. Any table may be an array of rows.",
)
_TEST = Field(
    "test",
    "Test",
    "json",
    help="How differences are tested.",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {name: field.schema for name, field in fields_of(Test).items()},
    },
)
_METRICS = Field("metrics", "Metrics", most=300, help=f"{DEFAULT_METRICS} by default.")
_CONVENTION = Field("convention", "Convention", most=50, help="trec by default.")
_SLICES = _texts_field("slices", "Slices", help_="Tags; results are shown by their values, too.")
_BASELINE = Field("baseline", "Baseline", required=True, most=200, help="The name of a run.")
_AT = "/projects/{project}"

VERB_ROUTES = (
    Route(
        "evaluate",
        "POST",
        f"{_AT}/evaluate",
        VIEWING_ROLES,
        evaluate_runs,
        "Evaluate",
        (
            _COLLECTION,
            _texts_field("runs", "Runs", required=True, help_="Names of runs."),
            _METRICS,
            _CONVENTION,
            _SLICES,
            Field("bounds", "Bounds", "flag"),
        ),
        in_archived=True,
    ),
    Route(
        "compare",
        "POST",
        f"{_AT}/compare",
        VIEWING_ROLES,
        compare_runs,
        "Compare",
        (
            _COLLECTION,
            _BASELINE,
            _texts_field("candidates", "Candidates", required=True, help_="Names of runs."),
            _METRICS,
            _CONVENTION,
            _SLICES,
            _TEST,
        ),
        in_archived=True,
    ),
    Route(
        "gate",
        "POST",
        f"{_AT}/gate",
        VIEWING_ROLES,
        gate_run,
        "Gate",
        (
            _COLLECTION,
            _BASELINE,
            Field("candidate", "Candidate", required=True, most=200, help="The name of a run."),
            Field(
                "policy",
                "Policy",
                "long",
                most=50_000,
                help="[gate] and [[rules]] in TOML; the default policy without it.",
            ),
        ),
        in_archived=True,
    ),
    Route(
        "explain-value",
        "POST",
        f"{_AT}/explain",
        VIEWING_ROLES,
        explain_value,
        "How a value is computed",
        (
            _COLLECTION,
            Field("run", "Run", required=True, most=200),
            Field("query", "Query", required=True, most=500),
            Field("metric", "Metric", required=True, most=200),
            _CONVENTION,
            Field("depth", "Documents of each list", "whole", least=1),
        ),
        in_archived=True,
    ),
)
