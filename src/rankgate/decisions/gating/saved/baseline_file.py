"""The file of a saved baseline, which can be committed, and its log of looks.

The log of looks at a saved baseline is append-only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import polars as pl

from rankgate.core.errors import InputError, check_schema_version
from rankgate.core.frozen import dataclass
from rankgate.data.run_scores import LISTS, QUERIES, SCORES, SERVED, ScoredRun
from rankgate.data.text.json_text import parse_json

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject


SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Baseline:
    """A scored system that was saved.

    Attributes:
        name: the name of the baseline.
        system: the system as it was scored.
        noise: the largest difference that the system showed against itself, by metric.
        saved_at: when its system was scored, in UTC; empty in files that do not record it.
    """

    name: str
    system: ScoredRun
    noise: Mapping[str, float] = field(default_factory=dict)
    saved_at: str = ""


def dump_baseline(baseline: Baseline) -> str:
    """The text of the file: sorted, with one query per line, so that diffs are readable."""
    system = baseline.system
    header: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "name": baseline.name,
        **({"saved_at": baseline.saved_at} if baseline.saved_at else {}),
        "run": {"name": system.name, "tag": system.tag, "sha256": system.sha256},
        "qrels": {"name": system.qrels, "sha256": system.qrels_sha256},
        "convention": dict(system.convention),
        "metrics": list(system.metrics),
        "depth": system.depth,
        "tags": list(system.tags),
        "noise": dict(baseline.noise),
        **({"cautions": dict(system.cautions)} if system.cautions else {}),
        **({"without_seen": True} if system.without_seen else {}),
    }
    if system.served is not None:
        served = system.served.sort("query_id")
        header["served"] = dict(served.select(*SERVED).iter_rows())
        header |= {"served_tags": tags} if (tags := _served_tags(served)) else {}
    lines = [f"  {json.dumps(key)}: {_json_line(value)},\n" for key, value in header.items()]
    queries = ",\n".join(f"    {json.dumps(q)}: {_json_line(v)}" for q, v in _query_values(system).items())
    return "{\n" + "".join(lines) + '  "queries": {\n' + queries + "\n  }\n}\n"


def load_baseline(path: Path) -> Baseline:
    """A saved baseline.

    Raises:
        InputError: the file is not a baseline, or is damaged.
    """
    label = str(path)
    try:
        result = parse_json(path.read_bytes(), label)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", source=label, code="cannot-read") from None
    if not isinstance(result, dict) or "schema_version" not in result:
        raise InputError("not a saved baseline; save it again.", source=label, code="wrong-document")
    check_schema_version(result, SCHEMA_VERSION, label)
    try:
        return Baseline(result["name"], _read_system(result), result["noise"], result.get("saved_at", ""))
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        problem = f"a damaged baseline ({type(error).__name__}: {error}); save it again."
        raise InputError(problem, source=label, code="damaged-file") from None


def is_baseline(first_bytes: bytes) -> bool:
    """True if a file with these first bytes is a saved baseline."""
    start = first_bytes[:200].replace(b" ", b"").replace(b"\n", b"")
    return start.startswith(b'{"schema_version":1,"name":')


def _json_line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _query_values(system: ScoredRun) -> dict[str, dict[str, Json]]:
    """The state, values and first documents of each query."""
    values: dict[str, dict[str, Any]] = {}
    for row in system.queries.sort("query_id").iter_rows(named=True):
        row_values = {name: value for name, value in row.items() if value is not None}
        values[row_values.pop("query_id")] = {**row_values, "values": {}, "top": []}
    for query, metric, value, reason in system.scores.select(*SCORES).iter_rows():
        values[query]["values"][metric] = value if reason is None else [value, reason]
    for query, _, doc, grade in system.lists.sort("query_id", "rank").select(*LISTS).iter_rows():
        values[query]["top"].append([doc, grade])
    return values


def _read_system(result: dict[str, Any]) -> ScoredRun:
    scores, lists, queries = [], [], []
    tags = result["tags"]
    for query, query_values in result["queries"].items():
        for metric, value in query_values["values"].items():
            number, reason = value if isinstance(value, list) else (value, None)
            scores.append((query, metric, number, reason))
        lists += [(query, rank, doc, grade) for rank, (doc, grade) in enumerate(query_values["top"], 1)]
        columns = {name: query_values.get(name) for name in [*QUERIES, *tags] if name != "query_id"}
        queries.append({"query_id": query, **columns})
    schema = {**QUERIES, **dict.fromkeys(tags, pl.String)}
    return ScoredRun(
        name=result["run"]["name"],
        tag=result["run"]["tag"],
        sha256=result["run"]["sha256"],
        qrels=result["qrels"]["name"],
        qrels_sha256=result["qrels"]["sha256"],
        convention=result["convention"],
        metrics=tuple(result["metrics"]),
        depth=result["depth"],
        scores=pl.DataFrame(scores, schema=SCORES, orient="row"),
        lists=pl.DataFrame(lists, schema=LISTS, orient="row"),
        queries=pl.DataFrame(queries, schema=schema),
        served=_read_served(result),
        cautions=result.get("cautions", {}),
        without_seen=result.get("without_seen", False),
    )


def _read_served(result: dict[str, Any]) -> pl.DataFrame | None:
    """The lists of users without judgments; None if the file has none."""
    if "served" not in result:
        return None
    rows = list(result["served"].items())
    tags = [{"query_id": user, **result.get("served_tags", {}).get(user, {})} for user, _ in rows]
    schema = dict.fromkeys(["query_id", *result["tags"]], pl.String)
    lists = pl.DataFrame(rows, schema=SERVED, orient="row")
    return lists.join(pl.DataFrame(tags, schema=schema), "query_id", how="left")


def _served_tags(served: pl.DataFrame) -> dict[str, dict[str, str]]:
    """The tags of users without judgments, for users with tags."""
    rows = served.drop("doc_ids").iter_rows(named=True)
    tags_by_user = {row.pop("query_id"): {k: v for k, v in row.items() if v is not None} for row in rows}
    return {user: tags for user, tags in tags_by_user.items() if tags}


LOOK_KEYS = ("at", "candidate", "sha256", "qrels_sha256", "policy", "verdict")
"""The keys of a look: time, run, judgments, policy and verdict."""

LOOK_LISTS = "lists"
"""The key of a look's fingerprints, by query."""

