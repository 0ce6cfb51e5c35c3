"""Comparisons from their JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.comparison.compare import Comparisons
from rankgate.comparison.many import TABLES, Many
from rankgate.data.comparison import METRICS, PLANS, Comparison, Identity
from rankgate.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Told = Mapping[str, Any]

_TEXT, _NUMBER, _COUNT = pl.String, pl.Float64, pl.Int64
_SCHEMAS: dict[str, dict[str, Any]] = {
    "metrics": METRICS,
    "queries": {
        "query_id": _TEXT, "metric": _TEXT, "baseline": _NUMBER, "candidate": _NUMBER,
        "delta": _NUMBER, "gain": _NUMBER, "judged_baseline": _NUMBER, "judged_candidate": _NUMBER,
        "overlap": _NUMBER,
    },
    "lists": {"query_id": _TEXT, "system": _TEXT, "rank": _COUNT, "doc_id": _TEXT,
              "grade": _NUMBER, "moved": _COUNT},
    "slices": {"tag": _TEXT, "value": _TEXT, **METRICS},
    "interactions": {"tag": _TEXT, "metric": _TEXT, "p_value": _NUMBER},
    "judged": {"system": _TEXT, "k": _COUNT, "share": _NUMBER},
    "latency": {"system": _TEXT, "n": _COUNT, "mean": _NUMBER, "p50": _NUMBER, "p90": _NUMBER,
                "p95": _NUMBER, "p99": _NUMBER},
    "states": {"system": _TEXT, "state": _TEXT, "queries": _COUNT},
    "excluded": {"query_id": _TEXT, "metric": _TEXT, "reason": _TEXT},
    "plans": PLANS,
}  # fmt: skip
_FIGURES = ("level", "interval", "test", "correction", "power", "depth", "seed", "resamples")


def comparisons_of(told: Told, label: str) -> Comparisons:
    """What ``Comparisons.to_dict`` was made of.

    Raises:
        InputError: something is lacking, or is no table.
    """
    try:
        first, *others = map(_comparison, told["comparisons"])
        many = _many(told["systems"]) if "systems" in told else None
    except (KeyError, TypeError, ValueError, AttributeError, UsageError,
            pl.exceptions.PolarsError) as error:  # fmt: skip
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        problem = f"a comparison that was damaged ({what}); write it anew."
        raise InputError(problem, source=label, code="damaged-file") from None
    return Comparisons((first, *others), many)


def _comparison(told: Told) -> Comparison:
    parts: dict[str, Any] = {name: told[name] for name in _FIGURES}
    parts |= {name: _frame(told.get(name) or [], schema) for name, schema in _SCHEMAS.items()}
    lower = tuple(map(str, told.get("lower", ())))
    for name in ("metrics", "queries", "slices"):  # files of version 1.0 have no gain
        parts[name] = _with_gain(parts[name], lower)
    return Comparison(
        baseline=_identity(told["baseline"]),
        candidate=_identity(told["candidate"]),
        qrels=str(told["qrels"]["name"]),
        qrels_sha256=str(told["qrels"]["sha256"]),
        convention={name: told["convention"][name] for name in ("name", "hash", "axes")},
        warnings=tuple(map(str, told["warnings"])),
        lower=lower,
        **parts,
    )


def _with_gain(table: pl.DataFrame, lower: tuple[str, ...]) -> pl.DataFrame:
    """The table with ``gain`` filled in where a file has none."""
    less = pl.col("metric").is_in(list(lower))
    gain = pl.when(less).then(-pl.col("delta")).otherwise("delta")
    return table.with_columns(pl.coalesce("gain", gain).alias("gain"))


def _identity(told: Told) -> Identity:
    return Identity(str(told["name"]), told["tag"], str(told["sha256"]))


def _many(told: Told) -> Many:
    parts: dict[str, Any] = {name: told[name] for name in ("level", "resamples", "seed")}
    parts |= {name: pl.DataFrame(told[name], infer_schema_length=None) for name in TABLES}
    return Many(systems=tuple(map(str, told["systems"])), **parts)


def _frame(rows: list[dict[str, Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """The rows with the columns that a comparison has, and any others as they are."""
    found = pl.DataFrame(rows, infer_schema_length=None)
    known = [
        pl.col(name).cast(kind) if name in found.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema.items()
    ]
    others = [name for name in found.columns if name not in schema]
    return found.select(*known, *others) if len(found) else pl.DataFrame(schema=dict(schema))
