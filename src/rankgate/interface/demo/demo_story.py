"""The demo step by step, and the recorded past of its two engines.

The past has a list of changes by day, with new judgments; it is recorded in a store that ``rankgate
serve`` shows. The story builds the demo, evaluates and compares both engines, and gates two changes.
"""

from __future__ import annotations

import hashlib
import platform
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import install_command, is_installed
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.read import read_qrels, read_run
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.gating.gate import gate
from rankgate.interface.demo.demo_build import build, judgments, queries
from rankgate.interface.demo.demo_engines import NEW, OLD, Engine
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.interface.demo.demo_build import Demo
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.workspace.records.storages.store_storage import StoreStorage


FIRST_NIGHT = datetime(2026, 3, 2, 6, tzinfo=UTC)
"""The first night."""

STRICT_FROM_DAY = 8
"""The day of the stricter judgments: those that only point the right way are not useful."""

DAYS = 18
GATED_DAYS = (6, 14)
"""The days on which a gate decided."""


@dataclass(frozen=True)
class Commit:
    """A change of the new engine.

    Attributes:
        day: the day, from 0.
        words: the commit message.
        engine: the new engine from this commit on.
    """

    day: int
    words: str
    engine: Engine

    @cached_property
    def revision(self) -> str:
        """The commit hash, in git's form."""
        return hashlib.sha1(self.words.encode(), usedforsecurity=False).hexdigest()


_FLAT = replace(NEW, weights=(1.0, 1.0, 1.0, 1.0), stop=frozenset())
_BROKEN = replace(NEW, weights=(1.0, 1.0, 1.0, 30.0))
COMMITS = (
    Commit(0, "Index name, signature, summary and body, stemmed", _FLAT),
    Commit(3, "Leave stop words out of queries", replace(_FLAT, stop=NEW.stop)),
    Commit(6, "Weigh names and summaries", NEW),
    Commit(14, "Clean up the weights", _BROKEN),
    Commit(16, "Log slow queries", _BROKEN),
)
"""The fourth one breaks the engine: a match in the body counts most."""


@dataclass(frozen=True)
class Night:
    """An evaluation of both engines.

    Attributes:
        at: the time.
        commit: the last change.
        new_commit: True if the last change was made on this day.
        gated: True if a gate decided on this evaluation.
        strict: True if the stricter judgments are used.
    """

    at: datetime
    commit: Commit
    new_commit: bool
    gated: bool
    strict: bool

    @property
    def engines(self) -> tuple[Engine, Engine]:
        """The old engine, and the new engine in its version of this night."""
        return OLD, self.commit.engine


def nights() -> Iterator[Night]:
    """Every night, the first one first."""
    for day in range(DAYS):
        commit = max((change for change in COMMITS if change.day <= day), key=lambda change: change.day)
        yield Night(
            FIRST_NIGHT + timedelta(days=day),
            commit,
            commit.day == day,
            day in GATED_DAYS,
            day >= STRICT_FROM_DAY,
        )


STORE, PROJECT = "store.db", "docs"
HISTORY_METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
_MAX_TEXTS = 10  # documents of a list with stored texts
_RULES = """\
[[rules]]
id = "fall"
kind = "relative"
metric = "nDCG@10"
drop = 0.05
window = 12
"""


@dataclass(frozen=True)
class RecordedHistory:
    """A store with the past.

    Attributes:
        path: the path of the store.
        evaluations: the number of recorded evaluations.
        alerts: the number of open alerts.
    """

    path: Path
    evaluations: int
    alerts: int


def record_history(demo: Demo) -> RecordedHistory | None:
    """Record every night of the past in a new store; None without the extra ``serve``.

    An existing store is left as it is.
    """
    if not all(map(is_installed, ("sqlalchemy", "alembic"))):
        return None
    path = demo.folder / STORE
    if not path.exists():
        _create_store(demo, path)
    return _count_records(path)


