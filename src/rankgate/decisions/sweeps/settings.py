"""The keys of a sweep's file."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal

from rankgate.core.declare import Range
from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Settings:
    """The keys of ``[sweep]``.

    Attributes:
        engine: The file of the engine to sweep; else [fuse] or [command] says what is swept.
        queries: The file of the queries that are asked.
        qrels: The file of the judgments.
        metrics: Metrics such as nDCG@10; the first one decides.
        depth: How many documents are asked for; as the engine's file says without it.
        convention: The convention of the metrics.
        search: Every combination of values (grid), or proposals of Optuna's TPE (optuna).
        trials: How many points Optuna proposes.
        limit: How many points a grid may have at most.
        workers: How many points are measured at the same time; one if there is set-up.
        latency: The quantile of latency for the Pareto front of quality against latency.
        folds: Parts of the queries for cross-validation.
        repeats: How often the queries are cut anew.
        level: The confidence level of the intervals.
        seed: The seed of folds and proposals.
    """

    engine: str | None = None
    queries: str | None = None
    qrels: str | None = None
    metrics: list[Any] = field(default_factory=lambda: ["nDCG@10"])
    depth: Annotated[int, Range(1, 10_000)] | None = None
    convention: str = "trec"
    search: Literal["grid", "optuna"] = "grid"
    trials: Annotated[int, Range(1, 100_000)] = 50
    limit: Annotated[int, Range(1, 100_000)] = 1000
    workers: Annotated[int, Range(1, 64)] = 1
    latency: Literal["p50", "p90", "p95", "p99"] = "p50"
    folds: Annotated[int, Range(2, 100)] = 5
    repeats: Annotated[int, Range(1, 1000)] = 10
    level: Annotated[float, Range(0, 1, exclusive=True)] = 0.95
    seed: Annotated[int, Range(0)] = 0


@dataclass(frozen=True)
class Fuse:
    """The keys of ``[fuse]``; parameters and weights may be names of dials in double braces.

    Attributes:
        runs: The files of the runs.
        method: The method of rankgate fuse.
        parameters: Its parameters, as in {k = "{{k}}"}.
        weights: A weight for each run.
        norm: The normalisation.
        depth: How many documents of each run count.
        keep: How many documents the fused run keeps.
    """

    runs: list[Any]
    method: str = "rrf"
    parameters: dict[str, Any] = field(default_factory=dict)
    weights: list[Any] = field(default_factory=list)
    norm: str | None = None
    depth: Annotated[int, Range(1)] | None = None
    keep: Annotated[int, Range(1)] | None = None


@dataclass(frozen=True)
class Program:
    """The keys of ``[command]``.

    Attributes:
        command: The program and its arguments; {{run}} is the file that it writes, and names in
            double braces represent dials.
        timeout: Seconds that it may take.
    """

    command: list[Any]
    timeout: Annotated[float, Range(0, exclusive=True)] = 3600.0


@dataclass(frozen=True)
class Step:
    """The keys of one ``[[setup]]`` or ``[[undo]]``: a request, SQL, or a command.

    Attributes:
        request: Method and URL, as in "PUT /shop/_settings"; a path is of the engine's server.
        body: The JSON of the request.
        headers: Headers; ${NAME} is an environment variable.
        ca: A file of certificates to trust instead of the system's.
        sql: A statement, or several, for the engine's database.
        command: A program and its arguments.
        timeout: Seconds that the step may take.
    """

    request: str | None = None
    body: dict[str, Any] | None = None
    headers: dict[str, Any] = field(default_factory=dict)
    ca: str | None = field(default=None, metadata={"path": True})
    sql: str | None = None
    command: list[Any] | None = None
    timeout: Annotated[float, Range(0, exclusive=True)] = 60.0
