"""The outcome of each query, on disk before the next one is sent."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Self

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.run_companions import WRITTEN_KEY
from rankgate.data.streams.journal import Journal
from rankgate.engines.engine import Facts, Query

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject


State = Literal["ok", "zero", "failed", "not_run"]
DOWN = "down"
"""The key of the queries that failed while the engine was down."""


_EMPTY_VALUES: tuple[Any, ...] = (None, (), [], {}, "")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one query.

    Attributes:
        query_id: the id of the query.
        state: ``ok``, ``zero`` results, ``failed`` after all tries.
        started_at: the time of the first try, in UTC.
        latencies: the milliseconds of each try; the last try gave the answer.
        elapsed: the milliseconds from the first send, or from the arrival where queries arrive at a
            fixed rate, to the end of the last try, with all pauses.
        error: the reason why it failed.
        doc_ids, scores: the documents, best first; scores are None if the engine gives no scores.
        total: the number of matching documents.
        repeated: the number of documents that appear again in the answer.
        shared: the number of documents that came again from another index, by the names of both
            indexes.
        unusable: values in place of an id that are not ids.
        partial: the reason why the answer may lack documents.
        down: True if the failure is typical of an engine that is down.
        concurrency: the number of queries that were sent at the same time.
        rate: the limit of queries a second.
        arrival_rate: the number of queries that arrived in a second.
        shown: the display fields of documents that were in no earlier answer.
    """

    query_id: str
    state: State
    started_at: str = ""
    latencies: Sequence[float] = ()
    elapsed: float | None = None
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
    rate: float | None = None
    arrival_rate: float | None = None
    shown: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Outcomes:
    """The outcomes of a snapshot, in a file that stays complete if the snapshot is killed.

    Args:
        journal: the file.
        head: the values that identify the snapshot; a file with different values is refused.

    Attributes:
        path: the file.
        states: the states of the queries that were answered, or failed.
        down: queries that failed while the engine was down, which are sent again.
        seen: documents whose display fields are kept, with a hash of each field for this process.
        varying: display fields that differ between two answers with the same document, such as
            snippets of the text around the words of the query.
        facts: the facts that the engine gave, each time that the snapshot began or
            ended.
    """

    def __init__(self, journal: Journal, head: JsonObject) -> None:
        self._journal, self.path = journal, journal.path
        self._pending: list[dict[str, Any]] = []
        self._lock, self._writing = Lock(), Lock()
        self.states: dict[str, str] = {}
        self.seen: dict[str, dict[str, int]] = {}
        self.varying: set[str] = set()
        self.facts: list[Facts] = []
        self.down: set[str] = set()
        rows = journal.rows
        if not rows:
            journal.add({"head": dict(head)})
        elif (stored_head := rows[0].get("head")) != dict(head):
            stored_values = stored_head if isinstance(stored_head, dict) else {}
            different = [
                name for name in {**head, **stored_values} if stored_values.get(name) != head.get(name)
            ]
            problem = (
                f"{journal.path}: a snapshot is under way with other "
                f"{', '.join(different).replace('_', ' ')}; finish it, name another output, or use force to "
                "start again."
            )
            raise UsageError(problem, code="other-snapshot")
        for row in rows[1:]:
            if "facts" in row:
                self.facts.append(Facts(**row["facts"]))
            if "query_id" not in row:
                self.down.update(row.get(DOWN, ()))
                continue
            self.states[row["query_id"]] = row["state"]
            self.down.discard(row["query_id"])
            self._note_shown(row.get("shown", {}))
        if rows and WRITTEN_KEY not in rows[-1]:  # killed; the engine may have been down then
            self.down.update(_failed_at_the_end(rows))
        journal.rows.clear()  # the rows of a long snapshot do not fit into memory

    @classmethod
    def open(cls, path: Path, head: JsonObject) -> Self:
        """Begin a snapshot, or continue one.

        Raises:
            InputError: a file that is not such a snapshot.
            UsageError: a snapshot of another engine, other parameters or queries.
        """
        journal = Journal.open(path)
        try:
            return cls(journal, head)
        except (KeyError, TypeError):
            journal.close()
            raise InputError(
                "this is not an unfinished snapshot; name another file.",
                source=str(path),
                code="invalid-json",
            ) from None
        except BaseException:
            journal.close()
            raise

    @property
    def answered(self) -> bool:
        """True if the engine has ever answered a query."""
        return not {"ok", "zero"}.isdisjoint(self.states.values())

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome to disk before returning.

        Outcomes of other waiting threads are written in the same step, so that many share one sync.
        """
        with self._lock:
            new_fields = {k: v for k, v in outcome.shown.items() if k not in self.seen}
            self._note_shown(outcome.shown)
            self.states[outcome.query_id] = outcome.state
            values = {**vars(outcome), "shown": new_fields}
            row = {name: value for name, value in values.items() if value not in _EMPTY_VALUES}
            self._pending.append(row)
        with self._writing:
            with self._lock:
                rows, self._pending = self._pending, []
            if rows:
                self._journal.extend(rows)
                self._journal.rows.clear()

    def _note_shown(self, new_fields: Mapping[str, JsonObject]) -> None:
        """Note the display fields of documents, and which of them depend on the query."""
        for doc_id, values in new_fields.items():
            hashes = {name: hash(json.dumps(value, default=str)) for name, value in values.items()}
            first_hashes = self.seen.setdefault(doc_id, hashes)
            if first_hashes != hashes:
                self.varying.update(name for name, _ in first_hashes.items() ^ hashes.items())

    def note(self, facts: Facts) -> None:
        """Write the facts of the engine to disk."""
        self.facts.append(facts)
        self._add({"facts": vars(facts)})

    def note_written(self, down: Sequence[str]) -> None:
        """Record on disk that the run of these outcomes is written.

        Args:
            down: queries that failed while the engine was down.
        """
        self._add({DOWN: list(down)})
        self._add({WRITTEN_KEY: True})

    def _add(self, row: JsonObject) -> None:
        with self._writing:
            self._journal.add(row)
            self._journal.rows.clear()

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def stored(self, queries: Sequence[Query]) -> Iterator[Outcome]:
        """The last outcome of each query, in the order of the queries; ``not_run`` if missing."""
        last_lines, position = {}, 0
        with self.path.open("rb") as file:
            for line in file:
                row = json.loads(line)
                if "query_id" in row:
                    last_lines[row["query_id"]] = position
                position += len(line)
            for query in queries:
                offset = last_lines.get(query.query_id)
                if offset is None:
                    yield Outcome(query.query_id, "not_run")
                    continue
                file.seek(offset)
                yield Outcome(**json.loads(file.readline()))

    def display_fields(self) -> Iterator[tuple[str, JsonObject]]:
        """The display fields of every document."""
        with self.path.open("rb") as file:
            next(file)
            for line in file:
                yield from json.loads(line).get("shown", {}).items()

    def text_hashes(self) -> dict[str, str]:
        """Hashes of the stored texts of returned documents, by the hash of a document's id.

        Of many documents, those with the smallest hashes of ids are kept, which are the same ones in
        every snapshot. Fields that depend on the query are left out.
        """
        if not any(values.keys() - self.varying for values in self.seen.values()):
            return {}
        sampled_hashes = set(heapq.nsmallest(_MAX_TEXTS, map(_short_hash, self.seen)))
        return {
            id_hash: _short_hash(
                json.dumps(
                    {name: value for name, value in values.items() if name not in self.varying},
                    sort_keys=True,
                )
            )
            for doc_id, values in self.display_fields()
            if (id_hash := _short_hash(doc_id)) in sampled_hashes
        }


_MAX_TEXTS = 1000  # documents with a hash of their texts


def _short_hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def _failed_at_the_end(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The queries that failed after the last answer."""
    for row in reversed(rows):
        if "query_id" in row:
            if not row.get("down"):
                return
            yield row["query_id"]
