"""The results of the verbs ``snapshot`` and ``compare_engines``.

The result of ``snapshot`` is an engine's results for every query, as a run. The result of
``compare_engines`` is about two engines that get queries in turn under the same load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, NoticeTexts, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID
from rankgate.core.present.layout import NOTICES, FactTable, Sentence, View, fill
from rankgate.core.present.number_formats import UNDEFINED
from rankgate.data import Run
from rankgate.data.query_latencies import (
    SHARES_TO_LARGEST,
    Bounds,
    bounds_columns,
    bounds_row,
    latency_bounds,
    query_latencies,
)
from rankgate.engines.engine import ENGINE_FACTS, Facts

# the codec reads the types of fields when it restores a result

SNAPSHOT_QUERIES = Columns(
    "One row per query.",
    QUERY_ID,
    Column("state", pl.String, "how it ended: ok, zero, failed or not_run"),
    Column(
        "latency_ms",
        pl.Float64,
        "the time from its first send, or its arrival, to its answer, with all attempts and pauses",
        ".1f",
        unit="ms",
    ),
    Column("censored", pl.Boolean, "true if it failed, so that its latency is at least latency_ms"),
    Column("latency_from", pl.String, "where its latency begins: first send or arrival"),
    Column("last_attempt_ms", pl.Float64, "the time of the last attempt", ".1f", unit="ms"),
    Column(
        "waited_ms",
        pl.Float64,
        "the part of latency_ms outside of attempts: pauses, and the wait for a connection",
        ".1f",
        unit="ms",
    ),
    Column("attempts", pl.Int64, "how often it was sent"),
    Column("error", pl.String, "the error of the last attempt; null where there is none"),
    Column("returned", pl.Int64, "documents that the engine returned", unit="documents"),
    Column(
        "total_hits",
        pl.Int64,
        "documents found, as reported by the engine; null if not reported",
        unit="documents",
    ),
    Column("started_at", pl.String, "when it was sent"),
    Column("concurrency", pl.Int64, "queries that were sent at the same time"),
    Column("rate", pl.Float64, "queries a second, at most; null: no limit", unit="1/s"),
    Column("arrival_rate", pl.Float64, "queries that arrived in a second; null: none did", unit="1/s"),
)


_LOAD_COLUMNS = ("concurrency", "rate", "arrival_rate")
_PACE = Columns(
    "One row.",
    *bounds_columns(
        *(
            Column(name, pl.Float64, "a latency", ",.1f", "ms", f"{header}\nms")
            for name, header in {
                "mean": "mean",
                "p50": "median",
                **{name: name for name in ("p90", "p95", "p99")},
                "p100": "largest",
            }.items()
        )
    ),
    Column("seconds", pl.Float64, "the time that asking took", ",.1f", "s", "asked in\ns"),
    Column("rate", pl.Float64, "queries a second", ",.1f", "1/s", "queries\na second"),
)
_RUN_CAUTIONS = frozenset(
    {"index-changed", "cut-lists", "partial-answers", "shared-ids", "unusable-ids", "repeated-documents"}
)


@dataclass(frozen=True)
class Lists:
    """Counts about the lists of a snapshot.

    Attributes:
        documents: rows of the run.
        repeated: the number of documents that appear again in one answer, and count once.
        tied: the number of documents with the same score as another document of the list.
        unordered: queries with scores that do not fall from rank to rank.
        unscored: queries with documents without scores.
        by_rank: True if the run's scores are made from the ranks.
        as_served: True if equal scores were made different, to keep the served order.
        unusable: documents without an id that a file could hold.
        unusable_example: the value in place of the first such id.
        shared: the number of documents that came again from another index, by the names of both
            indexes.
        cut: queries with fewer documents than requested, though more match.
        longest: the largest number of documents of such a query.
        partial: queries with answers that may lack documents.
        partial_reason: the reason of the first such query.
        refused: the number of queries that the engine refused, and would refuse again.
    """

    documents: int = 0
    repeated: int = 0
    tied: int = 0
    unordered: int = 0
    unscored: int = 0
    by_rank: bool = False
    as_served: bool = False
    unusable: int = 0
    unusable_example: str = ""
    shared: Mapping[str, int] = field(default_factory=dict)
    cut: int = 0
    longest: int = 0
    partial: int = 0
    partial_reason: str = ""
    refused: int = 0

    @property
    def order_of_ties(self) -> str:
        """The order of documents with equal scores, and how to have another one."""
        if self.as_served:
            return (
                'are scored in the order of the answers; scores = "engine" leaves their scores equal, and '
                "conventions order them"
            )
        return 'tools order these by id; scores = "served" keeps the engine\'s order'

    @property
    def shared_count(self) -> int:
        """The number of documents that came again from another index."""
        return sum(self.shared.values())

    @property
    def shared_pairs(self) -> list[str]:
        """The number of such documents by the names of both indexes."""
        return [f"{count:,} of {names}" for names, count in self.shared.items()]

    @property
    def repeated_in_index(self) -> int:
        """The number of documents that appear again in one answer of an index."""
        return self.repeated - self.shared_count


PLAIN_SECRETS = NoticeText(
    "secret-in-settings",
    "the file of the engine holds secrets as plain text ({plain_secrets}); write the name of an environment "
    "variable as ${{NAME}}",
    "plain_secrets",
)
"""The notice about settings that hold a secret as plain text."""

INCOMPLETE_LISTS: NoticeTexts = (
    PLAIN_SECRETS,
    NoticeText(
        "cut-lists",
        "{lists.cut:n query has/queries have} {lists.longest:n document} or fewer, though more match and "
        "{depth:,} were requested: metrics that look deeper are too low; check the size of the request, and "
        "the server's limit",
        "lists.cut",
    ),
    NoticeText(
        "partial-answers",
        "{lists.partial:n answer may/answers may} lack documents ({lists.partial_reason})",
        "lists.partial",
    ),
    NoticeText(
        "shared-ids",
        "{lists.shared_count:n document was/documents were} left out, as two indices have the same id "
        "({lists.shared_pairs}); set id to a field that is different in each",
        "lists.shared_count",
    ),
    NoticeText(
        "repeated-documents",
        "{lists.repeated_in_index:n document appears/documents appear} again in one answer; the first "
        "position counts",
        "lists.repeated_in_index",
    ),
    NoticeText(
        "unusable-ids",
        "{lists.unusable:n document was/documents were} left out, as {lists.unusable:v it has/they have} no "
        "id that a file can hold (such as {lists.unusable_example})",
        "lists.unusable",
    ),
)
"""Notices about secrets in settings, and about missing parts of lists, which metric values do not show."""


@dataclass(frozen=True)
class Snapshot(Result):
    """A snapshot of an engine.

    Attributes:
        engine: its name.
        engine_kind: its kind.
        configuration: a hash of its settings, without secrets.
        parameters: of its request.
        depth: documents requested.
        facts: the facts that the engine gave about itself.
        finished: True if every query was sent.
        problem: the reason why some were not.
        seconds: that asking took, in this call.
        asked: queries sent in this call; earlier ones were kept.
        lists: counts about the lists.
        queries: the columns of `SNAPSHOT_QUERIES`.
        latency_from: where latencies begin: ``first send``, ``arrival`` for queries at an arrival
            rate; ``last attempt``, of answered queries only, in snapshots of earlier versions.
        changed: facts about the engine or its index that changed during the snapshot.
        texts: hashes of the stored texts of returned documents, by the hash of a document's id, of at
            most 1,000 documents; empty if the engine returns no texts.
        output: the file of the run, or None.
        lost: parts that the format of the run's file could not hold.
        plain_secrets: the names of settings that hold a secret as plain text.
        run: the run; None in a result that was read from JSON.
    """

    kind = "snapshot"
    DERIVED: ClassVar[tuple[str, ...]] = ("cautions",)
    label = "Snapshot of an engine"
    order = 29
    headline_text = "Snapshot of {engine}: {queries:n query}, {state_text}; {lists.documents:n document}"
    layout = (
        View("pace", "latency", ("p50", "p90", "p95", "p99", "p100", "seconds", "rate"), _PACE, keys=0),
        FactTable(
            "engine",
            (
                *ENGINE_FACTS,
                ("configuration", "{configuration:.12}"),
                ("depth", "{depth:,}"),
                "load",
                ("latency from", "{latency_from}"),
                "parameter_facts",
            ),
        ),
        View(
            "queries",
            "failed",
            ("query_id", "attempts", "error"),
            headers={"attempts": "tries"},
            row_filter=pl.col("state") == "failed",
            first=10,
        ),
        NOTICES,
        Sentence("Written to {output}.", "output"),
    )
    SCHEMAS: ClassVar = {"queries": SNAPSHOT_QUERIES}
    notice_texts = (
        NoticeText(
            "unfinished-snapshot",
            "unfinished: {states[not_run]:,} of {queries:n query} {states[not_run]:v was/were} not asked "
            "({stop_reason}); run the same command again to continue",
            lambda snapshot: not snapshot.finished,
        ),
        NoticeText(
            "index-changed",
            "the engine or its index changed during the snapshot ({changed:; }), so that queries were not "
            "all asked of the same index",
            "changed",
        ),
        NoticeText(
            "failed-queries",
            "{states[failed]:n query} failed, most often: {first_error}; {failure_advice}",
            "states[failed]",
        ),
        NoticeText(
            "retried-queries",
            "{retried[count]:n query was/queries were} sent again ({retried[share]:.1%} of all); latencies "
            "count from {retried[begin]}",
            "retried[count]",
        ),
        NoticeText(
            "scores-not-in-order",
            "in {lists.unordered:n query} the scores do not fall from rank to rank, so that a tool that "
            'sorts by score sees another ranking; scores = "rank" keeps the engine\'s order',
            lambda snapshot: snapshot.lists.unordered and not snapshot.lists.by_rank,
        ),
        NoticeText(
            "tied-scores",
            "{lists.tied:,} of {lists.documents:,} documents have the same score as another one of their "
            "list, and {lists.order_of_ties}",
            lambda snapshot: snapshot.lists.tied and not snapshot.lists.by_rank,
        ),
        NoticeText("lost-in-format", "the format of {output} cannot hold {row}; try .csv", source="lost"),
        *INCOMPLETE_LISTS,
    )

    engine: str
    engine_kind: str
    configuration: str
    parameters: Mapping[str, Any]
    depth: int
    facts: Facts
    finished: bool
    problem: str
    seconds: float
    asked: int
    lists: Lists
    queries: pl.DataFrame
    latency_from: str = "last attempt"
    changed: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    output: str | None = None
    lost: tuple[str, ...] = ()
    plain_secrets: tuple[str, ...] = ()
    run: Run | None = field(default=None, compare=False, repr=False, metadata={"stored": False})

    @property
    def failed(self) -> bool:
        """True if no query was answered."""
        return not self.states["ok"] + self.states["zero"]

    @property
    def states(self) -> Mapping[str, int]:
        """Queries by state."""
        state_counts = self.queries.group_by("state").len()
        count_of_state = dict(state_counts.iter_rows())
        return {state: count_of_state.get(state, 0) for state in ("ok", "zero", "failed", "not_run")}

    @property
    def latency_bounds(self) -> Mapping[str, Bounds]:
        """The mean and quantiles of the latencies of all queries that were sent, in milliseconds.

        Each is a smallest and a largest possible value, as latencies of failed queries are lower
        bounds; the largest is None where they leave it open.
        """
        return latency_bounds(query_latencies(self.queries), SHARES_TO_LARGEST)

    @property
    def latency(self) -> Mapping[str, float | None]:
        """The smallest possible quantiles, p50 to p100, of `latency_bounds`."""
        return {name: low for name, (low, _) in self.latency_bounds.items() if name != "mean"}

    @property
    def state_text(self) -> str:
        """The number of queries in each state, in words."""
        states = self.states
        rare = {"failed": states["failed"], "not asked": states["not_run"]}
        parts = [f"{states['ok']:,} with results", f"{states['zero']:,} without"]
        return ", ".join(parts + [f"{count:,} {state}" for state, count in rare.items() if count])

    @property
    def pace(self) -> pl.DataFrame:
        """One row: the bounds of each latency, the seconds that asking took, and queries a second."""
        rate = self.asked / self.seconds if self.seconds and self.asked else None
        return pl.DataFrame(
            [{**bounds_row(self.latency_bounds), "seconds": self.seconds, "rate": rate}], _PACE
        )

    @property
    def load(self) -> Mapping[str, str]:
        """The concurrency and rates of the queries, by name."""
        values = {name: self.queries[name].drop_nulls().unique().sort() for name in _LOAD_COLUMNS}
        return {name: " and ".join(map("{:g}".format, rates)) for name, rates in values.items() if len(rates)}

    @property
    def parameter_facts(self) -> Mapping[str, str]:
        """The parameters of the request, by label."""
        return {f"parameter {name}": str(value) for name, value in self.parameters.items()}

    @property
    def stop_reason(self) -> str:
        """The reason why queries were not asked."""
        return self.problem or "interrupted"

    @property
    def first_error(self) -> str:
        """The most frequent error of failed queries."""
        errors = self.queries.filter(pl.col("state") == "failed")["error"]
        return str(errors.value_counts(sort=True)["error"][0])

    @property
    def failure_advice(self) -> str:
        """The advice on failed queries; a refused query will be refused again."""
        if self.lists.refused == self.states["failed"]:
            return "they were refused, and --again helps only after the cause is fixed"
        return "--again sends them again"

    @property
    def retried(self) -> Mapping[str, object]:
        """The count and the share of queries that were sent again, and where their latencies begin."""
        count = int((self.queries["attempts"] > 1).sum())
        begin = "their arrival" if self.latency_from == "arrival" else "the first send"
        return {"count": count, "share": count / max(len(self.queries), 1), "begin": begin}

    @property
    def cautions(self) -> dict[str, str]:
        """The notices that every result of the run's scores also has, by code."""
        return {notice.code: notice.text for notice in self.notices if notice.code in _RUN_CAUTIONS}


