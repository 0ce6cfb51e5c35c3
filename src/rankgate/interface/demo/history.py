"""The recorded past of the demo, in a store that ``rankgate serve`` shows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.extras import is_installed
from rankgate.core.frozen import dataclass
from rankgate.data.read import read_qrels, read_run
from rankgate.decisions.gating.gate import gate
from rankgate.interface.demo.judgments import judgments, queries
from rankgate.interface.demo.past import FIRST_NIGHT, STRICT_FROM_DAY, Night, nights
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.interface.demo.build import Demo
    from rankgate.interface.demo.engines import Engine
    from rankgate.workspace.records.places.stored import StoreStorage

STORE, PROJECT = "store.db", "docs"
METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
_MAX_TEXTS = 10  # documents of a list whose texts are kept
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
        path: of the store.
        evaluations: how many are recorded.
        alerts: how many are open.
    """

    path: Path
    evaluations: int
    alerts: int


def record_history(demo: Demo) -> RecordedHistory | None:
    """Record every night of the past in a new store; None without the extra ``serve``.

    A store that is there already is left as it is.
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
    from rankgate.workspace.records.alerts.manage import set_rules
    from rankgate.workspace.records.places.stored import StoreStorage

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
                    ranked = {
                        name: dict(engine.rank(index, text)) for name, text in queries().items()
                    }
                    runs[engine] = read_run(ranked, engine.name)
            _record_night(demo, stored, night, tuple(runs[engine] for engine in night.engines))
        _annotate(stored)


def _record_night(demo: Demo, stored: StoreStorage, night: Night, runs: tuple[Run, ...]) -> None:
    """Record both engines of a night, sometimes a verdict, and look for alerts."""
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
            evaluate(qrels, run, METRICS),
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
    """Add the texts of queries, of judged documents, and of those that are ranked first."""
    from rankgate.store.material import documents
    from rankgate.store.material import queries as asked

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
        documents.add_documents(connection, number, table)


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
