"""What to judge next: where an open verdict, or the difference of two runs, could still change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.judging.pooling.pool import pool
from rankgate.judging.pooling.pool_design import DEPTH, Order, PoolDesign
from rankgate.store.kept import judgments, results, runs
from rankgate.store.rating import batches
from rankgate.workspace.web.pages.coverage import graded
from rankgate.workspace.web.replies import Done, Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.run import Run
    from rankgate.store.kept.results import StoredResult
    from rankgate.workspace.web.asked import Asked

_PAIR = ["query_id", "doc_id"]
_SHOWN = 50
_METRIC = "nDCG@10"
_VERDICTS = 10


def page(asked: Asked) -> Page:
    """Verdicts of the gate that are open, and the pairs that could change one, the first first."""
    given = asked.values
    project = asked.project.id
    with asked.store.read() as connection:
        named = [each.name for each in runs.listed(connection, project)]
        kept = results.listed(connection, project, "verdict", most=_VERDICTS)
        found = [_verdict(each, results.read(each, asked.store.blobs), named) for each in kept]
    open_ = [each for each in found if each["verdict"] != "pass" and each["here"]]
    chosen = next((each for each in open_ if given["verdict"] in {None, each["id"]}), None)
    first, second, metric = given["first"], given["second"], given["metric"]
    if chosen is not None and not (first and second):
        first, second, metric = chosen["baseline"], chosen["candidate"], chosen["metric"]
    data: dict[str, Any] = {
        "project": asked.project.name, "verdicts": found, "runs": named, "first": first,
        "second": second, "metric": metric or _METRIC, "pairs": [], "total": 0, "problem": None,
    }  # fmt: skip
    if first and second:
        try:
            wanted = _pool(asked, (first, second), order="influence", metric=metric)
        except (InputError, UsageError) as error:
            return Page("next.html", data | {"problem": str(error)})
        data["total"] = len(wanted)
        shown = wanted.head(_SHOWN).select(*_PAIR, "why", "best_rank", "systems")
        data["pairs"] = shown.to_dicts()
    return Page("next.html", data)


def _verdict(stored: StoredResult, found: dict[str, Any], named: list[str]) -> dict[str, Any]:
    """A verdict, with the metric of the rule that decides it."""
    rules = found["rules"]
    unsure = [each for each in rules if each["status"] != "pass" and each["metric"]]
    metric = next((each["metric"] for each in [*unsure, *rules] if each["metric"]), _METRIC)
    two = {found["baseline"], found["candidate"]}
    return {"id": stored.id, "verdict": found["verdict"], "baseline": found["baseline"],
            "candidate": found["candidate"], "metric": metric, "at": stored.created_at,
            "here": two <= set(named)}  # fmt: skip


def _pool(
    asked: Asked,
    first: Sequence[str | None],
    *,
    order: Order | None,
    metric: str | None,
    depth: int | None = None,
) -> pl.DataFrame:
    """Pairs of runs that nobody graded, in order; those of ``first`` come first.

    Raises:
        InputError: there is no run.
    """
    project, blobs = asked.project.id, asked.store.blobs
    with asked.store.read() as connection:
        ranked = _ranked(connection, asked, [each for each in first if each])
        known = graded(connection, project)
        made = judgments.listed(connection, project)
        judged = judgments.read(connection, blobs, project, made[-1].name) if made else None
    how: Order = order or ("influence" if judged is not None and len(ranked) > 1 else "rank")
    design = PoolDesign(depth or DEPTH, how, metric or _METRIC)
    found = pool(ranked, design, collection=judged)
    return found.table.join(known, on=_PAIR, how="anti", maintain_order="left")


def _ranked(connection: Connection, asked: Asked, first: Sequence[str]) -> list[Run]:
    """The runs of the project, those that are named first; only these where two are named."""
    stored = {each.name: each for each in runs.listed(connection, asked.project.id)}
    if not stored:
        raise InputError("there is no run in the project; add one.", code="missing-input")
    if missing := [each for each in first if each not in stored]:
        raise UsageError(f"there is no run {missing[0]!r}.", code="unknown-run")
    names = first if len(first) > 1 else [*first, *(name for name in stored if name not in first)]
    return [runs.rankings(stored[name], asked.store.blobs) for name in names]


def add(asked: Asked) -> Done:
    """A batch of what runs rank first and nobody graded, the most influential first."""
    given = asked.values
    two = (given["first"], given["second"])
    found = _pool(asked, two, order=given["order"], metric=given["metric"], depth=given["depth"])
    if given["most"]:
        found = found.head(given["most"])
    with asked.store.write() as connection:
        batch = batches.add(
            connection, asked.project.id, given["name"], strategy=given["strategy"] or "2",
            priority=given["priority"] or 0, created_by=asked.user.id,
        )  # fmt: skip
        count = batches.add_pairs(connection, batch, found)
        asked.record(connection, "batch.add", batch.name, tasks=count,
                     order=given["order"] or "by default")  # fmt: skip
    return Done(asked.at(), {"batch": batch.id, "tasks": count})
