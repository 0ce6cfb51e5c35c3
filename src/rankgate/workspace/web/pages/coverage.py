"""The coverage of runs by judgments, and the answers of raters to hidden questions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.store.kept import runs
from rankgate.store.rating import ratings, tasks
from rankgate.workspace.web.replies import PageReply

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import WebRequest

DEPTHS = (1, 3, 5, 10, 20)
_PAIR = ["query_id", "doc_id"]


def coverage_page(request: WebRequest) -> PageReply:
    """The share of each run's first documents that somebody graded, and answers to known grades."""
    project = request.project.id
    with request.store.read() as connection:
        graded_pairs = list_graded_pairs(connection, project)
        run_tables = [
            (stored_run.name, runs.rankings(stored_run, request.store.blobs).table)
            for stored_run in runs.list_runs(connection, project)
        ]
        gold_answers = tasks.gold_answers(connection, project)
    rows = [
        {
            "run": name,
            "depth": depth,
            "judged": share,
            "documents": documents,
            "queries": table["query_id"].n_unique(),
        }
        for name, table in run_tables
        for depth, share, documents in _judged_shares(table, graded_pairs)
    ]
    data = {
        "project": request.project.name,
        "coverage": rows,
        "depths": list(DEPTHS),
        "gold": _rater_accuracy(gold_answers),
    }
    return PageReply("coverage.html", data)


def list_graded_pairs(connection: Connection, project: int) -> pl.DataFrame:
    """The pairs of a project that somebody graded."""
    rows = ratings.graded_pairs(connection, project)
    return pl.DataFrame(rows, schema=dict.fromkeys(_PAIR, pl.String), orient="row")


def _judged_shares(table: pl.DataFrame, graded_pairs: pl.DataFrame) -> list[tuple[int, float, int]]:
    ranked_pairs = table.select(
        *_PAIR, rank=pl.col("score").rank("ordinal", descending=True).over("query_id")
    ).join(graded_pairs.with_columns(known=pl.lit(value=True)), on=_PAIR, how="left")
    rows = []
    for depth in DEPTHS:
        top = ranked_pairs.filter(pl.col("rank") <= depth)
        share = float(top["known"].fill_null(value=False).mean() or 0)  # type: ignore[arg-type]
        rows.append((depth, share, len(top)))
    return rows


def _rater_accuracy(gold_answers: list[tuple[str, float, float | None]]) -> list[dict[str, Any]]:
    """The known grades that each rater found, and the mean distance of their grades from them."""
    answers_by_rater: dict[str, list[tuple[float, float | None]]] = defaultdict(list)
    for rater, gold, grade in gold_answers:
        answers_by_rater[rater].append((gold, grade))
    rows = []
    for rater, answers in answers_by_rater.items():
        distances = [abs(grade - gold) for gold, grade in answers if grade is not None]
        right = sum(grade == gold for gold, grade in answers)
        rows.append(
            {
                "rater": rater,
                "answers": len(answers),
                "right": right,
                "share": right / len(answers),
                "off": sum(distances) / len(distances) if distances else None,
            }
        )
    return rows
