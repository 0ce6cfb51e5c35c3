"""What an engine returned for every query, as a run: the result of the verb ``snapshot``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from typing import Any, ClassVar

import polars as pl

# the codec reads the types of fields when it restores a result
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encoded
from rankgate.core.present.result import Notice, Result
from rankgate.data import Run
from rankgate.data.formats.snapshot_files import CAUTIONS
from rankgate.engines.engine import Facts

QUERIES = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "attempts": pl.Int64,
    "error": pl.String,
    "returned": pl.Int64,
    "total_hits": pl.Int64,
    "started_at": pl.String,
    "concurrency": pl.Int64,
}


_CARRIED = frozenset(
    {
        "index-changed", "cut-lists", "partial-answers", "shared-ids", "unusable-ids",
        "repeated-documents",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Lists:
    """What the lists of a snapshot are like.

    Attributes:
        documents: rows of the run.
        repeated: documents that came again in one answer, and count once.
        tied: documents whose score another document of the list has.
        unordered: queries whose scores do not fall from rank to rank.
        unscored: queries whose documents have no scores.
        by_rank: whether the run's scores were made of the ranks.
        as_served: whether equal scores were made different, in the order that was served.
        unusable: documents without an id that a file could hold.
        unusable_example: what came instead of the first such id.
        shared: documents that came again from another index, by the names of both.
        cut: queries with fewer documents than were asked for, though more match.
        longest: the most documents that such a query has.
        partial: queries whose answers may lack documents.
        partial_reason: why the first of them may.
        refused: queries that the engine refused, and would refuse again.
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
        engine_kind: what it is.
        configuration: a hash of its settings, without secrets.
        parameters: of its request.
        depth: documents that were asked for.
        facts: what the engine said of itself.
        finished: whether every query was asked.
        problem: why it was not.
        seconds: that asking took, in this call.
        asked: queries that were asked in this call; earlier ones were kept.
        lists: what the lists are like.
        queries: ``query_id``, ``state``, ``latency_ms`` of the answer, ``attempts``, ``error``,
            ``returned``, ``total_hits``, ``started_at``, ``concurrency`` (queries that were asked
            at the same time).
        changed: what the engine first said of itself or its index and said otherwise later.
        output: the file of the run; None if there is none.
        lost: what the format of the run's file could not hold.
        run: the run; None in a result that was read from JSON.
    """

    kind: ClassVar[str] = "snapshot"
    label: ClassVar[str] = "Snapshot of an engine"
    document_from: ClassVar[str] = "rankgate.engines.documents.engines:document"
    order: ClassVar[int] = 29
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"queries": QUERIES}

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
    changed: tuple[str, ...] = ()
    output: str | None = None
    lost: tuple[str, ...] = ()
    run: Run | None = field(default=None, compare=False, repr=False)

    @property
    def failed(self) -> bool:
        """Whether no query was answered."""
        return not self.states["ok"] + self.states["zero"]

    @property
    def states(self) -> Mapping[str, int]:
        """Queries by state."""
        counted = self.queries.group_by("state").len()
        found = dict(counted.iter_rows())
        return {state: found.get(state, 0) for state in ("ok", "zero", "failed", "not_run")}

    @property
    def latency(self) -> Mapping[str, float | None]:
        """Quantiles of the answers' latencies, in milliseconds."""
        taken = self.queries["latency_ms"].drop_nulls()
        return {
            f"p{share:g}": None if taken.is_empty() else taken.quantile(share / 100, "linear")
            for share in (50, 90, 95, 99, 100)
        }

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader of the run should know."""
        return tuple(_notices(self))

    @property
    def cautions(self) -> dict[str, str]:
        """By code the notices that every result of the run's scores has too."""
        return {each.code: each.text for each in self.notices if each.code in _CARRIED}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the rows of the run."""
        shown = {each.name: encoded(getattr(self, each.name)) for each in fields(self)[:-1]}
        return {**self.head(), **shown, CAUTIONS: self.cautions}

    def _table(self) -> pl.DataFrame:
        return self.queries


def _notices(result: Snapshot) -> list[Notice]:
    states, lists, found = result.states, result.lists, []
    if not result.finished:
        found.append(
            Notice(
                "unfinished-snapshot",
                f"unfinished: {states['not_run']:,} of {len(result.queries):,} queries were not "
                f"asked ({result.problem or 'interrupted'}); the same command again goes on",
            )
        )
    if result.changed:
        found.append(
            Notice(
                "index-changed",
                f"the engine or its index changed under way ({'; '.join(result.changed)}), so that "
                "queries were not all asked of the same index",
            )
        )
    if states["failed"]:
        errors = result.queries.filter(pl.col("state") == "failed")["error"]
        first = errors.value_counts(sort=True)["error"][0]
        found.append(
            Notice(
                "failed-queries",
                f"{states['failed']:,} queries failed, most often: {first}{_remedy(result)}",
            )
        )
    if lists.unordered and not lists.by_rank:
        found.append(
            Notice(
                "scores-not-in-order",
                f"in {lists.unordered:,} queries the scores do not fall from rank to rank, so that "
                'a tool that sorts by score sees another ranking; scores = "rank" keeps the '
                "engine's order",
            )
        )
    if lists.tied and not lists.by_rank:
        order = (
            'are scored in the order in which they were served; scores = "engine" leaves their '
            "scores equal, and conventions order them"
            if lists.as_served
            else 'tools order these by id; scores = "served" keeps the engine\'s order'
        )
        found.append(
            Notice(
                "tied-scores",
                f"{lists.tied:,} of {lists.documents:,} documents have the score of another one of "
                f"their list, and {order}",
            )
        )
    found += [
        Notice("lost-in-format", f"the format of {result.output} cannot hold {each}; try .csv")
        for each in result.lost
    ]
    return [*found, *incomplete(result.lists, result.depth)]


def _remedy(result: Snapshot) -> str:
    """What to do about queries that failed; a query that was refused will be so again."""
    failed, refused = result.states["failed"], result.lists.refused
    if refused == failed:
        return "; they were refused, which --again changes only where the cause is gone"
    return "; --again asks them anew"


def incomplete(lists: Lists, depth: int) -> Iterator[Notice]:
    """What is missing in lists, which their values do not show."""
    if lists.cut:
        yield Notice(
            "cut-lists",
            f"{lists.cut:,} queries have {lists.longest:,} documents or fewer, though more match "
            f"and {depth:,} were asked for: metrics that look deeper are too low; check the "
            "size of the request, and what the server allows",
        )
    if lists.partial:
        yield Notice(
            "partial-answers",
            f"{lists.partial:,} answers may lack documents ({lists.partial_reason})",
        )
    shared = sum(lists.shared.values())
    if shared:
        pairs = ", ".join(f"{count:,} of {names}" for names, count in lists.shared.items())
        yield Notice(
            "shared-ids",
            f"{shared:,} documents lost their place, as two indices have the same id ({pairs}); "
            "set id to a field that is different in each",
        )
    if repeated := lists.repeated - shared:
        yield Notice(
            "repeated-documents",
            f"{repeated:,} documents came again in one answer; the first place counts",
        )
    if lists.unusable:
        yield Notice(
            "unusable-ids",
            f"{lists.unusable:,} documents lost their place, as they have no id that a file can "
            f"hold (such as {lists.unusable_example})",
        )
