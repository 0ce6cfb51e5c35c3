"""Pages of projects: list, progress and people, and pages to archive or delete.

There are pages for the list of projects, a new project, and the progress of a project. The people
of a project are members with roles and invited people. Data that a project no longer needs can be
archived, or deleted after a page that lists the deleted data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.console.shared_options import SCALE_HELP
from rankgate.core.errors import InputError
from rankgate.data.qrels import parse_scale
from rankgate.store import archive
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.models import model_jobs_table
from rankgate.store.people import acts, audit, invitations, users
from rankgate.store.rating import batches, ratings, tasks
from rankgate.store.rating.batch_rules import rules_of
from rankgate.store.rating.working_time import list_rater_work
from rankgate.store.rows import now
from rankgate.workspace.web import web_request
from rankgate.workspace.web.background_results import MANY_RATINGS
from rankgate.workspace.web.pages.card_proposal import CardProposal, propose_card, with_proposal
from rankgate.workspace.web.pages.document_card import (
    CARD_HELP,
    card_of,
    card_settings,
    format_card,
    parse_card,
    safe_link,
)
from rankgate.workspace.web.pages.highlighting import LANGUAGES
from rankgate.workspace.web.pages.rating_pages import format_duration
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found
from rankgate.workspace.web.shared_fields import BEFORE_FIELD, NAME
from rankgate.workspace.web.web_request import (
    ADMIN,
    ADMIN_ROLE,
    MANAGING_ROLES,
    Field,
    action,
    invalid_value,
    list_batch_names,
    list_metric_names,
    page,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.archive import Archivable
    from rankgate.store.material.projects import ProjectSettings
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


def list_projects(request: WebRequest) -> PageReply:
    """The page of the user's projects and roles."""
    user = request.user
    with request.store.read() as connection:
        user_id = None if user.admin else user.id
        user_projects = projects.list_projects(connection, user_id)
        archived_projects = projects.list_projects(connection, user_id, archived=True)
        limit = request.who.token.project if request.who.token else None
        rows = [
            {
                "id": project.id,
                "name": project.name,
                "title": project.title,
                "description": project.description,
                "role": users.role_of(connection, project.id, user.id),
                "open": tasks.progress(connection, project.id).open,
            }
            for project in user_projects
            if limit in {None, project.id}
        ]
        archived = [
            {
                "name": project.name,
                "title": project.title,
                "role": users.role_of(connection, project.id, user.id),
            }
            for project in archived_projects
            if limit in {None, project.id}
        ]
    return PageReply("projects.html", {"projects": rows, "archived": archived})


_ITEM_PATH = "/projects/{project}/archive/{kind}/{number:int}"

_QUERIES_PATH = "/projects/{project}/archive/queries"

_ARCHIVED = Field("archived", kind="flag", help="Left out, it is shown again.")

_CONFIRM = Field("confirm", "Its name, to confirm", required=True, most=200)


_ROLE = Field(
    "role",
    "Role",
    "choice",
    required=True,
    choices=(
        ("rater", "rater: may only rate"),
        ("viewer", "viewer: may see results"),
        ("manager", "manager: sets up and resolves"),
        ("admin", "admin: makes managers"),
    ),
)

_ANY_ROLE = Field(
    "role", "Role", "choice", required=True, choices=(*_ROLE.choices, ("none", "none: leaves the project"))
)


@action(
    "project-add",
    "/projects",
    ADMIN,
    "Make a project",
    Field("name", "Name in addresses", required=True, most=63, help="Lower case letters, digits and - . _"),
    Field("title", "Title", most=200),
    Field("description", "About it", "long", most=5_000),
    Field("scale", "Scale", default="graded", most=200, help=SCALE_HELP),
)
def add_project(request: WebRequest) -> ActionReply:
    """Add a project with its scale."""
    fields = request.values
    with request.store.write() as connection:
        project = acts.add_project(
            connection,
            request.actor,
            fields["name"],
            title=fields["title"] or "",
            description=fields["description"] or "",
            scale=parse_scale(fields["scale"] or "graded"),
        )
    return ActionReply(f"/projects/{project.name}/steps", {"name": project.name})


