"""A saved baseline: one file that can be committed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.comparison import LISTS, QUERIES, SCORES, SERVED, ScoredRun
from rankgate.data.text.json_text import parse_json

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Baseline:
    """A scored system that was saved.

    Attributes:
        name: of the baseline.
        system: the system as it was scored.
        noise: by metric, the largest difference that the system showed against itself.
    """

    name: str
    system: ScoredRun
    noise: Mapping[str, float] = field(default_factory=dict)


def dump_baseline(baseline: Baseline) -> str:
    """The text of the file: sorted, a query a line, so that a change reads well as a diff."""
    system = baseline.system
    header: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "name": baseline.name,
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
    queries = ",\n".join(
        f"    {json.dumps(q)}: {_json_line(v)}" for q, v in _query_values(system).items()
    )
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
        raise InputError(
            f"cannot be read: {error.strerror}.", source=label, code="cannot-read"
        ) from None
    if not isinstance(result, dict) or result.get("schema_version") != SCHEMA_VERSION:
        problem = f"not a saved baseline of version {SCHEMA_VERSION}; save it again."
        raise InputError(problem, source=label, code="wrong-document")
    try:
        return Baseline(result["name"], _read_system(result), result["noise"])
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        problem = f"a saved baseline that was damaged ({type(error).__name__}: {error}); save anew."
        raise InputError(problem, source=label, code="damaged-file") from None


def is_baseline(first_bytes: bytes) -> bool:
    """True if a file with these first bytes is a saved baseline."""
    start = first_bytes[:200].replace(b" ", b"").replace(b"\n", b"")
    return start.startswith(b'{"schema_version":1,"name":')


def _json_line(value: Any) -> str:  # noqa: ANN401 - plain values
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _query_values(system: ScoredRun) -> dict[str, dict[str, Any]]:
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
        lists += [
            (query, rank, doc, grade) for rank, (doc, grade) in enumerate(query_values["top"], 1)
        ]
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
    """The lists of users without judgments; None where the file has none."""
    if "served" not in result:
        return None
    rows = list(result["served"].items())
    tags = [{"query_id": user, **result.get("served_tags", {}).get(user, {})} for user, _ in rows]
    schema = dict.fromkeys(["query_id", *result["tags"]], pl.String)
    lists = pl.DataFrame(rows, schema=SERVED, orient="row")
    return lists.join(pl.DataFrame(tags, schema=schema), "query_id", how="left")


def _served_tags(served: pl.DataFrame) -> dict[str, dict[str, str]]:
    """The tags of users without judgments that have any."""
    rows = served.drop("doc_ids").iter_rows(named=True)
    tags_by_user = {
        row.pop("query_id"): {k: v for k, v in row.items() if v is not None} for row in rows
    }
    return {user: tags for user, tags in tags_by_user.items() if tags}
