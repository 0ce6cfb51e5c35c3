"""Routes for language models as raters, alerts and scheduled jobs."""

from __future__ import annotations

from rankgate.judging.admission.requirements import Demands
from rankgate.judging.llm.judge import Judge
from rankgate.judging.models.model_admission import admit_model
from rankgate.workspace.web import web_request
from rankgate.workspace.web.dashboard import alert_page
from rankgate.workspace.web.pages import model_pages, watching_pages
from rankgate.workspace.web.web_request import MANAGING_ROLES, VIEWING_ROLES, Field, Route, declared_fields

_MODELS_PATH = "/projects/{project}/models"
_LIMIT_FIELDS = declared_fields(Judge, "calls", "tokens", "ceiling", calls={"default": "1000"})
_JOB_FIELDS = (
    Field("endpoint", "Endpoint", required=True, most=100),
    Field("model", "Model", required=True, most=200),
    Field(
        "template",
        "Prompt",
        "long",
        most=50_000,
        help="With {{query}}, {{document}} and {{grades}}. By default the template of rankgate for grades 0 "
        "to 3 or 0 and 1. Another prompt is another rater.",
    ),
    *declared_fields(Judge, "confidence", confidence={"default": "1"}),
    Field(
        "doubt", "People look at grades of a confidence below", "number", default="0.5", least=0, largest=1
    ),
    Field("distance", "People look at grades that differ from theirs by", "number", default="2", least=0),
    *_LIMIT_FIELDS,
    Field("price_input", "Price of a million tokens of input", "number", least=0),
    Field("price_output", "Price of a million tokens of output", "number", least=0),
    *declared_fields(Judge, "structure"),
    Field(
        "parameters",
        "Parameters of requests",
        "long",
        most=5_000,
        help='An object of JSON, such as {"temperature": 0, "max_tokens": 512}.',
    ),
    *declared_fields(
        Judge, "longest", "concurrency", concurrency={"default": "", "unset": None}
    ),  # by default that of the endpoint
)

MODEL_ROUTES = (
    Route("models", "GET", _MODELS_PATH, VIEWING_ROLES, model_pages.models_page, "Models"),
    Route(
        "model-start",
        "POST",
        _MODELS_PATH,
        MANAGING_ROLES,
        model_pages.start_job,
        "Start rating",
        (
            Field("batch", "Batch", most=100),
            Field("runs", "Or runs, with commas between", most=2_000),
            Field("depth", "Documents of each list of these runs", "whole", default="10", least=1),
            *_JOB_FIELDS,
        ),
        scope="manage",
    ),
    Route(
        "model-rule",
        "POST",
        f"{_MODELS_PATH}/rule",
        MANAGING_ROLES,
        model_pages.set_rule,
        "Rate new runs",
        (Field("depth", "Documents of each list", "whole", default="10", least=1), *_JOB_FIELDS),
        scope="manage",
    ),
    Route(
        "model-rule-end",
        "POST",
        f"{_MODELS_PATH}/rule/end",
        MANAGING_ROLES,
        model_pages.end_rule,
        "Leave new runs alone",
        scope="manage",
    ),
    Route(
        "model",
        "GET",
        f"{_MODELS_PATH}/{{rater:int}}",
        VIEWING_ROLES,
        model_pages.model_page,
        "Model",
        (Field("before", "Before", "whole"),),
    ),
    Route(
        "model-admit",
        "POST",
        f"{_MODELS_PATH}/{{rater:int}}/admission",
        MANAGING_ROLES,
        model_pages.admit_rater,
        "Compare with people",
        (*declared_fields(Demands, *model_pages.DEMANDS), *declared_fields(admit_model, "with_runs")),
        scope="manage",
    ),
    Route(
        "model-withdraw",
        "POST",
        f"{_MODELS_PATH}/{{rater:int}}/withdrawal",
        MANAGING_ROLES,
        model_pages.withdraw_admission,
        "Withdraw the admission",
        scope="manage",
    ),
    Route(
        "model-job",
        "GET",
        f"{_MODELS_PATH}/jobs/{{job:int}}",
        VIEWING_ROLES,
        model_pages.job_page,
        "Job of a model",
    ),
    Route(
        "model-cancel",
        "POST",
        f"{_MODELS_PATH}/jobs/{{job:int}}/cancel",
        MANAGING_ROLES,
        model_pages.cancel_job,
        "Cancel",
        scope="manage",
    ),
    Route(
        "model-resume",
        "POST",
        f"{_MODELS_PATH}/jobs/{{job:int}}/resume",
        MANAGING_ROLES,
        model_pages.resume_job,
        "Resume",
        _LIMIT_FIELDS,
        scope="manage",
    ),
)