def project_overview(request: WebRequest) -> PageReply:
    """The page with the progress of the project: tasks, batches, people and hours."""
    project = request.project
    with request.store.read() as connection:
        progress_by_batch = _read_progress(connection, request)
        progress = tasks.sum_progress(progress_by_batch.values())
        listed_batches = [
            (batch, progress_by_batch.get(batch.id, tasks.NO_PROGRESS))
            for batch in batches.list_batches(connection, project.id)
            if rules_of(batch.settings).again_of is None
        ]
        rater_works = request.cached("raters", lambda: list_rater_work(connection, project.id))
        data: PageRow = {
            "project": project.name,
            "heading": project.title,
            "description": project.description,
            "progress": vars(progress) | {"total": progress.total},
            "batches": [_batch_view(batch, progress) for batch, progress in listed_batches],
            "runs": [
                {"name": run.name, "rows": run.rows, "queries": run.queries}
                for run in stored_runs.list_runs(connection, project.id)
            ],
            "raters": [vars(work) | {"time": format_duration(work.seconds)} for work in rater_works],
        }
    open_slots = sum(progress.open * _SLOTS[batch.strategy] for batch, progress in listed_batches)
    paces = [work.pace for work in rater_works if work.pace is not None]
    data["hours"] = sum(work.seconds for work in rater_works) / 3600
    # the estimated hours for open tasks at the present pace
    data["hours_left"] = open_slots * sum(paces) / len(paces) / 3600 if paces else None
    return PageReply("overview.html", data)


def _read_progress(connection: Connection, request: WebRequest) -> dict[int, tasks.Progress]:
    """The progress of each batch; with many ratings it may be some seconds old."""
    project = request.project.id
    if ratings.ratings_state(connection, project)[0] < MANY_RATINGS:
        return tasks.progress_by_batch(connection, project)
    return request.cached("progress", lambda: tasks.progress_by_batch(connection, project))


def _batch_view(batch: batches.Batch, progress: tasks.Progress) -> PageRow:
    names = ("id", "name", "kind", "strategy", "priority", "deadline", "state", "blind")
    return (
        {name: getattr(batch, name) for name in names}
        | vars(progress)
        | {"total": progress.total, "stopped": rules_of(batch.settings).stopped}
    )


_SLOTS = {"1": 1, "2": 2, "3": 3, "agree": 2}


@page("log", "/projects/{project}/log", MANAGING_ROLES, "Log", BEFORE_FIELD)
def log_page(request: WebRequest) -> PageReply:
    """The page of the project's audit log."""
    with request.store.read() as connection:
        entries = audit.entries(connection, request.project.id, before=request.values["before"])
    rows = [
        {
            "id": entry.id,
            "at": entry.at,
            "actor": entry.actor,
            "action": entry.action,
            "subject": entry.subject,
            "details": dict(entry.details),
        }
        for entry in entries
    ]
    data = {"project": request.project.name, "entries": rows, "before": rows[-1]["id"] if rows else None}
    return PageReply("log.html", data)


_SAMPLE = 50
"""The number of documents from whose fields a card is proposed."""


@page("setup", "/projects/{project}/setup", MANAGING_ROLES, "Setup")
def setup_page(request: WebRequest) -> PageReply:
    """The page with the scale, the guideline versions, and the fields for raters."""
    project = request.project
    with request.store.read() as connection:
        grades = projects.grades(connection, project.id)
        versions = projects.all_guidelines(connection, project.id)
        document_fields = queries_documents.field_names(connection, project.id)
        first_documents = queries_documents.first_fields(connection, project.id, _SAMPLE)
    proposal = propose_card(first_documents) if not project.settings.get("card") else CardProposal("")
    data = {
        "project": project.name,
        "scale": [
            {"grade": grade.grade, "label": grade.label, "description": grade.description} for grade in grades
        ],
        "guidelines": [
            {"version": guideline.version, "text": guideline.text, "created_at": guideline.created_at}
            for guideline in versions
        ],
        "fields": " ".join(project.settings.get("fields") or ()),
        "images": " ".join(project.settings.get("images") or ()),
        "document_fields": document_fields,
        "card": format_card(card_of(project.settings)),
        "image_prefix": project.settings.get("image_prefix") or "",
        "language": project.settings.get("language") or "",
        "metric": project.settings.get("metric", ""),
    }
    extra = {"metrics": list_metric_names(request), "proposal": vars(proposal)}
    if proposal.card:
        extra["proposed"] = with_proposal(project.settings, proposal)
    return PageReply("setup.html", data, extra)