def _create_store(demo: Demo, path: Path) -> None:
    from rankgate.store.material import projects
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.alert_check import set_rules
    from rankgate.workspace.records.storages.store_storage import StoreStorage

    with Store.create(str(path)) as store, store.write() as connection:
        project = projects.add(
            connection,
            PROJECT,
            title="Python documentation",
            description="Two engines over the documentation of Python's standard library.",
        )
        set_rules(connection, project.id, _RULES)
    stored = StoreStorage.open(str(path), PROJECT)
    with closing(stored), closing(sqlite3.connect(demo.index)) as index:
        _add_texts(demo, stored, index)
        runs: dict[Engine, Run] = {}
        for night in nights():
            for engine in night.engines:
                if engine not in runs:
                    ranked = {name: dict(engine.rank(index, text)) for name, text in queries().items()}
                    runs[engine] = read_run(ranked, engine.name)
            _record_night(demo, stored, night, tuple(runs[engine] for engine in night.engines))
        _annotate(stored)


def _record_night(demo: Demo, stored: StoreStorage, night: Night, runs: tuple[Run, ...]) -> None:
    """Record both engines of a night and, if gated, the verdict; then check alerts."""
    from rankgate.workspace.records.alerts.alert_check import check_alerts
    from rankgate.workspace.records.provenance import Provenance
    from rankgate.workspace.records.record import record_to

    qrels = _qrels(demo, strict=night.strict)
    common_arguments: dict[str, Any] = {
        "provenance": Provenance(night.commit.revision, "main"),
        "qrels": qrels,
    }
    for run in runs:
        record_to(
            stored,
            evaluate(qrels, run, HISTORY_METRICS),
            at=night.at,
            runs={run.name: run},
            labels={"job": "nightly"},
            **common_arguments,
        )
    if night.gated:
        old, new = runs
        record_to(
            stored,
            gate(qrels, old, new),
            at=night.at + timedelta(minutes=5),
            runs={run.name: run for run in runs},
            labels={"job": "merge"},
            name=night.commit.words,
            **common_arguments,
        )
    check_alerts(stored.project.store, PROJECT, night.at + timedelta(minutes=10))


def _annotate(stored: StoreStorage) -> None:
    for night in nights():
        if night.new_commit:
            message, revision = night.commit.words, night.commit.revision
            stored.annotate(night.at - timedelta(hours=8), "deploy", message, revision=revision)
    message = "Stricter guideline: documents that only point the right way are not useful"
    stored.annotate(
        FIRST_NIGHT + timedelta(days=STRICT_FROM_DAY, hours=-2), "judgments", message, revision=""
    )


def _qrels(demo: Demo, *, strict: bool) -> Qrels:
    qrels = read_qrels(demo.qrels)
    if not strict:
        return qrels
    grade = pl.when(pl.col("grade") == 1).then(0).otherwise(pl.col("grade")).alias("grade")
    return read_qrels(qrels.table.with_columns(grade), "strict")


def _add_texts(demo: Demo, stored: StoreStorage, index: sqlite3.Connection) -> None:
    """Add the texts of queries, of judged documents, and of the first ranked documents."""
    from rankgate.store.material import queries_documents
    from rankgate.store.material import queries_documents as asked

    doc_ids = {judgment.doc_id for judgment in judgments()}
    for path in (demo.old, demo.new):
        first_rows = read_run(path).table.group_by("query_id").head(_MAX_TEXTS)
        doc_ids |= set(first_rows["doc_id"].to_list())
    indexed = index.execute("SELECT doc_id, signature, summary FROM new")
    rows = [row for row in indexed if row[0] in doc_ids]
    texts = {"query_id": list(queries()), "text": list(queries().values())}
    with stored.project.store.write() as connection:
        number = stored.project.number
        asked.add_queries(connection, number, pl.DataFrame(texts))
        table = pl.DataFrame(rows, ["doc_id", "title", "text"], orient="row")
        queries_documents.add_documents(connection, number, table)


