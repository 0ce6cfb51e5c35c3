"""One engine of a snapshot: what it is still to be asked, and what becomes of its answers."""

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
from rankgate.engines.snapshots.writing import Target, gathered

if TYPE_CHECKING:
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Query


@dataclass(frozen=True)
class Arm:
    """An engine with its queries and its files; closed by `finish` or `close`.

    Attributes:
        chosen: the engine, and how it is asked.
        queries: all of them.
        target: where the run goes.
        outcomes: what came of each query.
        left: the queries to ask now.
    """

    chosen: Configuration
    queries: Sequence[Query]
    target: Target
    outcomes: Outcomes
    left: tuple[Query, ...]

    @classmethod
    def open(
        cls,
        chosen: Configuration,
        queries: Sequence[Query],
        target: Target,
        *,
        again: bool,
        more: Mapping[str, str] | None = None,
    ) -> Self:
        """Begin a snapshot, or go on with the one that is under way.

        Args:
            chosen: the engine, and how it is asked.
            queries: all of them.
            target: where the run goes.
            again: ask queries that failed before anew.
            more: what else must be the same to go on.

        Raises:
            InputError: a file that is no snapshot under way.
            UsageError: a snapshot of another engine, other parameters or queries.
        """
        head = {**_head(chosen, queries), **(more or {})}
        for query in queries:
            target.refuse_unheld(query.query_id)
        outcomes = Outcomes.open(Path(f"{target.path}{PARTIAL}"), head)
        with ExitStack() as stack:
            stack.callback(outcomes.close)
            for outcome in outcomes.stored(queries if outcomes.answered else ()):
                target.refuse_unheld(outcome.query_id, outcome.doc_ids)
            stack.pop_all()
        failed = {query_id for query_id, state in outcomes.states.items() if state == "failed"}
        repeated = failed if again else failed & outcomes.down
        first = [query for query in queries if query.query_id not in outcomes.states]
        if first and not outcomes.answered:  # another one first than in earlier calls
            shift = (len(outcomes.facts) + 1) // 2 % len(first)
            first = [*first[shift:], *first[:shift]]
        last = [query for query in queries if query.query_id in repeated]
        return cls(chosen, queries, target, outcomes, (*first, *last))

    def keep(self, outcome: Outcome) -> None:
        """Put an outcome on disk.

        Raises:
            UsageError: it holds an id that the format of the run cannot hold.
        """
        self.outcomes.keep(outcome)
        self.target.refuse_unheld(outcome.query_id, outcome.doc_ids)

    def note_facts(self) -> None:
        """Keep what the engine says of itself and its index now; it may change until the end."""
        if not self.left and self.outcomes.facts:
            return
        connection = self.chosen.engine.connect()
        try:
            self.outcomes.note(connection.facts())
        finally:
            connection.close()

    def finish(self, problem: str, seconds: float, down: Sequence[str]) -> Snapshot:
        """Write the run and its companions; what is not finished can go on later.

        Args:
            problem: why not every query was asked.
            seconds: that asking took.
            down: queries that failed while the engine was down.
        """
        outcomes = self.outcomes
        self.note_facts()
        known = [each for each in outcomes.facts if each != Facts()] or outcomes.facts
        run, table, lists = gathered(outcomes, self.queries, self.chosen)
        result = Snapshot(
            engine=self.chosen.name,
            engine_kind=self.chosen.engine.engine_kind,
            configuration=self.chosen.sha256,
            parameters=self.chosen.engine.parameters,
            depth=self.chosen.engine.depth,
            facts=known[0],
            finished=not (table["state"] == "not_run").any(),
            problem=problem,
            seconds=round(seconds, 3),
            asked=sum(query.query_id in outcomes.states for query in self.left),
            lists=lists,
            queries=table,
            changed=_changes(known),
            output=str(self.target.path),
            run=run,
        )
        result = self.target.write(result, outcomes)
        done = result.finished and not result.states["failed"]
        if not done:
            outcomes.note_written(down)
        self.close()
        if done:
            outcomes.path.unlink()
        return result

    def close(self) -> None:
        """Let go of the file."""
        self.outcomes.close()


def _changes(facts: Sequence[Facts]) -> tuple[str, ...]:
    """What an engine first said of itself and said otherwise later."""
    found = []
    for each in fields(Facts):
        if each.name == "refreshed":  # also where nothing changed
            continue
        said = [getattr(one, each.name) for one in facts]
        values = list(dict.fromkeys(value for value in said if value not in ("", None)))
        if len(values) > 1:
            found.append(f"{each.name}: {values[0]}, later {values[-1]}")
    return tuple(found)


def _head(chosen: Configuration, queries: Sequence[Query]) -> dict[str, str]:
    """What a snapshot is of: one that is continued must be of the same."""
    words = hashlib.sha256()
    for query in queries:
        values = repr(sorted(query.values.items())) if query.values else ""
        words.update(f"{query.query_id}\0{query.text}\0{values}".encode())
    return {
        "engine": chosen.name,
        "configuration": chosen.engine_sha256,
        "queries": words.hexdigest(),
    }
