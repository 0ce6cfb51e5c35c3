"""Input that trec_eval reads or refuses, and the errors of the command."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rankgate.core.errors import DuplicateError, InputError, RankgateError
from rankgate.measurement.evaluation.trec.trec_eval import trec_eval
from rankgate.measurement.evaluation.trec_eval_command import evaluate, trec_eval_command
from support.wording import raises

QRELS = "1 0 a 2\n1 0 b 0\n"
RUN = "1 Q0 b 1 9 t\n1 Q0 a 2 8 t\n"


@pytest.mark.parametrize(
    ("qrels", "run", "mean"),
    [
        ("1 0 a 1.9\n1 0 b 0.5\n", "1 Q0 b 1 2 t\n1 Q0 a 1 1 t\n", 0.5),
        ("1 0 a 1\n", "1 Q0 a 1 abc t\n1 Q0 b 1 -1 t\n", 1),
        ("1 0 a 1\n", "1 Q0 a 1 abc t\n1 Q0 b 1 1 t\n", 1 / 2),
        ("1 0 a 1\n", "1 Q0 a 1 1e3x t\n1 Q0 b 1 999 t\n", 1),
        ("1 0 a 1\n", "1 Q0 a 1 inf t\n1 Q0 b 1 1e9 t\n", 1),
        ("1 0 a 1\n", "1 Q0 a 1 -INF t\n1 Q0 b 1 -1e9 t\n", 1 / 2),
        ("1 0 a 1\n", "1 Q0 a 1 1 t with more\n1 Q0 b 1 2 t\n", 1 / 2),
        ("1\t0\ta\t1\r\n", "1\tQ0\ta\t1\t1\tt\r\n", 1),
        ("# judged\n1 0 a 1\n", "# found\n1 Q0 a 1 1 t", 1),
        ("1 0 a 1\n", "1 Q0 a 1 1 t\n7 Q0 c 1 1 t\n7 Q0 c 2 1 t\n", 1),
    ],
)
def test_files_are_read_as_trec_eval_reads_them(qrels, run, mean, write):
    write(qrels=qrels, run=run)
    assert trec_eval("qrels", "run", ["recip_rank"]).mean("recip_rank") == mean


@pytest.mark.parametrize(
    ("qrels", "run", "error"),
    [
        ("", RUN, InputError),
        (QRELS, "", InputError),
        (QRELS, "1 Q0 a 1 1\n", InputError),
        (QRELS, "1 Q0 a 1 1 t\n1 Q0 b 2\n", InputError),
        ("1 a 1\n", RUN, InputError),
        ("1 0 a 1\n1 0 b 0 more\n", RUN, InputError),
        ("1 0 b 1\n1 0 a 1\n1 0 a 1\n", RUN, DuplicateError),
        ("1 0 a 1\n", "1 Q0 a 1 1 t\n1 Q0 a 2 2 t\n", DuplicateError),
    ],
)
def test_what_trec_eval_refuses_is_refused(qrels, run, error, write):
    write(qrels=qrels, run=run)
    with pytest.raises(error):
        trec_eval("qrels", "run", complete=True)


def test_no_common_query_is_refused_unless_runs_are_completed(write):
    write(qrels="7 0 a 1\n", run=RUN)
    with pytest.raises(InputError):
        trec_eval("qrels", "run")
    assert trec_eval("qrels", "run", ["map"], complete=True).mean("map") == 0  # as trec_eval 10.0 prints


def test_a_comment_is_refused_by_trec_eval_9(write):
    write(run="1 Q0 a 1 1 t\n# two\n")
    with raises("comment-line", InputError, line=2):
        trec_eval("qrels", "run", te9=True)
    write(qrels="# one\n1 0 a 1\n", run="1 Q0 a 1 1 t\n")
    with raises("comment-line", InputError, line=1):
        trec_eval("qrels", "run", te9=True)


REFUSED = [
    "qrels",
    "qrels run run",
    "-x qrels run",
    "-D1 qrels run",
    "-o qrels run",
    "-Z means qrels run",
    "--Zscore means qrels run",
    "-m",
    "-m nope qrels run",
    "-m ndcg_cut_5 qrels run",
    "-m nDCG@10 qrels run",
    "-m P. qrels run",
    "-m P.0 qrels run",
    "-m P.-5 qrels run",
    "-m P.five qrels run",
    "-m P.5,5 qrels run",
    "-m iprec_at_recall..5,0.50 qrels run",
    "-m utility.1,2 qrels run",
    "-m ndcg.3 qrels run",
    "-m ndcg.1=2=3 qrels run",
    "-m rbp.0.5 qrels run",
    "-m rbp.1=2 qrels run",
    "-m set_F.-1 qrels run",
    "-m relstring.100000 qrels run",
    "-m prefs -R prefs qrels run",
    "-m prefs qrels run",
    "-m map_avgjg qrels run",
    "-R qrels_jg qrels run",
    "-T other qrels run",
    "-l -1 qrels run",
    "-M -1 qrels run",
    "--te9 -m rbp qrels run",
    "--te9 -m unj.5 qrels run",
    "-m official - run",
    "qrels nowhere",
    "nowhere run",
    "qrels half",
]


@pytest.mark.parametrize("words", REFUSED)
@pytest.mark.usefixtures("write")
def test_what_cannot_be_done_is_said_in_a_sentence(words, capsys):
    with pytest.raises(RankgateError) as refused:
        evaluate(words.split())
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith((".", "?"))
    assert capsys.readouterr().out == ""


def process(*words, given=b""):
    start = [sys.executable, "-c", "from rankgate.interface.cli import main; main()", "trec_eval"]
    return subprocess.run([*start, *words], input=given, capture_output=True, check=False)


@pytest.mark.usefixtures("write")
def test_the_program_ends_with_1_and_a_sentence():
    completed = process("-Y", "qrels", "run")
    assert (completed.returncode, completed.stdout) == (1, b"")
    assert completed.stderr == b"rankgate: trec_eval: option -Y not recognized; -h lists the options.\n"


@pytest.mark.usefixtures("write")
def test_the_program_reads_a_run_from_standard_input():
    completed = process("-m", "map", "qrels", "-", "-c", given=RUN.encode())
    assert (completed.returncode, completed.stdout) == (0, b"map                   \tall\t0.1250\n")


def test_v_tells_the_version_on_standard_error(capsys):
    trec_eval_command.main(["-v"], standalone_mode=False)
    result = capsys.readouterr()
    assert result.out == ""
    assert result.err.startswith("trec_eval version 10.0")


def test_h_explains_the_options_and_the_metrics_named(printed):
    result = printed("-h -m bpref -m P")
    assert all(f" -{letter}, --" in result for letter in "hvqnmclJMNRTZ")
    assert "--te9" in result
    assert "doi:10.1145/1008992.1009000" in result
    assert "The share of the first k places" in result


def test_tables_in_memory_are_taken_too():
    result = trec_eval({"1": {"a": 1, "b": 0}}, {"1": {"b": 2.0, "a": 1.0}}, ["recip_rank", "runid"])
    assert result.mean("recip_rank") == 0.5
    assert result.query_ids == ("1",)
    assert result.summary == ("run", 0.5)


@pytest.mark.posix
def test_a_run_may_come_through_a_pipe(lines):
    os.mkfifo("pipe")
    with ThreadPoolExecutor() as executor:
        executor.submit(Path("pipe").write_bytes, RUN.encode())
        assert lines("-c -m runid -m map qrels pipe") == ["runid all t", "map all 0.1250"]
