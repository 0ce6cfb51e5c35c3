"""One engine of a snapshot: its remaining queries, and its outcomes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rankgate.core.frozen import dataclass
from rankgate.data.formats.snapshot_files import PARTIAL
from rankgate.engines.engine import Facts
from rankgate.engines.snapshots.outcome import Outcome, Outcomes
from rankgate.engines.snapshots.snapshot import Snapshot
from rankgate.engines.snapshots.writing import RunTarget, gather_run

if TYPE_CHECKING:
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Query


@dataclass(frozen=True)
class EngineSnapshot:
    """An engine with its queries and its files; closed by `finish` or `close`.

    Attributes:
        chosen: the engine, with its pace.
        queries: all of them.
        target: the file of the run.
        outcomes: the outcome of each query.
        left: the queries to send now.
    """

    chosen: Configuration
    queries: Sequence[Query]
    target: RunTarget
    outcomes: Outcomes
    left: tuple[Query, ...]

    @classmethod
    def open(
        cls,
        configuration: Configuration,
        queries: Sequence[Query],
        target: RunTarget,
        *,
        again: bool,
        more: Mapping[str, str] | None = None,
    ) -> Self:
        """Begin a snapshot, or continue an unfinished one.

        Args:
            configuration: the engine, with its pace.
            queries: all of them.
            target: the file of the run.
            again: True to send failed queries again.
            more: further values that must be the same to continue.

        Raises:
            InputError: a file that is no snapshot under way.
            UsageError: a snapshot of another engine, other parameters or queries.
        """
        header = {**_snapshot_identity(configuration, queries), **(more or {})}
        for query in queries:
            target.refuse_unheld(query.query_id)
        outcomes = Outcomes.open(Path(f"{target.path}{PARTIAL}"), header)
        with ExitStack() as stack:
            stack.callback(outcomes.close)
            for outcome in outcomes.stored(queries if outcomes.answered else ()):
                target.refuse_unheld(outcome.query_id, outcome.doc_ids)
            stack.pop_all()
        failed = {query_id for query_id, state in outcomes.states.items() if state == "failed"}
        repeated = failed if again else failed & outcomes.down
        first = [query for query in queries if query.query_id not in outcomes.states]
        if first and not outcomes.answered:  # begin with another query than in earlier calls
            shift = (len(outcomes.facts) + 1) // 2 % len(first)
            first = [*first[shift:], *first[:shift]]
        last = [query for query in queries if query.query_id in repeated]
        return cls(configuration, queries, target, outcomes, (*first, *last))

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome to disk.

        Raises:
            UsageError: it holds an id that the format of the run cannot hold.
        """
        self.outcomes.keep(outcome)
        self.target.refuse_unheld(outcome.query_id, outcome.doc_ids)

    def note_facts(self) -> None:
        """Keep the facts that the engine gives now about itself and its index; they may change."""
        if not self.left and self.outcomes.facts:
            return
        connection = self.chosen.engine.connect()
        try:
            self.outcomes.note(connection.facts())
        finally:
            connection.close()

    def finish(self, problem: str, seconds: float, down: Sequence[str]) -> Snapshot:
        """Write the run and its companion files; an unfinished snapshot can be continued later.

        Args:
            problem: the reason why some queries were not sent.
            seconds: the time of all requests.
            down: queries that failed while the engine was down.
        """
        outcomes = self.outcomes
        self.note_facts()
        known_facts = [facts for facts in outcomes.facts if facts != Facts()] or outcomes.facts
        run, table, lists = gather_run(outcomes, self.queries, self.chosen)
        result = Snapshot(
            engine=self.chosen.name,
            engine_kind=self.chosen.engine.engine_kind,
            configuration=self.chosen.sha256,
            parameters=self.chosen.engine.parameters,
            depth=self.chosen.engine.depth,
            facts=known_facts[0],
            finished=not (table["state"] == "not_run").any(),
            problem=problem,
            seconds=round(seconds, 3),
            asked=sum(query.query_id in outcomes.states for query in self.left),
            lists=lists,
            queries=table,
            changed=_fact_changes(known_facts),
            output=str(self.target.path),
            run=run,
        )
        result = self.target.write(result, outcomes)
        is_done = result.finished and not result.states["failed"]
        if not is_done:
            outcomes.note_written(down)
        self.close()
        if is_done:
            outcomes.path.unlink()
        return result

    def close(self) -> None:
        """Close the file."""
        self.outcomes.close()


def _fact_changes(facts: Sequence[Facts]) -> tuple[str, ...]:
    """Facts of an engine that differ between the beginning and a later time."""
    changes = []
    for field in fields(Facts):
        if field.name == "refreshed":  # grows also where nothing changed
            continue
        field_values = [getattr(facts_at_time, field.name) for facts_at_time in facts]
        values = list(dict.fromkeys(value for value in field_values if value not in ("", None)))
        if len(values) > 1:
            changes.append(f"{field.name}: {values[0]}, later {values[-1]}")
    return tuple(changes)


def _snapshot_identity(configuration: Configuration, queries: Sequence[Query]) -> dict[str, str]:
    """The values that identify a snapshot; only the same snapshot is continued."""
    queries_hash = hashlib.sha256()
    for query in queries:
        values = repr(sorted(query.values.items())) if query.values else ""
        queries_hash.update(f"{query.query_id}\0{query.text}\0{values}".encode())
    return {
        "engine": configuration.name,
        "configuration": configuration.engine_sha256,
        "queries": queries_hash.hexdigest(),
    }
