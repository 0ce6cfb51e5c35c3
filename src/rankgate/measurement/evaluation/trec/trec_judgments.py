"""Judgments and files as in trec_eval: its parsing, errors, judge groups and preferences."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data import read_qrels, read_run
from rankgate.data.formats.trec import trec_files as trec_qrels
from rankgate.data.formats.trec import trec_files as trec_run
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import open_source
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.field_lines import Layout, line_of, read_line_frames
from rankgate.measurement.metrics.preference_input import Group, Preferred, Query
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.scoring.scoring_job import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.streams.source import InputFile
    from rankgate.measurement.evaluation.trec.trec_columns import Column
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

    Judgments = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


_END_BYTES = 1 << 16  # bytes at the end of a file that are searched for its last line first
_TAG_FIELD = 5
_BLANK = re.compile(rb"^\s*$\n", re.MULTILINE)


def read_judgments(qrels: QrelsLike, *, te9: bool = False) -> Qrels:
    """Read judgments; a grade is the whole number at the beginning of its field.

    Raises:
        InputError: trec_eval would not read the file.
        UsageError: the path is standard input, which is reserved for the run.
    """
    if not isinstance(qrels, str | Path):
        return read_qrels(qrels)
    if str(qrels) == "-":
        raise UsageError(
            "only the run can be standard input; name the file of judgments.", code="stdin-twice"
        )
    input_file = open_source(qrels)
    if te9:
        _refuse_comments(input_file)
        _refuse_blank_lines(input_file)
    return trec_qrels.read_qrels_lines(input_file, loose=True)


def read_ranking(run: RunLike, *, te9: bool = False, tagged: bool = True) -> Run:
    """Read a run; fields after the tag are ignored, and a score that is not a number is 0.

    Args:
        run: a path, ``-`` for standard input, a frame or a dict of dicts.
        te9: True to reject comments, as trec_eval 9 does.
        tagged: True to use the tag of the last line; otherwise that of the first line.

    Raises:
        InputError: trec_eval would not read the file.
    """
    if not isinstance(run, str | Path):
        return read_run(run)
    input_file = open_source(run)
    if te9:
        _refuse_comments(input_file)
    parsed_run = trec_run.read_run_lines(input_file, loose=True)
    return replace(parsed_run, tag=_last_tag(input_file) or parsed_run.tag) if tagged else parsed_run


def _refuse_comments(input_file: InputFile) -> None:
    """Check that no line begins with ``#``; for trec_eval 9 such a line is not a comment."""
    line = 1
    for piece in input_file.chunks():
        position = 0 if piece.startswith(b"#") else piece.find(b"\n#") + 1
        if position or piece.startswith(b"#"):
            problem = "a comment, which trec_eval 9 cannot read; remove it, or leave out --te9."
            raise InputError(
                problem,
                source=input_file.label,
                line=line + piece.count(b"\n", 0, position),
                code="comment-line",
            )
        line += piece.count(b"\n")


def _refuse_blank_lines(input_file: InputFile) -> None:
    """Check that no line of judgments is empty; trec_eval 9 rejects such lines as malformed."""
    line = 1
    for piece in input_file.chunks():
        if blank := _BLANK.search(piece):
            problem = "an empty line, which trec_eval 9 cannot read; remove it, or leave out --te9."
            count = line + piece.count(b"\n", 0, blank.start())
            raise InputError(problem, source=input_file.label, line=count, code="blank-line")
        line += piece.count(b"\n")


def _last_tag(input_file: InputFile) -> str | None:
    """The tag of the last line that is neither blank nor a comment."""
    fields = _last_fields(_last_lines(input_file))
    if len(fields) <= _TAG_FIELD:  # the file is compressed, or its end contains no complete line
        for piece in input_file.chunks():
            fields = _last_fields(piece) or fields
    return fields[_TAG_FIELD].decode(errors="replace") if len(fields) > _TAG_FIELD else None


