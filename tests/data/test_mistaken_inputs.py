"""Inputs that could be taken for something else: two columns of ids, ranks, exchanged arguments."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.compat import ir_measures
from rankgate.data import read_run
from rankgate.data.collection import Collection
from support.command import assert_refused
from support.wording import raises

QRELS = {"1": {"a": 1}, "2": {"b": 1}}
PYTERRIER = pl.DataFrame(
    {
        "qid": ["1", "1", "2"],
        "docid": [7, 9, 9],
        "docno": ["a", "b", "b"],
        "rank": [0, 1, 0],
        "score": [2.0, 1.0, 3.0],
        "query": ["x", "x", "y"],
    }
)


def _written(frame, folder, suffix):
    path = folder / f"run.{suffix}"
    getattr(frame, {"jsonl": "write_ndjson"}.get(suffix, f"write_{suffix}"))(path)
    return path


@pytest.mark.parametrize("suffix", ["frame", "pandas", "csv", "jsonl", "parquet"])
def test_judgments_choose_among_columns_of_ids(tmp_path, suffix):
    run_factories = {"frame": lambda: PYTERRIER, "pandas": PYTERRIER.to_pandas}
    run = run_factories[suffix]() if suffix in run_factories else _written(PYTERRIER, tmp_path, suffix)
    assert rankgate.evaluate(QRELS, run, ["RR"]).means["RR"][0] == 1.0
    compared = rankgate.compare(QRELS, run, QRELS, metrics=["RR"])
    assert compared.metrics["baseline"][0] == 1.0


@pytest.mark.parametrize("suffix", ["frame", "csv", "jsonl", "parquet"])
def test_without_a_judged_id_two_columns_are_an_error(tmp_path, suffix):
    run = PYTERRIER if suffix == "frame" else _written(PYTERRIER, tmp_path, suffix)
    ambiguous_qrels = {"1": {"a": 1, "9": 1}}
    for qrels in ({"1": {"z": 1}}, ambiguous_qrels):
        with raises("ambiguous-column"):
            rankgate.evaluate(qrels, run, ["RR"])
    with raises("ambiguous-column"):
        _ = read_run(run).table
    evaluation = rankgate.evaluate(Collection({"1": {"9": 1}}, columns={"doc_id": "docid"}), run, ["RR"])
    assert evaluation.means["RR"][0] == 0.5 if suffix in {"frame", "csv"} else True


def test_equal_columns_and_our_own_name_are_no_choice():
    equal_columns = PYTERRIER.with_columns(docid="docno")
    assert rankgate.evaluate(QRELS, equal_columns, ["RR"]).means["RR"][0] == 1.0
    renamed = PYTERRIER.rename({"docno": "doc_id"})
    assert read_run(renamed).table["doc_id"].to_list() == ["a", "b", "b"]
    text = PYTERRIER.drop("docid").with_columns(document=pl.lit("a text"))
    assert read_run(text).table["doc_id"].to_list() == ["a", "b", "b"]


def test_judgments_with_two_columns_of_ids_are_refused(tmp_path, run):
    frame = PYTERRIER.rename({"score": "label"}).drop("rank")
    with raises("ambiguous-column"):
        rankgate.evaluate(frame, {"1": {"a": 1.0}}, ["RR"])
    path = _written(frame, tmp_path, "csv")
    assert_refused(run("describe", path), "ambiguous-column")
    assert rankgate.evaluate(Collection(path, columns="doc=docno"), QRELS, ["RR"]).means["RR"][0] == 1.0


MARCO = "".join(f"{query}\t{10 * query + rank}\t{rank}\n" for query in (1, 2) for rank in (1, 2, 3))


def test_ranks_of_ms_marco_are_ranks_with_a_notice(tmp_path, run):
    path = tmp_path / "run.tsv"
    path.write_text(MARCO)
    result = rankgate.evaluate({"1": {"11": 1}, "2": {"22": 1}}, path, ["RR@10"])
    assert result.means["RR@10"][0] == (1 + 1 / 2) / 2
    assert [notice.code for notice in result.notices] == ["ranks-not-scores"]
    assert "read as trec, 6 ranked documents" in run("validate", path).out


def test_a_file_of_ranks_that_is_cut_in_the_middle_of_a_line_is_read_alike(tmp_path):
    path = tmp_path / "run.tsv"
    path.write_text("".join(f"{q}\tdocument{r}\t{r}\n" for q in range(9) for r in range(1, 1001)))
    assert read_run(path).table["score"].min() == -1000


GRADES = {"q": {"a": 2, "b": 0, "c": 1, "d": 0}}
SCORES = {"q": {"a": 2.5, "b": 1.2, "c": 0.7, "d": 0.1}}


def test_grades_in_the_place_of_scores_are_refused():
    for call in (
        lambda: rankgate.evaluate(SCORES, GRADES, ["nDCG@10"]),
        lambda: rankgate.compare(SCORES, GRADES, GRADES, metrics=["AP"]),
        lambda: ir_measures.calc_aggregate([ir_measures.AP], SCORES, GRADES),
    ):
        with raises("exchanged-arguments"):
            call()
    assert rankgate.evaluate(GRADES, SCORES, ["nDCG@10"]).means["nDCG@10"][0] > 0.9
    ranked = {"q": {"a": 4, "b": 3, "c": 2, "d": 1}}
    assert rankgate.evaluate(SCORES, ranked, ["nDCG@10"]).means["nDCG@10"][0] == 1.0


def test_the_number_of_fields_suggests_the_order_of_arguments(tmp_path, run):
    (tmp_path / "a.qrels").write_text("q 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 2.5 x\n")
    for arguments in (("a.qrels", "a.qrels"), ("a.run", "a.run")):
        paths = [tmp_path / name for name in arguments]
        assert_refused(run("eval", *paths), "wrong-field-count")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_table_of_judgments_is_no_run(suffix, tmp_path):
    judgments = pl.DataFrame({"query_id": ["1", "2"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    for run in (judgments, _written(judgments, tmp_path, suffix)):
        with raises("missing-column"):
            rankgate.evaluate(judgments, run, ["RR"])


def test_runs_without_a_judged_document_are_named_and_the_gate_refuses():
    strange = {"1": {"x": 1.0}, "2": {"y": 1.0}}
    result = rankgate.evaluate(QRELS, [strange, QRELS], ["RR"])
    assert [(n.code, n.subject) for n in result.notices] == [("no-shared-document", "run1")]
    assert result.to_dict()["runs"][0]["counts"]["cautions"]
    assert any("no document" in text for text in rankgate.compare(QRELS, QRELS, strange).warnings)
    for pair in ((QRELS, strange), (strange, QRELS)):
        with raises("documents-differ"):
            rankgate.gate(QRELS, *pair)


def test_grades_below_the_level_of_relevance_are_named():
    low = {"q": {"a": 0.5}}
    result = rankgate.evaluate(low, {"q": {"a": 1.0}}, ["RR", "nDCG"])
    assert [notice.code for notice in result.notices] == ["grades-below-relevant"]
    for metric in ("RR(rel=0.5)", "nDCG"):
        assert rankgate.evaluate(low, {"q": {"a": 1.0}}, [metric]).notices == ()
    half = rankgate.convention("trec", ["rel=0.5"])
    assert rankgate.evaluate(low, {"q": {"a": 1.0}}, ["RR"], half).notices == ()


def test_a_frame_of_several_systems_is_several_runs():
    first_system = PYTERRIER.drop("docid").with_columns(system=pl.lit("first"))
    frame = pl.concat(
        [first_system, first_system.with_columns(score=-pl.col("score"), system=pl.lit("second"))]
    )
    for table in (frame, frame.to_pandas(), frame.to_arrow(), frame.lazy()):
        means = rankgate.evaluate(QRELS, table, ["RR"]).means
        assert means["run"].to_list() == ["first", "second"]
        assert means["RR"].to_list() == [1.0, 0.75]
    compared = rankgate.compare(QRELS, first_system, frame, ["RR"]).comparisons
    assert [comparison.candidate.name for comparison in compared] == ["first", "second"]
    with raises("several-candidates"):
        read_run(frame)


def test_a_series_is_no_frame():
    series = PYTERRIER.to_pandas().set_index("docno")["score"]
    with raises("wrong-type"):
        rankgate.evaluate(QRELS, series, ["RR"])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_file_of_several_systems_is_refused_with_their_names(suffix, tmp_path):
    rows = [(name, "1", doc, 1.0) for name in ("first", "second") for doc in ("a", "b")]
    table = pl.DataFrame(rows, ["system", "query_id", "doc_id", "score"], orient="row")
    path = tmp_path / f"runs.{suffix}"
    for frame in (table, table.filter(system="first")):
        getattr(frame, f"write_{suffix}".replace("jsonl", "ndjson"))(path)
        if frame is table:
            with raises("several-runs") as caught:
                rankgate.evaluate(QRELS, path, ["RR"])
            assert "'first', 'second'" in str(caught.value)
    assert len(rankgate.evaluate(QRELS, path, ["RR"]).runs) == 1


PROGRAM = """
import multiprocessing, sys
import rankgate
def work(_):
    return rankgate.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["RR"]).means["RR"][0]
