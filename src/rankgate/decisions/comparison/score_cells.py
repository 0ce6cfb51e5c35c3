"""Cells of score tables: one value of one metric for one query and system, with its line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, check_schema_version
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import open_source
from rankgate.data.text.json_text import parse_json
from rankgate.data.text.spreadsheet_cells import number_rows, require_width
from rankgate.data.text.text_values import BOM, decode_utf8, number_fault
from rankgate.decisions.comparison.comparison import Comparison
from rankgate.decisions.comparison.framework_scores import framework_file, read_archive
from rankgate.decisions.comparison.query_groups import (
    Cell,
    GroupedRun,
    ScoreFile,
    read_grouped_runs,
    runs_of_result,
)
from rankgate.measurement.evaluation.scores import Scores

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile
    from rankgate.decisions.comparison.query_groups import MetricNames


ALL = "all"
"""The name of the summary over queries in trec_eval and ir_measures."""

_QUERY = ("query_id", "qid", "query-id", "query", "q_id", "topic", "topic_id", "query_text")
_SYSTEM = ("system", "run", "run_id", "system_id", "model", "name", "runid")
_METRIC = ("metric", "measure")
_VALUE = ("value", "score", "result")
_ZIP, _MODEL = b"PK\x03\x04", "model_meta.json"
_REVISION = 8  # letters of a revision that are shown
_EMPTY = frozenset({"", "nan", "null", "none", "na", "n/a", "-"})
_SEPARATORS = (",", "\t", ";", "|")


def score_cells(path: Any, names: MetricNames) -> ScoreFile:  # noqa: ANN401 - a path, a frame or a dict
    """Read the cells of a file, a frame or nested dicts of any known tool.

    Raises:
        InputError: data that cannot be read, with file and line.
    """
    from rankgate.data.foreign_frames import is_frame, polars_frame

    if isinstance(path, Scores | Comparison) and (runs := runs_of_result(path)):
        return _file_of_sums("the evaluation", "evaluation", runs)
    if isinstance(path, Scores):
        cells = _evaluation_cells(path.to_dict(per_query=True)["runs"], path.qrels)
        return _file_of_queries("the evaluation", "evaluation", cells)
    if isinstance(path, Mapping):
        file = framework_file(path, "scores", "scores", names)
        return file or ScoreFile("scores", "scores", tuple(_nested_cells(path, "scores", names)))
    if is_frame(path):
        table = polars_frame(path, "scores")
        file = framework_file(table.to_dicts(), "scores", "scores", names)
        rows = [(None, [*map(_text, row)]) for row in table.iter_rows()]
        return file or _file_of_queries(
            "scores", "scores", _table_cells(table.columns, rows, "scores", names)
        )
    if isinstance(path, str | Path) and Path(path).is_dir():
        return _read_folder(Path(path), names)
    return _read_file(open_source(path), names)


def _read_file(file_source: InputFile, names: MetricNames) -> ScoreFile:
    data = file_source.everything().removeprefix(BOM)
    first_byte = data.lstrip()[:1]
    if first_byte == b"{" and b'"groups"' in data and (runs := read_grouped_runs(data, file_source.label)):
        return _file_of_sums(file_source.label, file_source.stem, runs)
    source = file_source.label, file_source.stem
    if data.startswith(_ZIP):
        file = framework_file(read_archive(data, source[0]), *source, names)
        return file or _file_of_queries(*source, iter(()))
    if first_byte in (b"{", b"["):
        return _read_json(data, *source, names)
    return _read_lines(decode_utf8(data, source[0]), *source, names)


def _read_folder(folder: Path, names: MetricNames) -> ScoreFile:
    """The files of a folder: results of one model or several on several tasks, as MTEB writes them.

    A folder that has files of values is a system. Where there are several, such as
    ``results/MODEL/REVISION``, each is a system of its own, also two revisions of a model.

    Raises:
        InputError: the folder has no files of values.
    """
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(folder.rglob("*.json")):
        if path.name != _MODEL:
            by_folder.setdefault(path.parent, []).append(path)
    if not by_folder:
        problem = "a folder without files of values (.json); name a file."
        raise InputError(problem, source=str(folder), code="no-values")
    files = {path: [score_cells(file, names) for file in paths] for path, paths in by_folder.items()}
    models = {path: _model_name(path) for path in by_folder}
    all_files = [file for folder_files in files.values() for file in folder_files]
    system, cells = "", [cell for file in all_files for cell in file.cells]
    if len(by_folder) == 1:
        system = next(iter(models.values())) or _model_name(folder)
    else:
        counts = Counter(models.values())
        cells = []
        for path, folder_files in files.items():
            name = models[path] or str(path.relative_to(folder))
            name = f"{name} ({path.name[:_REVISION]})" if counts[models[path]] > 1 and models[path] else name
            cells += [
                cell._replace(system=cell.system or name) for file in folder_files for cell in file.cells
            ]
    return ScoreFile(
        str(folder),
        folder.name,
        tuple(cells),
        system=system,
        clusters={query: cluster for file in all_files for query, cluster in file.clusters.items()},
        notes=tuple(dict.fromkeys(note for file in all_files for note in file.notes)),
    )


def _model_name(folder: Path) -> str:
    """The name of the model in a folder; empty without one."""
    path = folder / _MODEL
    fields = parse_json(path.read_bytes(), str(path)) if path.is_file() else None
    return str(fields.get("name") or "") if isinstance(fields, Mapping) else ""


def _file_of_sums(label: str, stem: str, runs: Mapping[str, GroupedRun]) -> ScoreFile:
    cells = tuple(cell for name, run in runs.items() for cell in _group_cells(name, run))
    return ScoreFile(label, stem, cells, runs)


def _file_of_queries(label: str, stem: str, cells: Iterator[Cell]) -> ScoreFile:
    query_cells = tuple(cell for cell in cells if cell.query != ALL)
    if not query_cells:
        problem = "no values of queries; write them by trec_eval -q or rankgate eval --per-query."
        raise InputError(problem, source=label, code="no-values")
    return ScoreFile(label, stem, query_cells)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _read_json(content: bytes, label: str, stem: str, names: MetricNames) -> ScoreFile:
    lines = [line for line in content.split(b"\n") if line.strip()]
    is_json_lines = len(lines) > 1 and all(line.strip()[:1] == b"{" for line in lines[:2])
    if is_json_lines and lines[0].strip()[-1:] == b"}":  # one object per line
        records = [parse_json(line, label, i) for i, line in enumerate(lines, 1)]
    else:
        document = parse_json(content, label)
        runs = document.get("runs") if isinstance(document, Mapping) else None
        if isinstance(runs, list):
            check_schema_version(document, Scores.schema_version, label)  # type: ignore[arg-type]
            return _file_of_queries(label, stem, _evaluation_cells(runs, label))
        if isinstance(document, Mapping) and {"schema_version", "kind"} <= set(document):
            problem = (
                f"a saved result of kind {document['kind']} without values of queries; give evaluations that "
                "have them (rankgate eval --per-query, or --backend spark)."
            )
            raise InputError(problem, source=label, code="no-values")
        if file := framework_file(document, label, stem, names):
            return file
        if isinstance(document, Mapping):
            return _file_of_queries(label, stem, _nested_cells(document, label, names))
        records = document if isinstance(document, list) else [document]
    if file := framework_file(records, label, stem, names):
        return file
    objects = [record for record in records if isinstance(record, Mapping)]
    if len(objects) < len(records):
        problem = "a list that is not of objects; give one with query, metric and value each."
        raise InputError(problem, source=label, code="wrong-document")
    columns = list(dict.fromkeys(str(name) for record in objects for name in record))
    rows = [
        (i if is_json_lines else None, [_text(record.get(name)) for name in columns])
        for i, record in enumerate(objects, 1)
    ]
    return _file_of_queries(label, stem, _table_cells(columns, rows, label, names))


def _evaluation_cells(runs: Sequence[Any], label: str) -> Iterator[Cell]:
    """Read the output of ``rankgate eval --format json``."""
    for run in runs:
        for metric, values in (run.get("per_query") or {}).items():
            for query, value in values.items():
                number = math.nan if value is None else _json_number(value, label)  # undefined, not empty
                yield Cell(str(run["name"]), query, metric, number, None)


def _group_cells(name: str, run: GroupedRun) -> Iterator[Cell]:
    """Read ``rankgate eval --backend spark --format json``: a value for each group of queries."""
    for metric, sums in run.metrics.items():
        for group, value in sums.values().items():
            yield Cell(name, group, metric, value, None)


def _nested_cells(document: Mapping[Any, Any], label: str, names: MetricNames) -> Iterator[Cell]:
    """Read {query: {metric: value}} (pytrec_eval) or {metric: {query: value}} (ranx)."""
    inner_mappings = [inner for inner in document.values() if isinstance(inner, Mapping)]
    if len(inner_mappings) < len(document) or not inner_mappings:
        problem = "JSON without a value of each query; write {query: {metric: value}}."
        raise InputError(problem, source=label, code="wrong-document")
    if all(isinstance(value, Mapping) for inner in inner_mappings for value in inner.values()):
        for system, values_of_system in document.items():
            yield from (
                cell._replace(system=str(system)) for cell in _nested_cells(values_of_system, label, names)
            )
        return
    outer_metric_share = names.share(map(str, document))
    inner_metric_share = names.share(str(name) for inner in inner_mappings[:20] for name in inner)
    if outer_metric_share == inner_metric_share:
        problem = (
            "metrics and queries cannot be distinguished; name one of its metrics with -m, or use metrics of "
            "rankgate (listed by rankgate metrics)."
        )
        raise InputError(problem, source=label, code="unknown-metric")
    for outer_name, values in document.items():
        for inner_name, value in values.items():
            query, metric = (
                (inner_name, outer_name)
                if outer_metric_share > inner_metric_share
                else (outer_name, inner_name)
            )
            yield Cell(None, str(query), str(metric), _json_number(value, label), None)


def _json_number(value: object, label: str) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        problem = f"value {value!r} is not a finite number."
        raise InputError(problem, source=label, code="not-a-number")
    return float(value)


def _read_lines(text: str, label: str, stem: str, names: MetricNames) -> ScoreFile:
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    fields = first_line.split()
    headless = len(fields) in (3, 4) and (_is_value(fields[-1]) or fields[0] == "runid")
    if headless and not any(separator in first_line for separator in ",;|"):
        return _file_of_queries(label, stem, _trec_cells(text, label, names))
    separator = max(_SEPARATORS, key=first_line.count)
    if separator not in first_line:
        problem = "neither a table with a header nor lines of query, metric and value."
        raise InputError(problem, source=label, line=1, code="unknown-format")
    numbered_rows = number_rows(text, separator, label)
    header = [heading.strip() for heading in next(numbered_rows)[1]]
    rows = list(require_width(numbered_rows, len(header), label))
    records = [dict(zip(header, row, strict=True)) for _, row in rows]
    file = framework_file(records, label, stem, names)
    return file or _file_of_queries(label, stem, _table_cells(header, rows, label, names))


def _is_value(text: str) -> bool:
    return text.lower() in _EMPTY or not number_fault(text, "value")


def _trec_cells(text: str, label: str, names: MetricNames) -> Iterator[Cell]:
    """Read lines of trec_eval -q (metric, query, value) and ir_measures (query, metric, value).

    In lines of four fields the first is the system. The line ``runid all NAME`` of trec_eval names
    the system.
    """
    rows, system = [], None
    for line_number, line in enumerate(text.splitlines(), 1):
        fields = line.split("\t") if line.count("\t") > 1 else line.split()
        fields = [text.strip() for text in fields]
        if not any(fields):
            continue
        if len(fields) not in (3, 4):
            problem = f"{count_noun(len(fields), 'field')}, expected 3 (query, metric and value)."
            raise InputError(problem, source=label, line=line_number, code="wrong-field-count")
        if fields[0] == "runid":
            system = fields[-1]
        elif fields[0] != "relstring":
            rows.append((line_number, fields))
    id_pairs = [row[-3:-1] for _, row in rows]
    summary = [sum(pair[i] == ALL for pair in id_pairs) for i in (0, 1)]
    metric_shares = [names.share(pair[i] for pair in id_pairs[:200]) for i in (0, 1)]
    if summary[0] == summary[1] and metric_shares[0] == metric_shares[1]:
        problem = "metrics and queries cannot be distinguished; name one of the metrics with -m."
        raise InputError(problem, source=label, line=rows[0][0], code="unknown-metric")
    query = int(summary[1] > summary[0] or (summary[1] == summary[0] and metric_shares[0] > metric_shares[1]))
    for line_number, row in rows:
        system_name = row[0] if len(row) > 3 else system
        value = _parse_value(row[-1], label, line_number)
        yield Cell(system_name, row[-3 + query], row[-2 - query], value, line_number)


def _parse_value(text: str, label: str, line: int | None) -> float | None:
    if text.strip().lower() in _EMPTY:
        return None
    if problem := number_fault(text.strip(), "value"):
        raise InputError(problem, source=label, line=line, code="not-a-number")
    return float(text)


def _table_cells(
    header: Sequence[str], rows: Sequence[tuple[int | None, Sequence[str]]], label: str, names: MetricNames
) -> Iterator[Cell]:
    """Read a long table (query, system, metric, value), or a wide one by system or metric."""
    lower = [heading.strip().lower() for heading in header]
    duplicates = [name for i, name in enumerate(lower) if name in lower[:i]]
    if duplicates:
        problem = f"two columns are called '{duplicates[0]}'; rename or remove one of them."
        raise InputError(problem, source=label, line=1, code="duplicate-column")
    query, system, metric, value = (
        next((lower.index(name) for name in aliases if name in lower), None)
        for aliases in (_QUERY, _SYSTEM, _METRIC, _VALUE)
    )
    if value is not None and (metric is not None or system is not None) and query is not None:
        for line_number, row in rows:
            system_name = row[system].strip() if system is not None else None
            name = row[metric].strip() if metric is not None else ""
            yield Cell(
                system_name,
                _parse_query_id(row[query], label, line_number),
                name,
                _parse_value(row[value], label, line_number),
                line_number,
            )
        return
    query_column = 0 if query is None else query
    columns = [i for i in range(len(header)) if i not in (query_column, system)]
    if not columns:
        problem = f"no column of values among {', '.join(header)}."
        raise InputError(problem, source=label, line=1, code="missing-column")
    of_metrics = system is not None or names.share(header[i] for i in columns) == 1
    for line_number, row in rows:
        for i in columns:
            name = header[i].strip()
            system_name = row[system].strip() if system is not None else None if of_metrics else name
            metric_name = name if of_metrics else ""
            yield Cell(
                system_name,
                _parse_query_id(row[query_column], label, line_number),
                metric_name,
                _parse_value(row[i], label, line_number),
                line_number,
            )


def _parse_query_id(text: str, label: str, line: int | None) -> str:
    if not text.strip():
        raise InputError("query_id is empty.", source=label, line=line, code="empty-value")
    return text.strip()
