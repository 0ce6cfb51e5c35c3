"""Tables without usual names of columns: the guess that an error prints, and its copied line."""

from __future__ import annotations

import json
import shlex
from random import Random

import polars as pl
import pytest

import rankgate
from rankgate.data.column_guess import guess_columns
from support.command import assert_refused
from support.table_sources import WRITERS

QRELS = {"red mug": {"m1": 3, "m2": 2, "m3": 0}, "lamp": {"l1": 3, "l2": 0}}
RANKED = {"red mug": {"m2": 3, "m1": 2, "m3": 1}, "lamp": {"l2": 2, "l1": 1}}
LABELS = {
    "en": ["Exact", "Substitute", "Irrelevant"],
    "de": ["sehr gut", "gut", "schlecht"],
    "es": ["muy relevante", "relevante", "irrelevante"],
    "fr": ["très pertinent", "pertinent", "non pertinent"],
    "ru": ["отлично", "хорошо", "плохо"],
    "ja": ["完全一致", "関連", "不一致"],
}
NAMES = {
    "en": ["search_term", "sku", "esci_label", "position_in_list", "Result Position"],
    "de": ["Suchbegriff", "Artikelnummer", "Bewertung", "Rang", "Rang"],
    "es": ["Término de búsqueda", "código", "valoración", "posición", "posición"],
    "fr": ["requête", "référence", "étiquette", "rang", "rang"],
    "ru": ["поисковый_запрос", "артикул", "оценка", "позиция", "позиция"],
    "ja": ["検索語", "商品コード", "評価", "順位", "順位"],
}


def _written(folder, language, form):
    """Judgments and a run with foreign names, with labels as grades and ranks as scores."""
    query, doc, grade, _, rank = NAMES[language]
    label = dict(zip((3, 2, 0), LABELS[language], strict=True))
    judged = pl.DataFrame(
        [
            {query: query_id, doc: document, "Titel": f"a {document}", grade: label[value]}
            for query_id, row in QRELS.items()
            for document, value in row.items()
        ]
    )
    ranked = pl.DataFrame(
        [
            {rank: position, query: query_id, doc: document}
            for query_id, row in RANKED.items()
            for position, document in enumerate(row, 1)
        ]
    )
    for name, frame in (("judged", judged), ("ranked", ranked)):
        WRITERS[form](frame, folder / f"{name}.{form}")
    return folder / f"judged.{form}", folder / f"ranked.{form}"


@pytest.mark.parametrize(
    ("language", "form"),
    [
        ("en", "commas.csv"),
        ("de", "semicolons.csv"),
        ("es", "tabs.csv"),
        ("fr", "bars.csv"),
        ("ru", "table.jsonl"),
        ("ja", "table.parquet"),
        ("en", "table.json"),
    ],
)
def test_the_copied_line_works_on_the_command_line_and_in_the_projects_file(
    tmp_path, monkeypatch, run, language, form
):
    monkeypatch.chdir(tmp_path)
    judged, ranked = _written(tmp_path, language, form)
    arguments = ["eval", judged, ranked, "-m", "nDCG@10", "--format", "json"]
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    option, _, *toml = result.error.suggestions
    assert result.err.splitlines()[1] == f"  {option}"
    truth = rankgate.evaluate(QRELS, RANKED, ["nDCG@10"]).means["nDCG@10"][0]
    copied = json.loads(run(*arguments, *shlex.split(option)).out)
    assert copied["runs"][0]["mean"]["nDCG@10"] == pytest.approx(truth)
    (tmp_path / "rankgate.toml").write_text("\n".join(toml), encoding="utf-8")
    assert json.loads(run(*arguments).out)["runs"] == copied["runs"]
    described = json.loads(run("describe", judged, ranked, "--format", "json").out)
    assert [bool(file["judgments"]) for file in described["files"]] == [True, False]


