"""The files of a snapshot: the run and its companion files."""

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
from rankgate.core.output_files import replace_file
from rankgate.data.answers.engine_answers import break_ties
from rankgate.data.files.conversion import write_run
from rankgate.data.formats import registry, run_companions
from rankgate.data.formats.run_companions import FIELDS_SUFFIX, PARTIAL, RESULT
from rankgate.data.run import RUN_SCHEMA, Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.json_text import format_json
from rankgate.engines.snapshots.query_outcomes import Outcome, Outcomes
from rankgate.engines.snapshots.snapshot import SNAPSHOT_QUERIES, Lists, Snapshot

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Query


DEFAULT_FORMAT = "csv"
"""The default format of runs: it holds every id."""

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:/-]+")  # every format can hold these ids
_ROWS_AT_ONCE = 1 << 16  # rows of the run in one write


@dataclass(frozen=True)
class RunTarget:
    """The file of a run.

    Attributes:
        path: the file.
        format: the format of the run; None if it stays in memory.
    """

    path: Path
    format: Format | None

    def refuse_finished(self, *, force: bool) -> None:
        """Refuse to replace a finished snapshot without ``force``.

        The old snapshot stays until the new one is written.

        Raises:
            UsageError: the output exists.
        """
        if force:
            Path(f"{self.path}{PARTIAL}").unlink(missing_ok=True)
        elif self.path.exists() and not Path(f"{self.path}{PARTIAL}").exists():
            raise UsageError(
                f"{self.path}: exists already; name another output, or add --force to replace it.",
                code="output-exists",
            )

    def refuse_unheld(self, query_id: str, doc_ids: Iterable[str] = ()) -> None:
        """Refuse ids that the format cannot hold: the file would have different ids.

        Raises:
            UsageError: the id, and the formats that can hold it.
        """
        ids = [doc_id for doc_id in doc_ids if not _PLAIN_ID.fullmatch(doc_id)]
        if self.format is None or (not ids and _PLAIN_ID.fullmatch(query_id)):
            return
        if _can_hold(self.format, query_id, ids):
            return
        invalid_id = next((doc_id for doc_id in ids if not _can_hold(self.format, "q", [doc_id])), None)
        id_label = (
            f"query {query_id!r}" if invalid_id is None else f"document {invalid_id!r} of query {query_id!r}"
        )
        names = [
            run_format.name
            for run_format in registry.FORMATS
            if run_format.streams and "runs" in run_format.holds and _can_hold(run_format, query_id, ids)
        ]
        raise UsageError(
            f"{self.path}: {self.format.name} cannot hold the id of {id_label}; add --to with one of "
            f"{', '.join(names)}, and run the same command again to continue.",
            code="invalid-id",
        )

    def write(self, result: Snapshot, outcomes: Outcomes) -> Snapshot:
        """Write the run and its companion files; return the snapshot with the format's losses."""
        if self.format is None or result.run is None:
            return result
        losses = write_run(result.run, self.path, self.format)
        result = replace(result, lost=tuple(loss.words for loss in losses))
        run_companions.write(result.queries, run_companions.companion_path(self.path))
        if outcomes.seen:
            with replace_file(f"{self.path}{FIELDS_SUFFIX}") as stream:
                for doc_id, values in outcomes.display_fields():
                    row = {"doc_id": doc_id, **values}
                    stream.write(format_json(row).encode() + b"\n")
        else:  # remove the files of an earlier snapshot
            Path(f"{self.path}{FIELDS_SUFFIX}").unlink(missing_ok=True)
        with replace_file(f"{self.path}{RESULT}") as stream:
            stream.write(json.dumps(result.to_dict(), indent=1).encode() + b"\n")
        return result


def _can_hold(format_: Format, query_id: str, doc_ids: Sequence[str]) -> bool:
    """True if a format writes ids unchanged."""
    ids = list(dict.fromkeys(doc_ids)) or ["d"]
    table = pl.DataFrame(
        {"query_id": query_id, "doc_id": ids, "score": range(len(ids), 0, -1)}, schema=RUN_SCHEMA
    )
    try:
        return not write_run(Run("run", lambda: iter([table])), BytesIO(), format_)
    except RankgateError:  # two different ids would become equal
        return False