LATENCY = Columns(
    "One row per statistic, over the queries that both engines got.",
    Column("statistic", pl.String, "mean, p50 or p95"),
    *bounds_columns(
        Column("baseline", pl.Float64, "the latency of the baseline", ",.2f", unit="ms"),
        Column("candidate", pl.Float64, "the latency of the candidate", ",.2f", unit="ms"),
    ),
    Column(
        "delta",
        pl.Float64,
        "candidate − baseline; null where failed queries leave it open",
        "+z.2f",
        unit="ms",
    ),
    Column("low", pl.Float64, "the low end of the interval of delta; null: none", "+z.2f", unit="ms"),
    Column("high", pl.Float64, "the high end of the interval of delta; null: none", "+z.2f", unit="ms"),
)
COMPARED_QUERIES = Columns(
    "One row per query.",
    QUERY_ID,
    Column("first", pl.String, "the engine that got the query first"),
    Column("baseline_state", pl.String, "the state of the query with the baseline"),
    Column("candidate_state", pl.String, "the state of the query with the candidate"),
    Column("baseline_ms", pl.Float64, "the latency of the baseline; if it failed, at least", unit="ms"),
    Column("candidate_ms", pl.Float64, "the latency of the candidate; if it failed, at least", unit="ms"),
    Column("delta_ms", pl.Float64, "candidate_ms − baseline_ms, where both answered", unit="ms"),
)


