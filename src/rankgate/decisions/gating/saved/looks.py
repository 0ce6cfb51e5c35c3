"""The append-only log of looks at a saved baseline."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.text.json_text import parse_json

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun

LOOK_KEYS = ("at", "candidate", "sha256", "qrels_sha256", "policy", "verdict")
"""The keys of a look: when, at which run, by which judgments and policy, and its verdict."""

LISTS = "lists"
"""The key of a look's fingerprints; looks of older versions have none."""

_SAMPLE = 64  # queries whose fingerprints a look keeps
_BYTES = 4  # of a fingerprint


@dataclass(frozen=True)
class LookNumber:
    """The position of a look among those at the same queries, from 1.

    Attributes:
        look: among all looks at other lists or other queries.
        candidate: among candidates; one that is looked at again, with more queries, is the same.
    """

    look: int
    candidate: int


def look_log_path(baseline: Path) -> Path:
    """The log of the baseline in that file."""
    return baseline.with_suffix(".looks.jsonl")


def fingerprints(system: ScoredRun) -> dict[str, str]:
    """Fingerprints of lists by fingerprint of query, of the 64 queries with the lowest ones.

    The sample depends on the queries alone. So of two sets of queries that share some, such as
    one to which queries were added, the samples share some too, and tell whether the candidate
    shows the same lists for them.
    """
    lists = dict(
        system.lists.sort("query_id", "rank").group_by("query_id").agg(pl.col("doc_id")).iter_rows()
    )
    marked_queries = sorted(
        (_fingerprint(query), query) for query in system.queries["query_id"].to_list()
    )
    return {mark: _fingerprint(*lists.get(query, ())) for mark, query in marked_queries[:_SAMPLE]}


def read_looks(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Every look, in time order; empty without a log; without a line that a crash cut short.

    Raises:
        InputError: a line that is no look, with its number.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read"
        ) from None
    logged_looks = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        look = parse_json(line, str(path), number)
        if not _is_look(look):
            problem = f"no look at a baseline; a look has {', '.join(LOOK_KEYS)}."
            raise InputError(problem, source=str(path), line=number, code="wrong-document")
        logged_looks.append(look)
    return tuple(logged_looks)


def append_look(path: Path, look: Mapping[str, Any]) -> None:
    """Add a look; it is on disk before this returns.

    Raises:
        OSError: it cannot be written.
    """
    look_values = {name: look[name] for name in (*LOOK_KEYS, LISTS) if name in look}
    line = json.dumps(look_values, ensure_ascii=False).encode() + b"\n"
    with path.open("ab+") as stream:
        end = stream.seek(0, os.SEEK_END)
        if end:
            stream.seek(0)
            complete_size = stream.read().rfind(b"\n") + 1
            if complete_size < end:  # a crash cut the last line short
                stream.truncate(complete_size)
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def number_look(earlier_looks: Sequence[Mapping[str, Any]], candidate: ScoredRun) -> LookNumber:
    """The number of this look at the candidate, among looks at these queries.

    A look counts if it was at some of the same queries, regardless of later judgments. To look
    at the same run by the same judgments again is the same look. Looks of older versions, without
    fingerprints, count where the judgments are the same.
    """
    candidate_lists = fingerprints(candidate)
    runs: list[tuple[str, str]] = []
    candidates: list[Mapping[str, str] | str] = []
    for look in (
        *earlier_looks,
        {
            "sha256": candidate.sha256,
            "qrels_sha256": candidate.qrels_sha256,
            LISTS: candidate_lists,
        },
    ):
        lists, run = look.get(LISTS), (look["sha256"], look["qrels_sha256"])
        is_shared = (
            bool(lists.keys() & candidate_lists.keys())
            if lists
            else run[1] == candidate.qrels_sha256
        )
        if not is_shared:
            continue
        if run not in runs:
            runs.append(run)
        if not any(
            _is_same_candidate(candidate_mark, lists or run[0]) for candidate_mark in candidates
        ):
            candidates.append(lists or run[0])
    return LookNumber(
        runs.index((candidate.sha256, candidate.qrels_sha256)) + 1,
        next(
            i
            for i, candidate_mark in enumerate(candidates, 1)
            if _is_same_candidate(candidate_mark, candidate_lists)
            or candidate_mark == candidate.sha256
        ),
    )


def _is_same_candidate(first: Mapping[str, str] | str, second: Mapping[str, str] | str) -> bool:
    """True if two looks were at one candidate: the same lists for all queries that both sampled."""
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    shared_queries = first.keys() & second.keys()
    return bool(shared_queries) and all(first[query] == second[query] for query in shared_queries)


def _fingerprint(*texts: str) -> str:
    text = "\x00".join(texts).encode()
    return blake2b(text, digest_size=_BYTES).hexdigest()


def _is_look(value: object) -> bool:
    if not isinstance(value, dict) or not all(isinstance(value.get(n), str) for n in LOOK_KEYS):
        return False
    lists = value.get(LISTS, {})
    return isinstance(lists, dict) and all(isinstance(mark, str) for mark in lists.values())
