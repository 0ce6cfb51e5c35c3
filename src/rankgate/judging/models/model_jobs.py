"""Models as raters in a store: identity, jobs, and the list of models.

After a change of model, prompt or setting the identity is another one, and so is the rater. A job
of a model has tasks, settings, and rules for the grades that people review. The list shows the
models of a project with identity, ratings, cost, admission and jobs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.judge import Judge, Prices
from rankgate.judging.llm.protocols import WIRES, Template
from rankgate.judging.llm.rate import template_of
from rankgate.judging.pooling.pool import pool
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.store.store_people import StoreListing
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.models import model_admissions, model_answers_by_request, model_jobs_table
from rankgate.store.people import users
from rankgate.store.rating import batches, tasks

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.store.blobs.blob_folders import Blobs
    from rankgate.store.database import Connection
    from rankgate.store.models.model_job import Job
    from rankgate.store.people.users import Rater
    from rankgate.store.stored_project import StoredProject


_HASH_LETTERS = 8


@dataclass(frozen=True)
class Identity:
    """The model, prompt and settings that determine a model's grades.

    Attributes:
        values: model, protocol, endpoint, prompt, scale and settings of requests, as JSON; never a
            key.
    """

    values: Mapping[str, Any]

    @classmethod
    def from_judge(cls, judge: Judge, template: Template, scale: Mapping[float, str]) -> Identity:
        """The identity of a judge with a template and a scale."""
        return cls(
            {
                "model": judge.model,
                "protocol": judge.protocol,
                "url": (judge.url or WIRES[judge.protocol].url).rstrip("/"),
                "structure": judge.structure,
                "parameters": judge.sent_parameters,
                "longest": judge.longest,
                "confidence": judge.confidence,
                "scale": [[grade, label] for grade, label in scale.items()],
                "template": {
                    "name": template.name,
                    "sha256": template.sha256,
                    "system": template.system,
                    "user": template.user,
                },
            }
        )

    @property
    def sha256(self) -> str:
        """The hash of all values but the template's name."""
        prompt = {k: v for k, v in self.values["template"].items() if k != "name"}
        json_text = json.dumps({**self.values, "template": prompt}, sort_keys=True)
        return hashlib.sha256(json_text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name of the rater: the model and the beginning of the hash."""
        return f"{self.values['model']} {self.sha256[:_HASH_LETTERS]}"

    @property
    def template(self) -> Template:
        """The prompt template."""
        template_fields = self.values["template"]
        return Template(template_fields["name"], template_fields["system"], template_fields["user"])

    @property
    def scale(self) -> dict[float, str]:
        """The grades with their labels."""
        return {float(grade): str(label) for grade, label in self.values["scale"]}

    def judge(self, **how: Any) -> Judge:
        """The judge with this identity; ``how`` has limits, speed, and the location of the key."""
        names = ("model", "protocol", "url", "structure", "parameters", "longest", "confidence")
        return Judge(**{name: self.values[name] for name in names}, **how)


def scale_of_project(connection: Connection, project: int) -> dict[float, str]:
    """The grades of a project with their labels.

    Raises:
        UsageError: the project has no scale.
    """
    grades = projects.grades(connection, project)
    if not grades:
        raise UsageError(
            "the project has no scale; give it one before a model rates.", code="scale-without-grades"
        )
    return {grade_row.grade: grade_row.label or f"{grade_row.grade:g}" for grade_row in grades}


def identity_for(connection: Connection, project: int, judge: Judge) -> Identity:
    """The identity of a judge in a project.

    Raises:
        UsageError: the project has no scale; no template fits the scale.
        InputError: the template cannot be read.
    """
    scale = scale_of_project(connection, project)
    return Identity.from_judge(judge, template_of(judge.template, tuple(scale)), scale)


def ensure_rater(connection: Connection, identity: Identity) -> Rater:
    """The number of the rater for a model with this identity; a missing rater is added."""
    rater_of_name = {
        rater.name: rater for rater in users.list_raters(connection) if rater.kind == users.MODEL
    }
    rater = rater_of_name.get(identity.name)
    if rater is not None and Identity(rater.identity).sha256 == identity.sha256:
        return rater
    return users.ensure(connection, identity.name, users.MODEL, identity.values)


_SETTING_NAMES = ("concurrency", "retries", "timeout", "backoff", "ceiling", "calls", "tokens", "again")


@dataclass(frozen=True)
class Review:
    """Rules that choose the grades of a model for review by people.

    Attributes:
        distance: the smallest distance from people's grades that is a disagreement; None disables
            the rule.
        confidence: the confidence below which a grade needs review, if people do not rate the pair;
            None disables the rule.
    """

    distance: float | None = None
    confidence: float | None = 0.5

    @classmethod
    def usual(cls, scale: Mapping[float, str]) -> Review:
        """The default: a distance of two grades, one on a scale of two; a confidence below .5."""
        grades = sorted(scale)
        return cls(grades[min(2, len(grades) - 1)] - grades[0])


def settings_of(judge: Judge, review: Review) -> dict[str, Json]:
    """The settings of a model's requests, without the key."""
    settings: dict[str, Json] = {name: getattr(judge, name) for name in _SETTING_NAMES}
    prices = judge.prices
    settings["prices"] = None if prices is None else [prices.input, prices.output]
    return {**settings, "review": vars(review)}


def judge_of(rater: Rater, job: Job, key_from: str | None) -> Judge:
    """The judge of a job."""
    settings = dict(job.settings)
    prices = settings.get("prices")
    judge_settings = {name: settings[name] for name in _SETTING_NAMES if name in settings}
    return Identity(rater.identity).judge(
        **judge_settings, prices=None if prices is None else Prices(*prices), key_from=key_from
    )


def add_job(
    connection: Connection,
    project: int,
    judge: Judge,
    numbers: list[int],
    *,
    name: str,
    review: Review | None = None,
    endpoint: str | None = None,
    created_by: int | None = None,
) -> Job:
    """Add a job with the state ``waiting``.

    Args:
        connection: a connection to a store, for writing.
        project: the project of the tasks.
        judge: the model.
        numbers: the numbers of tasks.
        name: the name of the job that people see.
        review: the answers that people review.
        endpoint: the server's name of the endpoint; None on the command line.
        created_by: the user who creates the job.

    Raises:
        UsageError: there is nothing to rate; a job of this model is active; the scale or the
            template is missing.
    """
    if not numbers:
        raise UsageError("it has no documents to rate.", code="nothing-to-rate")
    identity = identity_for(connection, project, judge)
    rater = ensure_rater(connection, identity)
    settings = settings_of(judge, review or Review.usual(identity.scale))
    return model_jobs_table.add(
        connection,
        project,
        rater.id,
        numbers,
        name=name,
        endpoint=endpoint,
        settings=settings,
        created_by=created_by,
    )


def tasks_of_batch(connection: Connection, project: int, batch: str) -> list[int]:
    """The tasks of a batch that a model may rate.

    Raises:
        UsageError: the batch does not exist, asks for preferences, or is a training.
    """
    batch_row = batches.get_by_name(connection, project, batch)
    if batch_row.kind != "rating":
        problem = f"the batch {batch} is of kind {batch_row.kind}; a model rates single documents."
        raise UsageError(problem, code="unsupported-batch")
    return tasks.tasks_of_batch(connection, batch_row.id)


def tasks_to_depth(
    connection: Connection,
    blobs: Blobs,
    project: int,
    names: list[str],
    depth: int,
    *,
    batch: str,
    rater: int | None = None,
) -> list[int]:
    """The tasks for the first documents of runs; pairs without a batch get a batch for models.

    Args:
        connection: a connection to a store, for writing.
        blobs: the blobs of the store.
        project: the project of the runs.
        names: the names of runs.
        depth: the number of documents of each list; archived queries are left out.
        batch: the name of the new batch, which is hidden from people.
        rater: the number of a model; the pairs that the model has rated are left out.

    Raises:
        UsageError: the run does not exist; the name of the batch is taken.
    """
    top_pool = pool(
        [stored_runs.read_stored_run(connection, blobs, project, name) for name in names],
        PoolDesign(depth=depth),
    )
    archived = queries_documents.archived_ids(connection, project)
    pairs = top_pool.table.select("query_id", "doc_id").filter(pl.col("query_id").is_in(archived).not_())
    task_of_pair = tasks.tasks_by_pair(connection, project)
    pair_list = list(pairs.iter_rows())
    new = pairs.filter([pair not in task_of_pair for pair in pair_list])
    if len(new):
        new_batch = batches.add_batch(connection, project, batch, most=0)
        batches.change_batch(connection, new_batch.id, state="closed")
        batches.add_pairs(connection, new_batch, new)
        task_of_pair = tasks.tasks_by_pair(connection, project)
    answered_tasks = set() if rater is None else tasks.tasks_answered_by(connection, project, rater)
    return sorted({task_of_pair[pair] for pair in pair_list} - answered_tasks)


def models_by_number(connection: Connection) -> dict[int, Rater]:
    """All models with an identity, by number."""
    all_raters = users.list_raters(connection)
    return {rater.id: rater for rater in all_raters if rater.kind == users.MODEL and rater.identity}


def models_of(connection: Connection, project: int) -> list[dict[str, Any]]:
    """The models that have rated or have a job in a project, with their ratings and admission."""
    model_raters = models_by_number(connection)
    totals = model_answers_by_request.totals(connection, project)
    last = model_admissions.admissions_by_rater(connection, project)
    with_jobs = {job.rater for job in model_jobs_table.list_jobs(connection, project)}
    rows = []
    for number in sorted(totals.keys() | with_jobs):
        rater, rater_totals = (model_raters[number], totals.get(number, model_answers_by_request.Totals()))
        admission = last.get(number)
        rows.append(
            {
                "rater": number,
                "name": rater.name,
                "model": rater.identity["model"],
                "prompt": rater.identity["template"]["name"],
                "prompt_sha256": rater.identity["template"]["sha256"],
                **vars(rater_totals),
                "admission": None if admission is None else admission.verdict,
                "admitted_at": None if admission is None else admission.at,
                "admitted": admission is not None and admission.verdict == "pass",
            }
        )
    return rows


def job_view(connection: Connection, job: Job) -> dict[str, Any]:
    """The view of a job with its progress."""
    progress = model_jobs_table.progress(connection, job)
    names = (
        "id",
        "rater",
        "name",
        "state",
        "endpoint",
        "total",
        "problem",
        "created_at",
        "started_at",
        "ended_at",
    )
    abandoned = job.state in {"running", "cancelling"} and model_jobs_table.is_free(job)
    limits = {name: job.settings.get(name) for name in ("calls", "tokens", "ceiling")}
    return {
        **{name: getattr(job, name) for name in names},
        **vars(progress),
        "limits": limits,
        "review": dict(job.settings.get("review") or {}),
        "under_way": job.state in model_jobs_table.UNDER_WAY,
        "abandoned": abandoned,
    }


def list_models(project: StoredProject) -> StoreListing:
    """The models of a project as a result."""
    names = ("name", "model", "prompt", "graded", "without_grade", "requests", "cost", "admission")
    with project.store.read() as connection:
        model_rows = models_of(connection, project.number)
    rows = tuple({name: row[name] for name in names} for row in model_rows)
    return StoreListing(f"{project.store.name} project {project.name}", "models", rows)
