"""All routes of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.console.shared_options import SCALE_HELP
from rankgate.core.declare import declared_parameter
from rankgate.judging.resolution.resolve import resolve, rules
from rankgate.workspace.web import web_request
from rankgate.workspace.web.account_routes import ACCOUNT_ROUTES
from rankgate.workspace.web.change_routes import CHANGE_ROUTES
from rankgate.workspace.web.job_routes import MODEL_ROUTES, WATCHING_ROUTES
from rankgate.workspace.web.live_routes import LIVE_ROUTES
from rankgate.workspace.web.openapi import openapi_file
from rankgate.workspace.web.pages import (
    account_pages,
    coverage_pages,
    file_pages,
    project_pages,
    rating_pages,
    result_pages,
    watching_pages,
)
from rankgate.workspace.web.pages.document_card import CARD_HELP
from rankgate.workspace.web.pages.highlighting import LANGUAGES
from rankgate.workspace.web.pages.verb_routes import VERB_ROUTES
from rankgate.workspace.web.project_routes import (
    ARCHIVE_ROUTES,
    FILE_ROUTES,
    PEOPLE_ROUTES,
    STRATEGY_FIELD,
    TRANSFORM_FIELD,
    WORK_ROUTES,
)
from rankgate.workspace.web.record_routes import DASHBOARD_ROUTES, RECORD_ROUTES, REMOTE_ROUTES
from rankgate.workspace.web.start_routes import START_ROUTES
from rankgate.workspace.web.web_request import (
    ADMIN,
    ANYONE,
    MANAGING_ROLES,
    RATING_ROLES,
    SIGNED_IN,
    VIEWING_ROLES,
    Field,
    Route,
    declared_field,
    declared_fields,
)

if TYPE_CHECKING:
    from rankgate.workspace.web.replies import FileReply
    from rankgate.workspace.web.web_request import WebRequest

_TASK = Field("task", "Task", "whole", required=True)
_ID = Field("rating_id", most=100, help="Made by the client, and the same in every retry.")
_BATCH = Field("batch", "Batch", "whole", help="The next task is of this batch only.")

_OPERATION_ROUTES = (
    Route("health", "GET", "/health", ANYONE, watching_pages.ready_page, "Health"),
    Route("health-live", "GET", "/health/live", ANYONE, watching_pages.live_page, "Health"),
    Route(
        "asset",
        "GET",
        "/assets/{name}",
        ANYONE,
        account_pages.asset_reply,
        "Asset",
        (Field("v", most=64),),
        scope=None,
    ),
)

_ANSWER_FIELDS = (
    _TASK,
    _ID,
    Field("grade", "Grade", "number", help="On the scale; empty means cannot tell."),
    Field(
        "choice",
        "Which is better",
        "choice",
        choices=(("left", "left"), ("right", "right"), ("equal", "equal")),
    ),
    Field("reason", "Why you cannot tell", most=1_000),
    Field("why", "Another reason", most=1_000),
    Field("comment", "Comment", "long", most=5_000),
    Field("seconds", "Seconds", "number", least=0),
    Field("at", "When", "moment"),
)
_RATING_ROUTES = (
    Route(
        "rate-page",
        "GET",
        "/projects/{project}/rate",
        RATING_ROLES,
        rating_pages.rate_page,
        "Rate",
        (Field("task", "Task", "whole"), _BATCH),
        scope="rate",
    ),
    Route(
        "query",
        "GET",
        "/projects/{project}/rate/query",
        RATING_ROLES,
        rating_pages.query_page,
        "One query's documents",
        (_BATCH,),
        scope="rate",
    ),
    Route(
        "rate",
        "POST",
        "/projects/{project}/ratings",
        RATING_ROLES,
        rating_pages.record_rating,
        "Rate",
        (*_ANSWER_FIELDS, Field("list", "Go on with the list of the query", "flag"), _BATCH),
        scope="rate",
    ),
    Route(
        "rate-many",
        "POST",
        "/projects/{project}/ratings/many",
        RATING_ROLES,
        rating_pages.record_many,
        "Rate many",
        (
            Field(
                "answers",
                kind="rows",
                required=True,
                most=rating_pages.MAX_ANSWERS,
                columns=_ANSWER_FIELDS,
                help="Recorded in one transaction; if one is refused, none is recorded.",
            ),
        ),
        scope="rate",
    ),
    Route(
        "withdraw",
        "POST",
        "/projects/{project}/ratings/withdraw",
        RATING_ROLES,
        rating_pages.withdraw_rating,
        "Undo",
        (_TASK, _ID, _BATCH),
        scope="rate",
    ),
    Route(
        "later",
        "POST",
        "/projects/{project}/ratings/later",
        RATING_ROLES,
        rating_pages.put_off,
        "Later",
        (_TASK, _BATCH),
        scope="rate",
    ),
    Route(
        "history",
        "GET",
        "/projects/{project}/history",
        RATING_ROLES,
        rating_pages.history_page,
        "Your ratings",
        (Field("before", "Before", "whole"),),
        scope="rate",
    ),
)

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
_METRICS = Field("metrics", "Metrics", default=result_pages.DEFAULT_METRICS, most=300)
_DECLARED_RULE = declared_parameter(resolve, "rule")
_RULE = declared_field(
    _DECLARED_RULE,
    kind="choice",
    choices=tuple(
        (rule.name, f"{rule.name}: {rule.title}") for rule in rules() if rule.name != "adjudicated"
    ),
    help=f"{_DECLARED_RULE.sentence} Final words on disagreements count before any rule.",
)

_PROJECT_ROUTES = (
    Route(
        "project-add",
        "POST",
        "/projects",
        ADMIN,
        project_pages.add_project,
        "Make a project",
        (
            Field(
                "name",
                "Name in addresses",
                required=True,
                most=63,
                help="Lower case letters, digits and - . _",
            ),
            Field("title", "Title", most=200),
            Field("description", "About it", "long", most=5_000),
            Field("scale", "Scale", default="graded", most=200, help=SCALE_HELP),
        ),
        scope="admin",
    ),
    Route(
        "log",
        "GET",
        "/projects/{project}/log",
        MANAGING_ROLES,
        project_pages.log_page,
        "Log",
        (Field("before", "Before", "whole"),),
        scope="manage",
    ),
    Route(
        "setup",
        "GET",
        "/projects/{project}/setup",
        MANAGING_ROLES,
        project_pages.setup_page,
        "Setup",
        scope="manage",
    ),
    Route(
        "scale-set",
        "POST",
        "/projects/{project}/scale",
        MANAGING_ROLES,
        project_pages.set_scale,
        "Set the scale",
        (
            Field(
                "scale",
                "Grades, a line each",
                "long",
                required=True,
                most=5_000,
                help="2 = good: holds the answer. Grades stay once there is a rating; labels and "
                "descriptions may change.",
            ),
        ),
        scope="manage",
    ),
    Route(
        "guideline-add",
        "POST",
        "/projects/{project}/guidelines",
        MANAGING_ROLES,
        project_pages.add_guideline,
        "Add this version",
        (
            Field("version", "Version", required=True, most=50),
            Field("text", "Guideline, in Markdown", "long", required=True, most=50_000),
        ),
        scope="manage",
    ),
    Route(
        "display-set",
        "POST",
        "/projects/{project}/display",
        MANAGING_ROLES,
        project_pages.set_display,
        "Set the fields for raters",
        (
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
        ),
        scope="manage",
    ),
    Route(
        "metric-set",
        "POST",
        "/projects/{project}/metric",
        MANAGING_ROLES,
        project_pages.set_metric,
        "Set the metric",
        (
            Field(
                "metric",
                "Metric of the overview",
                most=200,
                help="Left empty, it is the first metric of the last gate, or of the last evaluation.",
                options=web_request.list_metric_names,
            ),
        ),
        scope="manage",
    ),
    Route(
        "batch-add",
        "POST",
        "/projects/{project}/batches",
        MANAGING_ROLES,
        file_pages.add_batch,
        "Add the batch",
        (
            Field("name", "Name", required=True, most=100),
            Field(
                "pool",
                "Pool",
                "file",
                required=True,
                help="As rankgate pool writes it: columns query and document.",
            ),
            Field("queries", "Queries with their texts", "file"),
            Field("documents", "Documents with their fields", "file"),
            Field(
                "gold",
                "Known grades, asked among the others",
                "file",
                help="Judgments for hidden questions or for a training.",
            ),
            Field(
                "kind",
                "Kind",
                "choice",
                default="rating",
                choices=(("rating", "rating"), ("training", "training, with the known grade after each")),
            ),
            STRATEGY_FIELD,
            Field("priority", "Priority; higher is first", "whole", default="0"),
            Field("deadline", "Deadline", "moment"),
            Field("seed", "Seed of the order", "whole"),
            Field("open", "Show the pool's fields, such as ranks (not blind)", "flag"),
        ),
        scope="manage",
    ),
    Route(
        "batch-change",
        "POST",
        "/projects/{project}/batches/{batch:int}",
        MANAGING_ROLES,
        file_pages.change_batch,
        "Change the batch",
        (
            Field(
                "state",
                "State",
                "choice",
                choices=(("open", "open"), ("paused", "paused"), ("closed", "closed")),
            ),
            STRATEGY_FIELD,
            Field("priority", "Priority", "whole"),
            Field("deadline", "Deadline", "moment"),
        ),
        scope="manage",
    ),
    Route(
        "people",
        "GET",
        "/projects/{project}/people",
        MANAGING_ROLES,
        project_pages.people_page,
        "People",
        scope="manage",
    ),
    Route(
        "invite",
        "POST",
        "/projects/{project}/invitations",
        MANAGING_ROLES,
        project_pages.invite_person,
        "Make an invitation",
        (Field("name", "Name to sign in with", most=100, help="Empty: they choose it."), _ROLE),
        scope="manage",
    ),
    Route(
        "invitation-revoke",
        "POST",
        "/projects/{project}/invitations/{invitation:int}/revoke",
        MANAGING_ROLES,
        project_pages.revoke_invitation,
        "Revoke the invitation",
        scope="manage",
    ),
    Route(
        "grant",
        "POST",
        "/projects/{project}/people",
        MANAGING_ROLES,
        project_pages.grant_role,
        "Set the role",
        (Field("name", "Name", required=True, most=100), _ANY_ROLE),
        scope="manage",
    ),
)

_RESULT_ROUTES = (
    Route(
        "agreement",
        "GET",
        "/projects/{project}/agreement",
        VIEWING_ROLES,
        coverage_pages.agreement_page,
        "Agreement",
        (_BATCH,),
    ),
    Route(
        "disputes",
        "GET",
        "/projects/{project}/disputes",
        VIEWING_ROLES,
        result_pages.disputes_page,
        "Disagreements",
        (Field("after", "After", "whole"),),
    ),
    Route(
        "final",
        "POST",
        "/projects/{project}/disputes/{task:int}",
        MANAGING_ROLES,
        result_pages.record_final_word,
        "Final word",
        (
            _ID,
            Field("grade", "Grade", "number", required=True),
            Field("comment", "Comment", "long", most=5_000),
        ),
        scope="manage",
    ),
    Route(
        "coverage",
        "GET",
        "/projects/{project}/coverage",
        VIEWING_ROLES,
        coverage_pages.coverage_page,
        "Coverage",
        (Field("after", "After", "whole"),),
    ),
    Route(
        "judgments",
        "GET",
        "/projects/{project}/judgments",
        VIEWING_ROLES,
        result_pages.judgments_page,
        "Judgments",
    ),
    Route(
        "resolve",
        "POST",
        "/projects/{project}/judgments",
        MANAGING_ROLES,
        result_pages.resolve_ratings,
        "Make judgments",
        (
            Field("name", "Name of the judgments", required=True, most=100),
            _RULE,
            TRANSFORM_FIELD,
            *declared_fields(resolve, "slots"),
            _METRICS,
            Field("convention", "Convention of the metrics", most=50),
            Field(
                "models",
                "Admitted models",
                "choice",
                default="fill",
                choices=(
                    ("fill", "grade documents that no person graded"),
                    ("equal", "count as people do"),
                    ("none", "do not count"),
                ),
            ),
            Field("preview", kind="flag", help="Only show what would change."),
        ),
        scope="manage",
    ),
    Route(
        "evaluation",
        "GET",
        "/projects/{project}/judgments/{judgments}/evaluation",
        VIEWING_ROLES,
        result_pages.evaluation_page,
        "Runs by these judgments",
        (_METRICS, Field("convention", "Convention", most=50), Field("after", "After", "whole")),
    ),
)


def _openapi_page(request: WebRequest) -> FileReply:  # noqa: ARG001 - as every handler
    return openapi_file(ROUTES)


ROUTES: tuple[Route, ...] = (
    *_OPERATION_ROUTES,
    *ACCOUNT_ROUTES,
    *DASHBOARD_ROUTES,
    *CHANGE_ROUTES,
    *LIVE_ROUTES,
    *_RATING_ROUTES,
    *_RESULT_ROUTES,
    *_PROJECT_ROUTES,
    *FILE_ROUTES,
    *WORK_ROUTES,
    *PEOPLE_ROUTES,
    *ARCHIVE_ROUTES,
    *MODEL_ROUTES,
    *REMOTE_ROUTES,
    *RECORD_ROUTES,
    *WATCHING_ROUTES,
    *VERB_ROUTES,
    *START_ROUTES,
    Route("openapi", "GET", "/openapi.json", SIGNED_IN, _openapi_page, "The REST API"),
)