def test_files_that_name_columns_differently_share_one_line(tmp_path, run):
    judged, _ = _written(tmp_path, "de", "commas.csv")
    _, ranked = _written(tmp_path, "en", "tabs.csv")
    refused = run("eval", judged, ranked)
    (option, *_) = refused.error.suggestions
    assert "search_term|Suchbegriff" in option
    assert run("eval", judged, ranked, *shlex.split(option)).code == 0
    columns = shlex.split(option)[1]
    table = pl.read_csv(judged).rename({"Suchbegriff": "search_term"})
    collection = rankgate.Collection(table, columns=columns, grades={"sehr gut": 3, "gut": 2, "schlecht": 0})
    assert rankgate.evaluate(collection, RANKED, ["P@1"]).means["P@1"][0] == 1 / 2


def test_what_is_stated_stays_and_what_is_missing_is_added(tmp_path, run):
    judged, ranked = _written(tmp_path, "en", "commas.csv")
    stated = ["--columns", "query=search_term,doc=sku"]
    (option, *_) = run("eval", judged, ranked, *stated).error.suggestions
    assert "rank=Result Position" in option
    assert run("eval", judged, ranked, *shlex.split(option)).code == 0


def test_a_guess_that_fits_two_columns_is_one_error_with_both_lines(tmp_path, run):
    path = tmp_path / "judged.csv"
    path.write_text("search_term,sku,ean,label\nmug,m1,40001,Exact\nmug,m2,40002,Irrelevant\n")
    result = run("describe", path)
    assert_refused(result, "unknown-format", path, 1)
    first, word, second, *_ = result.error.suggestions
    assert (word, "doc=sku" in first, "doc=ean" in second) == ("or", True, True)
    for option in (first, second):
        assert run("describe", path, *shlex.split(option)).code == 0


def test_contents_tell_where_names_do_not():
    table = pl.DataFrame(
        {
            "a": [f"words of {query}" for query in "abc" for _ in range(4)],
            "b": [f"X{number}" for number in range(12)],
            "c": [1, 2, 3, 4] * 3,
            "d": [0.9, 0.7, 0.3, 0.1] * 3,
        }
    )
    ranks = guess_columns(table.drop("d").lazy(), "run")
    assert ranks.columns == {"query_id": "a", "doc_id": "b", "rank": "c"}
    scores = guess_columns(table.drop("c").lazy(), None)
    assert scores.columns == {"query_id": "a", "doc_id": "b", "score": "d"}
    label_table = table.select("a", "b", e=pl.Series(["relevant", "not relevant"] * 6))
    labels = guess_columns(label_table.lazy(), "qrels")
    assert labels.columns == {"query_id": "a", "doc_id": "b", "grade": "e"}
    assert labels.grades == {"relevant": 1, "not relevant": 0}


def test_labels_that_nobody_knows_are_for_the_user_to_fill_in(tmp_path, run):
    path = tmp_path / "judged.csv"
    path.write_text("query,doc,label\nmug,m1,tier A\nmug,m2,tier B\nlamp,m2,tier B\n")
    assert_refused(run("validate", path, "--grades", "tier A=?"), "not-a-number")


def test_a_log_with_clicks_gets_the_mapping_that_learns_judgments(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    chance = Random(7)
    rows = ["session,Suchbegriff,pos,sku,clicked"]
    for session in range(200):
        query = chance.choice(["mug", "lamp"])
        documents = [f"{query}{n}" for n in range(4)]
        chance.shuffle(documents)
        for rank, document in enumerate(documents, 1):
            click = chance.random() < (0.6 if document.endswith("0") else 0.1) / rank
            rows.append(f"s{session},{query},{rank},{document},{int(click)}")
    (tmp_path / "log.csv").write_text("\n".join(rows))
    refused = run("eval", "log.csv", "log.csv")
    assert_refused(refused, "log-not-judgments", "log.csv", 1)
    *lines, _, command = refused.error.suggestions
    assert_refused(run("describe", "log.csv"), "log-not-judgments", "log.csv", 1)
    online_result = run("online", "judgments", "log.csv")
    assert (online_result.error.code, list(online_result.error.suggestions[:-1])) == (
        "no-usable-events",
        lines,
    )
    (tmp_path / "log.toml").write_text("\n".join(lines))
    result = run(*shlex.split(command)[1:])
    assert result.code == 0, result.err
    learned = rankgate.read_qrels("qrels.csv").table
    top_documents = learned.sort("grade", descending=True).head(2)["doc_id"].to_list()
    assert sorted(top_documents) == ["lamp0", "mug0"]