if __name__ == "__main__":
    if sys.argv[2] == "used":
        work(0)
    if sys.argv[2] == "polars":
        import polars as pl
        pl.LazyFrame({"a": range(9), "b": range(9)}).group_by("a").agg(pl.col("b").sum()).collect()
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        try:
            print(pool.map(work, range(3)))
        except rankgate.UsageError as error:
            print(error.code)
"""


@pytest.mark.posix
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("fork", "used"), "forked-process"),
        (("fork", "unused"), "[1.0, 1.0, 1.0]"),
        (("fork", "polars"), "forked-process"),
        (("spawn", "used"), "[1.0, 1.0, 1.0]"),
    ],
)
def test_forked_workers_work_or_stop_with_an_error(tmp_path, words, printed):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    process = subprocess.run(
        [sys.executable, path, *words], capture_output=True, text=True, timeout=300, check=True
    )
    assert process.stdout.strip() == printed


def test_results_of_beir_are_described_as_such(tmp_path, run):
    path = tmp_path / "results.json"
    path.write_text('{"q1": {"d1": 12.5, "d2": 11}}')
    assert "as ranx and BEIR write" in " ".join(run("describe", path).out.split())


def test_stages_and_scorecards_name_runs_without_a_judged_document():
    strange = {"1": {"x": 1.0}, "2": {"y": 1.0}}
    assert any("no document" in text for text in rankgate.stages(QRELS, strange).warnings)
    warnings = rankgate.scorecard(QRELS, strange, ["nDCG@10"]).warnings
    assert any("no item of its lists is judged" in text for text in warnings)


def test_rows_of_matrices_without_names_are_not_their_own_documents():
    grades, scores = np.eye(3), np.array([[3.0, 2, 1], [1, 3, 2], [2, 1, 3]])
    for name in ("trec", "beir"):
        assert rankgate.evaluate(grades, scores, ["RR"], name).means["RR"][0] == 1.0