_ALERTS_PATH = "/projects/{project}/alerts"
_SCHEDULE_PATH = "/projects/{project}/schedule"
_STATES = tuple((state, state) for state in ("open", "acknowledged", "resolved"))

WATCHING_ROUTES = (
    Route(
        "alerts",
        "GET",
        _ALERTS_PATH,
        VIEWING_ROLES,
        watching_pages.alerts_page,
        "Alerts",
        (Field("state", "State", "choice", choices=_STATES),),
    ),
    Route("alert", "GET", f"{_ALERTS_PATH}/{{alert:int}}", VIEWING_ROLES, alert_page.alert_page, "An alert"),
    Route(
        "alert-acknowledge",
        "POST",
        f"{_ALERTS_PATH}/{{alert:int}}/acknowledge",
        MANAGING_ROLES,
        watching_pages.acknowledge_alert,
        "Acknowledge",
        scope="manage",
    ),
    Route(
        "alert-rules",
        "GET",
        f"{_ALERTS_PATH}/rules",
        MANAGING_ROLES,
        watching_pages.rules_page,
        "Rules of alerts",
        scope="manage",
    ),
    Route(
        "alert-rules-set",
        "POST",
        f"{_ALERTS_PATH}/rules",
        MANAGING_ROLES,
        watching_pages.set_rules,
        "Save the rules",
        (
            Field(
                "rules", "Rules and channels, as TOML", "long", most=50_000, help="Leave it empty for none."
            ),
        ),
        scope="manage",
    ),
    Route(
        "alerts-check",
        "POST",
        f"{_ALERTS_PATH}/check",
        MANAGING_ROLES,
        watching_pages.check_now,
        "Check now",
        scope="manage",
    ),
    Route(
        "alert-channel-test",
        "POST",
        f"{_ALERTS_PATH}/test",
        MANAGING_ROLES,
        watching_pages.send_test,
        "Send a test",
        (Field("channel", "Channel", required=True, most=100, options=web_request.list_channel_names),),
        scope="manage",
    ),
    Route("schedule", "GET", _SCHEDULE_PATH, VIEWING_ROLES, watching_pages.schedule_page, "Schedule"),
    Route(
        "schedule-run",
        "GET",
        f"{_SCHEDULE_PATH}/runs/{{run:int}}",
        VIEWING_ROLES,
        watching_pages.run_page,
        "A run",
    ),
    Route(
        "jobs-add",
        "POST",
        _SCHEDULE_PATH,
        MANAGING_ROLES,
        watching_pages.add_jobs,
        "Save the jobs",
        (
            Field(
                "jobs",
                "Jobs, as TOML",
                "long",
                required=True,
                most=50_000,
                help="Jobs of the same names are replaced.",
            ),
        ),
        scope="manage",
    ),
    Route(
        "job-change",
        "POST",
        f"{_SCHEDULE_PATH}/jobs/{{job}}",
        MANAGING_ROLES,
        watching_pages.change_job,
        "Change the job",
        (Field("enabled", "It runs", "flag"),),
        scope="manage",
    ),
    Route(
        "job-start",
        "POST",
        f"{_SCHEDULE_PATH}/jobs/{{job}}/start",
        MANAGING_ROLES,
        watching_pages.start_job,
        "Run now",
        scope="manage",
    ),
)
