"""Language models as raters: who rates, jobs with their progress, admission by evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.pages.page import content
from rankgate.judging.admission.demands import Demands
from rankgate.judging.models.admitting import admit_model, evidence, withdraw_model
from rankgate.judging.models.identity import identity_for, rater_of
from rankgate.judging.models.job import Review, add_job, models, tasks_of_batch, tasks_to_depth
from rankgate.judging.models.listing import job_view, models_of
from rankgate.judging.models.request import NAMES, judge_for
from rankgate.store.kept import runs
from rankgate.store.models import admissions, answers, jobs, rules
from rankgate.store.rating import batches
from rankgate.store.rows import now
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.replies import Done, Page, Refused, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.models.model_job import Job
    from rankgate.workspace.web.asked import Asked

_MOST = 50


def page(asked: Asked) -> Page:
    """The models of a project, their jobs, and forms to start one."""
    project = asked.project.id
    with asked.store.read() as connection:
        rule = rules.of_project(connection, project)
        data = {
            "project": asked.project.name,
            "models": models_of(connection, project),
            "jobs": [_shown(connection, each) for each in jobs.listed(connection, project)],
            "rule": None if rule is None else dict(rule.settings),
            "endpoints": [
                {"name": each.name, "models": list(each.models), "prices": list(each.prices)}
                for each in asked.config.models.values()
            ],
        }
        batched = [e.name for e in batches.listed(connection, project) if e.kind == "rating"]
        stored = [each.name for each in runs.listed(connection, project)]
    return Page("models.html", data, {"batches": batched, "runs": stored})


def _shown(connection: Connection, job: Job) -> dict[str, Any]:
    name = models(connection)[job.rater].name
    return job_view(connection, job) | {"model": name}


def start(asked: Asked) -> Done:
    """A job on a batch, or on what runs rank first."""
    given = asked.values
    judge = judge_for(asked.config.models, given)
    names = [each.strip() for each in (given["runs"] or "").split(",") if each.strip()]
    if (given["batch"] is None) == (not names):
        raise wrong("batch", "name a batch, or else runs")
    project = asked.project.id
    with asked.store.write() as connection:
        if names:
            rater = rater_of(connection, identity_for(connection, project, judge))
            depth = given["depth"] or 10
            what = f"{', '.join(names)[:60]} to depth {depth}"
            numbers = tasks_to_depth(
                connection, asked.store.blobs, project, names, depth,
                batch=f"model: {what} {now():%Y-%m-%d %H:%M:%S}", rater=rater.id,
            )  # fmt: skip
        else:
            what = given["batch"]
            numbers = tasks_of_batch(connection, project, what)
        found = add_job(
            connection, project, judge, numbers, name=what, endpoint=given["endpoint"],
            review=Review(given["distance"], given["doubt"]), created_by=asked.user.id,
        )  # fmt: skip
        asked.record(connection, "model.start", what, job=found.id, model=judge.model)
    return Done(asked.at("models", "jobs", found.id), {"job": found.id, "tasks": found.total})


def set_rule(asked: Asked) -> Done:
    """Rate what new runs rank first, to a depth."""
    judge = judge_for(asked.config.models, asked.values)
    settings = {name: asked.values[name] for name in NAMES}
    settings["depth"] = settings["depth"] or 10
    with asked.store.write() as connection:
        identity_for(connection, asked.project.id, judge)  # it has a scale, and a prompt that fits
        rules.put(connection, asked.project.id, settings, asked.user.id)
        asked.record(connection, "model.rule", judge.model, depth=settings["depth"])
    return Done(asked.at("models"), {"depth": settings["depth"]})


def end_rule(asked: Asked) -> Done:
    """Leave new runs to people."""
    with asked.store.write() as connection:
        rules.remove(connection, asked.project.id)
        asked.record(connection, "model.rule", "none")
    return Done(asked.at("models"))


def one(asked: Asked) -> Page:
    """What a model is, what it said, and whether it is admitted, with the evidence."""
    project, number = asked.project.id, asked.path["rater"]
    with asked.store.read() as connection:
        here = {each["rater"]: each for each in models_of(connection, project)}
        if number not in here:
            raise not_found("model")
        rater = models(connection)[number]
        said = answers.of_rater(
            connection, project, number, before=asked.values["before"], most=_MOST
        )
        admission = admissions.last(connection, project).get(number)
    found = None if admission is None else evidence(asked.store, admission)
    data = {
        "project": asked.project.name,
        "model": here[number],
        "identity": dict(rater.identity),
        "answers": said,
        "before": said[-1]["id"] if len(said) == _MOST else None,
        "evidence": None if found is None else found.to_dict(),
    }
    document = "" if found is None else content(found.document())
    return Page("model.html", data, {"document": document})


def admit(asked: Asked) -> Done:
    """Compare a model with people; it counts if it passes."""
    given, number = asked.values, asked.path["rater"]
    usual = vars(Demands())
    wished = {name: given[name] for name in ("alpha", "bias", "pairs", "answered")}
    demands = Demands(**{name: usual[name] if value is None else value
                         for name, value in wished.items()})  # fmt: skip
    _refuse_unknown(asked)
    found, _ = admit_model(
        asked.store, asked.project.id, number, demands=demands, with_runs=given["with_runs"],
        user=asked.user.id,
    )  # fmt: skip
    with asked.store.write() as connection:
        asked.record(connection, "model.admit", found.judge.name, verdict=found.verdict,
                     demands=vars(demands))  # fmt: skip
    return Done(asked.at("models", number), {"verdict": found.verdict, "pairs": found.pairs})


def withdraw(asked: Asked) -> Done:
    """Let the ratings of a model not count any more."""
    _refuse_unknown(asked)
    withdraw_model(asked.store, asked.project.id, asked.path["rater"], asked.user.id)
    with asked.store.write() as connection:
        asked.record(connection, "model.withdraw", str(asked.path["rater"]))
    return Done(asked.at("models", asked.path["rater"]))


def _refuse_unknown(asked: Asked) -> None:
    with asked.store.read() as connection:
        here = {each["rater"] for each in models_of(connection, asked.project.id)}
    if asked.path["rater"] not in here:
        raise not_found("model")


def _job(connection: Connection, asked: Asked) -> Job:
    found = {each.id: each for each in jobs.listed(connection, asked.project.id)}
    if asked.path["job"] not in found:
        raise not_found("job")
    return found[asked.path["job"]]


def job(asked: Asked) -> Page:
    """How far a job is."""
    with asked.store.read() as connection:
        data = {"project": asked.project.name, "job": _shown(connection, _job(connection, asked))}
    return Page("model_job.html", data)


def cancel(asked: Asked) -> Done:
    """End a job; what it answered stays."""
    with asked.store.write() as connection:
        found = jobs.cancel(connection, _job(connection, asked).id)
        asked.record(connection, "model.cancel", str(found.id))
    return Done(asked.at("models", "jobs", found.id), {"job": found.id, "state": found.state})


def resume(asked: Asked) -> Done:
    """Go on with a job that ended early, with limits given now; what it spent counts."""
    with asked.store.write() as connection:
        found = _job(connection, asked)
        if found.endpoint not in asked.config.models:
            problem = "This job is of the command line, or of an endpoint that is gone."
            raise Refused(409, "unknown-endpoint", problem)
        limits = {name: asked.values[name] for name in ("calls", "tokens", "ceiling")}
        jobs.renew(connection, found.id, {**found.settings, **limits})
        found = jobs.resume(connection, found.id)
        asked.record(connection, "model.resume", str(found.id), **limits)
    return Done(asked.at("models", "jobs", found.id), {"job": found.id, "state": found.state})
