"""Judgments by several groups of judges, ``-R qrels_jg``: one value a group, and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.place import Place
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import source
from rankgate.data.text.lines import Layout, frames, line_of
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.mean import MISSING
from rankgate.measurement.scoring.score import score

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_FIELDS = ("query_id", "group", "doc_id", "grade")


def read_groups(path: str | Path) -> dict[str, Qrels]:
    """The judgments of each group, by its name in byte order; the second field is the group.

    Raises:
        InputError: a line that is not a judgment.
        DuplicateError: a document judged twice for one query by one group.
    """
    place = source(path)
    layout = Layout(_FIELDS, "grade", _FIELDS, loose=True)
    rows = pl.concat(list(frames(place, layout))).with_row_index("row")
    whole = Place(place.label, partial(line_of, place))
    found = {}
    for group in sorted(rows["group"].unique(), key=str.encode):
        mine = rows.filter(pl.col("group") == group)
        grades = mine["grade"].cast(pl.Int64).cast(pl.Float64)
        table = mine.select("query_id", "doc_id", grades)
        found[group] = Qrels(table, name=place.stem, place=whole.among(mine["row"].to_list()))
    return found


def group_values(
    groups: dict[str, Qrels], run: Run, metrics: Sequence[tuple[Metric, ...]], how: Convention
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The mean over groups of each metric, for every judged query, and whether the run has it."""
    query_ids = sorted(
        {q for each in groups.values() for q in each.table["query_id"]}, key=str.encode
    )
    place = {query: i for i, query in enumerate(query_ids)}
    added = [np.zeros(len(place)) for _ in metrics]
    number, present = np.zeros(len(place)), np.zeros(len(place), bool)
    named = [(str(i), metric) for i, some in enumerate(metrics) for metric in some]
    named = named or [("", _any())]
    for qrels in groups.values():
        scores = score(JudgmentIndex.of(qrels), run, named, replace(how, missing="zero"))
        rows = np.array([place[query] for query in scores.query_ids])
        number[rows] += 1
        present[rows] = scores.why[named[0][0]] != MISSING
        for i, some in enumerate(metrics):
            if some:
                added[i][rows] += scores.values[str(i)]
    return query_ids, [values / number for values in added], present


def _any() -> Metric:
    from rankgate.measurement.metrics.ranking.counts import NumRet

    return NumRet
