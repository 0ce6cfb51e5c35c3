"""``rankgate explain``: the table, the sentence and the marks."""

import json
from math import log2

import pytest

from rankgate.measurement.scoring import CONVENTIONS
from support.command import assert_refused

HEADPHONES_QRELS = "headphones 0 sony 3\nheadphones 0 jbl 2\nheadphones 0 stand 1\nheadphones 0 bose 3\n"
HEADPHONES_RUN = "headphones Q0 sony 1 3 esci\nheadphones Q0 jbl 2 2 esci\nheadphones Q0 stand 3 1 esci\n"


@pytest.fixture
def headphones(tmp_path):
    """The worked example that the field's tutorials compute by hand: E, S, C of E, E, S, C."""
    qrels, path = tmp_path / "headphones.qrels", tmp_path / "esci.run"
    qrels.write_text(HEADPHONES_QRELS)
    path.write_text(HEADPHONES_RUN)
    return qrels, path


def test_the_worked_example_in_full(run, headphones):
    result = run("explain", *headphones, "--query", "headphones", "-m", "nDCG(gain='exp')@3")
    assert result.out == (
        "nDCG(gain='exp')@3 = 0.7272 for query headphones of run esci\n"
        "\n"
        "the ranking, 3 documents\n"
        "rank  document  grade  gain  discount  contribution     sum\n"
        "   1  sony          3     7    1.0000        7.0000  7.0000\n"
        "   2  jbl           2     3    0.6309        1.8928  8.8928\n"
        "   3  stand         1     1    0.5000        0.5000  9.3928\n"
        "\n"
        "the ideal, 4 relevant documents, which would have 1.0000\n"
        "rank  document  grade  gain  discount  contribution      sum  in the run\n"
        "   1  sony          3     7    1.0000        7.0000   7.0000  rank 1\n"
        "   2  bose          3     7    0.6309        4.4165  11.4165  not retrieved\n"
        "   3  jbl           2     3    0.5000        1.5000  12.9165  rank 2\n"
        "   4  stand         1     1    0.0000        0.0000  12.9165  rank 3\n"
        "\n"
        "formula      nDCG@k = DCG@k / IDCG@k, DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)\n"
        "parameters   cutoff=3, gain='exp', levels='truncated'\n"
        "value        DCG@3 = 7.0000 + 1.8928 + 0.5000 = 9.3928\n"
        "             IDCG@3 = 7.0000 + 4.4165 + 1.5000 = 12.9165\n"
        "             nDCG(gain='exp')@3 = 9.3928 / 12.9165 = 0.7272\n"
        "elsewhere    nDCG@3 = 0.8081 under trec: trec_eval 10, averaged over all judged\n"
        "               queries (its -c)\n"
        "all queries  0.7272 over 1 query\n"
        f"convention   trec ({CONVENTIONS['trec'].hash})\n"
    )
    assert (result.code, result.err) == (0, "")


def test_every_parameter_is_reported_if_asked_for(run, headphones):
    arguments = ("explain", *headphones, "--query", "headphones", "-m")
    usual = run(*arguments, "RR").out
    assert "parameters" not in usual
    result = run(*arguments, "RR", "--all-parameters").out
    assert "parameters   cutoff=None, rel=1, target='relevant', offset=0\n" in result
    assert "target" in run(*arguments, "RR", "--all-parameters", "--format", "markdown").out
    rr_result = json.loads(run(*arguments, "RR", "--format", "json").out)
    assert rr_result["parameters"] == rr_result["usual"]
    cutoff_result = json.loads(run(*arguments, "RR@3", "--format", "json").out)
    assert cutoff_result["parameters"] == {**cutoff_result["usual"], "cutoff": 3}


def test_json_keeps_every_digit(run, headphones):
    arguments = ("--query", "headphones", "-m", "nDCG(gain='exp')@3", "--format", "json")
    result = json.loads(run("explain", *headphones, *arguments).out)
    assert result["summed"]["value"] == pytest.approx(7 + 3 / log2(3) + 1 / 2, rel=1e-15)
    assert result["norm"]["value"] == pytest.approx(7 + 7 / log2(3) + 3 / 2, rel=1e-15)
    assert result["value"] == result["summed"]["value"] / result["norm"]["value"]
    assert [row["found"] for row in result["ideal"]] == [1, None, 2, 3]
    assert result["others"][0]["metric"] == "nDCG@3"
    assert result["others"][0]["value"] == pytest.approx(0.8081, abs=5e-5)


