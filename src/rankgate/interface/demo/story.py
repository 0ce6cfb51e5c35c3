"""Run the demo step by step: build, evaluate both engines, show a blind spot."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rankgate.core.extras import install_command
from rankgate.core.present.forms import as_text
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_column, format_grade
from rankgate.interface.demo.build import build
from rankgate.interface.demo.engines import ENGINES
from rankgate.interface.demo.history import record_history
from rankgate.interface.demo.judgments import judgments, queries
from rankgate.measurement.evaluation.documents.evaluation import basis_line, means
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.explain import explain

if TYPE_CHECKING:
    from rankgate.interface.demo.build import Demo
    from rankgate.interface.demo.history import RecordedHistory
    from rankgate.measurement.evaluation.scores import Scores

METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10", "Judged@10")
SEEING, BLIND = "nDCG@10", "RR"
_NAME = 29  # of a document in the table of two lists, which is then 80 wide


def print_demo(folder: str | Path, write: Callable[[str], None]) -> None:
    """Build the demo in a folder and print it, one paragraph or table per call of ``write``.

    Raises:
        InputError: The folder cannot be written, or Python's SQLite has no FTS5.
    """
    demo = build(folder)
    result = evaluate(demo.qrels, [demo.old, demo.new], METRICS)
    write(_opening(demo))
    write(as_text.fit_table(means(result)))
    write(f"{basis_line(result)}\n{_wins_paragraph(result)}")
    query_id = find_unseen_query(result)
    write(_difference(result, query_id))
    write(as_text.text_table(_list_table(demo, query_id)))
    write(f"How {SEEING} of new comes about, document by document:")
    explanation_of_query = explain(demo.qrels, demo.new, query_id, SEEING, depth=10)
    write(str(explanation_of_query))
    write(_next_commands(demo, query_id))
    write(_history_paragraph(record_history(demo)))


def find_unseen_query(result: Scores) -> str:
    """The query whose nDCG@10 differs most between the two runs while its RR is the same."""
    (old, new), (old_rr, new_rr) = _values(result, SEEING), _values(result, BLIND)
    equal_rr = [query_id for query_id in old if old_rr[query_id] == new_rr[query_id]]
    return max(equal_rr, key=lambda query_id: abs(new[query_id] - old[query_id]))


def _values(result: Scores, metric: str) -> list[dict[str, float]]:
    """The values of each run by query; a query without a value counts 0, as in the mean."""
    return [
        {query_id: value or 0.0 for query_id, value in run.per_query(metric).items()}
        for run in result.runs
    ]


def _opening(demo: Demo) -> str:
    return (
        f"{demo.documents:,} docstrings of Python {platform.python_version()}, "
        f"{demo.queries} queries, {demo.judgments:,} judgments from 0 to 3.\n"
        "Two engines: old has one field and matches words as they are written;\n"
        "new weighs name and summary, stems, and knows stop words."
    )


def _wins_paragraph(result: Scores) -> str:
    old, new = _values(result, SEEING)
    better = sum(new[query_id] > old[query_id] for query_id in old)
    worse = sum(new[query_id] < old[query_id] for query_id in old)
    return f"By {SEEING}, new is better on {better} queries and worse on {worse}."


def _difference(result: Scores, query_id: str) -> str:
    (rr_values, _), (old, new) = _values(result, BLIND), _values(result, SEEING)
    old_text, new_text, rr_text = format_column([old[query_id], new[query_id], rr_values[query_id]])
    return (
        f'A difference that {BLIND} cannot see: query {query_id}, "{queries()[query_id]}".\n'
        f"{BLIND} is {rr_text} for both, as the first useful document is at the same rank.\n"
        f"{SEEING} goes from {old_text} to {new_text}, as it reads the grades of all ten:"
    )


def _list_table(demo: Demo, query_id: str) -> Grid:
    """The first ten documents of both engines, each with its grade."""
    grades = {
        judgment.doc_id: judgment.grade for judgment in judgments() if judgment.query_id == query_id
    }
    header, columns = ["rank"], [[str(rank) for rank in range(1, 11)]]
    with closing(sqlite3.connect(demo.index)) as index:
        for engine in ENGINES:
            top_ids = [doc_id for doc_id, _ in engine.rank(index, queries()[query_id], depth=10)]
            header += [engine.name, "grade"]
            columns.append([as_text.shorten_middle(doc_id, _NAME) for doc_id in top_ids])
            columns.append([format_grade(grades.get(doc_id)) for doc_id in top_ids])
    return Grid(tuple(header), tuple(zip(*columns, strict=True)), frozenset({1, 3}))


def _history_paragraph(past: RecordedHistory | None) -> str:
    """Describe the recorded history, and the command that shows it."""
    if past is None:
        return f"The history of both engines needs a store: {install_command('sqlalchemy')}."
    alerts = f"{past.alerts} open alert{'' if past.alerts == 1 else 's'}"
    return (
        f"{past.evaluations} recorded evaluations of 18 nights, with a regression, a change of the "
        f"judgments\nand {alerts} to find. In a browser:\n"
        f"rankgate serve --store {quote(str(past.path))}"
    )


def _next_commands(demo: Demo, query_id: str) -> str:
    qrels, old, new, movies, movies_run = (
        quote(str(path))
        for path in (demo.qrels, demo.old, demo.new, demo.movies_qrels, demo.movies_run)
    )
    return (
        f"All files are in {quote(str(demo.folder))}. To go on playing:\n"
        f"  rankgate eval {qrels} {old} {new} -m nDCG@10 --per-query\n"
        f"  rankgate explain {qrels} {old} --query {query_id} -m nDCG@10\n"
        f"  rankgate eval {movies} {movies_run} -m RR@1 -m RR@3 -m RR@5"
    )
