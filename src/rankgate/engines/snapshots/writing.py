"""What a snapshot leaves on disk: the run and its companions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.target import replacing
from rankgate.data.formats import registry, run_meta
from rankgate.data.formats.snapshot_files import PARTIAL, RESULT
from rankgate.data.place import Place
from rankgate.data.run import SCHEMA, Run
from rankgate.data.text.json_text import dumped
from rankgate.data.write import write_run
from rankgate.engines.snapshots.outcome import Outcome, Outcomes
from rankgate.engines.snapshots.served_order import untied
from rankgate.engines.snapshots.snapshot import QUERIES, Lists, Snapshot

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Query

DOCUMENTS = ".docs.jsonl"
"""The end of the name of a run's display fields."""

HELD = "csv"
"""The format of runs that nobody names: it holds every id."""

_PLAIN = re.compile(r"[A-Za-z0-9_.:/-]+")  # ids that every format holds
_PIECE = 1 << 16  # rows of the run at one time


@dataclass(frozen=True)
class Target:
    """Where a run goes.

    Attributes:
        path: the file.
        format: of the run; None where it stays in memory.
    """

    path: Path
    format: Format | None

    def ready(self, *, force: bool) -> None:
        """Refuse to replace a finished snapshot, unless it is to be.

        What is to be replaced stays until the new snapshot is written.

        Raises:
            UsageError: the output exists.
        """
        if force:
            Path(f"{self.path}{PARTIAL}").unlink(missing_ok=True)
        elif self.path.exists() and not self._unfinished():
            raise UsageError(
                f"{self.path}: exists already; name another output, or add --force to replace it.",
                code="output-exists",
            )

    def refuse_unheld(self, query_id: str, doc_ids: Iterable[str] = ()) -> None:
        """Refuse ids that the format cannot hold, as they would be written as other ones.

        Raises:
            UsageError: the id, and the formats that can hold it.
        """
        ids = [doc_id for doc_id in doc_ids if not _PLAIN.fullmatch(doc_id)]
        if self.format is None or (not ids and _PLAIN.fullmatch(query_id)):
            return
        if _holds(self.format, query_id, ids):
            return
        lost = next((doc_id for doc_id in ids if not _holds(self.format, "q", [doc_id])), None)
        what = f"query {query_id!r}" if lost is None else f"document {lost!r} of query {query_id!r}"
        names = [
            other.name
            for other in registry.FORMATS
            if other.streams and "runs" in other.holds and _holds(other, query_id, ids)
        ]
        raise UsageError(
            f"{self.path}: {self.format.name} cannot hold the id of {what}; add --to with one of "
            f"{', '.join(names)}, and the same command goes on.",
            code="invalid-id",
        )

    def write(self, result: Snapshot, outcomes: Outcomes) -> Snapshot:
        """Write the run and its companions; return the snapshot with what the format lost."""
        if self.format is None or result.run is None:
            return result
        losses = write_run(result.run, self.path, self.format)
        result = replace(result, lost=tuple(each.words for each in losses))
        run_meta.write(result.queries, run_meta.companion_of(self.path))
        if outcomes.seen:
            with replacing(f"{self.path}{DOCUMENTS}") as stream:
                for doc_id, values in outcomes.shown():
                    row = {"doc_id": doc_id, **values}
                    stream.write(dumped(row).encode() + b"\n")
        else:  # those of an earlier snapshot
            Path(f"{self.path}{DOCUMENTS}").unlink(missing_ok=True)
        with replacing(f"{self.path}{RESULT}") as stream:
            stream.write(json.dumps(result.to_dict(), indent=1).encode() + b"\n")
        return result

    def _unfinished(self) -> bool:
        return Path(f"{self.path}{PARTIAL}").exists()