def test_ties_and_holes_are_marked(run, small):
    lines = run("explain", *small, "--query", "1", "-m", "AP").out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("rank  "))
    assert lines[start : start + 5] == [
        "rank  document  grade  gain  P@rank  contribution     sum",
        "   1  a             3     1  1.0000        1.0000  1.0000",
        "  =2  u             –     0  0.5000        0.0000  1.0000",
        "  =3  b             0     0  0.3333        0.0000  1.0000",
        "   4  c             1     1  0.5000        0.5000  1.5000",
    ]
    text = "\n".join(lines)
    assert "marks        = equal scores, ordered by the document id, descending" in text
    assert "– no judgment" in text
    assert (
        "value        sum = 1.0000 + 0.5000 = 1.5000\n"
        "             R = 2\n"
        "             AP = 1.5000 / 2 = 0.7500\n"
    ) in text


def test_a_metric_that_is_no_sum_is_read_rank_by_rank(run, small):
    text = run("explain", *small, "--query", "1", "-m", "SetP").out
    assert (
        "rank  document  grade  contribution   value\n"
        "   1  a             3        1.0000  1.0000\n"
        "  =2  u             –       -0.5000  0.5000\n"
        "  =3  b             0       -0.1667  0.3333\n"
        "   4  c             1        0.1667  0.5000\n"
    ) in text


def test_a_query_without_relevant_documents(run, small):
    text = run("explain", *small, "--query", "3", "-m", "AP").out
    assert "there is no relevant document, so that the metric has no value\n" in text
    assert " under trec it counts as 0.0000\n" in text
    assert "the ideal" not in text


def test_a_query_that_the_run_lacks(run, small):
    text = run("explain", *small, "--query", "4", "-m", "AP").out
    assert "the run does not have this query\n             under trec it counts as 0.0000" in text
    assert "not retrieved" in text
    text = run("explain", *small, "--query", "4", "-m", "AP", "--convention", "trec9").out
    assert text.startswith("AP = – for query 4")
    assert "it is left out of the mean" in text


@pytest.mark.parametrize("query", ["9", "17", "none"])
def test_an_unknown_query_is_reported_some_known_ones(run, small, query):
    result = run("explain", *small, "--query", query, "-m", "AP")
    assert_refused(result, "unknown-query")


def test_several_metrics_are_refused(run, small):
    result = run("explain", *small, "--query", "1", "-m", "P.5,10")
    assert_refused(result, "several-metrics")


def test_a_long_list_says_what_it_leaves_out(run, tmp_path):
    qrels, path = tmp_path / "q", tmp_path / "r"
    qrels.write_text("".join(f"1 0 d{rank:03} 1\n" for rank in (7, 50, 51, 200)))
    path.write_text("".join(f"1 Q0 d{rank:03} {rank} {-rank} t\n" for rank in range(1, 101)))
    text = run("explain", qrels, path, "--query", "1", "-m", "R@60", "--depth", "4").out
    table = text.split("\n\n")[1].splitlines()[2:]
    assert [line.split()[:3] for line in table] == [
        ["1", "d001", "–"],
        ["…", "5", "more"],
        ["7", "d007", "1"],
        ["…", "42", "more"],
        ["50", "d050", "1"],
        ["51", "d051", "1"],
        ["…", "49", "more"],
    ]
    assert "relevant within k = 1 + 1 + 1 = 3\n             R = 4\n" in text
    assert "R@60 = 3 / 4 = 0.7500\n" in text


def test_markdown(run, headphones):
    arguments = ("--query", "headphones", "-m", "nDCG@3", "--format", "markdown")
    text = run("explain", *headphones, *arguments).out
    assert text.startswith("nDCG@3 = 0.8081 for query headphones of run esci\n\n### the ranking")
    assert "| 2 | bose | 3 | 3 | 0.6309 | 1.8928 | 4.8928 | not retrieved |" in text
    assert "| value | DCG@3 = 3.0000 + 1.2619 + 0.5000 = 4.7619 IDCG@3 = " in text


def test_long_ids_keep_both_ends(run, tmp_path):
    qrels, path = tmp_path / "q", tmp_path / "r"
    document = "clueweb" + "0" * 80 + "end"
    qrels.write_text(f"1 0 {document} 1\n")
    path.write_text(f"1 Q0 {document} 1 1 t\n")
    lines = run("explain", qrels, path, "--query", "1", "-m", "AP").out.splitlines()
    (row,) = [line for line in lines if "end " in line and "rank 1" not in line]
    assert len(row) <= 80
    assert row.split()[1].startswith("clueweb0")
    assert "…" in row


def test_output_to_a_file(run, headphones, tmp_path):
    arguments = ("explain", *headphones, "--query", "headphones", "-m", "RR")
    assert run(*arguments, "-o", tmp_path / "why.txt").out == ""
    assert (tmp_path / "why.txt").read_text() == run(*arguments).out
