"""Pages for people's work: batch rules, discussion of disagreements, and working time.

A batch has a page with its rules: raters, required training, repeated pairs, and stopping. Raters
discuss a disputed pair before the final decision. The working time of each rater is a table by
week, also in CSV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import PlainRows
from rankgate.store.people import users
from rankgate.store.rating import batch_rules, batches, tasks
from rankgate.store.rating.batch_rules import BatchRules, rules_of
from rankgate.store.rating.working_time import work_by_week, work_state
from rankgate.store.records import record_notes
from rankgate.workspace.web import web_request
from rankgate.workspace.web.pages.document_card import image_sources
from rankgate.workspace.web.pages.task_view import scale_view, task_view
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    RATING_ROLES,
    Field,
    action,
    invalid_value,
    page,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from rankgate.store.rating.batches import Batch
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


def _find_batch(connection: Connection, request: WebRequest) -> Batch:
    batch = batches.get_batch(connection, request.path["batch"])
    if batch.project != request.project.id:
        raise not_found("batch")
    return batch


def _member_raters(connection: Connection, project: int) -> dict[str, int]:
    """The rater numbers of the people who may rate in a project, by name."""
    return {
        member.name: users.rater_of_user(connection, member.id).id
        for member, role in users.members(connection, project)
        if role != "viewer"
    }


@page("batch", "/projects/{project}/batches/{batch:int}", MANAGING_ROLES, "Batch")
def batch_page(request: WebRequest) -> PageReply:
    """The page of a batch with its rules, and the raters' results in its qualification."""
    with request.store.write() as connection:  # assigns rater numbers to people who never rated
        batch = _find_batch(connection, request)
        raters = _member_raters(connection, request.project.id)
    with request.store.read() as connection:
        rules = rules_of(batch.settings)
        names = {number: name for name, number in raters.items()}
        trainings = _training_names(connection, request, batch)
        results: list[PageRow] = []
        if rules.qualification is not None:
            for name, number in raters.items():
                result = batch_rules.qualification(connection, number, rules.qualification, rules.share)
                if result.answered:
                    results.append({"rater": name, **vars(result), "passed": result.passed})
        progress = tasks.progress(connection, request.project.id, batch.id)
    data: PageRow = {
        "project": request.project.name,
        "batch": {
            name: getattr(batch, name)
            for name in ("id", "name", "kind", "strategy", "state", "priority", "deadline")
        },
        "progress": vars(progress) | {"total": progress.total},
        "rules": {
            "raters": " ".join(names[number] for number in rules.raters if number in names),
            "qualification": trainings.get(rules.qualification or 0, ""),
            "share": rules.share,
            "again": rules.again_share,
            "again_hours": rules.again_hours,
            "stop_ratings": rules.stop_ratings,
            "stop_hours": rules.stop_hours,
            "stop_at": rules.stop_at,
            "stop_agreed": rules.stop_agreed,
        },
        "stopped": rules.stopped,
        "qualified": results,
    }
    extra = {"trainings": list(trainings.values()), "members": sorted(raters)}
    return PageReply("batch.html", data, extra)


def _training_names(connection: Connection, request: WebRequest, batch: Batch) -> dict[int, str]:
    """The trainings with known grades that can be a qualification, by number."""
    return {
        training.id: training.name
        for training in batches.list_batches(connection, request.project.id)
        if training.kind == "training"
        and training.id != batch.id
        and rules_of(training.settings).again_of is None
    }


@action(
    "batch-rules",
    "/projects/{project}/batches/{batch:int}/rules",
    MANAGING_ROLES,
    "Set the rules",
    Field(
        "raters",
        "Raters of this batch",
        most=5_000,
        help="Names with spaces between; left empty, all raters of the project.",
    ),
    Field(
        "qualification", "Training that must be passed first", most=100, options=web_request.list_batch_names
    ),
    Field(
        "share", "Share of its known grades that must be right", "number", least=0, largest=1, default="0.8"
    ),
    Field(
        "again",
        "Share of pairs that come again to the same rater",
        "number",
        least=0,
        largest=1,
        help="They do not count in judgments; Agreement compares both grades.",
    ),
    Field("again_hours", "After how many hours", "number", least=0, default="24"),
    Field("stop_ratings", "Stop after so many ratings", "whole", least=1),
    Field("stop_hours", "Stop after so many hours of work", "number", least=0),
    Field("stop_at", "Stop at", "moment"),
    Field("stop_agreed", "Stop when every pair has its grade", "flag"),
)
def set_batch_rules(request: WebRequest) -> ActionReply:
    """Set the rules of a batch.

    Raises:
        Refused: a person is not a rater of the project; the training does not exist; the batch is
            its own qualification.
    """
    fields = request.values
    with request.store.write() as connection:
        batch = _find_batch(connection, request)
        members = _member_raters(connection, request.project.id)
        names = (fields["raters"] or "").replace(",", " ").split()
        if unknown_names := [name for name in names if name.lower() not in members]:
            raise invalid_value(
                "raters",
                f"{unknown_names[0][:100]!r} is not a rater of the project; raters: "
                + (", ".join(sorted(members)) or "none"),
            )
        trainings = {name: number for number, name in _training_names(connection, request, batch).items()}
        if fields["qualification"] and fields["qualification"] not in trainings:
            raise invalid_value("qualification", "choose a batch of kind training")
        if fields["again"] and batch.kind != "rating":
            raise invalid_value("again", "only pairs of a batch of kind rating come again")
        rules = BatchRules(
            raters=tuple(dict.fromkeys(members[name.lower()] for name in names)),
            qualification=trainings.get(fields["qualification"] or ""),
            share=_or_default(fields["share"], batch_rules.QUALIFIED_SHARE),
            again_share=_or_default(fields["again"], 0.0),
            again_hours=_or_default(fields["again_hours"], batch_rules.AGAIN_HOURS),
            again_of=rules_of(batch.settings).again_of,
            stop_ratings=fields["stop_ratings"],
            stop_hours=fields["stop_hours"],
            stop_at=fields["stop_at"],
            stop_agreed=bool(fields["stop_agreed"]),
        )
        batch_rules.set_rules(connection, batch, rules)
        changed = {name: str(value) for name, value in vars(rules).items() if value}
        request.record(connection, "batch.rules", batch.name, **changed)
    return ActionReply(request.project_path("batches", batch.id), {"batch": batch.id})


