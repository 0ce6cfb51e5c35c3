"""Cells of score tables: one value of one metric for one query and system, with its line."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.source import source
from rankgate.data.text.json_text import parsed
from rankgate.data.text.numbers import number_fault
from rankgate.data.text.utf8 import BOM, decoded
from rankgate.decisions.comparison.scores.grouped import GroupedRun, grouped_runs
from rankgate.measurement.evaluation.evaluation import Evaluation

if TYPE_CHECKING:
    from rankgate.decisions.comparison.scores.metric_names import MetricNames

ALL = "all"
"""What trec_eval and ir_measures call the summary over queries."""

_QUERY = ("query_id", "qid", "query-id", "query", "q_id", "topic", "topic_id", "query_text")
_SYSTEM = ("system", "run", "run_id", "system_id", "model", "name", "runid")
_METRIC = ("metric", "measure")
_VALUE = ("value", "score", "result")
_EMPTY = frozenset({"", "nan", "null", "none", "na", "n/a", "-"})
_SEPARATORS = (",", "\t", ";", "|")


@dataclass(frozen=True)
class Cell:
    """One value.

    Attributes:
        system: None where the file is of one system and does not name it.
        query, metric: as the file has them; the metric is empty where a wide table of one metric
            does not name it.
        value: None where the cell is empty.
        line: where it is; None in JSON.
    """

    system: str | None
    query: str
    metric: str
    value: float | None
    line: int | None


@dataclass(frozen=True)
class ScoreFile:
    """The cells of one file without summaries over queries, and what it is called.

    Attributes:
        label, stem: what it is called.
        cells: its values.
        groups: by system, where cells are of groups of queries.
    """

    label: str
    stem: str
    cells: tuple[Cell, ...]
    groups: Mapping[str, GroupedRun] = field(default_factory=dict)


def score_cells(path: Any, names: MetricNames) -> ScoreFile:  # noqa: ANN401 - a path, a frame or a dict
    """The cells of a file, a frame or nested dicts, whichever tool wrote them.

    Raises:
        InputError: what is wrong, with file and line.
    """
    from rankgate.data.dataframes import is_frame, polars_frame

    if isinstance(path, Evaluation):
        cells = _evaluation(path.to_dict(per_query=True)["runs"], path.qrels)
        return _of_queries("the evaluation", "evaluation", cells)
    if isinstance(path, Mapping):
        return ScoreFile("scores", "scores", tuple(_nested(path, "scores", names)))
    if is_frame(path):
        table = polars_frame(path, "scores")
        rows = [(None, [*map(_text, row)]) for row in table.iter_rows()]
        return _of_queries("scores", "scores", _table(table.columns, rows, "scores", names))
    place = source(path)
    data = place.everything().removeprefix(BOM)
    begin = data.lstrip()[:1]
    if begin == b"{" and b'"groups"' in data and (runs := grouped_runs(data, place.label)):
        own = tuple(cell for name, run in runs.items() for cell in _of_groups(name, run))
        return ScoreFile(place.label, place.stem, own, runs)
    if begin in (b"{", b"["):
        cells = _json(data, place.label, names)
    else:
        text = decoded(data, place.label)
        cells = _lines(text, place.label, names)
    return _of_queries(place.label, place.stem, cells)


def _of_queries(label: str, stem: str, cells: Iterator[Cell]) -> ScoreFile:
    kept = tuple(each for each in cells if each.query != ALL)
    if not kept:
        problem = "no value of any query; write them by trec_eval -q or rankgate eval --per-query."
        raise InputError(problem, source=label, code="no-values")
    return ScoreFile(label, stem, kept)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _json(data: bytes, label: str, names: MetricNames) -> Iterator[Cell]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    several = len(lines) > 1 and all(line.strip()[:1] == b"{" for line in lines[:2])
    if several and lines[0].strip()[-1:] == b"}":  # one object a line
        records = [parsed(line, label, i) for i, line in enumerate(lines, 1)]
    else:
        found = parsed(data, label)
        if isinstance(found, Mapping) and isinstance(found.get("runs"), list):
            return _evaluation(found["runs"], label)
        if isinstance(found, Mapping) and {"schema_version", "kind"} <= set(found):
            problem = (
                f"a saved result of kind {found['kind']} without values of queries; give "
                "evaluations that have them (rankgate eval --per-query, or --backend spark)."
            )
            raise InputError(problem, source=label, code="no-values")
        if isinstance(found, Mapping):
            return _nested(found, label, names)
        records = found
    if not all(isinstance(each, Mapping) for each in records):
        problem = "a list that is not of objects; give one with query, metric and value each."
        raise InputError(problem, source=label, code="wrong-document")
    columns = list(dict.fromkeys(str(name) for each in records for name in each))
    rows = [
        (i if several else None, [_text(each.get(name)) for name in columns])
        for i, each in enumerate(records, 1)
    ]
    return _table(columns, rows, label, names)


def _evaluation(runs: Sequence[Any], label: str) -> Iterator[Cell]:
    """``rankgate eval --format json``."""
    for run in runs:
        for metric, values in (run.get("per_query") or {}).items():
            for query, value in values.items():
                yield Cell(str(run["name"]), query, metric, _number(value, label), None)


def _of_groups(name: str, run: GroupedRun) -> Iterator[Cell]:
    """``rankgate eval --backend spark --format json``: a value for each group of queries."""
    for metric, sums in run.metrics.items():
        for group, value in sums.values().items():
            yield Cell(name, group, metric, value, None)


def _nested(found: Mapping[Any, Any], label: str, names: MetricNames) -> Iterator[Cell]:
    """{query: {metric: value}} of pytrec_eval or {metric: {query: value}} of ranx, or by system."""
    inner = [each for each in found.values() if isinstance(each, Mapping)]
    if len(inner) < len(found) or not inner:
        problem = "JSON without a value of each query; write {query: {metric: value}}."
        raise InputError(problem, source=label, code="wrong-document")
    if all(isinstance(value, Mapping) for each in inner for value in each.values()):
        for system, each in found.items():
            yield from (_of(cell, str(system)) for cell in _nested(each, label, names))
        return
    outside = names.share(map(str, found))
    inside = names.share(str(name) for each in inner[:20] for name in each)
    if outside == inside:
        problem = (
            "nobody can tell its metrics from its queries; name a metric of it with -m, or "
            "use metrics that rankgate knows (rankgate metrics)."
        )
        raise InputError(problem, source=label, code="unknown-metric")
    for one, values in found.items():
        for two, value in values.items():
            query, metric = (two, one) if outside > inside else (one, two)
            yield Cell(None, str(query), str(metric), _number(value, label), None)


def _of(cell: Cell, system: str) -> Cell:
    return Cell(system, cell.query, cell.metric, cell.value, cell.line)


def _number(value: object, label: str) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        problem = f"value {value!r} is not a finite number."
        raise InputError(problem, source=label, code="not-a-number")
    return float(value)


def _lines(text: str, label: str, names: MetricNames) -> Iterator[Cell]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    fields = first.split()
    headless = len(fields) in (3, 4) and (_is_value(fields[-1]) or fields[0] == "runid")
    if headless and not any(each in first for each in ",;|"):
        return _listed(text, label, names)
    separator = max(_SEPARATORS, key=first.count)
    if separator not in first:
        problem = "neither a table with a header nor lines of query, metric and value."
        raise InputError(problem, source=label, line=1, code="unknown-format")
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    header = [each.strip() for each in next(reader)]
    rows = []
    at = reader.line_num + 1
    for row in reader:
        if any(map(str.strip, row)):
            if len(row) != len(header):
                problem = f"{len(row)} fields, expected {len(header)} as in the first line."
                raise InputError(problem, source=label, line=at, code="wrong-field-count")
            rows.append((at, row))
        at = reader.line_num + 1
    return _table(header, rows, label, names)


def _is_value(word: str) -> bool:
    return word.lower() in _EMPTY or not number_fault(word, "value")


def _listed(text: str, label: str, names: MetricNames) -> Iterator[Cell]:
    """Lines of trec_eval -q (metric, query, value) and ir_measures (query, metric, value).

    Four fields begin with the system. The line ``runid all NAME`` of trec_eval names it.
    """
    rows, system = [], None
    for at, line in enumerate(text.splitlines(), 1):
        fields = line.split("\t") if line.count("\t") > 1 else line.split()
        fields = [each.strip() for each in fields]
        if not any(fields):
            continue
        if len(fields) not in (3, 4):
            problem = f"{len(fields)} fields, expected 3 (query, metric and value)."
            raise InputError(problem, source=label, line=at, code="wrong-field-count")
        if fields[0] == "runid":
            system = fields[-1]
        elif fields[0] != "relstring":
            rows.append((at, fields))
    head = [row[-3:-1] for _, row in rows]
    summary = [sum(pair[i] == ALL for pair in head) for i in (0, 1)]
    known = [names.share(pair[i] for pair in head[:200]) for i in (0, 1)]
    if summary[0] == summary[1] and known[0] == known[1]:
        problem = "nobody can tell its metrics from its queries; name one of them with -m."
        raise InputError(problem, source=label, line=rows[0][0], code="unknown-metric")
    query = int(summary[1] > summary[0] or (summary[1] == summary[0] and known[0] > known[1]))
    for at, row in rows:
        own = row[0] if len(row) > 3 else system
        value = _value(row[-1], label, at)
        yield Cell(own, row[-3 + query], row[-2 - query], value, at)


def _value(word: str, label: str, at: int | None) -> float | None:
    if word.strip().lower() in _EMPTY:
        return None
    if problem := number_fault(word.strip(), "value"):
        raise InputError(problem, source=label, line=at, code="not-a-number")
    return float(word)


def _table(
    header: Sequence[str],
    rows: Sequence[tuple[int | None, Sequence[str]]],
    label: str,
    names: MetricNames,
) -> Iterator[Cell]:
    """Long (query, system, metric, value), or wide with systems or metrics as columns."""
    lower = [each.strip().lower() for each in header]
    twins = [name for i, name in enumerate(lower) if name in lower[:i]]
    if twins:
        problem = f"two columns are called '{twins[0]}'; rename or remove one of them."
        raise InputError(problem, source=label, line=1, code="duplicate-column")
    query, system, metric, value = (
        next((lower.index(name) for name in some if name in lower), None)
        for some in (_QUERY, _SYSTEM, _METRIC, _VALUE)
    )
    if value is not None and (metric is not None or system is not None) and query is not None:
        for at, row in rows:
            own = row[system].strip() if system is not None else None
            name = row[metric].strip() if metric is not None else ""
            yield Cell(own, _id(row[query], label, at), name, _value(row[value], label, at), at)
        return
    first = 0 if query is None else query
    columns = [i for i in range(len(header)) if i not in (first, system)]
    if not columns:
        problem = f"no column of values among {', '.join(header)}."
        raise InputError(problem, source=label, line=1, code="missing-column")
    of_metrics = system is not None or names.share(header[i] for i in columns) == 1
    for at, row in rows:
        for i in columns:
            name = header[i].strip()
            own = row[system].strip() if system is not None else None if of_metrics else name
            wide = name if of_metrics else ""
            yield Cell(own, _id(row[first], label, at), wide, _value(row[i], label, at), at)


def _id(word: str, label: str, at: int | None) -> str:
    if not word.strip():
        raise InputError("query_id is empty.", source=label, line=at, code="empty-value")
    return word.strip()
