"""Preferences: batches that ask for the better of two documents or lists, and the results."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.logs.item_tables import read_frame
from rankgate.data.text.delimited_records import guard_sheet
from rankgate.measurement.stats.mean_intervals import wilson_interval
from rankgate.measurement.stats.paired_tests import sign_test
from rankgate.store.blobs import stored_runs as runs
from rankgate.store.material import queries_documents
from rankgate.store.rating import batches, preferences, tasks
from rankgate.store.rating.batches import Side
from rankgate.workspace.web.pages.document_view import read_titles
from rankgate.workspace.web.pages.rating_pages import COMPARISON_KINDS
from rankgate.workspace.web.pages.task_view import LIST_LENGTH, read_run_table
from rankgate.workspace.web.pages.upload_files import upload_file
from rankgate.workspace.web.replies import ActionReply, FileReply, PageReply, not_found
from rankgate.workspace.web.shared_fields import DEADLINE_FIELD, NAME, RAW, TWO_RUNS_FIELDS
from rankgate.workspace.web.web_request import MANAGING_ROLES, VIEWING_ROLES, Field, action, page

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from rankgate.store.blobs.stored_runs import StoredRun
    from rankgate.store.rating.batches import Batch
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_MAX_SHOWN = 200
_MAX_PAIRS = 200
_COLUMN_ALIASES = {
    "query_id": ("query_id", "query", "qid"),
    "first": ("first", "doc_id", "left", "document"),
    "second": ("second", "other_doc_id", "right", "other"),
}
Sides = list[tuple[str, Side, Side]]


_RATERS = Field(
    "strategy",
    "Raters a pair",
    "choice",
    default="3",
    choices=(("1", "one"), ("2", "two"), ("3", "three"), ("agree", "until two agree")),
)

_PRIORITY = Field("priority", "Priority; higher is first", "whole", default="0")


@action(
    "preferences-add",
    "/projects/{project}/preferences",
    MANAGING_ROLES,
    "Add the comparison",
    NAME,
    Field(
        "kind",
        "What is compared",
        "choice",
        required=True,
        default="lists",
        choices=(
            ("lists", "the first ten documents of two runs"),
            ("documents", "two documents: where two runs part, or pairs of a file"),
        ),
    ),
    *TWO_RUNS_FIELDS,
    Field(
        "pairs",
        "Pairs of documents, instead of runs",
        "file",
        help="CSV with the columns query_id, first and second.",
    ),
    Field("most", "Queries or pairs at most", "whole", default="200"),
    _RATERS,
    _PRIORITY,
    DEADLINE_FIELD,
    Field("seed", "Seed of the draw", "whole"),
)
def add_comparison(request: WebRequest) -> ActionReply:
    """Add a batch of pairs: lists of two runs, differing documents, or pairs from a file."""
    fields = request.values
    project = request.project.id
    names = [fields["first"], fields["second"]]
    with request.store.read() as connection:
        two_runs = [] if fields["pairs"] else _find_two_runs(connection, project, names)
    alike_count = 0
    if fields["pairs"] is not None:
        if fields["kind"] == "lists":
            raise InputError(
                "a file of pairs is of documents; choose two runs for lists.", code="conflicting-options"
            )
        with upload_file(fields["pairs"], request.config.largest_unpacked) as path:
            sides = _read_pairs(path)
    else:
        sides, alike_count = _pairs_of_runs(request, two_runs, fields["kind"])
    random.Random(fields["seed"] or 0).shuffle(sides)  # noqa: S311 - an order, no secret
    sides = sides[: fields["most"] or _MAX_PAIRS]
    if not sides:
        raise InputError(
            "there are no different lists to compare: both lists begin with the same documents.",
            code="empty-file",
        )
    settings = {} if fields["pairs"] else {"first": names[0], "second": names[1]}
    with request.store.write() as connection:
        batch = batches.add_batch(
            connection,
            project,
            fields["name"],
            kind=fields["kind"],
            settings=settings,
            strategy=fields["strategy"] or "2",
            priority=fields["priority"] or 0,
            deadline=fields["deadline"],
            seed=fields["seed"] or 0,
            created_by=request.user.id,
        )
        count = batches.add_preferences(connection, batch, sides)
        request.record(connection, "batch.add", batch.name, tasks=count, kind=batch.kind, **settings)
    return ActionReply(
        request.project_path("preferences"), {"batch": batch.id, "tasks": count, "alike": alike_count}
    )


def _find_two_runs(connection: Connection, project: int, names: list[str | None]) -> list[StoredRun]:
    stored_runs = [runs.find_run(connection, project, name or "") for name in names]
    if None in stored_runs or names[0] == names[1]:
        raise InputError("choose two runs of the project, or send a file of pairs.", code="missing-input")
    return [run for run in stored_runs if run is not None]


def _read_pairs(path: Path) -> Sides:
    """The pairs of a CSV file: ``query_id``, ``first``, ``second``."""
    try:
        table, _ = read_frame(path, "pairs")
    except InputError as error:
        problem = f"cannot be read as a table: {error.problem}"
        raise InputError(problem, source=path.name, line=error.line, code="invalid-syntax") from None
    lower = {column.lower(): column for column in table.columns}
    column_of_field = {
        field: next((lower[alias] for alias in aliases if alias in lower), None)
        for field, aliases in _COLUMN_ALIASES.items()
    }
    if missing_fields := [field for field, column in column_of_field.items() if column is None]:
        problem = f"no column {missing_fields[0]}; a file of pairs has query_id, first and second."
        raise InputError(problem, source=path.name, line=1, code="missing-column")
    rows = table.select(*(pl.col(column or "") for column in column_of_field.values())).drop_nulls().rows()
    return [(query, Side(first), Side(second)) for query, first, second in rows if first != second]


def _pairs_of_runs(request: WebRequest, two_runs: list[StoredRun], kind: str) -> tuple[Sides, int]:
    """For each query of both runs, both lists or the documents at the first difference.

    Queries with equal lists are left out and counted.
    """
    top_documents = [_top_documents(read_run_table(request, run)) for run in two_runs]
    sides: Sides = []
    shared_queries = [query for query in top_documents[0] if query in top_documents[1]]
    for query in shared_queries:
        first_list, second_list = (lists_of_run[query] for lists_of_run in top_documents)
        parting_pair = next(
            (pair for pair in zip(first_list, second_list, strict=False) if pair[0] != pair[1]), None
        )
        if kind == "lists" and first_list != second_list:
            sides.append((query, Side(run=two_runs[0].id), Side(run=two_runs[1].id)))
        elif kind == "documents" and parting_pair is not None:
            sides.append((query, Side(parting_pair[0]), Side(parting_pair[1])))
    return sides, len(shared_queries) - len(sides)


def _top_documents(table: pl.DataFrame) -> dict[str, list[str]]:
    """The first documents of each query."""
    top_documents = (
        table.sort("score", descending=True, maintain_order=True)
        .group_by("query_id", maintain_order=True)
        .agg(pl.col("doc_id").head(LIST_LENGTH))
        .sort("query_id")
    )
    return dict(top_documents.iter_rows())


@page("preferences", "/projects/{project}/preferences", VIEWING_ROLES, "Comparisons")
def preferences_page(request: WebRequest) -> PageReply:
    """The page of raters' preferences, batch by batch."""
    with request.store.read() as connection:
        comparison_batches = [
            batch
            for batch in batches.list_batches(connection, request.project.id)
            if batch.kind in COMPARISON_KINDS
        ]
        run_names = [run.name for run in runs.list_runs(connection, request.project.id)]
        rows = [_batch_view(connection, request, batch) for batch in comparison_batches]
    data = {"project": request.project.name, "batches": rows, "runs": run_names}
    return PageReply("preferences.html", data)