def _holds(format_: Format, query_id: str, doc_ids: Sequence[str]) -> bool:
    """True if a format writes ids as they are."""
    ids = list(dict.fromkeys(doc_ids)) or ["d"]
    table = pl.DataFrame(
        {"query_id": query_id, "doc_id": ids, "score": range(len(ids), 0, -1)}, schema=SCHEMA
    )
    try:
        return not write_run(Run("run", lambda: iter([table])), BytesIO(), format_)
    except RankgateError:  # two ids that would become one
        return False


def gathered(
    outcomes: Outcomes, queries: Sequence[Query], chosen: Configuration
) -> tuple[Run, pl.DataFrame, Lists]:
    """The run, what is known of its queries, and what its lists are like."""
    rows, pieces, buffered = [], [], 0
    lists = Lists()
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA}
    choice = chosen.pace.scores
    for outcome in outcomes.stored(queries):
        rows.append(_row(outcome))
        count = len(outcome.doc_ids)
        scores, lists = _scored(outcome, lists, chosen.engine.depth, choice)
        columns["query_id"] += [outcome.query_id] * count
        columns["doc_id"] += outcome.doc_ids
        columns["score"] += scores
        buffered += count
        if buffered >= _PIECE:
            pieces.append(pl.DataFrame(columns, schema=SCHEMA))
            columns, buffered = {name: [] for name in SCHEMA}, 0
    pieces.append(pl.DataFrame(columns, schema=SCHEMA))
    by_rank = choice == "rank"
    lists = replace(
        lists, by_rank=by_rank or lists.unscored > 0, as_served=by_rank or choice == "served"
    )
    if lists.unscored and not by_rank:  # scores of some queries only mean nothing together
        return gathered(
            outcomes, queries, replace(chosen, pace=replace(chosen.pace, scores="rank"))
        )
    table = pl.DataFrame(rows, schema=QUERIES, orient="row")

    def again() -> Iterator[pl.DataFrame]:
        yield from pieces

    run = Run(chosen.name, again, queries=table, place=Place(chosen.name))
    return run, table, lists


def _row(outcome: Outcome) -> tuple[object, ...]:
    good = outcome.state in ("ok", "zero")
    return (
        outcome.query_id,
        outcome.state,
        outcome.latencies[-1] if good else None,
        len(outcome.latencies),
        outcome.error,
        len(outcome.doc_ids) if good else None,
        outcome.total,
        outcome.started_at or None,
        outcome.concurrency,
    )


def _scored(
    outcome: Outcome, lists: Lists, depth: int, choice: Literal["served", "engine", "rank"]
) -> tuple[list[float], Lists]:
    """The scores of a list, and the counts with it."""
    count = len(outcome.doc_ids)
    ranks = [float(count - place) for place in range(count)]
    lists = counted(outcome, lists, depth)
    if outcome.scores is None:
        return ranks, replace(lists, unscored=lists.unscored + bool(count))
    scores = np.asarray(outcome.scores)
    steps = np.diff(scores)
    tied = count - len(np.unique(scores))
    lists = replace(
        lists,
        unordered=lists.unordered + bool((steps > 0).any()),
        tied=lists.tied + tied,
    )
    if choice == "rank":
        return ranks, lists
    return untied(scores).tolist() if choice == "served" else list(outcome.scores), lists


def counted(outcome: Outcome, lists: Lists, depth: int) -> Lists:
    """The counts with one list, and with what it lacks."""
    count = len(outcome.doc_ids)
    returned = count + outcome.repeated + len(outcome.unusable)
    cut = outcome.total is not None and returned < min(depth, outcome.total)
    return replace(
        lists,
        documents=lists.documents + count,
        repeated=lists.repeated + outcome.repeated,
        shared=dict(Counter(lists.shared) + Counter(outcome.shared)),
        unusable=lists.unusable + len(outcome.unusable),
        unusable_example=lists.unusable_example or "".join(outcome.unusable[:1]),
        cut=lists.cut + cut,
        refused=lists.refused + (outcome.state == "failed" and not outcome.down),
        longest=max(lists.longest, returned) if cut else lists.longest,
        partial=lists.partial + bool(outcome.partial),
        partial_reason=lists.partial_reason or outcome.partial,
    )
