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
from rankgate.data.text.json_text import parsed

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun

NAMES = ("at", "candidate", "sha256", "qrels_sha256", "policy", "verdict")
"""What a look is: when, at which run, by which judgments and policy, and its verdict."""

LISTS = "lists"
"""The key of a look's fingerprints; looks of older versions have none."""

_SAMPLE = 64  # queries whose fingerprints a look keeps
_BYTES = 4  # of a fingerprint


@dataclass(frozen=True)
class LookNumber:
    """Where a look is among those at the same queries, from 1.

    Attributes:
        look: among all looks at other lists or other queries.
        candidate: among candidates; one that is looked at again, with more queries, is the same.
    """

    look: int
    candidate: int


def log_of(baseline: Path) -> Path:
    """The log of the baseline in that file."""
    return baseline.with_suffix(".looks.jsonl")


def fingerprints(system: ScoredRun) -> dict[str, str]:
    """By fingerprint of a query, that of its list; of the 64 queries whose own are lowest.

    The sample depends on the queries alone. So of two sets of queries that share some, such as
    one to which queries were added, the samples share some too, and tell whether the candidate
    shows the same lists for them.
    """
    lists = dict(
        system.lists.sort("query_id", "rank").group_by("query_id").agg(pl.col("doc_id")).iter_rows()
    )
    marks = sorted((_mark(query), query) for query in system.queries["query_id"].to_list())
    return {mark: _mark(*lists.get(query, ())) for mark, query in marks[:_SAMPLE]}


def logged(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Every look, in time order; none where there is no log, or for a line cut short by a crash.

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
    items = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        found = parsed(line, str(path), number)
        if not _is_look(found):
            problem = f"no look at a baseline; a look has {', '.join(NAMES)}."
            raise InputError(problem, source=str(path), line=number, code="wrong-document")
        items.append(found)
    return tuple(items)


def add(path: Path, look: Mapping[str, Any]) -> None:
    """Add a look; it is on disk before this returns.

    Raises:
        OSError: it cannot be written.
    """
    own = {name: look[name] for name in (*NAMES, LISTS) if name in look}
    line = json.dumps(own, ensure_ascii=False).encode() + b"\n"
    with path.open("ab+") as stream:
        end = stream.seek(0, os.SEEK_END)
        if end:
            stream.seek(0)
            whole = stream.read().rfind(b"\n") + 1
            if whole < end:  # a crash cut the last line short
                stream.truncate(whole)
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def place(looks: Sequence[Mapping[str, Any]], candidate: ScoredRun) -> LookNumber:
    """Which look at these queries it is to look at this candidate.

    A look counts if it was at some of the same queries, regardless of later judgments. To look
    at the same run by the same judgments again is the same look. Looks of older versions, without
    fingerprints, count where the judgments are the same.
    """
    own = fingerprints(candidate)
    seen: list[tuple[str, str]] = []
    candidates: list[Mapping[str, str] | str] = []
    for look in (
        *looks,
        {"sha256": candidate.sha256, "qrels_sha256": candidate.qrels_sha256, LISTS: own},
    ):
        lists, run = look.get(LISTS), (look["sha256"], look["qrels_sha256"])
        shared = bool(lists.keys() & own.keys()) if lists else run[1] == candidate.qrels_sha256
        if not shared:
            continue
        if run not in seen:
            seen.append(run)
        if not any(_same(known, lists or run[0]) for known in candidates):
            candidates.append(lists or run[0])
    return LookNumber(
        seen.index((candidate.sha256, candidate.qrels_sha256)) + 1,
        next(
            i
            for i, known in enumerate(candidates, 1)
            if _same(known, own) or known == candidate.sha256
        ),
    )


def _same(one: Mapping[str, str] | str, two: Mapping[str, str] | str) -> bool:
    """Whether two looks were at one candidate: the same lists for all queries that both sampled."""
    if isinstance(one, str) or isinstance(two, str):
        return one == two
    shared = one.keys() & two.keys()
    return bool(shared) and all(one[query] == two[query] for query in shared)


def _mark(*words: str) -> str:
    text = "\x00".join(words).encode()
    return blake2b(text, digest_size=_BYTES).hexdigest()


def _is_look(found: object) -> bool:
    if not isinstance(found, dict) or not all(isinstance(found.get(n), str) for n in NAMES):
        return False
    lists = found.get(LISTS, {})
    return isinstance(lists, dict) and all(isinstance(mark, str) for mark in lists.values())