def _batch_view(connection: Connection, request: WebRequest, batch: Batch) -> PageRow:
    table = preferences.preferences_table(connection, batch.id)
    progress = tasks.progress(connection, batch.project, batch.id)
    votes = _count_votes(table)
    shown_votes = votes.sort("agree", descending=True, maintain_order=True).head(_MAX_SHOWN)
    return {
        "id": batch.id,
        "name": batch.name,
        "kind": batch.kind,
        "first": batch.settings.get("first"),
        "second": batch.settings.get("second"),
        "done": progress.done,
        "open": progress.open,
        "preferences": len(table),
        "outcome": _compute_outcome(votes),
        "left": _left_share(table),
        "raters": _rater_rows(table),
        "pairs": _with_texts(connection, request, shown_votes, batch.kind),
    }


def _with_texts(connection: Connection, request: WebRequest, votes: pl.DataFrame, kind: str) -> list[PageRow]:
    """Pairs with the texts of their queries, and the titles of their documents."""
    pairs = votes.to_dicts()
    query_ids = {pair["query_id"] for pair in pairs}
    texts = queries_documents.read_query_texts(connection, request.project.id, query_ids)
    sides = [(pair["query_id"], pair[side]) for pair in pairs for side in ("first", "second")]
    titles = read_titles(connection, request, sides) if kind == "documents" else {}
    return [
        pair
        | {"text": texts.get(pair["query_id"], "")}
        | {f"{side}_title": titles.get((pair["query_id"], pair[side]), "") for side in ("first", "second")}
        for pair in pairs
    ]