def _last_lines(input_file: InputFile) -> bytes:
    """The last lines of a file that can be read from its end; empty for other files."""
    with input_file.open() as stream:
        if not isinstance(getattr(stream, "raw", None), io.FileIO) or not stream.seekable():
            return b""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _END_BYTES, 0))
        last_bytes = stream.read()
    return last_bytes if size <= _END_BYTES else last_bytes[last_bytes.find(b"\n") + 1 :]


def _last_fields(data: bytes) -> list[bytes]:
    end = len(data)
    while end > 0:
        begin = data.rfind(b"\n", 0, end) + 1
        content = data[begin:end].strip()
        if content and not content.startswith(b"#"):
            return content.split()
        end = begin - 1
    return []


_GROUP_FIELDS = ("query_id", "group", "doc_id", "grade")


def read_groups(path: str | Path) -> dict[str, Qrels]:
    """The judgments of each group by its name, in byte order; the second field is the group.

    Raises:
        InputError: a line is not a judgment.
        DuplicateError: a group judged a document twice for one query.
    """
    input_file = open_source(path)
    layout = Layout(_GROUP_FIELDS, "grade", _GROUP_FIELDS, loose=True)
    rows = pl.concat(list(read_line_frames(input_file, layout))).with_row_index("row")
    file_place = RowLocation(input_file.label, partial(line_of, input_file))
    qrels_by_group = {}
    for group in sorted(rows["group"].unique(), key=str.encode):
        group_rows = rows.filter(pl.col("group") == group)
        grades = group_rows["grade"].cast(pl.Int64).cast(pl.Float64)
        table = group_rows.select("query_id", "doc_id", grades)
        qrels_by_group[group] = Qrels(
            table, name=input_file.stem, place=file_place.select(group_rows["row"].to_list())
        )
    return qrels_by_group


