"""Forms of alert rules: one for each kind, which writes the rule as TOML and reads it as every rule.

A form adds a rule to the text of the project's rules, so that the rules of a form and of a file have
the same keys and errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.gating.policy_settings import COMMON
from rankgate.store.material import projects
from rankgate.store.people.audit import Actor
from rankgate.workspace.records.alerts import alert_check
from rankgate.workspace.records.alerts.alert_kinds import ALERTS
from rankgate.workspace.records.alerts.alert_rules import add_rule, read_rules, remove_rule
from rankgate.workspace.web import web_request
from rankgate.workspace.web.replies import ActionReply, PageReply
from rankgate.workspace.web.shared_fields import ALERTS_PATH, WATCHED_METRIC
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    Field,
    action,
    declared_field,
    invalid_value,
    list_watched_metrics,
    page,
    refused_declaration,
)

if TYPE_CHECKING:
    from rankgate.workspace.records.alerts.alert_kinds import AlertKind
    from rankgate.workspace.web.web_request import WebRequest

_RULES_PATH = f"{ALERTS_PATH}/rules"
_FIRST_KIND = "relative"
"""The kind whose form is shown first."""

_LABELS = {
    "at_least": "At least",
    "at_most": "At most",
    "certain": "Only if the whole interval is beyond",
    "days": "Days",
    "drop": "Largest drop, as a share",
    "inconclusive": "An inconclusive verdict counts, too",
    "least": "Least change or number",
    "margin": "Or the largest drop, in the metric's unit",
    "points": "Evaluations in a row",
    "rate": "False alarms for each evaluation",
    "window": "Evaluations before that it is compared with",
}
"""The labels of parameters in words; a parameter of a plug-in has its own name."""

_TIERS = (
    ("block", "block: messages are sent at once"),
    ("warn", "warn: messages wait in quiet hours"),
    ("info", "info: messages wait in quiet hours"),
)
_FOLDED = ("system", "branch", "slice", "tier", "id", "window", "least", "certain", "points", "rate")
"""Fields that most users leave unchanged."""


def rule_fields(kind: AlertKind) -> tuple[Field, ...]:
    """The form fields for a kind of alert: the metric, the limits of the kind, and who gets messages."""
    rule_id, _, _, rule_slice = COMMON
    return (
        WATCHED_METRIC,
        *(
            declared_field(parameter, label=_LABELS.get(parameter.name, parameter.name))
            for parameter in kind.takes
        ),
        Field("to", "Who gets an e-mail", most=2_000, help="Addresses, with spaces or commas between."),
        Field(
            "channel",
            "Or a channel",
            most=100,
            options=web_request.list_channel_names,
            help="Left empty, all channels get messages.",
        ),
        Field("system", "System", most=500, help="Only this system; left out: each for itself."),
        Field("branch", "Branch", most=200, help="Only evaluations of this branch."),
        declared_field(rule_slice, label="Slice", most=200),
        Field("tier", "Effect", "choice", default="block", unset="block", choices=_TIERS),
        declared_field(rule_id, label="Name of the rule", most=100),
    )


@page("alert-rules", _RULES_PATH, MANAGING_ROLES, "Rules of alerts", Field("kind", "Kind", most=63))
def rules_page(request: WebRequest) -> PageReply:
    """The page of the alert rules, with the form of one kind."""
    text = request.project.settings.get("alerts", "")
    alert_rules = read_rules(text)
    names = [kind.name for kind in ALERTS.all_objects]
    kind = request.values["kind"] if request.values["kind"] in names else _FIRST_KIND
    rows = [
        {"id": rule.id, "kind": rule.kind, "metric": rule["metric"], "title": ALERTS.find(rule.kind).title}
        for rule in alert_rules.rules
    ]
    channels = sorted(alert_rules.channels)
    metrics = list_watched_metrics(request)
    extra = {
        "kinds": [{"name": alert_kind.name, "title": alert_kind.title} for alert_kind in ALERTS.all_objects],
        "kind": kind,
        "options": {"metric": metrics, "channel": channels},
        "given": {"metric": metrics[0], "drop": "0.03" if kind == _FIRST_KIND else None},
        "folded": [field.name for field in rule_fields(ALERTS.find(kind)) if field.name in _FOLDED],
    }
    return PageReply("alert_rules.html", {"rules": text, "channels": channels, "rows": rows}, extra)


def add_handler(kind: AlertKind) -> Callable[[WebRequest], ActionReply]:
    """A handler that adds a rule of a kind."""

    def add(request: WebRequest) -> ActionReply:
        fields = request.values
        if fields["metric"] not in list_watched_metrics(request):
            raise invalid_value("metric", f"no evaluation of the project recorded {fields['metric']!r}")
        addresses = tuple((fields["to"] or "").replace(",", " ").split())
        if addresses and fields["channel"]:
            raise invalid_value("channel", "choose a channel or type addresses, not both")
        rule = {
            "id": fields["id"],
            "kind": kind.name,
            "metric": fields["metric"],
            **{
                parameter.name: fields[parameter.name]
                for parameter in kind.takes
                if fields[parameter.name] != parameter.default
            },
            "tier": fields["tier"] if fields["tier"] != "block" else None,
            **{name: fields[name] for name in ("system", "branch", "slice")},
            "channels": [fields["channel"]] if fields["channel"] else None,
        }
        return _save(request, lambda text: add_rule(text, rule, addresses))

    return add


@action(
    "alert-rule-delete",
    f"{_RULES_PATH}/delete",
    MANAGING_ROLES,
    "Remove the rule",
    Field("rule", required=True, most=200),
)
def delete_rule(request: WebRequest) -> ActionReply:
    """Remove a rule; its alerts stay until the next check."""
    return _save(request, lambda text: remove_rule(text, request.values["rule"]))


def _save(request: WebRequest, change: Callable[[str], str]) -> ActionReply:
    """Change the text of the rules, and read it as a file of rules.

    Raises:
        Refused: a value does not fit; the error is shown next to its field.
    """
    names = {*request.values, "channels"}
    with request.store.write() as connection:
        actor = Actor(request.user.name, request.user.id)
        projects.lock(connection, request.project.id)  # so that two managers keep both rules
        text = projects.get(connection, request.project.id).settings.get("alerts", "")
        try:
            alert_rules = alert_check.set_rules(connection, request.project.id, change(text), "rules", actor)
        except (InputError, UsageError) as error:
            raise refused_declaration(error, names) from None
    data = {"rules": [rule.id for rule in alert_rules.rules]}
    return ActionReply(request.project_path("alerts", "rules"), data)


for alert_kind in ALERTS.all_objects:
    action(
        f"alert-rule-add-{alert_kind.name}",
        f"{_RULES_PATH}/kinds/{alert_kind.name}",
        MANAGING_ROLES,
        "Add the rule",
        *rule_fields(alert_kind),
        does_step=True,
    )(add_handler(alert_kind))
