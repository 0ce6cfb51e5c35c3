"""Preference judgments of trec_eval, ``-R prefs`` and ``-R qrels_prefs``, and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.streams.source import open_source
from rankgate.data.text.lines import Layout, line_of, read_line_frames
from rankgate.measurement.evaluation.trec import files
from rankgate.measurement.metrics.preferences.preferred import Group, Preferred, Query

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.inputs import QrelsLike
    from rankgate.measurement.evaluation.trec.columns import Column

    Judgments = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]

_FIELDS = ("query_id", "group", "subgroup", "doc_id", "level")


def read_preferences(path: str | Path) -> Judgments:
    """Read preferences: query, judgment group, subgroup, document, level.

    Raises:
        InputError: a line that has not five fields, or a level that is not a number.
        DuplicateError: a document twice in one subgroup.
    """
    input_file = open_source(path)
    rows = pl.concat(list(read_line_frames(input_file, Layout(_FIELDS, "level", _FIELDS))))
    is_repeat = (
        pl.struct(_FIELDS[:-1]).is_duplicated() & ~pl.struct(_FIELDS[:-1]).is_first_distinct()
    )
    for row, query, _, _, document, _ in rows.with_row_index().filter(is_repeat).iter_rows():
        raise DuplicateError(
            f"document '{document}' is judged twice for query '{query}' in one subgroup; "
            "remove one.",
            source=input_file.label,
            line=line_of(input_file, row),
        )
    levels: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for query, group, subgroup, document, level in rows.iter_rows():
        subgroup_levels = (
            levels.setdefault(query, {}).setdefault(group, {}).setdefault(subgroup, {})
        )
        subgroup_levels[document] = level
    return levels


def grades_as_preferences(qrels: QrelsLike, *, te9: bool = False) -> Judgments:
    """Grades as preferences: one subgroup for each query."""
    table = files.read_judgments(qrels, te9=te9).by_document().table
    levels: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for query, document, grade in table.select("query_id", "doc_id", "grade").iter_rows():
        levels.setdefault(query, {"0": {"0": {}}})["0"]["0"][document] = grade
    return levels


def preference_values(
    judgments: Judgments, run: Run, columns: Sequence[Column], *, depth: int | None, te9: bool
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The values of columns for every judged query, and True for each query of the run.

    Of documents with equal scores the first by id is ranked first, other than in trec_eval's
    metrics of grades.

    Raises:
        InputError: preferences of a group that contradict each other.
        DuplicateError: a document twice in a ranking.
    """
    query_ids = sorted(judgments, key=str.encode)
    rankings = _rankings(run, query_ids, te9=te9)
    queries = [
        _preference_query(query, judgments[query], rankings.get(query, [])[:depth])
        for query in query_ids
    ]
    block = Preferred(tuple(queries))
    values = [
        np.nan_to_num(column.metrics[0].kernel(block, **column.metrics[0].bound()))
        if column.metrics
        else np.ones(len(block))
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
            f"document '{document}' is ranked twice for query '{query}'; remove one.",
            source=run.place.label,
        )
    sorted_rows = rows.sort("score", "doc_id", descending=[True, False])
    grouped = sorted_rows.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(grouped.iter_rows())


def _preference_query(
    name: str, groups: Mapping[str, Mapping[str, Mapping[str, float]]], ranked: list[str]
) -> Query:
    judged = {
        document
        for group in groups.values()
        for subgroup in group.values()
        for document in subgroup
    }
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
            preference_groups.append(Group.of(subgroups))
        except InputError as error:
            problem = f"query '{name}', group '{group}': {error.problem}"
            raise InputError(problem, code=error.code) from None
    return Query(len(retrieved), tuple(preference_groups), rank, len(ranked))
