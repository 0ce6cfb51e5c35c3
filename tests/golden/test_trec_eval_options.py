"""trec_eval's options, one by one, on inputs small enough to work out by hand."""

from __future__ import annotations

import gzip
import math

import pytest

from rankgate.core.errors import UsageError
from rankgate.measurement.evaluation.trec.trec_eval import trec_eval
from support.wording import raises

COUNTS = "runid num_q num_ret num_rel num_rel_ret"


def test_a_line_is_padded_name_tab_query_tab_value(printed):
    assert printed("-q -m map -m num_ret qrels run") == (
        "num_ret               \t1\t4\n"
        "map                   \t1\t0.1250\n"
        "num_ret               \t2\t2\n"
        "map                   \t2\t0.5000\n"
        "num_ret               \tall\t6\n"
        "map                   \tall\t0.3125\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        "-q -c -l 2 -m P.5 qrels run",
        "-qcl2 -mP.5 qrels run",
        "qrels run -q -c -m P.5 -l2",
        "-q qrels -c run -l2 -mP.5",
        "--query_eval_wanted --complete_rel_info_wanted --level_for_rel=2 --measure P.5 qrels run",
        "--query --comp --level 2 --meas=P.5 -- qrels run",
        "-qc -l2x -m P.5 -R qrels -T trec_results qrels run",
        "-qc -l2 -m P.5 -m P.7 qrels run",
        "-qcM9 -N 100 -l2 -m P.5 qrels run",
    ],
)
def test_options_are_read_as_getopt_reads_them(words, lines):
    assert lines(words) == ["P_5 1 0.2000", "P_5 2 0.0000", "P_5 all 0.1000"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("-m P.10,5", "P_5 P_10"),
        ("-m ndcg_cut.3 -m map -m num_q", "num_q map ndcg_cut_3"),
        ("-m P.23.4", "P_23"),
        ("-m iprec_at_recall..25,0", "iprec_at_recall_0.00 iprec_at_recall_0.25"),
        ("-m Rprec_mult.5.0,0.35", "Rprec_mult_0.35 Rprec_mult_5.00"),
        ("-m 11pt_avg..25,.5", "11pt_avg_.25,.5"),
        ("-m utility.2,-1,0,0", "utility_2,-1,0,0"),
        ("-m set_F.2", "set_F_2"),
        ("-m ndcg.1=3,2=9", "ndcg_1=3,2=9"),
        ("-m rbp.p=0.5 -m rbp_resid.p=.5", "rbp_p=0.5 rbp_resid_p=.5"),
        ("-m unj.3", "unj_3"),
        ("-m success", "success_1 success_5 success_10"),
        ("-m map.5 -m Rprec.1,2", "map Rprec"),
        ("-m yaap", "yaap"),
        ("-m relstring", ""),
        ("-m set", f"{COUNTS} utility set_P set_relative_P set_recall set_map set_F"),
        (
            "-m official.5 -m P.1 -m iprec_at_recall.1",
            f"{COUNTS} map gm_map Rprec bpref recip_rank iprec_at_recall_1.00 P_1",
        ),
    ],
)
def test_names_are_printed_in_trec_evals_order(words, names, lines):
    assert [line.split()[0] for line in lines(f"{words} qrels run")] == names.split()


def test_without_m_the_official_metrics_are_printed(printed):
    official = printed("-m official qrels run")
    assert printed("qrels run") == official
    assert len(official.splitlines()) == 10 + 11 + 9


def test_the_run_is_named_by_its_last_line(lines, write):
    assert lines("-m runid qrels run") == ["runid all last"]
    write(run="1 Q0 a 1 9 other\n1 Q0 b 2 8 mine\n# the end\n\n")
    assert lines("-c -m runid qrels run") == ["runid all mine"]


@pytest.mark.parametrize("many", [1, 40_000])
def test_the_last_line_is_found_in_long_and_packed_files(many, lines, write):
    text = "".join(f"1 Q0 d{i} 1 1 t\n" for i in range(many)) + "1 Q0 a 1 2 mine\n"
    write(run=text)
    with gzip.open("packed", "wt") as packed_file:
        packed_file.write(text)
    for name in ("run", "packed"):
        assert lines(f"-c -m runid qrels {name}") == ["runid all mine"]


