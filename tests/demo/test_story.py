"""The walk-through: its numbers equal its files, and its example is real."""

import shlex
from collections import defaultdict
from itertools import pairwise
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


def test_it_tells_what_the_new_engine_wins_and_loses(result):
    folder, parts = result
    old, new = values(folder, ndcg)
    better = sum(new[query] - old[query] > 1e-9 for query in old)
    worse = sum(old[query] - new[query] > 1e-9 for query in old)
    assert f"{worse} of {len(old)} queries got worse and {better} better" in "\n".join(parts)
    assert better > worse > 5


def test_it_shows_what_its_commands_print(result, run):
    """Each command line is followed by the beginning of its output; the last gate fails."""
    _, parts = result
    codes = []
    for part, text in pairwise(parts):
        command = part.splitlines()[-1]
        if command.startswith("$ rankgate "):
            done = run(*shlex.split(command)[2:])
            assert done.out.startswith(text)
            codes.append(done.code)
    assert codes == [0, 0, 0, 1]


def test_the_page_is_that_of_the_verdict(result):
    folder, parts = result
    assert f"'{folder}/verdict.html'" in "\n".join(parts)
    page = (folder / "verdict.html").read_text(encoding="utf-8")
    assert "sorted may not replace new" in page
    assert "greatest common divisor" in page


def test_the_sorted_pages_hold_the_same_documents_in_the_order_of_names(result):
    folder, _ = result
    new, changed = (table(folder / name, 2, 4) for name in ("new.run", "sorted.run"))
    for query, ranking in new.items():
        page = list(changed[query])[:10]
        assert page == sorted(list(ranking)[:10])
        assert list(changed[query])[10:] == list(ranking)[10:]
        scores = list(changed[query].values())
        assert scores == sorted(scores, reverse=True)


def test_lines_fit_a_terminal_and_commands_can_be_pasted(result):
    folder, parts = result
    assert f"rankgate compare '{folder}/qrels.txt'" in parts[-2]
    lines = "\n".join(parts[:-2]).replace(str(folder), "demo").splitlines()
    assert max(map(len, lines)) <= 80


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
