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
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (4, "")
    assert process.stderr.splitlines()[:2] == [
        "trec_eval.form_res_rels: duplicate docs a",
        f"trec_eval: Can't calculate measure '{measure}'",
    ]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("q",), 1, None),
        (("-x", "q", "r"), 1, None),
        (("-m", "nosuch", "q", "r"), 1, None),
        (("--te9", "-m", "rbp", "q", "r"), 1, None),
        (("-m", "ndcg_cut.", "q", "r"), 1, None),
        (("-m", "ndcg_cut.0", "q", "r"), 2, None),
        (("-m", "prefs", "-R", "prefs", "q", "r"), 2, "trec_eval: Quit in file 'q'"),
        (("none", "r"), 2, "trec_eval: Quit in file 'none'"),
        (("-m", "utility.1", "q", "r"), 4, "trec_eval: Can't calculate measure 'utility'"),
        (("-m", "prefs_simp", "q", "r"), 4, "trec_eval: Can't calculate measure 'prefs_simp'"),
        (("-R", "other", "q", "r"), 2, None),
        (("--te9", "blank", "r"), 2, "trec_eval: Quit in file 'blank'"),
        (("q", "bad"), 2, "trec_eval: Quit in file 'bad'"),
        (("q", "other"), 7, "trec_eval: No queries with both results and relevance info"),
    ],
)
def test_exit_codes_are_those_of_trec_eval(run, tmp_path, monkeypatch, words, code, line):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("q", QRELS),
        ("blank", QRELS + "\n"),
        ("r", RUN),
        ("bad", "1 Q0 a\n"),
        ("other", "9 Q0 a 1 2 x\n"),
    ):
        (tmp_path / name).write_text(text)
    result = run("trec_eval", *words)
    assert (result.code, result.out) == (code, "")
    lines = result.err.splitlines()
    assert lines[:-1] == ([line] if line else [])
    assert lines[-1].startswith("rankgate: ")
