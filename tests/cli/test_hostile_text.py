"""Ids and queries with control characters, commands and formulas, in every form of output."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree as ET

import pytest

from rankgate.core.console.terminal_output import remove_server_commands
from rankgate.core.present.csv_form import guard_cell, guarded_csv, unguard_cell
from rankgate.core.present.document_model import Grid
from rankgate.core.present.markup_tables import escape_markdown, latex_comment, latex_table
from rankgate.data import contents_of, read_qrels

ESCAPE = "\x1b[31mq\x1b[0m"


@pytest.fixture
def files(tmp_path):
    judged, run = tmp_path / "qrels.csv", tmp_path / "run.csv"
    ids = [ESCAPE, "::error::x", "=1+1", "-0.5"]
    judged.write_text("query_id,doc_id,grade\n" + "".join(f"{q},a,1\n{q},b,0\n" for q in ids))
    run.write_text("query_id,doc_id,score\n" + "".join(f"{q},a,2\n{q},b,1\n" for q in ids))
    return judged, run


def test_a_cell_with_an_escape_sequence_stays_csv(files):
    qrels = read_qrels(files[0])
    assert qrels.table["query_id"].unique(maintain_order=True).to_list()[0] == ESCAPE
    assert contents_of(files[1]).runs[0].table["query_id"][0] == ESCAPE


def test_piped_csv_keeps_ids(run, files):
    result = run("eval", *files, "-m", "AP", "--per-query", "--format", "csv")
    assert result.code == 0, result.err
    rows = list(csv.reader(io.StringIO(result.out, newline="")))
    cells = {cell for row in rows for cell in row}
    assert {ESCAPE, "::error::x", " =1+1", "-0.5"} <= cells


def test_converted_data_keep_ids(run, files):
    result = run("convert", files[0], "-", "--to", "csv")
    assert result.code == 0, result.err
    assert result.out == files[0].read_text()


def test_reports_on_standard_error_have_no_command(run, files, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    files[1].rename("::error::run.csv")
    for arguments in (
        ["convert", "::error::run.csv", "out.jsonl"],
        ["fuse", "::error::run.csv", "out.jsonl", "-o", "fused.run"],
    ):
        result = run(*arguments)
        assert result.code == 0, result.err
        assert ":error::run" in result.err
        assert not [line for line in result.err.splitlines() if line.lstrip().startswith("::")]


def test_text_has_no_command_to_a_build_server(run, files):
    result = run("eval", *files, "-m", "AP", "--per-query")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert any("�:error::x" in line for line in lines)
    assert not [line for line in lines if line.lstrip().startswith("::")]
    assert "\x1b" not in result.out


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_pages_in_a_log_have_no_command_to_a_build_server(run, files, form):
    result = run("eval", *files, "-m", "AP", "--per-query", "--format", form)
    assert result.code == 0, result.err
    assert "::error::x" in result.out
    assert not [line for line in result.out.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.parametrize("word", ["::error::a", "##[error]a", "##vso[task.logissue]a"])
def test_forms_of_pages_escape_commands(word):
    for text in (escape_markdown(word), latex_table(Grid((word,), ((word,),))), latex_comment(word)):
        assert remove_server_commands(text) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("::error::a", "�:error::a"),
        ("a\n \t::set-output::b", "a\n \t�:set-output::b"),
        ("a ##[error]b", "a #�[error]b"),
        ("##vso[task.logissue]b", "#�vso[task.logissue]b"),
        ("a::b", "a::b"),
        ("## a [b]", "## a [b]"),
    ],
)
def test_commands(text, safe):
    assert remove_server_commands(text) == safe


@pytest.mark.parametrize("word", ["-1", "+0.5", "-1e-3", "-.5", "+12%", "a", "1-2", "−0.5"])
def test_numbers_and_words_are_no_formulas(word):
    assert guard_cell(word) == word


@pytest.mark.parametrize("word", ["=1", "+a", "-a", "-1+2", "@a", " =1", "\t1", " -1", "-1 a"])
def test_formulas_are_guarded_once_and_come_back(word):
    assert guard_cell(word) == f" {word}"
    assert unguard_cell(guard_cell(word)) == word
    assert guarded_csv(("a",), [(word, -0.5)]).splitlines()[1].endswith(",-0.5")


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("[a](http://b)", r"[a\](http\://b)"),
        ("![a](b)", r"![a\](b)"),
        ("[a]: b", r"[a\]: b"),
        ("&lt;", r"\&lt;"),
        ("a & b;", "a & b;"),
        ("$x$", "&#36;x&#36;"),
        ("www.a.b", r"www\.a.b"),
        ("# a", r"\# a"),
        ("- a", r"\- a"),
        ("-0.5", "-0.5"),
        ("~~a~~", r"\~\~a\~\~"),
        ("nDCG@10 [0.1, 0.2]", "nDCG@10 [0.1, 0.2]"),
    ],
)
def test_markdown_means_what_it_says(word, plain):
    assert escape_markdown(word) == plain


def test_a_picture_is_well_formed(run, tmp_path, files):
    out = tmp_path / "p.svg"
    second_run = tmp_path / "a\x01b.csv"
    second_run.write_text(files[1].read_text().replace("a,2", "a,0"))
    result = run("plot", "deltas", *files, second_run, "-m", "AP", "-o", out)
    assert result.code == 0, result.err
    ET.parse(out)  # noqa: S314 - our own picture


@pytest.mark.parametrize("command", ["\x1b[31m", "\x9b31m"])
def test_names_of_files_command_no_terminal(run, files, command):
    named = files[0].with_name(f"{command}q.csv")
    files[0].rename(named)
    result = run("describe", named)
    assert result.code == 0, result.err
    assert f"�{command[1:]}q.csv" in result.out
    result = run("eval", named.with_name(f"{command}none.csv"), files[1])
    assert result.code == 2
    assert command[0] not in result.out + result.err
