"""Judgments by several groups of judges, ``-R qrels_jg``: one value a group, and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels
from rankgate.data.streams.source import open_source
from rankgate.data.text.lines import Layout, line_of, read_line_frames
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
    input_file = open_source(path)
    layout = Layout(_FIELDS, "grade", _FIELDS, loose=True)
    rows = pl.concat(list(read_line_frames(input_file, layout))).with_row_index("row")
    file_place = RowLocation(input_file.label, partial(line_of, input_file))
    qrels_by_group = {}
    for group in sorted(rows["group"].unique(), key=str.encode):
        group_rows = rows.filter(pl.col("group") == group)
        grades = group_rows["grade"].cast(pl.Int64).cast(pl.Float64)
        table = group_rows.select("query_id", "doc_id", grades)
        qrels_by_group[group] = Qrels(
            table, name=input_file.stem, place=file_place.among(group_rows["row"].to_list())
        )
    return qrels_by_group


def group_values(
    groups: dict[str, Qrels], run: Run, metrics: Sequence[tuple[Metric, ...]], how: Convention
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The mean over groups of each metric for every judged query, and True if the run has it."""
    query_ids = sorted(
        {q for qrels in groups.values() for q in qrels.table["query_id"]}, key=str.encode
    )
    position = {query: i for i, query in enumerate(query_ids)}
    added = [np.zeros(len(position)) for _ in metrics]
    number, present = np.zeros(len(position)), np.zeros(len(position), bool)
    keyed_metrics = [
        (str(i), metric) for i, group_metrics in enumerate(metrics) for metric in group_metrics
    ]
    keyed_metrics = keyed_metrics or [("", _any_metric())]
    for qrels in groups.values():
        scores = score(JudgmentIndex.of(qrels), run, keyed_metrics, replace(how, missing="zero"))
        rows = np.array([position[query] for query in scores.query_ids])
        number[rows] += 1
        present[rows] = scores.why[keyed_metrics[0][0]] != MISSING
        for i, group_metrics in enumerate(metrics):
            if group_metrics:
                added[i][rows] += scores.values[str(i)]
    return query_ids, [values / number for values in added], present


def _any_metric() -> Metric:
    from rankgate.measurement.metrics.ranking.counts import NumRet

    return NumRet
