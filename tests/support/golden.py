"""The golden table: what other tools compute for small inputs, one number a row.

``tests/golden/README.md`` documents the columns. Rows are tested in batches: all metrics
of one convention for one collection in one `evaluate`, each wrong row named in the failure.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rankgate.core.errors import RankgateError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring import CONVENTIONS, Convention

TABLE = Path(__file__).parents[1] / "golden" / "conventions.csv.gz"

Row = Mapping[str, str]


@cache
def rows() -> tuple[Row, ...]:
    """All rows that a tool can reproduce."""
    with gzip.open(TABLE, "rt", encoding="utf-8", newline="") as lines:
        return tuple(row for row in csv.DictReader(lines) if row["reproducible"] == "yes")


def rows_of(conventions: Collection[str]) -> list[Row]:
    """The rows of some conventions."""
    return [row for row in rows() if row["convention"] in conventions]


def parsed(text: str, sign: str) -> dict[str, list[tuple[str, str]]]:
    """``1:a=3,b=2;2:`` as ``{"1": [("a", "3"), ("b", "2")], "2": []}``."""
    tables: dict[str, list[tuple[str, str]]] = {}
    for ranking in text.split(";") if text else []:
        query, _, items = ranking.partition(":")
        pairs = [item.rpartition(sign) for item in items.split(",") if item]
        tables.setdefault(query, []).extend((key, right) for key, _, right in pairs)
    return tables


def batches(chosen: Iterable[Row]) -> list[Any]:
    """The rows by convention and collection, one pytest parameter for each batch."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in chosen:
        groups.setdefault((row["convention"], row["qrels"], row["run"]), []).append(row)
    return [pytest.param(group, id=f"{name}-{group[0]['id']}") for (name, _, _), group in groups.items()]


class Call(NamedTuple):
    """How a row is put to `evaluate`, and where its value is read; by default the mean."""

    qrels: Any
    run: Any
    metric: str
    how: Convention | str
    read: Callable[[Any, str], float | None] = lambda scores, metric: scores.means[metric]

    @property
    def shared(self) -> tuple[str, str, str]:
        """Equal for calls that fit into one `evaluate`."""
        convention = CONVENTIONS[self.how] if isinstance(self.how, str) else self.how
        return convention.hash, repr(self.qrels), repr(self.run)


def evaluated(calls: Mapping[str, Call]) -> dict[str, Any]:
    """The value of each call by the row's id, or the error of a call that fails."""
    groups: dict[tuple[str, str, str], dict[str, Call]] = {}
    for name, call in calls.items():
        groups.setdefault(call.shared, {})[name] = call
    values: dict[str, Any] = {}
    for group in groups.values():
        values |= _at_once(group)
    return values


def _at_once(group: Mapping[str, Call]) -> dict[str, Any]:
    first = next(iter(group.values()))
    metrics = list(dict.fromkeys(call.metric for call in group.values()))
    try:
        scores = evaluate(first.qrels, first.run, metrics, first.how).runs[0]
    except RankgateError as error:
        if len(group) == 1:
            return dict.fromkeys(group, error)
        return {name: _at_once({name: call})[name] for name, call in group.items()}
    return {name: call.read(scores, call.metric) for name, call in group.items()}


def wanted(row: Row) -> tuple[float, float]:
    """The value of a row and its tolerance; NaN where the tool gives null."""
    value = math.nan if row["value"] == "null" else float(row["value"])
    return value, float(row["tolerance"] or 0)


def assert_rows(
    chosen: Sequence[Row],
    got: Mapping[str, Any],
    answered: Mapping[str, float] | None = None,
    refused: Collection[str] = (),
) -> None:
    """Fail with one line for each row that differs from the tool.

    Args:
        chosen: the rows.
        got: our value of each row by id; an exception where there is no value.
        answered: rows where we give another value, by id.
        refused: rows where we give an error and the tool a value.
    """
    lines = []
    for row in chosen:
        value = got[row["id"]]
        if row["id"] in (answered or {}):
            agrees = not isinstance(value, Exception) and value == pytest.approx(
                (answered or {})[row["id"]], rel=0, abs=1e-9, nan_ok=True
            )
        elif row["id"] in refused or row["value"].startswith("error"):
            agrees = isinstance(value, Exception)
        elif isinstance(value, Exception):
            agrees = False
        else:
            want, tolerance = wanted(row)
            agrees = value == pytest.approx(want, rel=0, abs=tolerance, nan_ok=True)
        if not agrees:
            lines.append(f"{row['id']} {row['convention']} {row['metric']}: {value!r}, not {row['value']}")
    if lines:
        pytest.fail("\n".join([f"{len(lines)} of {len(chosen)} rows differ", *lines]), pytrace=False)
