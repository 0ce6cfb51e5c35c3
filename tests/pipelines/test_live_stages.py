"""``stages`` with live engines: input, output and latency of each stage."""

# ruff: noqa: ARG001 - tests run in the folder that the fixture makes

from __future__ import annotations

import json
import sys
import textwrap
from itertools import permutations
from math import log2

import polars as pl
import pytest

import rankgate
from rankgate.decisions.pipelines.stages import Pipeline
from support.command import assert_refused
from support.programs import importable
from support.wording import assert_wording, raises

SHOP = '''
"""Two engines and some rerankers of a shop; each query that is asked is noted."""

from pathlib import Path

DOCUMENTS = {f"d{i}": f"shoe number {i}" for i in range(8)}
NOTES = Path(__file__).with_name("asked.txt")


def note(name, query):
    with NOTES.open("a") as file:
        file.write(f"{name} {query}\\n")


def forwards(text, depth):
    note("forwards", text)
    if text == "nothing":
        return []
    found = [(doc, 9.0 - i) for i, doc in enumerate(DOCUMENTS)]
    return [{"id": doc, "score": score, "text": DOCUMENTS[doc]} for doc, score in found][:depth]


def backwards(text, depth, first=7):
    note("backwards", text)
    if text == "nothing" or text == "broken":
        return [] if text == "nothing" else 1 / 0
    return [(f"d{i}", float(i)) for i in range(first, -1, -1)][:depth]


def even_first(query, candidates, even=True):
    note("even_first", query)
    assert all(each["text"] == DOCUMENTS[each["id"]] for each in candidates)
    first = {each["id"]: int(each["id"][1]) % 2 != even for each in candidates}
    return {each["id"]: 100 * first[each["id"]] - each["rank"] for each in candidates}


def ids_only(query, candidates):
    return [each["id"] for each in reversed(candidates)]


def twice(query, candidates):
    ids = [each["id"] for each in candidates]
    return [*ids, ids[0]]


def half(query, candidates):
    return [each["id"] for each in candidates][: len(candidates) // 2]


def strange(query, candidates):
    note("strange", query)
    return [candidates[0]["id"]] if query == "red" else ["nobody"]


def broken(query, candidates):
    raise ValueError("no model")
'''
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    ids = sorted((each["id"] for each in asked["candidates"]), reverse=asked["parameters"]["down"])
    hits = [{"id": doc, "score": -float(i)} for i, doc in enumerate(ids)]
    print(json.dumps({"hits": hits}), flush=True)
"""
PIPELINE = """\
[[stage]]
name = "words"
engine = "forwards.toml"

[[stage]]
name = "vectors"
engine = "backwards.toml"
depth = 6
parameters = { first = 7 }

[[stage]]
name = "hybrid"
fuse = "rrf"
inputs = ["words", "vectors"]
parameters = { k = 60 }