def _count_votes(table: pl.DataFrame) -> pl.DataFrame:
    """The votes for each side of each pair, and the margin."""
    sides = ("first", "second", "equal", "none")
    vote_counts = table.group_by("task", "query_id", "first", "second", maintain_order=True).agg(
        *((pl.col("better") == side).sum().cast(pl.Int64).alias(f"for_{side}") for side in sides)
    )
    return vote_counts.with_columns(
        margin=pl.col("for_first") - pl.col("for_second"),
        agree=(
            pl.max_horizontal("for_first", "for_second", "for_equal")
            / pl.max_horizontal(pl.sum_horizontal("for_first", "for_second", "for_equal"), 1)
        ),
    )


def _compute_outcome(votes: pl.DataFrame) -> PageRow:
    """The pairs whose majority prefers each side, with an interval and a sign test."""
    margin = votes["margin"].to_numpy().astype(np.float64)
    wins, losses = int((margin > 0).sum()), int((margin < 0).sum())
    decided_count = wins + losses
    outcome: PageRow = {
        "first": wins,
        "second": losses,
        "equal": len(votes) - decided_count,
        "share": None,
        "low": None,
        "high": None,
        "p_value": None,
    }
    if decided_count:
        low, high = wilson_interval(np.array([float(wins)]), np.array([float(decided_count)]))
        outcome |= {
            "share": wins / decided_count,
            "low": float(low[0]),
            "high": float(high[0]),
            "p_value": float(sign_test(margin[:, None]).p_value[0]),
        }
    return outcome


def _left_share(table: pl.DataFrame) -> PageRow:
    """The share of choices of the left side; far from a half, the position influences raters."""
    choices = table.filter(pl.col("better").is_in(["first", "second"]))
    if choices.is_empty():
        return {"share": None, "low": None, "high": None, "choices": 0}
    count = int((choices["better"] == choices["on_left"]).sum())
    low, high = wilson_interval(np.array([float(count)]), np.array([float(len(choices))]))
    return {
        "share": count / len(choices),
        "low": float(low[0]),
        "high": float(high[0]),
        "choices": len(choices),
    }


def _rater_rows(table: pl.DataFrame) -> list[PageRow]:
    """The choices and the pace of each rater."""
    better = pl.col("better")
    return (
        table.group_by("rater")
        .agg(
            *((better == choice).sum().alias(choice) for choice in ("first", "second", "equal", "none")),
            (better == pl.col("on_left")).sum().alias("left"),
            pl.col("seconds").median().alias("pace"),
        )
        .sort("rater")
        .to_dicts()
    )


@page(
    "preferences-file",
    "/projects/{project}/preferences/{batch:int}/file",
    VIEWING_ROLES,
    "Preferences as CSV",
    RAW,
)
def preferences_file(request: WebRequest) -> FileReply:
    """Every preference of a batch as a CSV row."""
    with request.store.read() as connection:
        batch = batches.get_batch(connection, request.path["batch"])
        if batch.project != request.project.id or batch.kind not in COMPARISON_KINDS:
            raise not_found("batch")
        table = preferences.preferences_table(connection, batch.id)
    target = io.BytesIO()
    table.drop("task").write_csv(target)
    content = target.getvalue()
    if not request.values["raw"]:
        content = guard_sheet(content, ",")
    return FileReply(content, "text/csv", f"{request.project.name}-{batch.name}.csv")
