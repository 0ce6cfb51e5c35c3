"""The ungraded documents in the lists of two evaluations, and the batch for them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.store.people import users
from rankgate.store.rating import batches, next_task, tasks
from rankgate.workspace.web.dashboard import query_lists as lists
from rankgate.workspace.web.dashboard.evaluation_pair import query_changes, read_pair, sort_worst_first
from rankgate.workspace.web.dashboard.recorded_results import pair_address
from rankgate.workspace.web.pages.coverage_pages import read_graded_pairs
from rankgate.workspace.web.replies import ActionReply
from rankgate.workspace.web.shared_fields import PAIR
from rankgate.workspace.web.web_request import MANAGING_ROLES, RATING_ROLES, Field, action, invalid_value

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.rating.batches import Batch
    from rankgate.workspace.web.dashboard.evaluation_pair import EvaluationPair
    from rankgate.workspace.web.web_request import WebRequest

_PAIR = ["query_id", "doc_id"]
_HASH_LENGTH = 8
_PRIORITY = 1
"""A high priority, because the cause of a fall stays unknown without these grades."""


def first_documents(
    connection: Connection, request: WebRequest, pair: EvaluationPair, query_ids: Collection[str]
) -> list[pl.DataFrame]:
    """The first documents of both runs: ``query_id``, ``doc_id`` and ``judged``.

    A run that is not in the store is left out.
    """
    tables = []
    for record, point in zip((pair.earlier, pair.later), pair.metric_points, strict=True):
        run = lists.read_run(connection, request, record, point.system)
        if run is None:
            tables.append(pl.DataFrame(schema=dict.fromkeys(_PAIR, pl.String)))
        else:
            rows = run.filter(pl.col("query_id").is_in(list(query_ids)))
            order = rows.sort("query_id", "score", "doc_id", descending=[False, True, True])
            first_rows = order.group_by("query_id", maintain_order=True).head(lists.LIST_DEPTH)
            tables.append(first_rows.select(_PAIR))
        grades = lists.read_judgments(connection, request, record)
        judged_pairs = (
            pl.DataFrame(schema=dict.fromkeys(_PAIR, pl.String))
            if grades is None
            else grades.drop_nulls("grade").select(_PAIR)
        )
        judged = judged_pairs.unique().with_columns(judged=pl.lit(value=True))
        tables[-1] = (
            tables[-1]
            .join(judged, on=_PAIR, how="left")
            .with_columns(pl.col("judged").fill_null(value=False))
        )
    return tables


def judged_shares(tables: Sequence[pl.DataFrame]) -> list[dict[str, float]]:
    """The share of judged documents by query, for each table of `first_documents`."""
    return [dict(table.group_by("query_id").agg(pl.col("judged").mean()).iter_rows()) for table in tables]


ENOUGH_JUDGED = 0.8
"""The share of judged documents that needs no attention; the gate's rule has the same default."""


def query_status(*, better: bool, judged_before: float | None, judged_after: float | None) -> str:
    """The status of a query's change; inconclusive if unjudged documents could explain it.

    Unjudged documents count as not relevant, so that those of the later list could explain a loss,
    and those of the earlier list a gain.
    """
    share = judged_before if better else judged_after
    if share is not None and share < ENOUGH_JUDGED:
        return "inconclusive"
    return "pass" if better else "fail"


def missing_pairs(
    connection: Connection, request: WebRequest, tables: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """The unjudged pairs without later ratings."""
    unjudged = pl.concat([table.filter(~pl.col("judged")).select(_PAIR) for table in tables])
    rated = read_graded_pairs(connection, request)
    return unjudged.unique(maintain_order=True).join(rated, on=_PAIR, how="anti", maintain_order="left")


def fallen_queries(request: WebRequest, pair: EvaluationPair) -> list[str]:
    """The queries with a worse value of the chosen metric in the later evaluation."""
    table = query_changes(request, *pair.metric_points)
    if table is None:
        return []
    later = pair.metric_points[1]
    is_loss = pl.col("delta") < 0 if later.higher_is_better else pl.col("delta") > 0
    return sort_worst_first(table, later).filter(is_loss)["query_id"].to_list()


def list_rater_names(request: WebRequest) -> list[str]:
    """The names of the users who may rate in the project."""
    with request.store.read() as connection:
        members = users.members(connection, request.project.id)
    return [user.name for user, role in members if role in RATING_ROLES]


@action(
    "missing-add",
    "/projects/{project}/changes/batch",
    MANAGING_ROLES,
    "Judge missing documents",
    *(Field(field.name, required=field.required, most=field.most) for field in PAIR),
    Field("query", most=500, help="Only this query; by default every query that fell."),
    Field(
        "rater",
        "Rated by",
        most=100,
        help="Empty: by everybody who rates. One person has the documents for 30 days.",
        options=list_rater_names,
    ),
)
def add_missing_batch(request: WebRequest) -> ActionReply:
    """Ask raters for the missing grades of a query, or of all queries that fell.

    The batch of two evaluations has each document once, even if the button is pressed again.
    Documents in another open batch are not added.
    """
    fields = request.values
    with request.store.write() as connection:
        pair = read_pair(connection, request)
        query_ids = [fields["query"]] if fields["query"] else fallen_queries(request, pair)
        tables = first_documents(connection, request, pair, query_ids)
        pairs = missing_pairs(connection, request, tables)
        waiting_pairs = tasks.waiting_pairs(connection, request.project.id)
        pairs = pairs.join(waiting_pairs, on=_PAIR, how="anti", maintain_order="left")
        batch = find_batch(connection, request, pair)
        count = 0
        if len(pairs):
            batch = batch or batches.add_batch(
                connection,
                request.project.id,
                _batch_name(pair),
                priority=_PRIORITY,
                created_by=request.user.id,
            )
            batches.change_batch(connection, batch.id, state="open")
            count = batches.add_pairs(connection, batch, pairs)
        assigned = 0
        if batch is not None and fields["rater"]:
            name = fields["rater"]
            members = users.members(connection, request.project.id)
            user = next((user for user, role in members if user.name == name and role in RATING_ROLES), None)
            if user is None:
                raise invalid_value("rater", "no rater of this project has this name")
            rater = users.rater_of_user(connection, user.id).id
            assigned = next_task.assign(connection, batch.id, rater)
        if batch is not None and (count or assigned):
            request.record(connection, "batch.add", batch.name, tasks=count, assigned=fields["rater"] or "")
    data = {"batch": batch and batch.id, "name": batch and batch.name, "tasks": count, "assigned": assigned}
    choice = {name: fields[name] or "" for name in ("metric", "system", "query")}
    address = pair_address(request, fields["before"] or "", fields["after"] or "", **choice)
    return ActionReply(address.removeprefix(request.config.base), data)


def find_batch(connection: Connection, request: WebRequest, pair: EvaluationPair) -> Batch | None:
    """The batch for the missing documents of two evaluations; None if it does not exist."""
    name = _batch_name(pair)
    project_batches = batches.list_batches(connection, request.project.id)
    return next((batch for batch in project_batches if batch.name == name), None)


def _batch_name(pair: EvaluationPair) -> str:
    days = [f"{record.evaluated_at:%Y-%m-%d}" for record in (pair.earlier, pair.later)]
    hashes = [record.sha256[:_HASH_LENGTH] for record in (pair.earlier, pair.later)]
    return f"Missing grades of {' and '.join(days)} ({' '.join(hashes)})"
