"""What a snapshot leaves on disk: the run and its companions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.formats import run_meta
from rankgate.data.place import Place
from rankgate.data.run import SCHEMA, Run
from rankgate.data.streams.target import replacing
from rankgate.data.text.json_text import dumped
from rankgate.data.write import write_run
from rankgate.engines.snapshots.outcome import SUFFIX, Outcome, Outcomes
from rankgate.engines.snapshots.snapshot import QUERIES, Lists, Snapshot
from rankgate.errors import UsageError
from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Query

DOCUMENTS, RESULT = ".docs.jsonl", ".snapshot.json"
"""The ends of the names of a run's companions: display fields, and the snapshot itself."""

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
            Path(f"{self.path}{SUFFIX}").unlink(missing_ok=True)
        elif self.path.exists() and not self._unfinished():
            raise UsageError(
                f"{self.path}: exists already; name another output, or add --force to replace it.",
                code="output-exists",
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
        return Path(f"{self.path}{SUFFIX}").exists()


def gathered(
    outcomes: Outcomes, queries: Sequence[Query], chosen: Configuration
) -> tuple[Run, pl.DataFrame, Lists]:
    """The run, what is known of its queries, and what its lists are like."""
    rows, pieces, buffered = [], [], 0
    lists = Lists()
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA}
    by_rank = chosen.pace.scores == "rank"
    for outcome in outcomes.stored(queries):
        rows.append(_row(outcome))
        count = len(outcome.doc_ids)
        scores, lists = _scored(outcome, lists, by_rank=by_rank)
        columns["query_id"] += [outcome.query_id] * count
        columns["doc_id"] += outcome.doc_ids
        columns["score"] += scores
        buffered += count
        if buffered >= _PIECE:
            pieces.append(pl.DataFrame(columns, schema=SCHEMA))
            columns, buffered = {name: [] for name in SCHEMA}, 0
    pieces.append(pl.DataFrame(columns, schema=SCHEMA))
    lists = replace(lists, by_rank=by_rank or lists.unscored > 0)
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
    )


def _scored(outcome: Outcome, lists: Lists, *, by_rank: bool) -> tuple[list[float], Lists]:
    """The scores of a list, and the counts with it."""
    count = len(outcome.doc_ids)
    ranks = [float(count - place) for place in range(count)]
    lists = replace(
        lists, documents=lists.documents + count, repeated=lists.repeated + outcome.repeated
    )
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
    return ranks if by_rank else list(outcome.scores), lists
