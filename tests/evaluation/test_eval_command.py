"""``rankgate eval``: its output in every format, and its output files."""

import csv
import io
import json
import os
from math import log2

import pandas as pd
import pytest

from rankgate.core.console import shared_options
from rankgate.core.errors import UsageError
from rankgate.measurement.scoring import CONVENTIONS
from support.command import assert_refused
from support.wording import raises

NDCG_1 = (3 + 1 / log2(5)) / (3 + 1 / log2(3))
NDCG_2 = 2 / (2 + 1 / log2(3))


def test_the_table_in_full(run, small):
    result = run("eval", *small, "-m", "nDCG@10", "-m", "P.5,10", "-m", "num_rel_ret")
    assert result.out == (
        "run   nDCG@10     P.5    P.10  num_rel_ret\n"
        "bm25   0.4263  0.1500  0.0750            3\n"
        "\n"
        "                         zero-   without  unknown    ties\n"
        "run   queries  missing  result  relevant  queries  broken  judged@5  judged@10\n"
        "bm25        4        1       0         1        1       1    0.7500     0.7500\n"
        "\n"
        f"judgments small, convention trec ({CONVENTIONS['trec'].hash})\n"
        "\n"
        "! bm25: 1 of 4 query ids of the judgments are not in the run ('4'), and 1 of 4\n"
        "  of the run are not in the judgments ('9'); check whether both belong together\n"
        "  and use the same ids\n"
    )
    assert (result.code, result.err) == (0, "")


def test_without_metrics_there_are_the_usual_ones(run, small):
    header = run("eval", *small).out.splitlines()[0]
    assert header.split() == ["run", "nDCG@10", "AP", "RR", "R@100", "P@10"]


def test_per_query_tables_stand_before_the_means(run, small):
    text = run("eval", *small, "-m", "RR", "--per-query").out
    assert text.startswith(
        "bm25\n"
        "query      RR\n"
        "1      1.0000\n"
        "2      1.0000\n"
        "3      0.0000\n"
        "4      0.0000\n"
        "all    0.5000\n"
        "\n"
        "run       RR\n"
    )


def test_many_metrics_stay_within_80_columns(run, small, tmp_path):
    arguments = [word for k in range(1, 40) for word in ("-m", f"nDCG@{k}")]
    for runs in ([small[1]], copies(small[1], tmp_path, 12)):
        lines = run("eval", small[0], *runs, *arguments).out.splitlines()
        assert max(map(len, lines)) <= 80
        assert sum(line.count("0.4263") for line in lines) > 0


def copies(path, folder, count):
    paths = [folder / f"run{i}.txt" for i in range(count)]
    for copy_path in paths:
        copy_path.write_text(path.read_text())
    return paths


def test_json_is_the_contract(run, small):
    text = run("eval", *small, "-m", "nDCG@10", "-m", "recip_rank", "--format", "json").out
    assert text.endswith("}\n")
    result = json.loads(text)
    assert list(result) == ["schema_version", "kind", "qrels", "convention", "runs"]
    assert list(result["convention"]) == ["name", "hash", "axes"]
    (run_result,) = result["runs"]
    assert list(run_result["counts"].pop("cautions")) == ["ids-partly-fit"]  # query 4 and query 9
    assert run_result == {
        "name": "bm25",
        "tag": "bm25",
        "mean": {"nDCG@10": pytest.approx((NDCG_1 + NDCG_2) / 4, rel=1e-15), "recip_rank": 0.5},
        "counts": {
            "queries": 4,
            "missing": 1,
            "zero_result": 0,
            "without_relevant": 1,
            "unknown_queries": 1,
            "ties_broken": 1,
            # three of four documents, one of two, one of one; the missing query has no share
            "judged_at": {"10": (3 / 4 + 1 / 2 + 1) / 3},
        },
    }


def test_json_per_query_keeps_every_digit_and_null(run, small, tmp_path):
    empty = tmp_path / "part.run"
    empty.write_text("1 Q0 c 1 1 t\n")
    options = ("-m", "nDCG", "-m", "SetP", "--per-query", "--format", "json")
    result = json.loads(run("eval", small[0], small[1], *options).out)["runs"][0]["per_query"]
    assert list(result) == ["nDCG", "SetP"]
    assert result["nDCG"] == {"1": pytest.approx(NDCG_1, rel=1e-15), "2": NDCG_2, "3": 0, "4": 0}
    iprec = ("-m", "IPrec@0.1", "--per-query", "--format", "json")
    text = run("eval", small[0], small[1], *iprec).out
    assert "NaN" not in text