def group_values(
    groups: dict[str, Qrels], run: Run, metrics: Sequence[tuple[Metric, ...]], how: Convention
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The mean over groups of each metric for every judged query, and True if the run has it."""
    query_ids = sorted({q for qrels in groups.values() for q in qrels.table["query_id"]}, key=str.encode)
    position = {query: i for i, query in enumerate(query_ids)}
    added = [np.zeros(len(position)) for _ in metrics]
    number, present = np.zeros(len(position)), np.zeros(len(position), bool)
    keyed_metrics = [(str(i), metric) for i, group_metrics in enumerate(metrics) for metric in group_metrics]
    keyed_metrics = keyed_metrics or [("", _any_metric())]
    for qrels in groups.values():
        scores = score(JudgmentIndex.from_judgments(qrels), run, keyed_metrics, replace(how, missing="zero"))
        rows = np.array([position[query] for query in scores.query_ids])
        number[rows] += 1
        present[rows] = scores.why[keyed_metrics[0][0]] != MISSING
        for i, group_metrics in enumerate(metrics):
            if group_metrics:
                added[i][rows] += scores.values[str(i)]
    return query_ids, [values / number for values in added], present


def _any_metric() -> Metric:
    from rankgate.measurement.metrics.ranking.set_metrics import NumRet

    return NumRet


_PREFERENCE_FIELDS = ("query_id", "group", "subgroup", "doc_id", "level")


def read_preferences(path: str | Path) -> Judgments:
    """Read preferences: query, judgment group, subgroup, document, level.

    Raises:
        InputError: a line does not have five fields, or a level is not a number.
        DuplicateError: a document appears twice in one subgroup.
    """
    input_file = open_source(path)
    rows = pl.concat(
        list(read_line_frames(input_file, Layout(_PREFERENCE_FIELDS, "level", _PREFERENCE_FIELDS)))
    )
    is_repeat = (
        pl.struct(_PREFERENCE_FIELDS[:-1]).is_duplicated()
        & ~pl.struct(_PREFERENCE_FIELDS[:-1]).is_first_distinct()
    )
    for row, query, _, _, document, _ in rows.with_row_index().filter(is_repeat).iter_rows():
        raise DuplicateError(
            f"document '{document}' is judged twice for query '{query}' in one subgroup; remove one.",
            source=input_file.label,
            line=line_of(input_file, row),
        )
    levels: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for query, group, subgroup, document, level in rows.iter_rows():
        subgroup_levels = levels.setdefault(query, {}).setdefault(group, {}).setdefault(subgroup, {})
        subgroup_levels[document] = level
    return levels


def grades_as_preferences(qrels: QrelsLike, *, te9: bool = False) -> Judgments:
    """Convert grades to preferences, with one subgroup for each query."""
    table = read_judgments(qrels, te9=te9).by_document().table
    levels: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for query, document, grade in table.select("query_id", "doc_id", "grade").iter_rows():
        levels.setdefault(query, {"0": {"0": {}}})["0"]["0"][document] = grade
    return levels


def preference_values(
    judgments: Judgments, run: Run, columns: Sequence[Column], *, depth: int | None, te9: bool
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The values of columns for every judged query, and True for each of them in the run.

    Equal scores are ordered by ascending document id, unlike in trec_eval's metrics of grades.

    Raises:
        InputError: preferences of a group contradict each other.
        DuplicateError: a document appears twice in a ranking.
    """
    query_ids = sorted(judgments, key=str.encode)
    rankings = _rankings(run, query_ids, te9=te9)
    queries = [
        _preference_query(query, judgments[query], rankings.get(query, [])[:depth]) for query in query_ids
    ]
    block = Preferred(tuple(queries))
    values = [
        np.nan_to_num(column.metrics[0].compute(block)) if column.metrics else np.ones(len(block))
        for column in columns
    ]
    return query_ids, values, np.array([query in rankings for query in query_ids], bool)


def _rankings(run: Run, query_ids: Sequence[str], *, te9: bool) -> dict[str, list[str]]:
    """The documents of each judged query by rank."""
    judged_ids = pl.Series(query_ids)
    parts = [frame.filter(pl.col("query_id").is_in(judged_ids.implode())) for frame in run.pieces()]
    rows = pl.concat(parts) if parts else pl.DataFrame(schema=["query_id", "doc_id", "score"])
    if te9:
        rows = rows.with_columns(pl.col("score").cast(pl.Float32))
    repeated = rows.filter(rows.select("query_id", "doc_id").is_duplicated())
    if len(repeated):
        query, document = repeated.row(0)[:2]
        raise DuplicateError(
            f"document '{document}' is ranked twice for query '{query}'; remove one.", source=run.place.label
        )
    sorted_rows = rows.sort("score", "doc_id", descending=[True, False])
    grouped = sorted_rows.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(grouped.iter_rows())


def _preference_query(
    name: str, groups: Mapping[str, Mapping[str, Mapping[str, float]]], ranked: list[str]
) -> Query:
    judged = {document for group in groups.values() for subgroup in group.values() for document in subgroup}
    rank = np.array([i for i, document in enumerate(ranked, 1) if document in judged], np.int64)
    retrieved = [ranked[i - 1] for i in rank]
    unretrieved = sorted(judged.difference(retrieved), key=str.encode)
    position = {document: i for i, document in enumerate([*retrieved, *unretrieved])}
    preference_groups = []
    for group in sorted(groups, key=str.encode):
        subgroups = []
        for subgroup in groups[group].values():
            levels = np.full(len(position), np.nan)
            levels[[position[document] for document in subgroup]] = list(subgroup.values())
            subgroups.append(levels)
        try:
            preference_groups.append(Group.from_subgroups(subgroups))
        except InputError as error:
            problem = f"query '{name}', group '{group}': {error.problem}"
            raise InputError(problem, code=error.code) from None
    return Query(len(retrieved), tuple(preference_groups), rank, len(ranked))