@action(
    "metric-set",
    "/projects/{project}/metric",
    MANAGING_ROLES,
    "Set the metric",
    Field(
        "metric",
        "Metric of the overview",
        most=200,
        help="Left empty, it is the first metric of the last gate, or of the last evaluation.",
        options=web_request.list_metric_names,
    ),
)
def set_metric(request: WebRequest) -> ActionReply:
    """Set the main metric of the overview.

    Raises:
        Refused: the metric was never recorded.
    """
    metric = request.values["metric"] or ""
    if metric and metric not in list_metric_names(request):
        raise invalid_value("metric", f"no evaluation of the project recorded {metric!r}")
    with request.store.write() as connection:
        projects.change_settings(connection, request.project.id, {"metric": metric})
        request.record(connection, "project.metric", metric)
    return ActionReply(request.project_path("setup"), {"metric": metric})


@action(
    "scale-set",
    "/projects/{project}/scale",
    MANAGING_ROLES,
    "Set the scale",
    Field(
        "scale",
        "Grades, a line each",
        "long",
        required=True,
        most=5_000,
        help="2 = good: holds the answer. Grades stay once there is a rating; labels and "
        "descriptions may change.",
    ),
)
def set_scale(request: WebRequest) -> ActionReply:
    """Set the grades with labels and descriptions, one per line: ``2 = good: has the answer``."""
    grades = [_parse_grade(line) for line in request.values["scale"].splitlines() if line.strip()]
    with request.store.write() as connection:
        projects.set_scale(connection, request.project.id, grades)
        request.record(connection, "scale.set", " ".join(f"{grade.grade:g}" for grade in grades))
    return ActionReply(request.project_path("setup"))


def _parse_grade(line: str) -> projects.Grade:
    number, _, label_text = line.partition("=")
    label, _, description = label_text.partition(":")
    try:
        grade = float(number)
    except ValueError:
        problem = f"{line[:80]!r} begins with no grade; write 2 = good: holds the answer."
        raise InputError(problem, code="not-a-number") from None
    return projects.Grade(grade, label.strip(), "", description.strip())


@action(
    "guideline-add",
    "/projects/{project}/guidelines",
    MANAGING_ROLES,
    "Add this version",
    Field("version", "Version", required=True, most=50),
    Field("text", "Guideline, in Markdown", "long", required=True, most=50_000),
)
def add_guideline(request: WebRequest) -> ActionReply:
    """Add a version of the guideline; earlier versions stay unchanged."""
    fields = request.values
    with request.store.write() as connection:
        guideline = projects.add_guideline(
            connection, request.project.id, fields["version"], fields["text"], request.user.id
        )
        request.record(connection, "guideline.add", guideline.version)
    return ActionReply(request.project_path("setup"), {"version": guideline.version})


