"""Disagreements and judgments: what comes of ratings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.pages.page import content
from rankgate.judging.resolution.from_ratings import from_ratings
from rankgate.judging.resolution.resolve import resolve
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.store.kept import judgments, runs
from rankgate.store.material import projects
from rankgate.store.models.counted import counted
from rankgate.store.people import raters
from rankgate.store.rating import ratings, tasks
from rankgate.workspace.web.guidelines import guideline_html
from rankgate.workspace.web.pages.files import formats, mapping
from rankgate.workspace.web.pages.task_view import image_origins, scale_view, task_view
from rankgate.workspace.web.render import OpenObject
from rankgate.workspace.web.replies import Done, Page, Reply, not_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection

    from rankgate.core.present.result import Result
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.judging.resolution.resolution import ResolvedJudgments
    from rankgate.workspace.web.asked import Asked

_MOST = 50
"""Disagreements on a page."""

METRICS = "nDCG@10 P@10 Judged@10"
TOOL_METRICS = "P@10 AP@10 RR@10 CG@10 DCG@10 nDCG@10"

_KEPT = ("name", "rule", "transform", "slots", "metrics", "convention", "models")
"""What the preview of judgments sends on when they are made."""


def disputes(asked: Asked) -> Page:
    """Pairs on which raters disagree, with grades and comments of each."""
    with asked.store.write() as connection:
        rater = raters.of_user(connection, asked.user.id).id
    with asked.store.read() as connection:
        found = tasks.disputes(
            connection, asked.project.id, after=asked.values["after"] or 0, most=_MOST
        )
        rows = []
        for each in found:
            task = tasks.get(connection, each.task)
            view = task_view(connection, asked.store, asked.project, task, rater)
            rows.append({"task": each.task, "query_id": each.query_id, "doc_id": each.doc_id,
                         "answers": [dict(answer) for answer in each.answers],
                         "shown": view})  # fmt: skip
        current = projects.guideline(connection, asked.project.id)
        data = {
            "project": asked.project.name,
            "guideline": None if current is None else current.version,
            "disputes": rows,
            "scale": scale_view(connection, asked.project.id),
            "after": rows[-1]["task"] if len(rows) == _MOST else None,
            "total": tasks.progress(connection, asked.project.id).disputed,
        }
    images = image_origins(asked.project.settings)
    guideline = "" if current is None else guideline_html(current.text)
    return Page("disputes.html", data, {"guideline_html": guideline}, images=images)


def final(asked: Asked) -> Done:
    """The final word on a disagreement, which counts in place of all grades."""
    given = asked.values
    number = asked.path["task"]
    with asked.store.write() as connection:
        if tasks.get(connection, number).project != asked.project.id:
            raise not_found("task")
        rater = raters.of_user(connection, asked.user.id).id
        recorded = ratings.rate(
            connection, number, rater, rating_id=given["rating_id"] or str(uuid4()),
            grade=given["grade"], comment=given["comment"], final=True,
        )  # fmt: skip
        if recorded.new:
            asked.record(connection, "dispute.final", str(number), grade=given["grade"])
    return Done(asked.at("disputes"), {"task": number, "state": recorded.state})


def resolved(asked: Asked) -> Page:
    """The judgments that there are, and a form to make some."""
    with asked.store.read() as connection:
        found = judgments.listed(connection, asked.project.id)
        stored_runs = [each.name for each in runs.listed(connection, asked.project.id)]
        has_grades = ratings.has_grades(connection, asked.project.id)
    rows = [
        {"name": e.name, "rows": e.rows, "sha256": e.sha256, "made_by": OpenObject(e.made_by),
         "created_at": e.created_at}
        for e in found
    ]  # fmt: skip
    data = {"project": asked.project.name, "judgments": rows, "runs": stored_runs}
    extra = {"formats": formats("qrels"), "has_grades": has_grades}
    return Page("judgments.html", data, extra)


def resolve_ratings(asked: Asked) -> Reply:
    """Make judgments by a rule; at first only show what would change."""
    given = asked.values
    found = _resolved(asked)
    if given["preview"]:
        return _preview(asked, found)
    with asked.store.write() as connection:
        made = judgments.add(
            connection, asked.store.blobs, asked.project.id, found.judgments("ratings"),
            name=given["name"], created_by=asked.user.id,
        )  # fmt: skip
        asked.record(connection, "judgments.add", made.name, rule=given["rule"], rows=made.rows)
    data = {"name": made.name, "rows": made.rows, "sha256": made.sha256}
    return Done(asked.at("judgments"), data)


def _resolved(asked: Asked) -> ResolvedJudgments:
    """The ratings by the rule; final words count before it."""
    given = asked.values
    rule = given["rule"] or "majority"
    how: dict[str, Any] = {"transform": mapping(given["transform"]), "slots": given["slots"]}
    with asked.store.read() as connection:
        said = counted(
            connection, asked.project.id, name=asked.project.name, models=given["models"] or "fill"
        )
    if ratings.FINAL in said.table["rater"]:
        words = {"adjudicator": ratings.FINAL, "otherwise": rule}
        return resolve(said, "adjudicated", words, **how)
    return resolve(said, rule, **how)


def _preview(asked: Asked, found: ResolvedJudgments) -> Page:
    """What would change: pairs against the last judgments, and the numbers of every run."""
    new = found.judgments("ratings")
    with asked.store.read() as connection:
        before = judgments.listed(connection, asked.project.id)
        old = None
        if before:
            old = judgments.read(connection, asked.store.blobs, asked.project.id, before[-1].name)
        numbers = _numbers(connection, asked, new, old)
    data = {
        "project": asked.project.name,
        "rule": asked.values["rule"] or "majority",
        "given": {name: asked.values[name] for name in _KEPT if asked.values[name] is not None},
        "name": asked.values["name"],
        "against": before[-1].name if before else None,
        "pairs": _changes(new, old),
        "numbers": numbers,
        "resolution": found.to_dict(),
    }
    return Page("preview.html", data, {"document": content(found.document())})


def _changes(new: Qrels, old: Qrels | None) -> dict[str, int]:
    if old is None:
        return {"new": len(new.table), "gone": 0, "changed": 0, "same": 0}
    pair = ["query_id", "doc_id"]
    both = new.table.select(*pair, "grade").join(
        old.table.select(*pair, pl.col("grade").alias("before")), on=pair, how="full", coalesce=True
    )
    grade, before = both["grade"], both["before"]
    known = grade.is_not_null() & before.is_not_null()
    return {
        "new": int((before.is_null()).sum()),
        "gone": int((grade.is_null()).sum()),
        "changed": int((known & (grade != before)).sum()),
        "same": int((known & (grade == before)).sum()),
    }


def _numbers(
    connection: Connection, asked: Asked, new: Qrels, old: Qrels | None
) -> list[dict[str, Any]]:
    """The means of every run by the new judgments, and by the last ones."""
    project, blobs = asked.project.id, asked.store.blobs
    metrics = (asked.values["metrics"] or METRICS).split()
    how = asked.values["convention"] or "trec"
    rows = []
    for stored in runs.listed(connection, project):
        run = runs.rankings(stored, blobs)
        after, earlier = _means(new, run, metrics, how), _means(old, run, metrics, how)
        for metric in metrics:
            old_mean, mean = earlier.get(metric), after.get(metric)
            delta = None if old_mean is None or mean is None else mean - old_mean
            rows.append({"run": stored.name, "metric": metric, "before": old_mean,
                         "after": mean, "delta": delta, "n_before": earlier.get(_N),
                         "n": after.get(_N), "queries": stored.queries})  # fmt: skip
    return rows


def _means(qrels: Qrels | None, run: Run, metrics: list[str], how: str) -> dict[str, Any]:
    """The means of a run by metric, and their queries; empty where it has no judged query."""
    if qrels is None or _without_judgments(qrels.table, [run]):
        return {}
    result = evaluate(qrels, run, metrics, how)
    return {**result.means.row(0, named=True), _N: result.runs[0].counts.queries}


_N = "queries"
"""Beside the means of a run: of how many queries they are."""


def _without_judgments(judged: pl.DataFrame, runs: Iterable[Run]) -> list[str]:
    """The names of the runs that have none of the judged queries."""
    ids = judged.select("query_id").unique()
    return [run.name for run in runs if run.table.join(ids, on="query_id", how="semi").is_empty()]


def _scored(asked: Asked, judged: pl.DataFrame, score: Callable[[list[Run]], Result]) -> Page:
    """The scores of the runs that have judged queries, and the names of the others."""
    with asked.store.read() as connection:
        stored = [runs.rankings(each, asked.store.blobs)
                  for each in runs.listed(connection, asked.project.id)]  # fmt: skip
    if not stored:
        raise InputError("there is no run in the project; add one.", code="missing-input")
    unscored = _without_judgments(judged, stored)
    comparable = [run for run in stored if run.name not in unscored]
    result = score(comparable) if comparable else None
    data = {"evaluation": None if result is None else result.to_dict(), "not_scored": unscored}
    html = "" if result is None else content(result.document())
    return Page("evaluation.html", data, {"document": html})


def rated(asked: Asked) -> Page:
    """The means of every run from single ratings, the whole way as a tool goes it."""
    given = asked.values
    with asked.store.read() as connection:
        said = counted(connection, asked.project.id, name=asked.project.name)
    opinions = replace(said, table=said.table.filter(pl.col("rater") != ratings.FINAL))
    wanted = (given["metrics"] or TOOL_METRICS).split()
    how = given["convention"] or "searchtweak"
    return _scored(
        asked, opinions.table,
        lambda stored: from_ratings(opinions, stored, wanted, how, scale=given["scale"]),
    )  # fmt: skip


def evaluation(asked: Asked) -> Page:
    """The means of every run by stored judgments."""
    given = asked.values
    with asked.store.read() as connection:
        qrels = judgments.read(
            connection, asked.store.blobs, asked.project.id, asked.path["judgments"]
        )
    wanted = (given["metrics"] or METRICS).split()
    how = given["convention"] or "trec"
    return _scored(asked, qrels.table, lambda stored: evaluate(qrels, stored, wanted, how))
