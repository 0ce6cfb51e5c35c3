"""The recorded past of the demo, in a store that ``rankgate serve`` shows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.extras import installed
from rankgate.core.frozen import dataclass
from rankgate.data.read import read_qrels, read_run
from rankgate.decisions.gating.gate import gate
from rankgate.interface.demo.judgments import judgments, queries
from rankgate.interface.demo.past import FIRST, STRICT, Night, nights
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.interface.demo.build import Demo
    from rankgate.interface.demo.engines import Engine
    from rankgate.workspace.records.places.stored import Stored

STORE, PROJECT = "store.db", "docs"
METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
_TEXTS = 10  # documents of a list whose texts are kept
_RULES = """\
[[rules]]
id = "fall"
kind = "relative"
metric = "nDCG@10"
drop = 0.05
window = 12
"""


@dataclass(frozen=True)
class Past:
    """A store with the past.

    Attributes:
        path: of the store.
        evaluations: how many are recorded.
        alerts: how many are open.
    """

    path: Path
    evaluations: int
    alerts: int


def record_past(demo: Demo) -> Past | None:
    """Record every night of the past in a new store; None without the extra ``serve``.

    A store that is there already is left as it is.
    """
    if not all(map(installed, ("sqlalchemy", "alembic"))):
        return None
    path = demo.folder / STORE
    if not path.exists():
        _record(demo, path)
    return _counted(path)


def _record(demo: Demo, path: Path) -> None:
    from rankgate.store.material import projects
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import set_rules
    from rankgate.workspace.records.places.stored import Stored

    with Store.create(str(path)) as store, store.write() as connection:
        made = projects.add(
            connection, PROJECT, title="Python documentation",
            description="Two engines over the documentation of Python's standard library.",
        )  # fmt: skip
        set_rules(connection, made.id, _RULES)
    place = Stored.open(str(path), PROJECT)
    with closing(place), closing(sqlite3.connect(demo.index)) as index:
        _add_texts(demo, place, index)
        runs: dict[Engine, Run] = {}
        for night in nights():
            for engine in night.engines:
                if engine not in runs:
                    ranked = {name: dict(engine.rank(index, text))
                              for name, text in queries().items()}  # fmt: skip
                    runs[engine] = read_run(ranked, engine.name)
            _evaluate(demo, place, night, tuple(runs[each] for each in night.engines))
        _annotate(place)


def _evaluate(demo: Demo, place: Stored, night: Night, runs: tuple[Run, ...]) -> None:
    """Record both engines of a night, sometimes a verdict, and look for alerts."""
    from rankgate.workspace.records.alerts.alert_check import check_alerts
    from rankgate.workspace.records.provenance import Provenance
    from rankgate.workspace.records.record import record_in

    qrels = _qrels(demo, strict=night.strict)
    about: dict[str, Any] = {
        "provenance": Provenance(night.commit.revision, "main"),
        "qrels": qrels,
    }
    for run in runs:
        record_in(
            place, evaluate(qrels, run, METRICS), at=night.at, runs={run.name: run},
            labels={"job": "nightly"}, **about,
        )  # fmt: skip
    if night.gated:
        old, new = runs
        record_in(
            place, gate(qrels, old, new), at=night.at + timedelta(minutes=5),
            runs={run.name: run for run in runs}, labels={"job": "merge"},
            name=night.commit.words, **about,
        )  # fmt: skip
    check_alerts(place.project.store, PROJECT, night.at + timedelta(minutes=10))


def _annotate(place: Stored) -> None:
    for night in nights():
        if night.new_commit:
            words, revision = night.commit.words, night.commit.revision
            place.annotate(night.at - timedelta(hours=8), "deploy", words, revision=revision)
    words = "Stricter guideline: documents that only point the right way are not useful"
    place.annotate(FIRST + timedelta(days=STRICT, hours=-2), "judgments", words, revision="")


def _qrels(demo: Demo, *, strict: bool) -> Qrels:
    qrels = read_qrels(demo.qrels)
    if not strict:
        return qrels
    grade = pl.when(pl.col("grade") == 1).then(0).otherwise(pl.col("grade")).alias("grade")
    return read_qrels(qrels.table.with_columns(grade), "strict")


def _add_texts(demo: Demo, place: Stored, index: sqlite3.Connection) -> None:
    """Add the texts of queries, of judged documents, and of those that are ranked first."""
    from rankgate.store.material import documents
    from rankgate.store.material import queries as asked

    shown = {each.doc_id for each in judgments()}
    for path in (demo.old, demo.new):
        first = read_run(path).table.group_by("query_id").head(_TEXTS)
        shown |= set(first["doc_id"].to_list())
    found = index.execute("SELECT doc_id, signature, summary FROM new")
    rows = [row for row in found if row[0] in shown]
    texts = {"query_id": list(queries()), "text": list(queries().values())}
    with place.project.store.write() as connection:
        number = place.project.number
        asked.add(connection, number, pl.DataFrame(texts))
        table = pl.DataFrame(rows, ["doc_id", "title", "text"], orient="row")
        documents.add(connection, number, table)


def _counted(path: Path) -> Past:
    from rankgate.store.material import projects
    from rankgate.store.records import alerts, records
    from rankgate.store.store import Store

    with Store.open(str(path)) as store, store.read() as connection:
        number = projects.named(connection, PROJECT).id
        return Past(
            path, records.count(connection, number),
            len(alerts.listed(connection, number, state="open")),
        )  # fmt: skip
