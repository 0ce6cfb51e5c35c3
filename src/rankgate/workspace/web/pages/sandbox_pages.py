"""The sandbox of an engine: while its settings are edited, the metric over the judged queries moves.

The edited engine is asked the judged queries, within the limits of the server, and compared with the
engine as it is kept. *Keep* saves the settings and takes a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from threading import Semaphore
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.decisions.comparison.compare import compare
from rankgate.engines.configuration import ENGINES, Pace
from rankgate.engines.snapshots.project_snapshot import list_project_queries
from rankgate.engines.snapshots.snapshot_verb import snapshot
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.store.material import project_engines
from rankgate.workspace.records.figures import mean_with_interval
from rankgate.workspace.web.pages.engine_pages import (
    check_definition,
    engine_digest,
    engine_field,
    form_values,
    read_definition,
    save_definition,
)
from rankgate.workspace.web.pages.live_engines import LIVE_SECONDS
from rankgate.workspace.web.pages.step_pages import last_run_number, start_job
from rankgate.workspace.web.replies import PageReply, Reply, RequestRefused
from rankgate.workspace.web.shared_fields import PROJECT, WATCHED_METRIC
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    Field,
    action,
    list_judgment_names,
    list_watched_metrics,
    page,
    refused_declaration,
)

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.engines.configuration import Configuration, EngineKind
    from rankgate.engines.engine import Query
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

_SANDBOX_PATH = f"{PROJECT}/engines/{{engine}}/sandbox"
_MAX_QUERIES = 200
"""The largest number of judged queries that are sent at each change."""

_MAX_RATE = 50.0
"""The queries a second that a sandbox sends at most, where the operator sets no lower limit."""

_KEEP_SECONDS = 600.0
"""Seconds for which the lists of settings are cached, so that they are not asked again."""

_FIXED_SETTINGS = frozenset({"command", "dsn", "function", "headers", "sql", "url", "user"})
"""Settings that a sandbox takes from the engine as it is kept."""

_free_places = Semaphore(2)
"""The measurements at the same time in this process."""


@page("sandbox", _SANDBOX_PATH, MANAGING_ROLES, "Sandbox")
def sandbox_page(request: WebRequest) -> PageReply:
    """The settings of an engine as a form whose changes are measured."""
    with request.store.read() as connection:
        engine = project_engines.get_engine(connection, request.project.id, request.path["engine"])
    judgments, metrics = list_judgment_names(request), list_watched_metrics(request)
    extra = form_values(request, ENGINES.find(engine.kind), engine)
    extra["given"] |= {"judgments": (judgments or [""])[-1], "metric": metrics[0]}
    extra["options"] |= {"judgments": judgments, "metric": metrics}
    data: PageRow = {
        "project": request.project.name,
        "engine": engine.name,
        "kind": engine.kind,
        "judgments": judgments,
    }
    return PageReply("sandbox.html", data, extra)


class _NoListsError(Exception):
    """An engine gave no lists; they are not cached."""


def sandbox_handler(kind: EngineKind) -> Callable[[WebRequest], Reply]:
    """A handler that measures edited settings of a kind of engine, or keeps them."""

    def measure(request: WebRequest) -> Reply:
        with request.store.read() as connection:
            kept_engine = project_engines.get_engine(connection, request.project.id, request.path["engine"])
        definition = read_definition(
            kind,
            kept_engine.name,
            {**kept_engine.settings, **{name: request.values[name] for name in _editable_settings(kind)}},
        )
        edited = check_definition(request, definition)
        judgments, metric = request.values["judgments"], request.values["metric"]
        try:
            qrels = request.stored_project.judgments(judgments)
            judged_queries = _judged_queries(request, qrels)
            find_metrics([metric])
        except (InputError, UsageError) as error:
            raise refused_declaration(error, {"judgments", "metric"}) from None
        if not request.values["preview"]:
            save_definition(request, definition)
            values = {"engine": kept_engine.name, "judgments": judgments, "metrics": [metric]}
            last_run = last_run_number(request, "snapshot")
            return start_job(request, "snapshot", "engine-snapshot", values, last_run)
        order = np.random.default_rng(0).permutation(len(judged_queries))[:_MAX_QUERIES]
        queries = [judged_queries[position] for position in sorted(order)]
        data: PageRow = {
            "project": request.project.name,
            "metric": metric,
            "queries": len(queries),
            "judged": len(judged_queries),
        }
        try:
            run = _ask(request, edited, queries)
            is_edited = engine_digest(kept_engine) != engine_digest(definition)
            kept_run = _ask(request, check_definition(request, kept_engine), queries) if is_edited else run
        except _NoListsError as failed:
            return PageReply("sandbox_result.html", data | {"problem": str(failed)})
        figures = _compare(qrels, queries, {"kept": kept_run, "edited": run}, metric)
        return PageReply("sandbox_result.html", data | figures | {"problem": "", "edited": is_edited})

    return measure


def _editable_settings(kind: EngineKind) -> list[str]:
    """The settings of a kind that a sandbox edits: no address, path, secret, statement or program."""
    guarded = {
        setting.name
        for setting in dataclass_fields(kind.declaration)
        if setting.metadata.get("path") or setting.metadata.get("secret")
    }
    return [name for name in kind.parameters if name not in guarded | _FIXED_SETTINGS]


def _judged_queries(request: WebRequest, qrels: Qrels) -> list[Query]:
    """The queries of the project that have judgments.

    Raises:
        Refused: no query of the project has judgments.
    """
    judged = set(qrels.table["query_id"])
    queries = [query for query in list_project_queries(request.stored_project) if query.query_id in judged]
    if not queries:
        problem = "no query of the project has judgments in it"
        raise RequestRefused(400, "no-queries", f"judgments: {problem}.", field="judgments")
    return queries


def _ask(request: WebRequest, configuration: Configuration, queries: list[Query]) -> Run:
    """The lists of an engine, which are cached for some minutes."""
    rate = request.config.engines.limit_rate(_MAX_RATE)
    timeout = min(configuration.engine.timeout, LIVE_SECONDS)
    limited = replace(
        configuration,
        engine=replace(configuration.engine, timeout=timeout),
        pace=Pace(retries=0, rate=rate, give_up=3),
    )

    def make_lists() -> Run:
        if not _free_places.acquire(blocking=False):
            problem = "Too many engines are being measured at the moment; try again."
            raise RequestRefused(503, "too-many-requests", problem, again=5)
        try:
            result = snapshot(limited, queries)
        except RankgateError as error:
            raise _NoListsError(error.problem) from None
        finally:
            _free_places.release()
        failures = result.queries.drop_nulls("error")["error"].to_list()
        if failures or result.run is None:
            raise _NoListsError(failures[0] if failures else "the engine gave no answer")
        return result.run

    key = ("sandbox", request.project.id, limited.sha256, *(query.query_id for query in queries))
    return request.cache.get(key, make_lists, changes=True, shortest=_KEEP_SECONDS)


def _compare(qrels: Qrels, queries: list[Query], runs: dict[str, Run], metric: str) -> PageRow:
    """The metric of the edited engine, and its difference from the engine as it is kept."""
    texts = {query.query_id: query.text for query in queries}
    judged = replace(qrels, table=qrels.table.filter(pl.col("query_id").is_in(list(texts))))
    [comparison] = compare(judged, runs, metrics=[metric]).comparisons
    [row] = comparison.metrics.to_dicts()
    value, low, high = mean_with_interval(comparison.queries["candidate"].to_numpy().astype(np.float64))
    shares = {
        row["k"]: row["share"] for row in comparison.judged_shares.to_dicts() if row["system"] == "edited"
    }
    moved = [
        {"query": texts[query["query_id"]], "delta": query["delta"]}
        for query in sorted(comparison.queries.to_dicts(), key=lambda query: -abs(query["delta"] or 0.0))[:5]
        if query["delta"]
    ]
    return {
        "value": value,
        "low": low,
        "high": high,
        "delta": row["delta"],
        "delta_low": row["low"],
        "delta_high": row["high"],
        "depth": comparison.depth,
        "unjudged": 1 - shares[comparison.depth],
        "moved": moved,
    }


def sandbox_fields(kind: EngineKind) -> tuple[Field, ...]:
    """The form fields of the sandbox for a kind of engine."""
    return (
        Field("judgments", "Judgments", required=True, most=200, options=list_judgment_names),
        WATCHED_METRIC,
        *(engine_field(kind.parameters[name], {}) for name in _editable_settings(kind)),
        Field("seen", kind="text", most=64, unset="", help="The state that was changed."),
        Field("preview", kind="flag", help="Only measure, without saving the engine."),
    )


for engine_kind in ENGINES.all_objects:
    action(
        f"sandbox-{engine_kind.name}",
        f"{_SANDBOX_PATH}/{engine_kind.name}",
        MANAGING_ROLES,
        "Keep it and take a snapshot",
        *sandbox_fields(engine_kind),
    )(sandbox_handler(engine_kind))
