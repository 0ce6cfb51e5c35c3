"""Evaluate, compare, gate and explain runs of a project by a collection that a request states.

Texts of a request are never file paths: they name judgments, a run or a table of the project, or an
installed convention.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import declared_parameter, fields_of
from rankgate.core.declare.toml_file import TomlFile
from rankgate.data.collection import Collection, collection_schema, parse_collection
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import Policy, load_default_policy, parse_policy
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.metric_options import verb_parameter
from rankgate.store.project_collection import project_table
from rankgate.workspace.web.pages.result_pages import find_convention
from rankgate.workspace.web.rendering import to_json
from rankgate.workspace.web.replies import FileReply
from rankgate.workspace.web.web_request import VIEWING_ROLES, action, declared_field, invalid_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankgate.core.declare import Parameter
    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject
    from rankgate.data.run import Run
    from rankgate.workspace.web.web_request import WebRequest


_MAX_ITEMS = 10_000_000
"""The largest number of items of a catalogue that a request may state by number."""

_MAX_RESAMPLES = 100_000
"""The largest number of resamples in a request."""

_POLICY_TABLES = ("gate", "rules")
"""The tables of a policy that a request may state; other tables name files."""


def _verb_handler(
    verb: Callable[..., Result], names: Sequence[str], fixed: JsonObject
) -> Callable[[WebRequest], FileReply]:
    """Create a handler that calls a verb with the values of a request.

    Args:
        verb: the function.
        names: the parameters that a request states.
        fixed: the arguments that a request does not state.
    """
    readers = {name: _reader_of(declared_parameter(verb, name)) for name in names}

    def handle(request: WebRequest) -> FileReply:
        arguments = {name: read(request, request.values[name]) for name, read in readers.items()}
        return FileReply(to_json(verb(**arguments, **fixed).to_dict()), "application/json")

    return handle


def _reader_of(declared: Parameter) -> Callable[[WebRequest, Any], Any]:
    """The function that converts a request value to the argument of a verb."""
    return _READERS.get(declared.name) or _READERS.get(declared.content) or (lambda _, value: value)


def _read_collection(request: WebRequest, stated: object) -> Collection:
    """The collection of a request; its texts name tables of the project.

    Raises:
        InputError: a field is unknown, or a value has a wrong type.
        UsageError: a name is not in the project.
    """
    project = request.stored_project
    find_table = project_table(project)

    def table(kind: str, name: str) -> Any:
        if name.startswith("ids:"):
            raise invalid_value("collection", "patterns of ids are not taken here; send tags as rows")
        return find_table(kind, name)

    collection = parse_collection(stated, table)
    catalogue = collection.items.catalogue
    if isinstance(catalogue, int) and catalogue > _MAX_ITEMS:
        raise invalid_value("collection", f"a catalogue has {_MAX_ITEMS:,} items at most here")
    return project.collection(collection)


def _read_runs(request: WebRequest, names: Sequence[str]) -> list[Run]:
    project = request.stored_project
    return [project.run(name) for name in names]


def _read_test(_request: WebRequest, table: object) -> Test:
    """The statistical test of a request.

    Raises:
        InputError: a field is unknown, or a value does not fit.
    """
    file = TomlFile({"test": table or {}}, "request", {}, code="invalid-test")
    parameters = [replace(field, name=name) for name, field in fields_of(Test).items()]
    test = Test(**file.read_values(file.values["test"], parameters, "test"))
    if test.resamples > _MAX_RESAMPLES:
        raise invalid_value("test", f"resamples are {_MAX_RESAMPLES:,} at most here")
    return test


def _read_policy(_request: WebRequest, text: str | None) -> Policy:
    """The policy in a request, which may not name files; by default the default policy.

    Raises:
        InputError: the policy is invalid; the error has the line.
        Refused: a table, a setting or a rule names files.
    """
    if text is None:
        return load_default_policy()
    file = TomlFile.parse(text, "policy", code="invalid-policy")
    policy = parse_policy(text, "policy")
    files = [f"[{name}]" for name in file.values if name not in _POLICY_TABLES]
    if policy["tags"]:
        files.append("tags")
    files += policy.files_of_rules
    if files:
        problem = f"the server reads no files; leave {files[0]} out"
        raise invalid_value("policy", f"{problem}, and state tables in the collection")
    find_convention(policy["convention"])
    return policy


_READERS: Mapping[str, Callable[[WebRequest, Any], Any]] = {
    "collection": _read_collection,
    "run": lambda request, name: request.stored_project.run(name),
    "runs": _read_runs,
    "convention": lambda _, name: find_convention(name),
    "test": _read_test,
    "policy": _read_policy,
}
"""Readers of request values for the arguments of a verb, by parameter name or type."""

_FIELD_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "collection": {
        "kind": "json",
        "schema": collection_schema(),
        "help": "Judgments, and data on queries, items and users. A text names judgments or a run of the "
        "project; or a table of it: queries, documents. Any table may be an array of rows.",
    },
    "run": {"required": True, "most": 200, "help": "The name of a run."},
    "runs": {
        "required": True,
        "schema": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "help": "Names of runs.",
    },
    "metrics": {"schema": {"type": ["array", "string"], "items": {"type": "string"}, "maxLength": 300}},
    "metric": {"most": 200},
    "convention": {"most": 50},
    "test": {
        "kind": "json",
        "unset": None,
        "help": "How differences are tested.",
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: field.schema for name, field in fields_of(Test).items()},
        },
    },
    "policy": {
        "kind": "long",
        "most": 50_000,
        "help": "[gate] and [[rules]] in TOML; the default policy without it.",
    },
}
"""Changed settings of fields in requests, for values that are not read from files of the server."""


def _declare_verb(verb: Callable[..., Result], title: str, *names: str, name: str = "", **fixed: Any) -> None:
    """Declare the route of a verb, with fields from the verb's declarations.

    Args:
        verb: the function.
        title: a short title.
        names: the parameters that a request states.
        name: the name of the route; by default that of the verb.
        fixed: the arguments that a request does not state.
    """
    fields = []
    for parameter in names:
        declared = verb_parameter(verb, parameter, reads_files=False)
        changes = _FIELD_CHANGES.get(parameter) or _FIELD_CHANGES.get(declared.content, {})
        fields.append(declared_field(declared, **changes))
    path = f"/projects/{{project}}/{verb.__name__}"
    action(name or verb.__name__, path, VIEWING_ROLES, title, *fields, in_archived=True)(
        _verb_handler(verb, names, fixed)
    )


_SCORING = ("metrics", "convention", "slices")

_declare_verb(evaluate, "Evaluate", "collection", "runs", *_SCORING, "bounds")
_declare_verb(compare, "Compare", "collection", "baseline", "candidates", *_SCORING, "test")
_declare_verb(gate, "Gate", "collection", "baseline", "candidate", "policy", log=False)
_declare_verb(
    explain,
    "How a value is computed",
    *("collection", "run", "query", "metric", "convention", "depth"),
    name="explain-value",
)