def test_a_relstring_tells_the_first_grades(lines):
    output = lines("-q -m relstring qrels run")
    assert output == ["relstring 1 '0-.2'", "relstring 2 '-1'"]
    assert lines("-q -m relstring.3 qrels run")[0] == "relstring_3 1 '0-.'"
    assert lines("-qJ -m relstring qrels run") == ["relstring 1 '02'", "relstring 2 '1'"]


def test_a_relstring_may_be_long(lines, write):
    grades = [i % 12 for i in range(40)]
    write(
        qrels="".join(f"1 0 d{i} {grade}\n" for i, grade in enumerate(grades)),
        run="".join(f"1 Q0 d{i} 1 {-i} t\n1 Q0 e{i} 1 {-i - 0.5} t\n" for i in range(40)),
    )
    text = "".join(f"{grade if grade <= 9 else '>'}-" for grade in grades)
    assert lines("-q -m relstring.75 qrels run") == [f"relstring_75 1 '{text[:75]}'"]


def test_n_leaves_the_summary_out(lines):
    assert lines("-n -q -m recip_rank qrels run") == ["recip_rank 1 0.2500", "recip_rank 2 0.5000"]
    assert lines("-n -m recip_rank qrels run") == []


def test_depth_judged_only_and_collection_size(lines):
    assert lines("-M3 -m num_ret -m num_rel_ret qrels run") == ["num_ret all 5", "num_rel_ret all 1"]
    assert lines("-J -m num_ret -m recip_rank qrels run") == ["num_ret all 3", "recip_rank all 0.7500"]
    # 100 documents, 4 and 2 shown, 2 and 1 relevant, 1 and 1 of them shown
    worth = ((100 + 1 - 4 - 2) + (100 + 1 - 2 - 1)) / 2
    assert lines("-N100 -m utility.0,0,0,1 qrels run") == [f"utility_0,0,0,1 all {worth:.4f}"]


def test_a_level_counts_for_binary_metrics_only(lines):
    first = (2 / math.log2(5)) / (2 + 1 / math.log2(3))
    second = 1 / math.log2(3)
    assert lines("-q -l2 -m num_rel -m recip_rank -m ndcg_cut.10 qrels run") == [
        "num_rel 1 1",
        "recip_rank 1 0.2500",
        f"ndcg_cut_10 1 {first:.4f}",
        "num_rel 2 0",
        "recip_rank 2 0.0000",
        f"ndcg_cut_10 2 {second:.4f}",
        "num_rel all 1",
        "recip_rank all 0.1250",
        f"ndcg_cut_10 all {(first + second) / 2:.4f}",
    ]


def test_over_all_queries_num_rel_counts_grades_above_0_whatever_the_level(lines):
    assert lines("-c -l2 -m num_rel qrels run") == ["num_rel all 3"]
    assert lines("-l2 -m num_rel qrels run") == ["num_rel all 1"]


def test_a_query_that_the_run_lacks_ends_the_evaluation_or_counts_with_c(lines):
    with raises("unknown-query", UsageError):
        trec_eval("qrels", "half")
    assert lines("-cq -m num_q -m num_ret -m map -m unj.5 -m set_P qrels half") == [
        "num_ret 1 2",
        "map 1 0.2500",
        "set_P 1 0.5000",
        "unj_5 1 0.0000",
        "num_ret 2 0",
        "map 2 0.0000",
        "set_P 2 0.0000",
        "unj_5 2 0.0000",
        "num_q all 2",
        "num_ret all 2",
        "map all 0.1250",
        "set_P all 0.2500",
        "unj_5 all 0.0000",
    ]


def test_names_with_parameters_see_the_document_that_stands_in_for_a_missing_query(lines):
    arguments = "-cnq -m utility -m utility.1,-3,0,1 -m rbp_resid -m relstring -m gm_map qrels half"
    assert lines(arguments)[-3:] == [
        "relstring 2 ''",
        "utility_1,-3,0,1 2 -5.0000",  # -3 · 1 shown + 1 · (0 documents - 1 shown - 1 relevant)
        "rbp_resid 2 0.0000",
    ]
    arguments = "-cnq -m relstring.4 -m rbp_resid.p=0.5 qrels half"
    assert lines(arguments)[-2:] == ["relstring_4 2 '-'", "rbp_resid_p=0.5 2 1.0000"]


def test_a_missing_query_is_the_floor_of_a_geometric_mean(lines):
    expected = math.exp((math.log(0.25) + math.log(0.00001)) / 2)
    for options in ("-c", "-c --te9"):
        text = f"gm_map all {expected:.4f}"
        assert lines(f"{options} -m gm_map qrels half") == [text]