def _count_records(path: Path) -> RecordedHistory:
    from rankgate.store.material import projects
    from rankgate.store.records import alerts, records
    from rankgate.store.store import Store

    with Store.open(str(path)) as store, store.read() as connection:
        number = projects.get_by_name(connection, PROJECT).id
        return RecordedHistory(
            path,
            records.count_records(connection, number),
            len(alerts.list_alerts(connection, number, state="open")),
        )


PAGE = "verdict.html"


def print_demo(folder: str | Path, write: Callable[[str], None]) -> None:
    """Build the demo in a folder and print it, one paragraph or table per call of ``write``.

    Raises:
        InputError: The folder cannot be written, or Python's SQLite has no FTS5.
    """
    demo = build(folder)
    qrels, old, new, broken = (quote(str(path)) for path in (demo.qrels, demo.old, demo.new, demo.sorted))
    write(_opening(demo))
    write(f"How good is each?\n$ rankgate eval {qrels} {old} {new}")
    write(str(evaluate(demo.qrels, [demo.old, demo.new])))
    write(f"Is the difference more than chance?\n$ rankgate compare {qrels} {old} {new} -m nDCG@10")
    write(_first_paragraphs(compare(demo.qrels, demo.old, demo.new, "nDCG@10"), 3))
    write(f"May new replace old?\n$ rankgate gate {qrels} {old} {new}")
    write(_first_paragraphs(gate(demo.qrels, demo.old, demo.new), 3))
    write(
        "Then a change sorts each first page by name: the same documents, out of order.\n"
        f"$ rankgate gate {qrels} {new} {broken}"
    )
    verdict = gate(demo.qrels, demo.new, demo.sorted)
    write(_first_paragraphs(verdict, 5))
    page = demo.folder / PAGE
    verdict.report(page, queries=queries())
    write(f"Its exit code is 1, which stops a merge. The verdict as a page:\n{quote(str(page))}")
    worst_query = find_worst_query(evaluate(demo.qrels, [demo.new, demo.sorted], "nDCG@10"))
    write(_next_commands(demo, worst_query))
    write(_history_paragraph(record_history(demo)))


def _first_paragraphs(result: Result, count: int) -> str:
    """The first paragraphs and tables of a result's text."""
    return "\n\n".join(str(result).split("\n\n")[:count])


def find_worst_query(result: Scores) -> str:
    """The query of which the second run loses most."""
    first, second = (run.per_query("nDCG@10") for run in result.runs)
    return min(first, key=lambda query_id: (second[query_id] or 0.0) - (first[query_id] or 0.0))


def _opening(demo: Demo) -> str:
    return (
        f"{demo.documents:,} docstrings of Python {platform.python_version()}, {demo.queries} queries, "
        f"{demo.judgments:,} judgments from 0 to 3.\n"
        "Two engines: old has one field and matches words as they are written;\n"
        "new weighs name and summary, stems, and drops stop words."
    )


def _history_paragraph(past: RecordedHistory | None) -> str:
    """Describe the recorded history, and the command that shows it."""
    if past is None:
        return (
            "With a store the demo also records 18 nights of both engines, with a regression to find in a\n"
            f"browser; for it install the extra and run rankgate demo again: {install_command('sqlalchemy')}"
        )
    alerts = count_noun(past.alerts, "open alert")
    return (
        f"{past.evaluations} recorded evaluations of 18 nights, with a regression, a change of the "
        f"judgments\nand {alerts} to find. In a browser:\n"
        f"rankgate serve --store {quote(str(past.path))}"
    )


def _next_commands(demo: Demo, query_id: str) -> str:
    qrels, new, broken, movies, movies_run = (
        quote(str(path)) for path in (demo.qrels, demo.new, demo.sorted, demo.movies_qrels, demo.movies_run)
    )
    return (
        f"All files are in {quote(str(demo.folder))}. To go on playing:\n"
        f"  rankgate compare {qrels} {new} {broken} --query {query_id}\n"
        f"  rankgate explain {qrels} {broken} --query {query_id} -m nDCG@10\n"
        f"  rankgate eval {movies} {movies_run} -m RR@1 -m RR@3 -m RR@5\n"
        "  rankgate init"
    )
