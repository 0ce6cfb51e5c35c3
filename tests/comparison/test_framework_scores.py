"""Values per item of evaluation frameworks: pairs, repeats, clusters, directions, and what files lack."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from rankgate import compare, gate, read_scores
from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.query_groups import MetricNames
from rankgate.decisions.comparison.score_cells import score_cells
from rankgate.decisions.gating.policy import parse_policy
from support.command import assert_refused
from support.wording import raises

FILES = Path(__file__).with_name("frameworks")


def promptfoo(scores, provider="openai:gpt-a", **fields):
    return {
        "evalId": "eval-1",
        "results": {
            "version": 3,
            "results": [
                {
                    "testIdx": i,
                    "promptIdx": 0,
                    "provider": {"id": provider, "label": ""},
                    "prompt": {"raw": "{{question}}", "label": "plain"},
                    "vars": {"question": f"question {i % 3}"},
                    "score": score,
                    "success": score > 0.5,
                    "namedScores": {"Tone": score},
                    "latencyMs": 100 + i,
                    **fields,
                }
                for i, score in enumerate(scores)
            ],
        },
    }


def braintrust(scores):
    return [
        {"id": f"row-{i}", "input": {"question": f"q{i}"}, "scores": {"Factuality": score, "Tone": None},
         "metrics": {"start": 1, "duration": 2.5}, "span_id": "s"}
        for i, score in enumerate(scores)
    ]  # fmt: skip


def lm_eval(scores):
    return [
        {"doc_id": i, "doc": {}, "target": "4", "resps": [["4"]], "filtered_resps": ["4"], "filter": name,
         "metrics": ["exact_match"], "exact_match": score if name == "strict" else 1.0}
        for i, score in enumerate(scores)
        for name in ("strict", "flexible")
    ]  # fmt: skip


def ragas(scores):
    return [
        {"user_input": f"q{i % 2}", "retrieved_contexts": ["a"], "response": "7", "reference": "7",
         "faithfulness": score, "noise_sensitivity(mode=relevant)": 1 - score}
        for i, score in enumerate(scores)
    ]  # fmt: skip


def mteb(task, values):
    rows = [{"hf_subset": name, "languages": ["eng-Latn"], "main_score": value, "ndcg_at_10": value / 2}
            for name, value in values.items()]  # fmt: skip
    return {"task_name": task, "mteb_version": "2.1.0", "scores": {"test": rows}, "evaluation_time": 3.0}


def write(folder, name, content, *, lines=False):
    text = "\n".join(map(json.dumps, content)) if lines else json.dumps(content)
    (folder / name).write_text(text, "utf-8")
    return folder / name


def table(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def cells(path, **names):
    file = score_cells(path, MetricNames(**names))
    return {(cell.query, cell.metric): cell.value for cell in file.cells}, file


def test_inspect_logs_give_its_own_means_over_epochs_and_its_clusters():
    old, new = FILES / "inspect_old.eval", FILES / "inspect_new.eval"
    result = compare(read_scores(old, new), metrics="right").only
    assert result.metrics.select("baseline", "candidate").row(0) == (0.625, 0.875)
    assert result.metrics["n"][0] == 2  # clusters of Inspect's stderr(cluster="passage")
    assert any("2 repeats of an item" in text for text in result.warnings)
    assert any("4 queries are 2 clusters" in text for text in result.warnings)
    assert (result.baseline.name, result.candidate.name) == ("mockllm/model", "inspect_new.eval")


def test_values_in_an_object_are_metrics_whose_direction_is_asked_for():
    old, new = FILES / "inspect_old.eval", FILES / "inspect_new.eval"
    with raises("unknown-direction", UsageError):
        compare(read_scores(old, new))
    scores = read_scores(old, new, directions={"length": "lower", "brief": "higher"})
    assert tuple(scores.metrics) == ("right", "length", "brief")
    assert compare(scores).only.lower == ("length",)


def test_an_unpacked_inspect_log_is_the_same(tmp_path):
    from rankgate.decisions.comparison.framework_scores import read_archive

    path = FILES / "inspect_old.eval"
    document = read_archive(path.read_bytes(), "log")
    assert cells(write(tmp_path, "log.json", document))[0] == cells(path)[0]
    packed = tmp_path / "log.eval"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:  # as older versions pack it
        archive.writestr("header.json", json.dumps({**document, "samples": None}))
        archive.writestr("summaries.json", json.dumps(document["samples"]))
    assert cells(packed)[0] == cells(path)[0]


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_an_archive_that_is_no_finished_log_is_refused(tmp_path, damage):
    path = tmp_path / "log.eval"
    path.write_bytes((FILES / "inspect_old.eval").read_bytes()[:9000])
    if damage == "other":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", "a")
    with raises("unknown-format", source=str(path)):
        cells(path)


def test_providers_of_promptfoo_are_systems_and_tests_that_come_again_repeats(tmp_path):
    both = promptfoo([0.2, 0.4, 0.6, 0.4, 0.4, 0.6])
    both["results"]["results"] += promptfoo([0.9] * 6, "openai:gpt-b")["results"]["results"]
    path = write(tmp_path, "results.json", both)
    result = compare(read_scores(path), metrics="score").only
    assert (result.baseline.name, result.candidate.name) == ("openai:gpt-a", "openai:gpt-b")
    assert cells(path)[0]["question 0", "score"] == pytest.approx(0.9)  # of the last system
    assert result.metrics["n"][0] == 3
    assert any("paired by vars" in text for text in result.warnings)


def test_a_failed_call_has_no_value_and_costs_are_read_if_asked(tmp_path):
    content = promptfoo([0.2, 0.4, 0.6])
    content["results"]["results"][1] |= {"failureReason": 2, "score": 0}
    path = write(tmp_path, "results.json", content)
    values, file = cells(path)
    assert set(values) == {(f"question {i}", m) for i in (0, 2) for m in ("score", "success", "Tone")}
    assert any("1 item without a value" in note for note in file.notes)
    asked, _ = cells(path, asked=("latencyMs",))
    assert asked["question 2", "latencyMs"] == 102


def test_deepeval_directions_follow_its_thresholds(tmp_path):
    old, new = (FILES / f"deepeval_{name}.json" for name in ("old", "new"))
    assert compare(read_scores(old, new)).only.lower == ()  # this version counts what is not biased
    content = json.loads(old.read_text("utf-8"))
    for case in content["testCases"]:
        case["metricsData"][1] |= {"score": 0.1}  # below its threshold, and passed: less is better
    low = write(tmp_path, "low.json", content)
    names = MetricNames()
    score_cells(low, names)
    assert names["Bias"].lower is True
    assert (names["Faithfulness"].lower, names["Faithfulness"].high) == (False, 1)
    with raises("not-comparable", UsageError):
        score_cells(new, names)


def test_tables_and_documents_in_memory_are_the_same():
    table = pl.read_csv(FILES / "langsmith_old.csv")
    assert cells(table)[0] == cells(FILES / "langsmith_old.csv")[0]
    document = json.loads((FILES / "deepeval_old.json").read_text("utf-8"))
    assert cells(document)[0] == cells(FILES / "deepeval_old.json")[0]


def test_langsmith_tables_pair_by_example_and_leave_texts_out():
    old, new = (FILES / f"langsmith_{name}.csv" for name in ("old", "new"))
    scores = read_scores(old, new, directions={"correctness": "higher"})
    result = compare(scores).only
    assert result.metrics.select("metric", "baseline", "candidate").rows() == [("correctness", 0.5, 0.75)]
    assert any("texts: comment" in text for text in result.warnings)
    assert cells(old)[0] == cells(FILES / "langsmith_old.json")[0]
    assert (
        cells(old, asked=("execution_time",))[0]["00000000-0000-0000-0000-000000000002", "execution_time"]
        == 2
    )


def test_braintrust_events_pair_by_input(tmp_path):
    rows = braintrust([0.2, 0.8])
    expected = {("q0", "Factuality"): 0.2, ("q1", "Factuality"): 0.8}
    for path in (
        write(tmp_path, "a.json", rows),
        write(tmp_path, "b.jsonl", rows, lines=True),
        write(tmp_path, "c.json", {"events": rows}),
    ):
        values, file = cells(path)
        assert values == expected
        assert any("paired by input" in note for note in file.notes)
    text = table(
        [{key: json.dumps(value) if key != "id" else value for key, value in row.items()} for row in rows]
    )
    (tmp_path / "d.csv").write_text(text, "utf-8")
    assert cells(tmp_path / "d.csv")[0] == expected


def test_lm_eval_filters_are_metrics_and_targets_are_not(tmp_path):
    values, _ = cells(write(tmp_path, "samples.jsonl", lm_eval([0.0, 1.0]), lines=True))
    assert values == {
        ("0", "exact_match,strict"): 0, ("0", "exact_match,flexible"): 1,
        ("1", "exact_match,strict"): 1, ("1", "exact_match,flexible"): 1,
    }  # fmt: skip


def test_the_same_number_in_another_task_is_another_item(tmp_path):
    values = [
        cells(
            write(
                tmp_path,
                "samples.jsonl",
                [row | {"doc_hash": word * 9} for row in lm_eval([1.0])],
                lines=True,
            )
        )
        for word in "ab"
    ]
    assert [next(iter(cell))[0] for cell, _ in values] == ["0 (aaaaaaaa)", "0 (bbbbbbbb)"]
    from rankgate.decisions.comparison.framework_scores import read_archive

    document = read_archive((FILES / "inspect_new.eval").read_bytes(), "log")
    document["eval"]["task"] = "products"
    other = write(tmp_path, "log.json", document)
    result = compare(read_scores(FILES / "inspect_old.eval", other), metrics="right").only
    assert any("the tasks products, sums, whose items pair by id alone" in text for text in result.warnings)


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_ragas_results_number_a_question_asked_again(tmp_path, form):
    rows = ragas([0.25, 0.5, 1.0])
    path = tmp_path / f"result.{form}"
    if form == "csv":
        path.write_text(table(rows), "utf-8")
    else:
        write(tmp_path, path.name, rows, lines=form == "jsonl")
    names = MetricNames()
    file = score_cells(path, names)
    values = {cell.query: cell.value for cell in file.cells if cell.metric == "faithfulness"}
    assert values == {"q0": 0.25, "q1": 0.5, "q0 (sample 2)": 1.0}
    assert names["noise_sensitivity(mode=relevant)"].lower is True
    assert {cell.metric for cell in file.cells} == {"faithfulness", "noise_sensitivity(mode=relevant)"}


def test_values_that_retrieval_evaluators_keep_with_their_rankings(tmp_path):
    figures = {"mrr": {"score": 0.5, "metadata": {}}, "hit_rate": {"score": 1.0}}
    llama = {"query": "q0", "expected_ids": ["a"], "retrieved_ids": ["b", "a"], "metric_dict": figures}
    expected = {("q0", "mrr"): 0.5, ("q0", "hit_rate"): 1}
    assert cells(write(tmp_path, "llama.jsonl", [llama], lines=True))[0] == expected
    text = table(
        [{"query": "q0", "expected_ids": "['a']", "retrieved_ids": "['a']", "mrr": 0.5, "hit_rate": 1}]
    )
    (tmp_path / "llama.csv").write_text(text, "utf-8")
    assert cells(tmp_path / "llama.csv")[0] == expected
    haystack = {"question": ["q0", "q1"], "contexts": [["a"], ["b"]], "mrr": [0.5, 1.0]}
    assert cells(write(tmp_path, "haystack.json", haystack))[0] == {("q0", "mrr"): 0.5, ("q1", "mrr"): 1}
    log = {"question_id": "q", "question": "?", "answer": "a",
           "retrieval_results": {"metrics": {"session": {"recall_any@5": 1.0}, "turn": {}}}}  # fmt: skip
    assert cells(write(tmp_path, "log.json", [log]))[0] == {("q", "recall_any@5"): 1}


def test_a_report_of_memorybench_has_an_item_a_question(tmp_path):
    metrics = {"hitAtK": 1, "mrr": 0.5, "k": 10, "relevantRetrieved": 2}
    row = {
        "questionId": "q",
        "score": 1,
        "label": "correct",
        "searchDurationMs": 7,
        "retrievalMetrics": metrics,
    }
    report = {"provider": "zep", "benchmark": "locomo", "evaluations": [row]}
    values, file = cells(write(tmp_path, "report.json", report))
    assert values == {("q", "score"): 1, ("q", "hitAtK"): 1, ("q", "mrr"): 0.5}
    assert file.system == "zep"


def test_a_folder_of_mteb_results_is_a_model_whose_subsets_are_clusters(tmp_path):
    for model, gain in (("small", 0.0), ("large", 0.1)):
        folder = tmp_path / model
        folder.mkdir()
        write(folder, "model_meta.json", {"name": f"org/{model}"})
        write(folder, "SciFact.json", mteb("SciFact", {"default": 0.5 + gain}))
        write(folder, "ArguAna.json", mteb("ArguAna", {"en": 0.4 + gain, "de": 0.3 + gain}))
    result = compare(read_scores(tmp_path / "small", tmp_path / "large")).only
    assert (result.baseline.name, result.candidate.name) == ("org/small", "org/large")
    assert result.metrics["metric"].to_list() == ["main_score"]
    assert result.metrics["delta"][0] == pytest.approx(0.1)
    assert any("3 queries are 2 clusters" in text for text in result.warnings)
    assert cells(tmp_path / "small", asked=("ndcg_at_10",))[0]["ArguAna (de)", "ndcg_at_10"] == 0.15


def test_the_same_values_make_the_same_figures(tmp_path):
    old, new = [0.2, 0.4, 0.6] * 5, [0.3, 0.7, 0.65] * 5
    paths = [write(tmp_path, f"{i}.json", braintrust(values)) for i, values in enumerate((old, new))]
    dicts = {
        name: {f"q{i}": {"Factuality": value} for i, value in enumerate(values)}
        for name, values in (("0", old), ("1", new))
    }
    directions = {"Factuality": "higher"}
    results = [compare(read_scores(*tables, directions=directions)).only for tables in (paths, [dicts])]
    assert results[0].metrics.equals(results[1].metrics)
    policy = parse_policy(
        "[[rules]]\nkind = 'noninferiority'\nmetric = 'Factuality'\nmargin = 0.1\n", "policy"
    )
    assert gate(read_scores(*paths), policy=policy).verdict == "pass"
    assert gate(read_scores(*paths), policy=["Factuality"]).verdict == "pass"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"mteb_model_meta": {}, "default": {"test": {"q": {"d": 1.0}}}}, "no-values"),
        ([{"query_id": "1", "results": [{"corpus_id": "d", "score": 1}]}], "no-values"),
        ([{"scores": {"a": 1.0}, "input": None, "origin": {"x": 1}}], "missing-key"),
        ([{"user_input": "q", "response": "a"}], "no-values"),
        ({"eval": {"task": "t"}, "status": "success"}, "no-values"),
        (lm_eval([1.0]) + lm_eval([0.0]), "duplicate-value"),
        ([{**braintrust([2.0])[0]}], "out-of-range"),
    ],
)  # fmt: skip
def test_what_a_file_lacks_is_named(tmp_path, content, code):
    path = write(tmp_path, "file.json", content)
    with raises(code, source=str(path)):
        read_scores(path).means  # noqa: B018 - it reads the file


def test_means_of_a_training_step_are_refused(tmp_path, run):
    path = tmp_path / "st.csv"
    path.write_text("epoch,steps,cosine-NDCG@10\n1,100,0.5\n", "utf-8")
    assert_refused(run("compare", "--scores", str(path)), "no-values", path)