def test_trec_eval_9_leaves_missing_queries_out_or_counts_them_without_a_block(lines):
    assert lines("--te9 -q -m num_q -m map qrels half") == ["map 1 0.2500", "num_q all 1", "map all 0.2500"]
    assert lines("--te9 -c -q -m num_q -m map -m num_rel qrels half") == [
        "num_rel 1 2",
        "map 1 0.2500",
        "num_q all 2",
        "num_rel all 3",
        "map all 0.1250",
    ]


def test_trec_eval_9_compares_scores_in_32_bits_and_adds_09_to_recall_points(lines, write):
    write(qrels="1 0 a 1\n1 0 p 1\n1 0 q 1\n", run="1 Q0 a 1 0.50000001 t\n1 Q0 b 2 0.5 t\n")
    arguments = "-m recip_rank -m iprec_at_recall.0.4 qrels run"
    assert lines(arguments) == ["recip_rank all 1.0000", "iprec_at_recall_0.40 all 1.0000"]
    assert lines(f"--te9 {arguments}") == [
        "recip_rank all 0.5000",
        "iprec_at_recall_0.40 all 0.0000",  # 0.4 · 3 + 0.9 is 2 documents, and one is found
    ]


def test_nothing_retrieved_is_not_a_number_where_no_document_is_asked_for(printed, write):
    write(run="1 Q0 b 1 9 t\n1 Q0 a 2 8 t\n2 Q0 u 1 1 t\n")
    output = printed("-J -q -m iprec_at_recall.0,1 -m 11pt_avg qrels run")
    assert output.splitlines()[3:] == [
        "iprec_at_recall_0.00  \t2\t  -nan",
        "iprec_at_recall_1.00  \t2\t0.0000",
        "11pt_avg              \t2\t  -nan",
        "iprec_at_recall_0.00  \tall\t  -nan",
        "iprec_at_recall_1.00  \tall\t0.0000",
        "11pt_avg              \tall\t  -nan",
    ]


def test_queries_stand_in_the_order_of_their_bytes(lines, write):
    ids = ["10", "9", "a", "B", "é", "1"]
    write(
        qrels="".join(f"{query} 0 d 1\n" for query in ids),
        run="".join(f"{query} Q0 d 1 1 t\n" for query in ids),
    )
    printed_ids = [line.split()[1] for line in lines("-q -m map qrels run")]
    assert printed_ids == ["1", "10", "9", "B", "a", "é", "all"]


def test_a_percent_sign_is_a_sign_like_any_other(lines, write):
    write(qrels="%d 0 x 1\n", run="%d Q0 x 1 1 %s\n")
    assert lines("-q -m runid -m map qrels run") == ["map %d 1.0000", "runid all %s", "map all 1.0000"]


@pytest.mark.parametrize("version", ["", "--te9 "])
def test_z_scores_of_nan_are_nan_with_its_sign(version, printed, write):
    write(
        qrels="1 0 a 1\n2 0 a 1\n3 0 a 1\n4 0 a 1\n",
        run="".join(f"{query} Q0 a 1 9 t\n" for query in range(1, 5)),
        zscores="1 map nan 0.5\n2 map 0.5 nan\n3 map -nan 0.5\n4 map 0.5 0.5\n",
    )
    output_lines = printed(f"{version}-q -m map -m recip_rank -Z zscores qrels run").splitlines()
    values = {tuple(line.split()[:2]): line.split("\t")[-1] for line in output_lines}
    assert [values["Zmap", query] for query in "1234"] == ["   nan", "   nan", "  -nan", "1.0000"]
    assert values["Zmap", "all"] == "   nan"  # the sign of the first
    assert values["Zrecip_rank", "1"] == "-1000000.0000"  # the file does not have it


def test_complete_without_a_common_query_is_zero(tmp_path):
    """trec_eval 10.0 prints zeros for every judged query, and exits with 0."""
    (tmp_path / "qrels").write_text("q1.1 0 d 1\nq2.1 0 e 2\n")
    (tmp_path / "run").write_text("q1 Q0 d 1 3 r\nq2 Q0 e 1 5 r\n")
    result = trec_eval(tmp_path / "qrels", tmp_path / "run", ["recip_rank"], complete=True)
    assert (result.query_ids, list(result.values[0]), result.summary) == (("q1.1", "q2.1"), [0, 0], (0,))
    with raises("queries-differ"):
        trec_eval(tmp_path / "qrels", tmp_path / "run", ["recip_rank"])
