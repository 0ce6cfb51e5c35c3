"""Where trec_eval refuses, its exit code and its lines, so that scripts around it keep working."""

from __future__ import annotations

import subprocess
import sys

import pytest

QRELS = "1 0 a 1\n1 0 b 0\n"
RUN = "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n"


@pytest.mark.parametrize(
    ("qrels", "run", "words", "measure"),
    [
        (QRELS, RUN + "1 Q0 a 3 0 x\n", (), "num_ret"),
        (QRELS, RUN + "1 Q0 a 3 0 x\n", ("--te9", "-m", "P.5", "-m", "map"), "map"),
        (QRELS + "1 0 a 1\n", RUN, ("-m", "ndcg_cut"), "ndcg_cut"),
    ],
)
def test_a_document_twice_is_exit_code_4(tmp_path, qrels, run, words, measure):
    (tmp_path / "q").write_text(qrels)
    (tmp_path / "r").write_text(run)
    command = [sys.executable, "-m", "rankgate", "trec_eval", *words, "q", "r"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.splitlines()[:2] == [
        "trec_eval.form_res_rels: duplicate docs a",
        f"trec_eval: Can't calculate measure '{measure}'",
    ]