def test_an_undefined_mean_is_null(run, small):
    options = ("-m", "Judged@5", "--format", "json", "--convention", "trec9")
    assert json.loads(run("eval", *small, *options).out)["runs"][0]["mean"]["Judged@5"] == 0.75


def test_the_same_bytes_each_time(run, small):
    arguments = ("eval", *small, "--format", "json", "--per-query")
    assert run(*arguments).out == run(*arguments).out


def test_csv_is_tidy_and_pandas_reads_it_back(run, small):
    text = run("eval", *small, "-m", "nDCG@10", "-m", "AP", "--per-query", "--format", "csv").out
    table = pd.read_csv(io.StringIO(text), dtype={"query_id": str})
    assert list(table.columns) == ["run", "metric", "query_id", "value"]
    assert len(table) == 2 * (4 + 1)
    values = table.set_index(["metric", "query_id"])["value"]
    assert values["nDCG@10", "1"] == pytest.approx(NDCG_1, rel=1e-15)
    assert values["nDCG@10", "2"] == pytest.approx(NDCG_2, rel=1e-15)
    assert values["AP", "all"] == (3 / 4 + 1 / 2) / 4


def test_csv_without_queries_has_the_means_only(run, small):
    rows = list(csv.reader(io.StringIO(run("eval", *small, "-m", "RR", "--format", "csv").out)))
    assert rows == [["run", "metric", "query_id", "value"], ["bm25", "RR", "all", "0.5"]]


def test_markdown(run, small):
    text = run("eval", *small, "-m", "RR", "--format", "markdown").out
    assert text.startswith("| run | RR |\n| :-- | --: |\n| bm25 | 0.5000 |\n\n| run | queries |")
    assert "| zero-result | without relevant |" in text


def test_latex(run, small):
    text = run("eval", *small, "-m", "num_rel_ret", "-m", "RR", "--format", "latex").out
    assert text.split("\n\n")[0] == (
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "run & num\\_rel\\_ret & RR \\\\\n"
        "\\midrule\n"
        "bm25 & 3 & 0.5000 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}"
    )
    assert "bm25 & 4 & 1 & 0 & 1 & 1 & 1 & 0.7500" in text
    assert f"% judgments small, convention trec ({CONVENTIONS['trec'].hash})\n" in text


def test_equal_names_are_distinguished(run, small, tmp_path):
    second_run = tmp_path / "dense" / "bm25.run"
    second_run.parent.mkdir()
    second_run.write_text(small[1].read_text())
    result = json.loads(run("eval", *small, second_run, "-m", "RR", "--format", "json").out)
    assert [run_result["name"] for run_result in result["runs"]] == [f"{tmp_path.name}/bm25", "dense/bm25"]


def test_standard_input_for_either(run, small):
    options = ("-m", "RR", "--format", "csv")
    plain = run("eval", *small, *options).out
    from_run = run("eval", small[0], "-", *options, stdin=small[1].read_bytes())
    assert from_run.out == plain.replace("bm25", "-")
    assert run("eval", "-", small[1], *options, stdin=small[0].read_bytes()).out == plain


def test_standard_input_twice_is_refused(run):
    assert_refused(run("eval", "-", "-"), "stdin-twice")


def test_output_goes_to_the_file_and_nowhere_else(run, small, tmp_path):
    arguments = ("eval", *small, "-m", "RR", "--format", "csv")
    target = tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o640)
    result = run(*arguments, "-o", target)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert target.read_text() == run(*arguments).out == run(*arguments, "-o", "-").out
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bm25.run", "out.csv", "small.qrels"]


def test_a_link_stays_a_link(run, small, tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    assert run("eval", *small, "-m", "RR", "--format", "csv", "-o", link).code == 0
    assert link.is_symlink()
    assert target.read_text().startswith("run,metric")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shared_options.Path, "replace", full)
    with raises("cannot-write", UsageError):
        shared_options.write_output("new", str(target))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("place", ["bm25.run", ".", "no/such/file"])
def test_a_place_that_cannot_be_written_is_refused_at_once(run, small, tmp_path, place):
    content = small[1].read_text()
    result = run("eval", *small, "-o", tmp_path / place)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert small[1].read_text() == content


def test_a_device_is_written_to_and_stays(run, small):
    assert run("eval", *small, "-o", os.devnull).code == 0
    assert not os.path.isfile(os.devnull)  # noqa: PTH113 - the question as it is