def _or_default(value: float | None, default: float) -> float:
    return default if value is None else value


_WORK_COLUMNS = ("week", "rater", "answers", "without_grade", "hours", "idle", "unknown", "known", "right")


@page("work", "/projects/{project}/work", MANAGING_ROLES, "Working time", tabular=True)
def work_page(request: WebRequest) -> PageReply:
    """The page of each rater's working time by week, also as CSV for payment."""
    project = request.project.id
    with request.store.read() as connection:
        table = request.cache.get(
            ("work", project, work_state(connection, project)), lambda: work_by_week(connection, project)
        )
    rows = [{**row, "week": row["week"].isoformat()} for row in table.iter_rows(named=True)]
    data = {"project": request.project.name, "work": rows}
    plain_rows = PlainRows(_WORK_COLUMNS, [tuple(row[name] for name in _WORK_COLUMNS) for row in rows])
    return PageReply("work.html", data, rows=plain_rows)


def discussion_subject(task: int) -> str:
    """The subject of comments on a disputed pair, in a form that no document id has."""
    return f"{record_notes.DISCUSSION_PREFIX}{task}"


_MAX_DISCUSSIONS = 20


@page("discussions", "/projects/{project}/discussions", RATING_ROLES, "Discussion")
def discussions_page(request: WebRequest) -> PageReply:
    """The page of disputed pairs that the user rated, with the others' grades and comments.

    Users do not see pairs that they have not rated, so that they rate without seeing other grades;
    managers see every pair under Disagreements.
    """
    with request.store.write() as connection:
        rater = users.rater_of_user(connection, request.user.id)
    with request.store.read() as connection:
        own_tasks = tasks.tasks_answered_by(connection, request.project.id, rater.id)
        disputes = [
            dispute
            for dispute in tasks.disputes(connection, request.project.id, most=1_000)
            if dispute.task in own_tasks
        ]
        rows = []
        for dispute in disputes[:_MAX_DISCUSSIONS]:
            task = tasks.get_task(connection, dispute.task)
            rows.append(
                {
                    "task": dispute.task,
                    "shown": task_view(connection, request, task, rater.id),
                    "answers": _nameless_answers(dispute.answers, rater.name),
                    "comments": list_discussion(connection, request, dispute.task),
                }
            )
        scale = scale_view(connection, request.project.id)
    data: PageRow = {
        "project": request.project.name,
        "discussions": rows,
        "total": len(disputes),
        "scale": scale,
    }
    images = image_sources(request.project.settings)
    return PageReply("discussions.html", data, images=images)


def _nameless_answers(answers: Sequence[tasks.DisputedAnswer], rater_name: str) -> list[PageRow]:
    """The answers to a pair without names, so that raters judge the reasons and not the names."""
    return [
        {
            "mine": answer.rater == rater_name,
            "grade": answer.grade,
            "reason": answer.reason,
            "comment": answer.comment,
        }
        for answer in answers
        if answer.kind == "person"
    ]


def list_discussion(connection: Connection, request: WebRequest, task: int) -> list[PageRow]:
    """The comments on a pair; authors are hidden from raters."""
    is_manager = request.role in {"admin", "manager"}
    return [
        {
            "text": comment.text,
            "at": comment.at,
            "mine": comment.user == request.user.id,
            "by": comment.actor if is_manager else "",
        }
        for comment in record_notes.list_comments(
            connection, request.project.id, "document", discussion_subject(task)
        )
        if not comment.withdrawn
    ]


@action(
    "discuss",
    "/projects/{project}/discussions/{task:int}",
    RATING_ROLES,
    "Say it",
    Field("text", "Why", "long", required=True, most=5_000),
    Field("list", "Go back to the list of disagreements", "flag"),
)
def add_discussion_comment(request: WebRequest) -> ActionReply:
    """Add a comment on a disputed pair, as one of its raters or as a manager.

    Raises:
        Refused: the user did not rate the pair, or the pair is no longer disputed.
    """
    number = request.path["task"]
    with request.store.write() as connection:
        task = tasks.get_task(connection, number)
        rater = request.rater(connection)
        is_manager = request.role in {"admin", "manager"}
        if task.project != request.project.id or not (
            is_manager or number in tasks.tasks_answered_by(connection, task.project, rater)
        ):
            raise not_found("disagreement")
        if task.state != "disputed":
            raise invalid_value("text", "the pair has its final word; nothing is left to discuss")
        comment = record_notes.add_comment(
            connection,
            request.project.id,
            "document",
            discussion_subject(number),
            request.values["text"],
            user=request.user.id,
            actor=request.user.display,
        )
        request.record(connection, "comment.add", f"pair {number}", id=comment.id)
    page = "disputes" if request.values["list"] else "discussions"
    return ActionReply(request.project_path(page), {"id": comment.id})
