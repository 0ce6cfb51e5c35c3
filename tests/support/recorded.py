"""A project with a history of made evaluations, comparisons and gates, and all they are made of."""

from datetime import UTC, datetime, timedelta

import polars as pl

from rankgate.data import read_qrels, read_run
from rankgate.data.table_rows import hash_table
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.gating.gate import gate
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.store.blobs import stored_runs
from rankgate.store.material import queries_documents
from rankgate.store.records import alerts, record_notes, records
from rankgate.store.records.records import NewRecord, Value

METRICS = ["nDCG@10", "P@5", "RR"]
BEGIN = datetime(2026, 3, 1, 6, 0, tzinfo=UTC)
QRELS = {f"q{i:02}": {f"p{j}": (i + j) % 4 for j in range(8)} for i in range(24)}


def run_of(shift, bad=()):
    """Rankings that grow better with the shift; some queries are reversed."""
    rankings = {}
    for i, query in enumerate(QRELS):
        grades = QRELS[query]
        scores = {doc: grade * shift + (3 * i + 5 * int(doc[1:])) % 7 for doc, grade in grades.items()}
        rankings[query] = {doc: -s for doc, s in scores.items()} if query in bad else scores
    return rankings


def values_of(evaluation):
    """Values per query as a record has them."""
    table = evaluation.values.pivot(on="metric", index=["run", "query_id"], values="value")
    return table.rename({"run": "system"})


def new_record(result, values, per_query, at, **more):
    """A result with its figures."""
    ids = per_query.select(pl.col("query_id").unique().sort()) if per_query is not None else None
    return NewRecord(
        result,
        at,
        values=tuple(values),
        per_query=per_query,
        queries_sha256="" if ids is None else hash_table(ids),
        **more,
    )


def evaluated(store, project, name, run, at, qrels=None, **more):
    """Evaluate a run, keep it, and record the values."""
    graded, loaded_run = read_qrels(qrels or QRELS), read_run(run)
    evaluation = evaluate(graded, {name: loaded_run}, METRICS)
    per_query = values_of(evaluation)
    means = evaluation.means.row(0, named=True)
    figures = [Value(m, name, means[m], means[m] - 0.03, means[m] + 0.03, len(per_query)) for m in METRICS]
    with store.write() as connection:
        stored_run = stored_runs.add_run(
            connection, store.blobs, project, loaded_run, name=f"{name} {at:%Y-%m-%d}"
        )
        record = new_record(
            evaluation.to_dict(),
            figures,
            per_query,
            at,
            name=f"{name} {at:%d %B}",
            system=name,
            convention="trec",
            convention_hash=evaluation.convention["hash"],
            qrels_sha256=graded.sha256,
            inputs={"runs": {name: stored_run.sha256}},
            **more,
        )
        return records.add(connection, store.blobs, project, record).record


def history(store, project, *, days=8):
    """A history: evaluations day by day, a comparison, a gate, a regression, an alert, a note."""
    graded = read_qrels(QRELS)
    with store.write() as connection:
        stored_runs.add_judgments(connection, store.blobs, project, graded, name="graded")
        texts = [f"words of {query} <b>&" for query in QRELS]
        queries_documents.add_queries(
            connection, project, pl.DataFrame({"query_id": list(QRELS), "text": texts})
        )
        ids = [f"p{j}" for j in range(8)]
        fields = {
            "doc_id": ids,
            "title": [f"title of {doc_id}" for doc_id in ids],
            "body": ["a longer text"] * 8,
        }
        queries_documents.add_documents(connection, project, pl.DataFrame(fields))
        record_notes.add_annotation(
            connection,
            project,
            at=BEGIN + timedelta(days=days - 2),
            kind="deploy",
            text="new analyser",
            actor="ann",
        )
    bad = list(QRELS)[:9]
    for day in range(days):
        run = run_of(day / 3, bad if day == days - 1 else ())
        last = evaluated(
            store,
            project,
            "shop",
            run,
            BEGIN + timedelta(days=day),
            branch="main",
            revision=f"{day:040x}",
            labels={"stage": "nightly"},
        )
    with store.write() as connection:
        alerts.fire_alert(
            connection,
            project,
            "fell",
            rule="nDCG@10 fell",
            record=last.id,
            system="shop",
            message="nDCG@10 of shop fell by 0.2",
            metric="nDCG@10",
        )
    return {"evaluation": last, **judged(store, project, days)}


def judged(store, project, days):
    """A comparison and a gate of the last two days."""
    old, new = run_of((days - 2) / 3), run_of((days - 1) / 3, list(QRELS)[:9])
    graded = read_qrels(QRELS)
    pair = {"before": old, "after": new}
    comparison = compare(graded, old, new, METRICS)
    verdict = gate(graded, old, new, log=False)
    per_query = values_of(evaluate(graded, {n: read_run(r) for n, r in pair.items()}, METRICS))
    run_names = {"baseline": "before", "candidate": "after"}
    stored_records = {}
    with store.write() as connection:
        inputs = {"runs": {}}
        for name, run in pair.items():
            stored_run = stored_runs.add_run(connection, store.blobs, project, read_run(run), name=name)
            inputs["runs"][name] = stored_run.sha256
        for kind, result in (
            ("comparison", comparison.to_dict(lists=True)),
            ("verdict", verdict.to_dict() | run_names),
        ):
            record = new_record(
                result,
                [],
                per_query,
                BEGIN + timedelta(days=days, hours=len(stored_records)),
                name=f"after against before ({kind})",
                system="after",
                convention="trec",
                convention_hash=verdict.convention["hash"],
                qrels_sha256=graded.sha256,
                inputs=inputs,
                branch="main",
                verdict=result.get("verdict"),
            )
            stored_records[kind] = records.add(connection, store.blobs, project, record).record
    return stored_records
