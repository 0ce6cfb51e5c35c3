"""A project with a seeded regression: a deploy after which some queries are answered worse."""

from datetime import datetime, timedelta

import polars as pl

from rankgate.data import read_qrels
from rankgate.store.blobs import stored_runs
from rankgate.store.material import queries_documents
from rankgate.store.records import record_notes
from rankgate.workspace.records.alerts.alert_check import set_rules
from support.recorded import BEGIN, QRELS, evaluated, run_of

HARM = "<script>document.title='taken'</script>"
FELL = tuple(f"q{i:02}" for i in range(2, 20))
TEXTS = {"q02": "red bike", "q03": "東京の自転車", "q04": f"shoes {HARM}"}
TITLES = {"p0": "A red bike for children", "p1": "東京都の自転車店", "p2": f"Shoes {HARM}", "x1": "Red paint"}
RULES = '[[rules]]\nid = "fall"\nkind = "change"\nmetric = "nDCG@10"\ndays = 100000\n'


def answers(*, regressed):
    """The rankings; a regression reverses some, and finds documents without grades."""
    run = run_of(3, FELL if regressed else ())
    if regressed:
        for query in FELL:
            run[query] |= {"x1": 90.0, "x2": -90.0}
    return run


def regress(store, project, *, days=14, fall=4):
    """Daily evaluations with a fall at the end, a deploy before it, and an alert.

    Returns:
        The records, the oldest first.
    """
    graded = read_qrels(QRELS)
    with store.write() as connection:
        stored_runs.add_judgments(connection, store.blobs, project, graded, name="graded")
        texts = [TEXTS.get(query, f"words of {query}") for query in QRELS]
        queries_documents.add_queries(
            connection, project, pl.DataFrame({"query_id": list(QRELS), "text": texts})
        )
        ids = [*(f"p{j}" for j in range(8)), "x1"]
        fields = {
            "doc_id": ids,
            "title": [TITLES.get(doc_id, f"title of {doc_id}") for doc_id in ids],
            "body": ["a red text"] * len(ids),
            "explanation": ["", "weight(title:東京) = 2.5", *[""] * 7],
        }
        queries_documents.add_documents(connection, project, pl.DataFrame(fields))
        deployed_at: datetime = BEGIN + timedelta(days=days - fall, hours=-3)
        record_notes.add_annotation(
            connection, project, at=deployed_at, kind="deploy", text="new analyser", actor="ann"
        )
    stored = [
        evaluated(
            store,
            project,
            "shop",
            answers(regressed=day >= days - fall),
            BEGIN + timedelta(days=day),
            branch="main",
            revision=("b" if day >= days - fall else "a") * 40,
        )
        for day in range(days)
    ]
    with store.write() as connection:
        set_rules(connection, project, RULES, "rules")
    return stored
