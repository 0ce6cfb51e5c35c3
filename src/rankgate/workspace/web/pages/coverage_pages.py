"""Pages for coverage, the next pairs to judge, and the agreement of raters.

One page has the coverage of runs by judgments and the answers of raters to hidden questions. The
next pairs to judge are the pairs that could change an open verdict or a difference of two runs. The
agreement of raters has figures with intervals, alarms, confusion and drift.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.pages.page import Links, page_content
from rankgate.judging.agreement.agree import agree
from rankgate.judging.agreement.agreement_tables import drift
from rankgate.judging.pooling.pool import order_facts, pool
from rankgate.judging.pooling.pool_sampling import DEPTH, Order, PoolDesign
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRIC
from rankgate.store.blobs import stored_results, stored_runs
from rankgate.store.blobs import stored_runs as runs
from rankgate.store.material import queries_documents
from rankgate.store.rating import batch_rules, batches, ratings, tasks
from rankgate.store.rows import now
from rankgate.workspace.web.background_results import MANY_RATINGS, read_background_result
from rankgate.workspace.web.pages.document_view import read_titles
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found
from rankgate.workspace.web.shared_fields import AFTER_FIELD, BATCH, NAME, STRATEGY_FIELD, TWO_RUNS_FIELDS
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    declared_fields,
    page,
    page_window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from rankgate.data.qrels import Ratings
    from rankgate.data.run import Run
    from rankgate.store.blobs.stored_results import StoredResult
    from rankgate.store.blobs.stored_runs import StoredRun
    from rankgate.store.store import Store
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


DEPTHS = (1, 3, 5, 10, 20)
_PAIR = ["query_id", "doc_id"]


_MAX_RUNS = 50
"""The number of runs on one page."""


def page_of_runs(
    request: WebRequest, project_runs: Sequence[StoredRun]
) -> tuple[Sequence[StoredRun], int | None]:
    """The runs of a page, and the start of the next page; None for the last page."""
    window, next_start = page_window(request.values["after"], _MAX_RUNS, len(project_runs))
    return project_runs[window], next_start


@page("coverage", "/projects/{project}/coverage", VIEWING_ROLES, "Coverage", AFTER_FIELD)
def coverage_page(request: WebRequest) -> PageReply:
    """The page with the graded share of each run's first documents, and answers to known grades."""
    project = request.project.id
    with request.store.read() as connection:
        project_runs, next_start = page_of_runs(request, stored_runs.list_runs(connection, project))
        state = ratings.ratings_state(connection, project)
        has_many = state[0] >= MANY_RATINGS  # their coverage may be some seconds old
        run_key = tuple((stored_run.name, stored_run.blob) for stored_run in project_runs)
        rows = request.cache.get(
            ("coverage", project, None if has_many else state, run_key),
            lambda: _coverage_rows(request, project_runs, read_graded_pairs(connection, request)),
            changes=has_many,
        )
        gold_answers = tasks.gold_answers(connection, project)
    data = {
        "project": request.project.name,
        "coverage": rows,
        "depths": list(DEPTHS),
        "gold": _rater_accuracy(gold_answers),
        "after": next_start,
    }
    return PageReply("coverage.html", data)


def read_graded_pairs(connection: Connection, request: WebRequest) -> pl.DataFrame:
    """The graded pairs of the project, cached until a new rating."""
    project = request.project.id
    key = ("graded pairs", project, ratings.ratings_state(connection, project))
    return request.cache.get(key, lambda: ratings.graded_pairs(connection, project))


_MAX_ROWS = 100_000
"""The number of rows of runs that are ranked together."""


