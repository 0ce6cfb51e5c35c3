"""The results of the verbs ``snapshot`` and ``compare_engines``.

The result of ``snapshot`` is an engine's results for every query, as a run. The result of
``compare_engines`` is about two engines that get queries in turn under the same load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID
from rankgate.core.present.layout import NOTICES, FactTable, Layout, Sentence, View, fill
from rankgate.core.present.number_formats import UNDEFINED, count_noun
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

    kind: ClassVar[str] = "snapshot"
    DERIVED: ClassVar[tuple[str, ...]] = ("cautions",)
    label: ClassVar[str] = "Snapshot of an engine"
    order: ClassVar[int] = 29
    headline_text: ClassVar[str] = (
        "Snapshot of {engine}: {queries:n query}, {state_text}; {lists.documents:n document}"
    )
    layout: ClassVar[Layout] = (
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
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"queries": SNAPSHOT_QUERIES}

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
    def notices(self) -> tuple[Notice, ...]:
        """Notices for a reader of the run."""
        return tuple(_notices(self))

    @property
    def cautions(self) -> dict[str, str]:
        """The notices that every result of the run's scores also has, by code."""
        return {notice.code: notice.text for notice in self.notices if notice.code in _RUN_CAUTIONS}


def _notices(result: Snapshot) -> list[Notice]:
    states, lists, notices = result.states, result.lists, []
    if not result.finished:
        skipped = states["not_run"]
        notices.append(
            Notice(
                "unfinished-snapshot",
                f"unfinished: {skipped:,} of {count_noun(len(result.queries), 'query')} "
                f"{'was' if skipped == 1 else 'were'} not asked "
                f"({result.problem or 'interrupted'}); run the same command again to continue",
            )
        )
    if result.changed:
        notices.append(
            Notice(
                "index-changed",
                "the engine or its index changed during the snapshot "
                f"({'; '.join(result.changed)}), so that queries were not all asked of the same index",
            )
        )
    if states["failed"]:
        errors = result.queries.filter(pl.col("state") == "failed")["error"]
        first = errors.value_counts(sort=True)["error"][0]
        notices.append(
            Notice(
                "failed-queries",
                f"{count_noun(states['failed'], 'query')} failed, most often: "
                f"{first}{_failure_advice(result)}",
            )
        )
    if resent := int((result.queries["attempts"] > 1).sum()):
        notices.append(
            Notice(
                "retried-queries",
                f"{count_noun(resent, 'query was', 'queries were')} sent again "
                f"({resent / max(len(result.queries), 1):.1%} of all); latencies count from "
                f"{'their arrival' if result.latency_from == 'arrival' else 'the first send'}",
            )
        )
    if lists.unordered and not lists.by_rank:
        notices.append(
            Notice(
                "scores-not-in-order",
                f"in {count_noun(lists.unordered, 'query')} the scores do not fall from rank to rank, so "
                'that a tool that sorts by score sees another ranking; scores = "rank" keeps the '
                "engine's order",
            )
        )
    if lists.tied and not lists.by_rank:
        order = (
            'are scored in the order of the answers; scores = "engine" leaves their scores equal, and '
            "conventions order them"
            if lists.as_served
            else 'tools order these by id; scores = "served" keeps the engine\'s order'
        )
        notices.append(
            Notice(
                "tied-scores",
                f"{lists.tied:,} of {lists.documents:,} documents have the same score as another one of "
                f"their list, and {order}",
            )
        )
    notices += [
        Notice("lost-in-format", f"the format of {result.output} cannot hold {lost_part}; try .csv")
        for lost_part in result.lost
    ]
    notices += plain_secret_notices(result.plain_secrets)
    return [*notices, *incomplete_notices(result.lists, result.depth)]


def _failure_advice(result: Snapshot) -> str:
    """The advice on failed queries; a refused query will be refused again."""
    failed_count, refused_count = result.states["failed"], result.lists.refused
    if refused_count == failed_count:
        return "; they were refused, and --again helps only after the cause is fixed"
    return "; --again sends them again"


def plain_secret_notices(names: Sequence[str]) -> Iterator[Notice]:
    """A notice about settings that hold a secret as plain text."""
    if names:
        yield Notice(
            "secret-in-settings",
            f"the file of the engine holds secrets as plain text ({', '.join(names)}); write the name of an "
            "environment variable as ${NAME}",
        )


def incomplete_notices(lists: Lists, depth: int) -> Iterator[Notice]:
    """Notices about missing parts of lists, which metric values do not show."""
    if lists.cut:
        yield Notice(
            "cut-lists",
            f"{count_noun(lists.cut, 'query has', 'queries have')} "
            f"{count_noun(lists.longest, 'document')} or fewer, though more match and {depth:,} were "
            "requested: metrics that look deeper are too low; check the size of the request, and the "
            "server's limit",
        )
    if lists.partial:
        yield Notice(
            "partial-answers",
            f"{count_noun(lists.partial, 'answer may', 'answers may')} lack documents "
            f"({lists.partial_reason})",
        )
    shared_count = sum(lists.shared.values())
    if shared_count:
        pairs = ", ".join(f"{count:,} of {names}" for names, count in lists.shared.items())
        yield Notice(
            "shared-ids",
            f"{count_noun(shared_count, 'document was', 'documents were')} left out, as two indices have the "
            f"same id ({pairs}); set id to a field that is different in each",
        )
    if repeated := lists.repeated - shared_count:
        yield Notice(
            "repeated-documents",
            f"{count_noun(repeated, 'document appears', 'documents appear')} again in one answer; the first "
            "position counts",
        )
    if lists.unusable:
        yield Notice(
            "unusable-ids",
            f"{count_noun(lists.unusable, 'document was', 'documents were')} left out, as "
            f"{'it has' if lists.unusable == 1 else 'they have'} no id that a file can hold (such as "
            f"{lists.unusable_example})",
        )


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

    kind: ClassVar[str] = "engine_comparison"
    label: ClassVar[str] = "Comparison of two engines"
    order: ClassVar[int] = 30
    main_table: ClassVar[str] = "queries"
    headline_text: ClassVar[str] = (
        "{names[1]} against {names[0]}, queried in turn: {queries:n query}{median_text}"
    )
    layout: ClassVar[Layout] = (
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
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"latency": LATENCY, "queries": COMPARED_QUERIES}

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
    def notices(self) -> tuple[Notice, ...]:
        """Notices about each engine, and about unpaired queries."""
        notices = [
            replace(notice, text=f"{name}: {notice.text}", subject=name)
            for name, snapshot in zip(self.names, self._snapshots, strict=True)
            for notice in snapshot.notices
        ]
        if self.pairs < len(self.queries):
            notices.append(
                Notice(
                    "unpaired-queries",
                    f"latencies are those of the {self.pairs:,} of "
                    f"{count_noun(len(self.queries), 'query')} that both engines got",
                )
            )
        if self.censored:
            notices.append(
                Notice(
                    "censored-latencies",
                    f"{count_noun(self.censored, 'query')} failed with one of the engines or both: the time "
                    "until a query was given up is a lower bound of its latency, so that statistics and "
                    "differences are bounds too where it decides them",
                )
            )
        return tuple(notices)

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