_SAMPLE = 64  # queries with fingerprints in a look
_BYTES = 4  # hexadecimal digits of a fingerprint


@dataclass(frozen=True)
class LookNumber:
    """The position of a look among those at the same queries, from 1.

    Attributes:
        look: the position among all looks at other lists or other queries.
        candidate: the position among candidates; a candidate with more queries is still the same.
    """

    look: int
    candidate: int


def look_log_path(baseline: Path) -> Path:
    """The path of the log of a baseline."""
    return baseline.with_suffix(".looks.jsonl")


def fingerprints(system: ScoredRun) -> dict[str, str]:
    """Fingerprints of lists by fingerprint of query, for the 64 lowest fingerprints of queries.

    The sample depends on the queries alone. So if two sets have common queries, for example after
    adding queries, their samples have common queries too, and these show if the candidate has the
    same lists.
    """
    lists = dict(system.lists.sort("query_id", "rank").group_by("query_id").agg(pl.col("doc_id")).iter_rows())
    marked_queries = sorted((_fingerprint(query), query) for query in system.queries["query_id"].to_list())
    return {mark: _fingerprint(*lists.get(query, ())) for mark, query in marked_queries[:_SAMPLE]}


def read_looks(path: Path) -> tuple[JsonObject, ...]:
    """Every look, in time order; empty without a log; a last line cut short by a crash is skipped.

    Raises:
        InputError: a line that is not a look, with its number.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read") from None
    logged_looks = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        look = parse_json(line, str(path), number)
        if not _is_look(look):
            problem = f"not a look at a baseline; a look has {', '.join(LOOK_KEYS)}."
            raise InputError(problem, source=str(path), line=number, code="wrong-document")
        logged_looks.append(look)
    return tuple(logged_looks)


def append_look(path: Path, look: Mapping[str, object]) -> None:
    """Add a look, and write it to disk before returning.

    Raises:
        OSError: the log cannot be written.
    """
    look_values = {name: look[name] for name in (*LOOK_KEYS, LOOK_LISTS)}
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

    A look counts if it was at some of the same queries, regardless of later judgments. Looking
    at the same run with the same judgments again counts as the same look.
    """
    candidate_lists = fingerprints(candidate)
    runs: list[tuple[str, str]] = []
    candidates: list[Mapping[str, str]] = []
    for look in (
        *earlier_looks,
        {"sha256": candidate.sha256, "qrels_sha256": candidate.qrels_sha256, LOOK_LISTS: candidate_lists},
    ):
        lists, run = look[LOOK_LISTS], (look["sha256"], look["qrels_sha256"])
        if not lists.keys() & candidate_lists.keys():
            continue
        if run not in runs:
            runs.append(run)
        if not any(_is_same_candidate(other_lists, lists) for other_lists in candidates):
            candidates.append(lists)
    return LookNumber(
        runs.index((candidate.sha256, candidate.qrels_sha256)) + 1,
        next(
            i
            for i, other_lists in enumerate(candidates, 1)
            if _is_same_candidate(other_lists, candidate_lists)
        ),
    )


def _is_same_candidate(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """True if two looks have the same candidate: equal lists for all queries in both samples."""
    shared_queries = first.keys() & second.keys()
    return bool(shared_queries) and all(first[query] == second[query] for query in shared_queries)


def _fingerprint(*texts: str) -> str:
    text = "\x00".join(texts).encode()
    return blake2b(text, digest_size=_BYTES).hexdigest()


def _is_look(value: Json) -> TypeGuard[JsonObject]:
    if not isinstance(value, dict) or not all(isinstance(value.get(n), str) for n in LOOK_KEYS):
        return False
    lists = value.get(LOOK_LISTS)
    return isinstance(lists, dict) and all(isinstance(mark, str) for mark in lists.values())
