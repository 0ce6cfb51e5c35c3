"""Next steps of a project: urgent problems, the step to take now, and the first step.

Every step is a sentence with a link that the reader is allowed to open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.store.blobs import stored_runs
from rankgate.store.material import queries_documents
from rankgate.store.records import scheduled_jobs
from rankgate.workspace.web.dashboard.missing_documents import ENOUGH_JUDGED
from rankgate.workspace.web.dashboard.query_lists import PAIR_SIZE
from rankgate.workspace.web.web_request import MANAGING_ROLES, RATING_ROLES, VIEWING_ROLES

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.records.alerts import Alert
    from rankgate.workspace.web.dashboard.main_metric import Decision, QueryMoves
    from rankgate.workspace.web.web_request import WebRequest


_MAX_ALERTS = 3
"""The largest number of alerts listed one by one."""


@dataclass(frozen=True)
class Step:
    """An action for the reader, or a problem to look at.

    Attributes:
        kind: ``alert``, ``job``, ``disputes``, ``unjudged``, ``verdict``, ``queries``, or ``first``
            for a project without records.
        text: a sentence on the state.
        label: the text of the link to the action.
        path: the path of its page below the server's; empty if the reader has no permission.
    """

    kind: str
    text: str
    label: str
    path: str = ""


def list_attention(
    connection: Connection,
    request: WebRequest,
    open_alerts: list[Alert],
    judged: Mapping[str, float],
    disputed: int,
) -> list[Step]:
    """The problems that need attention, the most urgent first.

    Args:
        connection: a connection to the store.
        request: the request of the page.
        open_alerts: the unresolved alerts.
        judged: the share of judged documents of the last run, by depth.
        disputed: the number of pairs that need a final decision.
    """
    steps = [*_failed_jobs(connection, request), *_alert_steps(request, open_alerts)]
    if disputed:
        text = f"{count_noun(disputed, 'pair waits', 'pairs wait')} for a final word."
        path = request.project_path("disputes")
        steps.append(Step("disputes", text, "Look at the disagreements", path))
    if judged:
        depth, share = min(judged.items(), key=lambda depth_and_share: abs(int(depth_and_share[0]) - 10))
        if share < ENOUGH_JUDGED:
            text = (
                f"{1 - share:.0%} of the first {count_noun(int(depth), 'document')} of the last run are "
                "unjudged."
            )
            steps.append(Step("unjudged", text, "See what to judge next", request.project_path("next")))
    return steps


def _failed_jobs(connection: Connection, request: WebRequest) -> Iterator[Step]:
    """The enabled jobs whose last run failed or was missed."""
    for job in scheduled_jobs.list_jobs(connection, request.project.id):
        last = scheduled_jobs.last_run(connection, job.id) if job.enabled else None
        if last is not None and last.state in {"failed", "missed"}:
            verb = "failed" if last.state == "failed" else "was missed"
            text = f"The scheduled job {job.name} {verb} on {last.due_at:%Y-%m-%d %H:%M} UTC."
            path = request.project_path("schedule", "runs", last.id)
            yield Step("job", text, "Look at the run", path)


def _alert_steps(request: WebRequest, open_alerts: list[Alert]) -> Iterator[Step]:
    for alert in open_alerts[:_MAX_ALERTS]:
        text = f"{alert.rule}: {alert.message.removeprefix(f'{alert.rule}: ').removesuffix('.')}."
        yield Step("alert", text, "Look at the alert", request.project_path("alerts", alert.id))
    remaining = len(open_alerts) - _MAX_ALERTS
    if remaining > 0:
        text = f"{count_noun(remaining, 'more alert is', 'more alerts are')} open."
        yield Step("alert", text, "Look at all alerts", request.project_path("alerts"))


def choose_next_step(
    connection: Connection,
    request: WebRequest,
    attention: list[Step],
    decision: Decision | None,
    moves: QueryMoves | None,
) -> Step | None:
    """The next step; None if no action is needed."""
    urgent = next((step for step in attention if step.kind in {"job", "alert"}), None)
    if urgent is not None:
        return urgent
    verdict = decision.record.verdict if decision else None
    if verdict == "inconclusive":
        text = "The last verdict is inconclusive."
        path = _judge_next_path(connection, request, decision)
        return Step("verdict", text, "See what to judge next", path)
    worst = moves.queries[0] if moves is not None and moves.queries else None
    if moves is not None and worst is not None and not worst.better:
        name = worst.text or worst.query_id
        text = f"{name!r} lost most." if verdict != "fail" else f"The last gate failed; {name!r} lost most."
        path = moves.addresses[worst.query_id].removeprefix(request.config.base)
        return Step("queries", text, "Look at the query", path)
    return attention[0] if attention else None


def _judge_next_path(connection: Connection, request: WebRequest, decision: Decision | None) -> str:
    """The page of the next pairs to judge, for the two runs of a decision if they are stored."""
    path = request.project_path("next")
    names = decision.names if decision else ()
    runs = [stored_runs.find_run(connection, request.project.id, name) for name in names]
    if decision is None or not decision.metrics or len(runs) != PAIR_SIZE or None in runs:
        return path
    parameters = {"first": names[0], "second": names[1], "metric": decision.metrics[0]}
    return f"{path}?{urlencode(parameters)}"


def find_first_step(connection: Connection, request: WebRequest, project_state: Mapping[str, Any]) -> Step:
    """The first step of a project without records.

    Args:
        connection: a connection to the store.
        request: the request of the page.
        project_state: ``batches``, ``runs`` and ``progress`` of the project.
    """
    runs, batches, progress = (project_state[name] for name in ("runs", "batches", "progress"))
    judgments = stored_runs.list_judgments(connection, request.project.id)
    name = judgments[-1].name if judgments else ""
    has_queries = queries_documents.count_queries(connection, request.project.id) > 0
    waits = "pair waits" if progress["open"] == 1 else "pairs wait"

    def step(roles: frozenset[str], path: str, text: str, label: str) -> Step:
        may_follow = request.role in roles
        return Step("first", text, label, request.project_path(path) if may_follow else "")

    steps = (
        (
            progress["disputed"],
            step(
                VIEWING_ROLES,
                "disputes",
                "Raters disagree; a final word counts before any rule.",
                "Give the final word",
            ),
        ),
        (progress["open"], step(RATING_ROLES, "rate", f"{progress['open']:,} {waits} for a grade.", "Rate")),
        (
            progress["done"] and not judgments,
            step(
                MANAGING_ROLES,
                "judgments",
                "Every pair has its grades. Judgments are made of them by a rule.",
                "Make judgments",
            ),
        ),
        (
            judgments and runs,
            step(
                VIEWING_ROLES,
                f"judgments/{quote(name, safe='')}/evaluation",
                f"The runs can be scored by the judgments {name}.",
                "See the scores",
            ),
        ),
        (
            judgments,
            step(
                MANAGING_ROLES,
                "material#file",
                "There are judgments, and no run yet that they could score.",
                "Add a run",
            ),
        ),
        (
            runs,
            step(
                MANAGING_ROLES,
                "coverage",
                "The first documents of the runs have no grades yet.",
                "Make a batch of them for raters",
            ),
        ),
        (
            batches or has_queries,
            step(
                MANAGING_ROLES,
                "steps",
                "There is nothing to rate yet: a batch asks raters for grades of documents.",
                "See the steps",
            ),
        ),
    )
    first = step(
        MANAGING_ROLES,
        "steps",
        "The project is empty. Begin with queries: type them, paste them, or send a file.",
        "Begin",
    )
    return next((step for applies, step in steps if applies), first)