@action(
    "display-set",
    "/projects/{project}/display",
    MANAGING_ROLES,
    "Set the fields for raters",
    Field(
        "fields",
        "Fields of documents, in order",
        most=1_000,
        help="Names with spaces between; leave it empty for all.",
    ),
    Field(
        "images",
        "Sites that images may come from",
        most=2_000,
        help="Such as https://images.example.org; leave it empty to load no images, so that no "
        "rater's browser contacts another site.",
    ),
    Field(
        "image_prefix",
        "Prefix of relative addresses of images",
        most=500,
        help="Such as https://images.example.org/products/; its site must be allowed for images.",
    ),
    Field("card", "Card of a document", "long", most=5_000, help=CARD_HELP),
    Field(
        "language",
        "Language of queries and documents",
        "choice",
        choices=tuple((code, name) for code, (name, _) in LANGUAGES.items()),
        help="Word forms of it are marked as words of the query. By default the language of the "
        "script, and English for Latin letters.",
    ),
    does_step=True,
)
def set_display(request: WebRequest) -> ActionReply:
    """Set the document card, and the sites from which images are loaded.

    Raises:
        Refused: the card cannot be read, or the prefix is not a web address.
    """
    fields = request.values
    prefix = (fields["image_prefix"] or "").strip()
    if prefix and (safe_link(prefix) is None or not prefix.endswith("/")):
        raise invalid_value(
            "image_prefix", "is not an address of the web that ends in /: https://example.org/a/"
        )
    try:
        card = parse_card(fields["card"] or "")
    except InputError as error:
        raise RequestRefused(400, error.code, str(error), field="card") from None
    display: ProjectSettings = {
        "fields": (fields["fields"] or "").split(),
        "images": (fields["images"] or "").split(),
        "card": card_settings(card),
        "image_prefix": prefix,
        "language": fields["language"] or "",
    }
    with request.store.write() as connection:
        projects.change_settings(connection, request.project.id, display)
        request.record(connection, "project.display", "", **display)
    return ActionReply(request.project_path("setup"), display)


@page("people", "/projects/{project}/people", MANAGING_ROLES, "People")
def people_page(request: WebRequest) -> PageReply:
    """The page of members and invited people."""
    with request.store.read() as connection:
        members = users.members(connection, request.project.id)
        waiting = invitations.list_open(connection, request.project.id)
    data = {
        "project": request.project.name,
        "members": [
            {"name": member.name, "display": member.display, "role": role, "disabled": member.disabled}
            for member, role in members
        ],
        "invitations": [
            {
                "id": invitation.id,
                "name": invitation.name,
                "role": invitation.role,
                "expires_at": invitation.expires_at,
            }
            for invitation in waiting
        ],
    }
    return PageReply("people.html", data)


def _refuse_higher_role(request: WebRequest, role: str | None) -> None:
    """Refuse roles that only admins may grant; managers may invite raters and viewers."""
    if request.role != "admin" and role in {"admin", "manager"}:
        raise RequestRefused(403, "not-allowed", "Only an admin of the project makes managers.")


@action(
    "invite",
    "/projects/{project}/invitations",
    MANAGING_ROLES,
    "Make an invitation",
    Field("name", "Name to sign in with", most=100, help="Empty: they choose it."),
    _ROLE,
)
def invite_person(request: WebRequest) -> PageReply:
    """Create an invitation link to the project, which is shown once."""
    role = request.values["role"]
    _refuse_higher_role(request, role)
    with request.store.write() as connection:
        invitation, secret = invitations.invite(
            connection,
            project=request.project.id,
            role=role,
            name=request.values["name"] or "",
            created_by=request.user.id,
        )
        request.record(connection, "invitation.make", invitation.name, role=role)
    link = f"{request.origin}{request.config.base}/invitations/{secret}"
    data = {"token": link, "name": invitation.name or role, "expires_at": invitation.expires_at}
    return PageReply("secret.html", data, {"back": request.project_path("people"), "what": "invitation"})


@action(
    "invitation-revoke",
    "/projects/{project}/invitations/{invitation:int}/revoke",
    MANAGING_ROLES,
    "Revoke the invitation",
)
def revoke_invitation(request: WebRequest) -> ActionReply:
    """Revoke an invitation."""
    number = request.path["invitation"]
    with request.store.write() as connection:
        waiting = {
            invitation.id: invitation for invitation in invitations.list_open(connection, request.project.id)
        }
        if number not in waiting:
            raise not_found("invitation")
        _refuse_higher_role(request, waiting[number].role)
        invitations.revoke(connection, number)
        request.record(connection, "invitation.revoke", waiting[number].name)
    return ActionReply(request.project_path("people"), {"invitation": number})


