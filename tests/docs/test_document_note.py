"""A note on recommenders: its formulas as they stand, on the log and the lists of the example."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import rankgate as program
from rankgate.recommenders.split_files import split_into
from support.wording import raises

EXAMPLE = Path(__file__).parents[2] / "examples" / "impressions"
LOG = str(EXAMPLE / "log.csv")
WEIGHTS = {"impression": 0, "click": 1, "save": 3}
# read from the log by hand: the interactions of the second of March, in the order of time
TRUTH = {
    "jazz": {"bebop": 1, "blue-notes": 1},
    "rain": {"monsoon": 1},
    "soup": {"minestrone": 1, "borscht": 3},
}
K = 5


def lists():
    rows = [line.split() for line in (EXAMPLE / "model.run").read_text().splitlines()]
    return {query: [row[2] for row in rows if row[0] == query] for query in TRUTH}


def recall(ranking, relevant):
    return len(set(relevant) & set(ranking[:K])) / len(relevant)


def average_precision(ranking, relevant):
    return sum(len(set(relevant) & set(ranking[:k])) / k for k in range(1, K + 1)) / K


def reciprocal(ranking, relevant):
    return next((1 / (1 + rank) for rank, doc in enumerate(ranking, 1) if doc in relevant), 0)


def dcg(grades):
    return sum((2**rel - 1) / log(1 + k) for k, rel in enumerate(grades[:K], 1))


def ndcg(ranking, relevant):
    return dcg([relevant.get(doc, 0) for doc in ranking]) / dcg(sorted(relevant.values(), reverse=True))


@pytest.fixture(scope="module")
def qrels():
    rule = rankgate.Truth(WEIGHTS, grades="value")
    plan = rankgate.SplitPlan(cut="2026-03-02")
    return rankgate.split(LOG, plan, rule, candidates="all").qrels


def test_judgments_are_the_note_s_dictionary(qrels):
    judged = {}
    for query, doc, grade in qrels.table.iter_rows():
        judged.setdefault(query, {})[doc] = grade
    relevant = {query: {doc: g for doc, g in docs.items() if g} for query, docs in judged.items()}
    assert {query: docs for query, docs in relevant.items() if docs} == TRUTH
    assert [*relevant["soup"]] == ["minestrone", "borscht"]  # in the order of time
    assert judged["moon"] == {"tides": 0, "eclipse": 0}  # only shown


@pytest.mark.parametrize(("metric", "formula"), [("Recall@5", recall), ("MRR", reciprocal), ("NDCG@5", ndcg)])
def test_the_note_s_formulas(qrels, metric, formula):
    values = [formula(ranking, TRUTH[query]) for query, ranking in lists().items()]
    result = rankgate.evaluate(qrels, EXAMPLE / "model.run", [metric], "note")
    assert result.runs[0].means[metric] == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_the_note_s_map_counts_a_query_without_interactions(qrels):
    values = [average_precision(ranking, TRUTH[query]) for query, ranking in lists().items()]
    result = rankgate.evaluate(qrels, EXAMPLE / "model.run", ["AP@5"], "note")
    assert result.runs[0].means["AP@5"] == pytest.approx(sum(values) / 4, abs=1e-12)


@pytest.mark.parametrize("reader", [rankgate.split, split_into])
def test_kinds_without_weights_are_asked_for(reader):
    with raises("missing-weights") as caught:
        reader(LOG, rankgate.SplitPlan(cut="2026-03-02"))
    message = str(caught.value)
    assert "impression (15), click (9), save (1)" in message  # counted with grep -c
    line = message.partition("write ")[2].partition(",")[0]
    assert line == "--weight impression=0 --weight click=1 --weight save=1"
    arguments = ["split", LOG, "--cut", "2026-03-02", "--candidates", "all", *line.split()]
    assert CliRunner().invoke(program, arguments).exit_code == 0


def test_a_log_of_one_kind_needs_no_weights(tmp_path):
    rows = [row for row in Path(LOG).read_text().splitlines() if not row.endswith(("impression", "save"))]
    (tmp_path / "clicks.csv").write_text("\n".join([*rows, ""]))
    result = rankgate.split(tmp_path / "clicks.csv", rankgate.SplitPlan(cut="2026-03-02"), candidates="all")
    assert set(result.qrels.table["grade"]) == {1}


def test_help_leads_from_impressions_to_the_page():
    result = CliRunner().invoke(program, ["help", "impressions"])
    assert result.exit_code == 0
    assert "docs/documents/recommender-note.md" in result.output
