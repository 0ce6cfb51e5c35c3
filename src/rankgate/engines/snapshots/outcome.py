"""What came of each query, on disk before the next one is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.snapshot_files import WRITTEN
from rankgate.data.streams.journal import Journal
from rankgate.engines.engine import Facts, Query

State = Literal["ok", "zero", "failed", "not_run"]
DOWN = "down"
"""The key of the queries that failed while the engine was down."""


_NOTHING: tuple[Any, ...] = (None, (), [], {}, "")


@dataclass(frozen=True)
class Outcome:
    """What came of one query.

    Attributes:
        query_id: which.
        state: ``ok``, ``zero`` results, ``failed`` after all tries.
        started_at: UTC, of the first try.
        latencies: milliseconds of each try; the last is the answer's.
        error: why it failed.
        doc_ids, scores: the documents, best first; scores of None are none.
        total: how many match.
        repeated: documents that came again.
        shared: the same from different indices, by the names of the two.
        unusable: what came in place of an id and is none.
        partial: why the answer may lack documents.
        down: whether it failed in a way in which engines fail that are down.
        concurrency: queries that were asked at the same time.
        shown: display fields of documents that no earlier answer had.
    """

    query_id: str
    state: State
    started_at: str = ""
    latencies: Sequence[float] = ()
    error: str | None = None
    doc_ids: Sequence[str] = ()
    scores: Sequence[float] | None = None
    total: int | None = None
    repeated: int = 0
    shared: Mapping[str, int] = field(default_factory=dict)
    unusable: Sequence[str] = ()
    partial: str = ""
    down: bool = False
    concurrency: int | None = None
    shown: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Outcomes:
    """The outcomes of a snapshot, in a file that a killed snapshot leaves whole.

    Args:
        journal: the file.
        head: what the snapshot is of; another file's head is refused.

    Attributes:
        path: the file.
        states: of the queries that were answered, or failed.
        down: queries that failed while the engine was down, which are asked again.
        seen: documents whose display fields are kept.
        facts: what the engine said of itself and its index, each time that the snapshot began or
            ended.
    """

    def __init__(self, journal: Journal, head: Mapping[str, Any]) -> None:
        self._journal, self.path = journal, journal.path
        self._pending: list[dict[str, Any]] = []
        self._lock, self._writing = Lock(), Lock()
        self.states: dict[str, str] = {}
        self.seen: set[str] = set()
        self.facts: list[Facts] = []
        self.down: set[str] = set()
        rows = journal.rows
        if not rows:
            journal.add({"head": dict(head)})
        elif (found := rows[0].get("head")) != dict(head):
            raise UsageError(_other(journal.path, found, head), code="other-snapshot")
        for row in rows[1:]:
            if "facts" in row:
                self.facts.append(Facts(**row["facts"]))
            if "query_id" not in row:
                self.down.update(row.get(DOWN, ()))
                continue
            self.states[row["query_id"]] = row["state"]
            self.down.discard(row["query_id"])
            self.seen.update(row.get("shown", ()))
        if rows and WRITTEN not in rows[-1]:  # it was killed, and may have been down then
            self.down.update(_failed_at_the_end(rows))
        journal.rows.clear()  # all rows of a long snapshot do not fit into memory

    @classmethod
    def open(cls, path: Path, head: Mapping[str, Any]) -> Self:
        """Begin a snapshot, or go on with one.

        Raises:
            InputError: a file that is no such snapshot.
            UsageError: one of another engine, other parameters or queries.
        """
        journal = Journal.open(path)
        try:
            return cls(journal, head)
        except (KeyError, TypeError):
            journal.close()
            raise InputError(
                "this is no snapshot under way; name another file.", source=str(path),
                code="invalid-json",
            ) from None  # fmt: skip
        except BaseException:
            journal.close()
            raise

    @property
    def answered(self) -> bool:
        """Whether the engine has ever answered a query."""
        return not {"ok", "zero"}.isdisjoint(self.states.values())

    def keep(self, outcome: Outcome) -> None:
        """Put an outcome on disk; when this returns, it is there.

        What other threads wait to write is written with it, so that many share one sync.
        """
        with self._lock:
            shown = {k: v for k, v in outcome.shown.items() if k not in self.seen}
            self.seen.update(shown)
            self.states[outcome.query_id] = outcome.state
            values = {**vars(outcome), "shown": shown}
            row = {name: value for name, value in values.items() if value not in _NOTHING}
            self._pending.append(row)
        with self._writing:
            with self._lock:
                rows, self._pending = self._pending, []
            if rows:
                self._journal.extend(rows)
                self._journal.rows.clear()

    def note(self, facts: Facts) -> None:
        """Put on disk what the engine says of itself and its index."""
        self.facts.append(facts)
        self._add({"facts": vars(facts)})

    def note_written(self, down: Sequence[str]) -> None:
        """Put on disk that the run of these outcomes is written.

        Args:
            down: queries that failed while the engine was down.
        """
        self._add({DOWN: list(down)})
        self._add({WRITTEN: True})

    def _add(self, row: Mapping[str, Any]) -> None:
        with self._writing:
            self._journal.add(row)
            self._journal.rows.clear()

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()

    def stored(self, queries: Sequence[Query]) -> Iterator[Outcome]:
        """The last outcome of each query, in the order of the queries; ``not_run`` without one."""
        places = _places(self.path)
        with self.path.open("rb") as file:
            for query in queries:
                place = places.get(query.query_id)
                if place is None:
                    yield Outcome(query.query_id, "not_run")
                    continue
                file.seek(place)
                yield Outcome(**json.loads(file.readline()))

    def shown(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The display fields of every document."""
        with self.path.open("rb") as file:
            next(file)
            for line in file:
                yield from json.loads(line).get("shown", {}).items()


def _failed_at_the_end(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The queries that failed after the last answer."""
    for row in reversed(rows):
        if "query_id" in row:
            if not row.get("down"):
                return
            yield row["query_id"]


def _places(path: Path) -> dict[str, int]:
    """Where the last line of each query begins."""
    places, at = {}, 0
    with path.open("rb") as file:
        for line in file:
            row = json.loads(line)
            if "query_id" in row:
                places[row["query_id"]] = at
            at += len(line)
    return places


def _other(path: Path, found: Any, head: Mapping[str, Any]) -> str:
    known = found if isinstance(found, dict) else {}
    different = [name for name in {**head, **known} if known.get(name) != head.get(name)]
    return (
        f"{path}: a snapshot is under way with other {', '.join(different).replace('_', ' ')}; "
        "finish it, name another output, or use force to begin anew."
    )