@dataclass(frozen=True)
class EngineComparison(Result):
    """Snapshots of two engines with interleaved queries.

    Attributes:
        baseline, candidate: the snapshots.
        pairs: queries that both engines got; their latencies are compared.
        censored: those of them that failed with one of the engines or both.
        latency: the columns of `LATENCY`.
        queries: the columns of `COMPARED_QUERIES`.
        level: of the intervals.
        resamples: of the pairs.
        seed: of the order and the resampling.
    """

    kind = "engine_comparison"
    label = "Comparison of two engines"
    order = 30
    main_table = "queries"
    headline_text = "{names[1]} against {names[0]}, queried in turn: {queries:n query}{median_text}"
    layout = (
        View(
            "latency",
            "latency in ms",
            ("statistic", "baseline", "candidate", "delta", ("low", "high")),
            headers={
                "statistic": " ",
                "baseline": "{names[0]}",
                "candidate": "{names[1]}",
                "delta": "difference",
                "low": "{level:.0%} interval",
            },
        ),
        View("states", "states"),
        View("facts", "engines"),
        Sentence(
            "Each query was sent to both engines, one right after the other; {names[0]} was first in "
            "{first:,} of {queries.height:,}. Differences are over {pairs:n pair}; intervals ({level:.0%}) "
            "are from {resamples:,} resamples of the pairs."
        ),
        NOTICES,
        Sentence("Written to {outputs}.", "outputs"),
    )
    SCHEMAS: ClassVar = {"latency": LATENCY, "queries": COMPARED_QUERIES}
    notice_texts = (
        "engine_notices",
        NoticeText(
            "unpaired-queries",
            "latencies are those of the {pairs:,} of {queries:n query} that both engines got",
            lambda comparison: comparison.pairs < len(comparison.queries),
        ),
        NoticeText(
            "censored-latencies",
            "{censored:n query} failed with one of the engines or both: the time until a query was given up "
            "is a lower bound of its latency, so that statistics and differences are bounds too where it "
            "decides them",
            "censored",
        ),
    )

    baseline: Snapshot
    candidate: Snapshot
    pairs: int
    latency: pl.DataFrame
    queries: pl.DataFrame
    level: float
    resamples: int
    seed: int
    censored: int = 0

    @property
    def finished(self) -> bool:
        """True if both engines got every query."""
        return self.baseline.finished and self.candidate.finished

    @property
    def failed(self) -> bool:
        """True if one of the engines answered no query."""
        return self.baseline.failed or self.candidate.failed

    @property
    def names(self) -> tuple[str, str]:
        """The names of the engines, with a suffix where they are the same."""
        baseline, candidate = self.baseline.engine, self.candidate.engine
        return (
            (baseline, candidate)
            if baseline != candidate
            else (f"{baseline} (baseline)", f"{candidate} (candidate)")
        )

    @property
    def engine_notices(self) -> list[Notice]:
        """The notices of both engines with their names."""
        return [
            replace(notice, text=f"{name}: {notice.text}", subject=name)
            for name, snapshot in zip(self.names, self._snapshots, strict=True)
            for notice in snapshot.notices
        ]

    @property
    def median_text(self) -> str:
        """The difference of the median latencies, as the end of the headline."""
        (row,) = LATENCY.grid(self.latency.filter(statistic="p50"), "delta", ("low", "high")).rows
        text = " ms ".join(text for text in row if text != UNDEFINED)
        return text and f"; median latency {text}{'' if ' ms ' in text else ' ms'}"

    @property
    def first(self) -> int:
        """The number of queries that the baseline got first."""
        return int((self.queries["first"] == "baseline").sum())

    @property
    def outputs(self) -> str:
        """The files of the runs."""
        return " and ".join(snapshot.output for snapshot in self._snapshots if snapshot.output)

    @property
    def states(self) -> pl.DataFrame:
        """The number of queries by engine and state."""
        headers = ("ok", "zero results", "failed", "not run")
        rows = [
            (name, *snapshot.states.values())
            for name, snapshot in zip(self.names, self._snapshots, strict=True)
        ]
        return pl.DataFrame(rows, ["engine", *headers], orient="row")

    @property
    def facts(self) -> pl.DataFrame:
        """The facts about both engines, side by side."""
        facts = (*ENGINE_FACTS, ("configuration", "{configuration:.12}"))
        columns = {
            name: [fill(text, snapshot) or "–" for _, text in facts]
            for name, snapshot in zip(self.names, self._snapshots, strict=True)
        }
        return pl.DataFrame({" ": [label for label, _ in facts], **columns})

    @property
    def _snapshots(self) -> tuple[Snapshot, Snapshot]:
        return self.baseline, self.candidate