def _coverage_rows(
    request: WebRequest, project_runs: Sequence[StoredRun], graded_pairs: pl.DataFrame
) -> list[PageRow]:
    """The judged share of each run's first documents, by depth."""
    graded = graded_pairs.with_columns(judged=pl.lit(value=True))
    rows: list[PageRow] = []
    chunk: list[pl.DataFrame] = []
    for number, stored_run in enumerate(project_runs, 1):
        table = stored_runs.read_columns(stored_run, request.store.blobs, [*_PAIR, "score"])
        chunk.append(table.select(pl.lit(number).alias("run"), *_PAIR, "score"))
        if number == len(project_runs) or sum(map(len, chunk)) >= _MAX_ROWS:
            runs_of_chunk = range(number - len(chunk) + 1, number + 1)
            counts_by_run = _judged_counts(runs_of_chunk, pl.concat(chunk), graded)
            for run, queries, *counts in counts_by_run.iter_rows():
                rows += [
                    {
                        "run": project_runs[run - 1].name,
                        "depth": depth,
                        "judged": judged / documents if documents else 0.0,
                        "documents": documents,
                        "queries": queries,
                    }
                    for depth, documents, judged in zip(DEPTHS, counts[::2], counts[1::2], strict=True)
                ]
            chunk = []
    return rows


def _judged_counts(numbers: Sequence[int], table: pl.DataFrame, graded: pl.DataFrame) -> pl.DataFrame:
    """Count each run's queries and, by depth, its first documents and those judged."""
    run_numbers = pl.DataFrame({"run": numbers}, {"run": pl.Int32})
    queries = table.group_by("run").agg(pl.col("query_id").n_unique())
    rank = pl.col("score").rank("ordinal", descending=True).over("run", "query_id")
    top = table.select("run", *_PAIR, rank=rank).filter(pl.col("rank") <= max(DEPTHS))
    counts = [
        count.alias(f"{name} {depth}")
        for depth in DEPTHS
        for is_within in (pl.col("rank") <= depth,)
        for name, count in (
            ("documents", is_within.sum()),
            ("judged", (is_within & pl.col("judged").is_not_null()).sum()),
        )
    ]
    by_run = top.join(graded, on=_PAIR, how="left").group_by("run").agg(counts)
    for counted in (queries, by_run):  # a run without rows is missing in the counts
        run_numbers = run_numbers.join(counted, on="run", how="left", maintain_order="left")
    return run_numbers.fill_null(0)


def _rater_accuracy(gold_answers: list[tuple[str, float, float | None]]) -> list[PageRow]:
    """The number of known grades that each rater found, and the mean distance from them."""
    answers_by_rater: dict[str, list[tuple[float, float | None]]] = defaultdict(list)
    for rater, gold, grade in gold_answers:
        answers_by_rater[rater].append((gold, grade))
    rows: list[PageRow] = []
    for rater, answers in answers_by_rater.items():
        distances = [abs(grade - gold) for gold, grade in answers if grade is not None]
        right = sum(grade == gold for gold, grade in answers)
        rows.append(
            {
                "rater": rater,
                "answers": len(answers),
                "right": right,
                "share": right / len(answers),
                "off": sum(distances) / len(distances) if distances else None,
            }
        )
    return rows


_MAX_PAIRS = 50
_MAX_VERDICTS = 10


