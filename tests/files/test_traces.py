"""Stages, tags, calls and feedback of traces, from the command line on; shapes are in tests/door."""

import json
from pathlib import Path

import pytest

import rankgate
from rankgate.core.errors import InputError
from rankgate.data.query_tags import read_tags_file
from rankgate.data.read import contents_of, read_run

TRACES = Path(__file__).parents[1] / "door" / "traces"
GOLD = {"strong tea": {"assam": 1}, "mild tea": {"oolong": 1}}


def test_a_stage_is_named_after_the_file():
    run = read_run(f"{TRACES}/hybrid.jsonl:retriever-Dense")
    assert run.name == "hybrid-retriever-Dense"
    assert run.table.rows() == [("strong tea", "assam", 0.9), ("mild tea", "oolong", 0.7)]
    with pytest.raises(InputError, match="no stage 'dense' among retriever-BM25, retriever-Dense, reranker"):
        read_run(f"{TRACES}/hybrid.jsonl:dense")


def test_stages_of_one_file_follow_each_other():
    paths = [f"{TRACES}/hybrid.jsonl:{stage}" for stage in ("retriever-BM25", "reranker")]
    result = rankgate.stages(GOLD, paths, ["RR@10"])
    assert result.means.filter(metric="RR@10")["mean"].to_list() == [0.5, 1.0]


def test_a_search_that_failed_has_the_error_of_its_span():
    queries = read_run(f"{TRACES}/hybrid.jsonl:retriever-BM25").queries
    assert queries.filter(query_id="cold tea").select("state", "error").rows() == [
        ("failed", "index is down")
    ]


def test_a_loss_leads_to_its_trace(run, tmp_path):
    (tmp_path / "gold.json").write_text(json.dumps(GOLD))
    path = TRACES / "hybrid.jsonl"
    command = (
        "compare",
        tmp_path / "gold.json",
        f"{path}:reranker",
        f"{path}:retriever-BM25",
        "--tags",
        path,
    )
    shown = run(*command, "-m", "RR", "--query", "strong tea")
    assert shown.code == 0, shown.err
    [trace] = read_tags_file(path).filter(query_id="strong tea")["trace"]
    spans = (TRACES / "hybrid.jsonl").read_text().splitlines()
    [asked_last] = [line for line in spans if "BM25" in line and trace in line]
    assert "sencha" in asked_last  # which the loss is about
    assert f"trace {trace}, session s2, user bob" in " ".join(shown.out.split())
    assert "user" in run(*command, "-m", "RR", "--slice", "user").out


@pytest.mark.parametrize("name", ["agent.jsonl", "logfire.jsonl"])
def test_calls_of_tools_are_scored_as_trajectories(tmp_path, name):
    calls = {"strong tea": [{"tool": "search"}, {"tool": "order", "arguments": {"id": "assam"}}]}
    calls["mild tea"] = [{"tool": "search"}, {"tool": "order"}]
    path = tmp_path / "expected.jsonl"
    path.write_text(
        "\n".join(json.dumps({"query_id": task, "expected": made}) for task, made in calls.items())
    )
    scores = rankgate.evaluate(str(path), f"{TRACES}/{name}:tool", ["CallR", "CallP"]).runs[0]
    assert scores.per_query("CallR") == {"strong tea": 1.0, "mild tea": 0.5}
    assert scores.per_query("CallP") == {"strong tea": 1.0, "mild tea": 1.0}


def test_feedback_is_ratings_whose_agreement_is_measured(run):
    raters = contents_of(TRACES / "langfuse_traces.jsonl").ratings.table["rater"].unique()
    assert {*raters} == {"relevance (API)", "thumbs (API)", "relevance (ANNOTATION)", "thumbs (ANNOTATION)"}
    refused = run("eval", TRACES / "opik.jsonl", TRACES / "opik.jsonl")
    assert (refused.code, refused.error.code) == (2, "no-judgments")


def test_production_queries_become_a_pool(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sampled = ("--queries", "1", "--query-sampling", "random", "-o", "pool.csv")
    assert run("pool", f"{TRACES}/hybrid.jsonl:reranker", *sampled).code == 0
    assert len((tmp_path / "pool.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ({"outputs": {"x": [1], "y": [2]}, "inputs": {"query": "a"}}, "'a' are not a list of documents"),
        ({"outputs": "assam, sencha", "inputs": {"query": "a"}}, "'a' are not a list of documents"),
        ({"outputs": {"documents": []}, "inputs": {}}, "without the text of its query"),
    ],
)
def test_what_a_span_lacks_is_named(tmp_path, span, words):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"run_type": "retriever", **span}))
    with pytest.raises(InputError, match=words) as caught:
        read_run(path)
    assert (caught.value.code, caught.value.line) == ("missing-key", 1)


def test_a_trace_without_searches_is_refused_by_the_attributes(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"run_type": "llm", "inputs": {"query": "a"}, "outputs": {}}))
    with pytest.raises(
        InputError, match=r"gen_ai\.operation\.name = retrieval, mlflow\.spanType, run_type"
    ) as caught:
        read_run(path, from_="traces")
    assert caught.value.code == "no-rankings"


def test_two_projects_of_one_export_are_two_runs(tmp_path):
    spans = [
        {"run_type": "retriever", "inputs": {"query": "a"}, "outputs": [{"id": name}], "project_name": name}
        for name in ("shop", "help")
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, spans)))
    assert [run.name for run in contents_of(path).runs] == ["t-retriever-shop", "t-retriever-help"]
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert caught.value.suggestions == (f"{path}:retriever-shop", f"{path}:retriever-help")
