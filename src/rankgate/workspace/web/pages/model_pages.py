"""Language models as raters: model list, jobs with progress, and admission by evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.pages.page import page_content
from rankgate.judging.admission.requirements import Demands
from rankgate.judging.llm.judge import Judge
from rankgate.judging.models.model_admission import admit_model, evidence, withdraw_model
from rankgate.judging.models.model_jobs import (
    Review,
    add_job,
    ensure_rater,
    identity_for,
    job_view,
    models_by_number,
    models_of,
    tasks_of_batch,
    tasks_to_depth,
)
from rankgate.judging.models.model_queue import REQUEST_KEYS, judge_for
from rankgate.store.blobs import stored_runs
from rankgate.store.models import model_admissions, model_answers_by_request, model_jobs_table
from rankgate.store.rating import batches
from rankgate.store.rows import now
from rankgate.workspace.web.pages.document_view import read_titles
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found
from rankgate.workspace.web.shared_fields import BEFORE_FIELD
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    declared_fields,
    invalid_value,
    page,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.models.model_job import Job
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


DEMANDS = ("alpha", "bias", "pairs", "answered")
"""The requirements in the form, without those on attacks and model families."""

_MAX_ANSWERS = 50


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


@page("models", _MODELS_PATH, VIEWING_ROLES, "Models")
def models_page(request: WebRequest) -> PageReply:
    """The page of the project's models and jobs, with forms to start a job."""
    project = request.project.id
    with request.store.read() as connection:
        rule = model_admissions.rule_of_project(connection, project)
        data = {
            "project": request.project.name,
            "models": models_of(connection, project),
            "jobs": [_job_view(connection, job) for job in model_jobs_table.list_jobs(connection, project)],
            "rule": None if rule is None else dict(rule.settings),
            "endpoints": [
                {"name": endpoint.name, "models": list(endpoint.models), "prices": list(endpoint.prices)}
                for endpoint in request.config.models.values()
            ],
        }
        batch_names = [
            batch.name for batch in batches.list_batches(connection, project) if batch.kind == "rating"
        ]
        run_names = [run.name for run in stored_runs.list_runs(connection, project)]
    return PageReply("models.html", data, {"batches": batch_names, "runs": run_names})


def _job_view(connection: Connection, job: Job) -> PageRow:
    name = models_by_number(connection)[job.rater].name
    return job_view(connection, job) | {"model": name}


@action(
    "model-start",
    _MODELS_PATH,
    MANAGING_ROLES,
    "Start rating",
    Field("batch", "Batch", most=100),
    Field("runs", "Or runs, with commas between", most=2_000),
    Field("depth", "Documents of each list of these runs", "whole", default="10", least=1),
    *_JOB_FIELDS,
)
def start_job(request: WebRequest) -> ActionReply:
    """Start a job on a batch, or on the first documents of runs."""
    fields = request.values
    judge = judge_for(request.config.models, fields)
    names = [text.strip() for text in (fields["runs"] or "").split(",") if text.strip()]
    if (fields["batch"] is None) == (not names):
        raise invalid_value("batch", "name a batch, or else runs")
    project = request.project.id
    with request.store.write() as connection:
        if names:
            rater = ensure_rater(connection, identity_for(connection, project, judge))
            depth = fields["depth"] or 10
            job_name = f"{', '.join(names)[:60]} to depth {depth}"
            numbers = tasks_to_depth(
                connection,
                request.store.blobs,
                project,
                names,
                depth,
                batch=f"model: {job_name} {now():%Y-%m-%d %H:%M:%S}",
                rater=rater.id,
            )
        else:
            job_name = fields["batch"]
            numbers = tasks_of_batch(connection, project, job_name)
        model_job = add_job(
            connection,
            project,
            judge,
            numbers,
            name=job_name,
            endpoint=fields["endpoint"],
            review=Review(fields["distance"], fields["doubt"]),
            created_by=request.user.id,
        )
        request.record(connection, "model.start", job_name, job=model_job.id, model=judge.model)
    return ActionReply(
        request.project_path("models", "jobs", model_job.id), {"job": model_job.id, "tasks": model_job.total}
    )


@action(
    "model-rule",
    f"{_MODELS_PATH}/rule",
    MANAGING_ROLES,
    "Rate new runs",
    Field("depth", "Documents of each list", "whole", default="10", least=1),
    *_JOB_FIELDS,
)
def set_rule(request: WebRequest) -> ActionReply:
    """Set the rule that a model rates the first documents of new runs, to a depth."""
    judge = judge_for(request.config.models, request.values)
    settings = {name: request.values[name] for name in REQUEST_KEYS}
    settings["depth"] = settings["depth"] or 10
    with request.store.write() as connection:
        identity_for(
            connection, request.project.id, judge
        )  # checks that the project has a scale and a matching prompt
        model_admissions.save_rule(connection, request.project.id, settings, request.user.id)
        request.record(connection, "model.rule", judge.model, depth=settings["depth"])
    return ActionReply(request.project_path("models"), {"depth": settings["depth"]})


@action("model-rule-end", f"{_MODELS_PATH}/rule/end", MANAGING_ROLES, "Leave new runs alone")
def end_rule(request: WebRequest) -> ActionReply:
    """End the rule, so that people rate new runs."""
    with request.store.write() as connection:
        model_admissions.remove(connection, request.project.id)
        request.record(connection, "model.rule", "none")
    return ActionReply(request.project_path("models"))


