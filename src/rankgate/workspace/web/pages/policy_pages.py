"""The policy of a project's gate: a form, and the TOML that it makes.

The form writes the rules as TOML, which is read as the file of a policy is; gates of the project use
it by default. It has no keys that name files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare.toml_file import write_table
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.gating.policy import DEFAULT_WARNINGS, parse_policy
from rankgate.decisions.gating.rules import RULES
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.store.material import projects, queries_documents
from rankgate.workspace.web.replies import ActionReply, PageReply, Reply
from rankgate.workspace.web.shared_fields import PROJECT, WATCHED_METRIC
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    invalid_value,
    list_watched_metrics,
    page,
    refused_declaration,
)

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

_POLICY_PATH = f"{PROJECT}/policy"
_KINDS = ("noninferiority", "equivalence")
"""The kinds of the rule on the metric: those with a margin."""

_TIERS = (
    ("block", "block: the gate fails"),
    ("warn", "warn: the verdict says so, and can still pass"),
    ("info", "info: it is only reported"),
)
_FIELDS = (
    WATCHED_METRIC,
    Field(
        "kind",
        "What must hold",
        "choice",
        default=_KINDS[0],
        unset=_KINDS[0],
        choices=tuple((name, RULES.find(name).title) for name in _KINDS),
    ),
    Field(
        "margin", "Margin", "number", required=True, default="0.02", least=0, help="In the metric's units."
    ),
    Field("relative", "The margin is a share of the baseline's mean", "flag"),
    Field("tier", "If it does not hold", "choice", default="block", unset="block", choices=_TIERS),
    Field(
        "further",
        "Further metrics that only warn",
        most=1_000,
        help="With the same margin; such as RR@10 P@5, separated by blanks.",
    ),
    Field(
        "must_have",
        "Must-have queries",
        "long",
        most=50_000,
        help="A line each: the query or its id = the id of a document that must be among the first.",
    ),
    Field("within", "Within the first", "whole", default="10", unset=10, least=1, largest=1_000),
    Field("must_have_tier", "If one is missing", "choice", default="block", unset="block", choices=_TIERS),
    Field("preview", kind="flag", help="Only show the TOML."),
)


@page("policy", _POLICY_PATH, VIEWING_ROLES, "Policy")
def policy_page(request: WebRequest) -> PageReply:
    """The page of the policy, with its form for managers."""
    text = request.project.settings.get("policy", "")
    extra: PageRow = {
        "options": {"metric": list_watched_metrics(request)},
        "given": _form_values(parse_policy(text, "policy")) if text else {},
    }
    return PageReply("policy.html", {"project": request.project.name, "policy": text}, extra)


def _form_values(policy: Policy) -> PageRow:
    """The values of the form that made a policy."""
    first, *further_rules = policy.rules
    must_have = [rule for rule in further_rules if rule.kind == "must_have"]
    margin = first["margin"] if first["relative"] is None else first["relative"]
    return {
        "metric": first["metric"],
        "kind": first.kind,
        "margin": margin,
        "relative": first["relative"] is not None,
        "tier": first.tier,
        "further": " ".join(rule["metric"] for rule in further_rules if rule.kind == first.kind),
        "must_have": "\n".join(f"{rule['query']} = {rule['doc']}" for rule in must_have),
        "within": must_have[0]["within"] if must_have else None,
        "must_have_tier": must_have[0].tier if must_have else None,
    }


@action("policy-set", _POLICY_PATH, MANAGING_ROLES, "Keep the policy", *_FIELDS, does_step=True)
def set_policy(request: WebRequest) -> Reply:
    """Keep the policy of a form, or only show its TOML.

    Raises:
        Refused: a metric or a query is unknown, or a value does not fit; next to its field.
    """
    text = _policy_text(request)
    names = {field.name for field in _FIELDS}
    try:
        policy = parse_policy(text, "policy")
        find_metrics(policy.metrics)
    except (InputError, UsageError) as error:
        refused = refused_declaration(error, names)
        refused.field = refused.field or "metric"
        raise refused from None
    data: PageRow = {"policy": text, "rules": policy.rule_count}
    if request.values["preview"]:
        return PageReply("policy_text.html", data | {"project": request.project.name})
    with request.store.write() as connection:
        projects.change_settings(connection, request.project.id, {"policy": text})
        request.record(connection, "policy.set", rules=policy.rule_count)
    return ActionReply(request.project_path("policy"), data)


@action("policy-clear", f"{_POLICY_PATH}/clear", MANAGING_ROLES, "Use the default policy")
def clear_policy(request: WebRequest) -> ActionReply:
    """Remove the policy, so that gates use the default policy again."""
    with request.store.write() as connection:
        projects.change_settings(connection, request.project.id, {"policy": ""})
        request.record(connection, "policy.clear")
    return ActionReply(request.project_path("policy"), {"policy": ""})


def _policy_text(request: WebRequest) -> str:
    """The TOML of a form."""
    fields = request.values
    limit = "relative" if fields["relative"] else "margin"
    demand = {"kind": fields["kind"], limit: fields["margin"]}
    names = dict.fromkeys([fields["metric"], *(fields["further"] or "").split()])
    rules = [
        {
            "id": name,
            "kind": demand["kind"],
            "metric": name,
            limit: demand[limit],
            "tier": fields["tier"] if name == fields["metric"] else "warn",
        }
        for name in names
    ]
    rules += [
        {
            "id": f"{query} has {doc_id}",
            "kind": "must_have",
            "query": query,
            "doc": doc_id,
            "within": fields["within"],
            "tier": fields["must_have_tier"],
        }
        for query, doc_id in _read_must_have(request)
    ]
    return "\n".join(write_table("rules", rule) for rule in rules) + DEFAULT_WARNINGS


def _read_must_have(request: WebRequest) -> list[tuple[str, str]]:
    """The ids of must-have queries, each with a document.

    Raises:
        Refused: a line has another form, or the project has no such query.
    """
    with request.store.read() as connection:
        stored_queries = queries_documents.list_queries(connection, request.project.id)
    query_ids = {query.text: query.query_id for query in stored_queries}
    query_ids |= {query.query_id: query.query_id for query in stored_queries}
    pairs = []
    for number, line in enumerate((request.values["must_have"] or "").splitlines(), 1):
        if not line.strip():
            continue
        query, equals, doc_id = (word.strip() for word in line.rpartition("="))
        if not equals or not query or not doc_id:
            raise invalid_value("must_have", f"line {number} is not query = document")
        if query not in query_ids:
            raise invalid_value("must_have", f"line {number}: the project has no query {query[:80]!r}")
        pairs.append((query_ids[query], doc_id))
    return list(dict.fromkeys(pairs))
