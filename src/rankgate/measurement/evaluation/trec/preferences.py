"""Preference judgments of trec_eval, ``-R prefs`` and ``-R qrels_prefs``, and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.streams.source import source
from rankgate.data.text.lines import Layout, frames, line_of
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
    """Preferences: query, judgment group, subgroup, document, level.

    Raises:
        InputError: a line that has not five fields, or a level that is not a number.
        DuplicateError: a document twice in one subgroup.
    """
    place = source(path)
    rows = pl.concat(list(frames(place, Layout(_FIELDS, "level", _FIELDS))))
    twice = pl.struct(_FIELDS[:-1]).is_duplicated() & ~pl.struct(_FIELDS[:-1]).is_first_distinct()
    for row, query, _, _, document, _ in rows.with_row_index().filter(twice).iter_rows():
        raise DuplicateError(
            f"document '{document}' is judged twice for query '{query}' in one subgroup; "
            "remove one.",
            source=place.label,
            line=line_of(place, row),
        )
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for query, group, subgroup, document, level in rows.iter_rows():
        some = found.setdefault(query, {}).setdefault(group, {}).setdefault(subgroup, {})
        some[document] = level
    return found


def grades_as_preferences(qrels: QrelsLike, *, te9: bool = False) -> Judgments:
    """Grades as preferences: one subgroup for each query."""
    table = files.judgments(qrels, te9=te9).by_document().table
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for query, document, grade in table.select("query_id", "doc_id", "grade").iter_rows():
        found.setdefault(query, {"0": {"0": {}}})["0"]["0"][document] = grade
    return found


def preference_values(
    judgments: Judgments, run: Run, columns: Sequence[Column], *, depth: int | None, te9: bool
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The values of columns for every judged query, and whether the run has the query.

    Of documents with equal scores the first by id is ranked first, other than in trec_eval's
    metrics of grades.

    Raises:
        InputError: preferences of a group that contradict each other.
        DuplicateError: a document twice in a ranking.
    """
    query_ids = sorted(judgments, key=str.encode)
    rankings = _rankings(run, query_ids, te9=te9)
    queries = [
        _query(query, judgments[query], rankings.get(query, [])[:depth]) for query in query_ids
    ]
    block = Preferred(tuple(queries))
    values = [
        np.nan_to_num(each.metrics[0].kernel(block, **each.metrics[0].bound()))
        if each.metrics
        else np.ones(len(block))
        for each in columns
    ]
    return query_ids, values, np.array([query in rankings for query in query_ids], bool)


def _rankings(run: Run, query_ids: Sequence[str], *, te9: bool) -> dict[str, list[str]]:
    """The documents of each judged query by rank."""
    wanted = pl.Series(query_ids)
    parts = [each.filter(pl.col("query_id").is_in(wanted.implode())) for each in run.pieces()]
    rows = pl.concat(parts) if parts else pl.DataFrame(schema=["query_id", "doc_id", "score"])
    if te9:
        rows = rows.with_columns(pl.col("score").cast(pl.Float32))
    twice = rows.filter(rows.select("query_id", "doc_id").is_duplicated())
    if len(twice):
        query, document = twice.row(0)[:2]
        raise DuplicateError(
            f"document '{document}' is ranked twice for query '{query}'; remove one.",
            source=run.place.label,
        )
    by = rows.sort("score", "doc_id", descending=[True, False])
    grouped = by.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(grouped.iter_rows())


def _query(
    name: str, groups: Mapping[str, Mapping[str, Mapping[str, float]]], ranked: list[str]
) -> Query:
    judged = {document for group in groups.values() for some in group.values() for document in some}
    rank = np.array([i for i, document in enumerate(ranked, 1) if document in judged], np.int64)
    retrieved = [ranked[i - 1] for i in rank]
    rest = sorted(judged.difference(retrieved), key=str.encode)
    place = {document: i for i, document in enumerate([*retrieved, *rest])}
    found = []
    for group in sorted(groups, key=str.encode):
        subgroups = []
        for some in groups[group].values():
            levels = np.full(len(place), np.nan)
            levels[[place[document] for document in some]] = list(some.values())
            subgroups.append(levels)
        try:
            found.append(Group.of(subgroups))
        except InputError as error:
            problem = f"query '{name}', group '{group}': {error.problem}"
            raise InputError(problem, code=error.code) from None
    return Query(len(retrieved), tuple(found), rank, len(ranked))