@page(
    "next",
    "/projects/{project}/next",
    VIEWING_ROLES,
    "What to judge next",
    Field("verdict", "Verdict", "whole"),
    *TWO_RUNS_FIELDS,
    Field("metric", "Metric", most=100),
)
def next_batch_page(request: WebRequest) -> PageReply:
    """The page of open verdicts of the gate, and of the pairs that could change one."""
    fields = request.values
    project = request.project.id
    with request.store.read() as connection:
        run_names = [run.name for run in runs.list_runs(connection, project)]
        stored_verdicts = stored_results.list_results(connection, project, "verdict", most=_MAX_VERDICTS)
        verdicts = [
            _verdict_view(
                stored_verdict, stored_results.read_result(stored_verdict, request.store.blobs), run_names
            )
            for stored_verdict in stored_verdicts
        ]
    open_ = [verdict for verdict in verdicts if verdict["verdict"] != "pass" and verdict["here"]]
    open_verdict = next((verdict for verdict in open_ if fields["verdict"] in {None, verdict["id"]}), None)
    first, second, metric = fields["first"], fields["second"], fields["metric"]
    if open_verdict is not None and not (first and second):
        first, second, metric = (open_verdict["baseline"], open_verdict["candidate"], open_verdict["metric"])
    data: PageRow = {
        "project": request.project.name,
        "verdicts": verdicts,
        "runs": run_names,
        "first": first,
        "second": second,
        "metric": metric or DEFAULT_METRIC,
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
        data["pairs"] = _with_texts(request, first_pairs.to_dicts())
    return PageReply("next.html", data)


def _with_texts(request: WebRequest, pairs: list[dict[str, Any]]) -> list[PageRow]:
    """Pairs with the text of the query and the title of the document."""
    keys = [(pair["query_id"], pair["doc_id"]) for pair in pairs]
    with request.store.read() as connection:
        titles = read_titles(connection, request, keys)
        query_ids = {query_id for query_id, _ in keys}
        texts = queries_documents.read_query_texts(connection, request.project.id, query_ids)
    return [
        pair | {"text": texts.get(key[0], ""), "title": titles.get(key, "")}
        for pair, key in zip(pairs, keys, strict=True)
    ]


def _verdict_view(stored_verdict: StoredResult, verdict: dict[str, Any], run_names: list[str]) -> PageRow:
    """A verdict with the metric of its deciding rule."""
    rules = verdict["rules"]
    open_rules = [rule for rule in rules if rule["status"] != "pass" and rule["metric"]]
    metric = next((rule["metric"] for rule in [*open_rules, *rules] if rule["metric"]), DEFAULT_METRIC)
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
    """The ungraded pairs of runs in order; pairs of ``first`` come first.

    Raises:
        InputError: the project has no runs.
    """
    project, blobs = request.project.id, request.store.blobs
    with request.store.read() as connection:
        rankings = _list_rankings(connection, request, [name for name in first if name])
        graded_pairs = read_graded_pairs(connection, request)
        stored_judgments = stored_runs.list_judgments(connection, project)
        judged = (
            stored_runs.read_judgments(connection, blobs, project, stored_judgments[-1].name)
            if stored_judgments
            else None
        )
    pool_order: Order = order or ("influence" if judged is not None and len(rankings) > 1 else "rank")
    design = PoolDesign(depth or DEPTH, pool_order, metric or DEFAULT_METRIC)
    result = pool(rankings, design, collection=judged)
    return result.table.join(graded_pairs, on=_PAIR, how="anti", maintain_order="left")


def _list_rankings(connection: Connection, request: WebRequest, first: Sequence[str]) -> list[Run]:
    """The runs of the project, the named runs first; if two are named, only these."""
    stored_runs = {run.name: run for run in runs.list_runs(connection, request.project.id)}
    if not stored_runs:
        raise InputError("there is no run in the project; add one.", code="missing-input")
    if unknown_names := [name for name in first if name not in stored_runs]:
        raise UsageError(f"there is no run {unknown_names[0]!r}.", code="unknown-run")
    names = first if len(first) > 1 else [*first, *(name for name in stored_runs if name not in first)]
    return [runs.rankings(stored_runs[name], request.store.blobs) for name in names]


@action(
    "next-add",
    "/projects/{project}/coverage",
    MANAGING_ROLES,
    "Add the batch",
    NAME,
    *declared_fields(PoolDesign, "order", order={"default": "", "unset": None, "choices": order_facts()}),
    *TWO_RUNS_FIELDS,
    *declared_fields(PoolDesign, "metric", "depth", metric={"most": 100}),
    Field("most", "Pairs at most", "whole", default="100"),
    STRATEGY_FIELD,
    Field("priority", "Priority; higher is first", "whole", default="1"),
)
def add_next_batch(request: WebRequest) -> ActionReply:
    """Add a batch of ungraded documents that runs rank first, the most influential first."""
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
    return ActionReply(request.project_path(), {"batch": batch.id, "tasks": count})


@page("agreement", "/projects/{project}/agreement", VIEWING_ROLES, "Agreement", BATCH)
def agreement_page(request: WebRequest) -> PageReply:
    """The page of the agreement of raters: the document of ``rankgate agree``."""
    batch, project = request.values["batch"], request.project
    with request.store.read() as connection:
        rating_batches = [
            {"id": rating_batch.id, "name": rating_batch.name}
            for rating_batch in batches.list_batches(connection, project.id)
            if rating_batch.kind == "rating"
        ]
        state = ratings.ratings_state(connection, project.id)
        with_self = batch_rules.self_agreement(connection, project.id)
    if batch is not None and batch not in {rating_batch["id"] for rating_batch in rating_batches}:
        raise not_found("batch")
    compute = partial(compute_agreement, project=project.id, name=project.name, batch=batch)
    data: PageRow = {"agreement": None, "confusion": [], "drift": [], "at": now()}
    extra: PageRow = {}
    computing = 0  # the number of ratings whose figures another process computes
    with suppress(InputError):
        if state[0] >= MANY_RATINGS:
            page_name = "agreement" if batch is None else f"agreement {batch}"
            page_result = read_background_result(request.store, project.id, page_name, state, compute)
            if page_result.value is None:
                computing = state[0]
            else:
                data, extra = (
                    page_result.value["data"] | {"at": page_result.made_at},
                    page_result.value["extra"],
                )
        else:
            result = (
                request.cached("agreement", lambda: compute(request.store))
                if batch is None
                else request.cache.get(
                    ("agreement", project.id, batch, state), lambda: compute(request.store)
                )
            )
            data, extra = result["data"], result["extra"]
    data = {
        "project": project.name,
        "batch": batch,
        "batches": rating_batches,
        **data,
        "computing": computing,
    }
    data["with_self"] = [vars(rater_self) for rater_self in with_self]
    return PageReply("agreement.html", data, extra)


def compute_agreement(store: Store, project: int, name: str, batch: int | None) -> dict[str, dict[str, Any]]:
    """The data of the page of agreement, and its document and sentence.

    Args:
        store: the store.
        project: the number of the project.
        name: the name of the project.
        batch: the number of one batch; all by default.

    Raises:
        InputError: there are no ratings.
    """
    opinions = read_people_ratings(store, project, name, batch)
    agreement = agree(opinions)
    with store.read() as connection:
        query_ids = opinions.table["query_id"].unique().to_list()
        texts = queries_documents.read_query_texts(connection, project, query_ids)
    links = Links(query_text=lambda query_id: texts.get(query_id, ""))
    data: PageRow = {
        "agreement": agreement.to_dict(),
        "confusion": _confusion_rows(agreement.found.confusion),
        "drift": drift(opinions).to_dicts(),
        "at": now(),
    }
    document = replace(agreement.document(), lead=())  # the sentence stands at the top of the page
    extra = {"document": page_content(document, links), "sentence": agreement.summary}
    return {"data": data, "extra": extra}


def read_people_ratings(store: Store, project: int, name: str, batch: int | None = None) -> Ratings:
    """The ratings without final decisions, which are not the opinion of a rater.

    Raises:
        InputError: there are no ratings.
    """
    with store.read() as connection:
        all_ratings = ratings.read_ratings(
            connection, project, batch=batch, columns=("grade", "reason", "at", "seconds"), name=name
        )
    rater_rows = all_ratings.table.filter(pl.col("rater") != ratings.FINAL)
    if rater_rows.is_empty():
        raise InputError("there are no ratings.", code="no-judgments")
    return replace(all_ratings, table=rater_rows)


def _confusion_rows(table: pl.DataFrame) -> list[PageRow]:
    """The counts of each rater's grades, one row per consensus grade of the other raters."""
    grades = sorted({*table["consensus"], *table["grade"]})
    counts = {(rater, consensus, grade): n for rater, consensus, grade, n in table.iter_rows()}
    return [
        {
            "rater": rater,
            "grades": grades,
            "rows": [
                {
                    "consensus": consensus,
                    "counts": [counts.get((rater, consensus, grade), 0) for grade in grades],
                }
                for consensus in grades
            ],
        }
        for rater in table["rater"].unique(maintain_order=True)
    ]
