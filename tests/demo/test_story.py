"""The walk-through: its numbers equal its files, and its example is real."""

from collections import defaultdict
from math import log2

import polars as pl
import pytest

from rankgate import history
from rankgate.interface.demo.demo_build import queries
from rankgate.interface.demo.demo_story import print_demo
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from rankgate.workspace.records.alerts.alert_check import list_alerts


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("story") / "a folder"
    parts = []
    print_demo(folder, parts.append)
    return folder, parts


def table(path, key, value):
    read = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        read[fields[0]][fields[key]] = float(fields[value])
    return read


def reciprocal(ranked, grades):
    return next((1 / i for i, doc in enumerate(ranked, start=1) if grades.get(doc, 0) > 0), 0)


def ndcg(ranked, grades):
    dcg = sum(grades.get(doc, 0) / log2(i + 1) for i, doc in enumerate(ranked[:10], start=1))
    ideal = sorted(grades.values(), reverse=True)[:10]
    return dcg / sum(grade / log2(i + 1) for i, grade in enumerate(ideal, start=1))


def values(folder, metric):
    qrels = table(folder / "qrels.txt", 2, 3)
    runs = [table(folder / name, 2, 4) for name in ("old.run", "new.run")]
    return [{query: metric(list(run[query]), grades) for query, grades in qrels.items()} for run in runs]


def test_it_tells_counts_and_means(result):
    folder, parts = result
    text = "\n".join(parts)
    assert f"{len(queries())} queries" in text
    for by_query in values(folder, ndcg) + values(folder, reciprocal):
        assert f"{sum(by_query.values()) / len(by_query):.4f}" in text
    assert "Judged@10" in text


def test_the_example_is_the_greatest_difference_that_rr_cannot_see(result):
    folder, parts = result
    first_old, first_new = values(folder, reciprocal)
    old, new = values(folder, ndcg)
    alike = {query for query in old if first_old[query] == first_new[query]}
    query = max(alike, key=lambda query: abs(new[query] - old[query]))
    [story] = [section for section in parts if section.startswith("A difference that RR cannot see")]
    assert f'query {query}, "{queries()[query]}"' in story
    assert f"RR is {first_old[query]:.4f} for both" in story
    assert f"from {old[query]:.4f} to {new[query]:.4f}" in story
    assert abs(new[query] - old[query]) > 0.1


def test_the_explanation_is_of_that_query_and_reaches_the_same_value(result):
    folder, parts = result
    [example] = [section for section in parts if section.startswith("A difference that RR cannot see")]
    query = next(query for query in queries() if f"query {query}," in example)
    value = values(folder, ndcg)[1][query]
    [explained] = [section for section in parts if section.startswith("nDCG@10 = ")]
    assert explained.startswith(f"nDCG@10 = {value:.4f} for query {query} of run new")


def test_it_tells_what_the_new_engine_wins_and_loses(result):
    folder, parts = result
    old, new = values(folder, ndcg)
    better = sum(new[query] - old[query] > 1e-9 for query in old)
    worse = sum(old[query] - new[query] > 1e-9 for query in old)
    assert f"new is better on {better} queries and worse on {worse}." in "\n".join(parts)
    assert better > worse > 5


def test_tables_fit_a_terminal_and_commands_can_be_pasted(result):
    folder, parts = result
    sections = [section for section in parts[:-2] if not section.startswith("nDCG@10 = ")]
    assert len(sections) == len(parts) - 3
    for section in sections:
        assert max(map(len, section.splitlines())) <= 80
    assert f"rankgate eval '{folder}/qrels.txt'" in parts[-2]


def test_the_past_has_a_regression_new_judgments_and_an_alert(result):
    folder, parts = result
    assert parts[-1].endswith(f"rankgate serve --store '{folder}/store.db'")
    metric_history = history("nDCG@10", store=str(folder / "store.db"), project="docs")
    assert len(metric_history.series.filter(pl.col("at").str.ends_with("06:00:00+00:00"))) == 36
    (change,) = metric_history.changes.to_dicts()
    assert (change["system"], change["at"][:10]) == ("new", "2026-03-16")
    assert change["gain"] < 0
    assert {row["at"][:10] for row in metric_history.breaks.to_dicts()} == {"2026-03-10"}
    assert all(row["rest"] == pytest.approx(0) for row in metric_history.breaks.to_dicts())
    with Store.open(str(folder / "store.db")) as store:
        assert check(store) == ()
        assert len(list_alerts(store, "docs", "open").rows) == 1