@action(
    "grant", "/projects/{project}/people", MANAGING_ROLES, "Set the role", NAME, _ANY_ROLE, does_step=True
)
def grant_role(request: WebRequest) -> ActionReply:
    """Change or remove the role of a user in the project."""
    role = request.values["role"] if request.values["role"] != "none" else None
    _refuse_higher_role(request, role)
    with request.store.write() as connection:
        user = users.get_by_name(connection, request.values["name"])
        _refuse_higher_role(request, users.role_of(connection, request.project.id, user.id))
        acts.set_role(connection, request.actor, user, request.project.name, role)
    return ActionReply(request.project_path("people"), {"name": user.name, "role": role})


_QUERIES_NAME = "archived queries"
"""The text to type to delete all archived queries."""


@page("archive", "/projects/{project}/archive", MANAGING_ROLES, "Archive")
def archive_page(request: WebRequest) -> PageReply:
    """The page of runs, judgments, batches and archived queries, with buttons to hide or show."""
    project = request.project
    with request.store.read() as connection:
        resources = archive.list_archivables(connection, project.id)
        archived_queries = archive.count_archived_queries(connection, project.id)
    data = {
        "project": project.name,
        "items": [vars(resource) for resource in resources],
        "archived_queries": archived_queries,
        "archived_at": project.archived_at,
    }
    return PageReply("archive.html", data, {"batches": list_batch_names(request)})


def _find_item(connection: Connection, request: WebRequest) -> Archivable:
    kind = str(request.path["kind"])
    if kind not in archive.KINDS:
        raise not_found("page")
    return archive.get(connection, request.project.id, kind, request.path["number"])


@action("archive-change", _ITEM_PATH, MANAGING_ROLES, "Archive", _ARCHIVED)
def archive_item(request: WebRequest) -> ActionReply:
    """Hide an item, or show it again."""
    archived = bool(request.values["archived"])
    with request.store.write() as connection:
        resource = _find_item(connection, request)
        archive.set_archived(connection, resource, archived=archived)
        action = "archive" if archived else "restore"
        request.record(connection, f"{resource.kind}.{action}", resource.name)
    return ActionReply(request.project_path("archive"), {"name": resource.name, "archived": archived})


@action(
    "archive-queries",
    _QUERIES_PATH,
    MANAGING_ROLES,
    "Archive",
    Field("queries", "Queries by their ids, a line each", "long", most=1_000_000),
    Field("batch", "Or all queries of a batch", most=100, options=web_request.list_batch_names),
    _ARCHIVED,
)
def archive_queries(request: WebRequest) -> ActionReply:
    """Hide or show queries: those named, and those of a batch."""
    fields, project = request.values, request.project
    archived = bool(fields["archived"])
    with request.store.write() as connection:
        ids = [line.strip() for line in (fields["queries"] or "").splitlines() if line.strip()]
        if fields["batch"]:
            batch = batches.get_by_name(connection, project.id, fields["batch"])
            ids += archive.queries_of_batch(connection, batch.id)
        if not ids:
            raise invalid_value("queries", "names no query")
        count = archive.archive_queries(connection, project.id, ids, archived=archived)
        action = "queries.archive" if archived else "queries.restore"
        request.record(connection, action, fields["batch"] or ids[0], queries=count)
    return ActionReply(request.project_path("archive"), {"queries": count, "archived": archived})


@action(
    "project-archive",
    "/projects/{project}/archive",
    ADMIN_ROLE,
    "Archive the project",
    _ARCHIVED,
    in_archived=True,
)
def archive_project(request: WebRequest) -> ActionReply:
    """Hide the project in lists and end the jobs of its models, or show the project again."""
    archived = bool(request.values["archived"])
    with request.store.write() as connection:
        projects.change(connection, request.project.id, archived_at=now() if archived else None)
        if archived:
            for job in model_jobs_table.list_jobs(connection, request.project.id):
                if job.state in model_jobs_table.UNDER_WAY:
                    model_jobs_table.cancel(connection, job.id)
        request.record(connection, "project.archive" if archived else "project.restore")
    return ActionReply("/projects", {"name": request.project.name, "archived": archived})


