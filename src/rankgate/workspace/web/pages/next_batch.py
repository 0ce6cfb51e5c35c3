"""The next pairs to judge: where an open verdict, or a difference of two runs, could change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.judging.pooling.pool import pool
from rankgate.judging.pooling.pool_design import DEPTH, Order, PoolDesign
from rankgate.store.kept import judgments, results, runs
from rankgate.store.rating import batches
from rankgate.workspace.web.pages.coverage import list_graded_pairs
from rankgate.workspace.web.replies import ActionReply, PageReply

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.run import Run
    from rankgate.store.kept.results import StoredResult
    from rankgate.workspace.web.asked import WebRequest

_PAIR = ["query_id", "doc_id"]
_MAX_PAIRS = 50
_DEFAULT_METRIC = "nDCG@10"
_MAX_VERDICTS = 10


def next_batch_page(request: WebRequest) -> PageReply:
    """Open verdicts of the gate, and the pairs that could change one, most influential first."""
    fields = request.values
    project = request.project.id
    with request.store.read() as connection:
        run_names = [run.name for run in runs.list_runs(connection, project)]
        stored_verdicts = results.list_results(connection, project, "verdict", most=_MAX_VERDICTS)
        verdicts = [
            _verdict_view(
                stored_verdict, results.read_result(stored_verdict, request.store.blobs), run_names
            )
            for stored_verdict in stored_verdicts
        ]
    open_ = [verdict for verdict in verdicts if verdict["verdict"] != "pass" and verdict["here"]]
    open_verdict = next(
        (verdict for verdict in open_ if fields["verdict"] in {None, verdict["id"]}), None
    )
    first, second, metric = fields["first"], fields["second"], fields["metric"]
    if open_verdict is not None and not (first and second):
        first, second, metric = (
            open_verdict["baseline"],
            open_verdict["candidate"],
            open_verdict["metric"],
        )
    data: dict[str, Any] = {
        "project": request.project.name,
        "verdicts": verdicts,
        "runs": run_names,
        "first": first,
        "second": second,
        "metric": metric or _DEFAULT_METRIC,
        "pairs": [],
        "total": 0,
        "problem": None,
    }
    if first and second:
        try:
            pairs = _pool_pairs(request, (first, second), order="influence", metric=metric)
        except (InputError, UsageError) as error:
            return PageReply("next.html", data | {"problem": str(error)})
        data["total"] = len(pairs)
        first_pairs = pairs.head(_MAX_PAIRS).select(*_PAIR, "why", "best_rank", "systems")
        data["pairs"] = first_pairs.to_dicts()
    return PageReply("next.html", data)


def _verdict_view(
    stored_verdict: StoredResult, verdict: dict[str, Any], run_names: list[str]
) -> dict[str, Any]:
    """A verdict, with the metric of the rule that decides it."""
    rules = verdict["rules"]
    open_rules = [rule for rule in rules if rule["status"] != "pass" and rule["metric"]]
    metric = next(
        (rule["metric"] for rule in [*open_rules, *rules] if rule["metric"]), _DEFAULT_METRIC
    )
    verdict_runs = {verdict["baseline"], verdict["candidate"]}
    return {
        "id": stored_verdict.id,
        "verdict": verdict["verdict"],
        "baseline": verdict["baseline"],
        "candidate": verdict["candidate"],
        "metric": metric,
        "at": stored_verdict.created_at,
        "here": verdict_runs <= set(run_names),
    }


def _pool_pairs(
    request: WebRequest,
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
    project, blobs = request.project.id, request.store.blobs
    with request.store.read() as connection:
        rankings = _list_rankings(connection, request, [name for name in first if name])
        graded_pairs = list_graded_pairs(connection, project)
        stored_judgments = judgments.list_judgments(connection, project)
        judged = (
            judgments.read_judgments(connection, blobs, project, stored_judgments[-1].name)
            if stored_judgments
            else None
        )
    pool_order: Order = order or (
        "influence" if judged is not None and len(rankings) > 1 else "rank"
    )
    design = PoolDesign(depth or DEPTH, pool_order, metric or _DEFAULT_METRIC)
    result = pool(rankings, design, collection=judged)
    return result.table.join(graded_pairs, on=_PAIR, how="anti", maintain_order="left")


def _list_rankings(connection: Connection, request: WebRequest, first: Sequence[str]) -> list[Run]:
    """The runs of the project, those that are named first; only these where two are named."""
    stored_runs = {run.name: run for run in runs.list_runs(connection, request.project.id)}
    if not stored_runs:
        raise InputError("there is no run in the project; add one.", code="missing-input")
    if unknown_names := [name for name in first if name not in stored_runs]:
        raise UsageError(f"there is no run {unknown_names[0]!r}.", code="unknown-run")
    names = (
        first if len(first) > 1 else [*first, *(name for name in stored_runs if name not in first)]
    )
    return [runs.rankings(stored_runs[name], request.store.blobs) for name in names]


def add_next_batch(request: WebRequest) -> ActionReply:
    """A batch of what runs rank first and nobody graded, the most influential first."""
    fields = request.values
    chosen_runs = (fields["first"], fields["second"])
    pairs = _pool_pairs(
        request, chosen_runs, order=fields["order"], metric=fields["metric"], depth=fields["depth"]
    )
    if fields["most"]:
        pairs = pairs.head(fields["most"])
    with request.store.write() as connection:
        batch = batches.add_batch(
            connection,
            request.project.id,
            fields["name"],
            strategy=fields["strategy"] or "2",
            priority=fields["priority"] or 0,
            created_by=request.user.id,
        )
        count = batches.add_pairs(connection, batch, pairs)
        request.record(
            connection, "batch.add", batch.name, tasks=count, order=fields["order"] or "by default"
        )
    return ActionReply(request.at(), {"batch": batch.id, "tasks": count})
