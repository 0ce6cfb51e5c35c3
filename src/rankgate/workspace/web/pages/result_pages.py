"""Pages for the results of ratings: disagreements, judgments and evaluations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl

from rankgate.core.declare import declared_parameter
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.pages.page import page_content
from rankgate.data.qrels import SCALES
from rankgate.judging.resolution.rated_evaluation import TOOL_RULES, from_ratings
from rankgate.judging.resolution.resolve import resolve, rules
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring.presets import convention
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.models.model_admissions import admitted_raters, read_counting_ratings
from rankgate.store.people import users
from rankgate.store.rating import ratings, tasks
from rankgate.store.rows import unknown_error
from rankgate.workspace.web.background_results import MANY_RATINGS, read_background_result
from rankgate.workspace.web.pages.coverage_pages import page_of_runs
from rankgate.workspace.web.pages.document_card import image_sources
from rankgate.workspace.web.pages.file_pages import list_formats, parse_grade_mapping
from rankgate.workspace.web.pages.task_view import guideline_html, scale_view, task_view
from rankgate.workspace.web.pages.work_pages import list_discussion
from rankgate.workspace.web.rendering import OpenObject
from rankgate.workspace.web.replies import ActionReply, PageReply, Reply, not_found
from rankgate.workspace.web.shared_fields import AFTER_FIELD, ID, TRANSFORM_FIELD
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    declared_field,
    declared_fields,
    page,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from rankgate.core.present.base_result import Result
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.judging.resolution.resolution import ResolvedJudgments
    from rankgate.measurement.scoring import Convention
    from rankgate.store.blobs.stored_runs import StoredRun
    from rankgate.store.store import Store
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_MAX_DISPUTES = 50
"""The number of disagreements on a page."""

DEFAULT_METRICS = "nDCG@10 P@10 Judged@10"
DEFAULT_TOOL_METRICS = "P@10 AP@10 RR@10 CG@10 DCG@10 nDCG@10"

_PREVIEW_FIELDS = ("name", "rule", "transform", "slots", "metrics", "convention", "models")
"""The settings that the preview of judgments sends again when the judgments are created."""


_METRICS = Field("metrics", "Metrics", default=DEFAULT_METRICS, most=300)

_DECLARED_RULE = declared_parameter(resolve, "rule")

_RULE = declared_field(
    _DECLARED_RULE,
    kind="choice",
    choices=tuple(
        (rule.name, f"{rule.name}: {rule.title}") for rule in rules() if rule.name != "adjudicated"
    ),
    help=f"{_DECLARED_RULE.sentence} Final words on disagreements count before any rule.",
)


@page("disputes", "/projects/{project}/disputes", VIEWING_ROLES, "Disagreements", AFTER_FIELD)
def disputes_page(request: WebRequest) -> PageReply:
    """The page of pairs on which raters disagree, with the grades and comments of each rater."""
    with request.store.write() as connection:
        rater = users.rater_of_user(connection, request.user.id).id
    with request.store.read() as connection:
        disputed_pairs = tasks.disputes(
            connection, request.project.id, after=request.values["after"] or 0, most=_MAX_DISPUTES
        )
        rows = []
        for dispute in disputed_pairs:
            task = tasks.get_task(connection, dispute.task)
            view = task_view(connection, request, task, rater)
            rows.append(
                {
                    "task": dispute.task,
                    "query_id": dispute.query_id,
                    "doc_id": dispute.doc_id,
                    "answers": dispute.answers,
                    "shown": view,
                    "comments": list_discussion(connection, request, dispute.task),
                }
            )
        guideline_version = projects.guideline(connection, request.project.id)
        data = {
            "project": request.project.name,
            "guideline": None if guideline_version is None else guideline_version.version,
            "disputes": rows,
            "scale": scale_view(connection, request.project.id),
            "after": rows[-1]["task"] if len(rows) == _MAX_DISPUTES else None,
            "total": tasks.progress(connection, request.project.id).disputed,
        }
    images = image_sources(request.project.settings)
    guideline = "" if guideline_version is None else guideline_html(request, guideline_version.text)
    return PageReply("disputes.html", data, {"guideline_html": guideline}, images=images)


@action(
    "final",
    "/projects/{project}/disputes/{task:int}",
    MANAGING_ROLES,
    "Final word",
    ID,
    Field("grade", "Grade", "number", required=True),
    Field("comment", "Comment", "long", most=5_000),
)
def record_final_word(request: WebRequest) -> ActionReply:
    """Record the final decision on a disagreement, which replaces all grades."""
    fields = request.values
    number = request.path["task"]
    with request.store.write() as connection:
        if tasks.get_task(connection, number).project != request.project.id:
            raise not_found("task")
        rater = users.rater_of_user(connection, request.user.id).id
        final_rating = ratings.rate(
            connection,
            number,
            rater,
            rating_id=fields["rating_id"] or str(uuid4()),
            grade=fields["grade"],
            comment=fields["comment"],
            final=True,
        )
        if final_rating.new:
            request.record(connection, "dispute.final", str(number), grade=fields["grade"])
    return ActionReply(request.project_path("disputes"), {"task": number, "state": final_rating.state})


@page("judgments", "/projects/{project}/judgments", VIEWING_ROLES, "Judgments")
def judgments_page(request: WebRequest) -> PageReply:
    """The page of judgments, with a form to create judgments."""
    with request.store.read() as connection:
        stored_judgments = stored_runs.list_judgments(connection, request.project.id)
        run_names = [run.name for run in stored_runs.list_runs(connection, request.project.id)]
        has_grades = ratings.has_grades(connection, request.project.id)
    rows = [
        {
            "name": judgments_row.name,
            "rows": judgments_row.rows,
            "sha256": judgments_row.sha256,
            "made_by": OpenObject(judgments_row.made_by),
            "created_at": judgments_row.created_at,
        }
        for judgments_row in stored_judgments
    ]
    data = {"project": request.project.name, "judgments": rows, "runs": run_names}
    extra = {"formats": list_formats("qrels"), "has_grades": has_grades}
    return PageReply("judgments.html", data, extra)


@action(
    "resolve",
    "/projects/{project}/judgments",
    MANAGING_ROLES,
    "Make judgments",
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
    does_step=True,
)
def resolve_ratings(request: WebRequest) -> Reply:
    """Create judgments by a rule; the first request only shows the changes."""
    fields = request.values
    resolution = _resolve(request)
    if fields["preview"]:
        return _preview_page(request, resolution)
    with request.store.write() as connection:
        stored_judgments = stored_runs.add_judgments(
            connection,
            request.store.blobs,
            request.project.id,
            resolution.judgments("ratings"),
            name=fields["name"],
            created_by=request.user.id,
        )
        request.record(
            connection,
            "judgments.add",
            stored_judgments.name,
            rule=fields["rule"],
            rows=stored_judgments.rows,
        )
    data = {"name": stored_judgments.name, "rows": stored_judgments.rows, "sha256": stored_judgments.sha256}
    return ActionReply(request.project_path("judgments"), data)


def _resolve(request: WebRequest) -> ResolvedJudgments:
    """Resolve the ratings by the rule; final decisions take precedence."""
    fields = request.values
    rule = fields["rule"]
    options: dict[str, Any] = {
        "transform": parse_grade_mapping(fields["transform"]),
        "slots": fields["slots"],
    }
    with request.store.read() as connection:
        counted_ratings = read_counting_ratings(
            connection, request.project.id, name=request.project.name, models=fields["models"] or "fill"
        )
    if ratings.FINAL in counted_ratings.table["rater"]:
        rule_options = {"adjudicator": ratings.FINAL, "otherwise": rule}
        return resolve(counted_ratings, "adjudicated", rule_options, **options)
    return resolve(counted_ratings, rule, **options)


def _preview_page(request: WebRequest, resolution: ResolvedJudgments) -> PageReply:
    """The preview of changes: pairs against the last judgments, and the means of every run."""
    new = resolution.judgments("ratings")
    with request.store.read() as connection:
        before = stored_runs.list_judgments(connection, request.project.id)
        old = None
        if before:
            old = stored_runs.read_judgments(
                connection, request.store.blobs, request.project.id, before[-1].name
            )
        numbers = _mean_rows(connection, request, new, old)
    data = {
        "project": request.project.name,
        "rule": request.values["rule"],
        "given": {name: request.values[name] for name in _PREVIEW_FIELDS if request.values[name] is not None},
        "name": request.values["name"],
        "against": before[-1].name if before else None,
        "pairs": _count_changes(new, old),
        "numbers": numbers,
        "resolution": resolution.to_dict(),
    }
    return PageReply("preview.html", data, {"document": page_content(resolution.document())})


def _count_changes(new: Qrels, old: Qrels | None) -> dict[str, int]:
    if old is None:
        return {"new": len(new.table), "gone": 0, "changed": 0, "same": 0}
    pair = ["query_id", "doc_id"]
    joined = new.table.select(*pair, "grade").join(
        old.table.select(*pair, pl.col("grade").alias("before")), on=pair, how="full", coalesce=True
    )
    grade, before = joined["grade"], joined["before"]
    is_in_both = grade.is_not_null() & before.is_not_null()
    return {
        "new": int((before.is_null()).sum()),
        "gone": int((grade.is_null()).sum()),
        "changed": int((is_in_both & (grade != before)).sum()),
        "same": int((is_in_both & (grade == before)).sum()),
    }


def find_convention(name: str | None) -> Convention:
    """The convention with a name, by default trec; files of the server are never read.

    Raises:
        UsageError: no convention has this name.
    """
    name = name or "trec"
    if name.endswith(".toml"):
        problem = f"{name}: the server reads no files; name a convention."
        raise UsageError(problem, code="unknown-convention")
    return convention(name)


def _mean_rows(connection: Connection, request: WebRequest, new: Qrels, old: Qrels | None) -> list[PageRow]:
    """The means of every run with the new and the last judgments."""
    project, blobs = request.project.id, request.store.blobs
    metrics = (request.values["metrics"] or DEFAULT_METRICS).split()
    metric_convention = find_convention(request.values["convention"])
    rows: list[PageRow] = []
    for stored_run in stored_runs.list_runs(connection, project):
        run = stored_runs.rankings(stored_run, blobs)
        new_means, old_means = (
            _compute_means(new, run, metrics, metric_convention),
            _compute_means(old, run, metrics, metric_convention),
        )
        for metric in metrics:
            old_mean, mean = old_means.get(metric), new_means.get(metric)
            delta = None if old_mean is None or mean is None else mean - old_mean
            rows.append(
                {
                    "run": stored_run.name,
                    "metric": metric,
                    "before": old_mean,
                    "after": mean,
                    "delta": delta,
                    "n_before": old_means.get(_QUERY_COUNT),
                    "n": new_means.get(_QUERY_COUNT),
                    "queries": stored_run.queries,
                }
            )
    return rows


def _compute_means(
    qrels: Qrels | None, run: Run, metrics: list[str], how: Convention
) -> dict[str, float | None]:
    """The means of a run by metric, and the number of queries; empty without judged queries."""
    if qrels is None or _runs_without_judgments(qrels.table, [run]):
        return {}
    result = evaluate(qrels, run, metrics, how)
    return {**result.means.row(0, named=True), _QUERY_COUNT: result.runs[0].counts.queries}


_QUERY_COUNT = "queries"
"""The key of the number of queries among the means of a run."""


def _runs_without_judgments(judged: pl.DataFrame, runs: Iterable[Run]) -> list[str]:
    """The names of the runs without judged queries."""
    ids = judged.select("query_id").unique()
    return [run.name for run in runs if run.table.join(ids, on="query_id", how="semi").is_empty()]


def _runs_of_page(request: WebRequest) -> tuple[Sequence[StoredRun], int | None, tuple[Hashable, ...]]:
    """The runs of a page, the start of the next page, and the names and blobs of the runs.

    Raises:
        InputError: there are no runs.
    """
    with request.store.read() as connection:
        all_runs = stored_runs.list_runs(connection, request.project.id)
    if not all_runs:
        raise InputError("there is no run in the project; add one.", code="missing-input")
    project_runs, next_start = page_of_runs(request, all_runs)
    return project_runs, next_start, tuple((run.name, run.blob) for run in project_runs)


def _score_runs(
    store: Store,
    project_runs: Sequence[StoredRun],
    judged: pl.DataFrame,
    score: Callable[[list[Run]], Result],
) -> tuple[PageRow, str]:
    """The values of runs that have judged queries and the names of other runs, and the document."""
    ids = judged.select("query_id").unique()
    unscored_names = [
        run.name
        for run in project_runs
        if stored_runs.read_columns(run, store.blobs, ["query_id"])
        .join(ids, on="query_id", how="semi")
        .is_empty()
    ]
    comparable = [
        stored_runs.rankings(run, store.blobs) for run in project_runs if run.name not in unscored_names
    ]
    result = score(comparable) if comparable else None
    data: PageRow = {"evaluation": None if result is None else result.to_dict(), "not_scored": unscored_names}
    return data, "" if result is None else page_content(result.document())


def _make_reply(
    request: WebRequest, data: PageRow, html: str, *, computing: int = 0, made_at: datetime | None = None
) -> PageReply:
    """The page of an evaluation.

    Args:
        request: the request of the page.
        data: the values of the runs.
        html: the document.
        computing: the number of ratings whose values another process computes; otherwise 0.
        made_at: the time of the values, if they may be older than the ratings.
    """
    fields = {name: value for name, value in request.values.items() if value and name != "after"}
    extra = {"document": html, "fields": fields}
    return PageReply("evaluation.html", data | {"computing": computing, "at": made_at}, extra)


@page(
    "rated",
    "/projects/{project}/ratings/evaluation",
    VIEWING_ROLES,
    "Runs by single ratings",
    Field("convention", "Tool", "choice", choices=tuple((tool, tool) for tool in sorted(TOOL_RULES))),
    Field("metrics", "Metrics", default=DEFAULT_TOOL_METRICS, most=300),
    Field("scale", "Scale of the ratings", "choice", choices=tuple((scale, scale) for scale in SCALES)),
    AFTER_FIELD,
)
def ratings_evaluation_page(request: WebRequest) -> PageReply:
    """The page with the means of every run from single ratings, by the full method of a tool."""
    fields, project = request.values, request.project
    metrics = (fields["metrics"] or DEFAULT_TOOL_METRICS).split()
    convention_name = fields["convention"] or "searchtweak"
    with request.store.read() as connection:
        state = ratings.ratings_state(connection, project.id)
        scale = projects.scale(connection, project.id)
        data_key = (state, tuple(sorted(admitted_raters(connection, project.id))), scale)
    project_runs, next_start, run_key = _runs_of_page(request)
    settings = (tuple(metrics), convention_name, fields["scale"])
    compute = partial(
        evaluate_ratings, project=project.id, name=project.name, runs=project_runs, settings=settings
    )
    if state[0] < MANY_RATINGS:
        key = ("evaluation", project.id, data_key, settings, run_key)
        result = request.cache.get(key, lambda: compute(request.store))
        return _make_reply(request, result["data"] | {"after": next_start}, result["document"])
    page_name = f"evaluation {settings} {fields['after'] or 0}"
    page_result = read_background_result(request.store, project.id, page_name, (data_key, run_key), compute)
    if page_result.value is None:
        data: PageRow = {"evaluation": None, "not_scored": [], "after": next_start}
        return _make_reply(request, data, "", computing=state[0])
    return _make_reply(
        request,
        page_result.value["data"] | {"after": next_start},
        page_result.value["document"],
        made_at=page_result.made_at,
    )


def evaluate_ratings(
    store: Store,
    project: int,
    name: str,
    runs: Sequence[StoredRun],
    settings: tuple[tuple[str, ...], str, str | None],
) -> dict[str, Any]:
    """The data of the page of runs by single ratings, and its document.

    Args:
        store: the store.
        project: the number of the project.
        name: the name of the project.
        runs: the runs of the page.
        settings: the metrics, the convention, and the scale of the raters.

    Raises:
        InputError: there are no ratings that count.
        UsageError: as in `from_ratings`.
    """
    metrics, convention_name, scale = settings
    columns = ("grade", "reason", "at", "guideline")
    with store.read() as connection:
        counted_ratings = read_counting_ratings(connection, project, name=name, columns=columns)
    opinions = replace(counted_ratings, table=counted_ratings.table.filter(pl.col("rater") != ratings.FINAL))

    def score(run_list: list[Run]) -> Result:
        return from_ratings(opinions, run_list, metrics, convention_name, scale=scale)

    data, html = _score_runs(store, runs, opinions.table, score)
    return {"data": data, "document": html}


@page(
    "evaluation",
    "/projects/{project}/judgments/{judgments}/evaluation",
    VIEWING_ROLES,
    "Runs by these judgments",
    _METRICS,
    Field("convention", "Convention", most=50),
    AFTER_FIELD,
)
def evaluation_page(request: WebRequest) -> PageReply:
    """The page with the means of every run by stored judgments."""
    fields, name = request.values, request.path["judgments"]
    with request.store.read() as connection:
        stored_judgments = stored_runs.find_judgments(connection, request.project.id, name)
    if stored_judgments is None:
        raise unknown_error("judgments", name)
    metrics = (fields["metrics"] or DEFAULT_METRICS).split()
    metric_convention = find_convention(fields["convention"])

    def judge() -> tuple[pl.DataFrame, Callable[[list[Run]], Result]]:
        with request.store.read() as connection:
            qrels = stored_runs.read_judgments(connection, request.store.blobs, request.project.id, name)
        return qrels.table, lambda run_list: evaluate(qrels, run_list, metrics, metric_convention)

    key = (name, stored_judgments.sha256, stored_judgments.created_at, tuple(metrics), metric_convention.hash)
    project_runs, next_start, run_key = _runs_of_page(request)
    data, html = request.cache.get(
        ("evaluation", request.project.id, *key, run_key),
        lambda: _score_runs(request.store, project_runs, *judge()),
    )
    return _make_reply(request, data | {"after": next_start}, html)