@page("model", f"{_MODELS_PATH}/{{rater:int}}", VIEWING_ROLES, "Model", BEFORE_FIELD)
def model_page(request: WebRequest) -> PageReply:
    """The page of a model: identity, answers, and admission with the evidence."""
    project, number = request.project.id, request.path["rater"]
    with request.store.read() as connection:
        models_by_rater = {model["rater"]: model for model in models_of(connection, project)}
        if number not in models_by_rater:
            raise not_found("model")
        rater = models_by_number(connection)[number]
        rater_answers = model_answers_by_request.answers_of_rater(
            connection, project, number, before=request.values["before"], most=_MAX_ANSWERS
        )
        admission = model_admissions.admissions_by_rater(connection, project).get(number)
        keys = [(answer.query_id, answer.doc_id) for answer in rater_answers]
        titles = read_titles(connection, request, keys)
    admission_evidence = None if admission is None else evidence(request.store, admission)
    data = {
        "project": request.project.name,
        "model": models_by_rater[number],
        "identity": dict(rater.identity),
        "answers": [
            {**vars(answer), "title": titles.get(key, "")}
            for answer, key in zip(rater_answers, keys, strict=True)
        ],
        "before": rater_answers[-1].id if len(rater_answers) == _MAX_ANSWERS else None,
        "evidence": None if admission_evidence is None else admission_evidence.to_dict(),
    }
    document = "" if admission_evidence is None else page_content(admission_evidence.document())
    return PageReply("model.html", data, {"document": document})


@action(
    "model-admit",
    f"{_MODELS_PATH}/{{rater:int}}/admission",
    MANAGING_ROLES,
    "Compare with people",
    *declared_fields(Demands, *DEMANDS),
    *declared_fields(admit_model, "with_runs"),
)
def admit_rater(request: WebRequest) -> ActionReply:
    """Compare a model with people; its ratings count if it passes."""
    fields, number = request.values, request.path["rater"]
    demands = Demands(**{name: fields[name] for name in DEMANDS})
    _refuse_unknown(request)
    admission, _ = admit_model(
        request.store,
        request.project.id,
        number,
        demands=demands,
        with_runs=fields["with_runs"],
        user=request.user.id,
    )
    with request.store.write() as connection:
        request.record(
            connection, "model.admit", admission.judge.name, verdict=admission.verdict, demands=vars(demands)
        )
    return ActionReply(
        request.project_path("models", number), {"verdict": admission.verdict, "pairs": admission.pairs}
    )


@action(
    "model-withdraw", f"{_MODELS_PATH}/{{rater:int}}/withdrawal", MANAGING_ROLES, "Withdraw the admission"
)
def withdraw_admission(request: WebRequest) -> ActionReply:
    """Stop counting the ratings of a model."""
    _refuse_unknown(request)
    withdraw_model(request.store, request.project.id, request.path["rater"], request.user.id)
    with request.store.write() as connection:
        request.record(connection, "model.withdraw", str(request.path["rater"]))
    return ActionReply(request.project_path("models", request.path["rater"]))


def _refuse_unknown(request: WebRequest) -> None:
    with request.store.read() as connection:
        rater_numbers = {model["rater"] for model in models_of(connection, request.project.id)}
    if request.path["rater"] not in rater_numbers:
        raise not_found("model")


def _find_job(connection: Connection, request: WebRequest) -> Job:
    jobs_by_number = {
        model_job.id: model_job for model_job in model_jobs_table.list_jobs(connection, request.project.id)
    }
    if request.path["job"] not in jobs_by_number:
        raise not_found("job")
    return jobs_by_number[request.path["job"]]


@page("model-job", f"{_MODELS_PATH}/jobs/{{job:int}}", VIEWING_ROLES, "Job of a model")
def job_page(request: WebRequest) -> PageReply:
    """The page with the progress of a job."""
    with request.store.read() as connection:
        data = {"project": request.project.name, "job": _job_view(connection, _find_job(connection, request))}
    return PageReply("model_job.html", data)


@action("model-cancel", f"{_MODELS_PATH}/jobs/{{job:int}}/cancel", MANAGING_ROLES, "Cancel")
def cancel_job(request: WebRequest) -> ActionReply:
    """Cancel a job; its answers are kept."""
    with request.store.write() as connection:
        model_job = model_jobs_table.cancel(connection, _find_job(connection, request).id)
        request.record(connection, "model.cancel", str(model_job.id))
    return ActionReply(
        request.project_path("models", "jobs", model_job.id), {"job": model_job.id, "state": model_job.state}
    )


@action("model-resume", f"{_MODELS_PATH}/jobs/{{job:int}}/resume", MANAGING_ROLES, "Resume", *_LIMIT_FIELDS)
def resume_job(request: WebRequest) -> ActionReply:
    """Continue a job that ended early, with new limits that include the amount already spent."""
    with request.store.write() as connection:
        model_job = _find_job(connection, request)
        if model_job.endpoint not in request.config.models:
            problem = "This job is of the command line, or of an endpoint that is gone."
            raise RequestRefused(409, "unknown-endpoint", problem)
        limits = {name: request.values[name] for name in ("calls", "tokens", "ceiling")}
        model_jobs_table.update_job(connection, model_job.id, {**model_job.settings, **limits})
        model_job = model_jobs_table.resume(connection, model_job.id)
        request.record(connection, "model.resume", str(model_job.id), **limits)
    return ActionReply(
        request.project_path("models", "jobs", model_job.id), {"job": model_job.id, "state": model_job.state}
    )