@page("archive-delete-page", f"{_ITEM_PATH}/delete", ADMIN_ROLE, "Delete")
def delete_page(request: WebRequest) -> PageReply:
    """The confirmation page for deleting an item, with all data to delete."""
    with request.store.read() as connection:
        resource = _find_item(connection, request)
        counts = archive.dependents(connection, resource)
    return _confirmation_page(
        request, resource.kind, resource.id, resource.name, deleted=counts, deletable=True
    )


def _confirmation_page(request: WebRequest, kind: str, number: int, name: str, **facts: Any) -> PageReply:
    """The confirmation page for deleting something, with what is deleted with it."""
    data = {"project": request.project.name, "kind": kind, "id": number, "name": name, **facts}
    return PageReply("delete.html", data)


@action("archive-delete", f"{_ITEM_PATH}/delete", ADMIN_ROLE, "Delete", _CONFIRM)
def delete_item(request: WebRequest) -> ActionReply:
    """Delete an item with its dependent data."""
    with request.store.write() as connection:
        resource = _find_item(connection, request)
        _refuse_other_name(request, resource.name)
        counts = archive.delete(connection, resource)
        request.record(connection, f"{resource.kind}.delete", resource.name, **counts)
    return ActionReply(request.project_path("archive"), {"name": resource.name, "deleted": counts})


@page("archive-queries-delete-page", f"{_QUERIES_PATH}/delete", ADMIN_ROLE, "Delete")
def delete_queries_page(request: WebRequest) -> PageReply:
    """The confirmation page for deleting all archived queries, with all data to delete."""
    project = request.project
    with request.store.read() as connection:
        count = archive.count_archived_queries(connection, project.id)
        counts = archive.dependents_of_archived_queries(connection, project.id)
    facts = {"queries": count, "deleted": counts, "deletable": True}
    return _confirmation_page(request, "queries", project.id, _QUERIES_NAME, **facts)


@action("archive-queries-delete", f"{_QUERIES_PATH}/delete", ADMIN_ROLE, "Delete", _CONFIRM)
def delete_queries(request: WebRequest) -> ActionReply:
    """Delete all archived queries with their dependent data."""
    with request.store.write() as connection:
        _refuse_other_name(request, _QUERIES_NAME)
        count = archive.count_archived_queries(connection, request.project.id)
        counts = archive.delete_archived_queries(connection, request.project.id)
        request.record(connection, "queries.delete", _QUERIES_NAME, queries=count, **counts)
    return ActionReply(
        request.project_path("archive"), {"name": _QUERIES_NAME, "queries": count, "deleted": counts}
    )


@page("project-delete-page", "/projects/{project}/delete", ADMIN_ROLE, "Delete")
def delete_project_page(request: WebRequest) -> PageReply:
    """The confirmation page for deleting the project, with all data to delete."""
    project = request.project
    with request.store.read() as connection:
        counts = archive.project_dependents(connection, project.id)
    facts = {"deleted": counts, "deletable": project.archived_at is not None}
    return _confirmation_page(request, "project", project.id, project.name, **facts)


@action("project-delete", "/projects/{project}/delete", ADMIN_ROLE, "Delete", _CONFIRM, in_archived=True)
def delete_project(request: WebRequest) -> ActionReply:
    """Delete the project with all its data."""
    project = request.project
    with request.store.write() as connection:
        _refuse_other_name(request, project.name)
        counts = archive.delete_project(connection, project.id)
        request.record(connection, "project.delete", project.name, **counts)
    return ActionReply("/projects", {"name": project.name, "deleted": counts})


def _refuse_other_name(request: WebRequest, name: str) -> None:
    if request.values["confirm"] != name:
        raise invalid_value("confirm", f"is not the name {name}")
