"""Injected changes are attributed to their cause; an unknown cause is reported as unknown."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import rankgate as program
from support.wording import raises

DOCS = [f"d{i}" for i in range(12)]
CAUSES = ("system", "ids", "corpus", "judge", "judgments", "queries", "convention")


def world(seed):
    rng = random.Random(seed)
    queries = [f"q{i:02}" for i in range(30)]
    judged = {q: {d: rng.choice([0, 0, 1, 2, 3]) for d in DOCS[:8]} for q in queries}
    run = {q: {d: rng.random() for d in rng.sample(DOCS, 10)} for q in queries}
    return rng, judged, run


def change(cause, rng, judged, run):
    """The later judgments, run, labels and convention."""
    labels, convention = {}, "trec"
    if cause == "system":
        run = {q: {d: s + rng.random() for d, s in docs.items()} for q, docs in run.items()}
    elif cause == "corpus":
        run = {q: {d: s for d, s in docs.items() if d != "d1"} for q, docs in run.items()}
        labels = {"corpus": "v2"}
    elif cause == "ids":
        run = {q: {f"x-{d}": s for d, s in docs.items()} for q, docs in run.items()}
    elif cause == "judge":
        judged = {
            q: {d: max(0, g - rng.choice([0, 1])) for d, g in docs.items()} for q, docs in judged.items()
        }
        labels = {"judge": "model-2"}
    elif cause == "judgments":
        judged = {q: docs | {"d9": 3, "d10": 2} for q, docs in judged.items()}
    elif cause == "queries":
        judged = {q: docs for q, docs in judged.items() if q > "q11"}
    else:
        convention = "gdeval"
    return judged, run, labels, convention


def recorded(place, day, judged, run, labels=None, convention="trec", **more):
    evaluation = rankgate.evaluate(
        rankgate.Collection(judged, ids="as-they-are"), {"app": run}, ["nDCG@10"], convention
    )
    record_inputs = {"qrels": judged, "runs": {"app": run}} | more
    rankgate.record(
        evaluation,
        place,
        at=f"2026-03-0{day}",
        labels=labels or {},
        provenance=rankgate.Provenance("r"),
        **record_inputs,
    )


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("seed", range(3))
def test_an_injected_change_is_attributed(tmp_path, cause, seed):
    rng, judged, run = world(seed)
    recorded(tmp_path, 1, judged, run)
    recorded(tmp_path, 2, *change(cause, rng, judged, run))
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    assert attribution.answer == cause
    parts = {row["cause"]: row["part"] for row in attribution.parts.to_dicts()}
    assert sum(parts.values()) == pytest.approx(attribution.delta)
    assert {name for name, amount in parts.items() if amount} == {cause}


@pytest.mark.parametrize("seed", range(4))
def test_two_changes_are_divided_and_add_up(tmp_path, seed):
    rng, judged, run = world(seed)
    recorded(tmp_path, 1, judged, run)
    graded, _, labels, _ = change("judge", rng, judged, run)
    _, ranked, _, _ = change("system", rng, judged, run)
    recorded(tmp_path, 2, graded, ranked, labels)
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    parts = {row["cause"]: row["part"] for row in attribution.parts.to_dicts()}
    value = {
        (j, r): rankgate.evaluate(j_, {"a": r_}, ["nDCG@10"])["a", "nDCG@10"]
        for j, j_ in enumerate((judged, graded))
        for r, r_ in enumerate((run, ranked))
    }
    judge = (value[1, 0] - value[0, 0] + value[1, 1] - value[0, 1]) / 2
    assert parts["judge"] == pytest.approx(judge)
    assert parts["system"] == pytest.approx(attribution.delta - judge)
    assert {name for name, amount in parts.items() if amount} == {"judge", "system"}


def test_what_is_not_kept_is_unknown_unless_nothing_else_changed(tmp_path):
    rng, judged, run = world(0)
    graded, ranked = (
        {q: dict.fromkeys(d, 1) for q, d in judged.items()},
        change("system", rng, judged, run)[1],
    )
    for day, inputs in ((1, (judged, run)), (2, (judged, ranked)), (3, (graded, run))):
        recorded(tmp_path, day, *inputs, keep=False)
    system_only = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    assert (system_only.answer, system_only.notices) == ("system", ())
    both_changed = rankgate.attribute("2026-03-02", "2026-03-03", tmp_path)
    assert both_changed.answer == "unknown"
    known_parts = {row["cause"]: row["part"] for row in both_changed.parts.to_dicts()}
    assert (known_parts["system"], known_parts["judgments"], known_parts["queries"]) == (None, None, 0.0)
    assert len(both_changed.notices) == 1
    for day, cause in ((4, "queries"), (5, "ids")):
        recorded(tmp_path, day, *change(cause, rng, judged, run), keep=False)
        attribution = rankgate.attribute("2026-03-01", f"2026-03-0{day}", tmp_path)
        assert attribution.answer == "unknown"


def test_two_changes_that_only_one_run_shows_are_unknown(tmp_path):
    _, judged, run = world(0)
    fewer = {q: {d: s for d, s in docs.items() if d != "d1"} for q, docs in run.items()}
    for day, ranked in ((1, run), (2, fewer)):
        evaluation = rankgate.evaluate(judged, {"app": ranked}, ["nDCG@10"])
        rankgate.record(
            evaluation,
            tmp_path,
            at=f"2026-03-0{day}",
            labels={"corpus": str(day)},
            provenance=rankgate.Provenance(str(day)),
            qrels=judged,
            runs={"app": ranked},
        )
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    changed = dict(attribution.parts.select("cause", "changed").iter_rows())
    assert {name for name, state in changed.items() if state == "unknown"} == {"corpus", "system"}
    assert attribution.answer == "unknown"
    assert len(attribution.notices) == 1


@pytest.mark.parametrize(("guideline", "answer"), [("prompt 2", "judge"), ("prompt 1", "judgments")])
def test_a_judge_is_known_by_its_ratings(run, tmp_path, monkeypatch, guideline, answer):
    monkeypatch.chdir(tmp_path)
    rng, judged, ranked = world(2)
    for day, wording in ((1, "prompt 1"), (2, guideline)):
        rows = [
            f"{q},{d},model,{max(0, g - (day - 1) * rng.choice([0, 1]))},{wording}\n"
            for q, docs in judged.items()
            for d, g in docs.items()
        ]
        Path("ratings.csv").write_text("query_id,doc_id,rater,grade,guideline\n" + "".join(rows))
        assert run("resolve", "ratings.csv", "-o", f"{day}.qrels").code == 0
        evaluation = rankgate.evaluate(f"{day}.qrels", {"app": ranked}, ["nDCG@10"])
        rankgate.record(
            evaluation,
            "history",
            at=f"2026-03-0{day}",
            provenance=rankgate.Provenance("r"),
            qrels=f"{day}.qrels",
            runs={"app": ranked},
        )
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", "history")
    assert attribution.answer == answer


@pytest.mark.parametrize(("revision", "answer"), [("1", "ids"), ("2", "unknown")])
def test_new_ids_that_leave_a_document_as_it_was(tmp_path, revision, answer):
    _, judged, run = world(0)
    renamed = {q: {d if d == "d11" else f"x-{d}": s for d, s in docs.items()} for q, docs in run.items()}
    for day, ranked, built in ((1, run, "1"), (2, renamed, revision)):
        evaluation = rankgate.evaluate(judged, {"app": ranked}, ["nDCG@10"])
        rankgate.record(
            evaluation,
            tmp_path,
            at=f"2026-03-0{day}",
            provenance=rankgate.Provenance(built),
            qrels=judged,
            runs={"app": ranked},
        )
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    assert attribution.answer == answer


def test_the_same_evaluation_has_no_cause(tmp_path):
    _, judged, run = world(0)
    for day in (1, 2):
        recorded(tmp_path, day, judged, run)
    assert rankgate.attribute("2026-03-01", "2026-03-02", tmp_path).answer == "none"


def test_records_that_share_nothing_are_refused(tmp_path):
    _, judged, run = world(0)
    recorded(tmp_path, 1, judged, run)
    evaluation = rankgate.evaluate(rankgate.Collection(judged, ids="as-they-are"), {"app": run}, ["RR"])
    rankgate.record(evaluation, tmp_path, at="2026-03-02")
    with raises("not-comparable"):
        rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    with raises("unknown-record"):
        rankgate.attribute("2026-03-01", "2027", tmp_path)
    two = rankgate.evaluate(judged, {"baseline": run, "candidate": run}, ["nDCG@10"])
    for day in (3, 4):
        rankgate.record(two, tmp_path, at=f"2026-03-0{day}")
    with raises("missing-input"):
        rankgate.attribute("2026-03-03", "2026-03-04", tmp_path)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, judged, run = world(1)
    recorded("h", 1, judged, run)
    recorded("h", 2, *change("judge", rng, judged, run))
    call = ["attribute", "2026-03-01", "2026-03-02", "--from", "h", "-m", "nDCG@10"]
    result = CliRunner().invoke(program, call)
    assert result.exit_code == 0
    assert "mostly the judge" in result.stdout


@pytest.mark.parametrize(
    ("labels", "changed"), [({"corpus": "a"}, "no"), ({}, "unknown"), ({"corpus": ""}, "no")]
)
def test_labels_tell_whether_the_corpus_is_the_same(tmp_path, labels, changed):
    _, judged, run = world(0)
    turned = {query: {doc: -score for doc, score in documents.items()} for query, documents in run.items()}
    for day, ranking in ((1, run), (2, turned)):
        result = rankgate.evaluate(judged, {"app": ranking}, ["RR"])
        inputs = {"qrels": judged, "runs": {"app": ranking}, "labels": labels}
        rankgate.record(result, tmp_path, at=f"2026-03-0{day}", **inputs)
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path)
    (row,) = attribution.parts.filter(cause="corpus").to_dicts()
    assert (row["changed"], row["part"], attribution.answer) == (changed, 0.0, "system")
    (judge,) = attribution.parts.filter(cause="judge").to_dicts()
    assert judge["evidence"] == ""  # the judgments are the same


def _shop(folder, texts, fields='[engine.fields]\ntext = "body"'):
    """The file of an engine over a table of texts."""
    (folder / "shop.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "shop.db")) as shop, shop:
        shop.execute("CREATE VIRTUAL TABLE docs USING fts5(id UNINDEXED, body)")
        shop.executemany("INSERT INTO docs VALUES (?, ?)", texts.items())
    lines = ["[engine]", 'kind = "sqlite"', 'database = "shop.db"', 'table = "docs"', 'id = "id"', fields]
    (folder / "shop.toml").write_text("\n".join(lines))
    return folder / "shop.toml"


TEXTS = {f"d{i}": f"shoe number{i} {'red ' * (i % 5)}" for i in range(20)}


@pytest.mark.parametrize("revisions", [("r", "r"), ("", "")])
@pytest.mark.parametrize(
    ("later", "words"),
    [
        (TEXTS, ()),
        (TEXTS | {"new": "red red red red red red"}, ("20", "21")),
        (TEXTS | {"d4": "red red red red"}, ("1", "16")),
    ],
)
def test_snapshots_tell_whether_the_corpus_is_the_same(tmp_path, later, words, revisions):
    judged = {"q": {"d4": 2, "d9": 1, "d3": 1}}
    for day, texts in ((1, TEXTS), (2, later)):
        output = tmp_path / f"{day}.run"
        rankgate.snapshot(_shop(tmp_path, texts), {"q": "red OR shoe" if day == 1 else "red"}, output)
        rankgate.record(
            rankgate.evaluate(judged, {"app": output}, ["AP"]),
            tmp_path / "h",
            at=f"2026-03-0{day}",
            qrels=judged,
            runs={"app": output},
            provenance=rankgate.Provenance(revisions[day - 1]),
        )
    attribution = rankgate.attribute("2026-03-01", "2026-03-02", tmp_path / "h")
    (row,) = attribution.parts.filter(cause="corpus").to_dicts()
    if later is TEXTS:
        assert row["changed"] == "no"
        assert "20 documents" in row["evidence"]
        return
    assert set(words) <= set(row["evidence"].replace(",", "").split())
    expected = (
        ("yes", "corpus") if revisions[0] else ("unknown", "unknown")
    )  # the system may have changed too
    assert (row["changed"], attribution.answer) == expected


def test_an_index_without_texts_is_compared_by_its_documents(tmp_path):
    result = rankgate.snapshot(_shop(tmp_path, TEXTS, ""), {"q": "shoe"}, tmp_path / "x.run")
    corpus = {"documents": 20, "settings": result.facts.settings, "changes": result.facts.changes}
    assert (result.texts, result.run.corpus) == ({}, corpus)
    assert json.loads((tmp_path / "x.run.snapshot.json").read_text())["texts"] == {}
    assert rankgate.Collection({"q": {}}).run(tmp_path / "x.run", "x").corpus == corpus