[[stage]]
name = "rerank"
rerank = "shop:even_first"
inputs = ["hybrid"]
depth = 4
"""
QUERIES = {"q1": "red", "q2": "green", "q3": "blue"}
QRELS = {"q1": {"d6": 2, "d1": 1}, "q2": {"d0": 1, "d7": 3}, "q3": {"d4": 1}}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with engines, rerankers and a pipeline."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "program.py").write_text(PROGRAM)
    for name, fields in (("forwards", '[engine.fields]\ntext = "text"'), ("backwards", "")):
        parameters = "[engine.parameters]\nfirst = 7\n" if name == "backwards" else ""
        (tmp_path / f"{name}.toml").write_text(
            f'[engine]\nkind = "python"\nfunction = "shop:{name}"\n{parameters}{fields}\n'
        )
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    (tmp_path / "queries.tsv").write_text("".join(f"{q}\t{t}\n" for q, t in QUERIES.items()))
    rows = [f"{q} 0 {d} {g}\n" for q, grades in QRELS.items() for d, g in grades.items()]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    with importable(tmp_path):
        yield tmp_path


def followed(queries=QUERIES, metrics=("nDCG@3", "R@8"), **settings):
    live = {n: settings.pop(n) for n in ("parameters", "folder", "again", "force") if n in settings}
    pipeline = rankgate.LivePipeline("pipeline.toml", queries, **live)
    return rankgate.stages(QRELS, pipeline, metrics, test=rankgate.Test(**settings))


def runs_of(result):
    return {row["stage"]: rankgate.read_run(row["file"]) for row in result.latency.to_dicts()}


def changed(folder, before, after):
    text = PIPELINE.replace(before, after)
    assert text != PIPELINE
    (folder / "pipeline.toml").write_text(text)


def lists(run):
    return {q: rows["doc_id"].to_list() for (q,), rows in run.table.group_by("query_id")}


def test_each_stage_gets_what_its_inputs_have(shop):
    runs = runs_of(followed())
    word_docs, vectors = [f"d{i}" for i in range(8)], [f"d{i}" for i in range(7, 1, -1)]
    assert lists(runs["words"]) == dict.fromkeys(QUERIES, word_docs)
    assert lists(runs["vectors"]) == dict.fromkeys(QUERIES, vectors)
    expected = rankgate.fuse([runs["words"], runs["vectors"]], "rrf").run
    assert runs["hybrid"].sha256 == expected.sha256
    first, remaining = lists(expected)["q1"][:4], lists(expected)["q1"][4:]
    odd = [doc for doc in first if int(doc[1]) % 2 == 0]
    reranked = [*odd, *(doc for doc in first if doc not in odd), *remaining]
    assert lists(runs["rerank"]) == dict.fromkeys(QUERIES, reranked)


def test_the_result_is_that_of_the_runs(shop):
    live = followed()
    stored = rankgate.stages(QRELS, runs_of(live), ["nDCG@3", "R@8"])
    assert live.means.equals(stored.means)
    ceilings = [table.drop("kind").head(3) for table in (live.ceilings, stored.ceilings)]
    assert ceilings[0].equals(ceilings[1])  # runs do not say how many documents are reranked
    assert live.kinds == ("retrieves", "retrieves", "retrieves", "reranks")
    assert stored.latency.is_empty()


def ndcg(documents, grades, k=3):
    def dcg(gains):
        return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1))

    return dcg([grades.get(doc, 0) for doc in documents]) / dcg(sorted(grades.values())[::-1])


def best_ndcg(documents, depth, grades, k=3):
    """The best that any order of the first documents could reach; its first k decide."""
    first, below_depth = documents[:depth], documents[depth:]
    orders = permutations(first, min(k, len(first)))
    return max(ndcg([*order, *below_depth], grades, k) for order in orders)


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 100])
def test_the_ceiling_of_a_reranker_is_of_the_documents_that_it_may_order(shop, depth):
    result = followed(parameters={"rerank.depth": depth}, metrics=["nDCG@3"])
    runs = {name: lists(run) for name, run in runs_of(result).items()}
    reach, last = [], []
    for query, grades in QRELS.items():
        reach.append(best_ndcg(runs["hybrid"][query], depth, grades))
        last.append(ndcg(runs["rerank"][query], grades))
    hybrid, rerank = result.ceilings.to_dicts()[2:]
    assert rerank["ceiling"] == pytest.approx(sum(reach) / 3)
    assert rerank["documents"] == min(depth, 8)
    assert (hybrid["ceiling"], hybrid["documents"]) == (1.0, 8)
    assert result.losses.select("stage", "why").rows() == [
        ("hybrid", "retrieval"),
        ("rerank", "depth"),
        ("rerank", "cut"),
        ("rerank", "order"),
    ]
    assert result.losses["lost"].to_list() == pytest.approx(
        [0, 1 - sum(reach) / 3, 0, (sum(reach) - sum(last)) / 3], abs=1e-12
    )


def test_an_engine_may_approximate_another(shop):
    (shop / "pipeline.toml").write_text(
        '[[stage]]\nname = "graph"\nengine = "forwards.toml"\ndepth = 3\napproximates = "exact"\n'
        '[[stage]]\nname = "exact"\nengine = "forwards.toml"\ndepth = 8\n'
    )
    result = followed(metrics=["nDCG@3"])
    assert (result.stages, result.kinds) == (("exact", "graph"), ("retrieves", "approximates"))
    assert result.losses.select("stage", "why").rows()[:2] == [
        ("exact", "retrieval"),
        ("graph", "approximation"),
    ]
    ceilings = dict(result.ceilings.select("stage", "ceiling").rows())
    assert result.losses["lost"][1] == pytest.approx(ceilings["exact"] - ceilings["graph"]) != 0
    waits = dict(result.latency.select("stage", "waits").rows())
    assert waits == {"exact": 0, "graph": 0}
    (shop / "pipeline.toml").write_text(
        (shop / "pipeline.toml").read_text().replace('"exact"\n[', '"exct"\n[')
    )
    with raises("unknown-stage", line=5):
        followed()


SECOND = """
[[stage]]
name = "again"
rerank = "shop:ids_only"
inputs = ["rerank"]
depth = 4
"""


@pytest.mark.parametrize(("one", "two"), [(1, 6), (2, 5), (6, 2), (3, 3)])
def test_rerankers_in_a_row_share_the_loss_of_what_none_of_them_reads(shop, one, two):
    (shop / "pipeline.toml").write_text(PIPELINE + SECOND)
    depths = {"rerank.depth": one, "again.depth": two}
    result = followed(parameters=depths, metrics=["nDCG@3"])
    runs = {name: lists(run) for name, run in runs_of(result).items()}

    def best(stage, depth):
        """The best that any order of the first documents of a stage could reach."""
        return sum(best_ndcg(runs[stage][q], depth, grades) for q, grades in QRELS.items()) / 3

    last = sum(ndcg(runs["again"][query], grades) for query, grades in QRELS.items()) / 3
    reach = best("hybrid", max(one, two)), best("rerank", two)
    shared = (best("hybrid", 8) - reach[0]) / 2
    expected = [1 - best("hybrid", 8), shared, 0, shared + reach[0] - reach[1], 0]
    rows = result.losses.select("stage", "why").rows()
    assert rows == [
        ("hybrid", "retrieval"),
        ("rerank", "depth"),
        ("rerank", "cut"),
        ("again", "depth"),
        ("again", "cut"),
        ("again", "order"),
    ]
    lost = result.losses["lost"].to_list()
    assert lost == pytest.approx([*expected, reach[1] - last], abs=1e-12)
    assert min(lost) > -1e-12
    ceilings = dict(result.ceilings.select("stage", "ceiling").rows())
    assert ceilings["rerank"] == pytest.approx(best("hybrid", one))  # what it may order itself


def test_a_reranker_that_returns_an_id_twice_is_a_notice(shop):
    changed(shop, "shop:even_first", "shop:twice")
    for _ in range(2):  # also of a run that is kept
        result = followed()
        (text,) = [text for text in result.warnings if "appear again" in text]
        assert text.startswith("rerank: 3 documents appear again in one answer")
    hybrid_docs, reranked_docs = (lists(runs_of(result)[name])["q1"] for name in ("hybrid", "rerank"))
    assert reranked_docs == hybrid_docs


def test_the_depth_of_a_reranker_is_the_bottleneck(shop):
    result = followed(parameters={"rerank.depth": 1}, metrics=["nDCG@3"])
    assert (result.bottleneck.stage, result.bottleneck.why) == ("rerank", "depth")
    assert_wording(result.sentence)


def test_engines_that_are_asked_at_the_same_time_are_no_steps(shop):
    result = followed(metrics=["nDCG@3"])
    assert result.steps.select("stage", "against").rows() == [("hybrid", "vectors"), ("rerank", "hybrid")]
    assert result.correction == "holm over 2 tests"
    assert result.moves.filter(stage="vectors")["new"].to_list() == [None, None]


def test_latency_adds_up_along_the_path_and_branches_take_the_slowest(shop):
    result = followed()
    latencies = {
        name: dict(run.queries.select("query_id", "latency_ms").iter_rows())
        for name, run in runs_of(result).items()
    }
    for query in QUERIES:
        latencies["hybrid"][query] += max(latencies["words"][query], latencies["vectors"][query])
        latencies["rerank"][query] += latencies["hybrid"][query]
    rows = {row["stage"]: row for row in result.latency.to_dicts()}
    assert latencies.keys() == rows.keys() >= {"words", "vectors", "hybrid", "rerank"}
    for name, totals in latencies.items():
        assert rows[name]["total"] == pytest.approx(sum(totals.values()) / 3)
        assert rows[name]["waits"] + rows[name]["mean"] == pytest.approx(rows[name]["total"])
        assert rows[name]["total_p50"] == pytest.approx(sorted(totals.values())[1])


def test_what_was_taken_is_taken_once(shop):
    first = followed()
    requests = (shop / "asked.txt").read_text()
    assert sorted(requests.split("\n")[:-1]) == sorted(
        f"{name} {text}" for name in ("forwards", "backwards", "even_first") for text in QUERIES.values()
    )
    second = followed()
    assert (shop / "asked.txt").read_text() == requests
    assert second.to_dict() == first.to_dict()
    changed_result = followed(parameters=["rerank.even=false", "hybrid.k=1"])
    new_requests = (shop / "asked.txt").read_text().removeprefix(requests)
    assert {line.split()[0] for line in new_requests.splitlines()} == {"even_first"}
    assert not changed_result.means.equals(first.means)
    followed(force=True)
    assert (shop / "asked.txt").read_text().count("forwards") == 6


def test_a_changed_reranker_is_asked_anew(shop):
    followed()
    (shop / "shop.py").write_text(f"{SHOP}\n# changed\n")
    followed()
    assert (shop / "asked.txt").read_text().count("even_first") == 6


def test_a_query_without_results_and_one_that_failed_go_through_all_stages(shop):
    queries = {**QUERIES, "q4": "nothing", "q5": "broken"}
    qrels = {**QRELS, "q4": {"d1": 1}, "q5": {"d1": 1}}
    result = rankgate.stages(
        qrels, rankgate.LivePipeline("pipeline.toml", queries), test=rankgate.Test(unequal="zero")
    )
    states = {
        name: dict(run.queries.select("query_id", "state").iter_rows())
        for name, run in runs_of(result).items()
    }
    assert {query_states["q4"] for query_states in states.values()} == {"zero"}
    assert [states[name]["q5"] for name in states] == ["ok", "failed", "failed", "failed"]
    errors = {row["query_id"]: row["error"] for row in runs_of(result)["rerank"].queries.to_dicts()}
    assert "stage hybrid failed: stage vectors failed: ZeroDivisionError" in errors["q5"]
    assert result.latency["failed"].to_list() == [0, 1, 1, 1]
    assert result.latency["zero"].to_list() == [1, 1, 1, 1]
    assert result.latency["n"].to_list() == [5, 5, 4, 4]
    assert result.latency["censored"].to_list() == [0, 1, 1, 1]
    last = result.latency.row(-1, named=True)
    assert last["p50"] == last["p50_at_most"]  # q5 never reached the stage
    assert last["total_p50_at_most"] >= last["total_p50"]
    assert last["total_p95_at_most"] is None
    assert set(result.means.filter(pl.col("metric") == "nDCG@10")["n"]) == {5}
    with raises("failed-queries", line=5, source="pipeline.toml"):
        rankgate.stages(qrels, rankgate.LivePipeline("pipeline.toml", queries))


def test_all_queries_may_fail(shop):
    changed(shop, "shop:even_first", "shop:broken")
    with raises("failed-queries", line=17, source="pipeline.toml"):
        followed(unequal="zero")


def test_a_run_without_any_document_is_read_again(shop):
    queries = {"q1": "nothing"}
    first = followed(queries=queries)
    assert first.latency["zero"].to_list() == [1, 1, 1, 1]
    assert followed(queries=queries).to_dict() == first.to_dict()


def test_a_command_reranks(shop):
    command = json.dumps([sys.executable, "program.py"])
    changed(shop, '"shop:even_first"', f"{command}\nparameters = {{ down = true }}")
    runs = runs_of(followed())
    hybrid_docs, reranked_docs = lists(runs["hybrid"])["q1"], lists(runs["rerank"])["q1"]
    assert reranked_docs == [*sorted(hybrid_docs[:4], reverse=True), *hybrid_docs[4:]]


def test_a_reranker_may_leave_documents_out(shop):
    changed(shop, "shop:even_first", "shop:half")
    result = followed()
    hybrid_docs, reranked_docs = (lists(runs_of(result)[name])["q1"] for name in ("hybrid", "rerank"))
    assert reranked_docs == [*hybrid_docs[:2], *hybrid_docs[4:]]
    assert result.kinds[-1] == "reranks"


def test_a_reranker_may_give_ids_without_scores(shop):
    changed(shop, "shop:even_first", "shop:ids_only")
    hybrid_docs, reranked_docs = (lists(runs_of(followed())[name])["q1"] for name in ("hybrid", "rerank"))
    assert reranked_docs == [*reversed(hybrid_docs[:4]), *hybrid_docs[4:]]


def test_a_document_from_nowhere_ends_it_and_answers_are_kept(shop):
    changed(shop, "shop:even_first", "shop:strange")
    with raises("unknown-document", line=19, source="pipeline.toml"):
        followed()
    (partial,) = shop.glob("pipeline.stages/rerank-*.partial.jsonl")
    assert '"q1"' in partial.read_text()
    with raises("unknown-document", line=19, source="pipeline.toml"):
        followed()
    requests = (shop / "asked.txt").read_text()
    assert requests.count("strange red") == 1
    assert requests.count("forwards red") == 1


@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ('"words", "vectors"', '"words", "vektors"', "unknown-stage", 14),
        ('"words", "vectors"', '"words", "rerank"', "circular-stages", 14),
        ('"words", "vectors"', '"words"', "wrong-inputs", 14),
        ('"words", "vectors"', '"words", "words"', "invalid-pipeline", 14),
        ('["hybrid"]', '["hybrid", "words"]', "wrong-inputs", 20),
        ('["hybrid"]', '["words"]', "unused-stage", 11),
        ('"forwards.toml"', '"sideways.toml"', "cannot-read", 3),
        ('fuse = "rrf"', 'fuse = "rff"', "unknown-fusion-method", 13),
        ("k = 60", "kk = 60", "unknown-parameter", 13),
        ("first = 7", "last = 7", "unknown-parameter", 7),
        ("shop:even_first", "shop:nothing", "invalid-engine", 19),
        ("shop:even_first", "shop", "invalid-pipeline", 19),
        ('rerank = "shop:even_first"', 'fuse = "rrf"\nengine = "x"', "invalid-pipeline", 17),
        ('name = "hybrid"', 'name = "words"', "invalid-pipeline", 12),
        ('name = "hybrid"', 'name = "a/b"', "invalid-pipeline", 12),
        ("depth = 4", "depth = 0", "invalid-pipeline", 21),
        ("depth = 4", "dept = 4", "invalid-pipeline", 21),
    ],
)
def test_what_is_wrong_has_its_line(run, shop, before, after, code, line):
    changed(shop, before, after)
    result = run("stages", "pipeline.toml", "queries.tsv", "qrels.txt")
    assert_refused(result, code, "pipeline.toml", line)
    assert not (shop / "asked.txt").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("pipeline.toml", "queries.tsv"), "missing-input"),
        (("qrels.txt", "words.run", "--folder", "x"), "unused-option"),
        (("pipeline.toml", "queries.tsv", "qrels.txt", "--parameter", "k=1"), "unknown-stage"),
        (("pipeline.toml", "queries.tsv", "qrels.txt", "--parameter", "hybrid.k"), "invalid-parameter"),
        (("pipeline.toml", "queries.tsv", "qrels.txt", "--parameter", "hybrid.keep=x"), "invalid-parameter"),
    ],
)
def test_words_that_do_not_fit_are_refused(run, shop, words, code):
    assert_refused(run("stages", *words), code)


def test_a_query_twice_has_its_line(run, shop):
    (shop / "queries.tsv").write_text("q1\tred\n\nq1\tgreen\n")
    result = run("stages", "pipeline.toml", "queries.tsv", "qrels.txt")
    assert_refused(result, "duplicate-query", "queries.tsv", 3)


def test_an_engine_that_is_down_ends_it_with_its_stage(run, shop):
    (shop / "backwards.toml").write_text(
        textwrap.dedent("""\
            [engine]
            kind = "command"
            command = ["/nowhere/search"]
            [engine.parameters]
            first = 7
            """)
    )
    with raises("unfinished-snapshot", line=7, source="pipeline.toml"):
        followed()
    result = run("stages", "pipeline.toml", "queries.tsv", "qrels.txt")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("rankgate: pipeline.toml:7: stage vectors: ")


@pytest.mark.parametrize("form", ["text", "markdown", "html", "latex"])
def test_every_form_shows_the_latency(run, shop, monkeypatch, form):
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ("pipeline.toml", "queries.tsv", "qrels.txt", "-m", "nDCG@3", "--format", form)
    result = run("stages", *arguments)
    assert result.code == 0, result.err
    assert "even_first" in result.out.replace("\\", "")
    if form == "text":
        assert max(map(len, result.out.splitlines())) <= 80
    if form == "html":
        assert result.out.count("<table") == 7


def test_the_picture_has_a_panel_of_times(shop):
    timed = [row for row in followed().plot().rows if row["what"] == "latency"]
    assert [row["stage"] for row in timed] == ["words", "vectors", "hybrid", "rerank"]


def test_json_round_trip(shop):
    result = followed()
    assert Pipeline.from_dict(json.loads(json.dumps(result.to_dict()))).latency.equals(result.latency)
    older = {key: value for key, value in result.to_dict().items() if key != "latency"}
    assert Pipeline.from_dict(older).latency.is_empty()


def test_weights_and_depths_are_settings_too(shop):
    changed(shop, 'fuse = "rrf"', 'fuse = "linear"')
    changed_text = (shop / "pipeline.toml").read_text().replace("parameters = { k = 60 }\n", "")
    (shop / "pipeline.toml").write_text(changed_text)
    first = followed(parameters={"hybrid.weights": "1,0", "rerank.depth": 1})
    assert lists(runs_of(first)["hybrid"])["q1"][0] == "d0"
    second = followed(parameters={"hybrid.weights": [0, 1], "rerank.depth": 1})
    assert lists(runs_of(second)["hybrid"])["q1"][0] == "d7"