def gather_run(
    outcomes: Outcomes, queries: Sequence[Query], configuration: Configuration
) -> tuple[Run, pl.DataFrame, Lists]:
    """The run, the table of its queries, and counts about its lists."""
    rows, frames, buffered = [], [], 0
    lists = Lists()
    columns: dict[str, list[object]] = {name: [] for name in RUN_SCHEMA}
    choice = configuration.pace.scores
    for outcome in outcomes.stored(queries):
        rows.append(_row(outcome))
        count = len(outcome.doc_ids)
        scores, lists = _score_list(outcome, lists, configuration.engine.depth, choice)
        columns["query_id"] += [outcome.query_id] * count
        columns["doc_id"] += outcome.doc_ids
        columns["score"] += scores
        buffered += count
        if buffered >= _ROWS_AT_ONCE:
            frames.append(pl.DataFrame(columns, schema=RUN_SCHEMA))
            columns, buffered = {name: [] for name in RUN_SCHEMA}, 0
    frames.append(pl.DataFrame(columns, schema=RUN_SCHEMA))
    by_rank = choice == "rank"
    lists = replace(lists, by_rank=by_rank or lists.unscored > 0, as_served=by_rank or choice == "served")
    if lists.unscored and not by_rank:  # scores are comparable only if all queries have them
        return gather_run(
            outcomes, queries, replace(configuration, pace=replace(configuration.pace, scores="rank"))
        )
    table = pl.DataFrame(rows, schema=SNAPSHOT_QUERIES, orient="row")

    def reopen() -> Iterator[pl.DataFrame]:
        yield from frames

    run = Run(configuration.name, reopen, queries=table, place=RowLocation(configuration.name))
    return run, table, lists


def _row(outcome: Outcome) -> tuple[object, ...]:
    is_answered = outcome.state in ("ok", "zero")
    return (
        outcome.query_id,
        outcome.state,
        outcome.elapsed,
        outcome.elapsed is not None and not is_answered,
        _latency_from(outcome),
        outcome.latencies[-1] if outcome.latencies else None,
        None if outcome.elapsed is None else round(outcome.elapsed - sum(outcome.latencies), 3),
        len(outcome.latencies),
        outcome.error,
        len(outcome.doc_ids) if is_answered else None,
        outcome.total,
        outcome.started_at or None,
        outcome.concurrency,
        outcome.rate,
        outcome.arrival_rate,
    )


def _latency_from(outcome: Outcome) -> str | None:
    if outcome.elapsed is None:
        return None
    return "first send" if outcome.arrival_rate is None else "arrival"


def _score_list(
    outcome: Outcome, lists: Lists, depth: int, choice: Literal["served", "engine", "rank"]
) -> tuple[list[float], Lists]:
    """The scores of a list, and the counts after adding the list."""
    count = len(outcome.doc_ids)
    ranks = [float(count - index) for index in range(count)]
    lists = count_list(outcome, lists, depth)
    if outcome.scores is None:
        return ranks, replace(lists, unscored=lists.unscored + bool(count))
    scores = np.asarray(outcome.scores)
    steps = np.diff(scores)
    tied_count = count - len(np.unique(scores))
    lists = replace(lists, unordered=lists.unordered + bool((steps > 0).any()), tied=lists.tied + tied_count)
    if choice == "rank":
        return ranks, lists
    return break_ties(scores).tolist() if choice == "served" else list(outcome.scores), lists


def count_list(outcome: Outcome, lists: Lists, depth: int) -> Lists:
    """The counts after adding a list and its missing parts."""
    count = len(outcome.doc_ids)
    returned = count + outcome.repeated + len(outcome.unusable)
    is_cut = outcome.total is not None and returned < min(depth, outcome.total)
    return replace(
        lists,
        documents=lists.documents + count,
        repeated=lists.repeated + outcome.repeated,
        shared=dict(Counter(lists.shared) + Counter(outcome.shared)),
        unusable=lists.unusable + len(outcome.unusable),
        unusable_example=lists.unusable_example or "".join(outcome.unusable[:1]),
        cut=lists.cut + is_cut,
        refused=lists.refused + (outcome.state == "failed" and not outcome.down),
        longest=max(lists.longest, returned) if is_cut else lists.longest,
        partial=lists.partial + bool(outcome.partial),
        partial_reason=lists.partial_reason or outcome.partial,
    )
